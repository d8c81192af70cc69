"""What `apply` returns: each output of a Function's forward gets its place in the graph."""

from __future__ import annotations

from typing import Any

from .. import errors, events
from .ctx import no_setup_context
from .quiet import warn
from .tensor import InferenceTensor, Tensor, alias, bump, link_view, made_by
from .views import forbidden, rebase


def bind_outputs(ctx: Any, args: tuple[Any, ...], output: Any, recorded: bool) -> tuple[Any, tuple[Any, ...]]:
    """Give every tensor among forward's results its history; return what apply returns, and the outputs as a tuple."""
    outputs = tuple(output) if isinstance(output, tuple) else (output,)
    dirty, plain = ctx.dirty_tensors or (), ctx.non_differentiable or ()
    if not all(isinstance(t, Tensor) for t in plain):
        raise RuntimeError(errors.NON_DIFFERENTIABLE_ONLY_TENSORS)
    if not all(isinstance(t, Tensor) for t in dirty):
        raise RuntimeError(errors.DIRTY_ONLY_TENSORS)
    for t in dirty:
        bump(t)
    if not all(any(t is o for o in outputs) for t in dirty):
        raise RuntimeError(errors.DIRTY_NOT_RETURNED)
    ctx.outputs = len(outputs)
    ctx.multi = len(outputs) != 1
    bound, kept_plain = [], []
    for nr, o in enumerate(outputs):
        if isinstance(o, Tensor):
            is_dirty = any(o is d for d in dirty)
            if not recorded or o._array.dtype.kind != "f" or any(o is p for p in plain):
                is_input = any(o is a for a in args)
                o = _bind_plain(ctx, o, is_input, is_dirty)
                if o._base is not None and not (is_input and is_dirty):
                    o._meta.creation = "custom"
                kept_plain.append(nr)
            else:
                o = bind_output(ctx, nr, o, args, is_dirty)
        bound.append(o)
    if recorded:
        facts = [(o._array.shape, o._array.dtype) if isinstance(o, Tensor) else (None, None) for o in bound]
        ctx._outputs = tuple([fact for pair in facts for fact in pair])
        ctx._plain = tuple(kept_plain)
        if sum(isinstance(o, Tensor) for o in bound) - len(kept_plain) > 1:
            for o in [o for o in bound if isinstance(o, Tensor) and o._base is not None]:
                o._meta.creation = "multi_output"
    return (tuple(bound) if isinstance(output, tuple) else bound[0]), tuple(bound)


def tell(ctx: Any, args: tuple[Any, ...], outputs: tuple[Any, ...], recorded: bool) -> None:
    """Tell listeners of a new node, and of what forward says it wrote, which no operation may have told of."""
    if recorded:
        events.emit(("created", ctx, args, tuple([o for o in outputs if isinstance(o, Tensor)])))
    for t in ctx.dirty_tensors or ():
        events.emit(("wrote", t, ctx._forward_cls.__name__))


def bind_output(ctx: Any, nr: int, o: Tensor, args: tuple[Any, ...], is_dirty: bool = False) -> Tensor:
    """Make a tensor output number `nr` of the node; integers are left as they are."""
    is_input = False
    for a in args:
        if a is o:
            is_input = True
    if o._array.dtype.kind != "f":
        return _bind_plain(ctx, o, is_input, is_dirty)
    if is_dirty:
        _rewrite(ctx, nr, o, is_input)
        return o
    if is_input:  # never the input itself: a view of it that belongs to this node
        o = _as_it_is(ctx, o)
    o._rg, o._nr = True, nr
    meta = o._meta
    if meta is None or meta.base is None:
        o._fn = ctx
    else:
        meta.view_fn = ctx
        meta.creation = "custom"
        meta.attr_version = o._version
    return o


def _rewrite(ctx: Any, nr: int, o: Tensor, is_input: bool) -> None:
    """Give an input that forward wrote in place this node as its history."""
    base = o._base
    if o.requires_grad and made_by(o) is None:
        raise events.failed(RuntimeError(errors.LEAF_DIRTY), o)
    if not is_input:
        if base is not None:
            raise RuntimeError(errors.DIRTY_NOT_INPUT)
        warn(errors.DIRTY_NOT_INPUT)
    if base is not None and ctx.outputs > 1:
        raise RuntimeError(errors.DIRTY_VIEW_SEVERAL)
    if o._meta is not None:
        o._meta.grad = None
    if base is not None:
        if o._meta.creation != "default":
            raise forbidden(o, "is being")
        if base.requires_grad and base.is_leaf:
            raise events.failed(RuntimeError(errors.VIEW_OF_LEAF_IN_PLACE), o, base)
    rebase(o, ctx, nr)


def _bind_plain(ctx: Any, o: Tensor, is_input: bool, is_dirty: bool) -> Tensor:
    """An output without gradient."""
    if not o.requires_grad:
        return o if not is_input or is_dirty else _as_it_is(ctx, o)
    if is_input:
        return alias(o)
    if o._base is None:  # a graph built inside forward ends here; a view keeps requiring grad through its base
        o._fn, o._rg = None, False
    return o


def _as_it_is(ctx: Any, o: Tensor) -> Tensor:
    """An input that forward returned, as a tensor of its own: a view, but for inference tensors, which have none.

    RuntimeError where setup_context saves it, which cannot tell the input from the output.
    """
    if ctx._forward_cls.setup_context is not no_setup_context:
        if any([o is t for t in (*(ctx.to_save or ()), *(ctx.saved_for_forward or ()))]):
            raise RuntimeError(errors.RETURNED_INPUT_SAVED)
    out = o._again()
    if type(o) is not InferenceTensor:
        link_view(out, o)
    return out
