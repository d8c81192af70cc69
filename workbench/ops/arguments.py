"""Arguments that are no tensors: sizes, whole numbers, numbers a dtype can hold."""

from __future__ import annotations

import math
from operator import index
from typing import Any

import numpy as np

from ..autograd import dtypes
from ..autograd.tensor import Tensor
from .refusals import kind_of, wrong


def _is_int(n: Any) -> bool:
    if isinstance(n, Tensor):
        return not n._array.ndim and n._array.dtype.kind in "iu"
    return isinstance(n, (int, np.integer)) and not isinstance(n, bool)


def size_of(function: str, given: tuple[Any, ...], size: Any = None, position: int = 0) -> tuple[int, ...]:
    """A shape given as ints or as one sequence; TypeError for anything else, RuntimeError for less than 0."""
    if len(given) == 1 and type(given[0]) is int and given[0] >= 0 and size is None:
        return given
    shape = ints_of(function, "size", given, size, position)
    if shape and min(shape) < 0:
        if function == "zeros":
            raise RuntimeError("zeros: Dimension size must be non-negative.")
        negative = next(n for n in shape if n < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension {negative}: {list(shape)}")
    return shape


def ints_of(
    function: str, argument: str, given: tuple[Any, ...], named: Any = None, position: int = 1
) -> tuple[int, ...]:
    """Whole numbers given one by one, or as one sequence, which may be named; TypeError for anything else.

    `position` is that of the first: 1 where a tensor comes before it, else 0.
    """
    many = given[0] if len(given) == 1 and type(given[0]) is not int else given
    if given and named is None and type(many) is tuple and all([type(n) is int for n in many]):
        return many
    if not given and named is None:
        raise TypeError(f'{function}() missing 1 required positional arguments: "{argument}"')
    if given and named is not None:
        raise TypeError(f"{function}() got multiple values for argument '{argument}'")
    if len(given) > 1 and not _is_int(given[0]):
        raise TypeError(f"{function}() takes 1 positional argument but {len(given)} were given")
    if given:
        named = given if len(given) > 1 or _is_int(given[0]) else given[0]
    found = "" if isinstance(named, (list, tuple)) else f"not {kind_of(named)}"
    if not found and named and not _is_int(named[0]):
        found = f"but found element of type {kind_of(named[0])} at pos 0"
    if found:
        must_be = f"tuple of ints, {found}"
        named_only = f"{function}(): argument '{argument}' must be {must_be}"
        raise TypeError(wrong(function, argument, position, must_be) if given else named_only)
    shape = []
    for i, n in enumerate(named):
        try:
            shape.append(index(n))
        except TypeError:
            raise TypeError(
                f"{function}(): argument '{argument}' failed to unpack the object at pos {i + 1} with error "
                f'"type must be tuple of ints,but got {kind_of(n)}"'
            ) from None
    return tuple(shape)


def int_of(function: str, argument: str, position: int, n: Any) -> int:
    """The argument as an int; TypeError unless it is one."""
    if not _is_int(n):
        raise TypeError(wrong(function, argument, position, f"int, not {kind_of(n)}"))
    return int(n)


def number_of(function: str, argument: str, position: int, given: Any) -> Any:
    """The argument as a Python number; TypeError unless it is one."""
    if type(given) is float or type(given) is int:
        return given
    number = given
    if isinstance(given, np.generic) or (isinstance(given, Tensor) and not (given._array.ndim or given.requires_grad)):
        number = given.item()
    if not isinstance(number, (bool, int, float)):
        raise TypeError(wrong(function, argument, position, f"Number, not {kind_of(given)}"))
    return number


def fitting(value: float, dtype: dtypes.dtype, word: str = "") -> Any:
    """A number that the dtype can hold; RuntimeError where it cannot."""
    kind = dtype.np
    limits = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind) if kind.kind in "iu" else None
    if limits is None or (kind.kind == "f" and not math.isfinite(value)):
        return value
    if not (-limits.max if kind.kind == "u" else limits.min) <= value <= limits.max:
        word = word or {"uint8": "uint8_t", "int64": "int64_t"}.get(dtype.name, dtype.c_name)
        raise RuntimeError(f"value cannot be converted to type {word} without overflow")
    return int(value) % (limits.max + 1) if kind.kind == "u" else value
