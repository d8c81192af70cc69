"""Operations that reduce dimensions to one value, running sums and products, and elements in order: sort, topk."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.levels import elements
from ..autograd.state import local
from ..autograd.tensor import Tensor, wrap
from ..errors import warn
from .comparison import maximum, minimum
from .convert import in_dtype
from .core.checks import bool_of, dim_index, dims_of, int_of, named, number_of, numpy_names
from .core.op import define, operation
from .core.registry import ARRAYS, TENSORS, abbreviation, in_formulas
from .core.results import as_int64, in_rows, into, into_as, into_each, lying_as, pair, places_along
from .indexing import _at
from .shape import summed, sums

ALL = "all dimensions"  # None says the same, but PyTorch then gives another node
max_result, min_result = pair("max"), pair("min")


def _mean(a: np.ndarray, dim: tuple[int, ...], keepdim: bool) -> np.ndarray:
    return summed(a, dim, keepdim) / float(_count_of(a.shape, dim) or np.nan)


_sum_all = define(
    "SumBackward0",
    "sum_all(Tensor self)",
    summed,
    batch="sum_dim",
    self="expand(grad, self.shape)",
    samples="r(3); r(2, 3); r()",
)
_sum_dim = define(
    "SumBackward1",
    "sum_dim(Tensor self, dim, keepdim)",
    summed,
    self="expand(put_back(grad, self.shape, dim, keepdim), self.shape)",
    samples="r(2, 3), (0,), False; r(2, 3), (0, 1), True; r(2, 3, 2), (1,), False",
)
_mean_all = define(
    "MeanBackward0",
    "mean_all(Tensor self)",
    lambda a: summed(a) / (a.size or np.nan),
    batch="mean_dim",
    self="expand(grad, self.shape) / numel(self.shape)",
    samples="r(3); r(2, 3)",
)
_mean_dim = define(
    "MeanBackward1",
    "mean_dim(Tensor self, dim, keepdim)",
    _mean,
    self="expand(put_back(grad, self.shape, dim, keepdim), self.shape) / count_of(self.shape, dim)",
    samples="r(2, 3), (0,), False; r(2, 3), (-1,), True",
)
_sum_all_as, _sum_dim_as = in_dtype(_sum_all), in_dtype(_sum_dim)
_mean_all_as, _mean_dim_as = in_dtype(_mean_all), in_dtype(_mean_dim)
abbreviation("attains(x, extremum)", "(x == extremum) | (x != x)")  # nan, if there is one, is both extremes
abbreviation("evenly(g, mask)", "where(mask, g / count(mask), 0)")
_max_all = define(
    "MaxBackward1",
    "max_all(Tensor self)",
    lambda a: a.ravel()[a.argmax()],
    batch="amax",
    self="evenly(grad, attains(self, result))",
    tangent="reduction",
    samples="r(3); r(2, 3); tie()",
)
_min_all = define(
    "MinBackward1",
    "min_all(Tensor self)",
    lambda a: a.ravel()[a.argmin()],
    batch="amin",
    self="evenly(grad, attains(self, result))",
    tangent="reduction",
    samples="r(3); r(2, 3); tie()",
)


def pick(a: np.ndarray, dim: int, keepdim: bool, indices: np.ndarray) -> np.ndarray:
    """Return the elements at `indices` along one dimension, which goes away unless kept."""
    if not a.ndim:
        return a.copy()
    return a[places_along(indices, dim, keepdim)]


def _put(grad: np.ndarray, shape: tuple[int, ...], dim: int, keepdim: bool, indices: np.ndarray) -> np.ndarray:
    """Return the other way: zeros of `shape` with `grad` at `indices`."""
    out = np.zeros(shape, grad.dtype)
    out[places_along(indices, dim, keepdim) if shape else ...] = grad
    return out


def _put_tensor(grad: Tensor, shape: tuple[int, ...], dim: int, keepdim: bool, indices: Tensor) -> Tensor:
    if shape and not keepdim:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return wrap(np.zeros(shape, grad._array.dtype)).scatter(dim, indices, grad)


_max_dim, _min_dim = (
    define(
        node,
        f"{name}(Tensor self, dim, keepdim; Kept indices)",
        pick,
        self="put(grad, self.shape, dim, keepdim, indices)",
        samples="r(2, 3), 1, False, w.argmax(ones(2, 3), 1); r(3), 0, True, w.argmax(ones(3), 0, True)",
    )
    for node, name in (("MaxBackward0", "max_dim"), ("MinBackward0", "min_dim"))
)
in_formulas("put", _put, _put_tensor)
in_formulas(
    "count",
    lambda mask: int(np.count_nonzero(mask)),
    lambda mask: mask.sum() if local.modes.levels else int(np.count_nonzero(mask._array)),
)


@lru_cache(1000)
def _count_of(shape: tuple[int, ...], dim: tuple[int, ...]) -> int:
    return math.prod([shape[d] for d in dim]) if shape else 1


in_formulas("count_of", _count_of, _count_of)


@operation()
@numpy_names
def sum(
    self: Tensor, dim: Any = ALL, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Any = None
) -> Tensor:
    """Return the sum of all elements, or the sums over the dimensions in `dim`.

    The gradient of each element is the gradient of the sum that contains it.

    Args:
        dim: One dimension or several to sum over. They are removed from the result unless `keepdim`
            is True. If omitted, all elements are added.
        keepdim: Keep the summed dimensions in the result, with size 1.
        dtype: Convert the elements to this dtype first. By default, integers and bool become int64.

    Example:
        >>> t = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> t.sum(), t.sum(dim=0), t.sum(dim=1)
        (tensor(21.), tensor([5., 7., 9.]), tensor([ 6., 15.]))
        >>> t.sum(dim=1, keepdim=True).shape
        torch.Size([2, 1])
    """
    if out is not None:
        return into_as("sum", out, sum, self, dim, keepdim, dtype=dtype)
    if dim is ALL:
        if keepdim:
            raise TypeError(errors.WITHOUT_DIM.format("sum", "keepdim"))
        return _sum_all(self) if dtype is None else _sum_all_as(self, dtype=dtype)
    args = self, dims_of(dim, self._array.ndim), bool_of("sum", "keepdim", 2, keepdim)
    return _sum_dim(*args) if dtype is None else _sum_dim_as(*args, dtype=dtype)


@operation()
@numpy_names
def mean(
    self: Tensor, dim: Any = ALL, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Any = None
) -> Tensor:
    """Return the mean of all elements, or the means over the dimensions in `dim`.

    The gradient of each element is the gradient of its mean, divided by the number of elements in
    that mean.

    Args:
        dim, keepdim: The same as in `sum`.
        dtype: Convert the elements to this dtype first.

    Raises:
        RuntimeError: if the elements are integers or bool. Convert them with `float()`.

    Example:
        >>> t = torch.tensor([[1.0, 2.0], [3.0, 8.0]], requires_grad=True)
        >>> t.mean(dim=0)
        tensor([2., 5.], grad_fn=<MeanBackward1>)
        >>> t.mean().backward()
        >>> t.grad
        tensor([[0.2500, 0.2500],
                [0.2500, 0.2500]])
    """
    if out is not None:
        return into_as("mean", out, mean, self, dim, keepdim, dtype=dtype)
    wanted = dtypes.chosen_dtype("mean", dtype, self.dtype)
    if not wanted.is_floating_point:
        raise RuntimeError(
            (
                (
                    "mean(): could not infer output dtype. Input dtype must be either a floating point "
                    "or complex dtype. Got: {}"
                )
                if dtype is None
                else (
                    "mean(): could not infer output dtype. Optional dtype must be either a floating "
                    "point or complex dtype. Got: {}"
                )
            ).format(wanted.word)
        )
    if dim is ALL:
        if keepdim:
            raise TypeError(errors.WITHOUT_DIM.format("mean", "keepdim"))
        return _mean_all(self) if dtype is None else _mean_all_as(self, dtype=dtype)
    args = self, dims_of(dim, self._array.ndim), bool_of("mean", "keepdim", 2, keepdim)
    return _mean_dim(*args) if dtype is None else _mean_dim_as(*args, dtype=dtype)


_arg = {
    name: define(
        name,
        f"{name}(Tensor self, dim, keepdim)",
        lambda a, dim, keepdim, name=name: (
            as_int64(getattr(a, name)(dim, None, keepdims=keepdim)) if a.ndim else np.zeros((), np.int64)
        ),
    )
    for name in ("argmax", "argmin")
}


FOUND = {
    "max": "(tensor(5.), tensor([5., 4.]), tensor([1, 0]))",
    "min": "(tensor(1.), tensor([1., 2.]), tensor([0, 1]))",
}
EXTREMUM = """Return the {0}imum: of all elements, along one dimension, or of each pair of elements.

`{0}(t)` returns the {0}imum of all elements. If several elements equal the {0}imum, they share
the gradient evenly.

`{0}(t, dim)` returns a pair (values, indices): the {0}ima along `dim`, and their positions.
Only the elements at the returned indices receive a gradient. If several elements equal the
{0}imum, the first one is chosen.

`{0}(t, other)` compares two tensors element by element, like `{0}imum`. The element that was
chosen receives the gradient. Two equal elements receive half of the gradient each.

If one of the elements is nan, the result is nan.

Args:
    dim: The dimension to reduce. It is removed from the results unless `keepdim` is True.
    keepdim: Keep this dimension in the results, with size 1.
    other: A tensor to compare with.

Example:
    >>> t = torch.tensor([[1.0, 5.0], [4.0, 2.0]])
    >>> values, indices = torch.{0}(t, dim=1)
    >>> torch.{0}(t), values, indices
    {1}
"""


def _extremum(name: str, everything: Any, along: Any, between: Any, best: Any, result: Any) -> Any:
    def extremum(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None) -> Any:
        self = input
        if isinstance(dim, Tensor) or other is not None:
            return between(self, dim if other is None else other, out=out)
        if out is not None:
            return (into if dim is None else into_each)(name, out, extremum, self, dim, keepdim)
        if dim is None:
            if not self._array.size:
                raise RuntimeError(errors.EMPTY_ALL.format(name))
            return everything(self)
        dim = dim_index(dim, self._array.ndim)
        if not self._array.size and not self._array.shape[dim]:
            raise IndexError(errors.EMPTY_DIM.format(name, dim))
        indices = best(self, dim, bool_of(name, "keepdim", 2, keepdim))
        return result(along(self, dim, keepdim, indices), indices)

    named(extremum, name)
    extremum.__doc__ = EXTREMUM.format(name, FOUND[name])
    return operation(checked=False)(numpy_names(extremum))


max = _extremum("max", _max_all, _max_dim, maximum, _arg["argmax"], max_result)
min = _extremum("min", _min_all, _min_dim, minimum, _arg["argmin"], min_result)


def _where_extreme(name: str, word: str) -> Any:
    def where_extreme(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        shape = self._array.shape
        if self.dtype is dtypes.bool_:
            raise RuntimeError(f"{name}(): does not support bool input")
        if dim is None and not self._array.size:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        if dim is not None:
            index = dim_index(dim, len(shape))  # also of a number, which has one dimension to name
            dim = index if shape else None
        if dim is not None and not shape[dim]:
            raise IndexError(errors.EMPTY_DIM.format(name, dim))
        return _arg[name](self, dim, bool_of(name, "keepdim", 2, keepdim))

    named(where_extreme, name)
    where_extreme.__doc__ = (
        f"Return the index of the {word} element, or with `dim` the indices along `dim`, as int64.\n\n"
        f"Without `dim`, the index is a position in the flattened tensor. If there are several {word}\n"
        "elements, the first one is chosen. The dimension `dim` is removed from the result unless\n"
        "`keepdim` is True. Indices have no gradient."
    )
    return operation()(numpy_names(where_extreme))


argmax, argmin = _where_extreme("argmax", "largest"), _where_extreme("argmin", "smallest")


def _counts(a: np.ndarray) -> Any:
    """Return the dtype in which elements are added up: integers and masks in int64."""
    return np.int64 if a.dtype.kind in "biu" else a.dtype


_cumsum = define(
    "CumsumBackward0",
    "cumsum(Tensor self, dim)",
    in_rows(lambda a, dim: np.add.accumulate(a, dim, _counts(a)) if a.ndim else a.astype(_counts(a))),
    self="summed_from_the_end(grad, dim)",
    samples="r(3), 0; r(2, 3), 1; r(), 0",
)
abbreviation("summed_from_the_end(x, dim)", "flip(cumsum(flip(x, (dim,)), dim), (dim,)) if x.ndim else x")
_cumprod = define(
    "CumprodBackward0",
    "cumprod(Tensor self, dim)",
    in_rows(lambda a, dim: np.multiply.accumulate(a, dim, _counts(a)) if a.ndim else a.astype(_counts(a))),
    self="cumprod_slope(grad, self, result, dim)",
    samples="p(3), 0; r(2, 3), 1; r(), 0; r(4) * w.tensor([1, 0, 1, 0]), 0",
)


def _step_by_step(words: dict[str, Any]) -> Callable[..., Any]:
    """Return the gradient of a running product, from the last element to the first: right where an element is zero."""

    def slope(grad: Any, x: Any, result: Any, dim: int) -> Any:
        select = words["select"]
        out, later = [], 0
        for k in reversed(range(x.shape[dim])):
            later = select(grad, dim, k) + later
            out.append(later * select(result, dim, k - 1) if k else later)
            later = later * select(x, dim, k)
        return words["stack"](out[::-1], dim)

    return slope


in_formulas("has_zero", lambda a: not a.all(), lambda t: not elements(t).all())
in_formulas("step_by_step", _step_by_step(ARRAYS), _step_by_step(TENSORS))
abbreviation(
    "cumprod_slope(g, x, y, dim)",
    "g if not x.ndim else step_by_step(g, x, y, dim) if has_zero(x) else summed_from_the_end(g * y, dim) / x",
)

# The product of all other elements: what comes before an element times what comes after it.
abbreviation("head(x, dim, n)", "slice(x, dim, 0, n, 1)")
abbreviation(
    "before(x, dim)",
    "cumprod(cat([zeros_like(head(x, dim, 1)) + 1, head(x, dim, x.shape[dim] - 1)], dim, (1, x.shape[dim] - 1)), dim)",
)
abbreviation("others(x, dim)", "before(x, dim) * flip(before(flip(x, (dim,)), dim), (dim,))")
abbreviation("all_others(x)", "reshape(others(reshape(x, (-1,)), 0), x.shape)")
_prod_all = define(
    "ProdBackward0",
    "prod_all(Tensor self)",
    lambda a: np.multiply.reduce(a, None, _counts(a)),
    batch="prod_dim",
    self="prod_slope(grad, self, result)",
    tangent="reduction",
    samples="p(3); r(2, 3); r(); r(4) * w.tensor([1, 0, 1, 1])",
)
abbreviation("prod_slope(g, x, y)", "g if not x.ndim else g * (all_others(x) if has_zero(x) else y / x)")
_prod_dim = define(
    "ProdBackward1",
    "prod_dim(Tensor self, dim, keepdim)",
    in_rows(lambda a, dim, keepdim: np.multiply.reduce(a, dim if a.ndim else None, _counts(a), keepdims=keepdim)),
    self="prod_dim_slope(put_back(grad, self.shape, (dim,), keepdim), self, result, dim, keepdim)",
    tangent="reduction",
    samples="p(3), 0, False; r(2, 3), 1, True; r(2, 3) * w.tensor([1, 0, 0]), 1, False",
)
abbreviation(
    "prod_dim_slope(g, x, y, dim, keepdim)",
    "g if not x.ndim else g * (others(x, dim) if has_zero(x) else put_back(y, x.shape, (dim,), keepdim) / x)",
)


_cumsum_as, _cumprod_as = in_dtype(_cumsum), in_dtype(_cumprod)
_prod_all_as, _prod_dim_as = in_dtype(_prod_all), in_dtype(_prod_dim)


@operation(in_place=True)
@numpy_names
def cumsum(self: Tensor, dim: int, *, dtype: dtypes.dtype | None = None, out: Any = None) -> Tensor:
    """Return running sums along `dim`: each element plus all elements before it.

    The gradient of an element is the sum of the gradients of all running sums that contain it.

    Args:
        dtype: Convert the elements to this dtype first. By default, integers and bool become int64.

    Example:
        >>> torch.cumsum(torch.tensor([1.0, 2.0, 3.0]), dim=0)
        tensor([1., 3., 6.])
    """
    if out is not None:
        return into_as("cumsum", out, cumsum, self, dim, dtype=dtype)
    dim = dim_index(dim, self._array.ndim)
    return _cumsum(self, dim) if dtype is None else _cumsum_as(self, dim, dtype=dtype)


@operation(in_place=True)
@numpy_names
def cumprod(self: Tensor, dim: int, *, dtype: dtypes.dtype | None = None, out: Any = None) -> Tensor:
    """Return running products along `dim`: each element times all elements before it.

    The result has the shape of the input. Gradients are exact even if some elements are zero.
    """
    if out is not None:
        return into_as("cumprod", out, cumprod, self, dim, dtype=dtype)
    dim = dim_index(dim, self._array.ndim)
    return _cumprod(self, dim) if dtype is None else _cumprod_as(self, dim, dtype=dtype)


@operation()
@numpy_names
def prod(
    self: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Any = None
) -> Tensor:
    """Return the product of all elements, or the products along one dimension `dim`.

    The gradient of each element is the product of all the other elements, times the gradient of the
    result. This holds even if some elements are zero. `keepdim` and `dtype` work as in `sum`; `out`
    requires `dim`.
    """
    if out is not None and dim is not None:
        return into_as("prod", out, prod, self, dim, keepdim, dtype=dtype)
    if out is not None:
        raise TypeError(errors.WITHOUT_DIM.format("prod", "out"))
    if dim is None:
        return _prod_all(self) if dtype is None else _prod_all_as(self, dtype=dtype)
    args = self, dim_index(dim, self._array.ndim), bool_of("prod", "keepdim", 2, keepdim)
    return _prod_dim(*args) if dtype is None else _prod_dim_as(*args, dtype=dtype)


def _elements_at(a: np.ndarray, dim: int, indices: np.ndarray) -> np.ndarray:
    return lying_as(a, a[places_along(indices, dim)]) if a.ndim else a.copy()


_sort = define(
    "SortBackward0",
    "sorted_values(Tensor self, dim; Kept indices)",
    _elements_at,
    self="put(grad, self.shape, dim, True, indices)",
    samples="r(4), 0, w.argsort(r(4)); r(2, 3), 1, w.argsort(r(2, 3))",
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


_argsort = define("argsort", "argsort(Tensor self, dim, descending)", lambda a, *how: lying_as(a, _order(a, *how)))


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


def _last_of(ufunc: np.ufunc) -> Callable[[np.ndarray, int], np.ndarray]:
    """Return the index of the maximum (or minimum) up to each element, the last of equal ones; nan counts as both."""

    def places(a: np.ndarray, dim: int) -> np.ndarray:
        if not a.ndim:
            return np.zeros((), np.int64)
        here = np.arange(a.shape[dim], dtype=np.int64).reshape([-1 if d == dim else 1 for d in range(a.ndim)])
        return np.maximum.accumulate(np.where((a == ufunc.accumulate(a, dim)) | (a != a), here, 0), dim)

    return places


_cummax, _cummin = (
    (
        define(f"{name}_places", f"{name}_places(Tensor self, dim)", in_rows(_last_of(ufunc))),
        define(
            f"{name.capitalize()}Backward0",
            f"{name}_values(Tensor self, dim; Kept indices)",
            in_rows(_elements_at),
            self="scatter_add(zeros_like(self), dim, indices, grad)",
            samples=f"r(4), 0, w.{name}(r(4), 0)[1]; r(2, 3), 1, w.{name}(r(2, 3), 1)[1]",
        ),
        pair(name),
    )
    for name, ufunc in (("cummax", np.maximum), ("cummin", np.minimum))
)


def _running(name: str, made: tuple[Any, Any, Any], self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    ndim = self._array.ndim
    if not ndim and dim not in (0, -1):
        raise IndexError(f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
    places, values, result = made
    dim = dim_index(dim, ndim)
    indices = places(self, dim)
    return result(values(self, dim, indices), indices)


@operation()
def cummax(self: Tensor, dim: int, *, out: Any = None) -> tuple[Tensor, Tensor]:
    """Return (values, indices): the running maximum along `dim`, and the position of each maximum.

    `values[i]` is the largest of the elements 0 to i, and `indices[i]` is its position. If
    elements are equal, the latest one counts as the maximum, and receives the gradient.
    """
    return _running("cummax", _cummax, self, dim) if out is None else into_each("cummax", out, cummax, self, dim)


@operation()
def cummin(self: Tensor, dim: int, *, out: Any = None) -> tuple[Tensor, Tensor]:
    """Return (values, indices): the running minimum along `dim`, and the position of each minimum.

    `values[i]` is the smallest of the elements 0 to i, and `indices[i]` is its position. If
    elements are equal, the latest one counts as the minimum, and receives the gradient.
    """
    return _running("cummin", _cummin, self, dim) if out is None else into_each("cummin", out, cummin, self, dim)


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
    "MedianBackward0",
    "median_all(Tensor self)",
    lambda a: a.reshape(-1)[_middle(a.reshape(-1), 0)] if a.size else _no_median(a.dtype),
    self="evenly(grad, attains(self, result))",
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
    "KthvalueBackward0",
    "kthvalue(Tensor self, k, dim, keepdim; Kept indices)",
    lambda a, k, dim, keepdim, indices: pick(a, dim, keepdim, indices),
    self="put(grad, self.shape, dim, keepdim, indices)",
    samples="r(2, 3), 1, 1, False, w.tensor([2, 0]); r(3), 2, 0, True, w.tensor([1])",
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


Dims = tuple[int, ...] | None


@lru_cache(1000)
def _over(shape: tuple[int, ...], dim: Dims) -> tuple[int, ...]:
    """Return the dimensions meant: all of them for None and ()."""
    return dim or tuple(range(len(shape)))


@lru_cache(1000)
def _freedom(shape: tuple[int, ...], dim: Dims, correction: float | None) -> float:
    """Return the number of elements that are reduced to one, minus the correction (1 if none is given)."""
    return math.prod([shape[d] for d in _over(shape, dim)]) - (1 if correction is None else correction)


in_formulas("inf", math.inf, math.inf)
in_formulas("nan", math.nan, math.nan)
in_formulas("over", _over, _over)
in_formulas("freedom", _freedom, _freedom)
in_formulas("doubled", *[lambda freedom: 2 / freedom if freedom else math.inf] * 2)
abbreviation("restored(g, x, dim, keepdim)", "put_back(g, x.shape, over(x.shape, dim), keepdim)")
abbreviation("deviation(x, dim)", "x - mean_dim(x, over(x.shape, dim), True)")
abbreviation(
    "var_slope(g, x, dim, correction, keepdim)",
    "g * where(deviation(x, dim) == 0, zeros_like(x) + nan, inf) "
    "if dim is None and freedom(x.shape, dim, correction) <= 0 "
    "else doubled(freedom(x.shape, dim, correction)) * restored(g, x, dim, keepdim) * deviation(x, dim)",
)


@lru_cache(1000)
def _numbers(
    shape: tuple[int, ...], dim: Dims, correction: float | None, dtype: np.dtype
) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
    """Return the dimensions meant, how many elements they have, and how many of these are free, as arrays."""
    count, freedom = _freedom(shape, dim, 0) or 1, _freedom(shape, dim, correction)
    return _over(shape, dim), np.array(count, dtype), np.array(freedom if freedom > 0 else 0, dtype)


def _var_of(a: np.ndarray, dim: Dims, correction: float | None, keepdim: bool) -> np.ndarray:
    wide = a.astype(np.float32) if a.itemsize < 4 else a
    dims, count, freedom = _numbers(a.shape, dim, correction, wide.dtype)
    deviation = wide - sums(wide, dims) / count
    out = summed(deviation * deviation, dims, keepdim) / freedom
    return out if wide is a else out.astype(a.dtype)


_var = define(
    "VarBackward0",
    "var(Tensor self, dim, correction, keepdim)",
    _var_of,
    self="var_slope(grad, self, dim, correction, keepdim)",
    tangent="reduction",
    samples="r(3), None, None, False; r(2, 3), (1,), 0, True; r(2, 3, 2), (0, 2), 1.5, False",
)
_std = define(
    "StdBackward0",
    "std(Tensor self, dim, correction, keepdim)",
    lambda *args: np.sqrt(_var_of(*args)),
    self="var_slope(where(result == 0, 0, grad / (result * 2)), self, dim, correction, keepdim)",
    tangent="reduction",
    samples="r(3), None, None, False; r(2, 3), (1,), 0, True; r(2, 3, 2), (0, 2), 1.5, False",
)


def _norm_of(a: np.ndarray, ord: float, dim: Dims, keepdim: bool) -> np.ndarray:
    dims, wide = _over(a.shape, dim), a.astype(np.float32) if a.itemsize < 4 else a
    if ord == 2:
        out = np.sqrt(summed(wide * wide, dims, keepdim))
        return out if wide is a else out.astype(a.dtype)
    empty = [d for d in dims if not a.shape[d]]
    if empty and (math.isinf(ord) or ord < 0):
        raise RuntimeError(
            (
                (
                    "linalg.vector_norm cannot compute the {:g} norm on an empty tensor because the "
                    "operation does not have an identity"
                )
                if dim is None
                else (
                    "linalg.vector_norm cannot compute the {:g} norm on the dimension {}because this "
                    "dimension is empty and the operation does not have an identity"
                )
            ).format(ord, empty[0])
        )
    size, how = np.abs(wide), {"axis": dims, "keepdims": keepdim}
    if math.isinf(ord):
        out = size.max(**how) if ord > 0 else size.min(**how)
    elif not ord:
        out = np.count_nonzero(size, **how)
    else:
        out = size.sum(**how) if ord == 1 else np.add.reduce(size**ord, **how) ** (1 / ord)
    return np.asarray(out).astype(a.dtype)


abbreviation("as_many(x, g)", "zeros_like(x) + g")
abbreviation(
    "shared(g, mask, x, dim)", "where(mask, g, 0) / sum_dim(where(mask, as_many(x, 1), 0), over(x.shape, dim), True)"
)
abbreviation("masked(bad, x)", "where(bad, 0, x)")
abbreviation(
    "norm_slope(g, x, ord, n, dim)",
    "None if ord == 0 else sign(x) * g if ord == 1 else g * masked(n == 0, x / n) if ord == 2 "
    "else sign(x) * shared(g, attains(abs(x), n), x, dim) if ord in (inf, -inf) "
    "else masked(x == 0, sign(x) * abs(x) ** (ord - 1)) * g * n ** (1 - ord) if ord < 1 "
    "else sign(x) * abs(x) ** (ord - 1) * masked(n == 0, g / n ** (ord - 1)) if ord < 2 "
    "else x * abs(x) ** (ord - 2) * masked(n == 0, g / n ** (ord - 1))",
)
_norm = define(
    "LinalgVectorNormBackward0",
    "vector_norm(Tensor self, ord, dim, keepdim)",
    in_rows(_norm_of),
    self="norm_slope(restored(grad, self, dim, keepdim), self, ord, restored(result, self, dim, keepdim), dim)",
    tangent="reduction",
    samples="; ".join(
        f"r(2, 3), {p}, {dim}, {keepdim}"
        for p in ("2", "1", "3", "1.5", "0.5", "w.inf", "-w.inf")
        for dim, keepdim in (("None", "False"), ("(1,)", "False"), ("(0,)", "True"))
    ),
)
_amax, _amin = (
    define(
        node,
        f"{name}(Tensor self, dim, keepdim)",
        in_rows(lambda a, dim, keepdim, best=best: best.reduce(a, axis=_over(a.shape, dim), keepdims=keepdim)),
        self="shared(restored(grad, self, dim, keepdim), self == restored(result, self, dim, keepdim), self, dim)",
        tangent="reduction",
        samples="r(2, 3), (1,), False; r(2, 3), (), True; tie(), (), False",
    )
    for node, name, best in (("AmaxBackward0", "amax", np.maximum), ("AminBackward0", "amin", np.minimum))
)
_topk = define(
    "TopkBackward0",
    "top_values(Tensor self, k, dim; Kept indices)",
    lambda a, k, dim, indices: a[places_along(indices, dim)] if a.ndim else a.copy(),
    self="put(grad, self.shape, dim, True, indices)",
    samples="r(4), 2, 0, w.tensor([2, 0]); r(2, 3), 2, 1, w.tensor([[0, 2], [2, 1]])",
)
_foremost = define(
    "foremost",
    "foremost(Tensor self, k, dim, largest)",
    lambda a, k, dim, largest: _order(a, dim, largest, k),
)
topk_result = pair("topk")


WORDS = {
    "var": ("variance", "", "", "tensor(4.), tensor(2.6667)"),
    "std": (
        "standard deviation",
        ", then take the square root",
        " The gradient is 0 if all elements are equal.",
        "tensor(2.), tensor(1.6330)",
    ),
}
DEVIATION = """Return the {1} of all elements, or over the dimensions in `dim`.

Divide the sum of the squared deviations from the mean by `n - correction`, where n is the
number of elements{2}.{3}

Args:
    dim, keepdim: The same as in `sum`.
    unbiased: The older name of `correction`: True means 1, False means 0.
    correction: 1, the default, estimates the {1} of the population from which
        the elements were drawn. 0 gives the {1} of the elements themselves.

Example:
    >>> t = torch.tensor([1.0, 3.0, 5.0])
    >>> torch.{0}(t), torch.{0}(t, correction=0)
    ({4})
"""


def _deviation(name: str, op: Any) -> Any:
    def deviation(
        self: Tensor,
        dim: Any = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        *,
        correction: float | None = None,
    ) -> Tensor:
        if isinstance(dim, bool):  # var(unbiased)
            dim, unbiased = None, dim
        if self._array.dtype.kind != "f":
            raise RuntimeError("std and var only support floating point and complex dtypes")
        dims = None if dim is None else dims_of(dim, self._array.ndim)
        if unbiased is not None or dim is not None and correction is None:
            correction = int(unbiased is not False)
        if _freedom(self._array.shape, dims, correction) <= 0:
            warn(
                f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
                "reduction factor (input numel divided by output numel)."
            )
        return op(self, dims, correction, bool_of(name, "keepdim", 3, keepdim))

    named(deviation, name)
    deviation.__doc__ = DEVIATION.format(name, *WORDS[name])
    return operation()(numpy_names(deviation))


var, std = _deviation("var", _var), _deviation("std", _std)


def _widened(t: Tensor, dtype: dtypes.dtype) -> Tensor:
    if not dtype.is_floating_point:
        raise RuntimeError(f"linalg.vector_norm: dtype should be floating point or complex, but got {dtype.word}")
    if dtype.itemsize < t.dtype.itemsize:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({t.dtype.word}) should be convertible without "
            f"narrowing to the specified dtype ({dtype.word})"
        )
    return t.to(dtype)


@operation()
def norm(
    self: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: dtypes.dtype | None = None
) -> Tensor:
    """Return the p-norm of all elements, or the p-norms over the dimensions in `dim`.

    The p-norm is `(abs(x) ** p).sum() ** (1 / p)`. For a vector of zeros, the gradient is zero. If
    `p` is inf, the elements with the largest absolute value share the gradient evenly.

    Args:
        p: A number: 2 gives the Euclidean length, 1 the sum of absolute values, inf the largest
            absolute value, and 0 the number of nonzero elements. "fro" is the same as 2.
        dim, keepdim: The same as in `sum`.
        dtype: Convert the elements to this dtype first.

    Example:
        >>> torch.norm(torch.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
        tensor([ 5., 10.])
    """
    if isinstance(p, Tensor):
        p = number_of("linalg_vector_norm", "ord", 1, p)
    if p == "nuc":
        raise RuntimeError("the workbench has no nuclear norm; p may be 'fro' or a number.")
    if self._array.dtype.kind != "f":
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {self.dtype.word}"
        )
    if dtype is not None:
        self = _widened(self, dtype)
    dims = None if dim is None else dims_of(dim, self._array.ndim)
    return _norm(self, 2 if p in ("fro", None) else p, dims, bool_of("linalg_vector_norm", "keepdim", 3, keepdim))


def _extreme(name: str, op: Any) -> Any:
    def extreme(self: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
        dims = dims_of(dim, self._array.ndim)
        empty = [d for d in dims if not self._array.shape[d]]
        if empty and dim == ():
            raise RuntimeError(errors.EMPTY_ALL.format(name))
        if empty:
            raise IndexError(errors.EMPTY_DIM.format(name, empty[0]))
        return op(self, () if dim == () else dims, bool_of(name, "keepdim", 2, keepdim))

    named(extreme, name)
    extreme.__doc__ = (
        f"Return the {name[1:]}imum over one or several dimensions `dim`, by default over all elements.\n\n"
        f"Unlike `{name[1:]}` with `dim`, it returns no indices, and elements equal to the {name[1:]}imum share the\n"
        "gradient evenly. The dimensions are removed from the result unless `keepdim` is True."
    )
    return operation()(numpy_names(extreme))


amax, amin = _extreme("amax", _amax), _extreme("amin", _amin)


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
    if self._array.dtype.kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    if not 0 <= (k := int_of("topk", "k", 1, k)) <= (self._array.shape[dim] if self._array.ndim else 1):
        raise RuntimeError("selected index k out of range")
    indices = _foremost(self, k, dim, largest)
    return topk_result(_topk(self, k, dim, indices), indices)
