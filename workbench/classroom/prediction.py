"""A learner's prediction against what the engine computed."""

from __future__ import annotations

from typing import Any

import numpy as np


def compared(prediction: Any, truth: Any, tolerance: float) -> str:
    """Whether a prediction is right, and how far off it is if not, in a sentence that does not tell the answer."""
    if truth is None:
        return "There is nothing to compare with yet: run the cells above first."
    right = _read(truth)
    asked = "Either True or False" if isinstance(right, bool) else _kind(right)
    if prediction is None:
        what = "answer" if isinstance(right, bool | str) else "list of numbers" if right.ndim else "number"
        return f"No prediction yet: replace None by your {what}, and run again from there."
    try:
        mine = _read(prediction)
    except Exception:  # whatever a learner can write, and whatever its conversion raises
        return f"{asked} is asked for; yours is {_oddity(prediction)}."
    if isinstance(right, bool | str):
        if type(mine) is not type(right):
            return f"{asked} is asked for."
        return "Right." if mine == right else "Not yet: it is the other way round."
    if isinstance(mine, bool | str) or bool(mine.ndim) != bool(right.ndim):
        yours = _kind(mine)
        return f"{asked} is asked for; yours is {yours[0].lower()}{yours[1:]}."
    if mine.shape != right.shape:
        return f"A value of shape {list(right.shape)} is asked for; yours has shape {list(mine.shape)}."
    return _distance(mine, right, tolerance)


def _distance(mine: np.ndarray, right: np.ndarray, tolerance: float) -> str:
    largest = float(np.max(np.abs(right[np.isfinite(right)]), initial=1.0))
    with np.errstate(invalid="ignore"):
        close = np.abs(mine - right) <= tolerance * largest
    wrong = ~(close | (mine == right) | (np.isnan(mine) & np.isnan(right)))
    if not wrong.any():
        return "Right."
    if right.ndim:
        places = ", ".join(str(list(int(i) for i in place)) for place in np.argwhere(wrong)[:5])
        return f"Not yet: {int(wrong.sum())} of {right.size} elements differ, at {places}."
    if np.isnan(mine):
        return "Not yet: yours is nan, which is no number."
    if np.isnan(right):
        return "Not yet: yours is a number, and no number comes out."
    return "Not yet: the sign is wrong." if mine * right < 0 else f"Not yet: yours is too {_side(mine, right)}."


def _read(value: Any) -> bool | str | np.ndarray:
    """A word, a truth value, or numbers as an array; whatever is none of these raises."""
    array = np.asarray(_plain(value))
    if not array.ndim and array.dtype.kind in "Ub":
        return array.item()
    if array.dtype.kind not in "biufO" or any(each is None for each in array.flat):
        raise TypeError
    return array.astype(np.float64)


def _plain(value: Any) -> Any:
    if hasattr(type(value), "detach"):
        return value.detach().numpy()
    return [_plain(each) for each in value] if isinstance(value, list | tuple | range) else value


def _kind(value: bool | str | np.ndarray) -> str:
    """What a value is, in words that begin a sentence."""
    if isinstance(value, bool):
        return "A truth value"
    if isinstance(value, str):
        return "A word in quotes"
    if value.ndim > 1:
        return f"An array of shape {list(value.shape)}"
    return f"A list of {value.size} number{'s' * (value.size != 1)}" if value.ndim else "A number"


def _oddity(value: Any) -> str:
    """What a value is of which no numbers can be made."""
    if isinstance(value, list | tuple):
        lengths = {len(each) if isinstance(each, list | tuple) else None for each in value}
        return "a list with rows of different lengths" if len(lengths) > 1 else "a list of other things than numbers"
    if isinstance(value, int):
        return "a number too large to compare"
    if isinstance(value, complex):
        return "a complex number"
    return "a function" if callable(value) else f"of the type {type(value).__name__}"


def _side(mine: np.ndarray, right: np.ndarray) -> str:
    return "large" if mine > right else "small"
