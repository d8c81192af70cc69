"""What the backward of a Function makes a graph of for itself is one closed box; its gradients' graph is not."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as torch
from workbench.pictures.scene.storyboard import Storyboard


class Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, adjoint: Any) -> Any:
        (x,) = ctx.saved_tensors
        total = torch.zeros_like(x)
        for _ in range(3):
            with torch.enable_grad():
                here = x.detach().requires_grad_()
                cube = here * here * here
                (dx,) = torch.autograd.grad(cube, here, adjoint)
            total = total + dx / 3
        return total


def board(create_graph: bool = False, opened: str = "") -> Storyboard:
    x = torch.tensor(2.0, requires_grad=True)
    with torch.record() as trace:
        loss = Adjoint.apply(x) * 2
        loss.backward(create_graph=create_graph)
    return trace.show(open=[opened] if opened else None).storyboard


def test_it_is_one_closed_box() -> None:
    found = board()
    seen = [box for id, box in found.folding.seen(found.scene).boxes.items() if id not in found.opened]
    titles = [box.title for box in seen if box.kind != "saved"]
    assert found.title == "Graph of loss"
    assert "inside AdjointBackward" in titles and "here" not in titles and titles.count("cube") == 0


def test_it_opens_with_its_leaves_and_where_its_backward_passes_began() -> None:
    found = board(opened="inside AdjointBackward")
    scene = found.scene
    group = next(id for id, box in scene.boxes.items() if box.title.startswith("inside AdjointBackward"))
    assert group in found.opened
    outputs = [box for box in scene.boxes.values() if box.kind == "output" and box.title == "cube"]
    assert len(outputs) == 1 or all(box.region is not None for box in outputs)
    assert all(box.region is not None for box in scene.boxes.values() if box.title == "here")


@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_graph_of_gradients_is_in_the_picture_as_before() -> None:
    assert not [box for box in board(create_graph=True).scene.boxes.values() if box.title.startswith("inside ")]
