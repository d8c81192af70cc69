"""Elements in order, and their spread, length and extremes: sort, median, topk, var and std, norms, amax."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.tensor import Tensor
from ..errors import warn
from . import messages
from .core.checks import dim_index, dims_of, numpy_names
from .core.op import define, method
from .core.registry import abbreviation, in_formulas
from .core.results import in_rows, lying_as, pair, take_along
from .indexing import _at
from .reduction import pick


def _taken(a: np.ndarray, dim: int, indices: np.ndarray) -> np.ndarray:
    return lying_as(a, take_along(a, indices, dim)) if a.ndim else a.copy()


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
        backwards = _at(dim, slice(None, None, -1))
        return a.shape[dim] - 1 - a[backwards].argsort(dim, "stable")[backwards]
    return a.argsort(dim, "stable")


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
        raise NotImplementedError(messages.NO_KERNEL.format(kernel, "Bool"))
    if dim is None:
        return _median_all(self)
    dim = dim_index(dim, self._array.ndim)
    if self._array.ndim and not self._array.shape[dim]:
        raise IndexError(errors.EMPTY_DIM.format("median", dim))
    indices = _where_median(self, dim, keepdim)
    return median_result(_median_dim(self, dim, keepdim, indices), indices)


Dims = tuple[int, ...] | None


@lru_cache(1000)
def _over(shape: tuple[int, ...], dim: Dims) -> tuple[int, ...]:
    """The dimensions meant: all of them for None and ()."""
    return dim or tuple(range(len(shape)))


@lru_cache(1000)
def _freedom(shape: tuple[int, ...], dim: Dims, correction: float | None) -> float:
    """Elements reduced to one, less the correction (1 if none is given)."""
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


def _var_of(a: np.ndarray, dim: Dims, correction: float | None, keepdim: bool) -> np.ndarray:
    dims = _over(a.shape, dim)
    count = float(max(_freedom(a.shape, dim, 0), 1))
    wide = a.astype(np.float32) if a.dtype == np.float16 else a
    deviation = wide - np.add.reduce(wide, axis=dims, keepdims=True) / count
    squares = np.add.reduce(deviation * deviation, axis=dims, keepdims=keepdim)
    freedom = float(max(_freedom(a.shape, dim, correction), 0))
    return np.divide(squares, freedom, dtype=wide.dtype).astype(a.dtype, copy=False)


_var = define(
    "VarBackward0",
    "var(Tensor self, dim, correction, keepdim)",
    in_rows(_var_of),
    self="var_slope(grad, self, dim, correction, keepdim)",
    tangent="reduction",
    samples="r(3), None, None, False; r(2, 3), (1,), 0, True; r(2, 3, 2), (0, 2), 1.5, False",
)
_std = define(
    "StdBackward0",
    "std(Tensor self, dim, correction, keepdim)",
    in_rows(lambda a, dim, correction, keepdim: np.sqrt(_var_of(a, dim, correction, keepdim))),
    self="var_slope(where(result == 0, 0, grad / (result * 2)), self, dim, correction, keepdim)",
    tangent="reduction",
    samples="r(3), None, None, False; r(2, 3), (1,), 0, True; r(2, 3, 2), (0, 2), 1.5, False",
)


def _norm_of(a: np.ndarray, ord: float, dim: Dims, keepdim: bool) -> np.ndarray:
    how = {"axis": _over(a.shape, dim), "keepdims": keepdim}
    empty = [d for d in how["axis"] if not a.shape[d]]
    if empty and (math.isinf(ord) or ord < 0):
        where = "an empty tensor because" if dim is None else f"the dimension {empty[0]}because this dimension is empty"
        where += "" if dim is None else " and"
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord:g} norm on {where} the operation does not have an identity"
        )
    size = np.abs(a.astype(np.float32) if a.dtype == np.float16 else a)
    if math.isinf(ord):
        out = size.max(**how) if ord > 0 else size.min(**how)
    elif not ord:
        out = np.count_nonzero(size, **how)
    elif ord == 2:
        out = np.sqrt(np.add.reduce(size * size, **how))
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
    lambda a, k, dim, indices: take_along(a, indices, dim) if a.ndim else a.copy(),
    self="put(grad, self.shape, dim, True, indices)",
    samples="r(4), 2, 0, w.tensor([2, 0]); r(2, 3), 2, 1, w.tensor([[0, 2], [2, 1]])",
)
_foremost = define(
    "foremost",
    "foremost(Tensor self, k, dim, largest)",
    lambda a, k, dim, largest: _order(a, dim, largest)[_at(dim, slice(k))].copy() if a.ndim else np.zeros((), np.int64),
)
topk_result = pair("topk")


def _spread(name: str, op: Any) -> Any:
    def spread(
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
                f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
                "(input numel divided by output numel).",
            )
        return op(self, dims, correction, keepdim)

    spread.__name__ = spread.__qualname__ = name
    spread.__doc__ = (
        f"The {'variance' if name == 'var' else 'standard deviation'} of all elements, or over `dim`; the squares are "
        "divided by their number less `correction` (1, or 0 if not `unbiased`)."
    )
    return method()(numpy_names(spread))


var, std = _spread("var", _var), _spread("std", _std)


def _widened(t: Tensor, dtype: dtypes.dtype) -> Tensor:
    if not dtype.is_floating_point:
        raise RuntimeError(f"linalg.vector_norm: dtype should be floating point or complex, but got {dtype.word}")
    if dtype.itemsize < t.dtype.itemsize:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({t.dtype.word}) should be convertible without narrowing to "
            f"the specified dtype ({dtype.word})"
        )
    return t.to(dtype)


@method()
def norm(
    self: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: dtypes.dtype | None = None
) -> Tensor:
    """The p-norm of all elements taken as one vector, or over `dim`; "fro" is the 2-norm."""
    if p == "nuc":
        raise RuntimeError("the workbench has no nuclear norm; p may be 'fro' or a number.")
    if self._array.dtype.kind != "f":
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {self.dtype.word}"
        )
    if dtype is not None:
        self = _widened(self, dtype)
    dims = None if dim is None else dims_of(dim, self._array.ndim)
    return _norm(self, 2 if p in ("fro", None) else p, dims, keepdim)


def _extreme(name: str, op: Any) -> Any:
    def extreme(self: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
        dims = dims_of(dim, self._array.ndim)
        empty = [d for d in dims if not self._array.shape[d]]
        if empty and dim == ():
            raise RuntimeError(messages.EMPTY_ALL.format(name))
        if empty:
            raise IndexError(errors.EMPTY_DIM.format(name, empty[0]))
        return op(self, () if dim == () else dims, keepdim)

    extreme.__name__ = extreme.__qualname__ = name
    extreme.__doc__ = f"The {name[1:]}imum over `dim`, or of all elements; equal ones share the gradient."
    return method()(numpy_names(extreme))


amax, amin = _extreme("amax", _amax), _extreme("amin", _amin)


@method()
@numpy_names
def topk(self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> topk_result:
    """(values, indices): the k largest (or smallest) elements along `dim`, the most extreme first."""
    dim = dim_index(dim, self._array.ndim)
    if self.dtype is dtypes.bool_:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    if not 0 <= k <= (self._array.shape[dim] if self._array.ndim else 1):
        raise RuntimeError("selected index k out of range")
    indices = _foremost(self, k, dim, largest)
    return topk_result(_topk(self, k, dim, indices), indices)
