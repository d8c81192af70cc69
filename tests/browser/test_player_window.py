"""The window onto a picture: it fits, stands in the height that a notebook has, and a cell run again keeps it."""

from __future__ import annotations

import pytest
from browser_page import inside, open_page, place_of, resize, settled, wait_until
from error_samples import CASES
from player_page import (
    HEIGHT,
    IN_SIGHT,
    NOTEBOOKS,
    SMALLEST,
    go,
    in_sight,
    position,
    press,
    scheduled_but,
    show,
    wear,
    whole,
)
from player_programs import (
    board_of,
    five_steps,
    many_steps,
    network,
    one_number,
    spoiled_at_once,
    spoiled_state,
    story_of,
    three_layers,
    twelve_nodes,
)
from player_story import WIDE, storyboard
from test_explaining import error_of

import workbench as torch
from workbench.pictures.scene.model import Arrow, Box, Scene, StoryStep
from workbench.pictures.scene.storyboard import Storyboard

SIZE, CALM = (1440, 900), True
SMALL = (1024, 768)
# A page in which a player is about as wide as in a JupyterLab of 1024 x 768 beside its list of files.
BESIDE_FILES = (588, 768)
STORY = storyboard().to_dict()
SCALE = f"Number(document.querySelector('.wb-picture').getAttribute('width')) / {STORY['width']}"
WIDTH = "document.querySelector('.wb-picture').getBoundingClientRect().width"
# Whether the picture is as wide as its window at most.
ACROSS = "(({ scrollWidth, clientWidth }) => scrollWidth === clientWidth)(document.querySelector('.wb-view'))"
# The heights of the player and of its window at each step.
HEIGHTS = """(steps) => Array.from({ length: steps }, (_, k) => { player.go(k);
  return [".wb-player", ".wb-view"].map((part) => document.querySelector(part).getBoundingClientRect().height); })"""


@pytest.mark.parametrize("size", scheduled_but([SMALL, (720, 450)], [SIZE, SMALL, (800, 600), (720, 450)]))
def test_fit_shows_the_whole_picture_with_details_and_without(page, size):
    resize(page, *size)
    for story in (STORY, WIDE, story_of(network, depth=9)):
        show(page, story)
        press(page, "fit")
        assert whole(page)
        fitted = page.evaluate(WIDTH)
        page.locator(".wb-box:not(.wb-state-future):not(.wb-kind-region)").first.press("Enter")
        wait_until(page, "!document.querySelector('.wb-details').hidden")
        settled(page)
        assert whole(page)
        page.keyboard.press("Escape")
        settled(page)
        assert page.evaluate(WIDTH) == fitted


def test_the_zoom_is_always_told_and_a_click_on_it_shows_100_percent(page):
    told = page.locator('[data-action="own"]')
    resize(page, *SMALL)
    show(page, story_of(network))
    for act in ("in", "fit", "out"):
        shown = "Number(document.querySelector('.wb-picture').getAttribute('width'))"
        wide = float(page.locator(".wb-picture").get_attribute("viewBox").split()[2])
        assert told.inner_text() == f"{round(100 * page.evaluate(shown) / wide)}%" != "100%"
        press(page, act)
    told.click()
    assert told.inner_text() == "100%" and told.get_attribute("aria-label") == "100%: show at 100%"


def test_100_percent_is_a_button_of_its_own_and_fit_makes_a_small_picture_larger(page):
    press(page, "own")
    assert page.evaluate(SCALE) == 1
    resize(page, 1440, 1600)
    press(page, "fit")
    assert 1 < page.evaluate(SCALE) <= 2 and whole(page)
    wear(page, "projector")
    press(page, "own")
    assert page.evaluate(SMALLEST) == pytest.approx(18, abs=0.01)


@pytest.mark.parametrize(
    ("size", "theme"), [(SIZE, "light"), (SIZE, "projector"), (SMALL, "projector"), ((960, 600), "dark")]
)
def test_it_is_no_higher_than_a_notebook_and_its_picture_takes_three_quarters_of_that_at_most(page, size, theme):
    resize(page, *size)
    most = NOTEBOOKS[size][1]
    for story in (STORY, WIDE, story_of(network, depth=9)):
        show(page, story, notebook=NOTEBOOKS[size])
        wear(page, theme)
        heights = page.evaluate(HEIGHTS, len(story["steps"]))
        assert all(player <= most and view <= 0.75 * most for player, view in heights), story["title"]
        bar = place_of(page.locator(".wb-bar"))
        for button in page.locator(".wb-bar > * > .wb-button:visible").all():
            box = place_of(button)
            assert bar["y"] < box["y"] < bar["y"] + 20 and box["x"] + box["width"] <= bar["x"] + bar["width"]


EVERYWHERE = [(size, theme) for size in (SIZE, SMALL) for theme in ("light", "dark", "print", "projector")]
FEW = [(SIZE, "light"), (SMALL, "print"), (SMALL, "projector")]


@pytest.mark.parametrize(("size", "theme"), scheduled_but(FEW, EVERYWHERE, 2))
def test_every_picture_opens_whole_or_with_its_text_at_11_px(page, size, theme):
    resize(page, *size)
    # On a projector graphs open larger: test_player_compact.py.
    for view in ("saved",) if theme == "projector" else (None, "saved"):
        for program in (one_number, three_layers, five_steps, twelve_nodes):
            show(page, story_of(program, view))
            wear(page, theme)
            smallest, (seen, boxes) = page.evaluate(SMALLEST), page.evaluate(IN_SIGHT)
            part = 10.99 < smallest < 11.01 or (page.evaluate(ACROSS) and smallest > 11)
            assert part or (whole(page) and smallest > 7), (program, view)
            assert seen >= min(7, boxes), (program, view)


@pytest.mark.parametrize("theme", ["light", "projector"])
def test_what_runs_is_in_sight_and_the_gradients_that_it_sends(page, theme):
    resize(page, *SMALL)
    board = board_of(network, depth=9)
    show(page, board.to_dict())
    wear(page, theme)
    for k, step in enumerate(board.steps):
        go(page, k)
        if step.focus is None:
            continue
        assert in_sight(page, step.focus), k
        view = place_of(page.locator(".wb-view"))
        for label in page.locator(".wb-state-flowing .wb-pill").all()[:1]:
            box = place_of(label)
            assert view["y"] <= box["y"] and box["y"] + box["height"] <= view["y"] + view["height"], k


def test_a_cell_that_is_run_again_keeps_step_zoom_and_theme(page):
    worn = "document.getElementById('here').dataset.wbTheme"
    press(page, "last")
    press(page, "in")
    wear(page, "dark")
    zoom = page.evaluate(SCALE)
    show(page, STORY, again=True)
    assert position(page) == "8 / 8" and page.evaluate(SCALE) == zoom and page.evaluate(worn) == "dark"
    show(page, STORY | {"title": "another"}, again=True)
    assert position(page) == "3 / 8" and page.evaluate(SCALE) != zoom
    assert page.evaluate(worn) == "dark"  # the same notebook
    show(page, STORY | {"start": 5}, again=True)
    assert position(page) == "6 / 8"  # the cell says where it is to open now


def test_a_second_picture_of_the_same_graph_begins_for_itself(page):
    press(page, "last")
    beside = "story => { const el = document.createElement('div'); document.body.append(el); mount(el, story); }"
    page.evaluate(beside, STORY)
    assert page.locator(".wb-position").all_inner_texts() == ["8 / 8", "3 / 8"]


def test_a_theme_stays_in_its_notebook(page):
    page.evaluate("""story => { for (const id of ["a", "b"]) {
        const panel = document.createElement("div"), el = document.createElement("div");
        panel.className = "jp-NotebookPanel"; el.id = id;
        panel.append(el); document.body.append(panel); mount(el, story);
      } }""", STORY)  # fmt: skip
    page.locator("#a .wb-player").press("t")
    page.evaluate("""story => { for (const id of ["a", "b"]) {
        const el = document.createElement("div"); document.getElementById(id).after(el);
        el.id = id + 2; mount(el, story);
      } }""", STORY)  # fmt: skip
    themes = page.evaluate("""["a", "a2", "b", "b2"].map((id) => document.getElementById(id).dataset.wbTheme)""")
    assert themes == ["light", "light", "auto", "auto"]


def test_lines_of_shared_memory_are_drawn_where_the_reader_looks():
    boxes = {id: Box(id, "op", id) for id in "abc"} | {"s": Box("s", "saved", "s", holder="b")}
    arrows = {"ab": Arrow("ab", "a", "b"), "bc": Arrow("bc", "b", "c"), "as": Arrow("as", "a", "s", "same")}
    with open_page() as page:  # that of the other tests has had a mouse in it before it was loaded
        show(page, Storyboard(Scene("memory", boxes, arrows), [StoryStep("One."), StoryStep("Two.")]).to_dict())

        def drawn() -> bool:
            return page.locator('[data-id="as"] .wb-line').evaluate("e => getComputedStyle(e).visibility === 'visible'")

        assert not drawn()
        for id, there in (("c", False), ("a", True), ("c", False), ("s", True), ("b", True)):
            box = place_of(page.locator(f'[data-id="{id}"] .wb-frame'))
            page.mouse.move(box["x"] + 9, box["y"] + 9)
            assert drawn() == there, id
        page.mouse.move(1, 1)
        assert not drawn()
        page.locator('[data-id="s"]').press("Enter")
        assert drawn()
        page.keyboard.press("Escape")
        page.locator(".wb-player").focus()
        assert not drawn()


def test_a_click_on_a_region_says_what_it_is(page):
    board = board_of(network, depth=9)
    show(page, board.to_dict())
    assert position(page) == f"{len(board.steps)} / {len(board.steps)}"
    press(page, "fit")
    (one,) = [id for id, box in board.scene.boxes.items() if box.title.endswith(": one")]
    frame = place_of(page.locator(f'[data-id="{one}"] .wb-frame'))
    page.mouse.click(frame["x"] + 4, frame["y"] + frame["height"] - 4)
    assert page.locator(".wb-panel-title").inner_text() == "iteration 1: one"
    assert page.locator(".wb-panel-kind").inner_text().startswith("part of the graph")
    assert "\nw.t(), x @ w.t(), (x @ w.t()).tanh()\n" in page.locator(".wb-details").inner_text()


def test_the_row_to_find_things_leaves_the_player_as_low_as_it_was_asked_to_be(page):
    resize(page, *SMALL)
    for theme in ("light", "projector"):
        show(page, story_of(five_steps))
        wear(page, theme)
        press(page, "find")
        assert page.locator(".wb-find").is_visible() and page.evaluate(HEIGHT) <= 768


def test_the_names_of_rows_stay_in_sight_wherever_the_picture_is_scrolled(page):
    board = board_of(many_steps, "versions")
    for size in (SIZE, SMALL):
        resize(page, *size)
        show(page, board.to_dict())
        wear(page, "projector")
        press(page, "own")  # at which it is wider than the window
        assert page.locator(".wb-view").evaluate("({ scrollWidth, clientWidth }) => scrollWidth > clientWidth")
        shifts = """() => { const port = document.querySelector(".wb-view").getBoundingClientRect();
            const over = (group, { left, right, top, bottom }) => [left + 2, (left + right) / 2, right - 2]
              .every((x) => group.contains(document.elementFromPoint(x, (top + bottom) / 2)));
            return [...document.querySelectorAll(".wb-kind-name")]
              .map((group) => [group, group.querySelector(".wb-title").getBoundingClientRect()])
              .filter(([, { bottom, top }]) => top >= port.top && bottom <= port.bottom)
              .map(([group, at]) => at.left >= port.left && at.right <= port.right && over(group, at)); }"""
        for k in (len(board.steps) - 1, 0, len(board.steps) // 2):
            go(page, k)
            settled(page)
            assert in_sight(page, board.steps[k].focus)
            assert page.evaluate(shifts) and all(page.evaluate(shifts)), k


# Of the first lines of what happened, which come before PyTorch's own words, how many are out of sight.
OUTSIDE = """() => { const view = document.querySelector(".wb-view").getBoundingClientRect();
  const lines = [...document.querySelectorAll(".wb-kind-story text")].slice(0, 12).filter((line) => line.textContent);
  return lines.map((line) => line.getBoundingClientRect()).filter(({ left, top, right, bottom }) =>
    left < view.left || right > view.right || top < view.top || bottom > view.bottom).length; }"""


@pytest.mark.parametrize(("size", "theme"), scheduled_but([*FEW, (SIZE, "projector")], EVERYWHERE, 2))
@pytest.mark.parametrize("program", [spoiled_at_once, spoiled_state])
def test_an_error_opens_at_what_failed_and_what_happened_there(page, program, size, theme):
    resize(page, *size)
    board = board_of(program, "error")
    failed = board.steps[-1].focus
    (kept,) = [id for id in board.steps[-1].boxes | board.steps[-2].boxes if id.startswith(f"{failed}.saved")]
    show(page, board.to_dict())
    wear(page, theme)
    show(page, board.to_dict(), again=True)
    assert inside(place_of(page.locator(".wb-kind-story text").first), place_of(page.locator(".wb-view")))
    assert page.evaluate(OUTSIDE) == 0
    assert in_sight(page, failed)
    assert size == SMALL or in_sight(page, kept)
    assert page.evaluate("document.querySelector('[data-current]').dataset.state") == "error"


@pytest.mark.parametrize("size", scheduled_but([SMALL], [SIZE, SMALL]))
def test_a_saved_page_of_an_error_opens_at_what_failed(page, size, tmp_path):
    resize(page, *size)
    for program, *_ in CASES:
        picture = error_of(program).explain()
        picture.save(tmp_path / "error.html")
        page.goto((tmp_path / "error.html").as_uri())
        wait_until(page, "document.querySelector('.wb-kind-story') !== null")
        settled(page)
        focus = picture.storyboard.steps[-1].focus
        assert focus is None or in_sight(page, focus), program.__name__
        assert page.evaluate(OUTSIDE) == 0, program.__name__


@pytest.mark.parametrize("view", ["saved", "memory"])
def test_a_chart_opens_whole_across_beside_the_files_of_a_small_jupyterlab(page, view):
    """The saved view shows its tensors below its list of nodes."""
    resize(page, *BESIDE_FILES)
    x = torch.tensor([[0.5, 1.0, 2.0]] * 4, requires_grad=True)
    with torch.record() as trace:
        (x.exp() * x).tanh().sum().backward()
    show(page, trace.show(view).storyboard.to_dict())
    assert page.locator(".wb-view").evaluate("view => view.scrollWidth - view.clientWidth") == 0
    sizes = "texts => texts.map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getCTM().a)"
    assert min(page.locator(".wb-picture .wb-box:not(.wb-state-future) text").evaluate_all(sizes)) > 10.9
    if view == "saved":
        press(page, "first")
        there, below = (place_of(page.locator(f"[data-id={id!r}] .wb-frame")) for id in ("list.0", "chosen"))
        assert below["y"] > there["y"] + there["height"] and below["x"] == pytest.approx(there["x"], abs=1)
        go(page, 99)
        page.locator("[data-id='list.0'] .wb-frame").click()
        assert page.locator("[data-id=chosen] .wb-title").text_content() == "ExpBackward0"


def test_beside_the_files_of_a_small_jupyterlab_what_happened_stands_below_an_error(page):
    resize(page, *BESIDE_FILES)
    board = board_of(spoiled_at_once, "error")
    show(page, board.to_dict())
    window, story = page.locator(".wb-view"), place_of(page.locator(".wb-kind-story .wb-frame"))
    assert window.evaluate("view => [view.scrollLeft, view.scrollWidth - view.clientWidth]") == [0, 0]
    assert in_sight(page, board.steps[-1].focus)
    boxes = page.locator(".wb-box:not(.wb-kind-story):not(.wb-state-future) .wb-frame").all()
    assert all(place_of(box)["y"] + place_of(box)["height"] < story["y"] for box in boxes)
    view = place_of(window)
    assert story["y"] + 60 < view["y"] + view["height"]  # how it begins is in sight
    places = "lines => lines.map((line) => line.getBoundingClientRect()).map(({ left, bottom }) => [left, bottom])"
    lines = page.locator(".wb-line:not(.wb-kind-same *)").evaluate_all(places)
    # They moved with their boxes.
    assert lines and all(left > view["x"] and bottom < story["y"] for left, bottom in lines)
