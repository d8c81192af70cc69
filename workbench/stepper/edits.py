"""Gradients that the user puts in place of those that wait."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.tensor import Tensor, wrap
from . import refusals
from .moments import Place, are_equal, as_tensor, numbers_of


def in_place_of(have: Any, value: Any, name: str) -> Any:
    """A number, array or tensor as the engine would carry it instead of the gradient it has at the node of that name.

    Errors: TypeError for anything else and for a tensor of another dtype, ValueError for another shape.
    """
    want = numbers_of(have)
    if isinstance(value, Tensor):
        if (mine := value.dtype) != (its := as_tensor(have).dtype):
            raise TypeError(refusals.EDIT_DTYPE.format(name, its, mine, its))
        new = value if isinstance(have, Tensor) else numbers_of(value).copy()  # recorded: with its history
    elif isinstance(value, int | float | list | tuple | np.ndarray | np.generic):
        array = _array_of(value).astype(want.dtype)
        array = np.full(want.shape, array) if isinstance(value, int | float | np.generic) else array
        new = wrap(array) if isinstance(have, Tensor) else array
    else:
        raise TypeError(refusals.EDIT_KIND.format(type(value).__name__))
    got = numbers_of(new).shape
    if got != want.shape:
        raise ValueError(refusals.EDIT_SHAPE.format(name, list(want.shape), list(got)))
    return new


def _array_of(value: Any) -> np.ndarray:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):
        array = None
    if array is None or array.dtype.kind not in "biuf":
        text = repr(value)
        raise ValueError(refusals.EDIT_NUMBERS.format(text if len(text) <= 60 else f"{text[:59]}…"))
    return array


def are_same(a: dict[Place, Any], b: dict[Place, Any]) -> bool:
    """Whether the same gradients were changed to the same numbers."""
    return a.keys() == b.keys() and all(are_equal(a[place], b[place]) for place in a)
