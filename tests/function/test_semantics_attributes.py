"""What a ctx holds besides saved tensors, and what the version check cannot see (rows 1.13 to 1.18)."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from oracle import compare, keeping, raised, same


@same
def test_1_13_attributes_are_not_checked_not_freed_and_differentiable_if_inputs(torch: Any) -> None:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, through_input):
            ctx.x, ctx.between, ctx.through_input = x, x * x, through_input
            return ctx.between * x

        @staticmethod
        def backward(ctx, g):
            return g * 3 * (ctx.x * ctx.x if ctx.through_input else ctx.between), None

    told = []
    for through_input in (True, False):
        leaf = torch.tensor([2.0], requires_grad=True)
        x = leaf * 1
        y = F.apply(x, through_input)
        (g,) = torch.autograd.grad(y, leaf, create_graph=True)
        told.append((g, torch.autograd.grad(g, leaf, retain_graph=True, allow_unused=True)))
        with torch.no_grad():
            x.mul_(10)
        told.append(torch.autograd.grad(y, leaf))
    return told


@same
def test_1_14_an_output_kept_as_an_attribute_is_a_cycle(torch: Any) -> None:
    class Note:
        pass

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, as_attribute):
            result = x * 2
            ctx.note = Note()
            if as_attribute:
                ctx.result = result
            else:
                ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, g):
            return g, None

    alive = []
    gc.collect()
    gc.disable()
    try:
        for as_attribute in (True, False):
            y = F.apply(torch.ones(2, requires_grad=True), as_attribute)
            note = weakref.ref(y.grad_fn.note)
            del y
            alive.append(note() is not None)
    finally:
        gc.enable()
    gc.collect()
    return alive, note()


@same
def test_1_16_writes_that_bypass_autograd_go_unseen(torch: Any) -> None:
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]

    told = []
    for write in (lambda t: t.detach().numpy().fill(5.0), lambda t: t.data.mul_(7)):
        x = torch.ones(2, requires_grad=True)
        y = keeping(torch, lambda ctx, x, r: (x,), backward).apply(x)
        write(x)
        y.sum().backward()
        told.append((x.grad, x._version))
    return told


@same
def test_1_17_integers_and_masks_can_be_saved(torch: Any) -> None:
    class Sort(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            values, order = x.sort()
            ctx.save_for_backward(order, x > 0)
            ctx.mark_non_differentiable(order)
            return values, order

        @staticmethod
        def backward(ctx, g, _):
            order, positive = ctx.saved_tensors
            out = torch.zeros_like(g)
            return out.index_add_(0, order, g) * positive

    x = torch.tensor([3.0, -1.0, 2.0], requires_grad=True)
    values, order = Sort.apply(x)
    (values * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    return values, order, x.grad


@same
def test_1_18_a_bare_ctx_only_notes(torch: Any) -> None:
    ctx = torch.autograd.function.FunctionCtx()
    x = torch.ones(2)
    told = [ctx.save_for_backward(x, 3), ctx.mark_dirty(x), ctx.mark_non_differentiable(x, x)]
    told += [ctx.set_materialize_grads("no"), ctx.to_save, ctx.dirty_tensors, ctx.non_differentiable]
    Keep = keeping(torch, lambda ctx, x, r: (x, r))
    return told, ctx.materialize_grads, Keep.forward(ctx, x), ctx.to_save


@same
def test_1_15_what_is_not_saved_is_gone_when_forward_returns(torch: Any) -> None:
    refs = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            saved, unsaved = x * 2, x * 3
            refs.extend([weakref.ref(saved), weakref.ref(unsaved)])
            ctx.save_for_backward(saved)
            return saved + unsaved

        @staticmethod
        def backward(ctx, g):
            return g

    y = F.apply(torch.ones(2, requires_grad=True))
    alive = [ref() is not None for ref in refs]
    y.sum().backward()
    return alive, [ref() is not None for ref in refs]


@pytest.mark.parametrize(
    "name", "data grad requires_grad grad_fn _version is_leaf shape _base retains_grad output_nr T dtype mine".split()
)
def test_what_may_be_written_or_deleted(name: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        x.grad = torch.ones(2)
        x.mine = 3
        written = "may be" if name in ("data", "grad", "requires_grad", "mine") else raised(setattr, x, name, 3)
        return written, raised(delattr, x, name), x, x.grad, sorted(x.__dict__)

    compare(program)
