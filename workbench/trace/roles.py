"""Stretches of a trace in the places of one: the same node of each round of a loop has the same id.

Each stretch stands for itself: it begins with what was there before, as it was then, and no node of another round is
in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from difflib import SequenceMatcher
from functools import cache
from typing import Any, TypeVar

from .call_records import HooksFound
from .frame import Frame
from .records import BackwardFinished, BackwardStarted, NodeCreated, NodesGone, TensorsFound
from .schema import Part, Record, TensorSeen
from .values import Value

# The fields that name a node, a tensor or a backward.
_IDS = frozenset("base id node nodes runs slices target targets task tensor".split())
_MOST = 250_000  # pairs of nodes that are compared where two rounds differ
_Fact = TypeVar("_Fact")


@dataclass(frozen=True, slots=True)
class Carried(TensorsFound):
    """What a stretch begins with: tensors as they are then, which stand in the graph already, and nodes freed."""

    roles: tuple[tuple[str, str], ...] = ()
    cleared: tuple[str, ...] = ()
    freed: tuple[str, ...] = ()

    def apply(self, frame: Frame) -> None:
        """Put them where they were."""
        TensorsFound.apply(self, frame)
        for id, role in self.roles:
            frame.play_part(id, role)  # type: ignore[arg-type]
        for id in self.cleared:
            frame.tensors[id].cleared = True
        for id in self.freed:
            frame.nodes[id].freed = True
            frame.touch(id)


@dataclass(slots=True)
class _Spot:
    """A node's place, the same in all stretches."""

    made: NodeCreated
    inside: bool  # whether a backward made it

    @property
    def sign(self) -> tuple[object, ...]:
        made = self.made
        return made.name, made.custom, self.inside, len(made.edges), *[(p.kind, p.title) for p in made.path]


class Cast:
    """Gives the nodes and tensors of one stretch after the other the ids of those whose places they take."""

    def __init__(self) -> None:
        self._spots: list[_Spot] = []
        self._names: dict[str, str] = {}  # by its id in the trace
        self._uses: dict[tuple[str, int], TensorSeen] = {}  # (node, argument) -> the tensor there
        self._made: dict[object, NodeCreated] = {}  # all that differ in what they use
        self._placed: set[str] = set()
        self._given: dict[str, TensorSeen] = {}
        self._old: dict[str, NodeCreated] = {}

    @property
    def plan(self) -> list[Record]:
        """All that is in any of the stretches, each once: what groups it lies in follows from that."""
        events: list[Record] = [TensorsFound(tuple(self._given.values())), *self._old.values()]
        for spot in self._spots:
            if spot.inside:  # so that it is known to be
                events.append(BackwardStarted("", (), None, False, False, None))
            events.append(spot.made)
            if spot.inside:
                events.append(BackwardFinished(""))
        return events

    @property
    def uses(self) -> list[Record]:
        """The same, and of a node that uses others in another stretch what it uses there."""
        events, known = self.plan, {(event.node, id): None for event in self._first() for id in _used(event)}
        for event in self._made.values():
            news = [id for id in _used(event) if (event.node, id) not in known]
            known |= {(event.node, id): None for id in news}
            edges = tuple([edge for edge in event.edges if edge.target in news])
            args = tuple([arg for arg in event.args if arg.tensor in news])
            events += [replace(event, edges=edges, args=args)] if news else []
        return events

    def _first(self) -> list[NodeCreated]:
        return [*self._old.values(), *(spot.made for spot in self._spots)]

    def take(self, events: Sequence[Record], before: Frame, depth: int, others: Collection[str]) -> list[Record] | None:
        """A stretch as it is told, its nodes within `depth` parts of the program being as if outside of those.

        None if it needs one of the `others`, nodes that are no part of it.
        """
        own = {event.node for event in events if isinstance(event, NodeCreated)}
        events = [_only(event, own, before) for event in events]
        tasks = [event.task for event in events if isinstance(event, BackwardStarted)]
        self._names |= {task: f"b{number}" for number, task in enumerate(tasks, 1)}
        used = _referred(events)
        old = _reached([id for id in used if id in before.nodes and id not in own], before)
        if any(id in others for id in old):
            return None
        given = [id for id in used if id in before.tensors]
        given += [id for node in old for id, _ in before.nodes[node].outputs.values() if id not in used]
        self._align([event for event in events if isinstance(event, NodeCreated)], _inside(events), depth)
        self._name_tensors(events, _referred(events, _IDS - {"base"}), {*used, *given}, before)
        away = {own for own, name in self._names.items() if own != name and own in used}
        replaced = {self._names[own] for own in away}  # others stand in their places
        given = [id for id in given if id not in replaced or id in away]
        seen = {id: _seen(before, id, {*old}) for id in given}
        first: list[Record] = [TensorsFound(tuple([each for each in seen.values() if each.node is None]))]
        for id in old:
            made = before.nodes[id].made
            tensors = tuple([each for each in seen.values() if each.node == id])
            first.append(replace(made, found=True, args=(), tensors=tensors, saved=(), source=None, path=(), runs=None))
        at = before.tensors
        first.append(
            Carried(
                (),
                tuple([(id, role) for id in given if (role := at[id].role) is not None]),
                tuple([id for id in given if at[id].cleared]),
                tuple([id for id in old if before.nodes[id].freed]),
            )
        )
        paths = {spot.made.node: spot.made.path for spot in self._spots}
        told: list[Record] = []
        for event in (*first, *events):
            event = _mapped(event, self.name)
            told.append(replace(event, path=paths.get(event.node, ())) if isinstance(event, NodeCreated) else event)
        self._note(told)
        return told

    def name(self, id: str) -> str:
        """The id by which a node or a tensor of the trace is told."""
        return self._names.get(id, id)

    def _align(self, made: Sequence[NodeCreated], inside: Collection[str], depth: int) -> None:
        """Find each node its place, or make one."""
        new = [
            _Spot(replace(event, path=event.path[depth:]), event.node in inside) for event in made if not event.found
        ]
        there, here = [spot.sign for spot in self._spots], [spot.sign for spot in new]
        spots: list[_Spot] = []
        parts: dict[int, Part] = {}  # by the keys in the trace
        for tag, i, to_i, j, to_j in _opcodes(there, here):
            spots += self._spots[i:to_i]
            if tag == "equal":
                for one, other in zip(self._spots[i:to_i], new[j:to_j], strict=True):
                    self._names[other.made.node] = one.made.node
                    parts |= {part.key: own for part, own in zip(other.made.path, one.made.path, strict=True)}
            else:
                for spot in new[j:to_j]:
                    path = tuple([parts.get(part.key, part) for part in spot.made.path])
                    spots.append(_Spot(replace(spot.made, path=path), spot.inside))
        self._spots = spots

    def _name_tensors(
        self, events: Iterable[Record], drawn: Collection[str], used: Collection[str], before: Frame
    ) -> None:
        """Data and leaves that stand for themselves take the places of those that were used alike and are not drawn."""
        known = {id: _seen(before, id, ()) for id in used if id in before.tensors}
        taken: set[str] = set()
        for event in events:
            known |= {seen.id: seen for seen in getattr(event, "tensors", ())}
            if not isinstance(event, NodeCreated):
                continue
            for at, arg in enumerate(event.args):
                seen = known.get(arg.tensor) if arg.tensor is not None else None
                if seen is None or seen.node is not None:
                    continue
                spot = self.name(event.node), at
                other = self._uses.get(spot)
                if seen.id not in self._names and other is not None and _alike(seen, other):
                    if other.id not in taken and (other.id == seen.id or other.id not in drawn):
                        self._names[seen.id] = other.id
                self._names.setdefault(seen.id, seen.id)
                taken.add(self._names[seen.id])
                self._uses.setdefault(spot, replace(seen, id=self._names[seen.id]))

    def _note(self, told: Iterable[Record]) -> None:
        """Keep what the plan needs."""
        at = {spot.made.node: spot for spot in self._spots}
        for event in told:
            for seen in getattr(event, "tensors", ()):
                if seen.node is None:
                    self._given.setdefault(seen.id, seen)
            if isinstance(event, NodeCreated) and event.found:
                self._old.setdefault(event.node, event)
            elif isinstance(event, NodeCreated):
                if event.node not in self._placed:
                    self._placed.add(event.node)
                    at[event.node].made = event
                self._made.setdefault((event.node, event.edges, tuple([arg.tensor for arg in event.args])), event)


def _used(made: NodeCreated) -> list[str]:
    """What a node uses: nodes, and tensors."""
    used = (*(edge.target for edge in made.edges), *(arg.tensor for arg in made.args))
    return [id for id in used if id is not None]


def _alike(seen: TensorSeen, other: TensorSeen) -> bool:
    """Whether one may take the place of the other: of leaves only one of the same name, as of a parameter made anew."""
    return seen.requires_grad == other.requires_grad and (not seen.requires_grad or seen.name == other.name)


def _opcodes(there: Sequence[object], here: Sequence[object]) -> Iterable[tuple[str, int, int, int, int]]:
    """How the one becomes the other, as SequenceMatcher tells it, in bounded time."""
    if there == here:
        return [("equal", 0, len(there), 0, len(here))]
    shorter = min(len(there), len(here))
    head = next((n for n in range(shorter) if there[n] != here[n]), shorter)
    tail = next((n for n in range(shorter - head) if there[-1 - n] != here[-1 - n]), shorter - head)
    ends = len(there) - tail, len(here) - tail
    middle = there[head : ends[0]], here[head : ends[1]]
    found: list[tuple[str, int, int, int, int]] = [("equal", 0, head, 0, head)]
    if len(middle[0]) * len(middle[1]) <= _MOST:
        for tag, *at in SequenceMatcher(None, *middle, autojunk=False).get_opcodes():
            i, to_i, j, to_j = [each + head for each in at]
            found.append((tag, i, to_i, j, to_j))
    else:
        found.append(("replace", head, ends[0], head, ends[1]))
    return [*found, ("equal", ends[0], len(there), ends[1], len(here))]


def _inside(events: Iterable[Record]) -> set[str]:
    """The nodes that were made while a backward ran."""
    found: set[str] = set()
    going = 0
    for event in events:
        going += isinstance(event, BackwardStarted) - isinstance(event, BackwardFinished)
        if going > 0 and isinstance(event, NodeCreated):
            found.add(event.node)
    return found


def _only(event: Record, own: Collection[str], before: Frame) -> Record:
    """The event without what it tells of nodes that are no part of the stretch."""
    if isinstance(event, NodesGone):
        return NodesGone(tuple([node for node in event.nodes if node in own]))
    if isinstance(event, HooksFound):
        return HooksFound(tuple([each for each in event.places if each.node in own or each.node in before.tensors]))
    return event


def _reached(ids: Iterable[str], before: Frame) -> list[str]:
    """Nodes and all that they lead to, in the order they were made."""
    found: set[str] = set()
    stack = list(ids)
    while stack:
        id = stack.pop()
        if id not in found:
            found.add(id)
            stack += [edge.target for edge in before.nodes[id].made.edges if edge.target in before.nodes]
    return [id for id in before.nodes if id in found] if found else []


def _seen(before: Frame, id: str, nodes: Collection[str]) -> TensorSeen:
    """A tensor as it is; where it comes from only if that is one of these nodes."""
    state = before.tensors[id]
    node = state.node if state.node in nodes else None
    facts = (state.name, state.value, before.version(id), state.requires_grad, node, state.output_nr if node else 0)
    return TensorSeen(id, *facts, state.grad, base=state.base)


def _referred(events: Iterable[Record], within: Collection[str] = _IDS) -> dict[str, None]:
    """The nodes and tensors that the events speak of in these fields, in order."""
    found: dict[str, None] = {}

    def note(id: str) -> str:
        found[id] = None
        return id

    for event in events:
        _mapped(event, note, within)
    return found


def _mapped(fact: _Fact, change: Callable[[str], str], within: Collection[str] = _IDS) -> _Fact:
    """A record, or what it consists of, with other ids; itself, if none of them is another."""
    news: dict[str, Any] = {}
    kind: Any = type(fact)
    for name in _names_of(kind):
        value = getattr(fact, name)
        now: Any = value
        if name in within:
            now = tuple([change(id) for id in value]) if type(value) is tuple else value and change(value)
            now = value if now == value else now
        elif type(value) is tuple:
            all = [_mapped(each, change, within) if is_dataclass(each) else each for each in value]
            now = tuple(all) if any(one is not other for one, other in zip(all, value, strict=True)) else value
        elif is_dataclass(value):
            now = _mapped(value, change, within)
        if now is not value:
            news[name] = now
    return replace(fact, **news) if news else fact  # type: ignore[type-var]


@cache
def _names_of(kind: Any) -> tuple[str, ...]:
    """The fields that may hold ids."""
    if kind in (Value, Part):
        return ()
    return tuple([each.name for each in fields(kind) if each.name not in ("path", "code", "value", "grad", "grads")])
