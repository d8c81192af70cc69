"""A learner's prediction against what the engine computed."""

from __future__ import annotations

from typing import Any

import numpy as np


def check(prediction: Any, truth: Any, tolerance: float = 1e-3) -> str:
    """Say whether a prediction is right, and how far off it is if not, without telling the answer.

    `prediction` and `truth` are numbers, lists or tensors of one shape, or both words or truth values; None means "not
    yet". The tolerance is relative to the largest element of `truth`.
    """
    if prediction is None:
        word = isinstance(truth, bool | str)
        what = "answer" if word else "list of numbers" if np.ndim(_numbers(truth)) else "number"
        return f"No prediction yet: replace None by your {what}, and run again from there."
    if isinstance(truth, bool | str):
        if type(prediction) is not type(truth):
            return "Either True or False is asked for." if isinstance(truth, bool) else "A word in quotes is asked for."
        return "Right." if prediction == truth else "Not yet: it is the other way round."
    mine, right = (np.asarray(_numbers(value), dtype=np.float64) for value in (prediction, truth))
    if mine.shape != right.shape:
        return f"A value of shape {list(right.shape)} is asked for; yours has shape {list(mine.shape)}."
    wrong = ~(np.abs(mine - right) <= tolerance * max(1.0, float(np.max(np.abs(right), initial=0.0))))
    if not wrong.any():
        return "Right."
    if not right.ndim:
        return "Not yet: the sign is wrong." if mine * right < 0 else f"Not yet: yours is too {_side(mine, right)}."
    places = ", ".join(str(list(int(i) for i in place)) for place in np.argwhere(wrong)[:5])
    return f"Not yet: {int(wrong.sum())} of {right.size} elements differ, at {places}."


def _numbers(value: Any) -> Any:
    return value.detach().numpy() if hasattr(value, "detach") else value


def _side(mine: np.ndarray, right: np.ndarray) -> str:
    return "large" if mine > right else "small"
