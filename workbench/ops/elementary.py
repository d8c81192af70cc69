"""Elementary functions beyond the first ones: logarithms near 1, trigonometry, the error function, rounding."""

from __future__ import annotations

import functools
import math

import numpy as np

from ..autograd.tensor import Tensor
from .declare import define, in_formulas, method
from .powers import pow
from .refusals import only_floats

in_formulas("pi", math.pi, math.pi)

rsqrt = define(
    "RsqrtBackward0",
    "rsqrt(Tensor self)",
    lambda a: 1 / np.sqrt(a),
    kind="float",
    self="-0.5 * grad * result ** 3",
    samples="p(3)",
)
log1p = define("Log1PBackward0", "log1p(Tensor self)", np.log1p, kind="float", self="grad / (self + 1)", samples="p(3)")
expm1 = define(
    "Expm1Backward0", "expm1(Tensor self)", np.expm1, kind="float", self="grad * (result + 1)", samples="r(3)"
)
tan = define("TanBackward0", "tan(Tensor self)", np.tan, kind="float", self="grad * (1 + result ** 2)", samples="r(3)")
asin = define(
    "AsinBackward0",
    "asin(Tensor self)",
    np.arcsin,
    kind="float",
    self="grad * rsqrt(-self * self + 1)",
    samples="p(3) / 2.5",
)
acos = define(
    "AcosBackward0",
    "acos(Tensor self)",
    np.arccos,
    kind="float",
    self="grad * -rsqrt(-self * self + 1)",
    samples="p(3) / 2.5",
)
atan = define(
    "AtanBackward0", "atan(Tensor self)", np.arctan, kind="float", self="grad / (self * self + 1)", samples="r(3)"
)
sinh = define("SinhBackward0", "sinh(Tensor self)", np.sinh, kind="float", self="grad * cosh(self)", samples="r(3)")
cosh = define("CoshBackward0", "cosh(Tensor self)", np.cosh, kind="float", self="grad * sinh(self)", samples="r(3)")

STEPS, LAST, TERMS = 16, 6, 9  # erf's expansions: so many to a unit, none beyond 6 (where it is 1), so many terms


@functools.cache
def _taylor() -> list[np.ndarray]:
    """The Taylor coefficients of erf around 0, 1/16, 2/16 ... 6, highest power first.

    Its second derivative is -2 x times its first, which gives each coefficient from the two before.
    """
    x = np.arange(LAST * STEPS + 1) / STEPS
    terms = [np.array([math.erf(v) for v in x]), 2 / math.sqrt(math.pi) * np.exp(-x * x)]
    for n in range(TERMS - 1):
        terms.append(-2 * (x * (n + 1) * terms[n + 1] + n * terms[n]) / ((n + 1) * (n + 2)))
    return terms[::-1]


def _erf(a: np.ndarray) -> np.ndarray:
    """The error function, to the last bit or the one before: NumPy has none."""
    size = np.minimum(np.abs(a.astype(np.float64)), LAST)
    nearest = np.rint(np.fmin(size, LAST) * STEPS).astype(np.intp)  # fmin: an index for nan too
    step = size - nearest / STEPS
    out = np.zeros_like(step)
    for coefficients in _taylor():
        out = out * step + coefficients[nearest]
    return np.copysign(out, a).astype(a.dtype)


erf = define(
    "ErfBackward0",
    "erf(Tensor self)",
    _erf,
    kind="float",
    self="2 / pi ** 0.5 * exp(-(self ** 2)) * grad",
    samples="r(3); r()",
)

floor = define(
    "FloorBackward0",
    "floor(Tensor self)",
    np.floor,
    prepare=only_floats("floor_vml_cpu", but="iu"),
    self="zeros_like(grad)",
    tangent="pointwise",
    samples="r(3)",
)
ceil = define(
    "CeilBackward0",
    "ceil(Tensor self)",
    np.ceil,
    prepare=only_floats("ceil_vml_cpu", but="iu"),
    self="zeros_like(grad)",
    tangent="pointwise",
    samples="r(3)",
)
trunc = define(
    "TruncBackward0",
    "trunc(Tensor self)",
    np.trunc,
    prepare=only_floats("trunc_vml_cpu", but="iu"),
    self="zeros_like(grad)",
    tangent="pointwise",
    samples="r(3)",
)
_round = define(
    "RoundBackward0",
    "round(Tensor self)",
    np.round,
    prepare=only_floats("round_vml_cpu", but="iu"),
    self="zeros_like(grad)",
    tangent="pointwise",
    samples="r(3)",
)
_round_to = define(
    "RoundBackward1",
    "round_to(Tensor self, decimals)",
    np.round,
    prepare=lambda args: only_floats("round_cpu" if args[1] else "round_vml_cpu")(args),
    self="zeros_like(grad)",
    tangent="pointwise",
    samples="r(3), 1",
)


@method()
def square(self: Tensor) -> Tensor:
    """Each element times itself."""
    return pow(self, 2)


@method()
def round(self: Tensor, *, decimals: int | None = None) -> Tensor:
    """The nearest number with so many decimals, halves going to the even neighbour."""
    return _round(self) if decimals is None else _round_to(self, decimals)


for _function in (rsqrt, log1p, expm1, tan, asin, acos, atan, sinh, cosh, erf, floor, ceil, trunc):
    setattr(Tensor, _function.op.name, _function)
