"""Operations that put several tensors together: cat and stack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autograd import differentiate, dtypes
from ..autograd.tensor import Tensor
from . import refusals
from .declare import define, in_formulas
from .layout import in_rows
from .shapes import dim_index


def _cat_backward(grad: Any, dim: int, sizes: tuple[int, ...], narrow: Any) -> list[Any]:
    starts = np.cumsum((0, *sizes)).tolist()
    return [narrow(grad, dim, start, start + size) for start, size in zip(starts, sizes, strict=False)]


def _narrow_array(a: np.ndarray, dim: int, start: int, end: int) -> np.ndarray:
    return a[(slice(None),) * dim + (slice(start, end),)]


def _narrow_tensor(a: Tensor, dim: int, start: int, end: int) -> Tensor:
    return a[(slice(None),) * dim + (slice(start, end),)]


in_formulas(
    "cat_backward",
    lambda grad, dim, sizes: _cat_backward(grad, dim, sizes, _narrow_array),
    lambda grad, dim, sizes: _cat_backward(grad, dim, sizes, _narrow_tensor),
)
_cat = define(
    "CatBackward0",
    "cat(Tensor[] tensors, dim; sizes)",
    in_rows(lambda arrays, dim, sizes: np.concatenate(arrays, axis=dim)),
    tensors="cat_backward(grad, dim, sizes)",
    samples="[r(2), r(3)], 0, (2, 3); [r(2, 1), r(2, 2)], 1, (1, 2)",
)
_stack = define(
    "StackBackward0",
    "stack(Tensor[] tensors, dim)",
    in_rows(lambda arrays, dim: np.stack(arrays, axis=dim)),
    batch="new dims",
    tensors="[select(grad, dim, i) for i in range(grad.shape[dim])]",
    samples="[r(2), r(2)], 0; [r(2, 3), r(2, 3)], 1",
)


def _meeting(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors in the one dtype they meet in."""
    common = dtypes.result_type([(t.dtype, 2) for t in tensors])
    return [t.to(common) for t in tensors]


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors put one after the other along `dim`."""
    refusals.check_tensors("cat", tensors)
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, t in enumerate(tensors):
        if not t._array.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    dim = dim_index(dim, tensors[0]._array.ndim)
    refusals.check_cat(tensors, dim)
    return _cat(_meeting(tensors), dim, tuple(t._array.shape[dim] for t in tensors))


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape put together along a new dimension."""
    refusals.check_tensors("stack", tensors)
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]._array
    for i, t in enumerate(tensors):
        if t._array.shape != first.shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry 0 and "
                f"{list(t._array.shape)} at entry {i}"
            )
    return _stack(_meeting(tensors), dim_index(dim, first.ndim + 1))


differentiate.stack = stack
