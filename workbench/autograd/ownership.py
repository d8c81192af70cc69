"""Whether a gradient that arrives at a leaf may become its `.grad` as it is, or has to be copied.

PyTorch keeps the tensor that backward returned if nobody else holds it and it lies in memory as the leaf does. Here the
arrays are counted, and what they are views of: where PyTorch would let `.grad` share its memory with another tensor
(the gradient of a view, a gradient of which somebody kept `detach()`), the workbench copies.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

count = sys.getrefcount


class _Probe:
    """Counts as AccumulateGrad does: how many references a call adds differs between Pythons."""

    __slots__ = ("held",)

    def vjp(self, grad: Any, needed: Any = None) -> int:
        return count(grad)

    def hand_on(self) -> int:
        out: Any = np.empty(1)
        grad, out = out, None
        return self.vjp(grad)

    def hold(self) -> int:
        self.held = np.empty(1)
        held = self.held
        return count(held)


# The references where nobody else has any; at most 3, because a debugger may have added some when this was counted.
HANDED_ON = min(_Probe().hand_on(), 3)  # what a node is called with, by a caller who has it too
HELD_ONCE = min(_Probe().hold(), 3)  # what was just read from the one place that has it


def owns_memory(grad: np.ndarray) -> bool:
    """Whether an array's memory is its own, or that of an array which is there for it alone."""
    base = grad.base
    return grad.flags.writeable and (base is None or (type(base) is np.ndarray and count(base) <= HELD_ONCE))


def is_dense(array: np.ndarray) -> bool:
    """Whether the elements lie one behind the other, in whatever order of the dimensions."""
    if array.flags.forc:
        return True
    expected = array.itemsize
    for step, n in sorted((s, n) for s, n in zip(array.strides, array.shape, strict=True) if n != 1):
        if step != expected:
            return False
        expected *= n
    return True


def lies_like(grad: np.ndarray, leaf: np.ndarray) -> bool:
    """Whether a gradient lies in memory as PyTorch wants it: like the leaf, or in rows if that has gaps."""
    if not is_dense(leaf):
        return grad.flags.c_contiguous
    steps = zip(grad.strides, leaf.strides, leaf.shape, strict=True)
    return grad.strides == leaf.strides or all([n == 1 or step == own for step, own, n in steps])


def room_like(leaf: np.ndarray, dtype: Any) -> np.ndarray:
    """An array for a leaf's gradient, which lies in memory as PyTorch wants it."""
    return np.empty_like(leaf, dtype) if is_dense(leaf) else np.empty(leaf.shape, dtype)
