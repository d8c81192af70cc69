"""Further functions of each element: other logarithms and powers, inverse hyperbolic functions, angles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import errors
from ...autograd import dtypes
from ...autograd.tensor import Tensor
from ..core.checks import number_of, only_floats
from ..core.op import define, operation
from ..core.registry import abbreviation, in_formulas
from ..core.results import into
from ..math import elementary

OUT_DTYPE = "nan_to_num: dtype of out: {0} should be same as input: {1}"
in_formulas("ln2", math.log(2), math.log(2))
in_formulas("ln10", math.log(10), math.log(10))
exp2 = elementary(
    "Exp2Backward0",
    "exp2(Tensor self)",
    np.exp2,
    meaning="Return 2 to the power of each element.",
    self="grad * (result * ln2)",
    samples="r(3)",
)
log2 = elementary(
    "Log2Backward0",
    "log2(Tensor self)",
    np.log2,
    meaning="Return the logarithm of each element to base 2.",
    self="grad / (self * ln2)",
    samples="p(3)",
)
log10 = elementary(
    "Log10Backward0",
    "log10(Tensor self)",
    np.log10,
    meaning="Return the logarithm of each element to base 10.",
    self="grad / (self * ln10)",
    samples="p(3)",
)
asinh = elementary(
    "AsinhBackward0",
    "asinh(Tensor self)",
    np.arcsinh,
    meaning="Return the inverse hyperbolic sine of each element x: the number y with `sinh(y) = x`.",
    self="grad * rsqrt(self * self + 1)",
    samples="r(3)",
    also=("arcsinh",),
)
acosh = elementary(
    "AcoshBackward0",
    "acosh(Tensor self)",
    np.arccosh,
    meaning="Return the inverse hyperbolic cosine of each element x: the number y >= 0 with `cosh(y) = x`.",
    self="grad * rsqrt(self * self - 1)",
    samples="p(3) + 1",
    also=("arccosh",),
)
atanh = elementary(
    "AtanhBackward0",
    "atanh(Tensor self)",
    np.arctanh,
    meaning="Return the inverse hyperbolic tangent of each element x: the number y with `tanh(y) = x`.",
    self="grad / (1 - self * self)",
    samples="p(3) / 2.5",
    also=("arctanh",),
)
erfc = elementary(
    "ErfcBackward0",
    "erfc(Tensor self)",
    lambda a: np.fromiter(map(math.erfc, a.ravel().tolist()), a.dtype, a.size).reshape(a.shape),
    meaning="Return `1 - erf(x)` for each element x, accurate even if `erf(x)` is close to 1.",
    self="-2 / pi ** 0.5 * exp(-(self ** 2)) * grad",
    samples="r(3); r()",
)
abbreviation("sinc_slope(x, y)", "(y * cos(y) - sin(y)) / (x * y)")
sinc = elementary(
    "SincBackward0",
    "sinc(Tensor self)",
    np.sinc,
    meaning="Return `sin(pi * x) / (pi * x)` for each element x, and 1 where x is 0.",
    self="where(self * self * pi == 0, 0.0, grad * sinc_slope(self, self * pi))",
    samples="r(3); r()",
)
frac = define(
    "FracBackward0",
    "frac(Tensor self)",
    lambda a: a - np.trunc(a),
    meaning="Return the fractional part of each element, `x - trunc(x)`.",
    batch="pointwise",
    prepare=only_floats("frac_cpu"),
    self="grad",
    tangent="self_t",
    samples="r(3)",
    out=errors.FOUND_DTYPE,
    in_place=True,
)
deg2rad, rad2deg = (
    elementary(
        node,
        f"{name}(Tensor self)",
        lambda a, factor=factor: a * factor,
        meaning=meaning,
        self=f"grad * {factor!r}",
        tangent="pointwise",
        samples="r(3)",
    )
    for node, name, factor, meaning in (
        ("Deg2RadBackward0", "deg2rad", math.pi / 180, "Convert each element from degrees to radians."),
        ("Rad2DegBackward0", "rad2deg", 180 / math.pi, "Convert each element from radians to degrees."),
    )
)
abbreviation("reciprocal_or_0(x)", "where(x == 0, 0.0, 1 / x)")
atan2 = define(
    "Atan2Backward0",
    "atan2(Tensor self, Tensor other)",
    np.arctan2,
    meaning="Return the angle of each point with x = `other` and y = `input`, in radians from -pi to pi.",
    kind="float",
    self="grad * other * reciprocal_or_0(self * self + other * other)",  # also where the squares are too small
    other="grad * -self * reciprocal_or_0(self * self + other * other)",
    samples="r(3), p(3); r(2, 3), p(3)",
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
    "HypotBackward0",
    "hypot(Tensor self, Tensor other)",
    _of_floats("hypot_cpu", np.hypot),
    meaning="Return `sqrt(input**2 + other**2)`, element by element.",
    kind="tensors",
    self="grad * (self / result)",
    other="grad * (other / result)",
    samples="r(3), p(3); r(2, 3), p(3)",
    out=True,
    in_place=True,
)
logaddexp = define(
    "LogaddexpBackward0",
    "logaddexp(Tensor self, Tensor other)",
    _of_floats("logaddexp_cpu", np.logaddexp),
    meaning="Return `log(exp(input) + exp(other))` without overflow, element by element.",
    kind="tensors",
    self="grad / (1 + exp(other - self))",
    other="grad / (1 + exp(self - other))",
    samples="r(3), r(3); r(2, 3), r(3)",
    out=True,
)
logaddexp2 = define(
    "Logaddexp2Backward0",
    "logaddexp2(Tensor self, Tensor other)",
    _of_floats("logaddexp2_cpu", np.logaddexp2),
    meaning="Return `log2(2**input + 2**other)` without overflow, element by element.",
    kind="tensors",
    self="grad / (1 + 2 ** (other - self))",
    other="grad / (1 + 2 ** (self - other))",
    samples="r(3), r(3); r(2, 3), r(3)",
    out=True,
)
_copysign = define(
    "CopysignBackward0",
    "copysign_tensors(Tensor self, Tensor other)",
    np.copysign,
    kind="float",
    self="grad * where(self == 0, 0.0, result / self)",
    other="zeros_like(grad)",
    samples="r(3), r(3); r(2, 3), r(3)",
)
_copysign_number = define(
    "CopysignBackward1",
    "copysign_number(Tensor self, other)",
    lambda a, other: np.copysign(a, a.dtype.type(other)),
    self="grad * where(self == 0, 0.0, result / self)",
    tangent="pointwise",
    samples="r(3), -2.0; r(2, 3), 0",
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
    "NanToNumBackward0",
    "nan_to_num(Tensor self, nan, posinf, neginf)",
    lambda a, nan, posinf, neginf: np.nan_to_num(a, nan=nan or 0.0, posinf=posinf, neginf=neginf),
    self="where(isfinite(self), grad, 0)",
    tangent="pointwise",
    samples="r(3), None, None, None; r(3), 1.0, 2.0, 3.0",
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
