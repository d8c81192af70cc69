"""Summaries: of an array that is only passed on one is made once, and it is always that of the values at the moment."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_functions import function

import workbench as torch
from workbench.pictures.recording import record
from workbench.pictures.trace import workbench_describer
from workbench.pictures.trace.backward_records import NodeFinished, NodeStarted
from workbench.pictures.trace.values import Value, kept

# Its backward writes into the gradient that it is given, which another node may be about to get.
WritesWhatItIsGiven = function("WritesWhatItIsGiven", lambda x: x * 1.0, lambda grad: grad.mul_(3.0))


class Fills(torch.Function):
    """The same behind NumPy's back, and it keeps what it was given."""

    kept: list = []

    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, grad):
        Fills.kept.append(grad)
        grad.numpy()[0] = 7.0
        return grad * 1.0


def _mutates(grad):
    grad.numpy()[:] *= -2.0


def _doubles(p):
    p.grad.mul_(2.0)


LINES = (
    "((a + b) * 1.5).sum().backward()",
    "((a + b) * c).sum().backward()",
    "h = a + b; ((WritesWhatItIsGiven.apply(h) + h) * c).sum().backward()",
    "h = a * b; (Fills.apply(h) + c).backward(torch.ones(64))",
    "k = a * c; h = a + b; ((Fills.apply(h) + k) * c).sum().backward()",
    "h = a + b; h.register_hook(mutates); (h + c).backward(torch.ones(64))",
    "h = a + b; k = h + c; k.grad_fn.register_prehook(lambda g: mutates(g[0])); k.backward(torch.ones(64))",
    "h = a + b; (h + h).tanh().sum().backward()",
    "k = a.view(8, 8) + 0.0; k.retain_grad(); (k.reshape(64) + b).sum().backward()",
    "a.register_hook(mutates)",
    "b.register_post_accumulate_grad_hook(doubles)",
    "a.grad = None; b.grad = None",
    "torch.autograd.backward([a + b, a + c], [torch.ones(64), torch.ones(64)])",
    "torch.autograd.grad((a + b).sum(), [a, b])",
    "(g,) = torch.autograd.grad((a * a + b).sum(), a, create_graph=True); g.sum().backward()",
    "torch.utils.checkpoint.checkpoint(lambda z: z + b, a, use_reentrant=True).sum().backward()",
    "a.grad = b.detach().clone(); (a + b).sum().backward()",
    "a.data = a.data + 1",
    "h = a + b; a.requires_grad_(False); (h * 2.0).sum().backward(); a.requires_grad_(True)",
)


def run(program, limit):
    """The values of everything that was recorded, in order."""
    names = {"torch": torch, "WritesWhatItIsGiven": WritesWhatItIsGiven, "Fills": Fills}
    names |= {"mutates": _mutates, "doubles": _doubles}
    torch.manual_seed(3)
    names |= {name: torch.randn(64).requires_grad_() for name in ("a", "b", "c")}
    with record(limit=limit) as trace:
        for line in program:
            with suppress(RuntimeError, ValueError):  # a gradient of a sum is one number 64 times, and not writable
                exec(line, names)
    return [value for event in trace.events for value in values_of(event)]


def values_of(fact):
    """All values in a record."""
    if isinstance(fact, Value):
        yield fact
    elif isinstance(fact, tuple):
        for each in fact:
            yield from values_of(each)
    elif is_dataclass(fact):
        for each in fields(fact):
            yield from values_of(getattr(fact, each.name))


@pytest.mark.filterwarnings("ignore")
@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=8))
def test_a_summary_is_that_of_the_values_at_the_moment(program):
    program = [*program, LINES[0]]
    summed, whole = run(program, 0), run(program, 10**6)
    assert any(value.values is None for value in summed)
    assert [v.values is not None for v in whole] == [True] * len(whole)
    facts = ("shape", "dtype", "min", "max", "nonfinite")
    assert [[getattr(v, f) for f in facts] for v in summed] == [[getattr(v, f) for f in facts] for v in whole]
    numbers = [[v.norm, v.mean] for v in summed]
    assert numbers == [pytest.approx([v.norm, v.mean], rel=1e-12, abs=1e-12) for v in whole]


def test_what_an_operation_hands_on_as_it_came_is_summed_up_once(monkeypatch):
    summed: list[Any] = []
    monkeypatch.setattr(
        workbench_describer, "kept", lambda array, limit: summed.append(array.size) or kept(array, limit)
    )
    x = torch.ones(70, requires_grad=True)
    with record(limit=0) as trace:
        y = (x + 1) * 2
        summed.clear()
        y.backward(torch.ones(70))
    assert summed == [70] * 3
    finished = {event.node: event.grads for event in trace.events if isinstance(event, NodeFinished)}
    started = {event.node: event.grads for event in trace.events if isinstance(event, NodeStarted)}
    assert finished["n1"][0] == started["n1"][0] == finished["n2"][0]


def test_what_a_hook_after_a_node_writes_is_not_told_as_it_came():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with record() as trace:
        y = x * 2 + 1
        y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0].mul_(10), None)[1])
        y.backward(torch.tensor([1.0, 1.0]))
    finished = {event.node: event.grads[0].values for event in trace.events if isinstance(event, NodeFinished)}
    assert finished == {"n2": (10.0, 10.0), "n1": (20.0, 20.0)}
    assert x.grad.tolist() == [20.0, 20.0]
