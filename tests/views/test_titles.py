"""The titles of boxes are what the user wrote, as far as there is room: expressions, modules, found graphs, levels."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as torch
from workbench import nn
from workbench.pictures.recording import Trace, record
from workbench.pictures.views import storyboard
from workbench.pictures.views.expressions import fitted_text
from workbench.pictures.views.program_tree import program_tree


def leaf(*values: float) -> Any:
    return torch.tensor(values if len(values) > 1 else values[0], requires_grad=True)


def test_a_file_without_classes_and_numbers_is_read() -> None:
    net = nn.Sequential(nn.Conv2d(1, 1, 3, stride=2), nn.ReLU())
    with record() as trace:
        net(torch.ones(1, 1, 5, 5)).sum().backward()
    data = trace.to_dict()
    data["parts"] = [part[:5] for part in data["parts"]]
    root = program_tree(Trace.from_dict(data).events)
    assert [group.title for group in root.groups()] == ["net › Sequential", "0 › Conv2d"]
    assert [*root.titles.values()][:2] == ["convolution", "1 › ReLU"]


def test_a_graph_that_nobody_recorded_has_the_words_of_its_assignments() -> None:
    a, b = leaf(2.0), leaf(3.0)
    c = a * b
    d = c + a**2
    e = d / (b - 1)
    loss = e.exp() + c
    told = program_tree(torch.step(loss)._graph.records()).titles.values()
    assert [*told] == ["c = a * b", "a**2", "d = c + a**2", "b - 1", "e = d / (b - 1)", "e.exp()", "loss = e.exp() + c"]


def test_a_call_that_is_elided_leaves_its_brackets() -> None:
    net, offset = nn.Linear(3, 2), torch.ones(2)
    with record() as trace:
        initial = net(torch.cat([torch.ones(2, 1), torch.ones(2, 2)], dim=1)) - offset
        initial.sum().backward()
    assert "initial = net(…) - offset" in program_tree(trace.events).titles.values()


def test_what_a_variable_was_assigned_before_is_not_what_it_is() -> None:
    a = leaf(2.0)
    c = a * 3
    c = a.sin()
    told = program_tree(torch.step(c)._graph.records()).titles.values()
    assert [*told] == ["c = a.sin()"]


@pytest.mark.parametrize("transform", ["jvp", "grad", "hessian"])
def test_under_transforms_an_expression_stands_above_the_name_of_its_node(transform: str) -> None:
    x, along = torch.tensor([1.0, 2.0]), (torch.ones(2),)

    def f(x: Any) -> Any:
        return (x.sin() * x).sum()

    with record() as trace:
        torch.func.jvp(f, (x,), along) if transform == "jvp" else getattr(torch.func, transform)(f)(x)
    boxes = [box for box in storyboard(trace, depth=9).scene.boxes.values() if box.title == "x.sin() * x"]
    assert boxes and boxes[0].lines[0].startswith(("mul ", "MulBackward0"))


@pytest.mark.parametrize(
    ("text", "own", "room", "told"),
    [
        ("Wq(x).view(B, T, heads, D // heads).transpose(1, 2)", (), 36, "Wq(x).view(…).transpose(1, 2)"),
        ("(att @ v).transpose(1, 2).contiguous().view(B, T, D)", ("att @ v",), 34, "(att @ v).transpose(1, 2)…"),
        ("(1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2", (), 24, "(1 - p[0]) ** 2 + …"),
        ("loss = critic(fake).mean() - critic(real).mean() + 10 * p", (), 34, "loss = critic(fake).mean() - …"),
        ("F.binary_cross_entropy_with_logits(D(fake), ones)", (), 31, "binary_cross_en…(D(fake), ones)"),
        ("F.cross_entropy(out.view(-1, 5), tags.view(-1, 1))", (), 26, "cross_entropy(out…, tags…)"),
    ],
)
def test_a_title_keeps_the_words_that_name_things(text: str, own: tuple[str, ...], room: int, told: str) -> None:
    assert fitted_text(text, frozenset((each, "…") for each in own), room) == told


def test_what_a_transform_returns_is_in_the_picture_under_its_name() -> None:
    def f(p: Any) -> Any:
        return (p**2).sum() * p[0]

    point = leaf(0.5, 0.8)
    with record() as trace:
        H = torch.func.hessian(f)(point)
        H.sum()
    board = trace.show().storyboard
    titles = [box.title for box in board.at().boxes.values() if box.state != "future"]
    assert board.start >= len(board.steps) - 2  # not where the transform's own backward pass ends
    assert any(title.startswith("H = ") and "hessian" in title for title in titles)
