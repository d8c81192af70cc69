"""Operations that reduce dimensions to one value, and running sums and products."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod as prod_of
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.levels import elements
from ..autograd.state import local
from ..autograd.tensor import Tensor, wrap
from . import messages
from .comparison import maximum, minimum
from .convert import in_dtype
from .core.checks import dim_index, dims_of, numpy_names
from .core.op import define, method
from .core.registry import ARRAYS, TENSORS, abbreviation, in_formulas
from .core.results import in_rows, into, into_as, into_both, pair, places_along, take_along

ALL = "all dimensions"  # None says the same, but PyTorch then gives another node
max_result, min_result = pair("max"), pair("min")


def _sum(a: np.ndarray, dim: tuple[int, ...] | None = None, keepdim: bool = False) -> np.ndarray:
    return np.add.reduce(a, axis=dim, keepdims=keepdim, dtype=np.int64 if a.dtype.kind in "biu" else None)


def _mean(a: np.ndarray, dim: tuple[int, ...], keepdim: bool) -> np.ndarray:
    return np.add.reduce(a, axis=dim, keepdims=keepdim) / float(_count_of(a.shape, dim) or np.nan)


_sum_all = define(
    "SumBackward0",
    "sum_all(Tensor self)",
    lambda a: _sum(a),
    batch="sum_dim",
    self="expand(grad, self.shape)",
    samples="r(3); r(2, 3); r()",
)
_sum_dim = define(
    "SumBackward1",
    "sum_dim(Tensor self, dim, keepdim)",
    in_rows(_sum),
    self="expand(put_back(grad, self.shape, dim, keepdim), self.shape)",
    samples="r(2, 3), (0,), False; r(2, 3), (0, 1), True; r(2, 3, 2), (1,), False",
)
_mean_all = define(
    "MeanBackward0",
    "mean_all(Tensor self)",
    lambda a: np.add.reduce(a, axis=None) / (a.size or np.nan),
    batch="mean_dim",
    self="expand(grad, self.shape) / numel(self.shape)",
    samples="r(3); r(2, 3)",
)
_mean_dim = define(
    "MeanBackward1",
    "mean_dim(Tensor self, dim, keepdim)",
    in_rows(_mean),
    self="expand(put_back(grad, self.shape, dim, keepdim), self.shape) / count_of(self.shape, dim)",
    samples="r(2, 3), (0,), False; r(2, 3), (-1,), True",
)
_sum_all_as, _sum_dim_as = in_dtype(_sum_all), in_dtype(_sum_dim)
_mean_all_as, _mean_dim_as = in_dtype(_mean_all), in_dtype(_mean_dim)
abbreviation("attains(x, extremum)", "(x == extremum) | (x != x)")  # nan, if there is one, is both extremes
_max_all = define(
    "MaxBackward1",
    "max_all(Tensor self)",
    np.max,
    batch="amax",
    self="where(attains(self, result), grad / count(attains(self, result)), 0)",
    tangent="reduction",
    samples="r(3); r(2, 3); tie()",
)
_min_all = define(
    "MinBackward1",
    "min_all(Tensor self)",
    np.min,
    batch="amin",
    self="where(attains(self, result), grad / count(attains(self, result)), 0)",
    tangent="reduction",
    samples="r(3); r(2, 3); tie()",
)


def pick(a: np.ndarray, dim: int, keepdim: bool, indices: np.ndarray) -> np.ndarray:
    """The elements at `indices` along one dimension, which goes away unless kept."""
    if not a.ndim:
        return a.copy()
    places = indices if keepdim else np.expand_dims(indices, dim)
    values = take_along(a, places, dim)
    return values if keepdim else np.squeeze(values, dim)


def _put(grad: np.ndarray, shape: tuple[int, ...], dim: int, keepdim: bool, indices: np.ndarray) -> np.ndarray:
    """The other way: zeros of `shape` with `grad` at `indices`."""
    out = np.zeros(shape, np.asarray(grad).dtype)
    if not shape:
        out[...] = grad
    else:
        lift = (lambda x: x) if keepdim else (lambda x: x[(slice(None),) * (dim % len(shape)) + (None,)])
        out[places_along(lift(indices), dim)] = lift(grad)
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
    return prod_of([shape[d] for d in dim]) if shape else 1


in_formulas("count_of", _count_of, _count_of)


@method()
@numpy_names
def sum(
    self: Tensor, dim: Any = ALL, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Any = None
) -> Tensor:
    """The sum of all elements, or over `dim` (an int or several)."""
    if out is not None:
        return into_as("sum", out, sum, self, dim, keepdim, dtype=dtype)
    if dim is ALL:
        if keepdim:
            raise TypeError(messages.WITHOUT_DIM.format("sum", "keepdim"))
        return _sum_all(self) if dtype is None else _sum_all_as(self, dtype=dtype, of="sum")
    args = self, dims_of(dim, self._array.ndim), keepdim
    return _sum_dim(*args) if dtype is None else _sum_dim_as(*args, dtype=dtype, of="sum")


@method()
@numpy_names
def mean(
    self: Tensor, dim: Any = ALL, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Any = None
) -> Tensor:
    """The mean of all elements, or over `dim`; RuntimeError for integers."""
    if out is not None:
        return into_as("mean", out, mean, self, dim, keepdim, dtype=dtype)
    wanted = dtypes.chosen_dtype("mean", dtype, self.dtype)
    if not wanted.is_floating_point:
        raise RuntimeError(
            f"mean(): could not infer output dtype. {'Input' if dtype is None else 'Optional'} dtype must be either a "
            f"floating point or complex dtype. Got: {wanted.word}"
        )
    if dim is ALL:
        if keepdim:
            raise TypeError(messages.WITHOUT_DIM.format("mean", "keepdim"))
        return _mean_all(self) if dtype is None else _mean_all_as(self, dtype=dtype, of="mean")
    args = self, dims_of(dim, self._array.ndim), keepdim
    return _mean_dim(*args) if dtype is None else _mean_dim_as(*args, dtype=dtype, of="mean")


_arg = {
    name: define(
        name,
        f"{name}(Tensor self, dim, keepdim)",
        lambda a, dim, keepdim, best=best: best(a, dim, None, keepdims=keepdim) if a.ndim else np.zeros((), np.int64),
    )
    for name, best in (("argmax", np.argmax), ("argmin", np.argmin))
}


def _extremum(name: str, everything: Any, along: Any, between: Any, best: Any, result: Any) -> Any:
    def extremum(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None) -> Any:
        self = input
        if isinstance(dim, Tensor) or other is not None:
            return between(self, dim if other is None else other, out=out)
        if out is not None:
            return (into if dim is None else into_both)(name, out, extremum, self, dim, keepdim)
        if dim is None:
            if not self._array.size:
                raise RuntimeError(messages.EMPTY_ALL.format(name))
            return everything(self)
        dim = dim_index(dim, self._array.ndim)
        if not self._array.size and not self._array.shape[dim]:
            raise IndexError(errors.EMPTY_DIM.format(name, dim))
        indices = best(self, dim, keepdim)
        return result(along(self, dim, keepdim, indices), indices)

    extremum.__name__ = extremum.__qualname__ = name
    extremum.__doc__ = f"The {name}imum of all elements, or (values, indices) along `dim`."
    return numpy_names(extremum)


max = _extremum("max", _max_all, _max_dim, maximum, _arg["argmax"], max_result)
min = _extremum("min", _min_all, _min_dim, minimum, _arg["argmin"], min_result)
Tensor.max, Tensor.min = max, min


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
        return _arg[name](self, dim, keepdim)

    where_extreme.__name__ = where_extreme.__qualname__ = name
    where_extreme.__doc__ = f"Where the {word} element is: in all elements flattened, or along `dim`."
    return method()(numpy_names(where_extreme))


argmax, argmin = _where_extreme("argmax", "largest"), _where_extreme("argmin", "smallest")


def _counts(a: np.ndarray) -> Any:
    """The dtype in which elements are added up: integers and masks in int64."""
    return np.int64 if a.dtype.kind in "biu" else a.dtype


_cumsum = define(
    "CumsumBackward0",
    "cumsum(Tensor self, dim)",
    in_rows(lambda a, dim: np.cumsum(a, dim, _counts(a)) if a.ndim else a.astype(_counts(a))),
    self="summed_from_the_end(grad, dim)",
    samples="r(3), 0; r(2, 3), 1; r(), 0",
)
abbreviation("summed_from_the_end(x, dim)", "flip(cumsum(flip(x, (dim,)), dim), (dim,)) if x.ndim else x")
_cumprod = define(
    "CumprodBackward0",
    "cumprod(Tensor self, dim)",
    in_rows(lambda a, dim: np.cumprod(a, dim, _counts(a)) if a.ndim else a.astype(_counts(a))),
    self="cumprod_slope(grad, self, result, dim)",
    samples="p(3), 0; r(2, 3), 1; r(), 0; r(4) * w.tensor([1, 0, 1, 0]), 0",
)


def _step_by_step(words: dict[str, Any]) -> Callable[..., Any]:
    """The gradient of a running product, from the last element to the first: right where an element is zero."""

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
    lambda a: np.prod(a, dtype=_counts(a)),
    batch="prod_dim",
    self="prod_slope(grad, self, result)",
    tangent="reduction",
    samples="p(3); r(2, 3); r(); r(4) * w.tensor([1, 0, 1, 1])",
)
abbreviation("prod_slope(g, x, y)", "g if not x.ndim else g * (all_others(x) if has_zero(x) else y / x)")
_prod_dim = define(
    "ProdBackward1",
    "prod_dim(Tensor self, dim, keepdim)",
    in_rows(lambda a, dim, keepdim: np.prod(a, axis=dim if a.ndim else None, keepdims=keepdim, dtype=_counts(a))),
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


@method()
@numpy_names
def cumsum(self: Tensor, dim: int, *, dtype: dtypes.dtype | None = None, out: Any = None) -> Tensor:
    """The sum of each element and all before it along `dim`."""
    if out is not None:
        return into_as("cumsum", out, cumsum, self, dim, dtype=dtype)
    dim = dim_index(dim, self._array.ndim)
    return _cumsum(self, dim) if dtype is None else _cumsum_as(self, dim, dtype=dtype, of="cumsum")


@method()
@numpy_names
def cumprod(self: Tensor, dim: int, *, dtype: dtypes.dtype | None = None, out: Any = None) -> Tensor:
    """The product of each element and all before it along `dim`."""
    if out is not None:
        return into_as("cumprod", out, cumprod, self, dim, dtype=dtype)
    dim = dim_index(dim, self._array.ndim)
    return _cumprod(self, dim) if dtype is None else _cumprod_as(self, dim, dtype=dtype, of="cumprod")


@method()
@numpy_names
def prod(
    self: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Any = None
) -> Tensor:
    """The product of all elements, or along `dim`, which `out` needs."""
    if out is not None and dim is not None:
        return into_as("prod", out, prod, self, dim, keepdim, dtype=dtype)
    if out is not None:
        raise TypeError(messages.WITHOUT_DIM.format("prod", "out"))
    if dim is None:
        return _prod_all(self) if dtype is None else _prod_all_as(self, dtype=dtype, of="prod")
    dim = dim_index(dim, self._array.ndim)
    return _prod_dim(self, dim, keepdim) if dtype is None else _prod_dim_as(self, dim, keepdim, dtype=dtype, of="prod")
