"""Events that fit what is there: one that was lost, or that speaks of something unknown, costs that one fact.

Each event is played on a frame. What it says of something that no event before it has brought is taken out of it; where
nothing is left of it, an `EventLost` takes its place, so that all others keep their numbers.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Iterable
from functools import cache
from typing import Any

from .backward_records import BackwardStarted, NodeFinished
from .call_records import LineReached, MethodCalled, MethodEnded
from .facts import Argument
from .forward_records import LevelEntered, NodeCreated, OperationRan, TangentPushed
from .frame import Frame
from .gap_records import EventLost
from .schema import Record

_PLACES = {  # what of a frame the ids in a field are of, by its name
    "tensor": ("tensors",),
    "below": ("tensors",),
    "outputs": ("tensors",),
    "parameters": ("tensors",),
    "level": ("levels",),
    "pushing": ("levels",),
    "node": ("nodes", "tensors"),
    "nodes": ("nodes",),
    "runs": ("nodes",),
    "slices": ("nodes",),
    "target": ("nodes", "tensors"),
    "targets": ("nodes", "tensors"),
}
_OWN: dict[type[Any], tuple[str, str]] = {  # what an event brings itself: the field, and the place in a frame
    NodeCreated: ("node", "nodes"),
    LevelEntered: ("level", "levels"),
}
_UNKNOWN = "?"  # an argument that is not known


class NothingLeft(Exception):
    """Nothing of a fact is left, or it can't exist."""


class Fitting:
    """Play events, and make each fit those before it.

    An event that fails has changed part of the frame, so those before it are played again, at most `again` of them.
    ValueError if a file needs more.
    """

    def __init__(self, again: float = math.inf) -> None:
        self.frame = Frame(follows=False)
        self._told: list[Record] = []
        self._calls: set[str] = set()
        self._again = again

    def fit(self, event: Record) -> Record:
        """Return the event without what is unknown; the frame is in the state after it."""
        known: dict[str, set[str]] = {"nodes": set(), "levels": set()}
        known["tensors"] = {seen.id for seen in getattr(event, "tensors", ())}
        if (own := _OWN.get(type(event))) is not None:
            known[own[1]].add(getattr(event, own[0]))
        lost = EventLost(type(event).__name__)
        try:
            told = self._fitted(event, known)
            self._check(told)
        except NothingLeft:
            told = lost
        self.frame.touched = {}
        try:
            told.apply(self.frame)
        except Exception:  # whatever an event without those before it can lead to
            told = lost
            self._play_anew()
        if isinstance(told, MethodCalled):
            self._calls.add(told.call)
        self._told.append(told)
        return told

    def _play_anew(self) -> None:
        """Have the frame be as the events so far have left it."""
        self._again -= len(self._told)
        if self._again < 0:
            raise ValueError("is inconsistent with the events before it")
        self.frame = Frame(follows=False)
        for each in self._told:
            each.apply(self.frame)

    def _check(self, event: Any) -> None:
        """Raise an error where nothing is left that the event could tell."""
        if isinstance(event, OperationRan) and not event.outputs:
            raise NothingLeft
        if isinstance(event, TangentPushed) and not (event.outputs and event.operands):
            raise NothingLeft
        if isinstance(event, BackwardStarted) and not event.roots:
            raise NothingLeft
        if isinstance(event, NodeFinished) and event.node not in self.frame.nodes:
            raise NothingLeft
        if isinstance(event, LineReached | MethodEnded) and event.call not in self._calls:
            raise NothingLeft

    def _fitted(self, fact: Any, known: dict[str, set[str]]) -> Any:
        """Return a fact without references to unknown things; raise an error if the fact is about one."""
        changed: dict[str, Any] = {}
        for name, holds_ids, optional in told_of(fact.__class__):
            value = getattr(fact, name)
            if value is None:
                continue
            several = value.__class__ is tuple
            left: list[Any] = []
            for each in value if several else (value,):
                if not holds_ids:
                    try:
                        left.append(self._fitted(each, known))
                    except NothingLeft:
                        continue
                elif self._is_there(name, each, known):
                    left.append(each)
            if several:
                fitted: Any = tuple(left)
            elif left or optional:
                fitted = left[0] if left else None
            else:
                raise NothingLeft
            if fitted != value:
                changed[name] = fitted
        if not changed:
            return fact
        if isinstance(fact, Argument):
            changed["text"] = (fact.text or "{}").replace("{}", _UNKNOWN)
        return dataclasses.replace(fact, **changed)

    def _is_there(self, name: str, id: str, known: dict[str, set[str]]) -> bool:
        if (name, id) == ("pushing", "dual"):
            return True
        return any(id in known.get(place, ()) or id in getattr(self.frame, place) for place in _PLACES[name])


def fitted(events: Iterable[Record]) -> list[Record]:
    """Return events of which some were lost, each without references to those."""
    fitting = Fitting()
    return [fitting.fit(event) for event in events]


@cache
def told_of(kind: type[Any]) -> tuple[tuple[str, bool, bool], ...]:
    """Return the fields of a fact that hold ids, or facts with ids: whether it is an id, and whether it may be None."""
    hints, found = typing.get_type_hints(kind), list[tuple[str, bool, bool]]()
    for each in dataclasses.fields(kind):
        inner, optional = _inner(hints[each.name]), types.NoneType in typing.get_args(hints[each.name])
        # A method may be told of a node that is not there yet.
        if each.name in _PLACES and inner is str:
            if each.name != "node" or kind not in (MethodCalled, LineReached, MethodEnded):
                found.append((each.name, True, optional))
        elif dataclasses.is_dataclass(inner) and told_of(inner):
            found.append((each.name, False, optional))
    return tuple(found)


def _inner(hint: Any) -> Any:
    """Return the type of a field, without None and without its container."""
    options = [each for each in typing.get_args(hint) if each not in (types.NoneType, Ellipsis)]
    return _inner(options[0]) if typing.get_origin(hint) in (tuple, types.UnionType) else hint
