"""A trace in time: the events, the frame after each, and where a player stops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from os import PathLike
from typing import Any, Protocol, Self, TypeVar

from . import json
from .backward_records import GradAccumulated, GradChanged, NodeFinished, NodeStarted
from .call_records import HookRan, HooksFound, LevelLeft, above, outputs_of
from .facts import Phase
from .forward_records import LevelEntered, NodeCreated, OperationRan, TangentPushed
from .frame import Frame
from .memory_records import NodesGone, SavedFreed
from .schema import Record
from .tensor_records import TensorWritten

_ENDING = frozenset({NodeFinished, GradAccumulated, SavedFreed})  # what comes of a node's run
_WITHIN = frozenset({NodeCreated, TensorWritten, GradChanged, OperationRan, TangentPushed, LevelEntered, LevelLeft})


_Made = TypeVar("_Made")


class Recording(Protocol):
    """What a trace is read from while it grows."""

    def records(self) -> Sequence[Record]:
        """Return all records so far."""
        ...


class Timeline:
    """What happened, event by event; it replays without the engine it was recorded from."""

    def __init__(self, events: Sequence[Record] | Recording = ()) -> None:
        self._source = events
        self._kept: dict[Any, tuple[Sequence[Record], Any]] = {}  # a snapshot has the same

    def snapshot(self) -> Self:
        """Return a fixed copy of the events so far.

        Use it to draw a picture while recording continues, because the trace itself may change meanwhile.
        """
        now = copy(self)
        now._source = list(self.events)
        return now

    @property
    def events(self) -> Sequence[Record]:
        """Return all events so far, as records."""
        return self._source if isinstance(self._source, Sequence) else self._source.records()

    def kept(self, make: Callable[[Any], _Made], of: Callable[[Sequence[Record]], Any] | None = None) -> _Made:
        """Compute a value from the events, or from the part given as `of`, and cache it until the events change."""
        events = self.events
        if make not in self._kept or self._kept[make][0] != events:
            events = list(events)  # a recording goes on to add to its own
            self._kept[make] = events, make(events if of is None else self.kept(of))
        return self._kept[make][1]

    def frame(self, k: int) -> Frame:
        """Return the graph after the first `k` events: its nodes, tensors, gradients and freed memory."""
        events = self.events
        if not 0 <= k <= len(events):
            raise IndexError(f"There is no frame {k}: the trace has the frames 0 to {len(events)}.")
        frame = Frame()
        for event in events[:k]:
            event.apply(frame)
        return frame

    @property
    def steps(self) -> list[int]:
        """Return where the player stops, as numbers of events: `trace.frame(trace.steps[4])` is the graph at step 5.

        The run of a node and its results are one step. Nested forms of the same operation are one step, too. If nodes
        are freed after the last step, that is a step of its own, unless those nodes had already run and saved nothing.
        """
        stops: list[int] = []
        running = returned = False
        seen_above = above(self.events)
        last: Record | None = None
        for count, event in enumerate(self.events, 1):
            kind = type(event)
            if running and kind in _ENDING:
                stops[-1] = count
                returned |= kind is not SavedFreed
                last = event
                continue
            if stops and (kind is HooksFound or (type(event) is HookRan and event.late)):
                stops[-1] = count
            if event.quiet:
                continue
            # What a node's own backward computes or writes belongs to its run, until it has returned.
            if (running and not returned and kind in _WITHIN) or (kind is GradChanged and _clear_together(last, event)):
                stops[-1] = count
            elif not seen_above or not any(output in seen_above for output in outputs_of(event)):
                stops.append(count)
                running, returned = kind is NodeStarted, False
            last = event
        if stops and self._dies_alive(self.events[stops[-1] :]):
            stops.append(len(self.events))
        return stops

    def _dies_alive(self, end: Sequence[Record]) -> bool:
        """Return True if in the end nodes are dropped that didn't run, or still held what they saved."""
        dead = {node for event in end if isinstance(event, NodesGone) for node in event.nodes}
        if not dead:
            return False
        ran = {event.node for event in self.events if type(event) is NodeStarted}
        freed = {event.node for event in self.events if type(event) is SavedFreed}
        for made in self.events:
            if type(made) is NodeCreated:
                if made.node in ran and (made.node in freed or not made.saved):
                    dead -= {made.node, made.runs}
        return bool(dead)

    @property
    def phases(self) -> list[Phase]:
        """Return the phase of each step, such as forward or backward."""
        found: list[Phase] = []
        frame, begin = Frame(), 0
        for end in self.steps:
            events, begin = self.events[begin:end], end
            for event in events:
                event.apply(frame)
            found.append(phase_of(events, frame, found))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as a dict that can be written as JSON."""
        return json.to_dict(self.events)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the trace that `data` describes, a dict from `to_dict`.

        Raises:
            ValueError: if the dict isn't a valid trace; the message says what is wrong.
        """
        return cls(json.from_dict(dict(data) if hasattr(data, "items") else {}))

    def to_json(self) -> str:
        """Return the trace as JSON text, with one event per line."""
        return json.to_text(self.events)

    def to_bytes(self, picture: Mapping[str, str] | None = None) -> bytes:
        """Return the contents of the file that `save` would write, compressed if large.

        Args:
            picture: A picture of the trace for the file to carry, as `Picture.save` gives it; `load` ignores it.

        Raises:
            ValueError: if the file would be too large for `load`.
        """
        return json.to_bytes(self.events, picture)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a trace from the file `path`.

        Raises:
            ValueError: if the file isn't a valid trace; the message says what is wrong.
        """
        return cls(json.from_file(path))


def phase_of(events: Sequence[Record], frame: Frame, before: Sequence[Phase]) -> Phase:
    """Return the phase of one stop's events; where nodes are only freed, it is that of the stops before."""
    for event in events:
        if not event.quiet:
            return event.phase(frame)
    return before[-1] if before else "forward"


class Ending(Timeline):
    """A trace in one step: its picture shows at once how it ends."""

    @property
    def steps(self) -> list[int]:
        """Return only the end, if anything happened."""
        count = len(self.events)
        return [count] if count else []


def _clear_together(one: Record | None, next: Record) -> bool:
    """Return True if two gradients are cleared by the same line, as zero_grad does it."""
    if not (isinstance(one, GradChanged) and isinstance(next, GradChanged)):
        return False
    return one.clears and next.clears and one.source == next.source
