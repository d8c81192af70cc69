"""Arithmetic and elementary functions, element by element."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.tensor import Tensor
from ..errors import kind_of, warn
from .comparison import where_
from .core.checks import (
    FEW,
    called_as,
    fitting,
    fitting_scale,
    named,
    no_bools,
    no_mask,
    not_a_tensor,
    number_of,
    one_number,
    only_floats,
    promoted,
    python_number,
)
from .core.op import define, method, operation, operator
from .core.registry import abbreviation, explained, in_formulas
from .core.results import in_rows, into
from .core.scalars import SCALARS

elementary = functools.partial(define, kind="float", out=True, in_place=True)  # a function of one number


def _factor_of(a: np.ndarray, alpha: float) -> np.generic:
    """Return the number in the array's dtype, which must be able to hold it: among bytes -1 is 255."""
    return a.dtype.type(fitting(alpha, dtypes.of(a)))


_add = define(
    "AddBackward0",
    "add(Tensor self, Tensor other)",
    np.add,
    kind="pointwise",
    meaning="Return `input + other`, element by element.",
    self="grad",
    other="grad",
    samples="r(3), r(3); r(2, 3), r(3); r(2, 1), r(1, 3); r(3), 2.5; r(), r(2)",
)
_add_scaled = define(
    "AddBackward0",
    "add_scaled(Tensor self, Tensor other, alpha)",
    lambda a, b, alpha: a + (a.dtype.type(alpha) if a.dtype.kind == "f" else _factor_of(a, alpha)) * b,
    kind="pointwise",
    prepare=fitting_scale,
    self="grad",
    other="grad * alpha",
    samples="r(3), r(3), 2.5; r(2, 3), r(3), -1; r(3), 2.0, 3",
)


_sub = define(
    "SubBackward0",
    "sub(Tensor self, Tensor other)",
    np.subtract,
    kind="pointwise",
    meaning="Return `input - other`, element by element.",
    prepare=no_bools,
    self="grad",
    other="-grad",
    samples="r(3), r(3); r(2, 3), r(3); r(3), 2.5; r(3), r(2, 3)",
)
_sub_scaled = define(
    "SubBackward0",
    "sub_scaled(Tensor self, Tensor other, alpha)",
    lambda a, b, alpha: a - (a.dtype.type(alpha) if a.dtype.kind == "f" else _factor_of(a, alpha)) * b,
    kind="pointwise",
    prepare=lambda args: fitting_scale(no_bools(args)),
    self="grad",
    other="-grad * alpha",
    samples="r(3), r(3), 2.5; r(2, 3), r(3), -1",
)
_rsub = define(
    "RsubBackward1",
    "rsub(Tensor self, number)",
    lambda a, n: SCALARS[type(n)][a.dtype][n] - a,
    batch="pointwise",
    prepare=lambda args: promoted(no_bools(args)),
    self="-grad",
    tangent="-self_t",
    samples="r(3), 2.0; r(3), 1",
)
_rsub_tensors = define(
    "RsubBackward0",
    "rsub_tensors(Tensor self, Tensor other)",
    lambda a, b: np.subtract(b, a),
    kind="pointwise",
    self="-grad",
    other="grad",
    tangent="-self_t + other_t",
    samples="r(3), r(3); r(2, 3), r(3)",
)
mul = define(
    "MulBackward0",
    "mul(Tensor self, Tensor other)",
    np.multiply,
    meaning="Return `input * other`, element by element.",
    kind="pointwise",
    self="grad * other",
    other="grad * self",
    samples="r(3), r(3); r(2, 3), r(3); r(2, 1), r(1, 3); r(3), 2.5; r(), r(2)",
    out=True,
    in_place=True,
    also=("multiply",),
)
true_div = define(
    "DivBackward0",
    "div(Tensor self, Tensor other)",
    np.true_divide,
    kind="float",
    meaning="Return `input / other`, element by element.",
    self="grad / other",
    other="-grad * (self / other / other)",
    samples="r(3), p(3); r(2, 3), p(3); r(3), 2.5; r(2, 1), p(1, 3)",
)
neg = define(
    "NegBackward0",
    "neg(Tensor self)",
    np.negative,
    meaning="Return `-x` for each element x.",
    batch="pointwise",
    prepare=no_mask(errors.BOOL_NEG),
    self="-grad",
    samples="r(3)",
    out=errors.FOUND_DTYPE,
    in_place=True,
    also=("negative",),
)
reciprocal = elementary(
    "ReciprocalBackward0",
    "reciprocal(Tensor self)",
    np.reciprocal,
    meaning="Return `1 / x` for each element x.",
    self="-grad * (result * result)",
    samples="p(3)",
)
exp = elementary(
    "ExpBackward0",
    "exp(Tensor self)",
    np.exp,
    meaning="Return e to the power of each element.",
    self="grad * result",
    samples="r(3); r(2, 3)",
)
log = elementary(
    "LogBackward0",
    "log(Tensor self)",
    np.log,
    meaning="Return the natural logarithm of each element: -inf for 0, nan for negative elements.",
    self="grad / self",
    samples="p(3)",
)
sin = elementary(
    "SinBackward0",
    "sin(Tensor self)",
    np.sin,
    meaning="Return the sine of each element, an angle in radians.",
    self="grad * cos(self)",
    samples="r(3); r()",
)
cos = elementary(
    "CosBackward0",
    "cos(Tensor self)",
    np.cos,
    meaning="Return the cosine of each element, an angle in radians.",
    self="-grad * sin(self)",
    samples="r(3)",
)
tanh = elementary(
    "TanhBackward0",
    "tanh(Tensor self)",
    np.tanh,
    meaning="Return the hyperbolic tangent of each element: numbers between -1 and 1.\n\n"
    "Its derivative is `1 - result ** 2`, which is close to 0 for elements far from 0.",
    self="tanh_backward(grad, result)",
    samples="r(3)",
)
define(
    "TanhBackwardBackward0",
    "tanh_backward(Tensor grad_output, Tensor output)",
    lambda g, y: g * (1.0 - y * y),  # NumPy takes a float sooner than an int
    grad_output="tanh_backward(grad, output)",
    output="grad * (-2 * output * grad_output)",
    tangent="pointwise",
    samples="r(3), r(3)",
)
explained("tanh_backward(grad_output, output)", "grad_output * (1 - output ** 2)")
sqrt = elementary(
    "SqrtBackward0",
    "sqrt(Tensor self)",
    np.sqrt,
    meaning="Return the square root of each element, nan for negative elements. At 0, the gradient is inf.",
    self="grad / (2 * result)",
    samples="p(3)",
)


def logistic(a: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-a)); 0 where the exponential is too large."""
    e = np.exp(-a)
    e += 1.0
    return np.reciprocal(e)


sigmoid = elementary(
    "SigmoidBackward0",
    "sigmoid(Tensor self)",
    logistic,
    meaning="Return `1 / (1 + exp(-x))` for each element x: numbers between 0 and 1.\n\n"
    "The derivative is `result * (1 - result)`, which is at most 0.25.",
    self="sigmoid_backward(grad, result)",
    samples="r(3)",
)
define(
    "SigmoidBackwardBackward0",
    "sigmoid_backward(Tensor grad_output, Tensor output)",
    lambda g, y: g * (1.0 - y) * y,
    grad_output="sigmoid_backward(grad, output)",
    output="grad * (grad_output * (1 - 2 * output))",
    tangent="pointwise",
    samples="r(3), r(3)",
)
explained("sigmoid_backward(grad_output, output)", "grad_output * (1 - output) * output")
relu = define(
    "ReluBackward0",
    "relu(Tensor self)",
    lambda a: np.maximum(a, 0.0 if a.dtype.kind == "f" else 0),
    meaning="Return `max(0, x)` for each element x.\n\n"
    "Positive elements receive the gradient unchanged; all others, including 0, receive 0.",
    prepare=no_mask(errors.BOOL_RELU),
    self="threshold_backward(grad, result)",
    tangent="pointwise",
    samples="r(3); r(2, 3)",
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
    meaning="Return the absolute value of each element. At 0, the gradient is 0.",
    prepare=only_floats("abs_cpu", but="iu"),
    self="grad * sign(self)",
    tangent="pointwise",
    samples="r(3)",
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
    "SignBackward0",
    "sign(Tensor self)",
    _sign,
    meaning="Return 1 for positive elements, -1 for negative ones and 0 for 0. The gradient is always 0.",
    self="zeros_like(grad)",
    tangent="pointwise",
    samples="r(3)",
    out=errors.FOUND_DTYPE,
    in_place=True,
)


@operation(checked=False, in_place=True)
def add(input: Tensor, other: Any, *last: Any, alpha: float = 1, out: Tensor | None = None) -> Tensor:
    """Return `input + alpha * other`, element by element.

    The operands are broadcast to one shape and converted to one dtype. `other` may be a number.
    """
    if last:
        other, alpha = _in_order("add", other, last, alpha)
    if out is not None:
        return into("add", out, add, input, other, alpha=alpha)
    if type(alpha) is not int:
        alpha = _factor("add", alpha, input, other)
    return _add(input, other) if alpha == 1 else _add_scaled(input, other, alpha)


@operation(checked=False, in_place=True, also=("subtract",))
def sub(input: Tensor, other: Any, *last: Any, alpha: float = 1, out: Tensor | None = None) -> Tensor:
    """Return `input - alpha * other`, element by element.

    The operands are broadcast to one shape and converted to one dtype. `other` may be a number.

    Raises:
        RuntimeError: if both are bool.
    """
    if last:
        other, alpha = _in_order("sub", other, last, alpha)
    if out is not None:
        return into("sub", out, sub, input, other, alpha=alpha)
    if type(alpha) is not int:
        alpha = _factor("sub", alpha, input, other)
    return _sub(input, other) if alpha == 1 else _sub_scaled(input, other, alpha)


def _in_order(function: str, alpha: Any, last: tuple[Any, ...], named: Any) -> tuple[Any, Any]:
    """Return the other operand and its factor, given as second and third argument the other way round."""
    owner, called = called_as()
    number = one_number(alpha)
    other, *more = last
    if more or named != 1 or number is None or called.removesuffix("_") != function:
        raise TypeError(f"{called}() takes 2 positional arguments but {2 + len(last)} were given")
    of_method = owner == "Tensor" or called.endswith("_")
    warn(
        (
            (
                "This overload of {0} is deprecated:\n\t{0}(Number alpha, Tensor other)\nConsider "
                "using one of the following signatures instead:\n\t{0}(Tensor other, *, Number alpha "
                "= 1)"
            )
            if of_method
            else (
                "This overload of {0} is deprecated:\n\t{0}(Tensor input, Number alpha, Tensor "
                "other, *, Tensor out = None)\nConsider using one of the following signatures "
                "instead:\n\t{0}(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)"
            )
        ).format(called)
    )
    return other, number


def _factor(function: str, alpha: Any, *operands: Any) -> Any:
    """`alpha` as a number; RuntimeError for True or False unless all are masks."""
    alpha = number_of(function, "alpha", None, alpha)
    if isinstance(alpha, bool) and not all([isinstance(t, Tensor) and t.dtype is dtypes.bool_ for t in operands]):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    return alpha


@method("__rsub__")
def rsub(self: Tensor, other: Any) -> Tensor:
    """Return `other - self`, element by element."""
    other = python_number(other)
    if isinstance(other, Tensor):
        no_bools((other, self))
        return _rsub_tensors(self, other)
    if isinstance(other, bool):
        no_bools((other, self))
    return _rsub(self, other) if isinstance(other, (int, float)) else NotImplemented


@method("__rtruediv__")
def _rdiv(self: Tensor, other: Any) -> Tensor:
    other = python_number(other)
    if isinstance(other, np.ndarray):
        return reciprocal(self) * other
    return mul(reciprocal(self), other) if isinstance(other, (Tensor, int, float)) else NotImplemented


Tensor.__add__ = Tensor.__radd__ = operator(_add)
Tensor.__mul__ = Tensor.__rmul__ = operator(mul)
Tensor.__sub__ = operator(_sub)
Tensor.__truediv__ = Tensor.__div__ = operator(true_div)
Tensor.__rdiv__ = Tensor.__rtruediv__
Tensor.__neg__ = neg
Tensor.__abs__ = abs
Tensor.__pos__ = lambda self: no_mask("The `+` operator, on a bool tensor is not supported.")((self,))[0]


def _powers(args: tuple[Any, ...]) -> tuple[Any, ...]:
    t, exponent = promoted(args)
    if not t.dtype.is_floating_point and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return t, exponent


def _power_of(base: Any, exponent: np.ndarray) -> np.ndarray:
    """Return base ** exponent; for integers, a negative exponent makes 0 of all bases but 1 and -1."""
    if exponent.dtype.kind == "b":
        raise NotImplementedError(errors.NO_KERNEL.format("pow", "Bool"))
    if exponent.dtype.kind != "i" or (exponent >= 0).all():
        return np.power(base, exponent)
    inverse = np.where(np.abs(base) == 1, np.power(base, exponent & 1), 0)
    return np.where(exponent < 0, inverse, np.power(base, np.maximum(exponent, 0)))


_pow_number = define(
    "PowBackward0",
    "pow_number(Tensor self, exponent)",
    np.power,
    prepare=_powers,
    self="grad * (exponent * self ** (exponent - 1)) if exponent else zeros_like(grad)",
    tangent="pointwise",
    samples="p(3), 2; r(3), 3; p(3), 0.5; r(2), 0",
)
_pow_tensors = define(
    "PowBackward1",
    "pow(Tensor self, Tensor exponent)",
    _power_of,
    kind="pointwise",
    self="where(exponent == 0, 0, grad * (exponent * self ** (exponent - 1)))",
    exponent="grad * where((self == 0) & (exponent >= 0), 0, result * log(self))",
    samples="p(3), r(3); p(2, 3), p(3)",
)
_pow_base = define(
    "PowBackward2",
    "pow_base(self, Tensor exponent)",
    in_rows(lambda base, exponent: _power_of(exponent.dtype.type(base), exponent)),
    prepare=lambda args: promoted(args[::-1])[::-1],
    exponent="grad * (result * log_number(self, exponent))",
    tangent="pointwise",
    samples="2.0, r(3); 3, r(3)",
)
in_formulas(
    "log_number",
    lambda n, exponent: float(np.log(n)) if n else np.where(exponent >= 0, 0.0, -np.inf).astype(exponent.dtype),
    lambda n, exponent: float(np.log(n)) if n else where_(exponent >= 0, 0.0, -np.inf).to(exponent.dtype),
)


@method("__pow__")
def _power(self: Tensor, exponent: Any) -> Any:
    if type(exponent) is int or type(exponent) is float:
        return _pow_number(self, exponent)
    if isinstance(exponent, Tensor):
        return _pow_tensors(self, exponent)
    exponent = python_number(exponent)
    if isinstance(exponent, bool) and self.dtype is dtypes.bool_:
        return self | (not exponent)
    return _pow_number(self, exponent) if isinstance(exponent, (int, float)) else NotImplemented


@operation(checked=False, in_place=True)
def pow(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """Return `input` to the power of `exponent`, element by element.

    `input` or `exponent` may be a number. The derivative with respect to `input` is
    `exponent * input ** (exponent - 1)`. The derivative with respect to `exponent` is
    `result * log(input)`, or 0 where the base is 0 and the exponent isn't negative.
    """
    if out is not None:
        return into("pow", out, pow, input, exponent)
    if isinstance(input, Tensor):
        powers = _power(input, exponent)
        if powers is not NotImplemented:
            return powers
    elif isinstance(exponent, Tensor):
        return _pow_base(python_number(input), exponent)
    raise TypeError(not_a_tensor("pow", "exponent", 1, exponent))


@method("__rpow__")
def _rpow(self: Tensor, base: Any) -> Tensor:
    base = python_number(base)
    if isinstance(base, Tensor):
        return pow(base, self)
    return _pow_base(base, self) if isinstance(base, (int, float)) else NotImplemented


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


def _whole(name: str, forward: Any, **called: Any) -> Callable[..., Tensor]:
    """Return an op that makes numbers whole; `called` says what its name may do."""
    return define(
        f"{name.capitalize()}Backward0",
        f"{name}(Tensor self)",
        forward,
        prepare=only_floats(f"{name}_vml_cpu", but="iu"),
        self="zeros_like(grad)",
        tangent="pointwise",
        samples="r(3)",
        **called,
    )


floor = _whole(
    "floor",
    np.floor,
    meaning="Return each element rounded down to an integer. The gradient is always 0.",
    out=errors.FOUND_DTYPE,
    in_place=True,
)
ceil = _whole(
    "ceil",
    np.ceil,
    meaning="Return each element rounded up to an integer. The gradient is always 0.",
    out=errors.FOUND_DTYPE,
    in_place=True,
)
trunc = _whole(
    "trunc",
    np.trunc,
    meaning="Return each element rounded toward zero. The gradient is always 0.",
    out=errors.FOUND_DTYPE,
    in_place=True,
    also=("fix",),
)
_round = _whole("round", np.round)
_round_to = define(
    "RoundBackward1",
    "round_to(Tensor self, decimals)",
    np.round,
    prepare=lambda args: only_floats("round_cpu" if args[1] else "round_vml_cpu")(args),
    self="zeros_like(grad)",
    tangent="pointwise",
    samples="r(3), 1",
)


@operation(in_place=True)
def square(self: Tensor) -> Tensor:
    """Return `x * x` for each element x."""
    return pow(self, 2)


@operation(in_place=True)
def round(self: Tensor, *, decimals: int | None = None) -> Tensor:
    """Return each element rounded to an integer, or to `decimals` decimals.

    The gradient is always 0. A number halfway between two others is rounded to the even one: 0.5 to
    0, and 1.5 to 2.
    """
    return _round(self) if decimals is None else _round_to(self, decimals)


Arrays = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _kernel(name: str, compute: Arrays) -> Arrays:
    """Return the forward with what PyTorch refuses: masks, and whole numbers divided by zero."""

    def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.dtype.kind == "b":
            raise NotImplementedError(errors.NO_KERNEL.format(f"{name}_cpu", "Bool"))
        if "f" not in (a.dtype.kind, b.dtype.kind) and not b.all():
            raise RuntimeError("ZeroDivisionError")
        return compute(a, b)

    return divide


def _remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return what is left over, with the divisor's sign; a zero has the dividend's, which np.mod would change."""
    left = np.fmod(a, b)
    return np.where((left != 0) & ((left < 0) != (b < 0)), left + b, left)


def _with_number(forward: Arrays) -> Callable[[np.ndarray, float], np.ndarray]:
    return lambda a, number: forward(a, np.array(number).astype(a.dtype))


remainder_of, fmod_of = _kernel("remainder", _remainder), _kernel("fmod", np.fmod)
floored = _kernel("div_floor", np.floor_divide)
truncated = _kernel("div_trunc", lambda a, b: np.trunc(a / b) if a.dtype.kind == "f" else (a - np.fmod(a, b)) // b)

_remainder_tensors, _fmod_tensors = (
    define(
        f"{node}Backward1",
        f"{name}_tensors(Tensor self, Tensor other)",
        forward,
        kind="pointwise",
        self="grad",
        other=f"-grad * {quotient}(self * 1, other * 1)",  # a mask is divided as numbers
        tangent=f"self_t + other_t * -{quotient}(self, other)",
        samples="r(3), p(3); r(2, 3), p(3)",
    )
    for node, name, forward, quotient in (
        ("Remainder", "remainder", remainder_of, "div_to_floor"),
        ("Fmod", "fmod", fmod_of, "div_to_zero"),
    )
)
_remainder_number, _fmod_number = (
    define(
        f"{node}Backward0",
        f"{name}_number(Tensor self, number)",
        _with_number(forward),
        batch="pointwise",
        prepare=promoted,
        self="grad",
        tangent="self_t",
        samples="r(3), 0.7; r(3), -2",
    )
    for node, name, forward in (("Remainder", "remainder", remainder_of), ("Fmod", "fmod", fmod_of))
)
_to_floor, _to_zero = (
    define(
        "DivBackward2",
        f"{name}(Tensor self, Tensor other)",
        forward,
        kind="pointwise",
        self="zeros_like(grad)",
        other="zeros_like(grad)",
        samples="r(3), p(3); r(2, 3), p(3); r(3), 0.7",
    )
    for name, forward in (("div_to_floor", floored), ("div_to_zero", truncated))
)


def _refuse_gradient(name: str) -> Any:
    raise RuntimeError(f"derivative for aten::{name} is not implemented")


def _refuse_tangent(name: str, tangent: Any) -> Any:
    raise NotImplementedError(f"Trying to use forward AD with aten::{name} that does not support it.")


in_formulas("no_gradient", _refuse_gradient, _refuse_gradient)
in_formulas("no_tangent", _refuse_tangent, _refuse_tangent)


def _without_derivative(name: str, aten: str, forward: Arrays) -> Callable[..., Tensor]:
    """Return an op that PyTorch records, but has no derivative of."""
    return define(
        "torch::autograd::NotImplemented",
        f"{name}(Tensor self, Tensor other)",
        forward,
        kind="pointwise",
        self=f"no_gradient({aten!r})",
        other=f"no_gradient({aten!r})",
        tangent=f"no_tangent({aten!r}, self_t) + no_tangent({aten!r}, other_t)",
    )


_floor_divide = _without_derivative("floor_divide", "floor_divide", floored)
_floor_divide_in_place = _without_derivative("floor_divide_", "floor_divide_", floored)
_remainder_of_number = _without_derivative("remainder_of_number", "remainder", remainder_of)


def _operands(name: str, first: Any, second: Any) -> None:
    for position, (argument, given) in enumerate((("input", first), ("other", second))):
        if not isinstance(given, (Tensor, bool, int, float)):
            raise TypeError(not_a_tensor(name, argument, position, given))


_SIGN = {"remainder": ("divisor", "1"), "fmod": ("dividend", "-2")}


def _left_over(name: str, tensors: Any, number: Any, of_number: Any) -> Any:
    def left_over(input: Any, other: Any) -> Tensor:
        input, other = python_number(input), python_number(other)
        _operands(name, input, other)
        if isinstance(input, Tensor):
            return tensors(input, other) if isinstance(other, Tensor) else number(input, other)
        if of_number is None or not isinstance(other, Tensor):
            raise TypeError(
                f"{name}() received an invalid combination of arguments - got ({kind_of(input)}, {kind_of(other)})"
            )
        return of_number(input, other)

    named(left_over, name)
    sign, of_minus_5 = _SIGN[name]
    left_over.__doc__ = (
        f"Return the remainder of `input / other`, with the sign of the {sign}.\n\n"
        f"For -5 and 3, it is {of_minus_5}. At least one of `input` and `other` is a tensor; the other may\n"
        "be a number."
    )
    return operation(checked=False, in_place=True)(left_over)


remainder = _left_over("remainder", _remainder_tensors, _remainder_number, _remainder_of_number)
fmod = _left_over("fmod", _fmod_tensors, _fmod_number, None)


@operation(checked=False)
def floor_divide(input: Any, other: Any) -> Tensor:
    """Return `input / other`, rounded down, element by element.

    A backward pass through it raises RuntimeError, as in PyTorch. `div` with
    `rounding_mode="floor"` gives a gradient of 0 instead.
    """
    input, other = python_number(input), python_number(other)
    _operands("floor_divide", input, other)
    return _floor_divide(input, other)


def floor_divide_in_place(input: Tensor, other: Any) -> Tensor:
    """Return what `//=` writes."""
    return _floor_divide_in_place(input, python_number(other))


@operation(checked=False, in_place=True, also=("divide", "true_divide"))
def div(input: Tensor, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """Return `input / other`, element by element.

    The operands are broadcast to one shape. The derivative is `1 / other` with respect to `input`,
    and `-input / other**2` with respect to `other`.

    Args:
        other: The divisor: a tensor or a number.
        rounding_mode: None returns the quotients, which are floating point. "trunc" rounds them
            toward zero, "floor" rounds them down. The gradient of rounded quotients is 0.
    """
    if out is not None:
        return into("div", out, div, input, other, rounding_mode=rounding_mode)
    if rounding_mode is None:
        return true_div(input, other)
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return (_to_floor if rounding_mode == "floor" else _to_zero)(input, python_number(other))


def _operator(function: Any, swapped: bool = False) -> Any:
    def operate(self: Tensor, other: Any) -> Any:
        other = python_number(other)
        if not isinstance(other, (Tensor, bool, int, float)):
            return NotImplemented
        return function(other, self) if swapped else function(self, other)

    return operate


Tensor.__mod__, Tensor.__rmod__ = _operator(remainder), _operator(remainder, swapped=True)
Tensor.__floordiv__, Tensor.__rfloordiv__ = _operator(floor_divide), _operator(floor_divide, swapped=True)
