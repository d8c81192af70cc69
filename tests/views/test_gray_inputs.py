"""Integers and booleans are gray inputs of a graph: nothing was cut at them, and without a name they have no box."""

from __future__ import annotations

from typing import Any

import workbench as torch
from workbench import nn
from workbench.pictures.scene.model import Arrow, Box, Scene


def drawn(trace: Any, view: str = "graph") -> Scene:
    return trace.show(view, depth=9).storyboard.at()


def constants(scene: Scene) -> list[Box]:
    return [box for box in scene.boxes.values() if box.kind == "constant"]


def into(scene: Scene, title: str) -> list[Arrow]:
    return [arrow for arrow in scene.arrows.values() if scene.boxes[arrow.target].title == title]


def test_an_index_computed_in_the_graph_is_a_gray_input() -> None:
    x = torch.tensor([[1.0, 2.0], [0.0, 3.0]], requires_grad=True)
    with torch.record() as trace:
        d = x * 2
        idx = d.argmin(1)
        x[idx].sum().backward()
    scene = drawn(trace)
    (box,) = constants(scene)
    assert box.title == "idx" and "no gradient" in box.lines[0] and "int64:" not in " ".join(box.lines)
    assert [(arrow.kind, arrow.label) for arrow in into(scene, "idx")] == [("constant", "")]
    assert "cut off" not in str(trace.show()) and "cut" not in trace.show().storyboard.legend
    assert not constants(drawn(trace, "flow"))


def test_a_mask_without_a_name_has_no_box_and_its_infinities_are_no_trouble() -> None:
    scores, keep = torch.randn(3, 3, requires_grad=True), torch.tril(torch.ones(3, 3))
    with torch.record() as trace:
        hidden = (scores * 2).masked_fill(keep == 0, float("-inf"))
        torch.softmax(hidden, -1).pow(2).sum().backward()
    scene = drawn(trace)
    assert not constants(scene)
    assert not [box.title for box in scene.boxes.values() if "not finite" in " ".join(box.lines)]


def test_infinities_that_stay_are_trouble() -> None:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    with torch.record() as trace:
        torch.log_softmax(x.log() * 0, -1).sum().backward()
    assert [box for box in drawn(trace).boxes.values() if "not finite" in " ".join(box.lines)]


def test_rows_chosen_by_integers_are_not_cut_off_at_them() -> None:
    """A mixture of experts: the rows of `x`, which needs no gradient, are chosen by what a graph computed."""
    x, gate = torch.randn(4, 3), torch.randn(3, 2, requires_grad=True)
    experts = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
    with torch.record() as trace:
        top = (x @ gate).argmax(-1)
        out = torch.zeros(4, 3)
        for i, expert in enumerate(experts):
            rows = (top == i).nonzero(as_tuple=True)[0]
            out = out.index_add(0, rows, expert(x[rows]))
        out.sum().backward()
    assert "cut off" not in str(trace.show(depth=9))
    assert {box.title for box in constants(drawn(trace))} <= {"x", "rows", "x[rows]", "constant", "out"}


def test_a_number_made_of_integers_is_cut_off() -> None:
    """An accuracy, as a loss: here the gradient path does end."""
    x, w = torch.randn(4, 3), torch.randn(3, 2, requires_grad=True)
    with torch.record() as trace:
        hits = ((x @ w).argmax(-1) == 0).float()
        (hits * w.sum()).sum().backward()
    assert "cut" in {arrow.kind for arrow in drawn(trace).arrows.values()}
