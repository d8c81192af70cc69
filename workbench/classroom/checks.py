"""Checks of predictions and exercises' answers: in a lesson, by a grader, and in front of a room."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .exercise import Verdict, compared, exercises, find
from .points import note

_EXERCISE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")  # how the name of an exercise looks
ANSWER = "The answer: "
# Run before the cells of a lesson that is presented, so that the check which they import tells the answers.
HOOK = "import workbench.classroom\nfrom workbench.classroom.checks import tell\nworkbench.classroom.check = tell"


def check(prediction: Any, truth: Any, tolerance: float = 1e-3) -> str | Verdict:
    """Say whether a prediction or an exercise's answer is right, and what is wrong with it if not.

    `check(prediction, truth)` compares numbers, lists or tensors of one shape, or words or truth values; None means
    "not yet". The tolerance is relative to the largest element of `truth`. `check("name-of-an-exercise", answer)` runs
    the answer, says which misconception it shows, if any, and notes it for `progress()`. The answer is never told.
    """
    if not isinstance(prediction, str) or not _EXERCISE.fullmatch(prediction):
        return compared(prediction, truth, tolerance)
    if isinstance(truth, str) and prediction not in exercises():
        return compared(prediction, truth, tolerance)  # a prediction that is a word with a hyphen
    verdict = find(prediction).judge(truth)
    note(verdict)
    return verdict


def grade(name: str, answer: Any) -> float:
    """The points of an answer, for a grader's hidden test; why they are not all is printed."""
    verdict = find(name).judge(answer)
    print(verdict)
    return verdict.points


def tell(prediction: Any, truth: Any, tolerance: float = 1e-3) -> str | Verdict:
    """In place of `check`, for a room: what is right, if a prediction is asked for; an exercise is judged as ever."""
    verdict = check(prediction, truth, tolerance)
    return verdict if isinstance(verdict, Verdict) or truth is None else f"{ANSWER}{_said(truth)}"


def _said(truth: Any) -> str:
    plain = truth.detach().numpy() if hasattr(type(truth), "detach") else truth
    if isinstance(plain, np.ndarray):
        plain = plain.tolist()
    if isinstance(plain, list | tuple):
        return f"[{', '.join(map(_said, plain))}]"
    return f"{plain:.4g}" if isinstance(plain, float) else str(plain)
