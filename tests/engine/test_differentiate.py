"""autograd.grad and autograd.backward beside PyTorch's: what they take, what they return, what they leave behind."""

from __future__ import annotations

from typing import Any

import pytest
from functions import leaf64


def test_a_gradient_passed_on_is_the_seed_itself(torch: Any) -> Any:
    x, seed = leaf64(torch, 1.0, 2.0), leaf64(torch, 3.0, 4.0)
    y = x * 2
    out = []
    for create_graph in (False, True):
        a, b = torch.autograd.grad(y, (y, y), seed, create_graph=create_graph)
        (c,) = torch.autograd.grad(x, x, seed, create_graph=create_graph)
        out.append((a is seed, b is seed, c is seed, a))
    a, b = torch.autograd.grad(y.sum(), (x, x))
    return out, a is b


def test_grad_ends_with_the_grad_mode_it_began_with(torch: Any) -> Any:
    x = leaf64(torch, 1.0, 2.0)
    y = (x * x).sum()
    with torch.no_grad():
        return torch.autograd.grad(y, x, create_graph=True), torch.is_grad_enabled()


def test_backward_into_a_non_leaf(torch: Any) -> Any:
    x, y = leaf64(torch, 1.0, 2.0), leaf64(torch, 3.0, 4.0)
    z = x * y
    w = (z * z).sum()
    w.backward(inputs=[z, x, x], retain_graph=True)
    first = (z.grad, z.retains_grad, x.grad, y.grad)
    w.backward(inputs=[z])
    return first, z.grad, x.grad


def test_backward_into_some_adds_in_place(torch: Any) -> Any:
    x = leaf64(torch, 1.0, 2.0)
    (x * x).sum().backward(inputs=[x])
    g, version = x.grad, x.grad._version
    (x * x).sum().backward(inputs=x)
    return g is x.grad, g._version - version, g


@pytest.mark.parametrize("how", ["non-leaf", "its leaf", "grad", "grad of both", "unrelated"])
def test_which_nodes_run(torch: Any, how: str) -> Any:
    ran: list[str] = []

    class Named(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, name):
            ctx.name = name
            return x * 2

        @staticmethod
        def backward(ctx, g):
            ran.append(ctx.name)
            return g * 2, None

    x, y, z = leaf64(torch, 1.0), leaf64(torch, 2.0), leaf64(torch, 3.0)
    a = Named.apply(x, "a")
    b, c = Named.apply(a, "b"), Named.apply(y, "c")
    out = (b * c).sum()
    if how.startswith("grad"):
        return ran, torch.autograd.grad(out, (a, x) if how == "grad of both" else a)
    out.backward(inputs={"non-leaf": [a], "its leaf": [x], "unrelated": [z]}[how])
    return ran, x.grad, y.grad, z.grad, a.retains_grad


def test_a_gradient_taken_on_the_way_is_the_one_before_hooks(torch: Any) -> Any:
    out = []
    for wanted in ("z", "zx", "x"):
        x = leaf64(torch, 1.0, 2.0)
        z = x * 2
        z.register_hook(lambda g: g * 10)
        z.retain_grad()
        named = {"z": z, "x": x}
        out.append((torch.autograd.grad(z.sum(), [named[name] for name in wanted]), z.grad))
    return out


def test_accumulation_copies_on_the_first_and_adds_on_the_next(torch: Any) -> Any:
    x = leaf64(torch, 1.0, 2.0)
    z = x * 3
    (z * z).sum().backward(inputs=[x, z], create_graph=True)
    first, z_first = x.grad, z.grad
    (x * x).sum().backward(create_graph=True)
    second = x.grad
    (x * x * x).sum().backward()
    return first, z_first, second is first, second, x.grad is second


def test_a_grad_that_was_set_is_added_to_in_place(torch: Any) -> Any:
    x, given = leaf64(torch, 1.0, 2.0), leaf64(torch, 1.0, 1.0)
    x.grad = given
    (x * 1).sum().backward()
    return x.grad is given, given._version, given.detach()
