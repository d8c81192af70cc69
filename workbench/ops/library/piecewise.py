"""Activations that are made of pieces (hardtanh, threshold, shrinks, prelu, celu), and gates (glu, mish)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd.tensor import Tensor
from ..core.checks import dim_index, only_floats, tensors_only
from ..core.op import define
from ..core.registry import abbreviation, explained, in_formulas
from ..creation import empty_like, ones_like
from ..inplace import write
from ..join_split import cat
from ..math import logistic
from .activation import _elu_of


def _no_bool(args: tuple[Any, ...]) -> tuple[Any, ...]:
    if args[0]._array.dtype.kind == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    return args


hardtanh_op = define(
    "hardtanh(Tensor self, min_val, max_val)",
    lambda a, low, high: np.minimum(np.maximum(a, a.dtype.type(low)), a.dtype.type(high)),
    prepare=_no_bool,
    self="where(self <= min_val, 0.0, where(self >= max_val, 0.0, grad))",
    tangent="pointwise",
)
hardsigmoid_op = define(
    "hardsigmoid(Tensor self)",
    lambda a: np.minimum(np.maximum(a + 3, 0), 6) / 6,
    prepare=only_floats("hardsigmoid_cpu"),
    self="where(self > -3, where(self < 3, grad * 0.1666666716337204, 0.0), 0.0)",  # PyTorch's sixth, a float32
    tangent="pointwise",
)
hardswish_op = define(
    "hardswish(Tensor self)",
    lambda a: a * np.minimum(np.maximum(a + 3, 0), 6) / 6,
    prepare=only_floats("hardswish_cpu"),
    self="where(self <= -3, 0.0, where(self < 3, grad * (self / 3 + 0.5), grad))",
    tangent="pointwise",
)
abbreviation("outside(x, lambd, g)", "where(x < -lambd, g, where(x <= lambd, 0.0, g))")
hardshrink_op = define(
    "hardshrink(Tensor self, lambd)",
    lambda a, lambd: np.where((a >= -lambd) & (a <= lambd), a.dtype.type(0), a),
    prepare=only_floats("hardshrink_cpu"),
    self="outside(self, lambd, grad)",
    tangent="pointwise",
)
softshrink_op = define(
    "softshrink(Tensor self, lambd)",
    lambda a, lambd: a - np.minimum(np.maximum(a, a.dtype.type(-lambd)), a.dtype.type(lambd)),
    prepare=only_floats("softshrink_check"),
    self="outside(self, lambd, grad)",
    tangent="pointwise",
)


def _threshold_of(a: np.ndarray, threshold: float, value: float) -> np.ndarray:
    return np.where(a <= threshold, np.asarray(value).astype(a.dtype), a)


threshold_op, threshold_ = (
    define(
        f"{name}(Tensor self, threshold, value)",
        _threshold_of,
        node=f"ThresholdBackward{i}",
        prepare=only_floats("threshold_cpu", but="iu"),
        self="where(self <= threshold, 0.0, grad)",
        tangent="pointwise",
    )
    for i, name in enumerate(("threshold", "threshold_"))
)
mish_op = define(
    "mish(Tensor self)",
    lambda a: a * np.tanh(np.logaddexp(a, a.dtype.type(0))),
    prepare=only_floats("mish_cpu"),
    self="grad * (tanh(softplus(self, 1, 20)) + self * sigmoid(self) * (1 - tanh(softplus(self, 1, 20)) ** 2))",
    tangent="pointwise",
)
celu_op = define(
    "celu(Tensor self, alpha)",
    lambda a, alpha: _elu_of(a, alpha, 1, 1 / alpha),
    prepare=only_floats("elu_cpu"),
    self="where(self <= 0, grad * exp(negative(self) / alpha), grad)",
    tangent="pointwise",
)
celu_ = define(  # in place, the input is gone and the derivative uses the result
    "celu_(Tensor self, alpha)",
    celu_op.op.forward,
    node="CeluBackward1",
    prepare=celu_op.op.prepare,
    self="where(result <= 0, grad * (result + same_sign('elu', alpha)) / alpha, grad)",
    tangent="pointwise",
)
in_formulas("half", lambda x, which, dim: np.split(x, 2, dim)[which], lambda x, which, dim: x.chunk(2, dim)[which])
in_formulas("joined", lambda a, b, dim: np.concatenate([a, b], dim), lambda a, b, dim: cat([a, b], dim))
abbreviation("gate_slope(x)", "sigmoid(x) * (1 - sigmoid(x))")


def _gated(a: np.ndarray, dim: int) -> np.ndarray:
    value, gate = np.split(a, 2, dim)
    return value * logistic(gate)


_glu = define(
    "glu(Tensor self, dim)",
    _gated,
    prepare=only_floats("glu_cpu"),
    self="joined(grad * sigmoid(half(self, 1, dim)), grad * half(self, 0, dim) * gate_slope(half(self, 1, dim)), dim)",
    tangent="half(self_t, 0, dim) * sigmoid(half(self, 1, dim)) "
    "+ half(self, 0, dim) * gate_slope(half(self, 1, dim)) * half(self_t, 1, dim)",
)
_prelu = define(
    "prelu_kernel(Tensor self, Tensor weight)",
    lambda a, weight: np.where(a > 0, a, weight * a),
    kind="tensors",
    prepare=only_floats("prelu_cpu"),
    self="where(self > 0, grad, weight * grad)",
    weight="where(self > 0, 0.0, self * grad)",
    tangent="where(self > 0, self_t, weight * self_t) + where(self > 0, 0.0, self * weight_t)",
)
explained("slope_of(x, noise)", "noise, the slope at each element of x")
in_formulas("slope_of", lambda x, noise: noise)
_rrelu, _rrelu_ = (
    define(
        f"{name}(Tensor self, Kept noise)",
        np.multiply,
        node=f"RreluWithNoiseBackward{i}",
        batch="pointwise",
        self=f"grad * slope_of({read}, noise)",  # which only saves that tensor, as PyTorch does
        tangent="linear",
    )
    for i, (name, read) in enumerate((("rrelu_with_noise", "self"), ("rrelu_with_noise_", "result")))
)


@tensors_only()
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Return each element, limited to the range from `min_val` to `max_val`.

    The gradient of an element outside the range or at a limit is 0.
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return write(input, "hardtanh_", hardtanh_op, min_val, max_val) if inplace else hardtanh_op(input, min_val, max_val)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Return each element, limited to the range from 0 to 6.

    The gradient of an element outside the range or at a limit is 0.
    """
    return hardtanh(input, 0.0, 6.0, inplace)


@tensors_only()
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Return `(x + 3) / 6` for each element x, limited to the range from 0 to 1."""
    return write(input, "hardsigmoid_", hardsigmoid_op) if inplace else hardsigmoid_op(input)


@tensors_only()
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return `x * hardsigmoid(x)` for each element x."""
    return write(input, "hardswish_", hardswish_op) if inplace else hardswish_op(input)


@tensors_only()
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return the input, with each element from `-lambd` to `lambd` replaced by 0."""
    return hardshrink_op(input, lambd)


@tensors_only()
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return each element moved toward 0 by `lambd`, and 0 for elements from `-lambd` to `lambd`."""
    only_floats("softshrink_check")((input,))
    if lambd < 0:
        largest = np.finfo(input._array.dtype).max
        raise RuntimeError(
            f"lambda must be in range [0, {largest:g}] for input dtype {input.dtype.word}, but found {lambd:g}"
        )
    return softshrink_op(input, lambd)


@tensors_only()
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Return a copy with each element that isn't above `threshold` replaced by `value`.

    The result has the shape of the input. The gradient of an element that was replaced is 0.
    """
    if inplace:
        return write(input, "threshold_", threshold_, threshold, value)
    return threshold_op(input, threshold, value)


@tensors_only()
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return `x * tanh(softplus(x))` for each element x, where `softplus(x)` is `log(1 + exp(x))`."""
    return write(input, "mish_", mish_op) if inplace else mish_op(input)


@tensors_only()
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return x for each element x above 0, and `alpha * (exp(x / alpha) - 1)` for the others."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return write(input, "celu_", celu_, alpha) if inplace else celu_op(input, alpha)


@tensors_only()
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return the first half of the elements along `dim`, times the sigmoid of the second half."""
    if not input._array.ndim:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    dim = dim_index(dim, input._array.ndim)
    if input._array.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {input._array.shape[dim]}")
    return _glu(input, dim)


@tensors_only()
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return x for each element x above 0, and `weight * x` for the others.

    Args:
        weight: A tensor with one slope, or with one slope for each channel (the second dimension).
            It is usually a parameter.
    """
    ndim, count = input._array.ndim, weight._array.size
    if weight._array.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight._array.ndim}"
        )
    if count != 1:
        if not ndim:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input._array.shape[1] if ndim > 1 else 1
        if channels != count:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and channel "
                f"size = {channels}."
            )
    if input.dtype is not weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype.word} and {weight.dtype.word}")
    if weight._array.ndim != ndim:
        shape = [1] * ndim
        if ndim > 1:
            shape[1] = count
        weight = weight.reshape(shape)
    return _prelu(input, weight)


@tensors_only()
def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Return x for each element x above 0, and `a * x` for the others, with random slopes a.

    If `training` is True, each a is drawn between `lower` and `upper`. Otherwise, it is the mean of
    the two.
    """
    only_floats("leaky_relu_cpu")((input,))
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    part = empty_like(input).uniform_(lower, upper) if training else ones_like(input) * ((lower + upper) / 2)
    noise = part.masked_fill_(input.detach() > 0, 1.0)
    return write(input, "rrelu_", _rrelu_, noise) if inplace else _rrelu(input, noise)
