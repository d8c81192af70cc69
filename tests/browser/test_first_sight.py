"""What is seen first of many programs in a notebook: the share in sight, the height of the text, the boxes of work."""

from __future__ import annotations

import pytest
from browser_page import resize
from corpus import ENTRIES
from player_page import NOTEBOOKS, scheduled_but, show

import workbench as torch
from workbench.pictures.views import storyboard

PROGRAMS = [each.program for each in ENTRIES if "models" in each.tags]
LEAST = 12 * 0.81  # px of a box's lines: at a smaller scale they are too small to read
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
# Whether any of the box that the step is about is in sight.
CURRENT = """() => { const box = document.querySelector(".wb-picture [data-current] .wb-frame");
  if (!box) return true;
  const view = document.querySelector(".wb-view").getBoundingClientRect(), b = box.getBoundingClientRect();
  return b.bottom > view.top && b.top < view.bottom && b.right > view.left && b.left < view.right; }"""
LARGE, SMALL = (1440, 900), (1024, 768)
# What opens too large for a notebook's window, even at the least scale: it is read at nearly its own size, and scrolls.
TOO_LARGE = {
    "physics_informed_heat_equation",
    "per_sample_gradients_functional",
}


@pytest.mark.parametrize("program", scheduled_but(PROGRAMS[::2], PROGRAMS), ids=lambda program: program.__name__)
def test_a_program_opens_whole_and_legible_and_beside_a_small_window_what_the_step_is_about_is_in_sight(page, program):
    torch.manual_seed(0)
    with torch.record(lines=True) as trace:
        program(torch)()
    story = storyboard(trace).to_dict()
    for size in (LARGE, SMALL):
        resize(page, *size)
        show(page, story, notebook=NOTEBOOKS[size])
        seen = page.evaluate(SEEN)
        assert not seen["on"], size  # each label stands at its arrow, where nothing else is
        assert seen["work"] >= 2, size  # a graph of more than one operation is never one closed box
        if size == SMALL:
            assert 12 * seen["scale"] >= LEAST and seen["whole"] >= 1 and page.evaluate(CURRENT)
        elif program.__name__ in TOO_LARGE:
            width, height = NOTEBOOKS[size]
            assert seen["size"][0] * 0.82 > width - 60 or seen["size"][1] * 0.82 > 0.75 * height - 60
            assert seen["scale"] > 0.9
        else:
            assert seen["whole"] == seen["boxes"] and 12 * seen["scale"] >= LEAST
