"""Charts: boxes that stand where they are told, in every face."""

from __future__ import annotations

import json

import pytest

from workbench.pictures.scene.matplotlib_drawing import to_png
from workbench.pictures.scene.metric import CHARACTER, columns
from workbench.pictures.scene.model import PLACED, Arrow, Box, Scene, StoryStep
from workbench.pictures.scene.picture import Picture
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.scene.svg import to_svg
from workbench.pictures.scene.text import to_text
from workbench.pictures.scene.theme import THEMES


def chart(*boxes: Box, arrows: tuple[Arrow, ...] = (), steps: tuple[StoryStep, ...] = ()) -> Storyboard:
    scene = Scene("A chart", {box.id: box for box in boxes}, {arrow.id: arrow for arrow in arrows})
    return Storyboard(scene, steps)


ONE_OF_EACH = [
    Box(kind, kind, kind, ("a line",), place=(10.0 * i, 20.0 * i, 90.0, 18.0)) for i, kind in enumerate(PLACED)
]


def test_boxes_stand_where_they_are_told() -> None:
    story = chart(*ONE_OF_EACH)
    first = story.layout.boxes["cell"]
    for i, kind in enumerate(PLACED):
        place = story.layout.boxes[kind]
        assert (place.x - first.x, place.y - first.y, place.w, place.h) == (10 * i, 20 * i, 90, 18)
    last = story.layout.boxes[PLACED[-1]]
    assert story.layout.width >= last.x + last.w
    assert story.layout.height >= last.y + last.h


def test_a_chart_needs_no_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.pictures.scene.siblings.placed", lambda dot: pytest.fail("Graphviz was asked"))
    assert "heading" in to_svg(chart(*ONE_OF_EACH))


def test_a_box_without_a_place_among_placed_ones_is_refused() -> None:
    with pytest.raises(ValueError, match="'node' has no place"):
        _ = chart(ONE_OF_EACH[0], Box("node", "op", "mul")).layout


def test_a_number_that_does_not_fit_its_cell_is_left_to_its_alt() -> None:
    wide, narrow = (Box(f"c{w}", "cell", "-1.234e-05", place=(0, 0, w, 18), alt="-1.234e-05") for w in (90, 30))
    shown = chart(wide, narrow).to_dict()["boxes"]
    assert [box["title"] for box in shown] == ["-1.234e-05", ""]
    assert all(columns(box["title"]) * CHARACTER <= box["w"] for box in shown)
    assert shown[1]["alt"] == "-1.234e-05"


@pytest.mark.parametrize("theme", THEMES)
def test_every_shade_has_its_own_colour(theme: str) -> None:
    assert len({THEMES[theme].colors[f"shade-{shade}"] for shade in range(-4, 5)}) == 9
    svg = to_svg(chart(*[Box(f"c{s}", "cell", str(s), place=(40 * s + 200, 0, 38, 18), shade=s) for s in range(-4, 5)]))
    assert all(f"wb-shade-{shade}" in svg for shade in range(-4, 5))


def test_a_step_changes_shade_and_state() -> None:
    cell = Box("c", "cell", "0", place=(0, 0, 40, 18))
    story = chart(cell, steps=(StoryStep("It grows.", boxes={"c": {"title": "2", "shade": 3, "state": "running"}}),))
    assert story.at().boxes["c"].shade == 3
    (step,) = story.to_dict()["steps"]
    assert step["boxes"]["c"]["shade"] == 3
    assert step["boxes"]["c"]["state"] == "running"
    assert "wb-glow" in to_svg(story)


def test_the_text_face_says_what_a_heading_says_and_leaves_its_cells_out() -> None:
    heading = Box("h", "heading", "w", ("(2,) float64", "from 0 to 1"), place=(0, 0, 200, 40))
    event = Box("e", "event", "w", place=(0, 80, 20, 20), alt="add_ wrote into y")
    assert to_text(chart(heading, Box("c", "cell", "0.5", place=(0, 50, 40, 18)), event)).splitlines() == [
        "A chart",
        "w: (2,) float64, from 0 to 1",
        "add_ wrote into y",
    ]


def test_arrows_of_a_chart_are_straight() -> None:
    boxes = [Box(id, "event", id, place=(x, 0, 20, 20)) for id, x in (("a", 0), ("b", 100))]
    way = chart(*boxes, arrows=(Arrow("ab", "a", "b", "beside"),)).layout.arrows["ab"]
    assert {y for _, y in way.points} == {way.points[0][1]}
    assert way.points[-1][0] - way.points[0][0] == 80


def test_every_face_can_be_made(tmp_path) -> None:
    picture = Picture(chart(*ONE_OF_EACH))
    for suffix in ("html", "svg", "png", "dot", "json"):
        picture.save(tmp_path / f"chart.{suffix}")
        assert (tmp_path / f"chart.{suffix}").stat().st_size > 100
    assert json.loads((tmp_path / "chart.json").read_text())["boxes"][0]["shade"] == 0
    assert to_png(picture.storyboard).startswith(b"\x89PNG")
