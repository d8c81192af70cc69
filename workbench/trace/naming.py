"""How a recorder learns what the user's variables call the tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from types import FrameType
from typing import Any

from ..events import tag
from .asking import maker_of
from .caller import user_frames, variables
from .describing import Describer
from .values import LIMIT

_FRAMES = 6  # functions that one transformed function may lie in, and its variables be known


class Namer(Describer):
    """Notes the first name found of each tensor."""

    def __init__(self, limit: int = LIMIT) -> None:
        super().__init__(limit)
        self._names: dict[int, str] = {}  # tensor -> variable

    def look_up(self, frame: FrameType | None) -> None:
        """Learn which of a frame's variables hold tensors; one tensor keeps the first name found."""
        if frame is not None:
            self._learn(variables(frame))

    def _learn(self, named: Iterable[tuple[str, Any]]) -> None:
        found: dict[int, tuple[Any, ...]] = {}
        named = list(named)
        for name, thing in (*named, *_parameters(named)):
            if name.startswith("_") or not hasattr(type(thing), "_array"):
                continue
            serial = tag(thing)
            self._names.setdefault(serial, name)
            maker = maker_of(thing)
            known = serial in self._tensors and serial not in self._outdated
            if not known and maker is not None and tag(maker) in self._nodes:
                self._describe(thing, found)
        if found:
            self._raw.append(("found", tuple(found.values())))

    def _learn_names(self) -> None:
        """Inside a transform a variable is gone before anybody else asks for its name.

        What a named tensor stands for has that name too, if it has none of its own.
        """
        held = [pair for frame in islice(user_frames(), _FRAMES) for pair in variables(frame)]
        named = [(name, thing) for name, thing in held if hasattr(type(thing), "_array") and name[0] != "_"]
        named = [(name, tensor) for name, tensor in named if hasattr(tensor, "_level")]
        for name, tensor in named:
            self._names.setdefault(tag(tensor), name)
        for name, tensor in named:
            while hasattr(tensor := tensor._value, "_level"):
                self._names.setdefault(tag(tensor), name)


def _parameters(named: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """What modules that are variables call their parameters: "net.layers.0.weight"."""
    for name, thing in named:
        if hasattr(type(thing), "named_parameters") and "_parameters" in getattr(thing, "__dict__", ()):
            yield from ((f"{name}.{path}", parameter) for path, parameter in thing.named_parameters())
