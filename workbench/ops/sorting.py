"""Elements in order: sort, argsort, median."""

from __future__ import annotations

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.tensor import Tensor
from .declare import define, method
from .layout import lying_as
from .naming import numpy_names
from .pairs import pair
from .reduction import pick
from .shapes import dim_index


def _taken(a: np.ndarray, dim: int, indices: np.ndarray) -> np.ndarray:
    return lying_as(a, np.take_along_axis(a, indices, dim)) if a.ndim else a.copy()


_sort = define(
    "SortBackward0",
    "sorted_values(Tensor self, dim; Kept indices)",
    _taken,
    self="put(grad, self.shape, dim, True, indices)",
    samples="r(4), 0, w.argsort(r(4)); r(2, 3), 1, w.argsort(r(2, 3))",
)
sort_result = pair("sort")


def _order(a: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    if not a.ndim:
        return np.zeros((), np.int64)
    if descending:  # equal elements keep their order, and nan is the greatest
        order = np.argsort(np.flip(a, dim), axis=dim, kind="stable")
        return a.shape[dim] - 1 - np.flip(order, dim)
    return np.argsort(a, axis=dim, kind="stable")


_argsort = define("argsort", "argsort(Tensor self, dim, descending)", lambda a, *how: lying_as(a, _order(a, *how)))


@method()
@numpy_names
def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """The indices that put the elements in order along `dim`; equal elements keep their order."""
    return _argsort(self, dim_index(dim, self._array.ndim), descending)


@method()
@numpy_names
def sort(self: Tensor, dim: int = -1, descending: bool = False) -> sort_result:
    """(values, indices): the elements in order along `dim`, and where each came from."""
    indices = argsort(self, dim, descending)
    return sort_result(_sort(self, dim_index(dim, self._array.ndim), indices), indices)


def _middle(a: np.ndarray, dim: int) -> np.ndarray:
    """Where the median is: the first nan, or else the lower of the two in the middle."""
    if not a.ndim:
        return np.zeros((), np.int64)
    middle = np.take(np.argsort(a, axis=dim, kind="stable"), (a.shape[dim] - 1) // 2, dim)
    wrong = a != a
    return np.where(wrong.any(dim), wrong.argmax(dim), middle) if wrong.any() else middle


def _no_median(dtype: np.dtype) -> np.ndarray:
    """The median of nothing: nan, or as an integer the least, which the processor makes of nan."""
    return np.array(np.nan if dtype.kind == "f" else np.iinfo(dtype).min, dtype)


_median_all = define(
    "MedianBackward0",
    "median_all(Tensor self)",
    lambda a: a.reshape(-1)[_middle(a.reshape(-1), 0)] if a.size else _no_median(a.dtype),
    self="where(attains(self, result), grad / count(attains(self, result)), 0)",
    tangent="reduction",
    samples="r(3); r(2, 3); tie()",
)
_median_dim = define(
    "MedianBackward1",
    "median_dim(Tensor self, dim, keepdim; Kept indices)",
    pick,
    self="put(grad, self.shape, dim, keepdim, indices)",
    samples="r(2, 3), 1, False, w.tensor([2, 0]); r(3), 0, True, w.tensor([1])",
)
_where_median = define(
    "where_median",
    "where_median(Tensor self, dim, keepdim)",
    lambda a, dim, keepdim: np.expand_dims(_middle(a, dim), dim) if keepdim and a.ndim else _middle(a, dim),
)
median_result = pair("median")


@method()
@numpy_names
def median(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor | median_result:
    """The median of all elements, the lower of two, or (values, indices) along `dim`; nan where one is."""
    if self.dtype is dtypes.bool_:
        kernel = "median_cpu" if dim is None else "median_out"
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")
    if dim is None:
        return _median_all(self)
    dim = dim_index(dim, self._array.ndim)
    if self._array.ndim and not self._array.shape[dim]:
        raise IndexError(errors.EMPTY_DIM.format("median", dim))
    indices = _where_median(self, dim, keepdim)
    return median_result(_median_dim(self, dim, keepdim, indices), indices)
