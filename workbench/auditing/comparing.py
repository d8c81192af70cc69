"""Comparing two tensors of either engine, and what a check says."""

from __future__ import annotations

from typing import Any

from .case import Case
from .report import Outcome

Seen = tuple[Outcome, str, str, str]  # outcome, evidence, advice, the method whose line is meant
PASS: Seen = ("pass", "", "", "")
_TOLERANCE = {"float64": 1e-5, "float32": 1e-3, "float16": 3e-2, "bfloat16": 5e-2}


class NotApplicable(Exception):
    """A check has nothing to look at; the text says why."""


def failed(evidence: str, advice: str, method: str) -> Seen:
    """Return a failure: what was seen, what to do, and in which method."""
    return "fail", evidence, advice, method


def tolerance(case: Case, like: Any) -> float:
    return _TOLERANCE.get(str(like.dtype).rpartition(".")[2], 1e-3)


def apart(case: Case, a: Any, b: Any) -> float:
    """Return the largest difference of two tensors, relative to their size."""
    if tuple(a.shape) != tuple(b.shape):
        return float("inf")
    if not a.numel():
        return 0.0
    a, b = a.detach().to(case.engine.float64), b.detach().to(case.engine.float64)
    gap, size = (a - b).abs().max().item(), max(1.0, b.abs().max().item())
    return gap / size if gap == gap else float("inf")


def first_apart(case: Case, found: list[Any], expected: list[Any]) -> tuple[str, Any, Any] | None:
    """Return the name and both gradients of the first wanted input for which they differ; None if none does."""
    for place, a, b in zip(case.wanted, found, expected, strict=True):
        if apart(case, a, b) > tolerance(case, b):
            return case.name(place), a, b
    return None


def shown(case: Case, t: Any) -> str:
    values = [f"{each:.4g}" for each in t.detach().reshape(-1)[:4].tolist()]
    more = ", …" if t.numel() > 4 else ""
    return f"[{', '.join(values)}{more}]"
