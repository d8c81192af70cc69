"""The backward of a node whose saved tensors a hook unpacked in another shape or dtype: by way of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.saved import Packed
from ..autograd.state import with_grad
from ..autograd.tensor import Tensor, wrap
from .declare import in_formulas


def refit(node: Any, grad: Any, needed: Any = None) -> Any:
    """The gradients as arrays: tensors check what they are given, and what comes out is made to fit the inputs."""
    given = [None if g is None else wrap(np.asarray(g)) for g in (grad if node.multi else [grad])]
    found = with_grad(False, _found, node, given, needed)
    return found[0] if node.arity == 1 else found


def _found(node: Any, given: list[Tensor | None], needed: Any) -> list[np.ndarray | None]:
    arrived = given if node.multi else given[0]
    out = node.vjp_tensors(arrived) if needed is None else node.vjp_tensors_towards(arrived, needed)
    outs = [out] if node.arity == 1 else list(out)
    return [None if t is None else _fitted(node, i, t, given[0]) for i, t in enumerate(outs)]


def _fitted(node: Any, i: int, t: Tensor, grad: Tensor | None) -> np.ndarray:
    """Summed down to the input's shape, in its dtype; RuntimeError where that cannot be."""
    shape, dtype = _kind(node, i, t, grad)
    got = t._array.shape
    if got != shape:
        tail = got[len(got) - len(shape) :]
        if len(got) < len(shape) or any(w not in (1, g) for w, g in zip(shape, tail, strict=True)):
            raise RuntimeError(errors.INVALID_GRADIENT_SHAPE.format(node.name(), i, list(got), list(shape)))
    return t.sum_to_size(shape).to(dtypes.named(dtype.name))._array


def _kind(node: Any, i: int, t: Tensor, grad: Tensor | None) -> tuple[tuple[int, ...], np.dtype]:
    """What is known of an input's shape and dtype; of the gradient's, where nothing is."""
    name = node.op.tensors[0 if node.op.variadic else i]
    saved = getattr(node, f"s_{name}", None)
    if node.op.fits:
        return (node.fit and node.fit[i]) or (grad._array.shape, grad._array.dtype)
    if type(saved) is Packed:
        return saved.kind
    return getattr(node, f"z_{name}", t._array.shape), (t if grad is None else grad)._array.dtype


in_formulas("refit", refit, refit)
