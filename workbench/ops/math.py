"""Elementary functions, element by element: exp, log, sin, sqrt, sigmoid, relu, and others."""

from __future__ import annotations

import numpy as np

from .. import errors
from .core.checks import no_mask, only_floats
from .core.op import define, elementary
from .core.registry import explained

exp = elementary("exp", np.exp, "grad * result", "Return e to the power of each element.")
log = elementary(
    "log", np.log, "grad / self", "Return the natural logarithm of each element: -inf for 0, nan for negative elements."
)
sin = elementary("sin", np.sin, "grad * cos(self)", "Return the sine of each element, an angle in radians.")
cos = elementary("cos", np.cos, "-grad * sin(self)", "Return the cosine of each element, an angle in radians.")
tanh = elementary(
    "tanh",
    np.tanh,
    "tanh_backward(grad, result)",
    "Return the hyperbolic tangent of each element: numbers between -1 and 1.\n\n"
    "Its derivative is `1 - result ** 2`, which is close to 0 for elements far from 0.",
)
define(
    "tanh_backward(Tensor grad_output, Tensor output)",
    lambda g, y: g * (1.0 - y * y),  # NumPy takes a float sooner than an int
    grad_output="tanh_backward(grad, output)",
    output="grad * (-2 * output * grad_output)",
    tangent="pointwise",
)
explained("tanh_backward(grad_output, output)", "grad_output * (1 - output ** 2)")
sqrt = elementary(
    "sqrt",
    np.sqrt,
    "grad / (2 * result)",
    "Return the square root of each element, nan for negative elements. At 0, the gradient is inf.",
)


def logistic(a: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-a)); 0 where the exponential is too large."""
    e = np.exp(-a)
    e += 1.0
    return np.reciprocal(e)


sigmoid = elementary(
    "sigmoid",
    logistic,
    "sigmoid_backward(grad, result)",
    "Return `1 / (1 + exp(-x))` for each element x: numbers between 0 and 1.\n\n"
    "The derivative is `result * (1 - result)`, which is at most 0.25.",
)
define(
    "sigmoid_backward(Tensor grad_output, Tensor output)",
    lambda g, y: g * (1.0 - y) * y,
    grad_output="sigmoid_backward(grad, output)",
    output="grad * (grad_output * (1 - 2 * output))",
    tangent="pointwise",
)
explained("sigmoid_backward(grad_output, output)", "grad_output * (1 - output) * output")
relu = define(
    "relu(Tensor self)",
    lambda a: np.maximum(a, 0.0 if a.dtype.kind == "f" else 0),
    meaning="Return `max(0, x)` for each element x.\n\n"
    "Positive elements receive the gradient unchanged; all others, including 0, receive 0.",
    prepare=no_mask(errors.BOOL_RELU),
    self="threshold_backward(grad, result)",
    tangent="pointwise",
    in_place=True,
)


def _threshold_backward(grad: np.ndarray, a: np.ndarray) -> np.ndarray:
    """0 where a <= 0, else grad: np.where needs four times as long where the signs are mixed."""
    bits = (np.asarray(a <= 0).view(BYTE) - ONE).astype(SIGNED[grad.itemsize])  # none set, or all
    return (grad.view(SIGNED[grad.itemsize]) & bits).view(grad.dtype)


BYTE = np.dtype(np.int8)
ONE = np.array(1, BYTE)
SIGNED = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}


define(
    "threshold_backward(Tensor grad_output, Tensor self)",
    _threshold_backward,
    grad_output="threshold_backward(grad, self)",
    self="zeros_like(grad)",
    tangent="pointwise",
)
explained("threshold_backward(grad_output, self)", "where(self <= 0, 0, grad_output)")
abs = define(
    "abs(Tensor self)",
    np.abs,
    meaning="Return the absolute value of each element. At 0, the gradient is 0.",
    prepare=only_floats("abs_cpu", but="iu"),
    self="grad * sign(self)",
    tangent="pointwise",
    out=errors.FOUND_DTYPE,
    in_place=True,
    also=("absolute",),
)


def _sign(a: np.ndarray) -> np.ndarray:
    """-1, 0 or 1; 0 for nan, of which NumPy says nan."""
    if a.dtype.kind == "b":
        return a.copy()
    out = np.sign(a)
    return np.nan_to_num(out) if a.dtype.kind == "f" else out


sign = define(
    "sign(Tensor self)",
    _sign,
    meaning="Return 1 for positive elements, -1 for negative ones and 0 for 0. The gradient is always 0.",
    self="zeros_like(grad)",
    tangent="pointwise",
    out=errors.FOUND_DTYPE,
    in_place=True,
)
