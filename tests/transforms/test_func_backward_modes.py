"""What code of the user's sees in a backward that a transform runs: the grad mode, and which gradients are recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from functions import function
from oracle import entries


def told(torch: Any, call: str) -> list[Any]:
    """What a Function and hooks see in the backward of a call; its words are `named` below."""
    seen: list[Any] = []

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)

    def backward(ctx, g):
        a, out = ctx.saved_tensors
        seen.append((torch.is_grad_enabled(), [t.requires_grad for t in (a, out, g, a * g)]))
        return g * 2

    def jvp(ctx, t):
        seen.append(("jvp", torch.is_grad_enabled()))
        return t * 2

    def hooked(x: Any) -> Any:
        y = x * 2
        y.register_hook(lambda g: seen.append(("hook", torch.is_grad_enabled(), g.requires_grad)))
        return (y * y).sum()

    def hooked_at_node(x: Any) -> Any:
        y = x * 2
        y.grad_fn.register_prehook(lambda grads: seen.append(("pre-hook", torch.is_grad_enabled())))
        y.grad_fn.register_hook(lambda grads, given: seen.append(("post-hook", torch.is_grad_enabled())))
        return (y * y).sum()

    def without(function: Callable[..., Any], *args: Any) -> Any:
        with torch.no_grad():
            return function(*args)

    double = function(torch, lambda x: x * 2, backward, setup_context=setup_context, jvp=jvp).apply
    named = {"f": lambda x: double(x).sum(), "h": hooked, "n": hooked_at_node, "x": torch.ones(2)}
    named |= {"one": torch.ones(()), "without": without, "func": torch.func, "torch": torch}
    eval(call, named)
    return seen


CALLS = """
func.grad(f)(x) | without(func.grad(f), x) | func.grad(lambda x: func.grad(f)(x).sum())(x) | func.vjp(f, x)[1](one)
without(func.vjp(f, x)[1], one) | without(lambda: func.vjp(f, x)[1](one)) | func.grad(h)(x) | without(func.grad(h), x)
func.grad(n)(x) | without(func.grad(n), x) | func.vjp(n, x)[1](one) | without(func.vjp(n, x)[1], one)
func.jvp(f, (x,), (x,)) | without(lambda: func.jvp(f, (x,), (x,))) | func.jvp(func.grad(f), (x,), (x,))
func.vmap(func.grad(h))(torch.ones(2, 2)) | func.grad(lambda x: without(func.grad(h), x).sum() + x.sum())(x)
func.grad_and_value(f)(x) | func.grad(lambda x: f(x) * f(x))(x) | func.grad(lambda x: f(func.grad(h)(x)))(x)
torch.autograd.functional.vjp(f, x) | torch.autograd.functional.hvp(lambda x: f(x) ** 2, x, x)
"""


@pytest.mark.parametrize("call", entries(CALLS))
def test_what_code_sees_in_a_backward(torch, call):
    return told(torch, call)
