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
    engine, a, b = case.engine, case.real(a), case.real(b)
    a, b = a.detach().to(engine.float64), b.detach().to(engine.float64)
    none = engine.zeros_like(a)
    same = (a == b) | ((a != a) & (b != b))  # infinities and nan too
    gap = engine.where(same, none, a - b).abs().max().item()
    size = max(1.0, engine.where(engine.isfinite(b), b, none).abs().max().item())
    return gap / size if gap == gap else float("inf")


def first_apart(case: Case, found: list[Any], expected: list[Any]) -> tuple[str, str, str] | None:
    """Return the name of the first wanted input for which two gradients differ, and both; None if none does."""
    for place, a, b in zip(case.wanted, found, expected, strict=True):
        if apart(case, a, b) > tolerance(case, b):
            return case.name(place), *both(case, a, b)
    return None


def both(case: Case, a: Any, b: Any) -> tuple[str, str]:
    """Return how two tensors are shown beside each other: all of small ones, else where they differ most.

    Where the second is nan and the first isn't, there is nothing to compare.
    """
    a, b = case.real(a), case.real(b)
    is_unlike = tuple(a.shape) != tuple(b.shape)
    if is_unlike or not a.ndim or not a.numel() or (a.numel() <= 4 and not bool((b != b).any())):
        return shown(case, a), shown(case, b)
    numbers = [each.detach().to(case.engine.float64).reshape(-1).tolist() for each in (a, b)]
    worst = max(range(a.numel()), key=lambda i: _gap(numbers[0][i], numbers[1][i]))
    place, rest = [], worst
    for size in tuple(a.shape)[::-1]:
        place.insert(0, rest % size)
        rest //= size
    one, other = numbers[0][worst], numbers[1][worst]
    digits = next((digits for digits in (4, 6, 9) if f"{one:.{digits}g}" != f"{other:.{digits}g}"), 4)
    return f"{one:.{digits}g} at {place}", f"{other:.{digits}g}"


def _gap(a: float, b: float) -> float:
    if b != b or a == b:
        return -1.0
    return abs(a - b) if a == a else float("inf")


def in_a_line(error: BaseException) -> str:
    """Return the kind of an error and the first line of its text."""
    said = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {said[0]}" if said else type(error).__name__
    return text if text[-1] in ".!?" else f"{text}."


def shown(case: Case, t: Any) -> str:
    """Return the first entries of a tensor, or its only number."""
    values = [f"{each:.4g}" for each in t.detach().reshape(-1)[:4].tolist()]
    if not t.ndim:
        return values[0]
    more = ", …" if t.numel() > 4 else ""
    return f"[{', '.join(values)}{more}]"
