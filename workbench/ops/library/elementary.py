"""Further elementary functions: rsqrt, log1p, expm1, tangents, inverse and hyperbolic functions, erf."""

from __future__ import annotations

import functools
import math

import numpy as np

from ..core.checks import FEW
from ..core.op import elementary
from ..core.registry import abbreviation, in_formulas

in_formulas("pi", math.pi)
abbreviation("scaled(g, weight)", "g if weight is None else g * weight")

rsqrt = elementary(
    "rsqrt", lambda a: 1.0 / np.sqrt(a), "-0.5 * grad * result ** 3", "Return `1 / sqrt(x)` for each element x."
)
log1p = elementary(
    "log1p", np.log1p, "grad / (self + 1)", "Return `log(1 + x)` for each element x, accurate even if x is near zero."
)
expm1 = elementary(
    "expm1", np.expm1, "grad * (result + 1)", "Return `exp(x) - 1` for each element x, accurate even if x is near zero."
)
tan = elementary("tan", np.tan, "grad * (1 + result ** 2)", "Return the tangent of each element, an angle in radians.")
asin = elementary(
    "asin",
    np.arcsin,
    "grad * rsqrt(-self * self + 1)",
    "Return the arc sine of each element: the angle in radians, -pi/2 to pi/2, with this sine.",
    also=("arcsin",),
)
acos = elementary(
    "acos",
    np.arccos,
    "grad * -rsqrt(-self * self + 1)",
    "Return the arc cosine of each element: the angle in radians, from 0 to pi, with this cosine.",
    also=("arccos",),
)
atan = elementary(
    "atan",
    np.arctan,
    "grad / (self * self + 1)",
    "Return the arc tangent of each element: the angle in radians, -pi/2 to pi/2, with this tangent.",
    also=("arctan",),
)
sinh = elementary("sinh", np.sinh, "grad * cosh(self)", "Return the hyperbolic sine of each element.")
cosh = elementary("cosh", np.cosh, "grad * sinh(self)", "Return the hyperbolic cosine of each element.")

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
    "erf",
    _erf,
    "2 / pi ** 0.5 * exp(-(self ** 2)) * grad",
    "Return the error function: 2 / sqrt(pi) times the integral of exp(-t²) from 0 to the element.",
)
