"""Products of vectors and matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.tensor import Tensor
from . import refusals
from .declare import define, method
from .movement import _unsafe_view

MASK = np.dtype(bool)


def _product(ndim: tuple[int, int], last: int, check: Callable[..., None]) -> Callable[..., Any]:
    """np.matmul between arrays of these numbers of dimensions; `check` says what is wrong where it cannot be."""

    def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if (a.ndim, b.ndim) != ndim or a.dtype is not b.dtype or a.shape[-1] != b.shape[last] or a.dtype is MASK:
            check(a, b)
        return np.matmul(a, b)

    return product


mm = define(
    "MmBackward0",
    "mm(Tensor self, Tensor mat2)",
    _product((2, 2), 0, refusals.check_mm),
    self="mm(grad, t(mat2))",
    mat2="mm(t(self), grad)",
    samples="r(2, 3), r(3, 4)",
)
dot = define(
    "DotBackward0",
    "dot(Tensor self, Tensor tensor)",
    _product((1, 1), 0, refusals.check_dot),
    self="grad * tensor",
    tensor="grad * self",
    samples="r(3), r(3)",
)
mv = define(
    "MvBackward0",
    "mv(Tensor self, Tensor vec)",
    _product((2, 1), 0, refusals.check_mv),
    self="unsqueeze(grad, 1) * vec",
    vec="mv(t(self), grad)",
    samples="r(2, 3), r(3)",
)
bmm = define(
    "BmmBackward0",
    "bmm(Tensor self, Tensor mat2)",
    _product((3, 3), 1, refusals.check_bmm),
    self="bmm(grad, transpose(mat2, 1, 2))",
    mat2="bmm(transpose(self, 1, 2), grad)",
    samples="r(2, 2, 3), r(2, 3, 4)",
)
_squeeze_own = define(
    "SqueezeBackward4",
    "squeeze_own(Tensor self, dim)",
    np.squeeze,
    self="unsqueeze(grad, dim)",
    samples="r(1, 2), -2",
)
Tensor.mm, Tensor.dot, Tensor.mv, Tensor.bmm = mm, dot, mv, bmm


@method("matmul")
def matmul(self: Tensor, other: Tensor) -> Tensor:
    """The matrix product; vectors are taken as a row or a column, leading dimensions are a batch and broadcast."""
    if not isinstance(other, Tensor):
        raise TypeError(refusals.not_a_tensor("matmul", "other", 1, other))
    a, b = self._array, other._array
    if not a.ndim or not b.ndim:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {b.ndim}D")
    if a.ndim == b.ndim == 1:
        return dot(self, other)
    if b.ndim == 1 and a.ndim == 2:
        return mv(self, other)
    if a.ndim == 1:
        return _squeeze_own(matmul(self.unsqueeze(0), other), -2)
    if a.ndim == b.ndim == 2:
        return mm(self, other)
    if b.ndim <= 2:  # a batch of rows over one matrix: fold the batch into the rows
        folded = self.reshape(-1, a.shape[-1])
        return _unsafe_view(matmul(folded, other), a.shape[:-1] + b.shape[1:])
    refusals.check_broadcast([a.shape[:-2], b.shape[:-2]])
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    left = self.expand(batch + a.shape[-2:]).reshape(-1, *a.shape[-2:])
    right = other.expand(batch + b.shape[-2:]).reshape(-1, *b.shape[-2:])
    return _unsafe_view(bmm(left, right), (*batch, a.shape[-2], b.shape[-1]))


Tensor.__matmul__ = lambda self, other: matmul(self, other) if isinstance(other, Tensor) else NotImplemented
