"""Semantics of hooks on several gradients and of what registering returns; named after the rows of the map."""

from __future__ import annotations

from typing import Any

import pytest
from functions import function


@pytest.mark.parametrize("mode", ["all", "any"])
@pytest.mark.parametrize("used", ["x", "y", "xy", "xyz", "z"])
def test_23_13_which_gradients_arrive(torch: Any, mode: str, used: str) -> Any:
    seen: list[Any] = []
    x, y, z = (torch.tensor([float(i)], requires_grad=True) for i in (1, 2, 3))
    leaves = {"x": x, "y": y, "z": z}
    middle = x * 2
    torch.autograd.graph.register_multi_grad_hook([x, y, middle], seen.append, mode=mode)
    out = sum((leaves[name] * 3 for name in used), middle * 0 if used != "y" else 0 * y)
    out.backward(retain_graph=True)
    first = list(seen)
    out.backward()
    return first, len(seen)


def test_23_13_one_of_them_is_asked_for(torch: Any) -> Any:
    seen: list[Any] = []
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    torch.autograd.graph.register_multi_grad_hook([x, y], seen.append)
    out = x * y * 3
    torch.autograd.grad(out, x, retain_graph=True)
    after = list(seen)
    out.backward(inputs=[y])
    return after, seen


def test_23_13_an_undefined_gradient(torch: Any) -> Any:
    Stop = function(torch, lambda ctx, x, y: x * y, lambda ctx, g: (None, g), name="Stop")
    seen: list[Any] = []
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    graph = torch.autograd.graph
    graph.register_multi_grad_hook([x, y], lambda grads: seen.append(("all", grads)))
    graph.register_multi_grad_hook([x, y], lambda grad: seen.append(("any", grad)), mode="any")
    Stop.apply(x, y).backward()
    return seen


@pytest.mark.parametrize("mode", ["all", "any"])
def test_23_13_removed(torch: Any, mode: str) -> Any:
    seen: list[Any] = []
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    handle = torch.autograd.graph.register_multi_grad_hook([x, y], seen.append, mode=mode)
    (x * y).backward()
    handle.remove()
    (x * y).backward()
    with torch.autograd.graph.register_multi_grad_hook([x], lambda g: seen.append("with"), mode=mode):
        (x * y).backward()
    (x * y).backward()
    return seen


def test_23_13_two_hooks_and_the_same_tensor_twice(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.tensor([2.0], requires_grad=True)
    y = x.exp()
    torch.autograd.graph.register_multi_grad_hook([y, y], lambda g: seen.append((1, g)))
    torch.autograd.graph.register_multi_grad_hook([x, y], lambda g: seen.append((2, g)))
    (y * 3).backward()
    return seen


@pytest.mark.parametrize("where", ["tensor", "leaf", "pre", "post", "accumulated"])
def test_23_14_handles(torch: Any, where: str) -> Any:
    seen: list[Any] = []
    x = torch.ones(1, requires_grad=True)
    y = x.exp()
    register = {
        "tensor": y.register_hook,
        "leaf": x.register_hook,
        "pre": y.grad_fn.register_prehook,
        "post": y.grad_fn.register_hook,
        "accumulated": x.register_post_accumulate_grad_hook,
    }[where]
    handle = register(lambda *g: seen.append("first"))
    with register(lambda *g: seen.append("within")) as inner:
        y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    handle.remove()
    handle.remove()
    y.backward()
    return seen, type(handle).__name__, type(inner).__name__


def test_23_14_a_handle_that_outlives_its_tensor(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    handle = (x * 2).register_hook(lambda g: g)
    return handle.remove(), handle.remove()
