"""Outputs and gradients beside what test_semantics_applied.py shows (rows 6.7, 6.8 and 12.x), under both engines."""

from __future__ import annotations

from typing import Any

import pytest
from functions import function, leaf, saved
from oracle import chain, raised


def plainly(torch: Any, forward: Any) -> Any:
    """A Function whose forward needs no ctx, and whose backward hands on the gradient to the first input."""
    return function(torch, lambda ctx, *xs: forward(*xs), lambda ctx, g: (g, *[None] * (len(ctx.needs_input_grad) - 1)))


@pytest.mark.parametrize("materialize", [True, False])
@pytest.mark.parametrize("several", [True, False])
def test_6_7_an_undefined_gradient_from_downstream(torch, several, materialize):
    def forward(ctx, x):
        ctx.set_materialize_grads(materialize)
        return (x * 2,) if several else x * 2

    stop = function(torch, lambda ctx, x: x * 2, lambda ctx, g: None).apply
    shows = function(torch, forward, lambda ctx, g: seen.append(g) or g).apply
    seen: list[Any] = []
    x, y = leaf(torch), leaf(torch)
    out = shows(x)
    stop(((out[0] if several else out) * 3).exp() + y * 1).sum().backward()
    stop(y.exp() * 2).sum().backward()
    return seen, x.grad, y.grad


@pytest.mark.parametrize("materialize", [True, False])
def test_6_8_hooks_see_none_before_zeros_are_made(torch, materialize):
    def forward(ctx, x):
        ctx.set_materialize_grads(materialize)
        return x * 2, x * 3

    seen: list[Any] = []
    x = leaf(torch)
    first, _ = function(torch, forward, lambda ctx, g, h: seen.append((g, h)) or g).apply(x)
    first.grad_fn.register_prehook(lambda grads: seen.append(("pre", grads)))
    first.grad_fn.register_hook(lambda ins, outs: seen.append(("post", ins, outs)))
    first.sum().backward()
    return seen, x.grad


def test_12_11_nothing_to_record(torch):
    told = [plainly(torch, lambda: torch.ones(2)).apply(), plainly(torch, lambda n: n + 1).apply(3)]
    with torch.no_grad():
        told.append(plainly(torch, lambda x: x * 2).apply(leaf(torch)))
    return told, torch.is_grad_enabled()


def test_12_12_tensors_inside_a_list_are_no_inputs(torch):
    x, y = leaf(torch), leaf(torch)
    out = plainly(torch, lambda x, ys: x + ys[0]).apply(x, [y])
    out.sum().backward()
    return out.grad_fn.next_functions, x.grad, y.grad, plainly(torch, lambda xs: xs[0] * 2).apply([x])


def test_12_14_an_apply_inside_forward_is_not_recorded(torch):
    seen: list[Any] = []
    inner = function(torch, lambda ctx, x: x * 2, lambda ctx, g: seen.append("inner") or g).apply
    outer = function(torch, lambda ctx, x: inner(x) + 1, lambda ctx, g: seen.append("outer") or g).apply
    y = outer(leaf(torch))
    y.sum().backward()
    return chain(y.grad_fn), seen


def test_12_15_exceptions_of_forward_and_its_grad_mode(torch):
    class Mine(Exception):
        pass

    def fails(x):
        raise Mine("as it was", 3)

    told = []
    for mode in (True, False):
        with torch.set_grad_enabled(mode):
            told.append((raised(plainly(torch, fails).apply, leaf(torch)), torch.is_grad_enabled()))
            switched = plainly(torch, lambda x: torch.set_grad_enabled(True) and x * 2).apply(leaf(torch))
            told.append((switched, torch.is_grad_enabled()))
    return told


def test_12_16_the_same_tensor_passed_twice(torch):
    x = leaf(torch)
    y = function(torch, lambda ctx, a, b: a * b, saved(lambda g, a, b: (g * b, g * a * 10)), saves=True).apply(x, x)
    y.sum().backward()
    (a, _), (b, _) = y.grad_fn.next_functions
    return x.grad, a is b


def test_12_17_methods_without_staticmethod(torch):
    class F(torch.autograd.Function):
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = leaf(torch)
    F.apply(x).sum().backward()
    return x.grad
