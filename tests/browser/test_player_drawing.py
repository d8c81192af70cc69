"""The player draws in the browser what the SVG face draws in Python, shape by shape, at every step."""

from __future__ import annotations

import re

import pytest
from browser_page import open_page, place_of
from player_page import show
from player_story import storyboard
from playwright.sync_api import Page

from workbench.scene.images import drawn
from workbench.scene.model import Arrow, Box, Plot, Scene, StoryStep
from workbench.scene.storyboard import Storyboard

SHAPES = """(keys) => Object.fromEntries([...document.querySelectorAll(".wb-box, .wb-arrow, .wb-over")]
  .filter((group) => getComputedStyle(group).visibility !== "hidden")
  .map((group) => [group.getAttribute("aria-label") ?? "", {
    classes: group.getAttribute("class"),
    shapes: [...group.querySelectorAll(":is(rect, path, circle, text):not(.wb-ring)")].map((shape) => ({
      name: `${shape.tagName} ${shape.getAttribute("class")}`, text: shape.textContent,
      numbers: keys.map((key) => shape.getAttribute(key) ?? ""),
    }))}]))"""
KEYS = ["x", "y", "width", "height", "rx", "d", "cx", "cy", "text-anchor"]


def numbers(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"-?\d*\.?\d+", text)]


def plotted() -> Storyboard:
    """A curve with a gap, its tangent at a point, and then at none."""
    curve, ends = (((0.0, 0.5), (0.25, 1.0)), ((0.5, 0.0), (1.0, 0.25))), ("-1.0", "3.0", "0.0", "9.5")
    box = Box("p", "plot", "f over x", ("at 1.0: 2.0, slope 3.0",), plot=Plot(curve, ends))
    there = Plot(curve, ends, (0.5, 0.0), ((0.25, 0.5), (1.0, -0.5)))
    changes = {"there": there, "nowhere": Plot(curve, ends)}
    steps = [StoryStep(caption, boxes={"p": {"plot": plot}}) for caption, plot in changes.items()]
    return Storyboard(Scene("Plots", {"p": box, "x": Box("x", "leaf", "x")}), steps)


def test_a_plot_has_the_same_shapes_too():
    with open_page() as page:
        show(page, plotted().to_dict())
        for k in (0, 1, 0):
            assert_alike(page, plotted(), k)
        assert page.console_errors == []


@pytest.mark.parametrize("k", range(8))
def test_the_same_shapes_as_the_svg_face(browser_tab, k):
    assert_alike(browser_tab, storyboard(), k)


def assert_alike(page: Page, board: Storyboard, k: int) -> None:
    page.evaluate("k => player.go(k)", k)
    here = page.evaluate(SHAPES, KEYS)
    groups = drawn(board, k)
    assert here.keys() == {group.alt for group in groups}
    for group in groups:
        mine = here[group.alt]
        assert mine["classes"] == group.classes
        assert [shape["name"] for shape in mine["shapes"]] == [f"{s.element} {s.role}" for s in group.shapes]
        for shape, theirs in zip(mine["shapes"], group.shapes, strict=True):
            assert shape["text"] == theirs.text
            if theirs.role not in ("wb-disc", "wb-sign"):  # a sign is drawn around its own middle here
                for key, value in zip(KEYS[:-1], shape["numbers"], strict=False):
                    wanted = numbers(str(theirs.attributes.get(key, "")))
                    assert numbers(value) == pytest.approx(wanted, abs=0.02), (group.alt, theirs.role, key)
                assert shape["numbers"][-1] == theirs.attributes.get("text-anchor", ""), theirs.role


@pytest.fixture(scope="module")
def browser_tab():
    with open_page() as page:
        show(page, storyboard().to_dict())
        yield page
        assert page.console_errors == []


def test_a_cut_has_the_same_mark_where_its_label_stands():
    boxes = {id: Box(id, kind, id) for id, kind in (("h", "op"), ("t", "constant"), ("far", "constant"), ("u", "op"))}
    ways = [("h", "t", "cut"), ("t", "u", "constant"), ("h", "far", "cut"), ("u", "far", "edge")]
    arrows = {a + b: Arrow(a + b, a, b, kind, "detach, line 3" * (kind == "cut")) for a, b, kind in ways}
    steps = [StoryStep("there"), StoryStep("moved", boxes={"u": {"state": "running"}})]
    story = Storyboard(Scene("Cut", boxes, arrows), steps)
    with open_page() as page:
        show(page, story.to_dict())
        for k in (1, 0, 1):
            assert_alike(page, story, k)
        mark, label = page.locator(".wb-kind-cut .wb-cut"), page.locator(".wb-kind-cut .wb-label")
        assert mark.count() == label.count() == 2
        for n in range(2):
            strokes, text = place_of(mark.nth(n)), place_of(label.nth(n))
            assert text["y"] - 4 <= strokes["y"] + strokes["height"] / 2 <= text["y"] + text["height"] + 4
        said = page.locator(".wb-kind-cut").first.get_attribute("aria-label")
        assert said == "from h to t, and no gradient back: detach, line 3"
