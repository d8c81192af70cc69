"""Pictures whose boxes have one line each, as the projector's theme draws them: nothing is upon anything else."""

from __future__ import annotations

import pytest
from browser_page import wait_until
from player_page import HEIGHT, SMALLEST, position, press, show, wear, whole
from player_programs import (
    five_steps,
    one_number,
    rounds,
    second_order,
    story_of,
    three_layers,
    twelve_nodes,
    two_blocks,
)

SIZE, CALM = (1024, 768), True
VIEW_BOX = "document.querySelector('.wb-picture').getAttribute('viewBox')"
# Texts that leave their box, boxes upon each other, and labels upon boxes, of all that is drawn.
FAULTS = """() => {
  const found = [], drawn = (part) => part.getBoundingClientRect(), there = (part) => `${part}:not(.wb-state-future)`;
  const over = (a, b, by) =>
    a.left < b.right - by && b.left < a.right - by && a.top < b.bottom - by && b.top < a.bottom - by;
  const boxes = [...document.querySelectorAll(there(".wb-box"))].map((group) => ({
    id: group.dataset.id, frame: drawn(group.querySelector(".wb-frame")),
    solid: !/kind-(region|level)/.test(group.className.baseVal),
    texts: [...group.querySelectorAll("text")].map(drawn) }));
  for (const { id, frame, texts } of boxes)
    for (const { left, right, top, bottom } of texts)
      if (left < frame.left || right > frame.right || top < frame.top - 2 || bottom > frame.bottom + 2)
        found.push(`text of ${id}`);
  const solid = boxes.filter((box) => box.solid);
  solid.forEach((one, i) => solid.slice(i + 1).forEach((other) => {
    if (over(one.frame, other.frame, 1)) found.push(`${one.id} and ${other.id}`); }));
  for (const label of document.querySelectorAll(there(".wb-arrow") + " .wb-label"))
    for (const { id, frame } of solid)
      if (over(drawn(label), frame, 3)) found.push(`label on ${id}: ${label.textContent}`);
  return found; }"""


PROGRAMS = [one_number, three_layers, five_steps, twelve_nodes, two_blocks, second_order, rounds]


@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_lies_upon_anything_else_at_any_step(page, program):
    for depth in (1, 9):
        story = story_of(program, depth=depth)
        show(page, story)
        wide, high = map(float, page.evaluate(VIEW_BOX).split()[2:])
        wear(page, "projector")
        narrow, low = map(float, page.evaluate(VIEW_BOX).split()[2:])
        assert narrow <= wide or low <= high
        faults = f"n => Array.from({{ length: n }}, (_, k) => (player.go(k), ({FAULTS})()))"
        found = page.evaluate(faults, len(story["steps"]))
        assert {k: each for k, each in enumerate(found) if each} == {}, depth


@pytest.mark.parametrize("program", [one_number, three_layers, twelve_nodes])
def test_on_a_small_projector_the_text_is_large(page, program):
    show(page, story_of(program))
    wear(page, "projector")
    show(page, story_of(program), again=True)
    wait_until(page, f"{SMALLEST} >= 15.99")
    assert page.evaluate(HEIGHT) <= 768 and page.evaluate(SMALLEST) < 18.01
    press(page, "own")
    assert page.evaluate(SMALLEST) == pytest.approx(18, abs=0.01)
    press(page, "fit")
    assert whole(page)


def test_an_operation_tells_its_name_and_shape_and_its_details_tell_the_rest(page):
    layers = {"fc1Linear(5, 8)", "fc2Linear(5, 8)", "fc3Linear(5, 3)"}
    for options, net in (({"open": []}, {"netMLP(5, 3)"}), ({}, layers)):
        show(page, story_of(three_layers, **options))
        wear(page, "projector")
        told_there = page.locator(".wb-box:not(.wb-state-future)").all_text_contents()
        begun = {text.partition(")")[0] + ")" for text in told_there}  # what a group holds comes after
        assert {"x(5, 4)"} | net <= begun and "net(x) - y(5, 3)" in told_there
        assert not any("Backward0" in text or "no gradient" in text or "weight" in text for text in told_there)
    page.locator('[aria-label*="net(x) - y"][role=button]').first.click()
    assert "SubBackward0" in page.locator(".wb-details").inner_text()


def test_theme_by_theme_the_step_the_size_and_the_prediction_stay_and_the_keys_work(page):
    show(page, story_of(two_blocks))
    first, box = page.evaluate(VIEW_BOX), page.locator('.wb-kind-group[aria-label^="1 › Block"]')
    press(page, "back")
    press(page, "predict")
    place = position(page)
    for theme in ("projector", "light"):
        wear(page, theme)
        assert position(page) == place and page.locator(".wb-predict").is_visible()
        page.keyboard.press("1")
        assert page.locator('[data-action="own"]').count() == 1
    assert page.evaluate(VIEW_BOX) == first
    wear(page, "projector")
    closed = page.evaluate(VIEW_BOX)
    box.click()
    assert page.evaluate(VIEW_BOX) != closed and page.locator(".wb-predict").is_visible()
    assert page.evaluate(FAULTS) == []


def test_a_theme_that_the_page_itself_changes_is_followed(page):
    show(page, story_of(three_layers))
    first = page.evaluate(VIEW_BOX)
    page.evaluate("document.getElementById('here').dataset.wbTheme = 'projector'")
    wait_until(page, f"{VIEW_BOX} !== {first!r}")
    page.evaluate("document.getElementById('here').dataset.wbTheme = 'light'")
    wait_until(page, f"{VIEW_BOX} === {first!r}")


@pytest.mark.parametrize("view", ["saved", "memory", "versions"])
def test_a_chart_stays_as_it_is(page, view):
    show(page, story_of(three_layers, view=view))
    first = page.evaluate(VIEW_BOX)
    wear(page, "projector")
    assert page.evaluate(VIEW_BOX) == first
