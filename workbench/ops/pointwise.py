"""Operations on each element by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from ..autograd.tensor import Tensor
from .declare import define, explained, method, operator
from .out import into
from .refusals import fitting_scale, lift, no_bools, no_mask, only_floats
from .shapes import python_number

_add = define(
    "AddBackward0",
    "add(Tensor self, Tensor other)",
    np.add,
    kind="pointwise",
    self="grad",
    other="grad",
    samples="r(3), r(3); r(2, 3), r(3); r(2, 1), r(1, 3); r(3), 2.5; r(), r(2)",
)
_add_scaled = define(
    "AddBackward0",
    "add_scaled(Tensor self, Tensor other, alpha)",
    lambda a, b, alpha: a + a.dtype.type(alpha) * b,
    kind="pointwise",
    prepare=lambda args: fitting_scale("add", args),
    self="grad",
    other="grad * alpha",
    samples="r(3), r(3), 2.5; r(2, 3), r(3), -1; r(3), 2.0, 3",
)


_sub = define(
    "SubBackward0",
    "sub(Tensor self, Tensor other)",
    np.subtract,
    kind="pointwise",
    prepare=no_bools,
    self="grad",
    other="-grad",
    samples="r(3), r(3); r(2, 3), r(3); r(3), 2.5; r(3), r(2, 3)",
)
_sub_scaled = define(
    "SubBackward0",
    "sub_scaled(Tensor self, Tensor other, alpha)",
    lambda a, b, alpha: a - a.dtype.type(alpha) * b,
    kind="pointwise",
    prepare=lambda args: fitting_scale("sub", no_bools(args)),
    self="grad",
    other="-grad * alpha",
    samples="r(3), r(3), 2.5; r(2, 3), r(3), -1",
)
_rsub = define(
    "RsubBackward1",
    "rsub(Tensor self, number)",
    lambda a, n: n - a,
    batch="pointwise",
    prepare=lambda args: lift(no_bools(args)),
    self="-grad",
    tangent="-self_t",
    samples="r(3), 2.0; r(3), 1",
)
mul = define(
    "MulBackward0",
    "mul(Tensor self, Tensor other)",
    np.multiply,
    kind="pointwise",
    self="grad * other",
    other="grad * self",
    samples="r(3), r(3); r(2, 3), r(3); r(2, 1), r(1, 3); r(3), 2.5; r(), r(2)",
)
div = define(
    "DivBackward0",
    "div(Tensor self, Tensor other)",
    np.true_divide,
    kind="float",
    self="grad / other",
    other="-grad * (self / other / other)",
    samples="r(3), p(3); r(2, 3), p(3); r(3), 2.5; r(2, 1), p(1, 3)",
)
neg = define(
    "NegBackward0",
    "neg(Tensor self)",
    np.negative,
    batch="pointwise",
    prepare=no_mask(errors.BOOL_NEG),
    self="-grad",
    samples="r(3)",
)
reciprocal = define(
    "ReciprocalBackward0",
    "reciprocal(Tensor self)",
    np.reciprocal,
    kind="float",
    self="-grad * (result * result)",
    samples="p(3)",
)
exp = define("ExpBackward0", "exp(Tensor self)", np.exp, kind="float", self="grad * result", samples="r(3); r(2, 3)")
log = define("LogBackward0", "log(Tensor self)", np.log, kind="float", self="grad / self", samples="p(3)")
sin = define("SinBackward0", "sin(Tensor self)", np.sin, kind="float", self="grad * cos(self)", samples="r(3); r()")
cos = define("CosBackward0", "cos(Tensor self)", np.cos, kind="float", self="-grad * sin(self)", samples="r(3)")
tanh = define(
    "TanhBackward0",
    "tanh(Tensor self)",
    np.tanh,
    kind="float",
    self="tanh_backward(grad, result)",
    samples="r(3)",
)
define(
    "TanhBackwardBackward0",
    "tanh_backward(Tensor grad_output, Tensor output)",
    lambda g, y: g * (1 - y * y),
    grad_output="tanh_backward(grad, output)",
    output="grad * (-2 * output * grad_output)",
    tangent="pointwise",
    samples="r(3), r(3)",
)
explained("tanh_backward(grad_output, output)", "grad_output * (1 - output ** 2)")
sqrt = define("SqrtBackward0", "sqrt(Tensor self)", np.sqrt, kind="float", self="grad / (2 * result)", samples="p(3)")
sigmoid = define(
    "SigmoidBackward0",
    "sigmoid(Tensor self)",
    lambda a: 0.5 * (np.tanh(0.5 * a) + 1),  # the same as 1 / (1 + exp(-a)), and cannot overflow
    kind="float",
    self="sigmoid_backward(grad, result)",
    samples="r(3)",
)
define(
    "SigmoidBackwardBackward0",
    "sigmoid_backward(Tensor grad_output, Tensor output)",
    lambda g, y: g * (1 - y) * y,
    grad_output="sigmoid_backward(grad, output)",
    output="grad * (grad_output * (1 - 2 * output))",
    tangent="pointwise",
    samples="r(3), r(3)",
)
explained("sigmoid_backward(grad_output, output)", "grad_output * (1 - output) * output")
relu = define(
    "ReluBackward0",
    "relu(Tensor self)",
    lambda a: np.maximum(a, a.dtype.type(0)),
    prepare=no_mask(errors.BOOL_RELU),
    self="threshold_backward(grad, result)",
    tangent="pointwise",
    samples="r(3); r(2, 3)",
)


def _threshold_backward(grad: np.ndarray, a: np.ndarray) -> np.ndarray:
    """0 where a <= 0, else grad: np.where needs four times as long where the signs are mixed."""
    bits = np.asarray(a <= 0).view(np.int8) - np.int8(1)  # none set, or all
    return (grad.view(f"i{grad.itemsize}") & bits).view(grad.dtype)


define(
    "ThresholdBackwardBackward0",
    "threshold_backward(Tensor grad_output, Tensor self)",
    _threshold_backward,
    grad_output="threshold_backward(grad, self)",
    self="zeros_like(grad)",
    tangent="pointwise",
    samples="r(3), r(3)",
)
explained("threshold_backward(grad_output, self)", "where(self <= 0, 0, grad_output)")
abs = define(
    "AbsBackward0",
    "abs(Tensor self)",
    np.abs,
    prepare=only_floats("abs_cpu", but="iu"),
    self="grad * sign(self)",
    tangent="pointwise",
    samples="r(3)",
)


def _sign(a: np.ndarray) -> np.ndarray:
    """-1, 0 or 1; 0 for nan, of which NumPy says nan."""
    if a.dtype.kind == "b":
        return a.copy()
    out = np.sign(a)
    return np.nan_to_num(out) if a.dtype.kind == "f" else out


sign = define(
    "SignBackward0",
    "sign(Tensor self)",
    _sign,
    self="zeros_like(grad)",
    tangent="pointwise",
    samples="r(3)",
)


def add(input: Tensor, other: Any, *, alpha: float = 1, out: Tensor | None = None) -> Tensor:
    """input + alpha * other."""
    if out is not None:
        return into("add", out, add, input, other, alpha=alpha)
    return _add(input, other) if alpha == 1 else _add_scaled(input, other, alpha)


def sub(input: Tensor, other: Any, *, alpha: float = 1, out: Tensor | None = None) -> Tensor:
    """input - alpha * other; RuntimeError for two bool tensors."""
    if out is not None:
        return into("sub", out, sub, input, other, alpha=alpha)
    return _sub(input, other) if alpha == 1 else _sub_scaled(input, other, alpha)


Tensor.add, Tensor.sub = add, sub


@method("__rsub__")
def rsub(self: Tensor, other: Any) -> Tensor:
    """other - self."""
    other = python_number(other)
    if isinstance(other, bool):
        no_bools((other, self))
    return _rsub(self, other) if isinstance(other, (int, float)) else NotImplemented


@method("__rtruediv__")
def _rdiv(self: Tensor, other: Any) -> Tensor:
    other = python_number(other)
    return mul(reciprocal(self), other) if isinstance(other, (int, float)) else NotImplemented


for _function in (
    mul,
    neg,
    reciprocal,
    exp,
    log,
    sin,
    cos,
    tanh,
    sqrt,
    sigmoid,
    relu,
    abs,
    sign,
):
    setattr(Tensor, _function.op.name, _function)

Tensor.__add__ = Tensor.__radd__ = operator(_add)
Tensor.__mul__ = Tensor.__rmul__ = operator(mul)
Tensor.__sub__ = operator(_sub)
Tensor.__truediv__ = operator(div)
Tensor.__neg__ = neg
Tensor.__abs__ = abs
Tensor.__pos__ = lambda self: no_mask(errors.BOOL_POS)((self,))[0]
