"""What a graph says beside its boxes and ways: which output an arrow comes from, what is the same memory as what."""

from __future__ import annotations

import re
from dataclasses import replace

from boxes import before_backward, name_of
from text_programs import recorded
from trace_samples import leaf

import workbench as torch
from workbench.pictures.recording import record
from workbench.pictures.scene.geometry import along
from workbench.pictures.scene.labels import arrow_fields
from workbench.pictures.scene.model import Scene
from workbench.pictures.scene.shapes import drawn
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.views import storyboard


def lines(scene):
    """(source, target, words) of every dotted line that is drawn, the boxes by their titles."""
    there = [each for each in scene.arrows.values() if each.kind == "same" and each.state != "future"]
    return [
        (name_of(scene.boxes[each.source]), name_of(scene.boxes[each.target]), arrow_fields(each, scene)["alt"])
        for each in there
    ]


def product():
    return recorded("x = leaf(1.0, 2.0)\nw = leaf(3.0, 4.0)\ny = (x * w).exp()\nz = y * y.exp()\nz.sum().backward()")


def chain(length, **options):
    x = leaf(1.0, 2.0)
    with record() as trace:
        y = x
        for _ in range(length):
            y = y * x
        y.sum().backward(**options)
    return trace


def test_of_many_lines_only_those_of_the_step_are_drawn():
    board = storyboard(chain(8), depth=9)
    seen = [lines(board.at(k)) for k in range(len(board.steps))]
    assert max(map(len, seen)) == 2
    assert [len(each) for each in seen] == [2] * 8 + [0] * (len(seen) - 8)  # freed, when they have run
    assert len(lines(before_backward(storyboard(chain(4))))) == 8


def test_they_come_back_with_a_backward_that_keeps_the_graph():
    board = storyboard(chain(8, retain_graph=True), depth=9)
    running = [
        k
        for k, step in enumerate(board.steps)
        if re.match(r"(In iteration .: )?`(y = )?y \* x` .* receives", step.caption)
    ]
    assert [len(lines(board.at(k))) for k in running] == [2] * 8


def test_lines_move_no_box_and_are_in_no_still_picture():
    board = storyboard(product())
    plain = Storyboard(
        Scene("", board.scene.boxes, {id: each for id, each in board.scene.arrows.items() if each.kind != "same"}),
        [
            replace(step, arrows={id: new for id, new in step.arrows.items() if "same" not in id})
            for step in board.steps
        ],
    )
    assert plain.layout.boxes == board.layout.boxes
    assert (plain.layout.width, plain.layout.height) == (board.layout.width, board.layout.height)
    assert all(plain.layout.arrows[id] == board.layout.arrows[id] for id in plain.scene.arrows)
    assert len([each for each in board.at().arrows.values() if each.kind == "same"]) == 4
    assert not [group for group in drawn(board) if "wb-kind-same" in group.classes]


def test_a_line_avoids_boxes_where_it_can():
    board = storyboard(product()).with_density("full")
    layout = board.layout
    for arrow in board.at().arrows.values():
        if arrow.kind == "same":
            points = along(layout.arrows[arrow.id].points)[1:-1]
            for id, place in layout.boxes.items():
                inside = [1 for x, y in points if place.x < x < place.x + place.w and place.y < y < place.y + place.h]
                assert not inside, (arrow.id, id)


def test_closed_groups_have_no_loose_ends():
    with record() as trace:
        x = leaf(1.0, 2.0)
        y = x
        for part in ("first", "second"):
            with torch.scope(part):
                y = (y * x).exp()
        y.sum().backward()
    board = storyboard(trace, open=[])
    for k in range(len(board.steps)):
        assert not [each for each in board.at(k).arrows.values() if each.kind == "same"]


def test_a_chip_never_shows_an_older_value_than_the_box_it_points_to():
    with record() as trace:
        w = leaf(1.0, 2.0)
        loss = (w * w).exp().sum()
        loss.backward(retain_graph=True)
        with torch.no_grad():
            w -= 1.0
            w.detach().mul_(10.0)
        y = w * 1.0
        z = y.exp() * y
        y.add_(5.0)
        assert z.requires_grad
    board = storyboard(trace)
    joined = 0
    for k in range(len(board.steps)):
        scene = board.at(k)
        for line in [each for each in scene.arrows.values() if each.kind == "same" and each.state != "future"]:
            chip, box = scene.boxes[line.target], scene.boxes[line.source]
            if chip.holder is not None and chip.state not in ("freed", "future") and box.kind != "saved":
                held = chip.lines[0].rpartition("  ")[2]
                assert any(line.endswith(held) for line in box.lines), (k, chip, box)
                joined += 1
    assert joined > 8
