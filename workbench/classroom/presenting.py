"""What a lesson says in front of a room: the answers to its predictions, to be uncovered after the room has guessed."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import checking
from .exercise import Verdict

ANSWER = "The answer: "
# Run before a lesson's cells, so that the check which they import tells the answers.
HOOK = "import workbench.classroom\nfrom workbench.classroom.presenting import tell\nworkbench.classroom.check = tell"


def tell(prediction: Any, truth: Any, tolerance: float = 1e-3) -> str | Verdict:
    """In place of `check`: what is right, where a prediction is asked for; an exercise is judged as ever."""
    verdict = checking.check(prediction, truth, tolerance)
    return verdict if isinstance(verdict, Verdict) or truth is None else f"{ANSWER}{_said(truth)}"


def _said(truth: Any) -> str:
    plain = truth.detach().numpy() if hasattr(type(truth), "detach") else truth
    if isinstance(plain, np.ndarray):
        plain = plain.tolist()
    if isinstance(plain, list | tuple):
        return f"[{', '.join(map(_said, plain))}]"
    return f"{plain:.4g}" if isinstance(plain, float) else str(plain)
