"""Writes under no_grad into parts of tensors that a graph knows: PyTorch refuses to say what made such a view."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import workbench

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle


def element_of_a_leaf() -> Any:
    w = torch.ones(3, requires_grad=True)
    (w**3).sum().backward()
    with torch.no_grad():
        w[0] += 1e-3
    return w


def rows_of_a_result() -> Any:
    y = torch.ones(2, 3, requires_grad=True) * 2
    with torch.no_grad():
        y[1:] *= 0.5
    y.sum().backward()
    return y


def row_of_a_weight() -> Any:
    layer = torch.nn.Linear(2, 2)
    layer(torch.ones(1, 2)).sum().backward()
    with torch.no_grad():
        layer.weight[0] += 1
    return layer.weight


def several_views() -> Any:
    y = torch.ones(3, 3, requires_grad=True) * 2
    with torch.no_grad():
        y[1:].add_(1)
        y.diagonal().zero_()
        y[2].fill_(7)
        y.view(-1).narrow(0, 1, 2).clamp_(max=1)
    return y


def held_view() -> Any:
    y = torch.ones(4, requires_grad=True) * 2
    with torch.no_grad():
        head = y[:2]
        y.mul_(3)
        head.add_(1)
    return y


class AddInto(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.mark_dirty(a)
        a[1:2] += b
        return a

    @staticmethod
    def backward(ctx, g):
        return g, g[1:2].clone()


def in_a_function() -> Any:
    a, b = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
    out = AddInto.apply(a * 3, b)
    out.sum().backward()
    return out


PROGRAMS = (element_of_a_leaf, rows_of_a_result, row_of_a_weight, several_views, held_view, in_a_function)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_recording_loses_nothing(program: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with workbench.record(torch) as trace:
            written = program()
    frame = trace.frame(len(trace.events))
    values = [*written.detach().reshape(-1).tolist()]
    assert values in [[*state.value.values] for state in frame.tensors.values() if state.value.values is not None]
    for name in ("graph", "memory", "versions", "saved"):
        assert str(trace.show(name))
    assert str(trace.findings())
    assert type(trace).from_dict(trace.to_dict()).to_json() == trace.to_json()


def test_one_line_that_writes_twice_is_two_events() -> None:
    with workbench.record(torch) as trace:
        element_of_a_leaf()
    written = [event.name for event in trace.events if type(event).__name__ == "TensorWritten"]
    assert written == ["add_", "__setitem__"]
