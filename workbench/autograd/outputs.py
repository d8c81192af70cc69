"""What `apply` returns: each output of a Function's forward gets its place in the graph."""

from __future__ import annotations

from typing import Any

from .. import errors
from .tensor import Tensor, alias, bump, link_view, meta_of, wrap


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
    bound = tuple([_bind(ctx, nr, o, args, dirty, plain, recorded) for nr, o in enumerate(outputs)])
    if recorded:
        ctx._outputs = tuple(
            [(o._array.shape, o._array.dtype) if isinstance(o, Tensor) else None for o in bound]
        )
    return (bound if isinstance(output, tuple) else bound[0]), bound


def _bind(
    ctx: Any,
    nr: int,
    o: Any,
    args: tuple[Any, ...],
    dirty: tuple[Any, ...],
    plain: tuple[Any, ...],
    recorded: bool,
) -> Any:
    if not isinstance(o, Tensor):
        return o
    is_input = any(o is a for a in args)
    is_dirty = is_input and any(o is d for d in dirty)
    if not recorded or o._array.dtype.kind != "f" or any(o is p for p in plain):
        return o if is_dirty else _bind_plain(o, is_input)
    if is_dirty:
        if o.requires_grad and o.is_leaf:
            raise RuntimeError(errors.LEAF_DIRTY)
        target = o
    elif is_input:  # never the input itself: a view of it that belongs to this node
        target = wrap(o._array)
        link_view(target, o)
    else:
        target = o
    target._rg, target._nr = True, nr
    if target._base is None:
        target._fn = ctx
    else:
        meta = meta_of(target)
        meta.view_fn = ctx
        meta.creation = "multi_output" if ctx.multi else "custom"
    return target


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
    if (
        o._base is None
    ):  # a graph built inside forward ends here; a view keeps requiring grad through its base
        o._fn, o._rg = None, False
    return o
