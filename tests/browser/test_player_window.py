"""The window onto a picture: it fits, stands in the height that a notebook has, and a cell run again keeps it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_page import open_page, place_of, settled, wait_until
from error_samples import CASES
from player_page import position, press, show, wear
from player_story import storyboard
from test_explaining import error_of
from test_player_finding import WIDE, WIDTH, in_sight, whole

import workbench as torch
from workbench import nn
from workbench.scene.model import Arrow, Box, Scene, StoryStep
from workbench.scene.storyboard import Storyboard
from workbench.views import storyboard as told

STORY = storyboard().to_dict()
HEIGHT = "document.querySelector('.wb-player').getBoundingClientRect().height"
# The heights of the player and of its window at each step.
HEIGHTS = """(steps) => Array.from({ length: steps }, (_, k) => { player.go(k);
  return [".wb-player", ".wb-view"].map((part) => document.querySelector(part).getBoundingClientRect().height); })"""
# Predicts each step; the player's height and the room for answers before each, as long as there is one to predict.
PREDICTED = """(steps) => Array.from({ length: steps }, () => {
  const field = document.querySelector("[name=guess]"), asks = document.querySelector(".wb-predict");
  const found = [document.querySelector(".wb-player").getBoundingClientRect().height,
    getComputedStyle(asks).getPropertyValue("--wb-asks"), document.querySelector(".wb-position").textContent];
  if (field.checkVisibility()) {
    field.value = "[1, 2]";
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  }
  return found; })"""


@pytest.fixture(scope="module")
def browser_tab():
    with open_page((1440, 900)) as page:
        page.emulate_media(reduced_motion="reduce")
        yield page


@pytest.fixture
def page(browser_tab):
    show(browser_tab, STORY)
    yield browser_tab
    browser_tab.set_viewport_size({"width": 1440, "height": 900})
    assert browser_tab.console_errors == []
    assert browser_tab.requests_outside == []


def network() -> Storyboard:
    """Two layers in scopes, whose saved tensors are views of what they are made from."""
    w, x = torch.ones(3, 3, requires_grad=True), torch.ones(2, 3)
    with torch.record() as trace:
        for name in ("one", "two"):
            with torch.scope(name):
                x = (x @ w.t()).tanh()
        x.sum().backward()
    return told(trace, depth=9)


@pytest.mark.parametrize("size", [(1440, 900), (1024, 768), (800, 600), (720, 450)])
def test_fit_shows_the_whole_picture_with_details_and_without(page, size):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    for story in (STORY, WIDE, network().to_dict()):
        show(page, story)
        press(page, "fit")
        assert whole(page)
        fitted = page.evaluate("document.querySelector('.wb-picture').getBoundingClientRect().width")
        page.locator(".wb-box:not(.wb-state-future):not(.wb-kind-region)").first.press("Enter")
        wait_until(page, "!document.querySelector('.wb-details').hidden")
        settled(page)
        assert whole(page)
        page.keyboard.press("Escape")
        settled(page)
        assert page.evaluate("document.querySelector('.wb-picture').getBoundingClientRect().width") == fitted


def test_100_percent_is_a_button_of_its_own_and_fit_makes_a_small_picture_larger(page):
    press(page, "own")
    assert page.evaluate(WIDTH) == 1
    page.set_viewport_size({"width": 1440, "height": 1600})
    press(page, "fit")
    assert 1 < page.evaluate(WIDTH) <= 2 and whole(page)
    wear(page, "projector")
    press(page, "own")
    assert page.evaluate(SMALLEST) == pytest.approx(18, abs=0.01)


# A page in which a player is about as wide as in a JupyterLab of 1024 x 768 beside its list of files.
BESIDE_FILES = {"width": 588, "height": 768}
# What JupyterLab shows of a notebook beside its list of files, by the size of the browser's window.
NOTEBOOKS = {(1440, 900): (988, 779), (1024, 768): (572, 647), (960, 600): (508, 479)}


@pytest.mark.parametrize(
    ("size", "theme"),
    [((1440, 900), "light"), ((1440, 900), "projector"), ((1024, 768), "projector"), ((960, 600), "dark")],
)
def test_it_is_no_higher_than_a_notebook_and_its_picture_takes_three_quarters_of_that_at_most(page, size, theme):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    most = NOTEBOOKS[size][1]
    for story in (STORY, WIDE, network().to_dict()):
        show(page, story, notebook=NOTEBOOKS[size])
        wear(page, theme)
        heights = page.evaluate(HEIGHTS, len(story["steps"]))
        assert all(player <= most and view <= 0.75 * most for player, view in heights), story["title"]
        bar = place_of(page.locator(".wb-bar"))
        for button in page.locator(".wb-bar > * > .wb-button").all():
            if button.is_visible():
                box = place_of(button)
                assert bar["y"] < box["y"] < bar["y"] + 20 and box["x"] + box["width"] <= bar["x"] + bar["width"]


class MLP(nn.Module):
    """Three layers, which stand closed in a small window."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


@cache
def recorded(program: Callable[[], None]) -> torch.Trace:
    """What a program does, recorded once for all tests."""
    with torch.record() as trace:
        program()
    return trace


def one_number():
    w, x, b = (torch.tensor(value, requires_grad=True) for value in (2.0, 3.0, 1.0))
    loss = ((w * x + b) - 7) ** 2
    loss.backward()


def three_layers():
    net, x, y = MLP(), torch.ones(5, 4), torch.zeros(5, 3)
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()


def five_steps():
    """A training whose gradients nobody clears."""
    w, b = torch.tensor(0.5, requires_grad=True), torch.tensor(0.0, requires_grad=True)
    x, y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 4.0, 6.0])
    optimizer = torch.optim.SGD([w, b], lr=0.05)
    for _ in range(5):
        loss = ((w * x + b - y) ** 2).mean()
        loss.backward()
        optimizer.step()


# The size of the smallest text of a picture on the screen, in px.
SMALLEST = """Math.min(...[...document.querySelectorAll(".wb-picture text")]
  .map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getCTM().a))"""


def twelve_nodes():
    """A chain of numbers with twelve operations: 20 boxes and more."""
    x, y = torch.tensor(0.5, requires_grad=True), torch.tensor(1.5, requires_grad=True)
    a = x * y
    b = (a.sin().exp() * x + y).log() * a
    out = (b.tanh() * 3) ** 2
    out.backward()


# How many boxes are in sight, and how many there are.
IN_SIGHT = """() => { const view = document.querySelector(".wb-view").getBoundingClientRect();
  const boxes = [...document.querySelectorAll(".wb-box:not(.wb-state-future):not(.wb-kind-region) .wb-frame")];
  return [boxes.map((box) => box.getBoundingClientRect()).filter(({ left, top, right, bottom }) =>
    left >= view.left && right <= view.right && top >= view.top && bottom <= view.bottom).length, boxes.length]; }"""


@pytest.mark.parametrize("theme", ["light", "dark", "print", "projector"])
@pytest.mark.parametrize("size", [(1440, 900), (1024, 768)])
@pytest.mark.parametrize("program", [one_number, three_layers, five_steps, twelve_nodes])
def test_every_picture_opens_whole_or_with_its_text_at_11_px(page, program, size, theme):
    trace = recorded(program)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    # On a projector graphs open larger: test_player_compact.py.
    for board in ([] if theme == "projector" else [told(trace)]) + [told(trace, "saved")]:
        show(page, board.to_dict())
        wear(page, theme)
        smallest = page.evaluate(SMALLEST)
        assert 10.99 < smallest < 11.01 or (whole(page) and smallest > 7)
        seen, boxes = page.evaluate(IN_SIGHT)
        assert seen >= min(7, boxes), (board.title, seen, boxes)


def test_on_a_small_projector_the_legend_can_be_asked_for(page):
    trace = recorded(one_number)
    page.set_viewport_size({"width": 1024, "height": 768})
    show(page, told(trace).to_dict())
    wear(page, "projector")
    legend = page.locator(".wb-legend")
    assert not legend.is_visible()
    press(page, "legend")
    assert legend.is_visible() and page.evaluate(HEIGHT) <= 768
    press(page, "menu")
    assert page.locator('[data-action="legend"]').get_attribute("aria-checked") == "true"
    press(page, "legend")
    assert not legend.is_visible()


@pytest.mark.parametrize("theme", ["light", "projector"])
def test_what_runs_is_in_sight_and_the_gradients_that_it_sends(page, theme):
    page.set_viewport_size({"width": 1024, "height": 768})
    board = network()
    show(page, board.to_dict())
    wear(page, theme)
    for k, step in enumerate(board.steps):
        page.evaluate("k => player.go(k)", k)
        if step.focus is None:
            continue
        assert in_sight(page, step.focus), k
        view = place_of(page.locator(".wb-view"))
        for label in page.locator(".wb-state-flowing .wb-pill").all()[:1]:
            box = place_of(label)
            assert view["y"] <= box["y"] and box["y"] + box["height"] <= view["y"] + view["height"], k


def test_a_cell_that_is_run_again_keeps_step_zoom_and_theme(page):
    press(page, "last")
    press(page, "in")
    wear(page, "dark")
    zoom = page.evaluate(WIDTH)
    show(page, STORY, again=True)
    assert position(page) == "8 / 8" and page.evaluate(WIDTH) == zoom
    assert page.evaluate("document.getElementById('here').dataset.wbTheme") == "dark"
    other = STORY | {"title": "another"}
    show(page, other, again=True)
    assert position(page) == "3 / 8" and page.evaluate(WIDTH) != zoom
    assert page.evaluate("document.getElementById('here').dataset.wbTheme") == "dark"  # the same notebook
    show(page, STORY | {"start": 5}, again=True)
    assert position(page) == "6 / 8"  # the cell says where it is to open now


def test_a_second_picture_of_the_same_graph_begins_for_itself(page):
    press(page, "last")
    page.evaluate(
        """story => { const el = document.createElement("div"); document.body.append(el); mount(el, story); }""", STORY
    )
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


def test_the_menu_goes_by_keys_and_gives_the_focus_back(page):
    opener = page.locator('[data-action="menu"]')
    assert opener.get_attribute("aria-haspopup") == "menu" and opener.get_attribute("aria-expanded") == "false"
    opener.press("Enter")
    menu, on = page.locator(".wb-menu"), "document.activeElement.dataset.action"
    assert menu.is_visible() and opener.get_attribute("aria-expanded") == "true"
    assert page.evaluate(on) == "predict"
    seen = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "End", "ArrowDown", "ArrowUp", "Home"):
        page.keyboard.press(key)
        seen.append(page.evaluate(on))
    assert seen == ["find", "in", "find", "keys", "predict", "keys", "predict"]
    found = Axe().run(page, ".wb-player")
    assert found.violations_count == 0, found.generate_report()
    page.keyboard.press("Escape")
    assert not menu.is_visible() and page.evaluate(on) == "menu" and position(page) == "3 / 8"
    assert page.evaluate("leaked") == []
    press(page, "find")
    assert not menu.is_visible() and page.evaluate("document.activeElement.type") == "search"


@pytest.mark.parametrize("height", [900, 320])
def test_menu_and_keys_are_in_sight_whatever_the_window(page, height):
    page.set_viewport_size({"width": 700, "height": height})
    for action, part in (("menu", ".wb-menu"), ("keys", ".wb-keys")):
        press(page, action)
        box = place_of(page.locator(part))
        assert box["x"] >= 0 and box["y"] >= 0
        assert box["x"] + box["width"] <= 700 and box["y"] + box["height"] <= height


def test_lines_of_shared_memory_are_drawn_where_the_reader_looks():
    boxes = {id: Box(id, "op", id) for id in "abc"} | {"s": Box("s", "saved", "s", holder="b")}
    arrows = {"ab": Arrow("ab", "a", "b"), "bc": Arrow("bc", "b", "c"), "as": Arrow("as", "a", "s", "same")}
    with open_page() as page:  # that of the other tests has had a mouse in it before it was loaded
        show(page, Storyboard(Scene("memory", boxes, arrows), [StoryStep("One."), StoryStep("Two.")]).to_dict())

        def drawn() -> bool:
            return page.locator('[data-id="as"] .wb-line').evaluate("e => getComputedStyle(e).visibility === 'visible'")

        def point(id: str) -> None:
            box = place_of(page.locator(f'[data-id="{id}"] .wb-frame'))
            page.mouse.move(box["x"] + 9, box["y"] + 9)

        assert not drawn()
        for id, there in (("c", False), ("a", True), ("c", False), ("s", True), ("b", True)):
            point(id)
            assert drawn() == there, id
        page.mouse.move(1, 1)
        assert not drawn()
        page.locator('[data-id="s"]').press("Enter")
        assert drawn()
        page.keyboard.press("Escape")
        page.locator(".wb-player").focus()
        assert not drawn()


def test_a_click_on_a_region_says_what_it_is(page):
    board = network()
    show(page, board.to_dict())
    assert position(page) == f"{len(board.steps)} / {len(board.steps)}"
    press(page, "fit")
    (one,) = [id for id, box in board.scene.boxes.items() if box.title.endswith(": one")]
    region = page.locator(f'[data-id="{one}"]')
    frame = place_of(region.locator(".wb-frame"))
    page.mouse.click(frame["x"] + 4, frame["y"] + frame["height"] - 4)
    assert page.locator(".wb-panel-title").inner_text() == "round 1: one"
    assert page.locator(".wb-panel-kind").inner_text().startswith("part of the graph")
    assert "\nw.t(), x @ w.t(), (x @ w.t()).tanh()\n" in page.locator(".wb-details").inner_text()


def test_predicting_hides_what_comes_next_until_it_is_typed(page):
    press(page, "predict")
    ask, said = page.locator(".wb-row label"), page.locator(".wb-predict .wb-said")
    assert ask.inner_text() == "Predict what loss sends to sum:"
    page.locator(".wb-player").press("ArrowRight")
    assert position(page) == "3 / 8" and page.evaluate("document.activeElement.name") == "guess"
    page.keyboard.type("-1")
    page.keyboard.press("Enter")
    assert position(page) == "4 / 8" and said.inner_text() == "Your prediction of what loss sends to sum: wrong sign."
    page.keyboard.press("ArrowRight")
    for guess, answer in (("two", "Type a number such as 0.5, or [1, 2]."),
                          ("[1, 1, 1]", "Your prediction of what sum sends to mul: right.")):  # fmt: skip
        page.locator("[name=guess]").fill(guess)
        press(page, "check")
        assert said.inner_text() == answer
    for guess, answer in (("4", "another shape: it has 3 numbers"), ("[8, 20, 38]", "off by 5 %")):
        page.locator("[name=guess]").fill(guess)
        page.keyboard.press("Enter")
        assert said.inner_text().endswith(f"{answer}.")
    assert position(page) == "7 / 8" and ask.inner_text() == "Predict what comes next:"
    press(page, "last")
    assert position(page) == "7 / 8"
    press(page, "reveal")
    assert position(page) == "8 / 8" and not page.locator(".wb-row").is_visible()
    press(page, "first")  # what was seen needs no guess
    press(page, "last")
    assert position(page) == "8 / 8"
    for key in ("ArrowRight", "Space", "End"):  # nothing comes next
        page.locator(".wb-player").press(key)
        assert position(page) == "8 / 8"
    found = Axe().run(page, ".wb-player")
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize(
    ("theme", "size"),
    # A page of a projector, and a cell of JupyterLab in one.
    [*[(theme, (1440, 900)) for theme in ("light", "dark", "print", "projector")],
     ("projector", (1024, 768)), ("projector", (840, 768))],
)  # fmt: skip
def test_predicting_leaves_the_player_as_low_as_it_was_asked_to_be(page, theme, size):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    for program in (three_layers, one_number, five_steps):
        story = told(recorded(program)).to_dict() | {"predict": True, "start": 0}
        show(page, story)
        wear(page, theme)
        heights, rooms, positions = zip(*page.evaluate(PREDICTED, len(story["steps"])), strict=True)
        assert max(heights) <= size[1] and len(set(positions)) > 1
        assert len(set(rooms)) == 1  # an answer moves nothing
        press(page, "predict")
        assert page.evaluate(HEIGHT) <= size[1]


def test_the_row_to_find_things_leaves_the_player_as_low_as_it_was_asked_to_be(page):
    page.set_viewport_size({"width": 1024, "height": 768})
    trace = recorded(five_steps)
    for theme in ("light", "projector"):
        show(page, told(trace).to_dict())
        wear(page, theme)
        press(page, "find")
        assert page.locator(".wb-find").is_visible() and page.evaluate(HEIGHT) <= 768


@pytest.fixture
def alone(page):
    """A picture of one moment: there is nothing to step, to play or to predict."""
    show(page, Storyboard(Scene("one", {"a": Box("a", "op", "a")}), [StoryStep("One moment.")]).to_dict())
    return page


def test_no_key_plays_or_predicts_where_nothing_comes_next(alone):
    alone.locator(".wb-player").focus()
    for key in ("Space", "p", "ArrowRight", "End", "ArrowLeft"):
        alone.keyboard.press(key)
        assert alone.evaluate("document.querySelector('.wb-player').dataset.playing") == "false", key
        assert not alone.locator(".wb-predict").is_visible(), key


@pytest.mark.parametrize("start", [0, 7])
def test_buttons_of_a_prediction_that_nobody_sees_do_nothing(page, start):
    show(page, STORY | {"start": start})
    for _ in range(2):  # before it was asked for at all, and after it was put away
        for action in ("check", "reveal"):
            page.evaluate(f"document.querySelector('[data-action=\"{action}\"]').click()")
        assert position(page) == f"{start + 1} / 8"
        page.locator(".wb-player").press("p")
        page.locator(".wb-player").press("p")
    # `page` asserts that the console has no error


@pytest.mark.parametrize("action", ["reveal", "check"])
def test_the_keys_stay_in_the_player_when_a_prediction_is_put_away(page, action):
    press(page, "predict")
    page.locator(f'[data-action="{action}"]').focus()
    page.keyboard.press("p")
    assert not page.locator(".wb-predict").is_visible()
    assert page.evaluate("document.activeElement.classList.contains('wb-player')")
    page.keyboard.press("ArrowRight")
    assert position(page) == "4 / 8" and page.evaluate("leaked") == []


def test_a_dimmed_button_does_nothing(page):
    press(page, "last")
    for action in ("step", "last"):
        page.locator(f'[data-action="{action}"]').evaluate("button => button.click()")
    assert page.evaluate("moves") == [7]
    press(page, "play")  # from the beginning
    assert position(page) == "1 / 8"
    page.locator('[data-action="back"]').evaluate("button => button.click()")
    assert page.evaluate("document.querySelector('.wb-player').dataset.playing") == "true"
    press(page, "play")


def test_a_story_may_ask_for_predictions_from_the_start(page):
    show(page, STORY | {"predict": True, "start": 0})
    assert (
        page.locator(".wb-row").is_visible()
        and page.locator(".wb-row label").inner_text() == "Predict what comes next:"
    )
    press(page, "play")
    assert position(page) == "1 / 8" and page.evaluate("document.activeElement.name") == "guess"
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    page.keyboard.press("ArrowRight")
    assert position(page) == "2 / 8"


def many_steps():
    """A training whose storages have more rows, and more turns, than a window shows."""
    net, x, y = MLP(), torch.ones(5, 4), torch.zeros(5, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(3):
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()


@pytest.mark.parametrize("size", [(1440, 900), (1024, 768)])
def test_the_names_of_rows_stay_in_sight_wherever_the_picture_is_scrolled(page, size):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    trace = recorded(many_steps)
    board = told(trace, "versions")
    show(page, board.to_dict())
    wear(page, "projector")
    press(page, "own")  # at which it is wider than the window
    scrolled = """() => { const { scrollWidth, clientWidth } = document.querySelector(".wb-view");
        return scrollWidth > clientWidth; }"""
    assert page.evaluate(scrolled)
    shifts = """() => { const port = document.querySelector(".wb-view").getBoundingClientRect();
        const over = (group, { left, right, top, bottom }) => [left + 2, (left + right) / 2, right - 2]
          .every((x) => group.contains(document.elementFromPoint(x, (top + bottom) / 2)));
        return [...document.querySelectorAll(".wb-kind-name")]
          .map((group) => [group, group.querySelector(".wb-title").getBoundingClientRect()])
          .filter(([, { bottom, top }]) => top >= port.top && bottom <= port.bottom)
          .map(([group, at]) => at.left >= port.left && at.right <= port.right && over(group, at)); }"""
    for k in (len(board.steps) - 1, 0, len(board.steps) // 2):
        page.evaluate("k => player.go(k)", k)
        settled(page)
        assert in_sight(page, board.steps[k].focus)
        assert page.evaluate(shifts) and all(page.evaluate(shifts)), k


def spoiled_state():
    """A loop's state that a node saved and a later line writes over, with more around it than a window shows."""
    x = torch.tensor([[0.1, 0.2, 0.3]])
    w1, w2 = torch.ones(3, 3, requires_grad=True), torch.ones(3, 2, requires_grad=True)
    h = torch.sigmoid(x @ w1)
    for _ in range(4):
        x = torch.tanh(h * 2) @ w1
    h += 1
    out = ((x @ w2) ** 2).sum() + h.sum()
    out.backward()


def spoiled_at_once():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (w * w).exp()
    y.add_(1)
    y.sum().backward()


# Of the first lines of what happened, which come before PyTorch's own words, how many are out of sight.
OUTSIDE = """() => { const view = document.querySelector(".wb-view").getBoundingClientRect();
  const lines = [...document.querySelectorAll(".wb-kind-story text")].slice(0, 12).filter((line) => line.textContent);
  return lines.map((line) => line.getBoundingClientRect()).filter(({ left, top, right, bottom }) =>
    left < view.left || right > view.right || top < view.top || bottom > view.bottom).length; }"""


@pytest.mark.parametrize("program", [spoiled_at_once, spoiled_state])
@pytest.mark.parametrize("size", [(1440, 900), (1024, 768)])
def test_an_error_opens_at_what_failed_and_what_happened_there(page, size, program):
    with torch.record() as trace, pytest.raises(RuntimeError, match="modified by an inplace operation"):
        program()
    page.set_viewport_size({"width": size[0], "height": size[1]})
    board = told(trace, "error")
    failed = board.steps[-1].focus
    (kept,) = [id for id in board.steps[-1].boxes | board.steps[-2].boxes if id.startswith(f"{failed}.saved")]
    for theme in ("light", "dark", "projector", "print"):
        show(page, board.to_dict())
        wear(page, theme)
        show(page, board.to_dict(), again=True)
        heading = place_of(page.locator(".wb-kind-story text").first)
        view = place_of(page.locator(".wb-view"))
        assert view["x"] <= heading["x"] and heading["x"] + heading["width"] <= view["x"] + view["width"]
        assert view["y"] <= heading["y"] and heading["y"] + heading["height"] <= view["y"] + view["height"]
        assert page.evaluate(OUTSIDE) == 0
        assert in_sight(page, failed)
        assert size == (1024, 768) or in_sight(page, kept)
        assert page.evaluate("document.querySelector('[data-current]').dataset.state") == "error"


@pytest.mark.parametrize("program", [each[0] for each in CASES], ids=lambda each: each.__name__)
def test_a_saved_page_of_an_error_opens_at_what_failed(page, program, tmp_path):
    picture = error_of(program).explain()
    picture.save(tmp_path / "error.html")
    for size in ((1440, 900), (1024, 768)):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.goto((tmp_path / "error.html").as_uri())
        wait_until(page, "document.querySelector('.wb-kind-story') !== null")
        settled(page)
        focus = picture.storyboard.steps[-1].focus
        assert focus is None or in_sight(page, focus)
        assert page.evaluate(OUTSIDE) == 0


@pytest.mark.parametrize("view", ["saved", "memory"])
def test_a_chart_opens_whole_across_beside_the_files_of_a_small_jupyterlab(page, view):
    """The saved view shows its tensors below its list of nodes."""
    page.set_viewport_size(BESIDE_FILES)
    x = torch.tensor([[0.5, 1.0, 2.0]] * 4, requires_grad=True)
    with torch.record() as trace:
        (x.exp() * x).tanh().sum().backward()
    show(page, trace.show(view).storyboard.to_dict())
    settled(page)
    window = page.locator(".wb-view")
    assert window.evaluate("view => view.scrollWidth - view.clientWidth") == 0
    size = "text => parseFloat(getComputedStyle(text).fontSize) * text.getCTM().a"
    assert (
        min(text.evaluate(size) for text in page.locator(".wb-picture .wb-box:not(.wb-state-future) text").all()) > 10.9
    )
    if view == "saved":
        press(page, "first")
        row = page.locator("[data-id='list.0'] .wb-frame")
        there, below = (place_of(page.locator(f"[data-id={id!r}] .wb-frame")) for id in ("list.0", "chosen"))
        assert below["y"] > there["y"] + there["height"] and below["x"] == pytest.approx(there["x"], abs=1)
        page.evaluate("window.player.go(99)")
        row.click()
        assert page.locator("[data-id=chosen] .wb-title").text_content() == "ExpBackward0"


def test_beside_the_files_of_a_small_jupyterlab_what_happened_stands_below_an_error(page):
    page.set_viewport_size(BESIDE_FILES)
    with torch.record() as trace, pytest.raises(RuntimeError, match="modified by an inplace operation"):
        spoiled_at_once()
    board = told(trace, "error")
    show(page, board.to_dict())
    window, story = page.locator(".wb-view"), place_of(page.locator(".wb-kind-story .wb-frame"))
    assert window.evaluate("view => [view.scrollLeft, view.scrollWidth - view.clientWidth]") == [0, 0]
    assert in_sight(page, board.steps[-1].focus)
    boxes = page.locator(".wb-box:not(.wb-kind-story):not(.wb-state-future) .wb-frame").all()
    assert all(place_of(box)["y"] + place_of(box)["height"] < story["y"] for box in boxes)
    view = place_of(window)
    assert story["y"] + 60 < view["y"] + view["height"]  # how it begins is in sight
    lines = page.locator(".wb-line:not(.wb-kind-same *)").evaluate_all(
        "lines => lines.map((line) => line.getBoundingClientRect()).map(({ left, bottom }) => [left, bottom])"
    )
    assert lines and all(
        left > view["x"] and bottom < story["y"] for left, bottom in lines
    )  # they moved with their boxes
