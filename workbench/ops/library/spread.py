"""How far elements are from their mean: variance and standard deviation."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ...autograd.tensor import Tensor
from ...errors import warn
from ..complex import as_it_is
from ..core.checks import bool_of, dims_of, named, numpy_names
from ..core.op import define, operation
from ..core.registry import abbreviation, in_formulas
from ..reduction import Dims, _over
from ..sums import summed, sums


@lru_cache(1000)
def _freedom(shape: tuple[int, ...], dim: Dims, correction: float | None) -> float:
    """Return the number of elements that are reduced to one, minus the correction (1 if none is given)."""
    return math.prod([shape[d] for d in _over(shape, dim)]) - (1 if correction is None else correction)


in_formulas("inf", math.inf)
in_formulas("nan", math.nan)
in_formulas("freedom", _freedom)
in_formulas("doubled", lambda freedom: 2 / freedom if freedom else math.inf)
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
    if a.dtype.kind == "c":
        deviation, freedom = np.abs(deviation), np.real(freedom)
    out = summed(deviation * deviation, dims, keepdim) / freedom
    return out if wide is a else out.astype(a.dtype)


_var = define(
    "var(Tensor self, dim, correction, keepdim)",
    _var_of,
    self="var_slope(grad, self, dim, correction, keepdim)",
    tangent="reduction",
)
_std = define(
    "std(Tensor self, dim, correction, keepdim)",
    lambda *args: np.sqrt(_var_of(*args)),
    self="var_slope(where(result == 0, 0, grad / (result * 2)), self, dim, correction, keepdim)",
    tangent="reduction",
)
for _name in ("var", "std"):
    as_it_is(_name)
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
        if self._array.dtype.kind not in "fc":
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
