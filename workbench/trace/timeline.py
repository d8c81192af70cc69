"""A trace in time: the events, the frame after each, and where a player stops."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self

from .backward import GradAccumulated, GradChanged, NodeFinished, NodeStarted, SavedFreed
from .building import NodeCreated, TensorWritten
from .codec import brief, decode, encode
from .facts import Phase, Record
from .frame import Frame
from .hooks import HookRan, HooksFound
from .levels import LevelEntered, LevelLeft, OperationRan, TangentPushed, above, outputs_of
from .recorder import Recorder
from .sound import Played

FORMAT, VERSION = "workbench-trace", 1
_WITHIN = NodeCreated | TensorWritten | GradChanged | OperationRan | TangentPushed | LevelEntered | LevelLeft


class Timeline:
    """What happened, event by event; it replays without the engine it was recorded from."""

    def __init__(self, events: Sequence[Record] | Recorder = ()) -> None:
        self._source = events

    @property
    def events(self) -> Sequence[Record]:
        """Everything that happened so far."""
        return self._source.records() if isinstance(self._source, Recorder) else self._source

    @property
    def is_recorded(self) -> bool:
        """Whether it was recorded in this process, not read from a file."""
        return isinstance(self._source, Recorder)

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

        So are an operation at one level and the same at the levels above.
        """
        stops: list[int] = []
        running = returned = False
        seen_above = above(self.events)
        last: Record | None = None
        for count, event in enumerate(self.events, 1):
            if stops and (isinstance(event, HooksFound) or (isinstance(event, HookRan) and event.late)):
                stops[-1] = count
            if event.quiet:
                continue
            # What a node's own backward computes or writes belongs to its run, until it has returned.
            parts = NodeFinished | GradAccumulated | SavedFreed
            if running and isinstance(event, parts if returned else parts | _WITHIN):
                stops[-1] = count
                returned |= isinstance(event, NodeFinished | GradAccumulated)
            elif _clear_together(last, event):
                stops[-1] = count
            elif not any(output in seen_above for output in outputs_of(event)):
                stops.append(count)
                running, returned = isinstance(event, NodeStarted), False
            last = event
        return stops

    @property
    def phases(self) -> list[Phase]:
        """What the stops are part of."""
        found: list[Phase] = []
        frame, begin = Frame(), 0
        for end in self.steps:
            events, begin = self.events[begin:end], end
            for event in events:
                event.apply(frame)
            found.append(next(event.phase(frame) for event in events if not event.quiet))
        return found

    def to_dict(self) -> dict[str, Any]:
        """The trace as JSON's own types."""
        return {"format": FORMAT, "version": VERSION, "events": [encode(event) for event in self.events]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The trace a dict tells of; a ValueError says what is wrong with it."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise ValueError(f"This is no trace: its format is not {FORMAT!r}.")
        if data.get("version") != VERSION:
            given = brief(repr(data.get("version")))
            raise ValueError(f"This trace is of version {given}; this workbench reads version {VERSION}.")
        if not isinstance(data.get("events"), list):
            raise ValueError("This trace has no list of events.")
        events: list[Record] = []
        played = Played()
        for number, each in enumerate(data["events"], 1):
            try:
                events.append(decode(each))
                played.play(events[-1])
            except ValueError as error:
                raise ValueError(f"Event {number} of this trace {brief(str(error))}.") from None
        return cls(events)

    def to_json(self) -> str:
        """The trace as a JSON text, an event a line."""
        trace = self.to_dict()
        events = ",\n".join(json.dumps(event, allow_nan=False) for event in trace.pop("events"))
        return f'{json.dumps(trace).removesuffix("}")}, "events": [\n{events}\n]}}\n'

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a trace from a file; a ValueError says what is wrong with it."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8-sig"))  # some editors begin a file with a mark
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{brief(str(path))} is not a whole JSON file: {brief(str(error))}.") from None
        return cls.from_dict(data)


def _clear_together(one: Record | None, next: Record) -> bool:
    """Whether two gradients are cleared by the same line, as zero_grad does it."""
    both = isinstance(one, GradChanged) and isinstance(next, GradChanged)
    return both and one.clears and next.clears and one.source == next.source
