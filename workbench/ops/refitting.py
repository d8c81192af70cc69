"""The backward of a node whose saved tensors a hook unpacked in another shape or dtype: by way of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.function_outputs import fitted
from ..autograd.saved_tensors import Packed
from ..autograd.state import with_grad
from ..autograd.tensor import Tensor, wrap
from .declare import in_formulas


def refit(node: Any, grad: Any, needed: Any = None) -> Any:
    """The gradients as arrays, by way of tensors, which check what they are given."""
    given = [None if g is None else wrap(np.asarray(g)) for g in (grad if node.multi else [grad])]
    out = with_grad(False, _found, node, given if node.multi else given[0], needed)
    if node.arity == 1:
        return None if out is None else out._array
    return [None if t is None else t._array for t in out]


def _found(node: Any, arrived: Any, needed: Any) -> Any:
    return node.vjp_tensors(arrived) if needed is None else node.vjp_tensors_towards(arrived, needed)


def fit_unpacked(node: Any, grad: Any, *found: Any) -> Any:
    """The gradients as the inputs have them: summed down to their shapes, in their dtypes."""
    first = grad[0] if node.multi else grad
    outs = found[0] if node.op.variadic else found
    outs = [None if t is None else fitted(node, i, t, *_kind(node, i, t, first)) for i, t in enumerate(outs)]
    return outs[0] if node.arity == 1 else outs


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
in_formulas("fit_unpacked", fit_unpacked, fit_unpacked)
