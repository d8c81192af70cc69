"""Quotients and remainders, element by element, with their operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors
from ..autograd.tensor import Tensor
from ..errors import kind_of
from .arithmetic import mul
from .core.checks import named, not_a_tensor, promoted, python_number
from .core.op import define, elementary, method, operation, operator
from .core.registry import in_formulas
from .core.results import into

true_div = define(
    "div(Tensor self, Tensor other)",
    np.true_divide,
    kind="float",
    meaning="Return `input / other`, element by element.",
    self="grad / other",
    other="-grad * (self / other / other)",
)
reciprocal = elementary("reciprocal", np.reciprocal, "-grad * (result * result)", "Return `1 / x` for each element x.")


@method("__rtruediv__")
def _rdiv(self: Tensor, other: Any) -> Tensor:
    other = python_number(other)
    if isinstance(other, np.ndarray):
        return reciprocal(self) * other
    return mul(reciprocal(self), other) if isinstance(other, (Tensor, int, float, complex)) else NotImplemented


Tensor.__truediv__ = Tensor.__div__ = operator(true_div)
Tensor.__rdiv__ = Tensor.__rtruediv__
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
        f"{name}_tensors(Tensor self, Tensor other)",
        forward,
        node=f"{name.title()}Backward1",
        kind="pointwise",
        self="grad",
        other=f"-grad * {quotient}(self * 1, other * 1)",  # a mask is divided as numbers
        tangent=f"self_t + other_t * -{quotient}(self, other)",
    )
    for name, forward, quotient in (
        ("remainder", remainder_of, "div_to_floor"),
        ("fmod", fmod_of, "div_to_zero"),
    )
)
_remainder_number, _fmod_number = (
    define(
        f"{name}_number(Tensor self, number)",
        _with_number(forward),
        node=f"{name.title()}Backward0",
        batch="pointwise",
        prepare=promoted,
        self="grad",
        tangent="self_t",
    )
    for name, forward in (("remainder", remainder_of), ("fmod", fmod_of))
)
_to_floor, _to_zero = (
    define(
        f"{name}(Tensor self, Tensor other)",
        forward,
        node="DivBackward2",
        kind="pointwise",
        self="zeros_like(grad)",
        other="zeros_like(grad)",
    )
    for name, forward in (("div_to_floor", floored), ("div_to_zero", truncated))
)


def _refuse_gradient(name: str) -> Any:
    raise RuntimeError(f"derivative for aten::{name} is not implemented")


def _refuse_tangent(name: str, tangent: Any) -> Any:
    raise NotImplementedError(f"Trying to use forward AD with aten::{name} that does not support it.")


in_formulas("no_gradient", _refuse_gradient)
in_formulas("no_tangent", _refuse_tangent)


def _without_derivative(name: str, aten: str, forward: Arrays) -> Callable[..., Tensor]:
    """Return an op that PyTorch records, but has no derivative of."""
    return define(
        f"{name}(Tensor self, Tensor other)",
        forward,
        node="torch::autograd::NotImplemented",
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
        if not isinstance(given, (Tensor, bool, int, float, complex)):
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
        if not isinstance(other, (Tensor, bool, int, float, complex)):
            return NotImplemented
        return function(other, self) if swapped else function(self, other)

    return operate


Tensor.__mod__, Tensor.__rmod__ = _operator(remainder), _operator(remainder, swapped=True)
Tensor.__floordiv__, Tensor.__rfloordiv__ = _operator(floor_divide), _operator(floor_divide, swapped=True)
