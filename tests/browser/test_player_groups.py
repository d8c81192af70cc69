"""A group opens and closes in the player by click and key, where it stands and at the same moment."""

from __future__ import annotations

import pytest
from browser_page import assert_accessible, place_of, wait_until
from player_page import go, position, press, show, states

import workbench as torch

LOOP = "for _ in range(60): 60 iterations"
TITLE = LOOP.partition(": ")[0]  # the count of its iterations is apart


@pytest.fixture(scope="module")
def picture():
    x = torch.tensor([0.5, 0.25], requires_grad=True)
    with torch.record() as trace:
        y = x
        for _ in range(60):
            y = (y * 1.01 + 0.1).sin()
        total = y.sum()
        total.backward()
    return trace.show(open=[])


@pytest.fixture
def page(page, picture):
    story = picture.storyboard.to_dict()  # it opens at its end: these tests begin after the forward
    phases = [step.phase for step in picture.storyboard.steps]
    show(page, story | {"start": phases.index("backward") - 1})
    return page


def titles(page, kind: str) -> list[str]:
    """The titles of the boxes of a kind, in order; of frames those that can be closed."""
    return page.locator(f".wb-kind-{kind} .wb-title").all_text_contents()


def frames(page) -> list[str]:
    return page.locator(".wb-over .wb-title").all_text_contents()


def test_a_click_opens_a_group_and_another_closes_it(page):
    assert titles(page, "group") == [TITLE] and frames(page) == []
    page.locator(".wb-kind-group").click()
    assert frames(page) == [TITLE]
    assert titles(page, "group") == ["iteration 1", "58 more iterations (2 to 59)", "iteration 60"]
    page.locator(".wb-kind-group").first.click()
    assert frames(page) == [TITLE, "iteration 1"]
    assert page.locator(".wb-box.wb-kind-op").count() == 3 + 1 and page.locator(".wb-kind-group").count() == 2
    page.locator(".wb-box.wb-kind-region").first.press("Enter")
    assert titles(page, "group") == [TITLE] and frames(page) == []


def test_enter_opens_and_the_keys_still_reach_the_player(page):
    page.locator(".wb-kind-group").first.press("Enter")
    assert frames(page) == [TITLE]
    assert page.evaluate("document.activeElement.dataset.id") == "g1"
    at = int(position(page).split(" / ")[0])
    press(page, "step")
    assert position(page).startswith(f"{at + 1} / ")


def test_what_was_opened_stands_where_it_stood(page):
    where = "() => document.querySelector('[data-id=g3] .wb-frame').getBoundingClientRect()"
    page.locator(".wb-kind-group").first.click()
    wait_until(page, "document.querySelector('[data-id=g3]') !== null")
    before = page.evaluate(where)
    page.locator("[data-id=g3]").dispatch_event("click")  # without bringing it into sight first
    after = page.evaluate(where)
    view = page.locator(".wb-view").evaluate("""(view) => [[view.scrollLeft, view.scrollWidth - view.clientWidth],
        [view.scrollTop, view.scrollHeight - view.clientHeight]]""")
    # At the picture's edges there is nothing to scroll to.
    for axis, (scrolled, most) in zip("xy", view, strict=True):
        assert after[axis] == pytest.approx(before[axis], abs=3) or scrolled in (0, most), view


def test_a_group_opens_at_the_moment_that_is_shown(page):
    for _ in range(3):
        press(page, "step")
    assert position(page) == "5 / 7" and states(page)["g1"] == "running"
    page.locator(".wb-kind-group").click()
    seen = states(page)
    assert [seen[id] for id in seen if seen[id] == "running"] == ["running"] and seen["g1"] == "idle"
    assert "runs backward" in page.locator(".wb-sentence").inner_text()
    press(page, "last")
    page.locator(".wb-box.wb-kind-region").first.press("Enter")
    assert position(page) == "7 / 7"


def test_steps_inside_a_closed_group_are_one_step(page):
    assert position(page).endswith(" / 7")
    assert page.locator(".wb-sentence").inner_text().startswith("total = y.sum() (SumBackward0) gives")
    press(page, "first")
    assert (
        page.locator(".wb-sentence").inner_text().startswith(f"{LOOP.partition(':')[0]}: 180 operations join the graph")
    )


def test_python_is_told_of_steps_of_the_whole_story(page, picture):
    press(page, "back")
    (moved,) = page.evaluate("window.moves")
    assert picture.storyboard.stops[0][1] == moved
    go(page, 0)
    assert position(page) == "1 / 7"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_inside_a_group(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.locator(".wb-kind-group").click()
    assert_accessible(page)


def test_a_saved_page_packs_its_steps_and_plays_them(page, picture, tmp_path):
    path = tmp_path / "chain.html"
    picture.save(path)
    assert 'type="application/gzip"' in path.read_text(encoding="utf-8")
    page.goto(path.as_uri())
    page.locator(".wb-kind-group").click()
    assert frames(page) == [TITLE]


def test_what_is_inside_groups_is_found_and_enter_goes_there(page):
    page.locator(".wb-player").focus()
    page.keyboard.press("/")
    page.keyboard.type("mulbackward")
    assert page.locator(".wb-hits").inner_text() == f"1 of 1: {LOOP}, inside this group (Enter to open)"
    page.keyboard.press("Enter")
    assert frames(page) == [TITLE]
    assert page.locator(".wb-hits").inner_text().startswith("1 of 3: iteration 1")
    page.keyboard.press("Enter")
    assert len(frames(page)) == 2
    assert "y * 1.01" in page.locator(".wb-hits").inner_text()


def test_the_heading_of_an_open_group_closes_it_and_the_rest_says_what_it_is(page):
    page.locator(".wb-kind-group").first.click()
    region = page.locator(".wb-kind-region").first
    group = region.get_attribute("data-id")
    press(page, "fit")
    frame = place_of(region.locator(".wb-frame"))
    page.mouse.click(frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] - 2)
    assert page.locator(".wb-panel-kind").inner_text().startswith("part of the graph")
    assert region.get_attribute("data-id") == group
    frame = place_of(region.locator(".wb-frame"))
    page.mouse.click(frame["x"] + 8, frame["y"] + 4)
    assert page.locator(f".wb-kind-group[data-id={group}]").is_visible()
    assert page.locator(".wb-kind-region").count() == 0


def test_the_outline_of_a_large_region_is_drawn_through(page):
    """Its dots took 7 ms in each part of the window that was painted: 298 ms of a click on Step with 1,000 boxes."""
    page.locator(".wb-kind-group").first.click()
    for _ in range(3):
        page.locator(".wb-kind-group").nth(1).click()
    drawn = page.evaluate(
        """() => [...document.querySelectorAll(".wb-box.wb-kind-region .wb-frame")].map((frame) =>
          [frame.height.baseVal.value + frame.width.baseVal.value > 2000, getComputedStyle(frame).strokeDasharray])"""
    )
    assert {large: dashes for large, dashes in drawn} == {True: "none", False: "2px, 4px"}


# px of arrows, as they are with these groups open, inside boxes that they do not join.
THROUGH = """([story, opened]) => {
  const { boxes, arrows } = folded(story, new Set(opened)), solid = boxes.filter(({ kind }) => kind !== "region");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  let sum = 0;
  for (const { d, source, target, kind } of arrows.filter(({ kind }) => kind === "edge")) {
    path.setAttribute("d", d);
    const others = solid.filter(({ id }) => id !== source && id !== target), length = path.getTotalLength();
    for (let at = 0; at < length; at += 8) {
      const { x, y } = path.getPointAtLength(at);
      sum += 8 * others.filter((b) => x > b.x + 1 && x < b.x + b.w - 1 && y > b.y + 1 && y < b.y + b.h - 1).length;
    }
  }
  return sum; }"""


@pytest.mark.scheduled
def test_no_arrow_leads_through_a_box_where_rounds_are_opened(page):
    """It follows the room that its surroundings get; stretched by its bends alone it led 131 px through a round."""
    w, u, b = (torch.ones(*shape, requires_grad=True) for shape in ((4, 4), (3, 4), (4,)))
    xs, h = torch.ones(6, 2, 3), torch.zeros(2, 4)
    with torch.record() as trace:
        for t in range(6):
            h = torch.tanh(h @ w + xs[t] @ u + b)
        h.sum().backward()
    story = trace.show().storyboard.to_dict()
    show(page, story)
    around = {box["id"]: box.get("region") for box in story["boxes"]}
    for group in [box["id"] for box in story["boxes"] if box["kind"] == "group"]:
        opened = [group]
        while around[opened[-1]]:
            opened.append(around[opened[-1]])
        assert page.evaluate(THROUGH, [story, opened]) == 0
