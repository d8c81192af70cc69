"""Lessons 9 and 10 in a real JupyterLab: two lanes, two levels, the strip of levels, by keys and by clicks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser_page import these_first
from lab import Lab
from lesson_page import Lesson, Player, study

PUSHING, FUNCTIONS = "09-pushing-forward.ipynb", "10-functions-of-functions.ipynb"
ROW, ROWS = 40, 3  # px of a row of boxes; the strip of levels, an input, and what is made of it


@pytest.fixture(scope="module", params=these_first([PUSHING, FUNCTIONS], (FUNCTIONS,)))
def lesson(request: pytest.FixtureRequest, lab: Lab) -> Iterator[Lesson]:
    with study(request.param, lab) as lesson:
        yield lesson


def shown(player: Player) -> set[str]:
    """The titles of what is there."""
    return set(player.boxes())


def test_both_pictures_of_a_lesson_stand_still_first_and_say_what_they_show(lesson: Lesson) -> None:
    assert len(lesson.stills) == len(lesson.players()) == 2
    for alt, width, height, titles in lesson.stills:
        assert "Levels: " in alt and len(titles) >= 5
        # What is read aloud goes up the graph from its outputs, and names each box.
        assert {title for title in titles if title not in alt} == set()
        assert width > 200 and height > ROW * ROWS


def test_every_picture_is_stepped_from_the_first_step_to_the_last_and_back(lesson: Lesson) -> None:
    for player in lesson.players():
        player.press("Home")
        first = shown(player)
        last = int(player.says("position").partition(" / ")[2])
        for step in range(2, last + 1):
            player.press("ArrowRight")
            assert player.says("position") == f"{step} / {last}"
            assert player.says("sentence").endswith(".")
        assert len(shown(player)) > len(first)
        player.press("Home")
        assert shown(player) == first


def test_the_lanes_and_the_storeys_are_there_in_the_end(lesson: Lesson) -> None:
    upper, lower = lesson.players()
    for player in (upper, lower):
        player.press("End")
    if "tangent of x" in shown(upper):  # lesson 9
        values = {"x", "x.sin()", "x.sin() * x"}
        tangents = [*[f"tangent of {each}" for each in values], "speed"]  # the last is returned under this name
        assert shown(upper) == {"jvp (level 1), ended", *values, *tangents}
        assert {"Cube", "tangent of Cube"} <= shown(lower)
    else:  # lesson 10
        assert any(title.startswith("second order: ") for title in shown(upper))
        assert {"div", "x.sqrt()"} <= shown(upper)
        assert any("vmap of 5" in title for title in shown(lower))


def test_a_click_shows_what_a_tangent_or_a_node_is_made_of(lesson: Lesson) -> None:
    player = lesson.players()[0]
    player.press("End")
    tangent = "tangent of x.sin() * x"
    box = tangent if tangent in shown(player) else "div"
    player.open(box)
    assert player.says("panel-title") == box
    assert len(player.details()) > 1
    player.press("Escape")


def test_axe_finds_nothing_in_either_theme(lesson: Lesson) -> None:
    for theme in ("Dark", "Light"):
        lesson.put_on(theme)
        for player in lesson.players():
            player.press("End")
        lesson.assert_accessible()
