"""Measures of the values in a training run: size, zeros, not finite, equality, distance."""

from __future__ import annotations

import math

from ...pictures.trace.values import Value, unit_axis


def size_of(value: Value) -> int:
    """Return the number of elements of a value."""
    return math.prod(value.shape)


def rms(value: Value) -> float:
    """Return the root mean square of a value's elements."""
    return value.norm / math.sqrt(size_of(value)) if size_of(value) else 0.0


def is_zero(value: Value) -> bool:
    """Return True if a value is known to be zero everywhere; one without elements isn't."""
    return value.norm == 0 and not value.nonfinite and 0 not in value.shape


def is_nothing(grad: Value | None) -> bool:
    """Return True if there is no gradient, or it is known to be zero everywhere."""
    return grad is None or is_zero(grad)


def is_broken(value: Value | None) -> bool:
    """Return True if a value isn't finite."""
    return value is not None and value.nonfinite > 0


def share_of_zeros(value: Value) -> float | None:
    """Return the share of elements that are exactly zero; None if they weren't counted."""
    if is_zero(value):
        return 1.0
    if value.values is None:
        return None if value.zeros is None else value.zeros / max(size_of(value), 1)
    return sum(number == 0 for number in value.values) / max(len(value.values), 1)


def units_off(value: Value) -> int | None:
    """Return how many units of a layer's output are zero for the whole batch; None if they weren't counted."""
    if value.values is None or not value.values or len(value.shape) < 2:
        return 0 if value.off is None and value.zeros == 0 else value.off
    axis = unit_axis(len(value.shape))
    apart = math.prod(value.shape[axis + 1 :])
    on = {at // apart % value.shape[axis] for at, number in enumerate(value.values) if number}
    return value.shape[axis] - len(on)


def is_same(one: Value, other: Value) -> bool:
    """Return True if two values have the same elements, as far as is known; nan equals nan."""
    if one.shape != other.shape or one.nonfinite != other.nonfinite:
        return False
    if one.values is not None and other.values is not None:
        numbers = one.values, other.values
    else:
        numbers = (one.norm, one.min, one.max, one.mean), (other.norm, other.min, other.max, other.mean)
    if not one.nonfinite:  # the norm of an unread value is nan too
        return numbers[0] == numbers[1]
    return all(a == b or (a != a and b != b) for a, b in zip(*numbers, strict=True))


def distance(one: Value, other: Value) -> float:
    """Return the norm of the difference of two values: exact if all elements were kept, else a lower bound."""
    if one.shape != other.shape:
        return 0.0
    if one.values is not None and other.values is not None:
        return math.dist(one.values, other.values)
    bounds = [abs(other.norm - one.norm)]
    if one.mean is not None and other.mean is not None and not one.nonfinite and not other.nonfinite:
        bounds.append(abs(other.mean - one.mean) * math.sqrt(size_of(one)))
    for least, now in ((one.min, other.min), (one.max, other.max)):
        if least is not None and now is not None:
            bounds.append(abs(now - least))
    return max([bound for bound in bounds if not math.isnan(bound)], default=0.0)
