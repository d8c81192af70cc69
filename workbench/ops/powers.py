"""Powers, of which base or exponent may be a number."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.tensor import Tensor
from .choice import where_
from .declare import define, in_formulas, method
from .layout import in_rows
from .out import into
from .refusals import lift, not_a_tensor
from .shapes import python_number


def _powers(args: tuple[Any, ...]) -> tuple[Any, ...]:
    t, exponent = lift(args)
    if not t.dtype.is_floating_point and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return t, exponent


def _power_of(base: Any, exponent: np.ndarray) -> np.ndarray:
    """base ** exponent; among integers a negative exponent makes 0 of all but 1 and -1."""
    if exponent.dtype.kind == "b":
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")
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
    prepare=lambda args: lift(args[::-1])[::-1],
    exponent="grad * (result * log_number(self, exponent))",
    tangent="pointwise",
    samples="2.0, r(3); 3, r(3)",
)
in_formulas(
    "log_number",
    lambda base, exponent: float(np.log(base)) if base else np.where(exponent >= 0, 0.0, -np.inf),
    lambda base, exponent: float(np.log(base)) if base else where_(exponent >= 0, 0.0, -np.inf),
)


@method("__pow__")
def _power(self: Tensor, exponent: Any) -> Any:
    if type(exponent) is int or type(exponent) is float:
        return _pow_number(self, exponent)
    if isinstance(exponent, Tensor):
        return _pow_tensors(self, exponent)
    exponent = python_number(exponent)
    return _pow_number(self, exponent) if isinstance(exponent, (int, float)) else NotImplemented


def pow(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """input to the power of exponent, either of which may be a number; TypeError unless one is a tensor."""
    if out is not None:
        return into("pow", out, pow, input, exponent)
    if isinstance(input, Tensor):
        out = _power(input, exponent)
        if out is not NotImplemented:
            return out
    elif isinstance(exponent, Tensor):
        return _pow_base(python_number(input), exponent)
    raise TypeError(not_a_tensor("pow", "exponent", 1, exponent))


Tensor.pow = pow


@method("__rpow__")
def _rpow(self: Tensor, base: Any) -> Tensor:
    base = python_number(base)
    return _pow_base(base, self) if isinstance(base, (int, float)) else NotImplemented
