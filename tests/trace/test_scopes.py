"""Naming parts of the graph: which nodes a scope names, and that nobody else notices."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from trace_samples import Square, leaf

import workbench as w
from workbench.autograd.scopes import current_scope, scope_of
from workbench.events import listeners


def test_nodes_are_named_after_the_scopes_they_were_made_in() -> None:
    x = leaf(1.0, 2.0)
    outside = x.exp()
    with w.scope("encoder"):
        first = outside.sin()
        with w.scope("layer1"):
            second = Square.apply(first)
            third = w.stack([second, second]).unbind()[1]
            assert current_scope() == "encoder/layer1"
        fourth = third + 1
    fifth = fourth * 2
    scopes = [scope_of(t.grad_fn) for t in (outside, first, second, third, fourth, fifth)]
    assert scopes == [None, "encoder", "encoder/layer1", "encoder/layer1", "encoder", None]
    assert scope_of(x.exp().grad_fn.next_functions[0][0]) is None, "a leaf is used anywhere"


def test_a_write_through_a_view_is_named_with_all_that_it_changes() -> None:
    x = leaf(1.0, 2.0)
    base = x * 1
    part = base[:1]
    with w.scope("write"):
        part.mul_(3)
    assert base.grad_fn.name() == "torch::autograd::CopySlices"
    assert [scope_of(base.grad_fn), scope_of(part.grad_fn)] == ["write", "write"]
    assert scope_of(base.grad_fn.next_functions[0][0]) is None


def test_gradients_with_a_graph_are_named_where_they_are_computed() -> None:
    x = leaf(2.0)
    y = (x * x * x).sum()
    with w.scope("gradient"):
        (g,) = w.autograd.grad(y, x, create_graph=True)
    assert scope_of(g.grad_fn) == "gradient"


def test_a_scope_may_be_entered_again_and_ends_with_an_error() -> None:
    again = w.scope("again")
    x = leaf(1.0)
    with again, again:
        assert scope_of(x.exp().grad_fn) == "again/again"
    with pytest.raises(KeyError), again:
        raise KeyError
    assert current_scope() is None
    assert scope_of(x.exp().grad_fn) is None
    assert listeners == []


def test_whoever_hears_of_a_node_can_ask_for_its_scope() -> None:
    x = leaf(1.0)
    heard = []

    def listen(event: Any) -> None:
        if event[0] == "created":
            heard.append(scope_of(event[1]))

    listeners.append(listen)
    try:
        with w.scope("named"):
            x.exp()
        x.exp()
    finally:
        listeners.remove(listen)
    assert heard == ["named", None]


def test_results_and_gradients_are_those_without_a_scope() -> None:
    def run(around: Any) -> Any:
        x = leaf(1.0, 2.0)
        with around:
            y = (Square.apply(x) * x.exp()).sum()
            y.backward()
        return y.item(), x.grad.tolist()

    assert run(w.scope("all")) == run(nullcontext())


def test_a_node_with_a_scope_takes_hooks_like_any_other() -> None:
    x, seen = leaf(1.0, 2.0), []
    with w.scope("part"):
        y = x.exp()
        z = y * y
    y.register_hook(lambda grad: seen.append("tensor"))
    y.grad_fn.register_prehook(lambda grads: seen.append("before"))
    z.grad_fn.register_hook(lambda inputs, outputs: seen.append("after"))
    z.sum().backward()
    assert seen == ["after", "tensor", "before"]
    assert scope_of(y.grad_fn) == scope_of(z.grad_fn) == "part"


def test_a_backward_runs_nodes_that_only_have_a_scope_the_quick_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(task: Any, node: Any) -> Any:
        raise AssertionError(f"{node} is run with everything unusual that may be about it")

    x = leaf(1.0, 2.0)
    with w.scope("part"):
        y = x.exp()
        z = y * y + x
    monkeypatch.setattr("workbench.autograd.engine.GraphTask._run_node", slow)
    z.backward(w.ones(2, dtype=w.float64))
    assert w.allclose(x.grad, 2 * (2 * x).exp() + 1)


def test_what_is_no_name() -> None:
    with pytest.raises(TypeError, match="A scope's name must be a string, but got int."):
        w.scope(3)
    with pytest.raises(ValueError, match="A scope needs a name that is not empty."):
        w.scope("")
