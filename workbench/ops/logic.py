"""Questions with yes or no as answer; none of them is recorded."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from .. import errors
from ..autograd.tensor import Tensor, wrap
from .declare import define, method
from .looking import is_batched
from .naming import numpy_names
from .refusals import not_a_tensor
from .shapes import dims_of

logical_and = define("logical_and", "logical_and(Tensor self, Tensor other)", np.logical_and, batch="pointwise")
logical_or = define("logical_or", "logical_or(Tensor self, Tensor other)", np.logical_or, batch="pointwise")
logical_xor = define("logical_xor", "logical_xor(Tensor self, Tensor other)", np.logical_xor, batch="pointwise")
logical_not = define("logical_not", "logical_not(Tensor self)", np.logical_not, batch="pointwise")
isnan = define("isnan", "isnan(Tensor self)", np.isnan, batch="pointwise")
isinf = define("isinf", "isinf(Tensor self)", np.isinf, batch="pointwise")
isfinite = define("isfinite", "isfinite(Tensor self)", np.isfinite, batch="pointwise")

for _function in (logical_and, logical_or, logical_xor, logical_not, isnan, isinf, isfinite):
    setattr(Tensor, _function.op.name, _function)


def _answer(ask: Any) -> Any:
    """The answer as a mask; as bytes where the question was about bytes."""
    return lambda a, dim, keepdim: np.asarray(
        ask(a, axis=dim, keepdims=keepdim), np.uint8 if a.dtype == np.uint8 else bool
    )


_all, _any = (
    define(name, f"{name}(Tensor self, dim, keepdim)", _answer(ask)) for name, ask in (("all", np.all), ("any", np.any))
)
_isclose = define("isclose", "isclose(Tensor self, Tensor other, rtol, atol, equal_nan)", np.isclose, batch="pointwise")


def _refuse_batches(sentence: str, *tensors: Tensor) -> None:
    """RuntimeError where the answer would be one for each sample, which Python cannot have."""
    if builtins.any(is_batched(t) is not None for t in tensors):
        raise RuntimeError(sentence)


@method()
@numpy_names
def all(self: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether every element is true, or every one over `dim`."""
    return _all(self, dims_of(dim, self._array.ndim), keepdim)


@method()
@numpy_names
def any(self: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether any element is true, or any one over `dim`."""
    return _any(self, dims_of(dim, self._array.ndim), keepdim)


@method()
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero: a row for each, or a vector for each dimension."""
    _refuse_batches(errors.VMAP_DYNAMIC.format("nonzero"), input)
    where = np.nonzero(np.atleast_1d(input._array))
    if as_tuple:
        return tuple(wrap(w) for w in where)
    return wrap(np.stack(where, 1)[:, : input._array.ndim])


@method()
def equal(self: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements."""
    if not isinstance(other, Tensor):
        raise TypeError(not_a_tensor("equal", "other", 1, other))
    _refuse_batches(errors.VMAP_EQUAL, self, other)
    return bool(np.array_equal(self._array, other._array))


@method()
def isclose(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether elements differ by at most atol + rtol * |other|."""
    if not isinstance(other, Tensor):
        raise TypeError(not_a_tensor("isclose", "other", 1, other))
    if self.dtype is not other.dtype:
        raise RuntimeError(f"{self.dtype.word} did not match {other.dtype.word}")
    return _isclose(self, other, rtol, atol, equal_nan)


@method()
def allclose(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements differ by at most atol + rtol * |other|."""
    if not isinstance(other, Tensor):
        raise TypeError(not_a_tensor("allclose", "other", 1, other))
    _refuse_batches(errors.VMAP_ALLCLOSE, self, other)
    return bool(np.all(isclose(self, other, rtol, atol, equal_nan)._array))
