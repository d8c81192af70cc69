"""Further elementary functions: rsqrt, log1p, expm1, tangents, inverse and hyperbolic functions, erf."""

from __future__ import annotations

import functools
import math

import numpy as np

from ..core.checks import FEW
from ..core.registry import abbreviation, in_formulas
from ..math import elementary

in_formulas("pi", math.pi, math.pi)
abbreviation("scaled(g, weight)", "g if weight is None else g * weight")

rsqrt = elementary(
    "RsqrtBackward0",
    "rsqrt(Tensor self)",
    lambda a: 1.0 / np.sqrt(a),
    meaning="Return `1 / sqrt(x)` for each element x.",
    self="-0.5 * grad * result ** 3",
    samples="p(3)",
)
log1p = elementary(
    "Log1PBackward0",
    "log1p(Tensor self)",
    np.log1p,
    meaning="Return `log(1 + x)` for each element x, accurate even if x is near zero.",
    self="grad / (self + 1)",
    samples="p(3)",
)
expm1 = elementary(
    "Expm1Backward0",
    "expm1(Tensor self)",
    np.expm1,
    meaning="Return `exp(x) - 1` for each element x, accurate even if x is near zero.",
    self="grad * (result + 1)",
    samples="r(3)",
)
tan = elementary(
    "TanBackward0",
    "tan(Tensor self)",
    np.tan,
    meaning="Return the tangent of each element, an angle in radians.",
    self="grad * (1 + result ** 2)",
    samples="r(3)",
)
asin = elementary(
    "AsinBackward0",
    "asin(Tensor self)",
    np.arcsin,
    meaning="Return the arc sine of each element: the angle in radians, -pi/2 to pi/2, with this sine.",
    self="grad * rsqrt(-self * self + 1)",
    samples="p(3) / 2.5",
    also=("arcsin",),
)
acos = elementary(
    "AcosBackward0",
    "acos(Tensor self)",
    np.arccos,
    meaning="Return the arc cosine of each element: the angle in radians, from 0 to pi, with this cosine.",
    self="grad * -rsqrt(-self * self + 1)",
    samples="p(3) / 2.5",
    also=("arccos",),
)
atan = elementary(
    "AtanBackward0",
    "atan(Tensor self)",
    np.arctan,
    meaning="Return the arc tangent of each element: the angle in radians, -pi/2 to pi/2, with this tangent.",
    self="grad / (self * self + 1)",
    samples="r(3)",
    also=("arctan",),
)
sinh = elementary(
    "SinhBackward0",
    "sinh(Tensor self)",
    np.sinh,
    meaning="Return the hyperbolic sine of each element.",
    self="grad * cosh(self)",
    samples="r(3)",
)
cosh = elementary(
    "CoshBackward0",
    "cosh(Tensor self)",
    np.cosh,
    meaning="Return the hyperbolic cosine of each element.",
    self="grad * sinh(self)",
    samples="r(3)",
)

STEPS = 16  # expansions of erf in one unit
LAST = 6  # beyond which erf is 1
TERMS = 9  # of an expansion


@functools.cache
def _taylor() -> list[np.ndarray]:
    """Return the Taylor coefficients of erf around 0, 1/16, 2/16 ... 6, highest power first.

    Its second derivative is -2 x times its first, which gives each coefficient from the two before.
    """
    x = np.arange(LAST * STEPS + 1.0) / STEPS
    terms = [np.array([math.erf(v) for v in x]), 2 / math.sqrt(math.pi) * np.exp(-x * x)]
    for n in range(TERMS - 1):
        terms.append(-2 * (x * (n + 1) * terms[n + 1] + n * terms[n]) / ((n + 1) * (n + 2)))
    return terms[::-1]


def _erf(a: np.ndarray) -> np.ndarray:
    """Return the error function, to the last bit or the one before: NumPy has none."""
    if a.size <= FEW and a.flags.c_contiguous:
        return np.fromiter(map(math.erf, a.ravel().tolist()), a.dtype, a.size).reshape(a.shape)
    size = np.minimum(np.abs(a.astype(np.float64)), LAST)
    nearest = np.rint(np.fmin(size, LAST) * STEPS).astype(np.intp)  # fmin: an index for nan too
    step = size - nearest / STEPS
    out = np.zeros_like(step)
    for coefficients in _taylor():
        out = out * step + coefficients[nearest]
    return np.copysign(out, a).astype(a.dtype)


erf = elementary(
    "ErfBackward0",
    "erf(Tensor self)",
    _erf,
    meaning="Return the error function: 2 / sqrt(pi) times the integral of exp(-t²) from 0 to the element.",
    self="2 / pi ** 0.5 * exp(-(self ** 2)) * grad",
    samples="r(3); r()",
)
