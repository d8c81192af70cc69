"""Lessons 2, 5 and 6 in a real JupyterLab: every picture stepped through, the live stepper driven, errors explained."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser_page import wait_until
from lab import Lab
from lesson_page import Lesson, study

STEPPING, REMEMBERING, WRITING = (
    "02-backward-one-node-at-a-time.ipynb",
    "05-what-backward-remembers.ipynb",
    "06-writing-over-history.ipynb",
)


@pytest.fixture(scope="module", params=[STEPPING, REMEMBERING, WRITING])
def lesson(request: pytest.FixtureRequest, lab: Lab) -> Iterator[Lesson]:
    with study(request.param, lab) as lesson:
        yield lesson


def test_every_picture_stands_still_first_and_says_what_it_shows(lesson: Lesson) -> None:
    assert len(lesson.stills) >= 4
    assert all(len(alt) > 40 and width > 200 and height > 60 for alt, width, height in lesson.stills)


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


def test_axe_finds_nothing(lesson: Lesson) -> None:
    lesson.assert_accessible()
