"""Division to whole numbers, and what is left over: `//`, `%`, fmod, div with a rounding mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.tensor import Tensor
from . import pointwise
from .declare import define, in_formulas
from .out import into
from .refusals import kind_of, lift, not_a_tensor
from .shapes import python_number

Arrays = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _kernel(name: str, compute: Arrays) -> Arrays:
    """The forward with what PyTorch refuses: masks, and whole numbers divided by zero."""

    def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.dtype.kind == "b":
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
        if "f" not in (a.dtype.kind, b.dtype.kind) and not b.all():
            raise RuntimeError("ZeroDivisionError")
        return compute(a, b)

    return divide


def _remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What is left over, with the divisor's sign; a zero has the dividend's, which np.mod would change."""
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
        prepare=lift,
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
    """An op that PyTorch records, but has no derivative of."""
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


_SIGN = {"remainder": "divisor", "fmod": "dividend"}


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

    left_over.__name__ = left_over.__qualname__ = name
    left_over.__doc__ = f"What is left over in each division; it has the sign of the {_SIGN[name]}."
    setattr(Tensor, name, left_over)
    return left_over


remainder = _left_over("remainder", _remainder_tensors, _remainder_number, _remainder_of_number)
fmod = _left_over("fmod", _fmod_tensors, _fmod_number, None)


def floor_divide(input: Any, other: Any) -> Tensor:
    """Each quotient rounded down. PyTorch has no derivative of it: `div` with a rounding mode has one, of zeros."""
    input, other = python_number(input), python_number(other)
    _operands("floor_divide", input, other)
    return _floor_divide(input, other)


def floor_divide_in_place(input: Tensor, other: Any) -> Tensor:
    """What `//=` writes."""
    return _floor_divide_in_place(input, python_number(other))


def div(input: Tensor, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """Each quotient, exact or rounded: towards zero ("trunc") or down ("floor")."""
    if out is not None:
        return into("div", out, div, input, other, rounding_mode=rounding_mode)
    if rounding_mode is None:
        return pointwise.div(input, other)
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


Tensor.div, Tensor.floor_divide = div, floor_divide
Tensor.__mod__, Tensor.__rmod__ = _operator(remainder), _operator(remainder, swapped=True)
Tensor.__floordiv__, Tensor.__rfloordiv__ = _operator(floor_divide), _operator(floor_divide, swapped=True)
