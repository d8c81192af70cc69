"""`check`: of a prediction whether it is right, of an exercise's answer also why it is not."""

from __future__ import annotations

import re
from typing import Any

from .course import exercises, find
from .exercise import Verdict
from .points import note
from .prediction import compared

_EXERCISE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")  # how the name of an exercise looks


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
