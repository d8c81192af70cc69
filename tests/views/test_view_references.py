"""A tensor that is used in many places is drawn once, and as a small box that refers to it wherever it is used."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from view_names import GRAPHS

import workbench as torch
from workbench.pictures.recording import record
from workbench.pictures.scene.model import paths
from workbench.pictures.views.player_steps import tell

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


def by_hand(rounds: int):
    wx, wh, b = (torch.ones(shape, requires_grad=True) for shape in ((3, 4), (4, 4), (4,)))
    x, h = torch.ones(rounds, 2, 3), torch.zeros(2, 4)
    with record() as trace:
        for t in range(rounds):
            h = torch.tanh(x[t] @ wx + h @ wh + b)
        h.sum().backward()
    return trace


@pytest.mark.parametrize("rounds", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_what_each_iteration_uses_leads_to_the_loop_and_has_a_box_in_each(rounds):
    board = by_hand(rounds).show(depth=9).storyboard
    boxes, around = board.scene.boxes, paths(board.scene)
    turns = [id for id, box in boxes.items() if box.kind == "group" and re.fullmatch(r"iteration [\d,]+", box.title)]
    assert len(turns) == rounds
    for turn in turns:
        inside = [boxes[id].title for id, path in around.items() if turn in path and boxes[id].refers]
        assert sorted(inside) == ["b", "wh", "wx", "x"]
    (loop,) = [id for id, box in boxes.items() if box.title.startswith("for t in")]
    leading = [boxes[arrow.source].title for arrow in board.scene.arrows.values() if arrow.target == loop]
    assert sorted(leading) == ["b", "wh", "wx", "x"]
