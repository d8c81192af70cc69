"""The player draws in the browser what the SVG face draws in Python, shape by shape, at every step."""

from __future__ import annotations

import re

import pytest
from browser_page import open_page
from player_page import show
from player_story import storyboard

from workbench.scene.drawing import drawn

SHAPES = """() => Object.fromEntries([...document.querySelectorAll(".wb-box, .wb-arrow, .wb-over")]
  .filter((group) => getComputedStyle(group).visibility !== "hidden")
  .map((group) => [group.getAttribute("aria-label") ?? "", {
    classes: group.getAttribute("class"),
    shapes: [...group.querySelectorAll(":is(rect, path, circle, text):not(.wb-ring)")].map((shape) => ({
      name: `${shape.tagName} ${shape.getAttribute("class")}`, text: shape.textContent,
      numbers: ["x", "y", "width", "height", "rx", "d", "text-anchor"].map((key) => shape.getAttribute(key) ?? ""),
    }))}]))"""


def numbers(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"-?\d*\.?\d+", text)]


@pytest.mark.parametrize("k", range(8))
def test_the_same_shapes_as_the_svg_face(browser_tab, k):
    page, board = browser_tab, storyboard()
    page.evaluate("k => player.go(k)", k)
    here = page.evaluate(SHAPES)
    groups = drawn(board, k)
    assert here.keys() == {group.alt for group in groups}
    for group in groups:
        mine = here[group.alt]
        assert mine["classes"] == group.classes
        assert [shape["name"] for shape in mine["shapes"]] == [f"{s.element} {s.role}" for s in group.shapes]
        for shape, theirs in zip(mine["shapes"], group.shapes, strict=True):
            assert shape["text"] == theirs.text
            if theirs.role not in ("wb-disc", "wb-sign"):  # a sign is drawn around its own middle here
                for key, value in zip(["x", "y", "width", "height", "rx", "d"], shape["numbers"], strict=False):
                    wanted = numbers(str(theirs.attributes.get(key, "")))
                    assert numbers(value) == pytest.approx(wanted, abs=0.02), (group.alt, theirs.role, key)
                assert shape["numbers"][-1] == theirs.attributes.get("text-anchor", ""), theirs.role


@pytest.fixture(scope="module")
def browser_tab():
    with open_page() as page:
        show(page, storyboard().to_dict())
        yield page
        assert page.console_errors == []
