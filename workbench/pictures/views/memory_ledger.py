"""The account of the memory that is held for backward: after each event how much, and who holds it for how long.

Parameters and inputs, which are held anyway, are separate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from ..scene.metric import clean
from ..trace.backward_records import BackwardStarted, NodeFinished
from ..trace.facts import Attribute, Phase, Saved, SourceLine, as_kept, tensor_of
from ..trace.forward_records import NodeCreated
from ..trace.frame import Frame
from ..trace.memory_records import CheckpointDropped, CheckpointKept, NodesGone, SavedFreed, checkpoint_said
from ..trace.schema import Record
from ..trace.timeline import Timeline
from ..trace.values import series
from .memory_sizes import bytes_of, bytes_said, kept_of, owner_of
from .module_places import places_of

_MOST_TOLD = 200  # holders that are asked at a point


@dataclass(slots=True)
class KeptTensor:
    """One tensor that a holder keeps: `memory` is the same where tensors share it, and counts once.

    A parameter or an input lives `anyway`: it is the user's, and counts apart, as the backward does not give it back.
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
    kept: dict[str, KeptTensor] = field(default_factory=dict)
    own: dict[str, int] = field(default_factory=dict)  # memory -> the bytes that count here and nowhere else
    spans: list[list[int | None]] = field(default_factory=list)  # from, to; None: to the end
    most: int = 0
    told: list[str] = field(default_factory=list)  # the names of all that was ever kept
    needed: list[str] = field(default_factory=list)  # and of what lives anyway
    taken_by: str | None = None  # the node that took all over, which a write through a view made
    gone: bool = False  # without having run
    anyway: bool = False


@dataclass(slots=True)
class Point:
    """The state after an event that could change what is held."""

    phase: Phase
    total: int
    anyway: int  # what lives anyway, which is not in the total
    sentence: str
    source: SourceLine | None
    holders: tuple[str, ...]  # whose part changed
    largest: tuple[tuple[str, int], ...]


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
        """Return the peak."""
        return max((point.total for point in self.points), default=0)

    @cached_property
    def anyway(self) -> int:
        """Return what is needed of memory held anyway, at the peak."""
        return max((point.anyway for point in self.points if point.total == self.peak), default=0)

    @cached_property
    def _places(self) -> dict[str, str]:
        return places_of(self._frame.nodes[id].made for id in self.holders if id in self._frame.nodes)

    def place_of(self, holder: Holder) -> str:
        """Return the name of a holder's row: its module, or its own name."""
        return clean(self._places.get(holder.id, holder.name))

    @cached_property
    def forward(self) -> int:
        """Return the number of points before the first backward pass."""
        return next((n for n, point in enumerate(self.points) if point.phase == "backward"), len(self.points))

    def _enter(self, event: Record, phase: Phase) -> None:
        """Account for an event of a step of that phase; what is freed before a step belongs to the step before."""
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
            self._checkpointed(event)
        elif isinstance(event, CheckpointDropped):
            self._dropped.append(event)
            if event.name is None:
                self._settle("A checkpoint has finished and frees its tensors")

    def _created(self, made: NodeCreated) -> None:
        if not made.found:
            self._settle()
        if made.runs is not None:  # the node of a write through a view holds what that kept, which never runs itself
            self._let_go(made.runs)
            if made.runs in self.holders:
                self.holders[made.runs].taken_by = self._frame.called(made.node)
        before = self._total
        tensors = [self._kept_tensor(made.node, index, saved) for index, saved in enumerate(made.saved)]
        tensors += [held for each in made.attributes if (held := self._on_ctx(made.node, each)) is not None]
        self._hold(made.node, made.name, made.source, tensors)
        if made.found:
            self._found += [made.node] if made.runs is None else []
            return
        own, needed = (
            series(list(dict.fromkeys([each.name for each in tensors if each.anyway is lives])))
            for lives in (False, True)
        )
        does = ["joins the graph", *[f"saves {own or 'nothing'}"] * bool(own or not needed)]
        does += [f"needs {needed}, held anyway"] * bool(needed)
        self._point(f"{made.name} {series(does)}", before, made.node)

    def _kept_tensor(self, holder: str, index: int | str, saved: Saved) -> KeptTensor:
        known = tensor_of(saved)
        name = saved.name.replace("saved_tensors", "saved")
        memory, size, anyway = kept_of(self._frame, f"{holder}.{index}", saved, saved.value)
        if saved.tensor is not None:
            return KeptTensor(self._called(memory, saved.tensor), memory, size, anyway=anyway)
        name = self._frame.called(known) if known else name
        return KeptTensor(as_kept(saved, name), memory, size, anyway=anyway)

    def _called(self, memory: str, tensor: str) -> str:
        """Return the name of a held tensor: that of its memory's owner, if it has one."""
        named = memory in self._frame.tensors and self._frame.variable(memory)
        return self._frame.called(memory if named else tensor)

    def _on_ctx(self, node: str, each: Attribute) -> KeptTensor | None:
        name = f"ctx.{each.name}"
        if each.tensor is not None:
            memory, size, anyway = owner_of(self._frame, each.tensor)
            return KeptTensor(name, memory, size, freed=False, anyway=anyway)
        return KeptTensor(name, f"{node}.{name}", bytes_of(each.value), freed=False) if each.value else None

    def _hold(self, id: str, name: str, source: SourceLine | None, tensors: list[KeptTensor]) -> None:
        if not tensors:
            return
        holder = self.holders.setdefault(id, Holder(id, name, source))
        if not holder.kept:
            holder.spans.append([len(self.points), None])
            self._holding[id] = holder
        for held in tensors:
            key = f"{held.name}.{len(holder.kept)}" if held.name in holder.kept else held.name
            holder.kept[key] = held
            users = self._users.setdefault(held.memory, [])
            if users:  # as when it was counted
                row = self.holders.get(held.memory)
                held.anyway = row is not None and held.memory in row.own
            users.append(id)
            called = held.name if not held.name.isdigit() else "recomputed tensors"
            names = holder.needed if held.anyway else holder.told
            if held.anyway:
                self._have(held, len(users) == 1)
            elif len(users) == 1:
                holder.own[held.memory] = held.size
                self._total += held.size
            elif held.memory not in holder.own:
                called += f", counted with {self.holders[users[0]].name}"
            if called not in names:
                names.append(called)
        holder.most = max(holder.most, sum(holder.own.values()))

    def _have(self, held: KeptTensor, begins: bool) -> None:
        """Note that something held anyway is needed."""
        name = self._frame.called(held.memory)
        row = self.holders.setdefault(held.memory, Holder(held.memory, name, None, most=held.size, anyway=True))
        if begins:
            self._anyway += held.size
            row.own[held.memory] = held.size
            row.spans.append([len(self.points), None])

    def _let_go(self, id: str, name: str | None = None, everything: bool = False) -> None:
        holder = self._holding.get(id)  # a trace may name what holds nothing
        if holder is None:
            return
        keys = [key for key, held in holder.kept.items() if (held.freed or everything) and name in (None, key)]
        for held in [holder.kept.pop(key) for key in keys]:
            users = self._users[held.memory]
            users.remove(id)
            if held.anyway:
                if not users:
                    self._anyway -= self.holders[held.memory].own.pop(held.memory)
                    self._end(self.holders[held.memory])
            elif held.memory in holder.own and id not in users:
                size = holder.own.pop(held.memory)
                if users:  # it counts with the next who holds it
                    other = self.holders[users[0]]
                    other.own[held.memory] = size
                    other.most = max(other.most, sum(other.own.values()))
                else:
                    self._total -= size
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
        outcome = "and keeps its saved tensors" if node in self.holders else "and has nothing to free"
        self._point(f"{self._frame.called(node)} has run {outcome}", before, node, *changed)

    def _freed(self, node: str) -> None:
        """Assign what a node frees to the point of its run."""
        before, last = self._total, self.points[-1] if self.points else None
        if last is not None and last.holders[:1] == (node,):
            self.points.pop()
            self._let_go(node)
            for id in last.holders:
                for span in self.holders[id].spans if id in self.holders else ():
                    span[1] = span[1] and min(span[1], len(self.points))
            before = self.points[-1].total if self.points else 0
            self._point(f"{self._frame.called(node)} has run and frees its saved tensors", before, *last.holders)
        else:
            self._let_go(node)
            self._point(f"{self._frame.called(node)} frees its saved tensors", before, node)

    def _checkpointed(self, event: CheckpointKept) -> None:
        self._settle()
        before = self._total
        id = event.checkpoint
        tensors = []
        for saved in event.saved:
            held = self._kept_tensor(id, f"{saved.name}.{len(self.points)}", saved)
            held.name = saved.name if event.repeated else held.name
            tensors.append(held)
        self._hold(id, checkpoint_said(id), None, tensors)
        what = event.sentence(self._frame) + " and saves one more tensor" * event.repeated
        self._point(what[:1].upper() + what[1:], before, id)

    def _drop(self) -> list[str]:
        changed = []
        for event in self._dropped:
            self._let_go(event.checkpoint, event.name)
            changed.append(event.checkpoint)
        self._dropped = []
        return changed

    def _settle(self, sentence: str = "") -> None:
        """Give a point to memory from before the recording, or freed outside a node's run."""
        before = self._total
        changed = self._drop()
        if self._found:
            count = len(self._found)
            nodes = "1 node was" if count == 1 else f"{count} nodes were"
            self._found = []
            self._point(f"{nodes} created before the recording", 0, *changed)
        elif sentence and self._total != before:
            self._point(sentence, before, *changed)

    def _point(self, sentence: str, before: int, *holders: str) -> None:
        more = self._total - before
        change = f"{bytes_said(abs(more))} {'more' if more > 0 else 'less'}, " if more else ""
        still = "" if more else "still "
        sentence = f"{sentence}: {change}{still}{bytes_said(self._total)} held."
        node = self._frame.nodes.get(holders[0]) if holders else None
        # All who hold something are asked at every point: of a large graph that would be too much.
        listed = self._holding.values() if len(self._holding) <= _MOST_TOLD else ()
        if sum(len(holder.kept) for holder in listed) > 4 * _MOST_TOLD:
            listed = ()
        items = ((holder, key, held) for holder in listed for key, held in holder.kept.items() if not held.anyway)
        parts = {f"{holder.name}: {key}": held.size for holder, key, held in items}
        largest = sorted(parts.items(), key=lambda part: -part[1])[:8]
        source = node.made.source if node else None
        self.points.append(Point(self._phase, self._total, self._anyway, sentence, source, holders, tuple(largest)))
