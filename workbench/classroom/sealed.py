"""Exercises of a released file: it contains the probes' results for the solutions, but not the solutions themselves.

An answer is judged as in the teacher's file, by comparing the probes' results. `sealing` writes such files.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..autograd.complex_tensor import is_complex
from .answer_errors import Raised
from .answer_kind import AnswerKind
from .evidence import Odd
from .judging import Exercise, Misconception
from .probes import Probe

NO_SOLUTION = (
    "The solution of {!r} isn't in this file, which was released to students. It contains only the probes' results, to "
    "compare answers with. The teacher's file has the solution."
)
NOT_AS_SEALED = "The exercise {!r} has changed since its file was sealed. Get the file again from where it came."
_ARRAYS = {"array": np.float64, "complex array": np.complex128}  # how a file names an array, and its dtype


class Unrecordable(ValueError):
    """A probe's result that can't be written to a file; the text says what it is."""


class Outcomes:
    """The probes' results for the right answer and each wrong one, by exercise, as compressed text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "<the probes' results>"

    @cached_property
    def _found(self) -> Mapping[str, Any]:
        return json.loads(zlib.decompress(base64.b64decode(self._text)))

    def of(self, name: str) -> Mapping[str, Any]:
        """Return the results for an exercise.

        Raises:
            ValueError: if there are none.
        """
        if name not in self._found:
            raise ValueError(NOT_AS_SEALED.format(name))
        return self._found[name]


def packed(found: Mapping[str, Any]) -> str:
    """Compress results to the text of `Outcomes`; the same results give the same text."""
    text = json.dumps(found, separators=(",", ":"), sort_keys=True)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


class Sealed(Exercise):
    """An exercise without its solution."""

    def __init__(
        self,
        name: str,
        asks: str,
        outcomes: Outcomes,
        probes: Mapping[str, Probe],
        misconceptions: Sequence[Misconception],
        points: float,
        hints: Mapping[str, str],
    ) -> None:
        made = {"name": name, "asks": asks, "probes": probes, "misconceptions": tuple(misconceptions)}
        made |= {"points": points, "hints": hints}
        self.__dict__.update(made)
        self.__dict__["found"] = outcomes.of(name)
        if probes and self._expected.keys() != probes.keys() or len(self._shown) != len(misconceptions):
            raise ValueError(NOT_AS_SEALED.format(name))

    def __repr__(self) -> str:
        return f"Sealed({self.name!r}, {self.asks!r})"

    @property
    def solution(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]  a field there, and none here
        """Raise LookupError, with the place of the solution."""
        raise LookupError(NO_SOLUTION.format(self.name))

    @cached_property
    def _asked(self) -> AnswerKind:
        kind, is_function, is_empty, names = self.__dict__["found"]["asked"]
        return AnswerKind(kind, is_function, is_empty, frozenset(names))

    @cached_property
    def _expected(self) -> dict[str, Any]:
        return _all_read(self.__dict__["found"]["right"])

    @cached_property
    def _shown(self) -> list[list[dict[str, Any]]]:
        return [[_all_read(one) for one in each] for each in self.__dict__["found"]["wrong"]]


def written(found: Any) -> Any:
    """Convert a probe's result to JSON.

    Raises:
        Unrecordable: if it can't be converted; the text says what it is.
    """
    if isinstance(found, np.ndarray):
        kind = "complex array" if is_complex(found) else "array"  # of `_ARRAYS`
        return [kind, list(found.shape), found.ravel().view(np.float64).tolist()]
    if isinstance(found, list):
        return ["list", [written(each) for each in found]]
    if isinstance(found, dict):
        if odd := [key for key in found if not isinstance(key, str | int | float | bool | None)]:
            raise Unrecordable(f"a dict with {odd[0]!r} for a key")
        return ["dict", [[key, written(each)] for key, each in found.items()]]
    if isinstance(found, Raised):
        return ["raised", found.kind, found.text]
    if isinstance(found, Odd):
        return ["odd", found.kind]
    return found


def read(found: Any) -> Any:
    """Convert a probe's result back from JSON."""
    if not isinstance(found, list):
        return found
    kind, *parts = found
    if kind in _ARRAYS:
        shape, numbers = parts
        return np.array(numbers, dtype=np.float64).view(_ARRAYS[kind]).reshape(shape)
    if kind == "list":
        return [read(each) for each in parts[0]]
    if kind == "dict":
        return {key: read(each) for key, each in parts[0]}
    return Raised(*parts) if kind == "raised" else Odd(*parts)


def _all_read(found: Mapping[str, Any]) -> dict[str, Any]:
    return {aspect: read(each) for aspect, each in found.items()}
