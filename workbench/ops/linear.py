"""Products of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.tensor import Tensor
from . import refusals
from .declare import define, method
from .movement import _unsafe_view
from .out import into

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
def matmul(self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product; vectors are taken as a row or a column, leading dimensions are a batch and broadcast."""
    if out is not None:
        return into("matmul", out, matmul, self, other)
    if not isinstance(other, Tensor):
        raise TypeError(refusals.not_a_tensor("matmul", "other", 1, other))
    a, b = self._array, other._array
    if not a.ndim or not b.ndim:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {b.ndim}D")
    if a.ndim == b.ndim == 1:
        return dot(self, other)
    if b.ndim == 1 and a.ndim == 2:
        return mv(self, other)
    if a.ndim == b.ndim == 2:
        return mm(self, other)
    if a.ndim == 1 and b.ndim == 2:
        return _squeeze_own(mm(self.unsqueeze(0), other), -2)
    if a.ndim == b.ndim == 3 and a.shape[0] != b.shape[0]:  # the one of two batches that would be repeated
        if a.shape[0] == 1 and self.requires_grad:
            return matmul(self.squeeze(0), other)
        if b.shape[0] == 1 and other.requires_grad:
            return matmul(self, other.squeeze(0))
    return _folded(self, other) if _folds(self, other) else _in_batches(self, other)


def _folds(self: Tensor, other: Tensor) -> bool:
    """Whether a batch times one vector or matrix is computed as one product, as PyTorch decides it."""
    a, b = self._array, other._array
    many, one = (a, other) if a.ndim >= b.ndim else (b.swapaxes(-2, -1), self)
    if one._array.ndim > 2:
        return False
    if one.requires_grad:  # which were else repeated, and its gradient as large as the batch
        return True
    if a.ndim == 2:
        return False
    rows = zip(many.strides[:-2], many.strides[1:-1], many.shape[1:-1], strict=True)
    return not many.size or all([step == inner * size for step, inner, size in rows])


def _folded(self: Tensor, other: Tensor) -> Tensor:
    """The product of a batch and one vector or matrix, the batch folded into the rows of a matrix."""
    turned = other._array.ndim > self._array.ndim
    many, one = (other.mT, self.t() if self._array.ndim == 2 else self) if turned else (self, other)
    *rows, inner = many._array.shape
    out = matmul(many.reshape(math.prod(rows), inner), one)
    out = _unsafe_view(out, (*rows, *one._array.shape[1:]))
    return out.mT.contiguous() if turned and one._array.ndim == 2 else out


def _in_batches(self: Tensor, other: Tensor) -> Tensor:
    """The product of two batches, which are repeated to one size; a vector is one row, or one column."""
    a, b = self._array.shape, other._array.shape
    refusals.check_broadcast([a[:-2], b[:-2]])
    batch = np.broadcast_shapes(a[:-2], b[:-2])
    count = math.prod(batch)
    left = a[-2:] if len(a) > 1 else (1, *a)
    rows = self.expand(*batch, *left).reshape(count, *left)
    columns = other.expand(*batch, *b[-2:]).reshape(count, *b[-2:])
    if len(b) == 1:
        return _unsafe_view(bmm(rows, columns.unsqueeze(2)).squeeze(-1), (*batch, left[0]))
    return _unsafe_view(bmm(rows, columns), (*batch, *a[-2:-1], b[-1]))


Tensor.__matmul__ = lambda self, other: matmul(self, other) if isinstance(other, Tensor) else NotImplemented
