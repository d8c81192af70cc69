"""Whether the events of a file can have happened: each is played, and speaks of nothing that is not there."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from .call_records import LineReached, MethodCalled, MethodEnded, above
from .formulas import METHODS
from .frame import Frame
from .json_records import decode, find_path
from .parts_table import PartsRead
from .records import LevelEntered, NodeCreated, NodeFinished, OperationRan, TangentPushed
from .schema import Record

_DEEPEST = 100  # levels inside each other, and tensors of levels below each other
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


def brief(text: str) -> str:
    """A text that may hold much of a file, short enough for a sentence."""
    return text if len(text) <= 150 else f"{text[:100]} … {text[-40:]}"


def played(told: Iterable[Any], parts: PartsRead) -> list[Record]:
    """The events of a file, as records or as what JSON says of them; a ValueError says which is wrong, and why."""
    frame, events = Frame(follows=False), list[Record]()
    for number, each in enumerate(told, 1):
        try:
            event = each if isinstance(each, Record) else decode(each)
            find_path(event, parts)
            _play(event, frame)
        except ValueError as error:
            raise ValueError(f"Event {number} of this trace {brief(str(error))}.") from None
        events.append(event)
    _check_above(events)
    return events


def _play(event: Record, frame: Frame) -> None:
    """Have the event change the frame; a ValueError says why it cannot have happened."""
    if isinstance(event, MethodCalled) and event.method not in METHODS:
        raise ValueError(f"is of the unknown method {event.method!r}")
    if isinstance(event, NodeCreated) and event.node in frame.nodes:
        raise ValueError(f"makes {event.node!r} again")
    if isinstance(event, LevelEntered) and event.level in frame.levels:
        raise ValueError(f"enters {event.level!r} again")
    if isinstance(event, OperationRan) and not event.outputs:
        raise ValueError("computes nothing")
    if isinstance(event, TangentPushed) and not event.operands:
        raise ValueError("pushes no tangent")
    frame.touched = {}
    try:
        event.apply(frame)
    except LookupError as error:
        raise ValueError(f"speaks of an unknown {error}") from None
    except Exception:  # whatever a changed file can lead to
        raise ValueError("cannot have happened after those before it") from None
    if len(frame.stack) > _DEEPEST:
        raise ValueError(f"enters more than {_DEEPEST} levels inside each other")
    _check_kinds(event, frame)
    _check_ids(event, frame)
    if isinstance(event, NodeFinished) and event.node not in frame.nodes:
        raise ValueError(f"speaks of an unknown node {event.node!r}")


def _check_kinds(event: Record, frame: Frame) -> None:
    """Whether what the event brings has an id of its own: no node is called as a tensor is."""
    both = {seen.id for seen in getattr(event, "tensors", ()) if seen.id in frame.nodes}
    if isinstance(event, NodeCreated) and event.node in frame.tensors:
        both.add(event.node)
    if both:
        raise ValueError(f"calls a node and a tensor {min(both)!r}")


def _check_ids(fact: Any, frame: Frame) -> None:
    """Whether all that a fact speaks of is there."""
    for name, holds_ids in _told(fact.__class__):
        value = getattr(fact, name)
        for each in value if value.__class__ is tuple else (value,):
            if each is not None and holds_ids:
                _check_id(name, each, frame)
            elif each is not None:
                _check_ids(each, frame)


@cache
def _told(kind: type[Any]) -> tuple[tuple[str, bool], ...]:
    """The fields of a fact that hold ids, and those that hold facts with some."""
    hints, found = typing.get_type_hints(kind), list[tuple[str, bool]]()
    for each in dataclasses.fields(kind):
        inner = _inner(hints[each.name])
        # A method may be told of a node that is not there yet.
        if each.name in _PLACES and inner is str:
            if each.name != "node" or kind not in (MethodCalled, LineReached, MethodEnded):
                found.append((each.name, True))
        elif dataclasses.is_dataclass(inner) and _told(inner):
            found.append((each.name, False))
    return tuple(found)


def _inner(hint: Any) -> Any:
    """The type of a field, without None and what holds several."""
    options = [each for each in typing.get_args(hint) if each not in (types.NoneType, Ellipsis)]
    return _inner(options[0]) if typing.get_origin(hint) in (tuple, types.UnionType) else hint


def _check_id(name: str, id: str, frame: Frame) -> None:
    """Whether what a field of this name speaks of is there, once the event has changed the frame."""
    for place in _PLACES[name]:
        if id in getattr(frame, place):
            break
    else:
        if (name, id) != ("pushing", "dual"):
            raise ValueError(f"speaks of an unknown {'level ' * (name == 'pushing')}{id!r}")
    if name == "below":
        _check_below(id, frame)


def _check_below(tensor: str | None, frame: Frame) -> None:
    """A tensor stands for one below it, and so on, but not for itself."""
    seen: set[str] = set()
    while tensor is not None:
        if tensor in seen:
            raise ValueError(f"has {tensor!r} stand below itself")
        if len(seen) > _DEEPEST:
            raise ValueError(f"has {tensor!r} stand below more than {_DEEPEST} others")
        seen.add(tensor)
        tensor = frame.tensors[tensor].below


def _check_above(events: Sequence[Record]) -> None:
    """Levels have the same operation above each other, and none above itself."""
    outputs = {event.op: event.outputs for event in events if isinstance(event, OperationRan)}
    higher, settled = above(events) if outputs else {}, set[str]()
    for number, event in enumerate(events, 1) if higher else ():
        seen, made = set[str](), event.op if isinstance(event, OperationRan) else ""
        while made in outputs and made not in settled:
            if made in seen:
                raise ValueError(f"Event {number} of this trace has {made!r} stand below itself.")
            seen.add(made)
            made = next((higher[output] for output in outputs[made] if output in higher), "")
        settled |= seen
