"""The titles of boxes are what the user wrote, as far as there is room: expressions, modules, found graphs, levels."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as torch
from workbench import nn
from workbench.recording import Trace, record
from workbench.scene.labels import TITLE_COLUMNS, columns
from workbench.views import storyboard
from workbench.views.program_tree import program_tree


def leaf(*values: float) -> Any:
    return torch.tensor(values if len(values) > 1 else values[0], requires_grad=True)


def titles(trace: Trace) -> list[str]:
    """Those of all groups and nodes, live and from a file."""
    root, again = program_tree(trace.events), program_tree(Trace.from_dict(trace.to_dict()).events)
    told = [*[group.title for group in root.groups()], *root.titles.values()]
    assert told == [*[group.title for group in again.groups()], *again.titles.values()]
    assert all(columns(each) <= TITLE_COLUMNS for each in root.titles.values())
    return told


def test_of_what_has_none_the_innermost_is_left_out_and_something_is_named() -> None:
    mu, logvar, eps = leaf(1.0, 2.0), leaf(0.1, 0.2), torch.ones(2)
    W, U, h, xs = leaf(0.5), leaf(0.25), torch.tensor(0.0), torch.ones(2)
    with record() as trace:
        z = mu + torch.exp(0.5 * logvar) * eps
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum()
        loss = ((z - eps) ** 2).mean() + kl
        h = torch.tanh(xs[1] * U + h * W + loss)
    told = titles(trace)
    assert {"z = mu + exp(0.5 * logvar) * eps", "1 + logvar - mu.pow(2) - …"} <= {*told}
    assert "h = tanh(xs[1] * U + h * W + loss)" in told
    assert not {"… + …", "… * …", "…"} & {*told}


def test_a_call_of_a_module_that_is_left_out_is_seen_to_be_a_call() -> None:
    u_net, parts = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)), nn.ModuleList([nn.Linear(2, 1)])
    x, u0 = torch.ones(3, 2), torch.ones(3, 1)
    with record() as trace:
        initial = u_net(torch.cat([torch.zeros_like(x[:, :1]), torch.sin(x[:, 1:])], dim=1)) - u0
        for part in parts:
            other = part(torch.cat([torch.zeros_like(x[:, :1]), torch.sin(x[:, 1:])], dim=1)) - initial
    told = titles(trace)
    assert "initial = u_net(…) - u0" in told and any("part(…) - initial" in each for each in told), (told, other)


def test_modules_are_told_by_their_attributes_classes_and_numbers() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(1, 2, 3, stride=2, padding=1)
            self.drop, self.attn = nn.Dropout(0.3), nn.MultiheadAttention(2, 2)

        def forward(self, x: Any) -> Any:
            x = self.drop(self.conv1(x)).flatten(2).permute(2, 0, 1)
            return self.attn(x, x, x)[0]

    net = Net()
    with record() as trace:
        net(torch.ones(1, 1, 4, 4)).sum().backward()
    assert {
        "net › Net",
        "conv1 › Conv2d stride 2, padding 1",
        "drop › Dropout p 0.3",
        "attn › MultiheadAttention 2 heads",
    } <= {*titles(trace)}


def test_a_module_that_an_object_holds_is_told_by_its_attribute() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

        def loss(self, x: Any) -> Any:
            return self.net(x).sum()

    class Around(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

        def forward(self, x: Any) -> Any:
            return self.net(x)

    trainer, model = Trainer(), Around()
    with record() as trace:
        (trainer.loss(torch.ones(1, 2)) + model(torch.ones(1, 2)).sum()).backward()
    assert {"net › Sequential", "model.net › Sequential"} <= {*titles(trace)}


def test_a_file_without_classes_and_numbers_is_read() -> None:
    net = nn.Sequential(nn.Conv2d(1, 1, 3, stride=2), nn.ReLU())
    with record() as trace:
        net(torch.ones(1, 1, 5, 5)).sum().backward()
    data = trace.to_dict()
    data["parts"] = [part[:5] for part in data["parts"]]
    root = program_tree(Trace.from_dict(data).events)
    assert [group.title for group in root.groups()] == ["net › Sequential", "0 › Conv2d"]
    assert [*root.titles.values()][:2] == ["ConvolutionBackward0", "1 › ReLU"]


def test_a_graph_that_nobody_recorded_has_the_words_of_its_assignments() -> None:
    a, b = leaf(2.0), leaf(3.0)
    c = a * b
    d = c + a**2
    e = d / (b - 1)
    loss = e.exp() + c
    told = program_tree(torch.step(loss)._graph.records()).titles.values()
    assert [*told] == ["c = a * b", "a**2", "d = c + a**2", "b - 1", "e = d / (b - 1)", "e.exp()", "loss = e.exp() + c"]


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
