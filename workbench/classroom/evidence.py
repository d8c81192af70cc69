"""The evidence about an answer: what a probe finds in it, or the error raised, in a form that can be compared."""

from __future__ import annotations

import linecache
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np

import workbench as torch

from ..autograd.complex_tensor import is_complex
from .answer_errors import Raised, Unusable
from .comparison import TOLERANCE, as_numbers, close, oddity
from .time_limit import TookTooLong, time_limit

SECONDS = 20  # that a probe may take
STOPPED = f"your code was stopped after {SECONDS} seconds. Is there a loop that never ends?"
PRINTS_ON = "it never stops printing"
_LONGEST = 100_000  # characters that an answer may print while it is probed
_DEEPEST = 20  # lists in lists
_MOST = 100_000  # elements of a list
_SAID = 200  # characters of an error that are shown


@dataclass(frozen=True)
class Odd:
    """A result that can't be converted to numbers; `kind` describes it in words."""

    kind: str


def evidence(probe: Callable[[Any], Any], answer: Any) -> Any:
    """Run a probe on an answer and return its result (numbers, words, lists and dicts of them), or the error raised.

    The answer's output isn't shown; modes and random state are restored afterward.
    """
    try:
        with _aside(), time_limit(SECONDS):
            return plain(probe(answer))
    except TookTooLong as error:
        return Raised(Unusable.__name__, STOPPED, _own_line(error, answer))
    except (Exception, SystemExit) as error:  # whatever a learner can write
        return Raised(type(error).__name__, _first_line(error), _own_line(error, answer))


def alike(one: Any, other: Any) -> bool:
    """Return True if two results are the same: numbers up to rounding, errors by type and message."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        same = one.shape == other.shape and is_complex(one) <= is_complex(other)
        return same and bool(close(one, other, TOLERANCE).all())
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, Raised) and isinstance(other, Raised):
        return one.kind == other.kind and _anonymous(one.text) == _anonymous(other.text)
    return type(one) is type(other) and one == other and not isinstance(one, Odd)


def _anonymous(text: str) -> str:
    """Return an error's text without the name that a learner gave to a Function."""
    return re.sub(r"\w*Backward\w*", "Backward", text)


class _Sink(StringIO):
    """A place for an answer's output with a limit, so that a loop that only prints is stopped."""

    def write(self, text: str) -> int:
        if self.tell() > _LONGEST:
            raise RuntimeError(PRINTS_ON)
        return super().write(text)


@contextmanager
def _aside() -> Iterator[None]:
    """Run probes with the initial modes, and restore everything afterward."""
    dtype, random, deepest = torch.get_default_dtype(), torch.get_rng_state(), sys.getrecursionlimit()
    try:
        torch.set_default_dtype(torch.float64)  # that of the probes' numbers
        with torch.inference_mode(False), torch.enable_grad(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            with redirect_stdout(_Sink()), redirect_stderr(_Sink()):
                yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_rng_state(random)
        sys.setrecursionlimit(deepest)


def plain(value: Any, depth: int = 0) -> Any:
    """Return a result as booleans, words, None, arrays of numbers, and lists and dicts of these."""
    if value is None or isinstance(value, str | bool | np.bool_):
        return bool(value) if isinstance(value, np.bool_) else value
    if depth > _DEEPEST or (isinstance(value, list | tuple | dict | range) and len(value) > _MOST):
        return Odd("a list that never ends")
    if isinstance(value, dict):
        return {key: plain(each, depth + 1) for key, each in value.items()}
    if hasattr(type(value), "detach"):
        value = value.detach().numpy()  # pyright: ignore[reportAttributeAccessIssue]  its type has it
    if isinstance(value, list | tuple | range):
        parts = [plain(each, depth + 1) for each in value]
        numbers = all(isinstance(part, np.ndarray) for part in parts)
        return np.stack(parts) if parts and numbers and len({part.shape for part in parts}) == 1 else parts
    try:
        array = np.asarray(value)
    except Exception:  # its conversion is the learner's
        return Odd(oddity(value))
    return as_numbers(array) if array.dtype.kind in "biufc" else Odd(oddity(value))


def _own_line(error: BaseException, answer: Any) -> str | None:
    """Return the last line of the answer's own code in a traceback: None without one, empty without its text."""
    functions = vars(answer).values() if isinstance(answer, type) else [answer]
    codes = [getattr(getattr(each, "__func__", each), "__code__", None) for each in functions]
    files = {code.co_filename for code in codes if code}
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    return _short(linecache.getline(own[-1].filename, own[-1].lineno or 0).strip()) if own else None


def _first_line(error: BaseException) -> str:
    try:
        text = str(error).strip().partition("\n")[0].partition(" Hint: ")[0]
        text = re.sub(r"<(?:\S+\.)?(\w+) object at 0x[0-9a-f]+>", r"<\1 object>", text)  # no two runs have one address
    except Exception:  # an error class of the learner's own
        return ""
    return _short(text)


def _short(text: str) -> str:
    return text if len(text) <= _SAID else f"{text[:_SAID]}…"
