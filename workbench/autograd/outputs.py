"""What `apply` returns: each output of a Function's forward gets its place in the graph."""

from __future__ import annotations

from typing import Any

from .. import errors
from .tensor import Tensor, alias, bump, link_view, wrap


def bind_outputs(ctx: Any, args: tuple[Any, ...], output: Any, recorded: bool) -> tuple[Any, tuple[Any, ...]]:
    """Give every tensor among forward's results its history; return what apply returns, and the outputs as a tuple."""
    outputs = tuple(output) if isinstance(output, tuple) else (output,)
    dirty, plain = ctx.dirty_tensors or (), ctx.non_differentiable or ()
    for t in plain:
        if not isinstance(t, Tensor):
            raise RuntimeError(errors.NON_DIFFERENTIABLE_ONLY_TENSORS)
    for t in dirty:
        bump(t)
    ctx.outputs = len(outputs)
    ctx.multi = len(outputs) != 1
    bound = []
    for nr, o in enumerate(outputs):
        if isinstance(o, Tensor):
            is_dirty = any(o is d for d in dirty)
            if not recorded or o._array.dtype.kind != "f" or any(o is p for p in plain):
                o = o if is_dirty else _bind_plain(o, any(o is a for a in args))
            else:
                o = bind_output(ctx, nr, o, args, is_dirty)
        bound.append(o)
    if recorded:
        facts: list[Any] = []
        for o in bound:
            facts += (o._array.shape, o._array.dtype) if isinstance(o, Tensor) else (None, None)
        ctx._outputs = tuple(facts)
    return (tuple(bound) if isinstance(output, tuple) else bound[0]), tuple(bound)


def bind_output(ctx: Any, nr: int, o: Tensor, args: tuple[Any, ...], is_dirty: bool = False) -> Tensor:
    """Make a tensor output number `nr` of the node; integers are left as they are."""
    if o._array.dtype.kind != "f":
        return _bind_plain(o, any(o is a for a in args))
    if is_dirty:
        if o.requires_grad and o.is_leaf:
            raise RuntimeError(errors.LEAF_DIRTY)
    elif any([o is a for a in args]):  # never the input itself: a view of it that belongs to this node
        view = wrap(o._array)
        link_view(view, o)
        o = view
    o._rg, o._nr = True, nr
    meta = o._meta
    if meta is None or meta.base is None:
        o._fn = ctx
    else:
        meta.view_fn = ctx
        meta.creation = "multi_output" if ctx.multi else "custom"
    return o


def _bind_plain(o: Tensor, is_input: bool) -> Tensor:
    """An output without gradient."""
    if not o.requires_grad:
        if not is_input:
            return o
        out = wrap(o._array)
        link_view(out, o)
        return out
    if is_input:
        return alias(o)
    if o._base is None:  # a graph built inside forward ends here; a view keeps requiring grad through its base
        o._fn, o._rg = None, False
    return o
