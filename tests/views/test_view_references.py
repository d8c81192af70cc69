"""A tensor that is used in many places is drawn once, and as a small box that refers to it wherever it is used."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from view_names import GRAPHS

import workbench as torch
from workbench.recording import record
from workbench.scene.labels import GROUP_COLUMNS
from workbench.scene.model import paths
from workbench.views.player_steps import tell

NAMES = "abcdefgh"  # of steps: those that only differ by their numbers are told together


def rnn(steps: int, uses: int = 1):
    w = torch.tensor([[0.5, 0.0], [0.25, 1.0]], requires_grad=True)
    step = f"    {'h = (h @ w).tanh(); ' * uses}\n"
    text = "".join(f"with torch.scope('step {name}'):\n{step}" for name in NAMES[:steps])
    with record() as trace:
        exec(f"{text}h.sum().backward()", {"torch": torch, "w": w, "h": torch.tensor([[1.0, 2.0]])})
    return trace


def opened(trace, view="graph"):
    board = trace.show(view, open=[f"step {n}" for n in NAMES if f"step {n}" in str(trace.to_dict())]).storyboard
    return board, board.at(len(board.steps) - 1)


def test_a_weight_of_8_steps_is_drawn_once_and_each_step_refers_to_it():
    _, scene = opened(rnn(8))
    weights = [box for box in scene.boxes.values() if box.title == "w" and box.kind == "leaf"]
    (whole,) = [box for box in weights if box.refers is None]
    assert whole.lines[:2] == ("(2, 2)", "[[0.5 0.] [0.25 1.]]") and whole.lines[2].startswith("grad ")
    assert whole.region is None
    small = [box for box in weights if box.refers is not None]
    assert {box.refers for box in small} == {whole.id} and {box.lines for box in small} == {()}
    assert [scene.boxes[box.region].title for box in small] == [f"step {n}" for n in NAMES]
    assert {box.note for box in small} == {"as above"}


@pytest.mark.parametrize("view", ["graph", "flow"])
def test_arrows_leave_from_the_reference_and_bring_its_part_of_the_gradient(view):
    trace = rnn(8)
    _, scene = opened(trace, view)
    flat = tell(trace, GRAPHS[view](trace.events))
    plain = flat.at(len(flat.steps) - 1)
    (w,) = [id for id, box in plain.boxes.items() if box.kind == "leaf"]
    arrows = [arrow for arrow in plain.arrows.values() if arrow.source == w and arrow.kind != "same"]
    assert len(arrows) == 8 and not [each for each in scene.arrows.values() if each.source == w and each.kind != "same"]
    for arrow in arrows:
        here = scene.arrows[arrow.id]
        assert scene.boxes[here.source].refers == w and here.label == arrow.label != ""
        assert scene.boxes[here.source].region == scene.boxes[here.target].region
    # What a chip says is the same tensor leads to the one box that has its value.
    same = [arrow for arrow in scene.arrows.values() if arrow.kind == "same"]
    assert not [arrow for arrow in same if scene.boxes[arrow.source].refers]


@pytest.mark.slow
def test_up_to_four_places_share_one_box():
    for trace, few in ((rnn(4), True), (rnn(5), False), (rnn(2, uses=3), True)):
        _, scene = opened(trace)
        assert (not [box for box in scene.boxes.values() if box.refers]) == few


def test_a_step_that_uses_it_twice_has_one_reference():
    _, scene = opened(rnn(6, uses=2))
    small = [box.id for box in scene.boxes.values() if box.refers]
    assert len(small) == 6
    uses = [arrow.source for arrow in scene.arrows.values() if arrow.source in small]
    assert sorted(uses) == sorted([*small, *small])


def test_references_are_not_there_before_the_step_that_uses_them():
    board, _ = opened(rnn(8))
    for stop in range(8):
        scene = board.at(2 * stop)  # mm, tanh
        there = [box for box in scene.boxes.values() if box.refers and box.state != "future"]
        assert len(there) == stop + 1


def test_a_closed_step_hides_its_reference_but_tells_of_the_gradient_that_goes_to_the_tensor():
    trace = rnn(8)
    board = trace.show("graph", open=[]).storyboard
    scene = board.at(len(board.steps) - 1)
    assert not [box for box in scene.boxes.values() if box.refers]
    backward = [caption for _, _, caption in board.stops if caption.startswith("step d runs backward")]
    assert len(backward) == 1 and " to step c" in backward[0] and backward[0].endswith(" to w.")
    few = rnn(4).show("graph", open=[]).storyboard  # without references
    (of_four,) = [caption for _, _, caption in few.stops if caption.startswith("step d runs backward")]
    assert of_four.count(" to ") == backward[0].count(" to ")


def test_what_is_used_in_the_parts_of_one_group_has_a_reference_in_each():
    x = torch.tensor([1.5], requires_grad=True)
    with record() as trace:
        y = x
        with torch.scope("body"):
            for n in NAMES[:6]:
                with torch.scope(n):
                    y = (y * x).sin()
        y.sum().backward()
    board = trace.show(depth=9).storyboard
    small = [box for box in board.at().boxes.values() if box.refers]
    assert len({box.region for box in small}) == len(small) == 6  # x itself stands outside


@pytest.mark.slow
def test_deep_in_groups_no_box_leads_to_more_than_four_places():
    x = torch.tensor([0.5], requires_grad=True)
    with record() as trace:
        y = x
        for _ in range(400):
            y = (y * x).sin() + x
        y.sum().backward()
    board = trace.show(depth=9).storyboard
    (tensor,) = {box.refers for box in board.scene.boxes.values() if box.refers}
    assert board.scene.boxes[tensor].title == "x"
    for id, box in board.scene.boxes.items():
        if box.refers:
            assert [arrow for arrow in board.scene.arrows.values() if arrow.source == id], "each is used"
    ways = [(arrow.source, arrow.target) for arrow in board.scene.arrows.values() if arrow.kind != "same"]
    places = {(source, board.scene.boxes[target].region or target) for source, target in ways}
    led = Counter(source for source, _ in places)
    assert max(count for source, count in led.items() if source.split("@")[0] == tensor) <= 4


def test_the_title_of_a_reference_is_that_of_the_box_it_refers_to():
    base = torch.tensor([1.0, 2.0, 3.0])
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with record() as trace:
        parts = base[:2]
        y = x
        for n in NAMES[:6]:
            with torch.scope(n):
                y = (y * parts).sin()
        del parts
        y.sum().backward()
    boxes = trace.show(depth=9).storyboard.at().boxes
    small = [box for box in boxes.values() if box.refers]
    assert len(small) == 6 and {(box.title, box.kind) for box in small} == {
        (boxes[box.refers].title, boxes[box.refers].kind) for box in small
    }


def test_the_data_of_a_loop_lie_inside_it_where_weights_come_in_from_outside():
    wx = torch.tensor([[1.0, 2.0]] * 3, requires_grad=True)
    xs, h = torch.ones(8, 2), torch.zeros(3)
    with record() as trace:
        for i in range(8):
            h = torch.tanh(wx @ xs[i] + h)
        h.sum().backward()
    board = trace.show().storyboard
    outside = [box.title for box in board.at(board.start).boxes.values() if box.region is None]
    assert "wx" in outside and not any("xs" in title for title in outside)


def by_hand(rounds: int):
    wx, wh, b = (torch.ones(shape, requires_grad=True) for shape in ((3, 4), (4, 4), (4,)))
    x, h = torch.ones(rounds, 2, 3), torch.zeros(2, 4)
    with record() as trace:
        for t in range(rounds):
            h = torch.tanh(x[t] @ wx + h @ wh + b)
        h.sum().backward()
    return trace


@pytest.mark.parametrize("rounds", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_each_round_after_the_first_refers_to_the_weights_whether_it_is_told_with_others_or_not(rounds):
    board = by_hand(rounds).show(depth=9).storyboard
    boxes, around = board.scene.boxes, paths(board.scene)
    turns = [id for id, box in boxes.items() if box.kind == "group" and re.fullmatch(r"round [\d,]+", box.title)]
    assert len(turns) == rounds
    for n, turn in enumerate(turns):
        inside = [boxes[id].title for id, path in around.items() if turn in path and boxes[id].refers]
        assert sorted(inside) == (["b", "wh", "wx"] if n else [])


def test_a_closed_group_says_which_tensors_outside_it_uses_where_no_arrow_does():
    board = by_hand(8).show(depth=1).storyboard
    scene = board.at()
    first, more, last = (
        next(box for box in scene.boxes.values() if box.title == title)
        for title in ("round 1", "6 more rounds (2 to 7)", "round 8")
    )
    assert "5 operations × 6, saved 480 bytes: freed, uses wx, wh, b" in more.lines
    assert "5 operations, saved 320 bytes: freed, uses wx, wh, b" in last.lines
    assert "5 operations, saved 256 bytes: freed" in first.lines
    ways = Counter(arrow.target for arrow in scene.arrows.values() if scene.boxes[arrow.source].kind == "leaf")
    assert ways == {first.id: 3}
    closed = board.with_open([])
    (loop,) = [box for box in closed.at().boxes.values() if box.title.startswith("for t")]
    assert not any("uses" in line for line in loop.lines)  # there are arrows from all of them


def test_a_closed_group_names_no_more_tensors_than_a_line_has_room_for():
    first, second_weight, third_weight, fourth_weight = (torch.ones(2, requires_grad=True) for _ in range(4))
    y = torch.ones(2)
    with record() as trace:
        for _ in range(8):
            y = (y * first).sin() * second_weight + third_weight * fourth_weight
        y.sum().backward()

    def told(view):
        board = trace.show(view, depth=1).storyboard
        lines = [line for box in board.at().boxes.values() for line in box.lines if "uses" in line]
        assert all(len(line) <= GROUP_COLUMNS for line in lines)
        return {re.sub(r"saved \d+ bytes", "saved", line) for line in lines}

    assert told("graph") == {f"5 operations{times}, saved: freed, uses first, …" for times in ("", " × 6")}
    named = "uses first, second_weight"
    assert told("flow") == {f"5 operations{times}, {named}, third_weight, …" for times in ("", " × 6")}
