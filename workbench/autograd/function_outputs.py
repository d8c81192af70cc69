"""What a Function's forward returned gets its place in the graph, and what its backward returned is checked."""

from __future__ import annotations

from typing import Any

from .. import errors, events
from ..errors import warn
from . import dtypes
from .node import AccumulateGrad, Node
from .tensor import InferenceTensor, Tensor, alias, bump, cached_grad_fn, link_view
from .views import forbidden, rebase


def gradients_of(ctx: Any, returned: Any) -> Any:
    """Return one gradient per tensor argument, in its shape and dtype: a list, or for one argument the gradient.

    The gradient of an argument that doesn't require grad stays as returned, because hooks on the node see it.
    RuntimeError if number, kind or shape is wrong.
    """
    inputs = ctx._inputs
    if type(returned) is Tensor and len(inputs) == 2:  # one argument, one gradient, and it fits: the common case
        array = returned._array
        if array.dtype is inputs[1] and array.shape == inputs[0]:
            return returned
    grads = list(returned) if isinstance(returned, tuple) else [returned]
    expected, got = len(inputs) // 2, len(grads)
    while len(grads) > expected and grads[-1] is None:
        grads.pop()
    if len(grads) != expected:
        raise RuntimeError(errors.WRONG_NUMBER_OF_GRADIENTS.format(ctx.name(), expected, got))
    of_tensors: list[tuple[Tensor | None, Any, Any]] = []
    for position, grad in enumerate(grads):
        shape, dtype = inputs[2 * position : 2 * position + 2]
        if dtype is None:
            if grad is not None:
                raise RuntimeError(errors.GRADIENT_FOR_NON_TENSOR.format(ctx.name(), position + 1))
            continue
        if grad is not None and not isinstance(grad, Tensor):
            raise RuntimeError(errors.EXPECTED_VARIABLE.format(_kind(grad)))
        of_tensors.append((grad, shape, dtype))
    fit = []
    for i, ((grad, shape, dtype), (parent, _)) in enumerate(zip(of_tensors, ctx.edges(), strict=True)):
        if grad is not None and parent is not None and (grad._array.shape != shape or grad._array.dtype is not dtype):
            grad = fitted_gradient(ctx, i, grad, shape, _wanted_dtype(parent, grad, dtype))
        fit.append(grad)
    return fit[0] if ctx.arity == 1 else fit


def _kind(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _wanted_dtype(parent: Node, grad: Tensor, dtype: Any) -> Any:
    """Return the dtype the gradient must have: the input's, unless the input is a leaf with a `grad_dtype`."""
    meta = parent.variable._meta if type(parent) is AccumulateGrad else None
    return dtype if meta is None or meta.grad_dtype == "own" else grad._array.dtype


def fitted_gradient(ctx: Any, index: int, grad: Tensor, shape: tuple[int, ...], dtype: Any) -> Tensor:
    """Return the gradient summed to the input's shape and cast to its dtype."""
    got, kind = grad._array.shape, grad._array.dtype.kind
    if kind != dtype.kind and kind == "c":
        raise RuntimeError(errors.GRADIENT_KIND)
    if got != shape:
        tail = got[len(got) - len(shape) :]
        if len(got) < len(shape) or any(w not in (1, g) for w, g in zip(shape, tail, strict=True)):
            raise RuntimeError(errors.INVALID_GRADIENT_SHAPE.format(ctx.name(), index, list(got), list(shape)))
        grad = grad.sum_to_size(shape)
    return grad if grad._array.dtype is dtype else grad.to(dtypes.named(dtype.name))


def bind_outputs(ctx: Any, args: tuple[Any, ...], output: Any, recorded: bool) -> tuple[Any, tuple[Any, ...]]:
    """Give every tensor among forward's results its history; return what apply returns, and the outputs as a tuple."""
    outputs = tuple(output) if isinstance(output, tuple) else (output,)
    dirty, plain = ctx.dirty_tensors or (), ctx.non_differentiable or ()
    if dirty or plain:
        _apply_marks(dirty, plain, outputs)
    ctx.outputs = len(outputs)
    ctx.multi = len(outputs) != 1
    bound: list[Any] = []
    facts: list[Any] = []
    kept_plain, differentiable = [], 0
    for nr, o in enumerate(outputs):
        if isinstance(o, Tensor):
            is_dirty = bool(dirty) and any([o is d for d in dirty])
            if not recorded or o._array.dtype.kind not in "fc" or any([o is p for p in plain]):
                is_input = any([o is a for a in args])
                o = _bind_plain(ctx, o, is_input, is_dirty)
                if o._base is not None and not (is_input and is_dirty):
                    o._meta.creation = "custom"
                kept_plain.append(nr)
            else:
                o = bind_output(ctx, nr, o, args, is_dirty)
                differentiable += 1
            facts += (o._array.shape, o._array.dtype)
        else:
            facts += (None, None)
        bound.append(o)
    if recorded:
        ctx._outputs, ctx._plain = tuple(facts), tuple(kept_plain)
        if differentiable > 1:
            for o in bound:
                if isinstance(o, Tensor) and o._meta is not None and o._meta.base is not None:
                    o._meta.creation = "multi_output"
    return (tuple(bound) if isinstance(output, tuple) else bound[0]), tuple(bound)


def _apply_marks(dirty: tuple[Any, ...], plain: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """Count a write of each tensor marked as dirty; RuntimeError where a mark is on what can have none."""
    if not all([isinstance(t, Tensor) for t in plain]):
        raise RuntimeError("mark_non_differentiable only accepts variable arguments, but got ")
    if not all([isinstance(t, Tensor) for t in dirty]):
        raise RuntimeError("mark_dirty can only accept variables, but argument ")
    for t in dirty:
        bump(t)
    if not all([any([t is o for o in outputs]) for t in dirty]):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as "
            "output. The inputs that are modified inplace must all be outputs of the Function."
        )


def emit_created(ctx: Any, args: tuple[Any, ...], outputs: tuple[Any, ...], recorded: bool) -> None:
    """Report a node to listeners, or that there is none, and any write in forward that no operation has reported."""
    event = ("created", ctx) if recorded else ("unrecorded", ctx._forward_cls.__name__)
    events.emit((*event, args, tuple([o for o in outputs if isinstance(o, Tensor)])))
    for t in ctx.dirty_tensors or ():
        events.emit(("wrote", t, ctx._forward_cls.__name__))


def bind_output(ctx: Any, nr: int, o: Tensor, args: tuple[Any, ...], is_dirty: bool = False) -> Tensor:
    """Make a tensor output number `nr` of the node; integers are left as they are."""
    is_input = False
    for a in args:
        if a is o:
            is_input = True
    if o._array.dtype.kind not in "fc":
        return _bind_plain(ctx, o, is_input, is_dirty)
    if is_dirty:
        _rewrite(ctx, nr, o, is_input)
        return o
    if is_input:  # never the input itself: a view of it that belongs to this node
        o = _view_of_input(ctx, o)
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
    if o.requires_grad and cached_grad_fn(o) is None:
        raise events.failed(RuntimeError(errors.LEAF_DIRTY), o)
    if not is_input:
        if base is not None:
            raise RuntimeError(errors.DIRTY_NOT_INPUT)
        warn(errors.DIRTY_NOT_INPUT)
    if base is not None and ctx.outputs > 1:
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your "
            "Function cannot return more than one Tensor. This is not supported by the current "
            "autograd engine. You should either make sure the input is not a view (using "
            ".clone() for example) or make your Function only return one Tensor (potentially "
            "splitting it into two Functions: one doing the inplace that returns a single "
            "Tensor and a second one that does the other operations). You can ask on the forum "
            "https://discuss.pytorch.org/ if you need help to do this change."
        )
    if o._meta is not None:
        o._meta.grad = None
        if base is not None and o._meta.creation != "default":
            raise forbidden(o, "is being")
    if base is not None and base.requires_grad and base.is_leaf:
        raise events.failed(RuntimeError(errors.VIEW_OF_LEAF_IN_PLACE), o, base)
    rebase(o, ctx, nr)


def _bind_plain(ctx: Any, o: Tensor, is_input: bool, is_dirty: bool) -> Tensor:
    """Set up an output that takes no gradient."""
    if not o.requires_grad:
        return o if not is_input or is_dirty else _view_of_input(ctx, o)
    if is_input:
        return alias(o)
    if o._base is None:  # a graph built inside forward ends here; a view keeps requiring grad through its base
        o._fn, o._rg = None, False
    return o


def _view_of_input(ctx: Any, o: Tensor) -> Tensor:
    """Return a separate tensor for an input that forward returned: a view, unless it is an inference tensor."""
    ctx.check_not_saved(o)
    out = o._again()
    if type(o) is not InferenceTensor:
        link_view(out, o)
    return out
