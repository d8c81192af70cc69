"""Running sums, products, maxima and minima; and products, whose gradients need running ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import errors
from ...autograd import dtypes
from ...autograd.levels import elements
from ...autograd.tensor import Tensor
from ..convert import in_dtype
from ..core.checks import bool_of, dim_index, numpy_names
from ..core.op import define, operation
from ..core.registry import ARRAYS, TENSORS, abbreviation, in_formulas
from ..core.results import in_rows, into_as, into_each, pair
from .order import _elements_at


def _counts(a: np.ndarray) -> Any:
    """Return the dtype in which elements are added up: integers and masks in int64."""
    return np.int64 if a.dtype.kind in "biu" else a.dtype


_cumsum = define(
    "cumsum(Tensor self, dim)",
    in_rows(lambda a, dim: np.add.accumulate(a, dim, _counts(a)) if a.ndim else a.astype(_counts(a))),
    self="summed_from_the_end(grad, dim)",
)
abbreviation("summed_from_the_end(x, dim)", "flip(cumsum(flip(x, (dim,)), dim), (dim,)) if x.ndim else x")
_cumprod = define(
    "cumprod(Tensor self, dim)",
    in_rows(lambda a, dim: np.multiply.accumulate(a, dim, _counts(a)) if a.ndim else a.astype(_counts(a))),
    self="cumprod_slope(grad, self, result, dim)",
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
    "prod_all(Tensor self)",
    lambda a: np.multiply.reduce(a, None, _counts(a)),
    node="ProdBackward0",
    batch="prod_dim",
    self="prod_slope(grad, self, result)",
    tangent="reduction",
)
abbreviation("prod_slope(g, x, y)", "g if not x.ndim else g * (all_others(x) if has_zero(x) else y / x)")
_prod_dim = define(
    "prod_dim(Tensor self, dim, keepdim)",
    in_rows(lambda a, dim, keepdim: np.multiply.reduce(a, dim if a.ndim else None, _counts(a), keepdims=keepdim)),
    node="ProdBackward1",
    self="prod_dim_slope(put_back(grad, self.shape, (dim,), keepdim), self, result, dim, keepdim)",
    tangent="reduction",
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
        define(f"{name}_places(Tensor self, dim)", in_rows(_last_of(ufunc))),
        define(
            f"{name}_values(Tensor self, dim; Kept indices)",
            in_rows(_elements_at),
            node=f"{name.title()}Backward0",
            self="scatter_add(zeros_like(self), dim, indices, grad)",
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
