"""Exercises of a file that was handed out: what the probes found in the solutions stands in it, and no solution.

An answer is judged as in the teacher's file, by what the probes find in it. `sealing` writes such files.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .judging import AnswerKind, Exercise, Misconception, Odd, Probe, Raised

NO_SOLUTION = (
    "The solution of {!r} is not in the file that was handed out: it holds what the probes found in the solution, and "
    "answers are compared with that. The teacher's own file has the solution."
)
NOT_AS_SEALED = "The exercise {!r} is not as it was when its file was sealed: take the file anew from where it came."


class Unrecordable(ValueError):
    """What a probe found cannot be written into a file; the text says what it is."""


class Outcomes:
    """By exercise what its probes found in the right answer and in each wrong one, as compressed text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "<what the probes found>"

    @cached_property
    def _found(self) -> Mapping[str, Any]:
        return json.loads(zlib.decompress(base64.b64decode(self._text)))

    def of(self, name: str) -> Mapping[str, Any]:
        """What was found for an exercise; a ValueError says that it is not there."""
        if name not in self._found:
            raise ValueError(NOT_AS_SEALED.format(name))
        return self._found[name]


def packed(found: Mapping[str, Any]) -> str:
    """The text of `Outcomes`, the same for the same outcomes."""
    text = json.dumps(found, separators=(",", ":"), sort_keys=True)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


class Sealed(Exercise):
    """An exercise whose solution is not here."""

    def __init__(
        self,
        name: str,
        asks: str,
        outcomes: Outcomes,
        probes: Mapping[str, Probe],
        misconceptions: Sequence[Misconception],
        points: float,
    ) -> None:
        made = {"name": name, "asks": asks, "probes": probes, "misconceptions": tuple(misconceptions), "points": points}
        self.__dict__.update(made)
        self.__dict__["found"] = outcomes.of(name)
        if probes and self._expected.keys() != probes.keys() or len(self._shown) != len(misconceptions):
            raise ValueError(NOT_AS_SEALED.format(name))

    def __repr__(self) -> str:
        return f"Sealed({self.name!r}, {self.asks!r})"

    @property
    def solution(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]  a field there, and none here
        """Not here: a LookupError says where it is."""
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
    """What a probe found, as JSON has it; Unrecordable says of what kind it is, if it cannot be written down."""
    if isinstance(found, np.ndarray):
        return ["array", list(found.shape), found.ravel().tolist()]
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
    """What was written so."""
    if not isinstance(found, list):
        return found
    kind, *parts = found
    if kind == "array":
        shape, numbers = parts
        return np.array(numbers, dtype=np.float64).reshape(shape)
    if kind == "list":
        return [read(each) for each in parts[0]]
    if kind == "dict":
        return {key: read(each) for key, each in parts[0]}
    return Raised(*parts) if kind == "raised" else Odd(*parts)


def _all_read(found: Mapping[str, Any]) -> dict[str, Any]:
    return {aspect: read(each) for aspect, each in found.items()}
