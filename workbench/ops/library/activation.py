"""Activations: what neural networks put between their layers, and softmax at their end."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import numpy as np

from ... import errors
from ...autograd import dtypes
from ...autograd.tensor import Tensor
from ..core.checks import FEW, bool_of, dim_index, dims_of, numpy_names, only_floats
from ..core.op import define, operation
from ..core.registry import abbreviation, explained, in_formulas
from ..core.results import in_rows
from ..core.scalars import SCALARS
from ..math import logistic
from ..sums import sums
from .elementary import _erf

in_formulas(
    explained("total(x, dim)", "sum_dim(x, (dim,), True) if x.ndim else x"),
    lambda x, dim: sums(x, (dim,) if x.ndim else ()),
    lambda x, dim: x.sum(dim, True) if x._array.ndim else x,
)


def _only_floats(name: str) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    def check(args: tuple[Any, ...]) -> tuple[Any, ...]:
        last = args[1] == max(args[0]._array.ndim - 1, 0)
        return only_floats(f"{name}_{'lastdim_' if last else ''}kernel_impl")(args)

    return check


def _largest(a: np.ndarray, axes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the elements, at least in single precision, and the largest: less it, no exponential overflows."""
    wide = a.astype(np.float32) if a.itemsize < 4 else a
    return wide, np.maximum.reduce(cast(Any, wide).real, axis=axes, keepdims=True, initial=-np.inf)


def _settled(a: np.ndarray, axes: tuple[int, ...], bound: float) -> np.ndarray:
    """Return the elements minus the maximum, or unchanged if all are within the bound: their exponentials are safe."""
    if a.itemsize > 2 and a.size:  # what is said next is never so of nan
        if a.size <= FEW:
            flat = a.ravel()
            if flat.dot(flat) < 2 * bound * bound:  # then no two are further apart than those within the bound
                return a
        elif -bound < a.item(a.argmin()) and a.item(a.argmax()) < bound:
            return a
    return np.subtract(*_largest(a, axes))


def _softmax_of(a: np.ndarray, dim: int) -> np.ndarray:
    axes = (dim,) if a.ndim else ()
    e = np.exp(_settled(a, axes, 30), order="C")
    e /= sums(e, axes)
    return e if e.dtype is a.dtype else e.astype(a.dtype)


def _log_softmax_of(a: np.ndarray, dim: int) -> np.ndarray:
    axes = (dim,) if a.ndim else ()
    less = _settled(a, axes, 2)  # of larger numbers the logarithm would lose digits
    if less.size <= FEW and axes:
        out = less - np.logaddexp.reduce(less, dim, keepdims=True)
    else:
        out = less - np.log(sums(np.exp(less), axes))
    return out if out.dtype is a.dtype and out.flags.c_contiguous else out.astype(a.dtype, "C")


def _logsumexp_of(a: np.ndarray, dim: tuple[int, ...], keepdim: bool) -> np.ndarray:
    wide, largest = _largest(a, dim)
    finite = np.isfinite(largest)
    if not finite.all():
        largest = np.where(finite, largest, wide.dtype.type(0))
    out = np.log(np.add.reduce(np.exp(wide - largest), axis=dim, keepdims=True)) + largest
    return (out if keepdim else np.squeeze(out, dim)).astype(a.dtype, copy=False)


_softmax = define(
    "softmax(Tensor self, dim)",
    _softmax_of,
    prepare=_only_floats("softmax"),
    self="result * (grad - total(grad * result, dim))",
    tangent="pointwise",
)
_log_softmax = define(
    "log_softmax(Tensor self, dim)",
    _log_softmax_of,
    prepare=_only_floats("log_softmax"),
    self="grad - exp(result) * total(grad, dim)",
    tangent="self_t - total(exp(result) * self_t, dim)",
)
_logsumexp = define(
    "logsumexp(Tensor self, dim, keepdim)",
    in_rows(_logsumexp_of),
    self="restored(grad, self, dim, keepdim) * exp(self - restored(result, self, dim, keepdim))",
    tangent="reduction",
)


@operation()
@numpy_names
def softmax(self: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return `exp(x) / sum(exp(x))` along `dim`: positive numbers that sum to one.

    The computation doesn't overflow for large elements. For the loss of a classifier, pass logits
    to `cross_entropy`, which contains the softmax.

    Args:
        dim: The dimension along which the results sum to one, usually the one with the classes.
        dtype: Convert the input to this dtype first.

    Example:
        >>> torch.softmax(torch.tensor([[0.0, 0.0], [0.0, 1.0]]), dim=1)
        tensor([[0.5000, 0.5000],
                [0.2689, 0.7311]])
    """
    self = self if dtype is None else self.to(dtype)
    return _softmax(self, dim_index(dim, self._array.ndim))


@operation()
@numpy_names
def log_softmax(self: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the logarithm of `softmax` along `dim`.

    `softmax(t, dim).log()` is less accurate: it gives -inf where a probability rounds to 0.
    `log_softmax` takes the same arguments as `softmax`.
    """
    self = self if dtype is None else self.to(dtype)
    return _log_softmax(self, dim_index(dim, self._array.ndim))


@operation()
@numpy_names
def logsumexp(self: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """Return the logarithm of the sum of exponentials over one or several dimensions `dim`.

    The result equals `t.exp().sum(dim, keepdim).log()`, but large elements don't overflow. The
    derivative with respect to the elements is their softmax. Integers are converted to the default
    dtype. `dim` and `keepdim` work as in `sum`.

    Example:
        >>> torch.logsumexp(torch.tensor([1000.0, 1000.0]), dim=0)
        tensor(1000.6932)
    """
    self = self if self._array.dtype.kind in "fc" else self.to(dtypes.get_default_dtype())
    return _logsumexp(self, dims_of(dim, self._array.ndim), bool_of("logsumexp", "keepdim", 2, keepdim))


leaky_relu = define(
    "leaky_relu(Tensor self, negative_slope)",
    lambda a, slope: np.where(a > SCALARS[int][a.dtype][0], a, a * SCALARS[float][a.dtype][slope]),
    prepare=only_floats("leaky_relu_cpu"),
    self="leaky_relu_backward(grad, self, negative_slope)",
    tangent="pointwise",
)
define(
    "leaky_relu_backward(Tensor grad_output, Tensor self, negative_slope)",
    lambda g, a, slope: np.where(a > 0, g, g * slope),
    grad_output="leaky_relu_backward(grad, self, negative_slope)",
    self="zeros_like(grad)",
    tangent="pointwise",
)
explained(
    "leaky_relu_backward(grad_output, self, negative_slope)",
    "where(self > 0, grad_output, grad_output * negative_slope)",
)
abbreviation("negative(x)", "where(x < 0, x, 0.0)")


def _elu_of(a: np.ndarray, alpha: float, scale: float, input_scale: float) -> np.ndarray:
    zero = SCALARS[int][a.dtype][0]
    low = np.minimum(a, zero)
    low = np.expm1(low if input_scale == 1 else low * input_scale)
    factor = alpha * scale
    low = np.asarray(low if factor == 1 else factor * low)
    np.copyto(low, a if scale == 1 else a * scale, where=a > zero)
    return low


elu = define(
    "elu(Tensor self, alpha; scale, input_scale)",
    _elu_of,
    prepare=only_floats("elu_cpu"),
    # the exponential of what is positive would overflow, and spoil the second derivative
    self="where(self <= 0, grad * (alpha * scale * input_scale) * exp(negative(self) * input_scale), grad * scale)",
    tangent="pointwise",
)
# In place, the input is gone and the derivative uses the result, whose sign must be the input's.
leaky_relu_ = define(
    "leaky_relu_(Tensor self, negative_slope)",
    leaky_relu.op.forward,
    node="LeakyReluBackward1",
    prepare=leaky_relu.op.prepare,
    self="leaky_relu_backward(grad, result, same_sign('leakyReLu', negative_slope))",
    tangent="pointwise",
)
elu_ = define(
    "elu_(Tensor self, alpha, scale, input_scale)",
    elu.op.forward,
    node="EluBackward1",
    prepare=elu.op.prepare,
    self="where(result <= 0, grad * input_scale * (result + same_sign('elu', alpha) * scale), grad * scale)",
    tangent="pointwise",
)


def _same_sign(name: str, slope: float) -> float:
    if slope < 0:
        raise RuntimeError(errors.IN_PLACE_SLOPE[name])
    return slope


in_formulas("same_sign", _same_sign)
silu = define(
    "silu(Tensor self)",
    lambda a: a * logistic(a),
    prepare=only_floats("silu_cpu"),
    self="grad * sigmoid(self) * (1 + self * (1 - sigmoid(self)))",
    tangent="pointwise",
)


def _softplus_of(a: np.ndarray, beta: float, threshold: float) -> np.ndarray:
    steep = a if beta == 1 else a * beta
    soft = np.log1p(np.exp(steep))
    return np.where(steep > float(threshold), a, soft if beta == 1 else soft / beta)


softplus = define(
    "softplus(Tensor self, beta, threshold)",
    _softplus_of,
    prepare=only_floats("softplus_cpu"),
    self="where(self * beta > threshold, grad, grad * sigmoid(self * beta))",
    tangent="pointwise",
)
logsigmoid = define(
    "logsigmoid(Tensor self)",
    in_rows(lambda a: -np.logaddexp(-a, 0)),
    node="LogSigmoidBackward0",
    meaning="Return `log(sigmoid(x))` for each element x, accurate even if the sigmoid is near zero.",
    prepare=only_floats("log_sigmoid_cpu"),
    self="grad * sigmoid(-self)",
    tangent="pointwise",
)

# The normal distribution, and the curve with which tanh comes close to it.
abbreviation("normal_cdf(x)", "0.5 * (1 + erf(x * 0.5 ** 0.5))")
abbreviation("normal_pdf(x)", "exp(-0.5 * x * x) / (2 * pi) ** 0.5")
abbreviation("bend(x)", "tanh((2 / pi) ** 0.5 * (x + 0.044715 * x ** 3))")
abbreviation("bend_slope(x)", "(1 - bend(x) ** 2) * (2 / pi) ** 0.5 * (1 + 3 * 0.044715 * x ** 2)")
abbreviation("gelu_slope(x)", "normal_cdf(x) + x * normal_pdf(x)")
abbreviation("gelu_slope_by_tanh(x)", "0.5 * (1 + bend(x)) + 0.5 * x * bend_slope(x)")


@lru_cache
def _numbers(dtype: np.dtype) -> list[np.ndarray]:
    """Return what the curve is computed with, as arrays: NumPy takes half the time with these."""
    return [np.array(number, dtype) for number in (0.5**0.5, 1.0, 0.5)]


def _gelu(a: np.ndarray, approximate: str) -> np.ndarray:
    if approximate == "none":
        root, one, half = _numbers(a.dtype)
        out = _erf(a * root)
        out += one
        out *= half
        out *= a
        return out
    return 0.5 * a * (1 + np.tanh((2 / np.pi) ** 0.5 * (a + 0.044715 * a**3)))


_gelu_op = define(
    "gelu(Tensor self, approximate)",
    _gelu,
    prepare=only_floats("GeluKernelImpl"),
    self="grad * (gelu_slope(self) if approximate == 'none' else gelu_slope_by_tanh(self))",
    tangent="pointwise",
)


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """Return each element x times the probability that a standard normal number is below x.

    Args:
        approximate: "none" computes this probability exactly, "tanh" approximates it with a formula
            that uses tanh.
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return _gelu_op(input, approximate)
