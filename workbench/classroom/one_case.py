"""What an answer gave in its first wrong case, in a sentence: the input and the answer's own result.

The right result is never part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .answer_errors import Raised
from .comparison import TOLERANCE, close, compared, kind_in_words
from .evidence import Odd, alike, plain

_LONGEST = 90  # characters of a result or of an input
_DIGITS = 4


def case_of(
    aspect: str,
    found: Any,
    expected: Any,
    cases: Sequence[Sequence[Any]],
    names: Sequence[str],
    is_drawn: bool = False,
) -> str:
    """Return a sentence about the first wrong result of a probe, or "" if there is nothing to show.

    Args:
        aspect: The name of the probe, such as "the gradient".
        found: The results of the answer.
        expected: The results of the solution.
        cases: The arguments of each call, if the probe has them.
        names: The names of these arguments.
        is_drawn: Whether a table below shows the result, so that the sentence only says for which input it is.
    """
    given, title = "", f"{aspect[0].upper()}{aspect[1:]}"
    if cases and _is_per_case(found, cases) and _is_per_case(expected, cases):
        wrong = [n for n, mine in enumerate(found) if not alike(plain(mine), plain(expected[n]))]
        given, found, expected = _given(cases[wrong[0]], names), found[wrong[0]], expected[wrong[0]]
    if is_drawn:
        return f"{title} for {given}:" if given else ""
    said = _first_difference(plain(found), plain(expected))
    return f"{title}{given and f' for {given}'}: {said}." if said else ""


def _is_per_case(results: Any, cases: Sequence[Any]) -> bool:
    return isinstance(results, list | np.ndarray) and len(results) == len(cases)


def _given(case: Sequence[Any], names: Sequence[str]) -> str:
    """Return the arguments of a call, such as "x = 2, y = [1, -1]"; "" if they are too long or can't be typed."""
    parts = []
    for n, each in enumerate(case):
        if not isinstance(each, int | float | list) or isinstance(each, bool):
            return ""
        text = in_words(plain(each))
        parts.append(f"{names[n]} = {text}" if n < len(names) else text)
    said = ", ".join(parts)
    return said if len(said) <= _LONGEST else ""


def _first_difference(mine: Any, wanted: Any) -> str:
    """Return what is wrong in the first place where two results differ; "" if that is only a boolean or an error."""
    if isinstance(mine, dict) and isinstance(wanted, dict):
        if mine.keys() != wanted.keys():
            return _counted(mine, wanted, "key")
        wrong = [key for key in mine if not alike(mine[key], wanted[key])]
        return _first_difference(mine[wrong[0]], wanted[wrong[0]]) if wrong else ""
    if _are_words(mine) and _are_words(wanted):
        return _counted(mine, wanted, "word")
    if isinstance(mine, list) and isinstance(wanted, list):
        pairs = [pair for pair in zip(mine, wanted, strict=False) if not alike(*pair)]
        return next((said for one, other in pairs if (said := _first_difference(one, other))), "")
    if isinstance(mine, str) and isinstance(wanted, str):
        return f"you get {in_words(mine)}"
    if isinstance(mine, np.ndarray) and isinstance(wanted, np.ndarray):
        return _numbers(mine, wanted)
    if type(mine) is not type(wanted) and mine is not None and not isinstance(mine, Raised | Odd):
        return f"you get {kind_in_words(mine)}, which is of the wrong kind"
    return ""


def _are_words(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(each, str) for each in found)


def _counted(mine: Any, wanted: Any, what: str) -> str:
    """Return how many words or keys an answer has, and how many of them are right: in order if there are enough."""
    in_order = isinstance(mine, list) and len(mine) == len(wanted)
    right = sum(map(alike, mine, wanted)) if in_order else len({*mine} & {*wanted})
    number = "" if len(mine) == len(wanted) else f" (too {'many' if len(mine) > len(wanted) else 'few'})"
    some = f", and {right or 'none'} of them {'is' if right < 2 else 'are'} right" if mine else ""
    return f"you give {len(mine)} {what}{'s' * (len(mine) != 1)}{number}{some}"


def _numbers(mine: np.ndarray, wanted: np.ndarray) -> str:
    if mine.shape != wanted.shape:
        return f"you get the shape {list(mine.shape)}, which isn't right" if mine.ndim else "you get a single number"
    if not mine.ndim:
        said = compared(mine, wanted, TOLERANCE).removeprefix("Not yet: ").removesuffix(".")
        said = said.replace("yours is too", "which is too").replace("the sign", "and the sign")
        return f"you get {in_words(mine)}, {said}"
    wrong = close(mine, wanted, TOLERANCE)
    text = in_words(mine)
    some = f"{int((~wrong).sum())} of {wrong.size} numbers {'is' if wrong.size == 1 else 'are'} wrong"
    return f"you get {text}; {some}" if text else some


def in_words(value: Any) -> str:
    """Return a result as a reader would type it, numbers with four digits; "" if it is too long."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list):
        text = f"[{', '.join(map(in_words, value))}]"
    else:
        text = f"{value + 0.0:.{_DIGITS}g}" if isinstance(value, float | complex) else repr(value)
    return text if len(text) <= _LONGEST else ""
