"""What a ctx keeps beside what test_semantics_applied.py shows (rows 1.9 to 1.18 and 2.10), under both engines."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from functions import function, leaf, saved
from oracle import keeping, raised, warned


def test_1_9_a_captured_tensor_stays_differentiable(torch):
    def slope(g, kept):
        seen.append(kept is w)
        return g * kept

    seen: list[Any] = []
    x, w = leaf(torch, 1.0), leaf(torch, 3.0)
    y = keeping(torch, lambda ctx, x, r: (w,), saved(slope)).apply(x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    return seen, g, torch.autograd.grad(g, w)


def test_1_11_the_same_tensor_again_and_again(torch):
    x = leaf(torch, 3.0)
    y = keeping(torch, lambda ctx, x, r: (x, x, x), saved(lambda g, a, b, c: g * a * b * c)).apply(x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    return g, torch.autograd.grad(g, x)


def test_1_12_saved_variables(torch):
    y = keeping(torch, lambda ctx, x, r: (x, r)).apply(leaf(torch))
    return warned(lambda: y.grad_fn.saved_variables), y.grad_fn.saved_variables


def test_1_13_attributes_are_not_checked_not_freed_and_differentiable_if_inputs(torch):
    def forward(ctx, x, through_input):
        ctx.x, ctx.between, ctx.through_input = x, x * x, through_input
        return ctx.between * x

    F = function(torch, forward, lambda ctx, g: (g * 3 * (ctx.x * ctx.x if ctx.through_input else ctx.between), None))
    told = []
    for through_input in (True, False):
        start = leaf(torch, 2.0)
        x = start * 1
        y = F.apply(x, through_input)
        (g,) = torch.autograd.grad(y, start, create_graph=True)
        told.append((g, torch.autograd.grad(g, start, retain_graph=True, allow_unused=True)))
        with torch.no_grad():
            x.mul_(10)
        told.append(torch.autograd.grad(y, start))
    return told


def test_1_14_an_output_kept_as_an_attribute_is_a_cycle(torch):
    class Note:
        """What a weak reference can be made of."""

    def forward(ctx, x, as_attribute):
        result, ctx.note = x * 2, Note()
        if as_attribute:
            ctx.result = result
        else:
            ctx.save_for_backward(result)
        return result

    F, alive = function(torch, forward, lambda ctx, g: (g, None)), []
    gc.collect()
    gc.disable()
    try:
        for as_attribute in (True, False):
            y = F.apply(leaf(torch), as_attribute)
            note = weakref.ref(y.grad_fn.note)
            del y
            alive.append(note() is not None)
    finally:
        gc.enable()
    gc.collect()
    return alive, note()


def test_1_15_what_is_not_saved_is_gone_when_forward_returns(torch):
    def forward(ctx, x):
        kept, dropped = x * 2, x * 3
        refs.extend([weakref.ref(kept), weakref.ref(dropped)])
        ctx.save_for_backward(kept)
        return kept + dropped

    refs: list[Any] = []
    y = function(torch, forward, lambda ctx, g: g).apply(leaf(torch))
    alive = [ref() is not None for ref in refs]
    y.sum().backward()
    return alive, [ref() is not None for ref in refs]


def test_1_16_writes_that_bypass_autograd_go_unseen(torch):
    told = []
    for write in (lambda t: t.detach().numpy().fill(5.0), lambda t: t.data.mul_(7)):
        x = leaf(torch)
        y = keeping(torch, lambda ctx, x, r: (x,), saved(lambda g, x: g * x)).apply(x)
        write(x)
        y.sum().backward()
        told.append((x.grad, x._version))
    return told


def test_1_18_a_bare_ctx_only_notes(torch):
    ctx, x = torch.autograd.function.FunctionCtx(), torch.ones(2)
    told = [ctx.save_for_backward(x, 3), ctx.mark_dirty(x), ctx.mark_non_differentiable(x, x)]
    told += [ctx.set_materialize_grads("no"), ctx.to_save, ctx.dirty_tensors, ctx.non_differentiable]
    Keep = keeping(torch, lambda ctx, x, r: (x, r))
    return told, ctx.materialize_grads, Keep.forward(ctx, x), ctx.to_save


def test_2_10_a_saved_tensor_is_detached_in_place(torch):
    told = []
    for pick in (lambda ctx, x, r: (x,), lambda ctx, x, r: (r,)):
        for which in ("input", "output", "leaf"):
            start, Keep = leaf(torch), keeping(torch, pick)
            x = start if which == "leaf" else start * 1
            y = Keep.apply(x)
            node = y.grad_fn
            (y if which == "output" else x).detach_()
            told.append(raised(lambda node=node: node.saved_tensors))
            told.append(raised(torch.autograd.grad, y * 1 if which != "output" else start.sum(), start, torch.ones(2)))
            told.append(Keep.seen)
    return told


def test_2_10_in_built_in_operations(torch):
    told = []
    for how in (torch.sin, torch.exp, lambda t: t * t, lambda t: t[torch.tensor([0])]):
        x = leaf(torch) * 1
        y = how(x)
        x.detach_()
        told.append(raised(y.sum().backward))
    y = leaf(torch).exp()
    node = y.grad_fn
    y.detach_()
    return told, node._saved_result, node(torch.ones(2))


@pytest.mark.parametrize(
    "name", "data grad requires_grad grad_fn _version is_leaf shape _base retains_grad output_nr T dtype mine".split()
)
def test_what_may_be_written_or_deleted(torch, name):
    x = leaf(torch)
    x.grad, x.mine = torch.ones(2), 3
    written = "may be" if name in ("data", "grad", "requires_grad", "mine") else raised(setattr, x, name, 3)
    return written, raised(delattr, x, name), x, x.grad, sorted(x.__dict__)
