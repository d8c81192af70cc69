"""Finding one's way in a picture: search, zoom, panning, and the overview of a large one."""

from __future__ import annotations

import pytest
from browser_page import place_of, settled, wait_until
from player_page import go, in_sight, position, press, show, whole
from player_story import WIDE, storyboard

from workbench.pictures.scene.model import Box, Scene, StoryStep
from workbench.pictures.scene.storyboard import Storyboard

CALM = True
STORY = storyboard().to_dict()
WIDTH = f"Number(document.querySelector('.wb-picture').getAttribute('width')) / {STORY['width']}"
WHERE = "(() => { const v = document.querySelector('.wb-view'); return [v.scrollLeft, v.scrollTop]; })()"
FOUND = "[...document.querySelectorAll('[data-found]')].map((g) => [g.dataset.id, g.dataset.found])"
MIDDLE = """() => { const v = document.querySelector('.wb-view').getBoundingClientRect();
    const p = document.querySelector('.wb-picture').getBoundingClientRect();
    return [(v.x + v.width / 2 - p.x) / p.width, (v.y + v.height / 2 - p.y) / p.height]; }"""


@pytest.fixture
def large(page):
    show(page, WIDE)
    page.locator(".wb-player").focus()
    settled(page)
    return page


def test_slash_finds_by_name_and_enter_goes_from_one_match_to_the_next(page):
    page.locator(".wb-player").focus()
    page.keyboard.press("/")
    page.keyboard.type("sQua")
    status = page.locator(".wb-find [role=status]")
    assert status.inner_text() == "1 of 1: Square"
    assert page.evaluate(FOUND) == [["n1", "at"]]
    page.get_by_role("searchbox", name="Find by name or operation").fill("x")
    assert page.evaluate(FOUND) == [["x", "at"], ["n1.x", "too"]]
    for key, said in (("Enter", "2 of 2: x"), ("Enter", "1 of 2: x"), ("Shift+Enter", "2 of 2: x")):
        page.keyboard.press(key)
        assert status.inner_text() == said
    assert page.evaluate(FOUND) == [["x", "too"], ["n1.x", "at"]]
    page.keyboard.press("Escape")
    assert page.evaluate(FOUND) == [] and not page.locator(".wb-find").is_visible()
    assert page.evaluate("document.activeElement.dataset.id") == "n1.x"
    page.keyboard.press("Enter")
    assert page.locator(".wb-panel-title").inner_text() == "x"


def test_names_come_before_what_is_found_by_anything_else(page):
    boxes = [
        ("a", "op", "z = f(conv)", ()),
        ("b", "op", "relu", ("conv2",)),
        ("c", "op", "conv2", ()),
        ("d", "op", "conv", ()),
    ]
    scene = Scene("names", {id: Box(id, kind, title, lines) for id, kind, title, lines in boxes})
    show(page, Storyboard(scene, [StoryStep("One.")]).to_dict())
    press(page, "find")
    page.keyboard.type("Conv")
    seen = []
    for _ in boxes:
        seen.append(page.evaluate("document.querySelector('[data-found=at]').dataset.id"))
        page.keyboard.press("Enter")
    assert seen == ["d", "c", "a", "b"]


def test_an_operation_is_found_by_what_it_is(page):
    press(page, "find")
    page.keyboard.type("operation")
    assert [id for id, _ in page.evaluate(FOUND)] == ["n2", "n3"]


def test_the_search_looks_at_what_is_there_and_follows_the_steps(page):
    go(page, 0)
    press(page, "find")
    page.keyboard.type("loss")
    assert page.locator(".wb-hits").inner_text() == "No matches" and page.evaluate(FOUND) == []
    go(page, 2)
    assert page.evaluate(FOUND) == [["loss", "at"]]
    page.locator(".wb-find [data-action=leave]").click()
    assert page.evaluate("document.activeElement.dataset.id") == "loss"
    assert page.evaluate(FOUND) == []


def test_who_types_into_the_search_steps_and_zooms_nothing(page):
    press(page, "find")
    # The row of the search takes room, which the picture then fits.
    settled(page)
    before = page.evaluate(WIDTH)
    page.keyboard.type("t+-0 ?/b")
    for key in ("ArrowLeft", "ArrowRight", "Home", "End"):
        page.keyboard.press(key)
    assert page.get_by_role("searchbox").input_value() == "t+-0 ?/b"
    assert position(page) == "3 / 8" and page.evaluate(WIDTH) == before
    assert page.evaluate("leaked") == []


def test_matches_are_told_by_more_than_colour(page):
    press(page, "find")
    page.keyboard.type("x")
    looks = page.evaluate("""() => ["x", "n1.x", "n2"].map((id) => { const style = getComputedStyle(
        document.querySelector(`[data-id="${id}"] .wb-ring`));
        return [style.strokeWidth, style.strokeDasharray, style.stroke === "none"]; })""")
    assert looks == [["5px", "none", False], ["3px", "3px, 3px", False], ["2px", "none", True]]


def test_a_match_far_away_comes_into_sight(large):
    for name in ("e1599", "e39", "e1560"):
        large.keyboard.press("/")
        large.keyboard.type(name)
        assert in_sight(large, f"b{name[1:]}"), name
        large.keyboard.press("Escape")


def test_keys_zoom_and_fit(page):
    page.locator(".wb-player").focus()
    page.keyboard.press("1")
    assert page.evaluate(WIDTH) == 1
    for key, scale in (("+", 1.25), ("=", 1.5625), ("-", 1.25), ("-", 1), ("-", 0.8)):
        page.keyboard.press(key)
        assert page.evaluate(WIDTH) == pytest.approx(scale)
    page.keyboard.press("0")
    assert whole(page)


def test_the_wheel_zooms_with_ctrl_about_the_pointer_and_scrolls_without(large):
    view = place_of(large.locator(".wb-view"))
    large.evaluate("document.querySelector('.wb-view').scrollTo(900, 700)")
    at = view["x"] + 300, view["y"] + 200
    point = """([x, y]) => { const p = document.querySelector('.wb-picture').getBoundingClientRect();
        return [(x - p.x) / p.width, (y - p.y) / p.height]; }"""
    width = "document.querySelector('.wb-picture').getBoundingClientRect().width"
    before, wide = large.evaluate(point, at), large.evaluate(width)
    large.mouse.move(*at)
    large.keyboard.down("Control")
    large.mouse.wheel(0, -120)
    large.keyboard.up("Control")
    wait_until(large, f"{width} > {wide * 1.2}")
    assert large.evaluate(point, at) == pytest.approx(before, abs=0.001)
    grown = large.evaluate(width)
    large.mouse.wheel(0, 120)
    wait_until(large, f"{WHERE}[1] > 0")
    assert large.evaluate(width) == grown


def test_zooming_keeps_what_is_in_the_middle_there(large):
    large.evaluate("document.querySelector('.wb-view').scrollTo(1500, 900)")
    before = large.evaluate(MIDDLE)
    for action in ("in", "in", "out"):
        press(large, action)
        assert large.evaluate(MIDDLE) == pytest.approx(before, abs=0.002)


def test_dragging_moves_the_picture_and_opens_nothing(large):
    large.evaluate("document.querySelector('.wb-view').scrollTo(600, 200)")
    box = place_of(large.locator('[data-id="b209"]'))
    large.mouse.move(box["x"] + 5, box["y"] + 5)
    large.mouse.down()
    large.mouse.move(box["x"] - 95, box["y"] - 45, steps=4)
    large.mouse.up()
    assert large.evaluate(WHERE) == pytest.approx([700, 250], abs=3)
    assert not large.locator(".wb-details").is_visible()
    large.locator('[data-id="b209"]').click()
    assert large.locator(".wb-details").is_visible()


def test_keys_move_the_picture_and_do_not_step(large):
    large.evaluate("document.querySelector('.wb-view').scrollTo(400, 300)")
    before = position(large)
    for key, there in (("Right", [480, 300]), ("Down", [480, 380]), ("Left", [400, 380]), ("Up", [400, 300])):
        large.keyboard.press(f"Shift+Arrow{key}")
        assert large.evaluate(WHERE) == there
    assert position(large) == before


def test_a_large_picture_has_an_overview_that_says_where_one_is(large):
    large.keyboard.press("1")
    assert large.locator(".wb-map").is_visible() and large.locator(".wb-map rect").count() == 1601
    port = "['x', 'y', 'width', 'height'].map((n) => Number(document.querySelector('.wb-port').getAttribute(n)))"
    large.evaluate("document.querySelector('.wb-view').scrollTo(1000, 800)")
    wait_until(large, f"{port}[0] < 1100")
    x, y, width, height = large.evaluate(port)
    assert (x, y) == pytest.approx((1000, 800), abs=1)
    assert width < WIDE["width"] / 3 and height < WIDE["height"] / 2
    assert large.locator(".wb-map .wb-at-running").count() == 3
    go(large, 0)
    assert large.locator(".wb-map .wb-at-running").count() == 1


def test_a_press_on_the_overview_goes_there(large):
    frame = place_of(large.locator(".wb-map"))
    large.mouse.click(frame["x"] + frame["width"] * 0.75, frame["y"] + frame["height"] * 0.25)
    assert large.evaluate(MIDDLE) == pytest.approx([0.75, 0.25], abs=0.02)


def test_a_small_picture_has_no_overview_until_it_is_zoomed(page):
    assert not page.locator(".wb-map").is_visible()
    for _ in range(5):
        press(page, "in")
    assert page.locator(".wb-map").is_visible()


def test_the_view_is_as_wide_with_the_overview_at_every_step(large):
    before = place_of(large.locator(".wb-view"))
    for k in (0, 2, 1):
        go(large, k)
        assert place_of(large.locator(".wb-view")) == before
