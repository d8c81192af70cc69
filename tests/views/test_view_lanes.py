"""The graph view of function transforms: two lanes, levels, the strip of levels, and all of it in words."""

from __future__ import annotations

import pytest
import transform_samples as samples
from boxes import last
from test_scene_theme import _contrast

from workbench.pictures.scene.shapes import drawn
from workbench.pictures.scene.text import graph_lines, to_dot
from workbench.pictures.scene.theme import THEMES, Stylesheet, flat_css
from workbench.pictures.views import storyboard
from workbench.pictures.views.graph import Graph


def whole(trace):
    """The picture with every group open."""
    return storyboard(trace, open=[group.id for group in Graph(trace.events).program.groups()])


def titles(scene, arrow):
    return scene.boxes[arrow.source].title, scene.boxes[arrow.target].title


def of_kind(scene, *kinds):
    return [box for box in scene.boxes.values() if box.kind in kinds]


@pytest.fixture(scope="module")
def pushed():
    return storyboard(samples.pushed())


def test_operations_and_tangents_say_their_level_in_their_details(pushed):
    said = {
        box.title: [(each.heading, each.body) for each in box.details if each.heading in ("Level", "Tangent")]
        for box in last(pushed).boxes.values()
    }
    assert said["x.sin()"] == [("Level", "jvp (level 1)")]
    formula, value, level = said["tangent of x.sin()"]
    assert formula == ("Tangent", "self_t * cos(self)")
    assert (value[1]["name"], value[1]["text"]) == ("of x.sin()", "[1. 1.081]")
    assert level == ("Level", "jvp (level 1); its tangent is one level below.")


def test_a_tangent_stands_at_the_height_of_its_value_and_to_its_right(pushed):
    places, scene = pushed.layout.boxes, last(pushed)
    for arrow in scene.arrows.values():
        one, other = places[arrow.source], places[arrow.target]
        if arrow.kind == "beside":
            assert one.y + one.h / 2 == pytest.approx(other.y + other.h / 2, abs=0.2)
            assert one.x + one.w < other.x
    assert not any(one.meets(other) for one in places.values() for other in places.values() if one is not other)


def test_the_strip_says_which_levels_are_in_force():
    board = storyboard(samples.per_sample())
    strips = [[(box.title, box.state) for box in of_kind(board.at(k), "level")] for k in range(len(board.steps))]
    assert strips[0] == [("vmap of 5 (level 1)", "idle"), ("› grad (level 2)", "future")]
    assert strips[3] == [("vmap of 5 (level 1)", "idle"), ("› grad (level 2)", "idle")]
    assert strips[-1] == [("vmap of 5 (level 1), ended", "over"), ("› grad (level 2), ended", "over")]
    assert graph_lines(board.at(3))[0] == "Levels: vmap of 5 (level 1) › grad (level 2)"
    (strip, *_) = of_kind(board.scene, "level")
    assert all(board.layout.boxes[strip.id].y < place.y for id, place in board.layout.boxes.items() if id[0] != "l")


def test_forward_over_reverse_has_the_tangent_beside_the_node():
    board = whole(samples.forward_over_reverse())
    scene = last(board)
    beside = [titles(scene, arrow) for arrow in scene.arrows.values() if arrow.kind == "beside"]
    assert [(each, f"tangent of {each}") for each in ("x", "x.sin()", "x.sin() * x")] == beside[:3]
    (region,) = of_kind(scene, "region")
    assert region.title == "second order: computed"
    inside = [box.title for box in scene.boxes.values() if box.region == region.id]
    assert {"cos", "tangent of cos"} <= set(inside) and "SinBackward0" not in inside
    frame = board.layout.boxes[region.id]
    for box in board.at(drawn=True).boxes.values():
        if box.kind not in ("level", "region"):
            assert frame.meets(board.layout.boxes[box.id]) == (box.region == region.id or box.holder in inside), (
                box.title
            )


@pytest.mark.parametrize("program", samples.PROGRAMS, ids=lambda program: program.__name__)
def test_every_face_draws_it(program):
    board = storyboard(program())
    assert drawn(board, len(board.steps) - 1) and "digraph" in to_dot(board, len(board.steps) - 1)


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
@pytest.mark.parametrize("kind", ["plain", "input", "tangent", "level", "region"])
def test_the_new_kinds_can_be_read_in_every_theme(theme, kind):
    for state in ("idle", "over") if kind == "level" else ("idle", "running", "done", "error"):
        sheet, group = Stylesheet(flat_css(theme)), f"wb-box wb-kind-{kind} wb-state-{state}"
        frame = sheet.of(group, "wb-frame")
        for role in ("wb-title", "wb-text"):
            assert _contrast(sheet.of(group, role)["fill"], frame["fill"]) >= 4.5, role
        assert _contrast(frame["stroke"], theme.colors["canvas"]) >= 3
