"""Operations that put several tensors together: cat and stack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autograd import dtypes
from ..autograd.tensor import Tensor
from . import refusals
from .declare import define, in_formulas
from .layout import in_rows
from .naming import numpy_names
from .out import into
from .shapes import dim_index


def _filled(arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    """The arrays but for vectors without elements, unless there are no others."""
    return [a for a in arrays if a.shape != (0,)] or arrays


def _cat_backward(grad: Any, dim: int, sizes: tuple[int | None, ...], narrow: Any) -> list[Any]:
    starts = np.cumsum([0] + [size or 0 for size in sizes]).tolist()
    grads = [narrow(grad, dim, start, start + (size or 0)) for start, size in zip(starts, sizes, strict=False)]
    return [g.reshape(-1) if size is None else g for g, size in zip(grads, sizes, strict=True)]


def _narrow_array(a: np.ndarray, dim: int, start: int, end: int) -> np.ndarray:
    return a[(slice(None),) * dim + (slice(start, end),)]


def _narrow_tensor(a: Tensor, dim: int, start: int, end: int) -> Tensor:
    return a[(slice(None),) * dim + (slice(start, end),)]


in_formulas(
    "cat_backward",
    lambda grad, dim, sizes: _cat_backward(grad, dim, sizes, _narrow_array),
    lambda grad, dim, sizes: _cat_backward(grad, dim, sizes, _narrow_tensor),
)
in_formulas(
    "in_kinds",
    lambda grads, kinds: [g.astype(kind.np) for g, kind in zip(grads, kinds, strict=True)] if kinds else grads,
    lambda grads, kinds: [g.to(kind) for g, kind in zip(grads, kinds, strict=True)] if kinds else grads,
)
_cat = define(
    "CatBackward0",
    "cat(Tensor[] tensors, dim; sizes, kinds=None)",
    in_rows(lambda arrays, dim, sizes, kinds=None: np.concatenate(_meeting(_filled(arrays), kinds), axis=dim)),
    tensors="in_kinds(cat_backward(grad, dim, sizes), kinds)",
    samples="[r(2), r(3)], 0, (2, 3), None; [r(2, 1), r(2, 2)], 1, (1, 2), None",
)
_stack = define(
    "StackBackward0",
    "stack(Tensor[] tensors, dim; kinds=None)",
    in_rows(lambda arrays, dim, kinds=None: np.stack(_meeting(arrays, kinds), axis=dim)),
    batch="new dims",
    tensors="in_kinds([select(grad, dim, i) for i in range(grad.shape[dim])], kinds)",
    samples="[r(2), r(2)], 0, None; [r(2, 3), r(2, 3)], 1, None",
)


def _meeting(arrays: Sequence[np.ndarray], kinds: tuple[dtypes.dtype, ...] | None) -> Sequence[np.ndarray]:
    """The arrays in the one dtype they meet in."""
    if kinds is None:
        return arrays
    common = dtypes.result_type([(kind, 2) for kind in kinds]).np
    return [a.astype(common, copy=False) for a in arrays]


def _kinds(tensors: Sequence[Tensor]) -> tuple[dtypes.dtype, ...] | None:
    """The tensors' dtypes; None where they are all the same."""
    first = tensors[0]._array.dtype
    return None if all([t._array.dtype is first for t in tensors]) else tuple([t.dtype for t in tensors])


@numpy_names
def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors put one after the other along `dim`; vectors without elements fit whatever the others are."""
    if out is not None:
        return into("cat", out, cat, tensors, dim)
    refusals.check_tensors("cat", tensors)
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, t in enumerate(tensors):
        if not t._array.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    full = [t for t in tensors if t._array.shape != (0,)] or tensors
    dim = dim_index(dim, full[0]._array.ndim)
    refusals.check_cat(tensors, dim)
    overlooked = full[0]._array.ndim != 1  # what vectors without elements then are
    sizes = tuple(None if overlooked and t._array.shape == (0,) else t._array.shape[dim] for t in tensors)
    return _cat(tensors, dim, sizes, _kinds(tensors))


def _with_dims(t: Tensor, ndim: int) -> Tensor:
    """A view with at least so many dimensions, where NumPy puts new ones."""
    if not t._array.ndim:
        return t.reshape((1,) * ndim)
    if t._array.ndim == 1 and ndim > 1:
        t = t.unsqueeze(0)
    return t.unsqueeze(-1) if t._array.ndim == 2 and ndim == 3 else t


def _at_least(ndim: int) -> Any:
    def at_least(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return _with_dims(tensors[0], ndim)
        given = tensors[0] if len(tensors) == 1 else tensors
        refusals.check_tensors(at_least.__name__, given)
        return tuple([_with_dims(t, ndim) for t in given])

    at_least.__name__ = at_least.__qualname__ = f"atleast_{ndim}d"
    at_least.__doc__ = f"A view of each tensor with at least {ndim} dimension{'s' if ndim > 1 else ''}."
    return at_least


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


def _listed(name: str, tensors: Any) -> Sequence[Tensor]:
    refusals.check_tensors(name, tensors)
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tensors


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors side by side: along the second dimension, vectors along their only one."""
    rows = [_with_dims(t, 1) for t in _listed("hstack", tensors)]
    return cat(rows, int(rows[0]._array.ndim > 1))


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors below each other: along the first dimension, each vector as a row."""
    return cat([_with_dims(t, 2) for t in _listed("vstack", tensors)])


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors behind each other: along the third dimension."""
    return cat([_with_dims(t, 3) for t in _listed("dstack", tensors)], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors side by side, each vector as a column."""
    tensors = _listed("column_stack", tensors)
    return hstack([t if t._array.ndim > 1 else t.reshape(t._array.size, 1) for t in tensors])


@numpy_names
def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors of one shape put together along a new dimension."""
    if out is not None:
        return into("stack", out, stack, tensors, dim)
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
    return _stack(tensors, dim_index(dim, first.ndim + 1), _kinds(tensors))


Tensor._stack = staticmethod(stack)  # what the engine joins rows with
