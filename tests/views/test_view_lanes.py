"""The graph view of function transforms: two lanes, storeys, the strip of levels, and all of it in words."""

from __future__ import annotations

import pytest
import transform_samples as samples
from boxes import last, name_of
from test_scene_theme import _contrast

from workbench.scene.images import drawn
from workbench.scene.text import graph_lines, to_dot
from workbench.scene.theme import THEMES, Stylesheet, flat_css
from workbench.views import storyboard
from workbench.views.graph import Graph


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


def test_a_jvp_has_a_lane_of_values_and_a_lane_of_tangents(pushed):
    scene = last(pushed)
    arrows = {kind: [] for kind in ("edge", "beside", "tangent")}
    for arrow in scene.arrows.values():
        arrows[arrow.kind].append(titles(scene, arrow))
    assert arrows["edge"] == [("x", "x.sin()"), ("x.sin()", "x.sin() * x"), ("x", "x.sin() * x")]
    assert arrows["beside"] == [(each, f"tangent of {each}") for each in ("x", "x.sin()", "x.sin() * x")]
    assert arrows["tangent"] == [(f"tangent of {one}", f"tangent of {other}") for one, other in arrows["edge"]]


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


def test_value_and_tangent_come_one_after_the_other(pushed):
    new = [
        [pushed.scene.boxes[id].title for id, change in step.boxes.items() if change.get("state") == "idle"]
        for step in pushed.steps
    ]
    sin, mul = "x.sin()", "x.sin() * x"
    assert new[1:5] == [["x", sin], ["tangent of x", f"tangent of {sin}"], [mul], [f"tangent of {mul}"]]
    assert [step.focus and pushed.scene.boxes[step.focus].title for step in pushed.steps][1:5] == [
        sin,
        f"tangent of {sin}",
        mul,
        f"tangent of {mul}",
    ]


def test_the_strip_says_which_levels_are_in_force():
    board = storyboard(samples.per_sample())
    strips = [[(box.title, box.state) for box in of_kind(board.at(k), "level")] for k in range(len(board.steps))]
    assert strips[0] == [("vmap of 5 (level 1)", "idle"), ("› grad (level 2)", "future")]
    assert strips[3] == [("vmap of 5 (level 1)", "idle"), ("› grad (level 2)", "idle")]
    assert strips[-1] == [("vmap of 5 (level 1), over", "over"), ("› grad (level 2), over", "over")]
    assert graph_lines(board.at(3))[0] == "Levels: vmap of 5 (level 1) › grad (level 2)"
    (strip, *_) = of_kind(board.scene, "level")
    assert all(board.layout.boxes[strip.id].y < place.y for id, place in board.layout.boxes.items() if id[0] != "l")


def test_a_node_shows_the_whole_batch_and_says_its_level():
    board = storyboard(samples.per_sample())
    (mul,) = [box for box in last(board).boxes.values() if box.title == "product = w * x"]
    assert mul.lines[0] == "MulBackward0  a batch of 5: each (3,)"
    said = {detail.heading: detail.body for detail in mul.details}
    assert said["Level"] == "grad (level 2)"
    assert said["Batch"] == "a batch of 5: each (3,); one operation computes all of them."


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
    for box in scene.boxes.values():
        if box.kind not in ("level", "region"):
            assert frame.meets(board.layout.boxes[box.id]) == (box.region == region.id or box.holder in inside), (
                box.title
            )


def test_the_derivative_of_a_derivative_stands_in_a_storey_of_its_own():
    board = whole(samples.twice())
    regions = {region.id: region.title for region in of_kind(last(board), "region")}
    inside = {title: [] for title in regions.values()}
    for box in last(board).boxes.values():
        if box.region and box.kind != "constant":
            inside[regions[box.region]].append(box.title)
    assert inside == {
        "the graph of grad (level 2)": ["y", "y**3", "(y**3).sum()"],
        "second order: recorded at level 1": ["PowBackward0", "MulBackward0", "MulBackward0"],
    }
    assert graph_lines(last(board))[-1] == (
        "second order: recorded at level 1: PowBackward0, MulBackward0, constant, MulBackward0"
    )


def test_so_does_what_create_graph_records():
    board = storyboard(samples.double_backward())
    (region,) = of_kind(last(board), "region")
    assert region.title == "second order: recorded while backward ran"
    assert [name_of(box) for box in last(board).boxes.values() if box.region] == [
        "PowBackward0",
        "MulBackward0",
        "MulBackward0",
    ]


def test_a_tangent_that_was_recorded_is_the_node_that_computed_it():
    scene = last(whole(samples.duals()))
    (region,) = of_kind(scene, "region")
    assert region.title == "tangents of dual tensors" and not of_kind(scene, "tangent")
    beside = [titles(scene, arrow) for arrow in scene.arrows.values() if arrow.kind == "beside"]
    assert beside == [("dual * dual", "AddBackward0"), ("(dual * dual).sin()", "MulBackward0")]
    (add,) = [box for box in scene.boxes.values() if box.title == "AddBackward0"]
    assert add.lines[0] == "the tangent of the result of mul"


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
        assert _contrast(frame["stroke"], theme.colours["canvas"]) >= 3
