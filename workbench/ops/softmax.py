"""Numbers that sum to one: softmax, its logarithm, and the logarithm of a sum of exponentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd import dtypes
from ..autograd.tensor import Tensor
from .declare import abbreviation, define, method
from .layout import in_rows
from .naming import numpy_names
from .refusals import only_floats
from .shapes import dim_index, dims_of

abbreviation("total(x, dim)", "sum_dim(x, (dim,), True) if x.ndim else x")


def _only_floats(name: str) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    def check(args: tuple[Any, ...]) -> tuple[Any, ...]:
        last = args[1] == max(args[0]._array.ndim - 1, 0)
        return only_floats(f"{name}_{'lastdim_' if last else ''}kernel_impl")(args)

    return check


def _largest(a: np.ndarray, axes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The elements, at least in single precision, and the largest: less it, no exponential overflows."""
    wide = a.astype(np.float32) if a.dtype == np.float16 else a
    return wide, np.maximum.reduce(wide, axis=axes, keepdims=True, initial=-np.inf)


def _softmax_of(a: np.ndarray, dim: int) -> np.ndarray:
    axes = (dim,) if a.ndim else ()
    wide, largest = _largest(a, axes)
    e = np.exp(wide - largest)
    return (e / np.add.reduce(e, axis=axes, keepdims=True)).astype(a.dtype, copy=False)


def _log_softmax_of(a: np.ndarray, dim: int) -> np.ndarray:
    axes = (dim,) if a.ndim else ()
    wide, largest = _largest(a, axes)
    less = wide - largest
    return (less - np.log(np.add.reduce(np.exp(less), axis=axes, keepdims=True))).astype(a.dtype, copy=False)


def _logsumexp_of(a: np.ndarray, dim: tuple[int, ...], keepdim: bool) -> np.ndarray:
    wide, largest = _largest(a, dim)
    finite = np.isfinite(largest)
    if not finite.all():
        largest = np.where(finite, largest, wide.dtype.type(0))
    out = np.log(np.add.reduce(np.exp(wide - largest), axis=dim, keepdims=True)) + largest
    return (out if keepdim else np.squeeze(out, dim)).astype(a.dtype, copy=False)


_softmax = define(
    "SoftmaxBackward0",
    "softmax(Tensor self, dim)",
    in_rows(_softmax_of),
    prepare=_only_floats("softmax"),
    self="result * (grad - total(grad * result, dim))",
    tangent="pointwise",
    samples="r(3), 0; r(2, 3), 1; r(), 0",
)
_log_softmax = define(
    "LogSoftmaxBackward0",
    "log_softmax(Tensor self, dim)",
    in_rows(_log_softmax_of),
    prepare=_only_floats("log_softmax"),
    self="grad - exp(result) * total(grad, dim)",
    tangent="self_t - total(exp(result) * self_t, dim)",
    samples="r(3), 0; r(2, 3), 0; r(), 0",
)
_logsumexp = define(
    "LogsumexpBackward0",
    "logsumexp(Tensor self, dim, keepdim)",
    in_rows(_logsumexp_of),
    self="restored(grad, self, dim, keepdim) * exp(self - restored(result, self, dim, keepdim))",
    tangent="reduction",
    samples="r(3), (0,), False; r(2, 3), (0, 1), False; r(2, 3), (1,), True",
)


@method()
@numpy_names
def softmax(self: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
    """Positive numbers that sum to one along `dim`, in the ratios of the elements' exponentials."""
    self = self if dtype is None else self.to(dtype)
    return _softmax(self, dim_index(dim, self._array.ndim))


@method()
@numpy_names
def log_softmax(self: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
    """The logarithm of softmax, computed without the detour."""
    self = self if dtype is None else self.to(dtype)
    return _log_softmax(self, dim_index(dim, self._array.ndim))


@method()
@numpy_names
def logsumexp(self: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials over `dim`."""
    self = self if self._array.dtype.kind == "f" else self.to(dtypes.get_default_dtype())
    return _logsumexp(self, dims_of(dim, self._array.ndim), keepdim)
