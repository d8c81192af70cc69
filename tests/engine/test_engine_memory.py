"""What a graph keeps alive, when it lets go, and that neither takes recursion."""

from __future__ import annotations

import gc
import sys
import tracemalloc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from functions import function

import workbench as w
from workbench.autograd.backward import make_task

LONG = 200_000


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Without the cycle collector: what dies, dies by reference counting."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_graph_dies_with_its_result(no_collector: None) -> None:
    x = w.ones(1000, requires_grad=True)
    y = (x.exp() * x.sin() + x).sum()
    arrays = [
        weakref.ref(item) for node in nodes(y) for _, item, _ in node.saved_items() if isinstance(item, np.ndarray)
    ]
    assert arrays
    del y
    assert [a() for a in arrays] == [None] * len(arrays)


def nodes(out: w.Tensor) -> list[Any]:
    """Every node behind a tensor."""
    found, todo = [], [out.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in found:
            found.append(node)
            todo += [parent for parent, _ in node.next_functions]
    return found


@pytest.mark.parametrize("keep", [False, True])
def test_backward_frees_what_was_saved(keep: bool, no_collector: None) -> None:
    x = w.ones(10, requires_grad=True)
    between = x.exp()
    ref = weakref.ref(between)
    out = (between * between).sum()
    del between
    assert ref() is not None, "the product keeps its factors"
    out.backward(retain_graph=keep)
    assert (ref() is not None) == keep


def test_a_custom_function_dies_without_the_collector(no_collector: None) -> None:
    def forward(ctx, x):
        ctx.note = Note()
        result = x.exp()
        ctx.save_for_backward(x, result)
        return result

    Exp = function(w, forward, lambda ctx, g: g * ctx.saved_tensors[1], name="Exp")

    class Note:
        """Something a weak reference can be had of."""

    x = w.ones(3, requires_grad=True)
    y = Exp.apply(x)
    note = weakref.ref(y.grad_fn.note)
    y.sum().backward()
    assert note() is not None, "y is still there"
    del y
    assert note() is None


def test_double_backward_leaves_no_cycle(no_collector: None) -> None:
    x = w.ones(3, requires_grad=True)
    y = x.exp() * x
    ref = weakref.ref(y)
    (g,) = w.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = w.autograd.grad(g.sum(), x, create_graph=True)
    gradients = [weakref.ref(g), weakref.ref(h)]
    del y, g, h
    assert [r() for r in (ref, *gradients)] == [None] * 3


def test_a_leaf_dies_with_its_accumulator(no_collector: None) -> None:
    x = w.ones(3, requires_grad=True)
    ref = weakref.ref(x)
    y = (x * 2).sum()
    del x
    assert ref() is not None, "the graph holds its leaves"
    y.backward()
    del y
    assert ref() is None


def test_a_gradient_nobody_else_has_becomes_the_leafs_without_a_copy() -> None:
    x = w.ones(1_000_000, requires_grad=True)
    loss = (x * 2).sum()
    tracemalloc.start()
    loss.backward()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert x.grad.nbytes <= peak < 1.5 * x.grad.nbytes


def test_an_unfinished_task_dies(no_collector: None) -> None:
    x = w.ones(3, requires_grad=True)
    y = (x.exp() * x).sum()
    task = make_task([y], [w.tensor(1.0)], keep_graph=False, create_graph=False)
    task.step()
    ref = weakref.ref(y)
    del y, task
    assert ref() is None


@pytest.mark.slow
def test_a_long_chain_runs_and_dies_without_recursion() -> None:
    depth = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        x = w.tensor([1.0], dtype=w.float64, requires_grad=True)
        y = x
        for _ in range(LONG):
            y = y + 1
        y.backward()
        assert x.grad.tolist() == [1.0] and y.item() == LONG + 1
        del y
        y = x
        for _ in range(LONG // 10):
            y = y * 1.0
        (g,) = w.autograd.grad(y, x, create_graph=True)
        assert g.tolist() == [1.0]
        del y, g
    finally:
        sys.setrecursionlimit(depth)


def test_a_long_chain_of_functions_dies_without_recursion() -> None:
    Next = function(w, lambda ctx, x: x + 1, lambda ctx, g: g * len(ctx.saved_tensors), saves=True, name="Next")
    x = w.tensor([1.0], requires_grad=True)
    y = x
    for _ in range(LONG // 10):
        y = Next.apply(y)
    y.backward()
    assert x.grad.tolist() == [1.0]
    del y
