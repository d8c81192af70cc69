"""Products of vectors and matrices."""

from __future__ import annotations

import numpy as np

from ..autograd.tensor import Tensor
from .declare import define, method
from .movement import _unsafe_view

mm = define(
    "MmBackward0",
    "mm(Tensor self, Tensor mat2)",
    np.matmul,
    self="mm(grad, t(mat2))",
    mat2="mm(t(self), grad)",
    samples="r(2, 3), r(3, 4)",
)
dot = define(
    "DotBackward0",
    "dot(Tensor self, Tensor tensor)",
    np.dot,
    self="grad * tensor",
    tensor="grad * self",
    samples="r(3), r(3)",
)
mv = define(
    "MvBackward0",
    "mv(Tensor self, Tensor vec)",
    np.matmul,
    self="unsqueeze(grad, 1) * vec",
    vec="mv(t(self), grad)",
    samples="r(2, 3), r(3)",
)
bmm = define(
    "BmmBackward0",
    "bmm(Tensor self, Tensor mat2)",
    np.matmul,
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


@method("matmul", "__matmul__")
def matmul(self: Tensor, other: Tensor) -> Tensor:
    """The matrix product; vectors are taken as a row or a column, leading dimensions are a batch and broadcast."""
    if not isinstance(other, Tensor):
        return NotImplemented
    a, b = self._array, other._array
    if not a.ndim or not b.ndim:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {b.ndim}D")
    _check(self, other)
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
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    left = self.expand(batch + a.shape[-2:]).reshape(-1, *a.shape[-2:])
    right = other.expand(batch + b.shape[-2:]).reshape(-1, *b.shape[-2:])
    return _unsafe_view(bmm(left, right), (*batch, a.shape[-2], b.shape[-1]))


def _check(self: Tensor, other: Tensor) -> None:
    a, b = self._array, other._array
    if a.ndim == b.ndim == 1:
        if a.dtype is not b.dtype:
            raise RuntimeError(
                f"dot : expected both vectors to have same dtype, but found {self.dtype.word} and {other.dtype.word}"
            )
        if a.shape != b.shape:
            raise RuntimeError(
                f"inconsistent tensor size, expected tensor [{a.shape[0]}] and src [{b.shape[0]}] to have the same "
                f"number of elements, but got {a.shape[0]} and {b.shape[0]} elements respectively"
            )
        return
    if a.dtype is not b.dtype:
        words = {
            "float64": "double",
            "float32": "float",
            "float16": "c10::Half",
            "int64": "long long",
            "int32": "int",
        }
        left, right = (words.get(t.dtype.name, t.dtype.name) for t in (self, other))
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {left} != {right}")
    rows = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] == rows:
        return
    if b.ndim == 1 and a.ndim == 2:
        raise RuntimeError(f"size mismatch, got input ({a.shape[0]}), mat ({a.shape[0]}x{a.shape[1]}), vec ({rows})")
    left = (
        (1, a.shape[0]) if a.ndim == 1 else (int(np.prod(a.shape[:-1])), a.shape[-1]) if b.ndim == 2 else a.shape[-2:]
    )
    right = b.shape[-2:] if b.ndim > 1 else (rows, 1)
    raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({left[0]}x{left[1]} and {right[0]}x{right[1]})")
