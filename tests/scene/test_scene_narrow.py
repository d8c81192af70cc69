"""A picture in a small window: one line a box, fewer groups open, and arrows that come to a box from above."""

from __future__ import annotations

from functools import cache

import pytest

import workbench as torch
from workbench import nn
from workbench.pictures.recording import record
from workbench.pictures.scene.geometry import along
from workbench.pictures.scene.model import Arrow, Box, Scene, groups_of
from workbench.pictures.scene.storyboard import SMALL_ROOM, Storyboard
from workbench.pictures.views import storyboard


def layers():
    body = [nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.Tanh()) for _ in range(3)]
    nn.Sequential(*body)(torch.ones(2, 4)).pow(2).mean().backward()


def one_model():
    nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))(torch.ones(2, 4)).pow(2).mean().backward()


def rounds():
    w = torch.ones(3, requires_grad=True)
    h = torch.ones(3)
    for _ in range(8):
        h = torch.tanh(h @ w * w + 1)
    h.sum().backward()


@cache
def told(program) -> Storyboard:
    torch.manual_seed(0)
    with record() as trace:
        program()
    return storyboard(trace, "graph")


PROGRAMS = (layers, one_model, rounds)


def computing(board: Storyboard) -> int:
    seen = board.drawn_folding.seen(board.drawn_scene).boxes.values()
    return sum(box.kind in ("op", "function", "plain", "group") for box in seen)


@pytest.mark.parametrize("program", PROGRAMS)
def test_in_a_small_window_it_is_whole_if_so_few_open_groups_still_show_something(program):
    board = told(program)
    fitting = [
        opened
        for opened in (frozenset().union(*board.order[:n]) for n in range(len(board.order) + 1))
        if all(own <= room for own, room in zip(narrow(board, opened).layout.size, SMALL_ROOM, strict=True))
        and computing(narrow(board, opened)) >= 3
    ]
    whole = all(own <= room for own, room in zip(board.narrow.layout.size, SMALL_ROOM, strict=True))
    assert whole or not fitting
    assert board.narrow.opened <= board.opened
    story = board.to_dict()
    small = story.get("brief")
    assert small is None or set(small["order"][0]) == set(small["opened"]) == board.narrow.opened
    assert small is None or {each for part in small["order"] for each in part} == {e for p in story["order"] for e in p}


def narrow(board: Storyboard, opened: frozenset[str]) -> Storyboard:
    return board.with_density("columns").with_open(opened)


@pytest.mark.parametrize("density", ["rows", "columns"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_closed_group_has_one_line_where_boxes_are_brief(program, density):
    board = told(program).with_density(density)
    groups = [id for id in groups_of(board.scene) if board.scene.boxes[id].brief is not None]
    heights = {board.sizes[0][id][1] for id in groups if len(board.scene.boxes[id].brief or ()) <= 2}
    assert len(heights) == 1


def test_what_a_narrow_box_has_no_room_for_is_not_its_title():
    title = "attended = softmax(q @ k.T)"
    for gives, facts in (("(2, 8)", "3 operations"), ("(2, 8, 16, 16)", "3 operations")):
        boxes = {
            "g": Box("g", "group", title, (gives, facts), brief=(gives, facts)),
            "a": Box("a", "op", "sin", region="g"),
        }
        board = Storyboard(Scene("", boxes, {}), opened=()).with_density("columns")
        shown = board.to_dict(small=False)["boxes"][0]
        assert shown["title"] == title and shown["lines"] in ([""], [gives])


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("density", ["full", "columns"])
def test_what_enters_a_block_comes_to_its_box_from_above(program, density):
    board = told(program).with_density(density)
    layout, boxes = board.layout, board.drawn_scene.boxes
    for id, way in layout.arrows.items():
        arrow = board.drawn_scene.arrows[id]
        if arrow.kind != "constant" or boxes[arrow.source].region == boxes[arrow.target].region:
            continue
        curve = along(way.points)
        near = curve[curve[:, 1] > curve[-1, 1] - 6]
        assert abs(near[:, 0] - curve[-1, 0]).max() <= 12, id


@pytest.mark.parametrize("swapped", [False, True])
def test_outputs_are_in_the_order_in_which_their_values_leave_a_block(swapped):
    """Whatever the order in which they were made: their arrows do not cross below it."""
    boxes = {"r": Box("r", "region", "loop"), "x": Box("x", "leaf", "x")}
    boxes |= {id: Box(id, "op", f"{id} = a long expression", region="r") for id in ("first", "second", "third")}
    ends = ["first", "third", "second"] if swapped else ["first", "second", "third"]
    boxes |= {f"{id}.out": Box(f"{id}.out", "output", id) for id in ends}
    steps = [("x", "first"), ("first", "second"), ("second", "third"), *((id, f"{id}.out") for id in ends)]
    arrows = [Arrow(f"{a}-{b}", a, b, label="1.0") for a, b in steps]
    layout = Storyboard(Scene("", boxes, {arrow.id: arrow for arrow in arrows})).layout
    edge = layout.boxes["r"].y + layout.boxes["r"].h
    leaving = {}
    for id in ends:
        curve = along(layout.arrows[f"{id}-{id}.out"].points)
        leaving[id] = curve[abs(curve[:, 1] - edge).argmin(), 0]
    assert sorted(ends, key=leaving.__getitem__) == sorted(ends, key=lambda id: layout.boxes[f"{id}.out"].x)
