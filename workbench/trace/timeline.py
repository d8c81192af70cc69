"""A trace in time: the events, the frame after each, and where a player stops."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import copy
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, Self

from .call_records import HookRan, HooksFound, LevelEntered, LevelLeft, OperationRan, TangentPushed, above, outputs_of
from .frame import Frame
from .json import LARGE, PartsRead, PartsWritten, Played, Writer, brief, encode, read_compact
from .messages import NO_LIST
from .records import (
    GradAccumulated,
    GradChanged,
    NodeCreated,
    NodeFinished,
    NodesGone,
    NodeStarted,
    SavedFreed,
    TensorWritten,
)
from .schema import Phase, Record

FORMAT, VERSION, COMPACT = "workbench-trace", 1, 2
_ENDING = frozenset({NodeFinished, GradAccumulated, SavedFreed})  # what comes of a node's run
_WITHIN = frozenset({NodeCreated, TensorWritten, GradChanged, OperationRan, TangentPushed, LevelEntered, LevelLeft})


class Recording(Protocol):
    """What a trace is read from while it grows."""

    def records(self) -> Sequence[Record]:
        """Everything heard so far."""
        ...


class Timeline:
    """What happened, event by event; it replays without the engine it was recorded from."""

    def __init__(self, events: Sequence[Record] | Recording = ()) -> None:
        self._source = events
        self._recorded = not isinstance(events, Sequence)

    def part(self, events: Sequence[Record]) -> Timeline:
        """Some of its events, or what they are elsewhere, as a timeline of its own."""
        part = Timeline(events)
        part._recorded = self._recorded
        return part

    def snapshot(self) -> Self:
        """What happened so far, which does not grow: the nodes of a trace may go while a picture of it is made."""
        now = copy(self)
        now._source = list(self.events)
        return now

    @property
    def events(self) -> Sequence[Record]:
        """Everything that happened so far."""
        return self._source if isinstance(self._source, Sequence) else self._source.records()

    @property
    def is_recorded(self) -> bool:
        """Whether it was recorded in this process, not read from a file."""
        return self._recorded

    def frame(self, k: int) -> Frame:
        """The state after the first `k` events."""
        events = self.events
        if not 0 <= k <= len(events):
            raise IndexError(f"There is no frame {k}: the trace has the frames 0 to {len(events)}.")
        frame = Frame()
        for event in events[:k]:
            event.apply(frame)
        return frame

    @property
    def steps(self) -> list[int]:
        """The event counts at which a player stops: a node's run and all that comes of it are one step.

        So are an operation at one level and the same at the levels above. One more is that nodes are gone after the
        last of them, unless all had run and kept nothing.
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
        """Whether in the end nodes are gone that did not run, or still had what they saved."""
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
        """What the stops are part of."""
        found: list[Phase] = []
        frame, begin = Frame(), 0
        for end in self.steps:
            events, begin = self.events[begin:end], end
            for event in events:
                event.apply(frame)
            found.append(phase_of(events, frame, found))
        return found

    def to_dict(self) -> dict[str, Any]:
        """The trace as JSON's own types."""
        parts = PartsWritten()
        events = [encode(event, parts) for event in self.events]
        return {"format": FORMAT, "version": VERSION, "parts": parts.rows, "events": events}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The trace a dict tells of; a ValueError says what is wrong with it."""
        given: dict[str, Any] = dict(data) if hasattr(data, "items") else {}
        return cls._read({name: it[:] if it.__class__ is list else it for name, it in given.items()}, None)

    @classmethod
    def _read(cls, data: Any, size: int | None) -> Self:
        """The same of a file of so many characters; what is read is taken out of the dict, as it may be large."""
        if data.__class__ is not dict or data.get("format") != FORMAT:
            raise ValueError(f"This is no trace: its format is not {FORMAT!r}.")
        version = data.get("version")
        if version.__class__ is not int or version not in (VERSION, COMPACT):
            raise ValueError(
                f"This trace is of version {brief(repr(version))}; this workbench reads the versions "
                f"{VERSION} and {COMPACT}."
            )
        if version == COMPACT:
            return cls(read_compact(data, size))
        if data.get("events").__class__ is not list:
            raise ValueError(NO_LIST.format("events"))
        parts = PartsRead(data.get("parts", []))
        return cls(Played().play_all(data.pop("events"), parts))

    def to_json(self) -> str:
        """The trace as a JSON text, an event a line; of a large one what many events share is written once."""
        if len(self.events) >= LARGE:
            compact = Writer().text(self.events, format=FORMAT, version=COMPACT)
            if compact is not None:
                return compact
        trace = self.to_dict()
        events = ",\n".join(json.dumps(event, allow_nan=False) for event in trace.pop("events"))
        return f'{json.dumps(trace).removesuffix("}")}, "events": [\n{events}\n]}}\n'

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a trace from a file; a ValueError says what is wrong with it."""
        try:
            text = Path(path).read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
            data, size = json.loads(text), len(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{brief(str(path))} is not a whole JSON file: {brief(str(error))}.") from None
        del text
        return cls._read(data, size)


def phase_of(events: Sequence[Record], frame: Frame, before: Sequence[Phase]) -> Phase:
    """What the events of one stop are part of: where nodes are only gone, the same as the stops before it."""
    for event in events:
        if not event.quiet:
            return event.phase(frame)
    return before[-1] if before else "forward"


class Ending(Timeline):
    """A trace told in one step: its picture shows at once how it ends."""

    @property
    def steps(self) -> list[int]:
        """The end alone, if anything happened."""
        count = len(self.events)
        return [count] if count else []


def _clear_together(one: Record | None, next: Record) -> bool:
    """Whether two gradients are cleared by the same line, as zero_grad does it."""
    if not (isinstance(one, GradChanged) and isinstance(next, GradChanged)):
        return False
    return one.clears and next.clears and one.source == next.source
