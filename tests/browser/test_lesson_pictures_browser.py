"""Lessons in a real JupyterLab: every picture stepped through, sliders moved, the live stepper driven."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser_page import these_first, wait_until
from lab import Lab
from lesson_page import Lesson, study

STEPPING = "02-backward-one-node-at-a-time.ipynb"
EXPLORING = [
    "01-a-graph-appears.ipynb",
    "03-leaves-and-grad.ipynb",
    "04-where-history-stops.ipynb",
    "08-differentiating-the-derivative.ipynb",
]
OTHERS = ["05-what-backward-remembers.ipynb", "06-writing-over-history.ipynb"]


@pytest.fixture(scope="module", params=these_first([STEPPING, *EXPLORING, *OTHERS], (STEPPING, EXPLORING[0])))
def lesson(request: pytest.FixtureRequest, lab: Lab) -> Iterator[Lesson]:
    with study(request.param, lab) as lesson:
        yield lesson


def test_every_picture_stands_still_first_and_says_what_it_shows(lesson: Lesson) -> None:
    assert len(lesson.stills) >= 4
    assert all(len(alt) > 40 and width > 200 and height > 60 for alt, width, height, _ in lesson.stills)


def test_every_picture_is_stepped_from_the_first_step_to_the_last_and_back(lesson: Lesson) -> None:
    for player in lesson.players():
        player.press("Home")
        first = player.drawn()
        last = int(player.says("position").partition(" / ")[2])
        for step in range(2, last + 1):
            player.press("ArrowRight")
            assert player.says("position") == f"{step} / {last}"
            assert player.says("sentence").endswith((".", "!", "?"))
        assert (player.drawn() != first) == (last > 1)
        player.press("Home")
        assert player.drawn() == first


def test_the_live_stepper_of_lesson_2_drives_the_real_backward(lesson: Lesson) -> None:
    steppers = lesson.page.locator(".wb-stepper")
    if STEPPING not in lesson.page.url:
        assert steppers.count() == 0
        return
    assert steppers.count() == 1
    stepper = steppers.first
    standing = stepper.locator(".wb-standing")

    def press(action: str, expected: str) -> None:
        stepper.locator(f"[data-action={action}]").click()
        part = standing.element_handle()
        wait_until(lesson.page, "([part, text]) => part.textContent.startsWith(text)", [part, expected])

    press("back", "0 of 7")  # the next cell has taken one step
    press("step", "1 of 7")
    press("run", "7 of 7")
    press("back", "6 of 7")


def test_a_slider_moves_the_slope_and_the_picture(lesson: Lesson) -> None:
    explored = lesson.page.locator(".wb-explore")
    if not any(name in lesson.page.url for name in EXPLORING):
        assert explored.count() == 0
        return
    assert explored.count() == 1
    slider = explored.get_by_role("slider")
    sentence = explored.locator(".wb-sentence")
    said = [sentence.text_content()]
    for end in ("End", "Home"):
        slider.press(end)
        part = sentence.element_handle()
        wait_until(lesson.page, "([part, before]) => part.textContent !== before", [part, said[-1]])
        said.append(sentence.text_content())
    assert len(set(said)) == 3
    assert all("slope" in each for each in said)


def test_axe_finds_nothing(lesson: Lesson) -> None:
    lesson.assert_accessible()
