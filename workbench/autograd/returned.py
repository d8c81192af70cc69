"""What a user's backward returned, checked against what forward was given."""

from __future__ import annotations

from typing import Any

from .. import errors
from . import dtypes
from .node import AccumulateGrad, Node
from .tensor import Tensor


def gradients_of(ctx: Any, returned: Any) -> Any:
    """One gradient per tensor argument, in its shape and dtype; RuntimeError where number, kind or shape are wrong.

    Alone if forward had one tensor argument, else a list. That of an argument which does not require grad stays as
    returned: hooks on the node see it.
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
    kept: list[tuple[Tensor | None, Any, Any]] = []
    for position, grad in enumerate(grads):
        shape, dtype = inputs[2 * position : 2 * position + 2]
        if dtype is None:
            if grad is not None:
                raise RuntimeError(errors.GRADIENT_FOR_NON_TENSOR.format(ctx.name(), position + 1))
            continue
        if grad is not None and not isinstance(grad, Tensor):
            raise RuntimeError(errors.EXPECTED_VARIABLE.format(_kind(grad)))
        kept.append((grad, shape, dtype))
    fit = [
        grad if grad is None or parent is None else fitted(ctx, i, grad, shape, _wanted(parent, grad, dtype))
        for i, ((grad, shape, dtype), (parent, _)) in enumerate(zip(kept, ctx.edges(), strict=True))
    ]
    return fit[0] if ctx.arity == 1 else fit


def _kind(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _wanted(parent: Node, grad: Tensor, dtype: Any) -> Any:
    """The dtype the gradient must have: the input's, unless the input is a leaf whose `grad_dtype` was set."""
    meta = parent.variable._meta if type(parent) is AccumulateGrad else None
    return dtype if meta is None or meta.grad_dtype == "own" else grad._array.dtype


def fitted(ctx: Any, index: int, grad: Tensor, shape: tuple[int, ...], dtype: Any) -> Tensor:
    """Summed down to the input's shape and cast to its dtype."""
    got = grad._array.shape
    if got != shape:
        tail = got[len(got) - len(shape) :]
        if len(got) < len(shape) or any(w not in (1, g) for w, g in zip(shape, tail, strict=True)):
            raise RuntimeError(errors.INVALID_GRADIENT_SHAPE.format(ctx.name(), index, list(got), list(shape)))
        grad = grad.sum_to_size(shape)
    return grad if grad._array.dtype is dtype else grad.to(dtypes.named(dtype.name))
