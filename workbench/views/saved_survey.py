"""A first way through a trace for the inspector: whom it chooses at each step, and how much room all of it takes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..scene.metric import CHARACTER, clean, columns
from ..trace.frame import Frame
from ..trace.records import (
    CheckpointDropped,
    CheckpointKept,
    Failed,
    NodeCreated,
    NodesGone,
    NodeStarted,
    SavedFreed,
    TensorWritten,
    is_slot,
)
from ..trace.schema import Phase, Record, SourceLine
from ..trace.timeline import Timeline
from ..trace.values import Value
from .saved_rows import attribute_rows, kept_by, slot_rows
from .tables import COLUMNS, ROWS, grid_of

SLOTS, ATTRIBUTES = 3, 6  # saved tensors and attributes that are shown of one node
WIDE = 534  # px of the panel beside the list: with it a picture fits into a notebook's page
PAD, GAP = 8, 2  # px around a heat map, and between its cells
_LEAST = 56  # px of a heat map's cell: room for -0.1234
TEXT = int((WIDE - 2 * PAD) // CHARACTER)  # columns of the panel


def wrapped(texts: Sequence[str]) -> tuple[str, ...]:
    """Texts on lines that the panel has room for."""
    return tuple(line for text in texts for line in textwrap.wrap(clean(text), TEXT))


@dataclass(slots=True)
class Life:
    """At which steps (from 1) a node read what it had saved, freed it and failed; at which (from 0) it is chosen."""

    read: int | None = None
    freed: int | None = None
    failed: int | None = None
    chosen: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Choice:
    """A step of the inspector: the events up to it, the chosen node, and what is said."""

    end: int
    node: str
    captions: list[str]
    phase: Phase
    source: SourceLine | None


class Survey:
    """The nodes in order, the steps, and for each place in the panel the most that will stand there."""

    def __init__(self, trace: Timeline) -> None:
        events = list(trace.events)
        self.made = [event for event in events if isinstance(event, NodeCreated)]
        self.lives = {node.node: Life() for node in self.made}
        self.choices: list[Choice] = []
        self.facts, self.attributes = [0] * SLOTS, [0] * ATTRIBUTES  # lines of text
        self._values: list[list[Value]] = [[] for _ in range(SLOTS)]
        self._frame = Frame()
        begin = 0
        for end in trace.steps:
            self._step(events[begin:end], end)
            begin = end
        self.dies = self._end(events)
        self._measure()

    def _step(self, events: Sequence[Record], end: int) -> None:
        frame, number = self._frame, len(self.choices) + 1
        chosen: str | None = None
        captions: list[str] = []
        phase: Phase = "forward"
        source: SourceLine | None = None
        for event in events:
            event.apply(frame)
            said = ""
            if isinstance(event, NodeCreated):
                self._see(event)
                if not event.found:
                    said, chosen, source = f"{event.name} {kept_by(frame, event)}", event.node, event.source
            elif isinstance(event, TensorWritten) and (late := frame.stale_holders(event.tensor)):
                said, chosen, source = event.sentence(frame), late[0], event.source
            elif isinstance(event, NodeStarted) and event.node in self.lives:
                chosen, phase, source = event.node, "backward", frame.cursor
                life, state = self.lives[chosen], frame.nodes[chosen]
                reads = any(not is_slot(saved) for saved in state.made.saved)
                if state.made.saved and not state.freed:
                    life.read = number
                said = f"{state.made.name} runs{' and reads what it had saved' if reads else ''}"
            elif isinstance(event, CheckpointKept | CheckpointDropped) and frame.working is not None:
                said = event.sentence(frame)
            elif isinstance(event, SavedFreed) and event.node in self.lives:
                self.lives[event.node].freed = number
                said = "it frees that" if chosen == event.node else f"{frame.called(event.node)} frees it"
            elif isinstance(event, Failed) and event.node in self.lives:
                self.lives[event.node].failed = number
                chosen, phase, said = event.node, "backward", event.sentence(frame)
            captions += [said] if said and said not in captions else []
        if chosen is not None:
            self.lives[chosen].chosen.append(number - 1)
            self.choices.append(Choice(end, chosen, captions, phase, source))

    def _end(self, events: Sequence[Record]) -> bool:
        """Add one more step, and say so, if nodes are gone after the last one with what they had saved."""
        begin = self.choices[-1].end if self.choices else 0
        gone = [event for event in events[begin:] if isinstance(event, NodesGone)]
        nodes = [self._frame.nodes[node] for event in gone for node in event.nodes]
        late = [node.made.node for node in nodes if node.made.saved and not node.freed]
        if late:
            chosen, phase = late[-1], self.choices[-1].phase
            said = NodesGone(tuple(late)).sentence(self._frame)
            self.lives[chosen].chosen.append(len(self.choices))
            self.choices.append(Choice(len(events), chosen, [said], phase, None))
        return bool(late)

    def _see(self, made: NodeCreated) -> None:
        """A new node, and how many lines of text it needs."""
        for n, value in enumerate(self._frame.nodes[made.node].saved[:SLOTS]):
            if value is not None:
                self._values[n].append(value)
            lines = 2 + len(wrapped(slot_rows(self._frame, made.node, n)))  # with its kind, and with what became of it
            self.facts[n] = max(self.facts[n], lines)
        for n, (_, said, _) in enumerate(attribute_rows(self._frame, made)[:ATTRIBUTES]):
            self.attributes[n] = max(self.attributes[n], len(wrapped([said])))

    def _measure(self) -> None:
        """The sizes of heat maps: px of a cell and of what rows are called, columns, and the rows in each place."""
        grids = [row for values in self._values for value in values for row in grid_of(value)]
        texts = [columns(text) for row in grids for text, _ in row.cells]
        names = max((columns(row.label) for row in grids), default=0)
        self.label = names * CHARACTER + 8 if names else 0.0
        self.cell = max(_LEAST, math.ceil(max(texts, default=0) * CHARACTER) + 5)
        self.wide = min(COLUMNS, int((WIDE - 2 * PAD - self.label) // (self.cell + GAP)))
        self.tall = [max((_height(value, self.wide) for value in values), default=0) for values in self._values]


def _height(value: Value, wide: int) -> int:
    """The rows of a value's heat map."""
    if not value.values:
        return 0
    rows = -(-len(value.values) // wide) if len(value.shape) < 2 else math.prod(value.shape[:-1])
    return min(ROWS, rows)
