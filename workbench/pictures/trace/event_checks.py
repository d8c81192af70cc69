"""Whether the events of a file can have happened: each is played, without what it says of the unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .call_records import MethodCalled, above
from .fitting import Fitting
from .formulas import METHODS
from .forward_records import LevelEntered, NodeCreated, OperationRan, TangentPushed
from .frame import Frame
from .json_records import decode, find_path
from .parts_table import PartsRead
from .schema import Record

_MOST_AGAIN = 200_000  # events of one file that are played again
_DEEPEST = 100  # levels inside each other, and tensors of levels below each other


def brief(text: str) -> str:
    """Return a text, which may hold much of a file, short enough for a message."""
    return text if len(text) <= 150 else f"{text[:100]} … {text[-40:]}"


def played(told: Iterable[Any], parts: PartsRead) -> list[Record]:
    """Return a file's events, given as records or as JSON; ValueError says which one is wrong, and why.

    An event that speaks of what no event has brought fits what is there: others may have been lost.
    """
    fitting, events = Fitting(_MOST_AGAIN), list[Record]()
    for number, each in enumerate(told, 1):
        try:
            event = each if isinstance(each, Record) else decode(each)
            find_path(event, parts)
            _check_before(event, fitting.frame)
            event = fitting.fit(event)
            _check_after(event, fitting.frame)
        except ValueError as error:
            raise ValueError(f"Event {number} of this trace {brief(str(error))}.") from None
        events.append(event)
    _check_above(events)
    return events


def _check_before(event: Record, frame: Frame) -> None:
    """Raise ValueError unless the event can happen in this frame."""
    if isinstance(event, MethodCalled) and event.method not in METHODS:
        raise ValueError(f"has the unknown method {event.method!r}")
    if isinstance(event, NodeCreated) and event.node in frame.nodes:
        raise ValueError(f"creates {event.node!r} a second time")
    if isinstance(event, LevelEntered) and event.level in frame.levels:
        raise ValueError(f"enters {event.level!r} a second time")
    if isinstance(event, OperationRan) and not event.outputs:
        raise ValueError("has no outputs")
    if isinstance(event, TangentPushed) and not event.operands:
        raise ValueError("has no operands")


def _check_after(event: Record, frame: Frame) -> None:
    """Raise ValueError unless the frame after the event can be drawn."""
    if len(frame.stack) > _DEEPEST:
        raise ValueError(f"nests more than {_DEEPEST} levels")
    _check_kinds(event, frame)
    for seen in getattr(event, "tensors", ()):
        _check_below(seen.below, frame)


def _check_kinds(event: Record, frame: Frame) -> None:
    """Raise ValueError unless what the event brings has its own id: no node shares a tensor's id."""
    both = {seen.id for seen in getattr(event, "tensors", ()) if seen.id in frame.nodes}
    if isinstance(event, NodeCreated) and event.node in frame.tensors:
        both.add(event.node)
    if both:
        raise ValueError(f"uses the id {min(both)!r} for a node and for a tensor")


def _check_below(tensor: str | None, frame: Frame) -> None:
    """Check that a tensor stands for one below it, and so on, but not for itself."""
    seen: set[str] = set()
    while tensor is not None:
        if tensor in seen:
            raise ValueError(f"puts {tensor!r} below itself")
        if len(seen) > _DEEPEST:
            raise ValueError(f"puts {tensor!r} below more than {_DEEPEST} others")
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
                raise ValueError(f"Event {number} of this trace puts {made!r} below itself.")
            seen.add(made)
            made = next((higher[output] for output in outputs[made] if output in higher), "")
        settled |= seen
