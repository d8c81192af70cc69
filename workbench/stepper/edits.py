"""Gradients that the user puts in place of those that wait."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.tensor import Tensor, wrap
from . import refusals
from .moments import Place, are_equal, numbers_of


def in_place_of(have: Any, value: Any, name: str) -> Any:
    """A number, array or tensor as the engine would carry it instead of the gradient it has at the node of that name.

    Errors: TypeError for anything else, ValueError for another shape.
    """
    want = numbers_of(have)
    if isinstance(value, Tensor) and isinstance(have, Tensor) and value.dtype == have.dtype:
        new = value  # with its history, since that of the gradient is recorded
    elif isinstance(value, Tensor | int | float | list | tuple | np.ndarray | np.generic):
        array = np.array(numbers_of(value), dtype=want.dtype)
        array = np.full(want.shape, array) if isinstance(value, int | float) else array
        new = wrap(array) if isinstance(have, Tensor) else array
    else:
        raise TypeError(refusals.EDIT_KIND.format(type(value).__name__))
    got = numbers_of(new).shape
    if got != want.shape:
        raise ValueError(refusals.EDIT_SHAPE.format(name, list(want.shape), list(got)))
    return new


def are_same(a: dict[Place, Any], b: dict[Place, Any]) -> bool:
    """Whether the same gradients were changed to the same numbers."""
    return a.keys() == b.keys() and all(are_equal(a[place], b[place]) for place in a)
