"""Comparison of a prediction with the truth: what differs is said, and what is right isn't given away."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.complex_tensor import is_complex

EXPECTED = "Expected {}, got {}."
NO_PREDICTION = "No prediction yet: replace {} with your {}, then rerun from that cell."
NOT_THAT = "Not yet. (Did you run all the cells above?)"
OTHER_WAY_ROUND = "Not yet: it's the opposite."
ANOTHER_WORD = "Not yet: that's not the word."
A_SHAPE = "a shape, such as [2, 3]"
OTHER_DIMENSIONS = "Not yet: the right shape has a different number of dimensions."
TOLERANCE = 1e-4  # relative to each element
_ROUNDING = 1e-5  # relative to the largest element: what a smaller element may differ by
_ZERO = 1e-15  # what a number may differ from 0


def compared(prediction: Any, truth: Any, tolerance: float) -> str:
    """Compare a prediction with the truth, and describe the difference without giving the answer away."""
    if truth is None:
        return (
            NO_PREDICTION.format("...", "answer") if prediction is ... else "Right." if prediction is None else NOT_THAT
        )
    right = read(truth)
    is_shape = isinstance(truth, tuple) and all(isinstance(each, int) for each in truth)
    asked = "True or False" if isinstance(right, bool) else A_SHAPE if is_shape else kind_in_words(right)
    if prediction is None or prediction is ...:
        what = "answer" if isinstance(right, bool | str) else "list of numbers" if right.ndim else "number"
        what = "shape" if is_shape else what
        return NO_PREDICTION.format("None" if prediction is None else "...", what)
    try:
        mine = read(prediction)
    except Exception:  # whatever a learner can write, and whatever its conversion raises
        return EXPECTED.format(asked, oddity(prediction))
    if isinstance(right, bool | str):
        if not isinstance(mine, bool | str) or type(mine) is not type(right):
            return EXPECTED.format(asked, kind_in_words(mine))
        differs = OTHER_WAY_ROUND if isinstance(right, bool) else ANOTHER_WORD
        return "Right." if _folded(mine) == _folded(right) else differs
    if isinstance(mine, bool | str) or bool(mine.ndim) != bool(right.ndim) or is_complex(mine) > is_complex(right):
        return EXPECTED.format(asked, kind_in_words(mine))
    if mine.shape != right.shape:
        if is_shape and mine.ndim == 1:
            return OTHER_DIMENSIONS
        return EXPECTED.format(f"a value of shape {list(right.shape)}", f"shape {list(mine.shape)}")
    return _numbers_compared(mine, right, tolerance)


def _folded(value: bool | str) -> bool | str:
    """Return a word without differences that don't count: capitals, and spaces around it."""
    return value.strip().casefold() if isinstance(value, str) else value


def _numbers_compared(mine: np.ndarray, right: np.ndarray, tolerance: float) -> str:
    wrong = ~close(mine, right, tolerance)
    if not wrong.any():
        return "Right."
    if right.ndim:
        places = ", ".join(str(list(int(i) for i in place)) for place in np.argwhere(wrong)[:5])
        return f"Not yet: {int(wrong.sum())} of {right.size} elements differ, at {places}."
    if np.isnan(mine):
        return "Not yet: you got nan."
    if np.isnan(right):
        return "Not yet: you gave a number, but the result isn't one."
    if is_complex(right):
        return f"Not yet: {_parts_compared(mine, right, tolerance)}."
    return "Not yet: the sign is wrong." if mine * right < 0 else f"Not yet: yours is too {_side(mine, right)}."


def _parts_compared(mine: np.ndarray, right: np.ndarray, tolerance: float) -> str:
    """Describe which part of a complex number is wrong."""
    names = ("real", "imaginary")
    parts = [(part(mine), part(right)) for part in (np.real, np.imag)]
    wrong = [name for name, pair in zip(names, parts, strict=True) if not close(*pair, tolerance)]
    if len(wrong) != 1:
        return "both parts are wrong"
    one, other = parts[names.index(wrong[0])]
    return f"the sign of the {wrong[0]} part is wrong" if one == -other else f"the {wrong[0]} part is wrong"


def close(mine: np.ndarray, right: np.ndarray, tolerance: float) -> np.ndarray:
    """Return for each element whether it is right, up to a part of its own size or the rounding of the largest."""
    largest = float(np.max(np.abs(right[np.isfinite(right)]), initial=0.0))
    with np.errstate(invalid="ignore"):
        close = np.abs(mine - right) <= np.maximum(tolerance * np.abs(right), _ROUNDING * largest + _ZERO)
    return (close & np.isfinite(right)) | (mine == right) | (np.isnan(mine) & np.isnan(right))


def read(value: Any) -> bool | str | np.ndarray:
    """Return a word, a boolean, or numbers as an array; raise an error for anything else."""
    array = np.asarray(detached(value))
    if not array.ndim and array.dtype.kind in "Ub":
        return array.item()
    if array.dtype.kind not in "biufcO" or any(each is None for each in array.flat):
        raise TypeError
    return as_numbers(array)


def as_numbers(array: np.ndarray) -> np.ndarray:
    """Return an array in double precision, real or complex."""
    return array.astype(np.complex128 if is_complex(array) else np.float64)


def detached(value: Any) -> Any:
    """Return tensors as arrays, in lists too."""
    if hasattr(type(value), "detach"):
        return value.detach().numpy()
    return [detached(each) for each in value] if isinstance(value, list | tuple | range) else value


def kind_in_words(value: Any) -> str:
    """Return what a value is, in words."""
    if isinstance(value, list | dict):
        words = all(isinstance(each, str) for each in value)
        return "a dict" if isinstance(value, dict) else "a list of words" if words else "a list"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a word in quotes"
    if value.ndim > 1:
        return f"an array of shape {list(value.shape)}"
    number = "complex number" if is_complex(value) else "number"
    return f"a list of {value.size} {number}{'s' * (value.size != 1)}" if value.ndim else f"a {number}"


def oddity(value: Any) -> str:
    """Return what a value is that can't be converted to numbers, in words."""
    if isinstance(value, list | tuple):
        lengths = {len(each) if isinstance(each, list | tuple) else None for each in value}
        return "a list with rows of different lengths" if len(lengths) > 1 else "a list of things that aren't numbers"
    if isinstance(value, int):
        return "a number too large to compare"
    return "a function" if callable(value) else f"a value of type {type(value).__name__}"


def _side(mine: np.ndarray, right: np.ndarray) -> str:
    return "large" if mine > right else "small"
