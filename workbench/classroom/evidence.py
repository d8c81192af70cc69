"""What an answer did when it was probed, in a form in which two answers can be compared."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np

import workbench as torch

_TOLERANCE = 1e-4  # relative to the largest element
_LONGEST = 100_000  # characters that an answer may print while it is probed
_DEEPEST = 20  # lists in lists
_MOST = 100_000  # elements of a list
_SAID = 200  # characters of an error that are told


@dataclass(frozen=True)
class Raised:
    """That an answer raised an error instead of giving a result."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}" if self.text else self.kind


@dataclass(frozen=True)
class Odd:
    """A result of which no numbers can be made."""

    kind: str


def evidence(probe: Callable[[Any], Any], answer: Any) -> Any:
    """What the probe finds out about an answer: numbers, words, lists and dicts of them, or the error it raised.

    What the answer prints is not shown, and the modes and the random numbers are afterwards what they were.
    """
    try:
        with _aside():
            return _plain(probe(answer))
    except (Exception, SystemExit) as error:  # whatever a learner can write
        return Raised(type(error).__name__, _first_line(error))


def alike(one: Any, other: Any) -> bool:
    """Whether two answers behaved in the same way: numbers up to rounding, errors by their kind and text."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.shape != other.shape:
            return False
        largest = float(np.max(np.abs(other[np.isfinite(other)]), initial=0.0))
        return bool(np.allclose(one, other, rtol=0, atol=_TOLERANCE * (largest or 1.0), equal_nan=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, Raised) and isinstance(other, Raised):
        return one.kind == other.kind and _anonymous(one.text) == _anonymous(other.text)
    return type(one) is type(other) and one == other and not isinstance(one, Odd)


def _anonymous(text: str) -> str:
    """An error's text without the name that a learner gave to a Function."""
    return re.sub(r"\w*Backward\w*", "Backward", text)


class _Sink(StringIO):
    """Takes what an answer prints, up to an end: a loop that only prints is stopped."""

    def write(self, text: str) -> int:
        if self.tell() > _LONGEST:
            raise RuntimeError("it prints without an end")
        return super().write(text)


@contextmanager
def _aside() -> Iterator[None]:
    """What a probe runs finds the modes as they are at first, and leaves nothing behind."""
    dtype, random, deepest = torch.get_default_dtype(), torch.get_rng_state(), sys.getrecursionlimit()
    try:
        torch.set_default_dtype(torch.float32)
        with torch.inference_mode(False), torch.enable_grad(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            with redirect_stdout(_Sink()), redirect_stderr(_Sink()):
                yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_rng_state(random)
        sys.setrecursionlimit(deepest)


def _plain(value: Any, depth: int = 0) -> Any:
    """A result as truth values, words, None, arrays of numbers, and lists and dicts of these."""
    if value is None or isinstance(value, str | bool | np.bool_):
        return bool(value) if isinstance(value, np.bool_) else value
    if depth > _DEEPEST or (isinstance(value, list | tuple | dict | range) and len(value) > _MOST):
        return Odd("a list without an end")
    if isinstance(value, dict):
        return {key: _plain(each, depth + 1) for key, each in value.items()}
    if hasattr(type(value), "detach"):
        value = value.detach().numpy()  # pyright: ignore[reportAttributeAccessIssue]  its type has it
    if isinstance(value, list | tuple | range):
        parts = [_plain(each, depth + 1) for each in value]
        numbers = all(isinstance(part, np.ndarray) for part in parts)
        return np.stack(parts) if parts and numbers and len({part.shape for part in parts}) == 1 else parts
    try:
        array = np.asarray(value)
    except Exception:  # its conversion is the learner's
        return Odd(type(value).__name__)
    return array.astype(np.float64) if array.dtype.kind in "biuf" else Odd(type(value).__name__)


def _first_line(error: BaseException) -> str:
    try:
        text = str(error).strip().partition("\n")[0]
    except Exception:  # an error class of the learner's own
        return ""
    return text if len(text) <= _SAID else f"{text[:_SAID]}…"
