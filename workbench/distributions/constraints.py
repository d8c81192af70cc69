"""Constraints on parameters and values of distributions (torch.distributions.constraints)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..autograd.tensor import Tensor

__all__ = [
    "Constraint",
    "boolean",
    "greater_than",
    "independent",
    "integer_interval",
    "interval",
    "less_than",
    "one_hot",
    "positive",
    "real",
    "real_vector",
    "simplex",
    "unit_interval",
]


@dataclass(frozen=True, repr=False)
class Constraint:
    """A set of values; `check` tests each value.

    Args:
        text: How the constraint is printed.
        holds: A function that returns for each value, or each event, whether it is in the set.
        event_dim: How many dimensions an event has: 0 if each element is tested separately.
    """

    text: str
    holds: Callable[[Tensor], Tensor] = field(compare=False)
    event_dim: int = 0

    def check(self, value: Tensor) -> Tensor:
        """Return for each value, or each event of `event_dim` dimensions, whether it is in the set."""
        return self.holds(value)

    def __repr__(self) -> str:
        return self.text


def _sums_to_one(value: Tensor) -> Tensor:
    return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


def independent(base: Constraint, dims: int) -> Constraint:
    """Return a constraint on events with `dims` more dimensions: each part must satisfy the base constraint."""

    def holds(value: Tensor) -> Tensor:
        inside = base.check(value)
        if inside.dim() < dims:
            expected = base.event_dim + dims
            raise ValueError(f"Expected value.dim() >= {expected} but got {value.dim()}")
        return inside.flatten(inside.dim() - dims).all(-1) if dims else inside

    return Constraint(f"IndependentConstraint({base!r}, {dims})", holds, base.event_dim + dims)


def interval(lower: object, upper: object) -> Constraint:
    """Return the constraint of numbers from the lower to the upper bound, both included."""
    text = f"Interval(lower_bound={lower}, upper_bound={upper})"
    return Constraint(text, lambda value: (lower <= value) & (value <= upper))  # type: ignore[operator]


def integer_interval(lower: int, upper: int) -> Constraint:
    """Return the constraint of integers from the lower to the upper bound, both included."""
    text = f"IntegerInterval(lower_bound={lower}, upper_bound={upper})"
    return Constraint(text, lambda value: (value % 1 == 0) & (lower <= value) & (value <= upper))


def less_than(bound: object) -> Constraint:
    """Return the constraint of numbers below a bound."""
    return Constraint(f"LessThan(upper_bound={bound})", lambda value: value < bound)  # type: ignore[operator]


def greater_than(bound: object) -> Constraint:
    """Return the constraint of numbers above a bound."""
    return Constraint(f"GreaterThan(lower_bound={bound})", lambda value: value > bound)  # type: ignore[operator]


real = Constraint("Real()", lambda value: value == value)  # nan is not equal to itself
positive = greater_than(0.0)
boolean = Constraint("Boolean()", lambda value: (value == 0) | (value == 1))
simplex = Constraint("Simplex()", _sums_to_one, 1)
unit_interval = interval(0.0, 1.0)
real_vector = independent(real, 1)
one_hot = Constraint("OneHot()", lambda value: ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1), 1)
