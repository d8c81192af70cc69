"""Who holds how much memory for a backward, event by event: what the memory view draws."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

from ..trace.frame import Frame
from ..trace.records import (
    BackwardStarted,
    CheckpointDropped,
    CheckpointKept,
    NodeCreated,
    NodeFinished,
    NodesGone,
    SavedFreed,
    as_kept,
    checkpoint_said,
    tensor_of,
)
from ..trace.schema import Attribute, Phase, Record, Saved, SourceLine
from ..trace.timeline import Timeline
from ..trace.values import Value, series

_SIZES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "uint8": 1, "bool": 1}
_MOST_TOLD = 200


def size_of(value: Value) -> int:
    """The bytes of an array."""
    return math.prod(value.shape) * _SIZES.get(value.dtype, 8)


def bytes_said(count: float) -> str:
    """An amount of memory with 4 significant digits: `36 bytes`, `3.906 KiB`."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count:.4g} {'byte' if count == 1 else 'bytes'}"


@dataclass(slots=True)
class Held:
    """One tensor that a holder keeps: `memory` is the same where tensors share it, and counts once.

    A parameter or an input lives `anyway`: it is the user's, and the backward does not give it back.
    """

    name: str
    memory: str
    size: int
    freed: bool = True  # whether the backward gives it back
    anyway: bool = False


@dataclass(slots=True)
class Holder:
    """A node or a checkpoint with what it keeps, and the points from and to which it does; or what lives anyway."""

    id: str
    name: str
    source: SourceLine | None
    kept: dict[str, Held] = field(default_factory=dict)
    own: dict[str, int] = field(default_factory=dict)  # memory -> the bytes that count here and nowhere else
    spans: list[list[int | None]] = field(default_factory=list)  # from, to; None: to the end
    most: int = 0
    told: list[str] = field(default_factory=list)  # the names of all that was ever kept
    taken_by: str | None = None  # the node that took all over, which a write through a view made
    gone: bool = False  # without having run
    anyway: bool = False


@dataclass(slots=True)
class Point:
    """The state after an event that could change what is held."""

    phase: Phase
    total: int
    anyway: int  # of that, what is the user's
    sentence: str
    source: SourceLine | None
    holders: tuple[str, ...]  # whose part changed
    largest: tuple[tuple[str, int], ...]


def memory_of(frame: Frame, tensor: str) -> tuple[str, int, bool]:
    """The tensor whose memory another one shows, its bytes, and whether it lives anyway: a leaf, or held by a name."""
    owner = frame.owner(tensor)
    state = frame.tensors[owner]
    return owner, size_of(state.value), state.node is None and (state.requires_grad or state.name is not None)


class Ledger:
    """Goes through the events of a trace and keeps the account."""

    def __init__(self, trace: Timeline) -> None:
        self.points: list[Point] = []
        self.holders: dict[str, Holder] = {}
        self._frame = Frame()
        self._holding: dict[str, Holder] = {}  # those that hold something now
        self._users: dict[str, list[str]] = {}  # memory -> who holds it
        self._total = self._anyway = 0
        self._phase: Phase = "forward"
        self._found: list[str] = []
        self._dropped: list[CheckpointDropped] = []  # what a node that runs has taken from checkpoints
        events, begin, phases = trace.events, 0, trace.phases
        phases += phases[-1:] or ["forward"]  # of what is not part of a step any more
        for end, phase in zip((*trace.steps, len(events)), phases, strict=True):
            for event in events[begin:end]:
                event.apply(self._frame)
                self._enter(event, phase)
            begin = end

    @cached_property
    def peak(self) -> int:
        """The most that was held."""
        return max((point.total for point in self.points), default=0)

    @cached_property
    def forward(self) -> int:
        """How many points there are before the first backward."""
        return next((n for n, point in enumerate(self.points) if point.phase == "backward"), len(self.points))

    def _enter(self, event: Record, phase: Phase) -> None:
        """Account for an event of a step of that phase; what is let go before a step belongs to the step before."""
        if isinstance(event, BackwardStarted):
            self._settle()
        if not event.quiet or isinstance(event, CheckpointKept):
            self._phase = phase
        if isinstance(event, NodeCreated):
            self._created(event)
        elif isinstance(event, NodeFinished):
            self._ran(event.node)
        elif isinstance(event, SavedFreed):
            self._freed(event.node)
        elif isinstance(event, NodesGone):
            self._lost(event)
        elif isinstance(event, CheckpointKept):
            self._kept(event)
        elif isinstance(event, CheckpointDropped):
            self._dropped.append(event)
            if event.name is None:
                self._settle("A checkpoint is over and lets go of what it kept")

    def _created(self, made: NodeCreated) -> None:
        if not made.found:
            self._settle()
        if made.runs is not None:  # the node of a write through a view holds what that kept, which never runs itself
            self._let_go(made.runs)
            if made.runs in self.holders:
                self.holders[made.runs].taken_by = self._frame.called(made.node)
        before = self._total
        kept = [self._held(made.node, index, saved) for index, saved in enumerate(made.saved)]
        kept += [held for each in made.attributes if (held := self._on_ctx(made.node, each)) is not None]
        self._hold(made.node, made.name, made.source, kept)
        if made.found:
            self._found += [made.node] if made.runs is None else []
            return
        names = series(list(dict.fromkeys(held.name for held in kept)))
        self._point(f"{made.name} joins the graph and keeps {names or 'nothing'}", before, made.node)

    def _held(self, holder: str, index: int | str, saved: Saved) -> Held:
        known = tensor_of(saved)
        name = saved.name.replace("saved_tensors", "saved")
        if saved.tensor is not None:
            return self._tensor(saved.tensor)
        name = self._frame.called(known) if known else name
        return Held(as_kept(saved, name), f"{holder}.{index}", size_of(saved.value) if saved.value else 0)

    def _tensor(self, tensor: str, name: str = "", freed: bool = True) -> Held:
        """A tensor that is held: its memory has the name of the tensor that owns it, if that has one."""
        memory, size, anyway = memory_of(self._frame, tensor)
        named = memory if self._frame.variable(memory) else tensor
        return Held(name or self._frame.called(named), memory, size, freed, anyway)

    def _on_ctx(self, node: str, each: Attribute) -> Held | None:
        name = f"ctx.{each.name}"
        if each.tensor is not None:
            return self._tensor(each.tensor, name, freed=False)
        return Held(name, f"{node}.{name}", size_of(each.value), freed=False) if each.value else None

    def _hold(self, id: str, name: str, source: SourceLine | None, kept: list[Held]) -> None:
        if not kept:
            return
        holder = self.holders.setdefault(id, Holder(id, name, source))
        if not holder.kept:
            holder.spans.append([len(self.points), None])
            self._holding[id] = holder
        for held in kept:
            key = f"{held.name}.{len(holder.kept)}" if held.name in holder.kept else held.name
            holder.kept[key] = held
            users = self._users.setdefault(held.memory, [])
            users.append(id)
            called = held.name if not held.name.isdigit() else "what was computed again"
            if held.anyway:
                self._have(held, len(users) == 1)
                called += ", which lives anyway"
            elif len(users) == 1:
                holder.own[held.memory] = held.size
            elif held.memory not in holder.own:
                called += ", which is counted above"
            self._total += held.size * (len(users) == 1)
            if called not in holder.told:
                holder.told.append(called)
        holder.most = max(holder.most, sum(holder.own.values()))

    def _have(self, held: Held, begins: bool) -> None:
        """Somebody holds what lives anyway."""
        name = self._frame.called(held.memory)
        row = self.holders.setdefault(held.memory, Holder(held.memory, name, None, most=held.size, anyway=True))
        if begins:
            self._anyway += held.size
            row.own[held.memory] = held.size
            row.spans.append([len(self.points), None])

    def _let_go(self, id: str, name: str | None = None, everything: bool = False) -> None:
        holder = self.holders.get(id)
        if holder is None:
            return
        gone = [key for key, held in holder.kept.items() if (held.freed or everything) and name in (None, key)]
        for held in [holder.kept.pop(key) for key in gone]:
            users = self._users[held.memory]
            users.remove(id)
            if held.anyway and not users:
                self._anyway -= self.holders[held.memory].own.pop(held.memory)
                self._end(self.holders[held.memory])
            elif held.memory in holder.own and id not in users:
                size = holder.own.pop(held.memory)
                if users:  # it counts with the next who holds it
                    other = self.holders[users[0]]
                    other.own[held.memory] = size
                    other.most = max(other.most, sum(other.own.values()))
            self._total -= held.size * (not users)
        if not holder.kept and holder.spans and holder.spans[-1][1] is None:
            self._end(holder)
            del self._holding[id]

    def _end(self, holder: Holder) -> None:
        holder.spans[-1][1] = len(self.points)

    def _lost(self, event: NodesGone) -> None:
        """Nodes that are gone hold nothing."""
        before = self._total
        holding = [node for node in event.nodes if node in self.holders and self.holders[node].kept]
        for node in holding:
            self._let_go(node, everything=True)
            self.holders[node].gone = True
        if holding:
            self._point(event.sentence(self._frame), before, *holding)

    def _ran(self, node: str) -> None:
        before = self._total
        changed = self._drop()
        kept = "and keeps what it saved" if node in self.holders else "and had nothing to free"
        self._point(f"{self._frame.called(node)} has run {kept}", before, node, *changed)

    def _freed(self, node: str) -> None:
        """What a node frees belongs to the point of its run."""
        before, last = self._total, self.points[-1] if self.points else None
        if last is not None and last.holders[:1] == (node,):
            self.points.pop()
            self._let_go(node)
            for id in last.holders:
                for span in self.holders[id].spans if id in self.holders else ():
                    span[1] = span[1] and min(span[1], len(self.points))
            before = self.points[-1].total if self.points else 0
            self._point(f"{self._frame.called(node)} has run and frees what it had saved", before, *last.holders)
        else:
            self._let_go(node)
            self._point(f"{self._frame.called(node)} frees what it had saved", before, node)

    def _kept(self, event: CheckpointKept) -> None:
        self._settle()
        before = self._total
        id = event.checkpoint
        kept = []
        for saved in event.saved:
            held = self._held(id, f"{saved.name}.{len(self.points)}", saved)
            held.name = saved.name if event.repeated else held.name
            kept.append(held)
        self._hold(id, checkpoint_said(id), None, kept)
        what = event.sentence(self._frame) + " and keeps one more tensor" * event.repeated
        self._point(what[:1].upper() + what[1:], before, id)

    def _drop(self) -> list[str]:
        changed = []
        for event in self._dropped:
            self._let_go(event.checkpoint, event.name)
            changed.append(event.checkpoint)
        self._dropped = []
        return changed

    def _settle(self, sentence: str = "") -> None:
        """What was there before anybody listened, or was dropped outside of a node's run, gets a point of its own."""
        before = self._total
        changed = self._drop()
        if self._found:
            count = len(self._found)
            nodes = "1 node was" if count == 1 else f"{count} nodes were"
            self._found = []
            self._point(f"{nodes} there before the recording", 0, *changed)
        elif sentence and self._total != before:
            self._point(sentence, before, *changed)

    def _point(self, sentence: str, before: int, *holders: str) -> None:
        more = self._total - before
        change = f"{bytes_said(abs(more))} {'more' if more > 0 else 'less'}, " if more else ""
        still = "" if more else "still "
        sentence = f"{sentence}: {change}{still}{bytes_said(self._total)} held."
        node = self._frame.nodes.get(holders[0]) if holders else None
        # All who hold something are asked at every point: of a large graph that would be too much.
        told = self._holding.values() if len(self._holding) <= _MOST_TOLD else ()
        parts = {f"{holder.name}: {key}": held.size for holder in told for key, held in holder.kept.items()}
        largest = sorted(parts.items(), key=lambda part: -part[1])[:8]
        source = node.made.source if node else None
        self.points.append(Point(self._phase, self._total, self._anyway, sentence, source, holders, tuple(largest)))
