"""What stands on the boxes of a graph that nobody recorded: the expression, as far as the graph tells it."""

from __future__ import annotations

import re
from typing import Any

import pytest

import workbench as torch
from workbench.pictures.stepper import Stepper
from workbench.pictures.views.stepper_picture import Stage


def titles(s: Stepper) -> list[str]:
    return [box.title for box in Stage(s).scene.boxes.values() if box.kind in ("op", "function")]


def lines(s: Stepper) -> list[str]:
    return [box.lines[0] for box in Stage(s).scene.boxes.values() if box.kind in ("op", "function")]


def test_operations_are_told_as_they_are_written() -> None:
    w, b = torch.tensor(2.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    x = torch.tensor(3.0)
    loss = ((w * x + b) * 7 - w) ** b
    s = torch.step(loss)
    assert titles(s) == [
        "w * x",
        "w * x + b",
        "(w * x + b) * 7",
        "(w * x + b) * 7 - w",
        "loss = ((w * x + b) * 7 - w) ** b",
    ]
    names = [re.split("  | · ", line)[0] for line in lines(s)]
    assert names == ["MulBackward0", "AddBackward0", "MulBackward0, 2nd", "SubBackward0", "PowBackward1"]
    stage = Stage(s)
    stage.follow(s.step(2))
    assert (
        "`(w * x + b) * 7 - w` (SubBackward0) receives the gradient 1.0; it sends 1.0 to `(w * x + b) * 7`"
        in stage.sentence
    )


class Square(torch.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad


class Scale(Square):
    @staticmethod
    def forward(ctx: Any, by: Any, x: Any) -> Any:
        return by * x


def _leaf() -> Any:
    return torch.tensor([[2.0, 3.0], [4.0, 5.0]], requires_grad=True)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda a, b, x: a + b, "a + b"),
        (lambda a, b, x: a * 3, "a * 3"),
        (lambda a, b, x: x * a, "x * a"),
        (lambda a, b, x: x / a, "x / a"),
        (lambda a, b, x: a - 3, "a - …"),
        (lambda a, b, x: a - (b - x), "a - (b - …)"),
        (lambda a, b, x: a - b - x, "a - b - …"),
        (lambda a, b, x: (a + b) @ a.t(), "(a + b) @ a.T"),
        (lambda a, b, x: (a * b) ** b, "(a * b) ** b"),
        (lambda a, b, x: -(a + b), "-(a + b)"),
        (lambda a, b, x: torch.tanh(a * b), "tanh(a * b)"),
        (lambda a, b, x: a.sum(), "sum(a)"),
        (lambda a, b, x: a.sum(0), "sum(a, …)"),
        (lambda a, b, x: torch.add(a, b, alpha=2), "add(a, b, …)"),
        (lambda a, b, x: torch.div(a, b, rounding_mode="floor"), "div(a, b, …)"),
        (lambda a, b, x: a.sort()[0], "sort(a, …)"),
        (lambda a, b, x: a.to(torch.float64), "to(a, …)"),
        (lambda a, b, x: a.norm(), "norm(a, …)"),
        (lambda a, b, x: 3 - a, "… - a"),
        (lambda a, b, x: a**2, "a ** …"),
        (lambda a, b, x: 2**a, "… ** a"),
        (lambda a, b, x: torch.where(x > 0, a, b), "where(…)"),
        (lambda a, b, x: Square.apply(a), "Square.apply(a)"),
        (lambda a, b, x: Scale.apply(3.0, a), "Scale.apply(…)"),
        (lambda a, b, x: Scale.apply(a, b), "Scale.apply(a, b)"),
        (lambda a, b, x: torch.tanh(a @ b + b) @ a, "tanh(a @ b + b) @ a"),
        (lambda a, b, x: torch.squeeze(torch.tanh(a @ b + b) @ a), "squeeze(tanh(a @ b + b) @ a)"),
        (lambda a, b, x: torch.tanh(a.exp().exp().exp().exp()), "tanh(exp(exp(exp(exp(a)))))"),
        (lambda a, b, x: torch.tanh(a.exp().exp().exp().exp()) * b.sin().sin(), "… * sin(sin(b))"),
    ],
)
def test_what_is_not_known_is_left_out_and_nothing_is_made_up(make: Any, told: str) -> None:
    a, b, x = _leaf(), _leaf(), torch.ones(2, 2)
    assert titles(torch.step([make(a, b, x)], grad=[torch.ones_like(make(a, b, x))]))[-1] == told


def test_the_place_of_a_module_in_a_sequential_is_not_told_as_a_number() -> None:
    net = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Linear(2, 1))
    loss = net(_leaf()).sum()
    told = titles(torch.step(loss))
    assert told[1:3] == ["net.1.weight.T", "addmm(net.1.bias, …, net.1.weight.T, …)"]


def test_leaves_of_modules_and_lists_have_the_names_of_the_callers_variables() -> None:
    net, ws = torch.nn.Linear(2, 2), [_leaf(), _leaf()]
    s = torch.step((net(ws[0]) * ws[1]).sum())
    leaves = {box.title for box in Stage(s).scene.boxes.values() if box.kind == "leaf"}
    assert leaves == {"net.weight", "net.bias", "ws[0]", "ws[1]"}


def test_what_a_module_gave_is_told_by_its_scope() -> None:
    net, target = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh()), torch.ones(2, 2)
    told = titles(torch.step(((net(torch.ones(2, 2)) - target) ** 2).mean()))
    assert told[-4:] == ["1 › Tanh", "Sequential - …", "(Sequential - …) ** …", "mean((Sequential - …) ** …)"]


@pytest.mark.parametrize("rounds", [8, 26])
def test_a_loop_that_nobody_recorded_opens_folded(rounds: int) -> None:
    w, u, h = _leaf(), _leaf(), torch.ones(2, 2)
    for _ in range(rounds):
        h = torch.tanh(h @ w + torch.ones(2, 2) @ u)
    loss = h.pow(2).sum()
    stage = Stage(torch.step(loss))
    now = stage.board().at().boxes.values()
    assert any(box.title == f"{rounds - 2} more of mm, add, tanh" for box in now)
    assert sum(box.kind in ("op", "group", "leaf", "output") for box in now) <= 20
    whole = len(stage.scene.boxes)
    assert whole > 2 * len(now), "the rest opens"
