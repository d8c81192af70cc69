"""Random programs of nested loops, functions, modules and scopes are drawn, whatever is open."""

from __future__ import annotations

import random
from typing import Any

import nested_programs
import pytest
from boxes import check_graph, check_inside
from program_seeds import seeds
from view_names import CHARTS, GRAPHS

import workbench as torch
from workbench.autograd.scopes import scope
from workbench.pictures.recording import record
from workbench.pictures.views import grouped_graph

LARGE = 2_500  # events: a picture of more takes long


@pytest.mark.parametrize("seed", seeds(10, apart=290, quick=(4, 7)))
def test_nested_programs_are_drawn_with_anything_open(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in every view, at a random depth and with random groups open, at a few steps."""
    trace, *_ = nested_programs.recorded(seed, torch, scope, record)
    choose = random.Random(seed)
    for view in CHARTS:
        board, k = trace.show(view).storyboard.shown()
        check_inside(board.at(k), board.layout)
    for view in GRAPHS if len(trace.events) < LARGE else ():
        # How many boxes a reader can open closed groups to.
        monkeypatch.setattr(grouped_graph, "_INSIDES", choose.choice([grouped_graph._INSIDES, 0, 10]))
        board = trace.show(view, depth=choose.randrange(5)).storyboard
        groups = [id for id, box in board.scene.boxes.items() if box.kind == "group"]
        some = choose.sample(groups, min(len(groups), 3))
        for each in (board, board.with_open(some), trace.show(view, open=some).storyboard):
            check_graph(each, sorted({-1, choose.randrange(len(each.steps)), len(each.steps) - 1}))
        monkeypatch.undo()


def test_where_gradients_flow_a_constant_has_no_arrow_into_a_closed_group(monkeypatch: pytest.MonkeyPatch) -> None:
    def block(h: Any, c: Any) -> Any:
        with scope("block"):
            return (h * c).tanh() + c

    w = torch.ones(2, requires_grad=True)
    with record() as trace:
        h = w * 1
        for c in (torch.ones(2), torch.ones(2)):
            h = block(block(h, c), c)
        h.sum().backward()
    monkeypatch.setattr(grouped_graph, "_INSIDES", 0)
    assert {arrow.kind for arrow in trace.show("flow", depth=1).storyboard.scene.arrows.values()} == {"edge"}
    assert "constant" in {arrow.kind for arrow in trace.show("graph", depth=1).storyboard.scene.arrows.values()}
