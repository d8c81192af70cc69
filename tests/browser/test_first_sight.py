"""What is seen first of many programs in a notebook: the share in sight, the height of the text, the boxes of work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from browser_page import open_page
from corpus import ENTRIES
from player_page import show
from test_player_window import NOTEBOOKS

import workbench as torch
from workbench.views import storyboard

PROGRAMS = [each.program for each in ENTRIES if "models" in each.tags]
LEAST = 12 * 0.59  # px of a box's lines: at a smaller scale nobody reads them
# The boxes that are there, how many of them lie whole in the window, those of work, the scale, and the labels of arrows
# that stand on another, on a box or on a heading.
SEEN = """() => { const view = document.querySelector(".wb-view").getBoundingClientRect();
  const picture = document.querySelector(".wb-picture");
  const boxes = [...picture.querySelectorAll(".wb-box:not(.wb-kind-region):not(.wb-kind-level):not(.wb-state-future)")];
  const whole = boxes.filter((box) => { const b = box.querySelector(".wb-frame").getBoundingClientRect();
    return b.left > view.left - 1 && b.right < view.right + 1 && b.top > view.top - 1 && b.bottom < view.bottom + 1; });
  const kinds = [".wb-kind-op", ".wb-kind-function", ".wb-kind-group", ".wb-kind-plain"].join();
  const rectangle = (part) => part.getBoundingClientRect();
  const meets = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const labels = [...picture.querySelectorAll(".wb-label")].map((label) => [label.textContent, rectangle(label)]);
  const headings = [...picture.querySelectorAll(".wb-kind-region:not(.wb-state-future) .wb-title")].map(rectangle);
  const solid = [...headings, ...boxes.map((box) => rectangle(box.querySelector(".wb-frame")))];
  const on = labels.filter(([, at], n) => solid.some((each) => meets(at, each)) ||
    labels.some(([, other], k) => k < n && meets(at, other)));
  return { on: on.map(([text]) => text), boxes: boxes.length, whole: whole.length,
    work: boxes.filter((box) => box.matches(kinds)).length,
    scale: picture.getAttribute("width") / picture.viewBox.baseVal.width,
    size: [picture.viewBox.baseVal.width, picture.viewBox.baseVal.height] }; }"""
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture(scope="module")
def page():
    with open_page() as page:
        yield page


def seen_first(page, program: Callable[[Any], Callable[[], None]], size: tuple[int, int]) -> dict[str, Any]:
    """How a program's picture opens in a browser's window of this size."""
    torch.manual_seed(0)
    with torch.record(lines=True) as trace:
        program(torch)()
    page.set_viewport_size({"width": size[0], "height": size[1]})
    show(page, storyboard(trace).to_dict(), notebook=NOTEBOOKS[size])
    page.evaluate(FRAMES)
    return page.evaluate(SEEN)


# What opens too large for a notebook's window, even at the least scale: it is read at nearly its own size, and scrolls.
TOO_LARGE = {
    "cnn_digit_classifier",
    "reinforce_with_baseline",
    "physics_informed_heat_equation",
    "matrix_factorisation",
    "differentiable_cannon",
    "per_sample_gradients_functional",
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_opens_whole_and_legible(page, program):
    seen = seen_first(page, program, (1440, 900))
    assert not seen["on"]  # each label stands at its arrow, where nothing else is
    assert seen["work"] >= 2  # a graph of more than one operation is never one closed box
    if program.__name__ in TOO_LARGE:
        width, height = NOTEBOOKS[1440, 900]
        assert seen["size"][0] * 0.6 > width - 60 or seen["size"][1] * 0.6 > 0.75 * height - 60
        assert seen["scale"] > 0.9
    else:
        assert seen["whole"] == seen["boxes"] and 12 * seen["scale"] >= LEAST


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_beside_a_small_window_the_text_of_a_program_is_legible_and_what_the_step_is_about_in_sight(page, program):
    seen = seen_first(page, program, (1024, 768))
    assert 12 * seen["scale"] >= LEAST and seen["whole"] >= 1 and seen["work"] >= 2 and not seen["on"]
    assert page.evaluate("""() => { const box = document.querySelector(".wb-picture [data-current] .wb-frame");
      if (!box) return true;
      const view = document.querySelector(".wb-view").getBoundingClientRect(), b = box.getBoundingClientRect();
      return b.bottom > view.top && b.top < view.bottom && b.right > view.left && b.left < view.right; }""")
