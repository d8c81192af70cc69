"""Elements in order, and those at a place in that order: sort, topk, median, kthvalue."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ... import errors
from ...autograd import dtypes
from ...autograd.tensor import Tensor
from ..core.checks import bool_of, dim_index, int_of, numpy_names
from ..core.complex_rule import only_real
from ..core.op import define, operation
from ..core.results import as_int64, into_each, lying_as, pair, places_along
from ..core.vmap import Mapped, Results, alone, batches, flat
from ..extrema import pick
from ..indexing import _at


def _elements_at(a: np.ndarray, dim: int, indices: np.ndarray) -> np.ndarray:
    return lying_as(a, a[places_along(indices, dim)]) if a.ndim else a.copy()


_sort = define(
    "sorted_values(Tensor self, dim; Kept indices)",
    _elements_at,
    node="SortBackward0",
    self="put(grad, self.shape, dim, True, indices)",
)
sort_result = pair("sort")


def _order(a: np.ndarray, dim: int, descending: bool, k: int | None = None) -> np.ndarray:
    """Return the places of the elements in order, or of the first k of them alone."""
    if not a.ndim:
        return np.zeros((), np.int64)
    if descending:  # equal elements keep their order, and nan is the greatest
        order = as_int64(a[_at(dim, BACKWARDS)].argsort(dim, "stable"))
        last = order[_at(dim, BACKWARDS if k is None else slice(None, -k - 1, -1))]
        return _from_the_end(a.shape[dim]).take(last)
    order = as_int64(a.argsort(dim, "stable"))
    return order if k is None else order[_at(dim, slice(k))].copy()


BACKWARDS = slice(None, None, -1)


@lru_cache(100)
def _from_the_end(size: int) -> np.ndarray:
    """Return for each index counted from the end the one counted from the front."""
    return np.arange(size - 1, -1, -1, dtype=np.int64)


_argsort = define("argsort(Tensor self, dim, descending)", lambda a, *how: lying_as(a, _order(a, *how)))


@operation()
@numpy_names
def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """Return the indices that would sort the elements along `dim`, as int64.

    `torch.gather(t, dim, torch.argsort(t, dim))` sorts the tensor. Equal elements keep their order.

    Args:
        descending: Sort from the largest element to the smallest.
    """
    return _argsort(self, dim_index(dim, self._array.ndim), descending)


@operation()
@numpy_names
def sort(self: Tensor, dim: int = -1, descending: bool = False, *, out: Any = None) -> tuple[Tensor, Tensor]:
    """Sort the elements along `dim`; return (values, indices).

    `values` contains the sorted elements, and `indices` their positions before sorting. Both have
    the shape of the input. Each input element receives the gradient of its sorted position. Equal
    elements keep their order. nan counts as larger than all numbers.

    Args:
        descending: Sort from the largest element to the smallest.

    Example:
        >>> values, indices = torch.sort(torch.tensor([3.0, 1.0, 2.0]))
        >>> values, indices
        (tensor([1., 2., 3.]), tensor([1, 2, 0]))
    """
    if out is not None:
        return into_each("sort", out, sort, self, dim, descending)
    indices = argsort(self, dim, descending)
    return sort_result(_sort(self, dim_index(dim, self._array.ndim), indices), indices)


def _middle(a: np.ndarray, dim: int) -> np.ndarray:
    """Return where the median is: the first nan, or else the lower of the two in the middle."""
    if not a.ndim:
        return np.zeros((), np.int64)
    middle = as_int64(np.take(a.argsort(dim, "stable"), (a.shape[dim] - 1) // 2, dim))
    wrong = a != a
    return np.where(wrong.any(dim), as_int64(wrong.argmax(dim)), middle) if wrong.any() else middle


def _no_median(dtype: np.dtype) -> np.ndarray:
    """Return the median of nothing: nan, or as an integer the least, which the processor makes of nan."""
    return np.array(np.nan if dtype.kind == "f" else np.iinfo(dtype).min, dtype)


_median_all = define(
    "median_all(Tensor self)",
    lambda a: a.reshape(-1)[_middle(a.reshape(-1), 0)] if a.size else _no_median(a.dtype),
    node="MedianBackward0",
    self="evenly(grad, attains(self, result))",
    tangent="reduction",
)
_median_dim = define(
    "median_dim(Tensor self, dim, keepdim; Kept indices)",
    pick,
    node="MedianBackward1",
    self="put(grad, self.shape, dim, keepdim, indices)",
)
_where_median = define(
    "where_median(Tensor self, dim, keepdim)",
    lambda a, dim, keepdim: np.expand_dims(_middle(a, dim), dim) if keepdim and a.ndim else _middle(a, dim),
)
median_result = pair("median")


@operation()
@numpy_names
def median(
    self: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None
) -> Tensor | tuple[Tensor, Tensor]:
    """Return the median of all elements, or with `dim` the pair (values, indices) along `dim`.

    For an even number of elements, the median is the lower of the two middle elements. If an
    element is nan, the median is nan. Without `dim`, elements equal to the median share the
    gradient evenly. With `dim`, only the element at the returned index receives the gradient. The
    dimension is removed from the results unless `keepdim` is True.
    """
    if out is not None:
        return into_each("median", out, median, self, dim, keepdim)
    if self.dtype is dtypes.bool_:
        kernel = "median_cpu" if dim is None else "median_out"
        raise NotImplementedError(errors.NO_KERNEL.format(kernel, "Bool"))
    if dim is None:
        return _median_all(self)
    dim = dim_index(dim, self._array.ndim)
    if self._array.ndim and not self._array.shape[dim]:
        raise IndexError(errors.EMPTY_DIM.format("median", dim))
    indices = _where_median(self, dim, bool_of("median", "keepdim", 2, keepdim))
    return median_result(_median_dim(self, dim, keepdim, indices), indices)


_kthvalue = define(
    "kthvalue(Tensor self, k, dim, keepdim; Kept indices)",
    lambda a, k, dim, keepdim, indices: pick(a, dim, keepdim, indices),
    self="put(grad, self.shape, dim, keepdim, indices)",
)
kthvalue_result = pair("kthvalue")


@operation()
@numpy_names
def kthvalue(self: Tensor, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> tuple[Tensor, Tensor]:
    """Return (values, indices): the k-th smallest elements along `dim`, and their positions.

    The smallest element has `k=1`. nan counts as larger than all numbers. The gradient goes to the
    elements at the returned indices. The dimension `dim` is removed from the results unless
    `keepdim` is True.

    Raises:
        RuntimeError: if there are fewer than `k` elements along `dim`.
    """
    if out is not None:
        return into_each("kthvalue", out, kthvalue, self, k, dim, keepdim)
    only_real("kthvalue_cpu", self)
    k, shape = int_of("kthvalue", "k", 1, k), self._array.shape
    dim = dim_index(dim, len(shape))
    if shape and not shape[dim]:
        raise IndexError(errors.EMPTY_DIM.format("kthvalue", dim))
    if not 1 <= k <= (shape[dim] if shape else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    if self.dtype is dtypes.bool_:
        raise NotImplementedError(errors.NO_KERNEL.format("kthvalue_cpu", "Bool"))
    indices = argsort(self.detach(), dim)
    if shape:
        indices = indices.select(dim, k - 1)
        indices = (indices.unsqueeze(dim) if keepdim else indices).contiguous()
    return kthvalue_result(_kthvalue(self, k, dim, bool_of("kthvalue", "keepdim", 3, keepdim), indices), indices)


_topk = define(
    "top_values(Tensor self, k, dim; Kept indices)",
    lambda a, k, dim, indices: a[places_along(indices, dim)] if a.ndim else a.copy(),
    node="TopkBackward0",
    self="put(grad, self.shape, dim, True, indices)",
)
_foremost = define("foremost(Tensor self, k, dim, largest)", lambda a, k, dim, largest: _order(a, dim, largest, k))
topk_result = pair("topk")


@operation()
@numpy_names
def topk(
    self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *, out: Any = None
) -> tuple[Tensor, Tensor]:
    """Return (values, indices): the `k` largest elements along `dim`, and their positions.

    The values are in descending order, or ascending with `largest=False`. Only the elements that
    were selected receive a gradient.

    Args:
        k: The number of elements to select; the size of the results along `dim`.
        largest: If False, select the smallest elements instead.
        sorted: Accepted for compatibility: the values are always sorted.

    Raises:
        RuntimeError: if there are fewer than `k` elements along `dim`.

    Example:
        >>> t = torch.tensor([[1.0, 5.0, 3.0]], requires_grad=True)
        >>> values, indices = torch.topk(t, 2)
        >>> indices
        tensor([[1, 2]])
        >>> values.sum().backward()
        >>> t.grad
        tensor([[0., 1., 1.]])
    """
    if out is not None:
        return into_each("topk", out, topk, self, k, dim, largest)
    dim = dim_index(dim, self._array.ndim)
    only_real("R: topk does not support complex dtypes on CPU", self)
    if self._array.dtype.kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    if not 0 <= (k := int_of("topk", "k", 1, k)) <= (self._array.shape[dim] if self._array.ndim else 1):
        raise RuntimeError("selected index k out of range")
    indices = _foremost(self, k, dim, largest)
    return topk_result(_topk(self, k, dim, indices), indices)


@batches("median_all")
def _median_of_each(op: Any, size: int, self: Mapped) -> Results:
    return alone(flat(self.value).median(1)[0])
