"""What the saved-tensor inspector finds before it draws: the nodes that it chooses, what each saves, and its room."""

from __future__ import annotations

import math
import textwrap
from collections import ChainMap
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, field

from ..scene.metric import CHARACTER, clean, columns
from ..trace.backward_records import BackwardStarted, Failed, NodeStarted
from ..trace.facts import Phase, SourceLine, is_slot
from ..trace.forward_records import NodeCreated
from ..trace.frame import Frame
from ..trace.memory_records import CheckpointDropped, CheckpointKept, NodesGone, SavedFreed
from ..trace.schema import Record
from ..trace.tensor_records import TensorWritten
from ..trace.timeline import Timeline
from ..trace.values import Value
from .memory_sizes import bytes_said, kept_of
from .saved_words import attribute_rows, counted_by_kind, kept_by, slot_name, slot_rows
from .value_display import COLUMNS, ROWS, grid_of

SLOTS = 3  # saved tensors that are shown of one node
ATTRIBUTES = 6  # attributes that are shown of one node
WIDE = 534  # px of the panel beside the list: with it a picture fits into a notebook's page
PAD = 8  # px around a heat map
GAP = 2  # px between its cells
_LEAST = 56  # px of a heat map's cell: room for -0.1234
_TEXT = int((WIDE - 2 * PAD) // CHARACTER)  # columns of the panel


def wrapped(texts: Sequence[str]) -> tuple[str, ...]:
    """Texts on lines that the panel has room for."""
    return tuple(line for text in texts for line in textwrap.wrap(clean(text), _TEXT))


@dataclass(slots=True)
class Life:
    """The steps (from 1) at which a node read its saved tensors, freed them or failed, and (from 0) is shown."""

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
    whole: bool = False  # whether it is about the node that keeps the most of all


@dataclass(slots=True, frozen=True)
class Counted:
    """Memory that is kept: its bytes, whether it lives anyway, and the first node that keeps it."""

    size: int
    anyway: bool
    node: str


@dataclass(slots=True)
class NodeRow:
    """A node: what it saves, the bytes of that, and the new bytes, not saved before and not held anyway."""

    made: NodeCreated
    names: list[str] = field(default_factory=list)
    size: int = 0
    own: int = 0
    anyway: bool = True  # whether all of it lives anyway

    @property
    def amount(self) -> str:
        """Return how much it adds to the memory."""
        if self.own:
            return bytes_said(self.own)
        if not self.size:
            return counted_by_kind(self.made) or "only attributes of ctx"
        return "held anyway" if self.anyway else "adds nothing"


class Survey:
    """The nodes in order, the steps, what each saves, and for each place in the panel the longest text there.

    Nodes are sorted by `rank`: those that add the most memory come first, then those that save the most.
    """

    def __init__(self, trace: Timeline) -> None:
        events = list(trace.events)
        self.made = [event for event in events if isinstance(event, NodeCreated)]
        self.lives = {node.node: Life() for node in self.made}
        self.choices: list[Choice] = []
        self.rows: dict[str, NodeRow] = {}
        self.rank: dict[str, tuple[int, int, int]] = {}
        self.counted: dict[str, Counted] = {}
        self._kept: list[tuple[int, int, int]] = []  # the ranks of what is still kept
        self._new = False  # whether anything was kept since the last step that is about all
        self.facts, self.attributes = [0] * SLOTS, [0] * ATTRIBUTES  # lines of text
        self._values: list[list[Value]] = [[] for _ in range(SLOTS)]
        self._frame = Frame()
        begin, backward = 0, False
        for end in trace.steps:
            starts = next((n for n in range(begin, end) if isinstance(events[n], BackwardStarted)), None)
            if starts is not None:  # the same step may find what was there before the recording
                self._step(events[begin:starts], starts)
                self._whole(starts)
                begin, backward = starts, True
            self._step(events[begin:end], end)
            begin = end
        if not backward:
            self._whole(begin)
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
            caption = ""
            if isinstance(event, NodeCreated):
                self._see(event)
                if not event.found:
                    caption, chosen, source = f"{event.name} {kept_by(frame, event)}", event.node, event.source
            elif isinstance(event, TensorWritten) and (late := frame.stale_holders(event.tensor)):
                caption, chosen, source = event.sentence(frame), late[0], event.source
            elif isinstance(event, NodeStarted) and event.node in self.lives:
                chosen, phase, source = event.node, "backward", frame.cursor
                life, state = self.lives[chosen], frame.nodes[chosen]
                reads = any(not is_slot(saved) for saved in state.made.saved)
                if state.made.saved and not state.freed:
                    life.read = number
                caption = f"{state.made.name} runs{' and reads its saved tensors' if reads else ''}"
            elif isinstance(event, CheckpointKept | CheckpointDropped) and frame.working is not None:
                caption = event.sentence(frame)
            elif isinstance(event, SavedFreed) and event.node in self.lives:
                self.lives[event.node].freed = number
                caption = "they are freed" if chosen == event.node else f"{frame.called(event.node)} frees its own"
            elif isinstance(event, Failed) and event.node in self.lives:
                self.lives[event.node].failed = number
                chosen, phase, caption = event.node, "backward", event.sentence(frame)
            captions += [caption] if caption and caption not in captions else []
        if chosen is not None:
            self.lives[chosen].chosen.append(number - 1)
            self.choices.append(Choice(end, chosen, captions, phase, source))

    def _whole(self, end: int) -> None:
        """Choose the node that saves the most of all, if anything was saved since the last choice."""
        nodes = self._frame.nodes
        self._kept = [rank for rank in self._kept if nodes[self.made[rank[2]].node].keeps]
        if not self._new or not self._kept:
            return
        self._new = False
        made = self.made[min(self._kept)[2]]
        if not self.choices or self.choices[-1].node != made.node:
            caption = f"Of all nodes, {made.name} holds the most: {self.rows[made.node].amount}"
            self.lives[made.node].chosen.append(len(self.choices))
            self.choices.append(Choice(end, made.node, [caption], "forward", made.source))
        self.choices[-1].whole = True

    def _end(self, events: Sequence[Record]) -> bool:
        """Add one more step, and say so, if nodes are gone after the last one with what they had saved."""
        begin = self.choices[-1].end if self.choices else 0
        deaths = [event for event in events[begin:] if isinstance(event, NodesGone)]
        nodes = [self._frame.nodes[node] for event in deaths for node in event.nodes]
        late = [node.made.node for node in nodes if node.made.saved and not node.freed]
        if late:
            chosen, phase = late[-1], self.choices[-1].phase
            caption = NodesGone(tuple(late)).sentence(self._frame)
            self.lives[chosen].chosen.append(len(self.choices))
            self.choices.append(Choice(len(events), chosen, [caption], phase, None))
        return bool(late)

    def keeps(self, made: NodeCreated) -> bool:
        """Return True if a node saves anything at all."""
        return bool(made.saved or made.attributes)

    def _see(self, made: NodeCreated) -> None:
        """Note a new node, what it saves, and how many lines of text it needs."""
        # What a write through a view keeps counts with the node that is run by that of the write.
        row = _row(self._frame, made, self.counted if made.runs is None else ChainMap({}, self.counted))
        self.rows[made.node] = row
        rank = self.rank[made.node] = -row.own, -row.size, len(self.rank)
        if self.keeps(made):
            self._kept.append(rank)
            self._new = True
        for n, value in enumerate(self._frame.nodes[made.node].saved[:SLOTS]):
            if value is not None:
                self._values[n].append(value)
            lines = 2 + len(wrapped(slot_rows(self._frame, made.node, n)))  # with its kind, and with what became of it
            self.facts[n] = max(self.facts[n], lines)
        for n, (_, origin, _) in enumerate(attribute_rows(self._frame, made)[:ATTRIBUTES]):
            self.attributes[n] = max(self.attributes[n], len(wrapped([origin])))

    def _measure(self) -> None:
        """Compute the sizes of heat maps: px of a cell and of row names, columns, and the rows in each place."""
        grids = [row for values in self._values for value in values for row in grid_of(value)]
        texts = [columns(text) for row in grids for text, _ in row.cells]
        names = max((columns(row.label) for row in grids), default=0)
        self.label = names * CHARACTER + 8 if names else 0.0
        self.cell = max(_LEAST, math.ceil(max(texts, default=0) * CHARACTER) + 5)
        self.wide = min(COLUMNS, int((WIDE - 2 * PAD - self.label) // (self.cell + GAP)))
        self.tall = [max((_height(value, self.wide) for value in values), default=0) for values in self._values]


def _height(value: Value, wide: int) -> int:
    """Return the rows of a value's heat map."""
    if not value.values:
        return 0
    rows = -(-len(value.values) // wide) if len(value.shape) < 2 else math.prod(value.shape[:-1])
    return min(ROWS, rows)


def _row(frame: Frame, made: NodeCreated, counted: MutableMapping[str, Counted]) -> NodeRow:
    row, mine = NodeRow(made), set[str]()
    for n, (saved, value) in enumerate(zip(made.saved, frame.nodes[made.node].saved, strict=True)):
        memory, size, anyway = kept_of(frame, f"{made.node}.{n}", saved, value)
        first = counted.setdefault(memory, Counted(size, anyway, made.node))
        also = ", held anyway" if first.anyway else ""
        also = also or f", counted with {frame.called(first.node)}" * (first.node != made.node)
        kind = f" {value.shape}" if value is not None else ""
        row.names.append(f"{slot_name(frame, made.node, n)}{kind}{also}")
        row.size += size * (memory not in mine)
        row.own += size * (memory not in mine and first.node == made.node and not first.anyway)
        row.anyway &= first.anyway
        mine.add(memory)
    return row
