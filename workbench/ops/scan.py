"""Running sums and products, and the product of all elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd import dtypes
from ..autograd.levels import elements
from ..autograd.tensor import Tensor
from .casting import in_dtype
from .compile import ARRAYS, TENSORS
from .declare import abbreviation, define, in_formulas, method
from .layout import in_rows
from .naming import numpy_names
from .out import into_as
from .shapes import dim_index


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
        raise TypeError("prod() received an invalid combination of arguments - got out without dim")
    if dim is None:
        return _prod_all(self) if dtype is None else _prod_all_as(self, dtype=dtype, of="prod")
    dim = dim_index(dim, self._array.ndim)
    return _prod_dim(self, dim, keepdim) if dtype is None else _prod_dim_as(self, dim, keepdim, dtype=dtype, of="prod")
