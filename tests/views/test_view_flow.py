"""The flow view: how broad arrows are, which signs they bear, where gradients add up and where one is summed."""

from __future__ import annotations

import math

import pytest

import workbench as torch
from workbench.pictures.scene.storyboard import LEGIBLE
from workbench.pictures.scene.svg import to_svg
from workbench.pictures.scene.text import to_dot
from workbench.pictures.views import storyboard


def told(function, *numbers):
    """The flow of a function's gradient, and the scene after its last step."""
    leaves = [torch.tensor(each, requires_grad=True) for each in numbers]
    with torch.record() as trace:
        function(*leaves).backward()
    board = storyboard(trace, "flow")
    return board, board.at(len(board.steps) - 1)


def test_all_faces_have_the_breadths(tmp_path):
    board, _ = told(lambda a, b: a.sqrt() - b, 0.0, 1.0)
    k = len(board.steps) - 1
    svg = to_svg(board, k)
    assert "wb-weight-4 wb-tone-bad" in svg and "wb-tone-minus" in svg
    assert "penwidth=6.5" in to_dot(board, k)
    arrows = board.to_dict()["arrows"]
    assert all(arrow["weight"] == 0 and arrow["tone"] == "" for arrow in arrows)
    assert any(change.get("tone") == "bad" for step in board.to_dict()["steps"] for change in step["arrows"].values())


def test_the_flow_of_a_small_network_opens_layer_by_layer_in_a_window():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    with torch.record() as trace:
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
    board = trace.show("flow").storyboard
    seen = {box.title: box for box in board.at().boxes.values()}
    assert len(seen) <= 25 and board.layout.width <= 962 / LEGIBLE and board.layout.height <= 558 / LEGIBLE
    assert {"net › Sequential", "0 › Linear", "1 › Tanh", "2 › Linear", "net(x) - y"} <= seen.keys()
    assert not {"x", "y"} & seen.keys()
    for title, layer, shapes in (
        ("0 › Linear", net[0], "(16, 4) → (16, 8)"),
        ("2 › Linear", net[2], "(16, 8) → (16, 1)"),
    ):
        rows = [
            f"{name} {tuple(p.shape)}, grad norm {p.grad.norm().item():.3g}" for name, p in layer.named_parameters()
        ]
        assert seen[title].lines == (shapes, *rows)
    closed = trace.show("flow", depth=0).storyboard.at().boxes.values()
    (whole,) = [box for box in closed if box.title == "net › Sequential"]
    norms = [math.hypot(*[p.grad.norm().item() for p in layer.parameters()]) for layer in (net[0], net[2])]
    assert whole.lines == (
        f"49 parameters, grad norm {math.hypot(*norms):.3g}",
        f"net.0 norm {norms[0]:.3g}, net.2 norm {norms[1]:.3g}",
    )


@pytest.mark.parametrize("depth", [None, 5])
def test_data_in_a_long_row_have_no_box_where_gradients_flow(depth):
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    xs = [torch.tensor([float(i), 1.0, 2.0]) for i in range(20)]
    with torch.record() as trace:
        sum((w * x).sum() for x in xs).backward()
    board = trace.show("flow", depth=depth).storyboard
    assert board.layout.boxes and not any(box.kind == "constant" for box in board.at().boxes.values())
    assert any(box.id == "row.xs" for box in trace.show().storyboard.at().boxes.values())


def words_of(trace, name):
    """What stands out about the gradient of a leaf, on its box and on the arrow from it."""
    board = trace.show("flow", depth=9).storyboard
    scene = board.at(len(board.steps) - 1)
    (box,) = [each for each in scene.boxes.values() if each.title == name]
    (arrow,) = [each for each in scene.arrows.values() if each.source == box.id]
    return box.lines[-1], arrow.label.split("\n")[-1]


def test_a_bias_before_a_norm_has_a_gradient_that_is_zero_but_for_rounding():
    torch.manual_seed(0)
    first, norm, second = torch.nn.Linear(4, 5), torch.nn.BatchNorm1d(5), torch.nn.Linear(5, 2)
    with torch.record() as trace:
        (second(norm(first(torch.randn(8, 4)))) ** 2).mean().backward()
    assert words_of(trace, "first.bias") == ("gradient zero up to rounding", "zero up to rounding")
    assert 0 < float(first.bias.grad.norm()) < 1e-6
