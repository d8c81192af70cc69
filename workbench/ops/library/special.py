"""Further functions of each element: other logarithms and powers, inverse hyperbolic functions, angles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import errors
from ...autograd import dtypes
from ...autograd.tensor import Tensor
from ..complex import own
from ..core.checks import number_of, only_floats
from ..core.op import define, elementary, operation
from ..core.registry import abbreviation, in_formulas
from ..core.results import into

OUT_DTYPE = "nan_to_num: dtype of out: {0} should be same as input: {1}"
in_formulas("ln2", math.log(2))
in_formulas("ln10", math.log(10))
exp2 = elementary("exp2", np.exp2, "grad * (result * ln2)", "Return 2 to the power of each element.")
log2 = elementary("log2", np.log2, "grad / (self * ln2)", "Return the logarithm of each element to base 2.")
log10 = elementary("log10", np.log10, "grad / (self * ln10)", "Return the logarithm of each element to base 10.")
asinh = elementary(
    "asinh",
    np.arcsinh,
    "grad * rsqrt(self * self + 1)",
    "Return the inverse hyperbolic sine of each element x: the number y with `sinh(y) = x`.",
    also=("arcsinh",),
)
acosh = elementary(
    "acosh",
    np.arccosh,
    "grad * rsqrt(self * self - 1)",
    "Return the inverse hyperbolic cosine of each element x: the number y >= 0 with `cosh(y) = x`.",
    also=("arccosh",),
)
own(
    "acosh",
    "acosh_of_complex(Tensor self)",
    np.arccosh,
    node="AcoshBackward0",
    self="grad * (rsqrt(self - 1) * rsqrt(self + 1))",
    tangent="pointwise",
)
atanh = elementary(
    "atanh",
    np.arctanh,
    "grad / (1 - self * self)",
    "Return the inverse hyperbolic tangent of each element x: the number y with `tanh(y) = x`.",
    also=("arctanh",),
)
erfc = elementary(
    "erfc",
    lambda a: np.fromiter(map(math.erfc, a.ravel().tolist()), a.dtype, a.size).reshape(a.shape),
    "-2 / pi ** 0.5 * exp(-(self ** 2)) * grad",
    "Return `1 - erf(x)` for each element x, accurate even if `erf(x)` is close to 1.",
)
abbreviation("sinc_slope(x, y)", "(y * cos(y) - sin(y)) / (x * y)")
sinc = elementary(
    "sinc",
    np.sinc,
    "where(self * self * pi == 0, 0.0, grad * sinc_slope(self, self * pi))",
    "Return `sin(pi * x) / (pi * x)` for each element x, and 1 where x is 0.",
)
frac = define(
    "frac(Tensor self)",
    lambda a: a - np.trunc(a),
    meaning="Return the fractional part of each element, `x - trunc(x)`.",
    batch="pointwise",
    prepare=only_floats("frac_cpu"),
    self="grad",
    tangent="self_t",
    out=errors.FOUND_DTYPE,
    in_place=True,
)
deg2rad, rad2deg = (
    elementary(name, lambda a, factor=factor: a * factor, f"grad * {factor!r}", meaning)
    for name, factor, meaning in (
        ("deg2rad", math.pi / 180, "Convert each element from degrees to radians."),
        ("rad2deg", 180 / math.pi, "Convert each element from radians to degrees."),
    )
)
abbreviation("reciprocal_or_0(x)", "where(x == 0, 0.0, 1 / x)")
atan2 = define(
    "atan2(Tensor self, Tensor other)",
    np.arctan2,
    meaning="Return the angle of each point with x = `other` and y = `input`, in radians from -pi to pi.",
    kind="float",
    self="grad * other * reciprocal_or_0(self * self + other * other)",  # also where the squares are too small
    other="grad * -self * reciprocal_or_0(self * self + other * other)",
    out=True,
    in_place=True,
    also=("arctan2",),
)


def _of_floats(kernel: str, ufunc: np.ufunc) -> Callable[..., np.ndarray]:
    def compute(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.dtype.kind != "f":
            raise NotImplementedError(errors.NO_KERNEL.format(kernel, dtypes.of(a).word))
        return ufunc(a, b)

    return compute


hypot = define(
    "hypot(Tensor self, Tensor other)",
    _of_floats("hypot_cpu", np.hypot),
    meaning="Return `sqrt(input**2 + other**2)`, element by element.",
    kind="tensors",
    self="grad * (self / result)",
    other="grad * (other / result)",
    out=True,
    in_place=True,
)
logaddexp = define(
    "logaddexp(Tensor self, Tensor other)",
    _of_floats("logaddexp_cpu", np.logaddexp),
    meaning="Return `log(exp(input) + exp(other))` without overflow, element by element.",
    kind="tensors",
    self="grad / (1 + exp(other - self))",
    other="grad / (1 + exp(self - other))",
    out=True,
)
logaddexp2 = define(
    "logaddexp2(Tensor self, Tensor other)",
    _of_floats("logaddexp2_cpu", np.logaddexp2),
    meaning="Return `log2(2**input + 2**other)` without overflow, element by element.",
    kind="tensors",
    self="grad / (1 + 2 ** (other - self))",
    other="grad / (1 + 2 ** (self - other))",
    out=True,
)
_copysign = define(
    "copysign_tensors(Tensor self, Tensor other)",
    np.copysign,
    node="CopysignBackward0",
    kind="float",
    self="grad * where(self == 0, 0.0, result / self)",
    other="zeros_like(grad)",
)
_copysign_number = define(
    "copysign_number(Tensor self, other)",
    lambda a, other: np.copysign(a, a.dtype.type(other)),
    node="CopysignBackward1",
    self="grad * where(self == 0, 0.0, result / self)",
    tangent="pointwise",
)


@operation(in_place=True)
def copysign(self: Tensor, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Return each element with the sign of `other`, a tensor or a number; -0.0 is negative."""
    if out is not None:
        return into("copysign", out, copysign, self, other)
    if isinstance(other, Tensor):
        return _copysign(self, other)
    floats = self if self.is_floating_point() else self.to(dtypes.get_default_dtype())
    return _copysign_number(floats, number_of("copysign", "other", 1, other))


_nan_to_num = define(
    "nan_to_num(Tensor self, nan, posinf, neginf)",
    lambda a, nan, posinf, neginf: np.nan_to_num(a, nan=nan or 0.0, posinf=posinf, neginf=neginf),
    self="where(isfinite(self), grad, 0)",
    tangent="pointwise",
)


@operation(in_place=True)
def nan_to_num(
    self: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return a copy with nan, inf and -inf replaced by numbers.

    The gradient of an element that was replaced is 0.

    Args:
        nan: The number for nan; 0 by default.
        posinf: The number for inf; by default the largest number of the dtype.
        neginf: The number for -inf; by default the lowest number of the dtype.
    """
    if out is not None:
        return into("nan_to_num", out, nan_to_num, self, nan, posinf, neginf, exact=OUT_DTYPE)
    given = [
        n if n is None else number_of("nan_to_num", name, position, n)
        for position, (name, n) in enumerate((("nan", nan), ("posinf", posinf), ("neginf", neginf)), 1)
    ]
    return _nan_to_num(self, *given)
