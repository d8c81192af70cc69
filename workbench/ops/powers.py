"""Powers of tensors and numbers, with their operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.tensor import Tensor
from .comparison import where_
from .core.checks import not_a_tensor, promoted, python_number
from .core.op import define, method, operation
from .core.registry import in_formulas
from .core.results import in_rows, into


def _powers(args: tuple[Any, ...]) -> tuple[Any, ...]:
    t, exponent = promoted(args)
    if t.dtype.rank < 2 and exponent < 0:
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
    "pow_number(Tensor self, exponent)",
    np.power,
    node="PowBackward0",
    prepare=_powers,
    self="grad * (exponent * self ** (exponent - 1)) if exponent else zeros_like(grad)",
    tangent="pointwise",
)
_pow_tensors = define(
    "pow(Tensor self, Tensor exponent)",
    _power_of,
    node="PowBackward1",
    kind="pointwise",
    self="where(exponent == 0, 0, grad * (exponent * self ** (exponent - 1)))",
    exponent="grad * where((self == 0) & (exponent >= 0), 0, result * log(self))",
)
_pow_base = define(
    "pow_base(self, Tensor exponent)",
    in_rows(lambda base, exponent: _power_of(exponent.dtype.type(base), exponent)),
    node="PowBackward2",
    prepare=lambda args: promoted(args[::-1])[::-1],
    exponent="grad * (result * log_number(self, exponent))",
    tangent="pointwise",
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
    return _pow_number(self, exponent) if isinstance(exponent, (int, float, complex)) else NotImplemented


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
    return _pow_base(base, self) if isinstance(base, (int, float, complex)) else NotImplemented


@operation(in_place=True)
def square(self: Tensor) -> Tensor:
    """Return `x * x` for each element x."""
    return pow(self, 2)
