"""Stretches of traces side by side: the iterations of a training loop in the places of one, and two whole traces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from difflib import SequenceMatcher
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from .call_records import HooksFound
from .facts import Part, SourceLine, TensorSeen
from .frame import Frame, Key, NodeState
from .records import (
    BackwardFinished,
    BackwardStarted,
    EventsLetGo,
    Failed,
    GradChanged,
    LevelEntered,
    NodeCreated,
    NodesGone,
    NodeStarted,
    OperationRan,
    TangentPushed,
    TensorsFound,
    TensorWritten,
)
from .schema import Record
from .timeline import Timeline
from .values import Value, said, series

_FEWEST = 2  # rounds that are a loop
_LENIENT = 4  # one in so many rounds may have no backward: a batch was left out


@dataclass(frozen=True, slots=True)
class Round:
    """A stretch of a trace, by the counts of events where it begins and ends; stretches outside the loop have number 0.

    For an iteration of the loop, `depth` is the number of parts of the program around what was made in it. If outer
    loops have several iterations, `around` says which, as "epoch 2", and `turn` is the number in the inner loop only.
    """

    number: int
    begin: int
    end: int
    depth: int = 0
    around: str = ""
    turn: int = 0

    @property
    def name(self) -> str:
        """`step 3`, or `epoch 2, step 3`."""
        return f"{self.around}, step {self.turn:,}" if self.around else f"step {self.number:,}"


@dataclass(slots=True)
class _Run:
    """Consecutive nodes and backward passes in one iteration (None: in none), from the first event to the last."""

    key: int | None
    first: int
    last: int
    number: int = 0
    depth: int = 0
    loop: int = 0
    around: str = ""  # the rounds of the loops around it
    started: SourceLine | None = None  # the last backward's line
    whole: bool = False  # whether a backward pass has ended


def rounds_of(events: Sequence[Record]) -> list[Round]:
    """Return a trace in the iterations of its training loops and what is between them; nothing without a loop."""
    kinds = Counter(map(type, events))
    if kinds[LevelEntered] or kinds[OperationRan] or kinds[TangentPushed] or kinds[BackwardStarted] < _FEWEST:
        return []
    films = _films(events)
    runs = _runs(events, films) if films else []
    if sum(run.key is not None for run in runs) < _FEWEST:
        return []
    inner = [run for run in runs if run.key is not None]
    own = len({run.loop for run in inner}) == 1  # else the rounds are numbered through
    nested = not own and len({(run.around, run.number) for run in inner if run.around}) == len(inner)
    begins = [1 if isinstance(events[0], EventsLetGo) else 0]
    tail = _tail(events, runs)
    begins += [_boundary(events, run, after, tail) for run, after in zip(runs, runs[1:], strict=False)]
    found: list[Round] = []
    count = 0
    for run, begin, end in zip(runs, begins, [*begins[1:], len(events)], strict=True):
        count += run.key is not None
        number = 0 if run.key is None else run.number if own else count
        around = (run.around, run.number) if number and nested else ("", 0)
        found.append(Round(number, begin, end, run.depth, *around))
    return found


def _chains(events: Iterable[Record]) -> dict[int, tuple[object, ...]]:
    """Return the loops and scopes around each iteration, by its key: equal for all iterations of one loop."""
    found: dict[int, tuple[object, ...]] = {}
    for event in events:
        if isinstance(event, NodeCreated):
            for at, part in enumerate(event.path):
                if part.kind == "round" and part.key not in found:
                    found[part.key] = tuple([(each.kind, _title(each)) for each in event.path[: at + 1]])
    return found


def _title(part: Part) -> str:
    return "" if part.kind == "round" else part.title


def _films(events: Sequence[Record]) -> dict[int, tuple[object, ...]]:
    """Return the training loops' iterations: of the innermost ones, unless outer ones run a backward pass as often."""
    chains = _chains(events)
    with_backward: set[int] = set()
    path: tuple[Part, ...] = ()
    going = 0
    for event in events:
        if isinstance(event, NodeCreated) and event.path and not going:
            path = event.path
        elif isinstance(event, BackwardStarted):
            with_backward |= set() if going else {part.key for part in path if part.kind == "round"}
            going += 1
        elif _is_end(event):
            going -= 1
    rounds: dict[tuple[object, ...], list[int]] = {}
    for key, chain in chains.items():
        rounds.setdefault(chain, []).append(key)
    counts = Counter({chain: sum(key in with_backward for key in keys) for chain, keys in rounds.items()})
    chosen: list[tuple[object, ...]] = []
    for chain in sorted(rounds, key=len):
        keys, count = rounds[chain], counts[chain]
        missing = len(keys) - count - (keys[-1] not in with_backward)  # the last may not have come to it
        if count < _FEWEST or missing * _LENIENT > len(keys):
            continue
        around = [each for each in chosen if chain[: len(each)] == each]
        if all(counts[each] < count for each in around):
            chosen = [*(each for each in chosen if each not in around), chain]
    return {key: chain for key, chain in chains.items() if chain in chosen}


def _is_end(event: Record) -> bool:
    return isinstance(event, BackwardFinished) or (isinstance(event, Failed) and event.task is not None)


def _runs(events: Sequence[Record], films: dict[int, tuple[object, ...]]) -> list[_Run]:
    """Return which nodes and backward passes are in which iteration, one after the other."""
    runs: list[_Run] = []
    going = 0
    for at, event in enumerate(events):
        if isinstance(event, NodeCreated) and event.path and not going and not event.found:
            loop, turn, depth = next(_found(event.path, films), (None, None, 0))
            key = turn.key if turn is not None else None
            again = key is not None and key in [run.key for run in runs[-2:]]
            if again and runs[-1].key is None:  # a part of the same round that was made elsewhere
                runs.pop()
            elif not again and not (runs and runs[-1].key is None and key is None):
                loops = event.path[: depth - 2] if turn else ()
                number, own = turn.number if turn else 0, loop.key if loop else 0
                runs.append(_Run(key, at, at, number, depth, own, _around(loops)))
        elif isinstance(event, BackwardStarted):
            going += 1
        elif not going or not runs:
            continue
        if not runs:
            runs.append(_Run(None, at, at))
        runs[-1].last = at
        if isinstance(event, BackwardStarted) and going == 1:
            runs[-1].started = event.source
        if _is_end(event):
            going -= 1
            runs[-1].whole |= isinstance(event, BackwardFinished)
    return runs


def _found(
    path: tuple[Part, ...], films: dict[int, tuple[object, ...]]
) -> Iterator[tuple[Part | None, Part | None, int]]:
    """Yield the loops and iterations that a node is in, and how many parts of the path lead to each."""
    for at, part in enumerate(path):
        if part.key in films:
            yield path[at - 1], part, at + 1


def _around(path: tuple[Part, ...]) -> str:
    """`epoch 2`: the rounds among these parts, each by the variable of its loop where that is a word."""
    rounds: list[str] = []
    for loop, turn in pairwise(path):
        if turn.kind == "round":
            found = re.match(r"for \(?([a-zA-Z]\w+)\b", loop.title)
            word = found[1] if found and found[1] != "step" else "iteration"
            rounds.append(f"{word} {turn.number:,}")
    return ", ".join(rounds)


# Where a round begins: what happens between two of them is the end of the one or the beginning of the next.


def _loud(events: Sequence[Record], begin: int, end: int) -> list[tuple[int, Record]]:
    return [(at, events[at]) for at in range(begin, end) if not events[at].quiet]


def _sign(event: Record) -> tuple[object, ...]:
    return type(event), getattr(event, "name", ""), getattr(event, "source", None)


def _tail(events: Sequence[Record], runs: Sequence[_Run]) -> list[tuple[object, ...]]:
    """Return what ends the last iteration, if it is complete and none follows."""
    for run, after in reversed(list(zip(runs, [*runs[1:], None], strict=True))):
        if run.key is not None:
            if not run.whole or (after is not None and after.key is not None):
                return []
            end = len(events) if after is None else after.first
            return [_sign(event) for _, event in _loud(events, run.last + 1, end)]
    return []


def _boundary(events: Sequence[Record], run: _Run, after: _Run, tail: Sequence[tuple[object, ...]]) -> int:
    """Return where the second begins: after what ends the last iteration too, else where the lines go back."""
    gap = _loud(events, run.last + 1, after.first)
    if after.key is None or run.key is None:
        return after.first if after.key is None else run.last + 1
    if tail:
        ended = _ended([event for _, event in gap], tail, run.started)
        return gap[ended][0] if ended < len(gap) else after.first
    line = run.started
    for at, event in gap:
        now = getattr(event, "source", None)
        if now is not None and line is not None and now.file == line.file and now.line < line.line:
            return at
        line = now or line
    writes = [at for at, event in gap if isinstance(event, TensorWritten)]
    cleared = [at for at, event in gap if isinstance(event, GradChanged) and event.clears]
    if cleared and line is not None and all(getattr(event, "source", None) == line for _, event in gap):  # one line
        return next((at for at in cleared if not writes or at > writes[-1]), after.first)
    return after.first


def _ended(gap: Sequence[Record], tail: Sequence[tuple[object, ...]], line: SourceLine | None) -> int:
    """Return how many events still end an iteration: those of the last one's end, and any between them.

    None of them comes after the program went back to earlier lines than the one that began the backward pass.
    """
    signs = [_sign(event) for event in gap]
    if signs[: len(tail)] == tail:
        return len(tail)
    ended = 0
    for count, (event, sign) in enumerate(zip(gap, signs, strict=True), 1):
        now: SourceLine | None = getattr(event, "source", None)
        if now is not None and line is not None and now.file == line.file and now.line < line.line:
            break
        line = now or line
        if sign in tail:
            ended = count
    return ended


# The fields that name a node, a tensor or a backward pass.
_IDS = frozenset("about base id node nodes others runs slices target targets task tensor".split())
_MOST = 250_000  # pairs of nodes that are compared where two stretches differ
_Fact = TypeVar("_Fact")


@dataclass(frozen=True, slots=True)
class Carried(TensorsFound):
    """Hold what a stretch begins with: tensors in their current state, which the graph already has, and freed nodes."""

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
            frame.touch(Key("node", id))


@dataclass(slots=True)
class _Spot:
    """A node's place, the same in all stretches."""

    made: NodeCreated
    inside: bool  # whether a backward pass made it

    @property
    def sign(self) -> tuple[object, ...]:
        made = self.made
        return made.name, made.custom, self.inside, len(made.edges), *[(p.kind, p.title) for p in made.path]


class Aligner:
    """Give the nodes and tensors of successive stretches the ids of those whose places they take.

    The same node of each iteration of a loop has the same id. Each stretch is separate: it begins with what existed
    before, in its state then, and contains no node of another iteration.
    """

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
        """Return everything that is in any of the stretches, each thing once: its groups follow from that."""
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
        """Return the same, and for a node that uses others in another stretch, what it uses there."""
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
        """Return a stretch of events to compare; parts of the program around its nodes within `depth` are left out.

        Return None if the stretch needs one of the `others`, nodes outside it, or if a tensor and its replacement
        are both in use, for example where threads train at the same time.
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
        replaced = {self._names[own] for own in away}  # others replaced them
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
                roles=tuple([(self.name(id), role) for id in given if (role := at[id].role) is not None]),
                cleared=tuple([self.name(id) for id in given if at[id].cleared]),
                freed=tuple([self.name(id) for id in old if before.nodes[id].freed]),
            )
        )
        paths = {spot.made.node: spot.made.path for spot in self._spots}
        stretch: list[Record] = []
        for event in (*first, *events):
            event = _mapped(event, self.name)
            stretch.append(replace(event, path=paths.get(event.node, ())) if isinstance(event, NodeCreated) else event)
        if not _leads_to_known(stretch):
            return None
        self._note(stretch)
        return stretch

    def name(self, id: str) -> str:
        """Return the id under which a node or a tensor of the trace is compared."""
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
        """Let data and leaves take the ids of those that were used the same way and aren't drawn."""
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


def _leads_to_known(events: Iterable[Record]) -> bool:
    """Return True if each node leads to what was recorded before it."""
    known: set[str | None] = {None}
    for event in events:
        known |= {seen.id for seen in getattr(event, "tensors", ())}
        if isinstance(event, NodeCreated):
            if any(edge.target not in known for edge in event.edges):
                return False
            known.add(event.node)
    return True


def _used(made: NodeCreated) -> list[str]:
    """Return the nodes and tensors that a node uses."""
    used = (*(edge.target for edge in made.edges), *(arg.tensor for arg in made.args))
    return [id for id in used if id is not None]


def _alike(seen: TensorSeen, other: TensorSeen) -> bool:
    """Return True if one may replace the other: a leaf only one of the same name, such as a parameter made again."""
    return seen.requires_grad == other.requires_grad and (not seen.requires_grad or seen.name == other.name)


def _opcodes(there: Sequence[object], here: Sequence[object]) -> Iterable[tuple[str, int, int, int, int]]:
    """Return how the one becomes the other, like SequenceMatcher, in bounded time."""
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
    """Return the nodes that were made while a backward pass ran."""
    found: set[str] = set()
    going = 0
    for event in events:
        going += isinstance(event, BackwardStarted) - isinstance(event, BackwardFinished)
        if going > 0 and isinstance(event, NodeCreated):
            found.add(event.node)
    return found


def _only(event: Record, own: Collection[str], before: Frame) -> Record:
    """Return the event without what it says about nodes outside the stretch."""
    if isinstance(event, NodesGone):
        return NodesGone(tuple([node for node in event.nodes if node in own]))
    if isinstance(event, HooksFound):
        return HooksFound(tuple([each for each in event.places if each.node in own or each.node in before.tensors]))
    seen: tuple[TensorSeen, ...] = getattr(event, "tensors", ())
    if any([each.cut is not None and each.cut is not _cut_off(each, own).cut for each in seen]):
        return replace(event, tensors=tuple([_cut_off(each, own) for each in seen]))  # type: ignore[type-var]
    return event


def _cut_off(seen: TensorSeen, own: Collection[str]) -> TensorSeen:
    """Return a tensor with its cut, and with the place of the cut only if it is one of these nodes."""
    cut = seen.cut
    if cut is None or all(each in own for each in (cut.node, *cut.others)):
        return seen
    others = tuple([each for each in cut.others if each in own])
    return replace(seen, cut=replace(cut, node=cut.node if cut.node in own else None, others=others))


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
    """Return a tensor as it is, with its origin only if that is one of these nodes."""
    state = before.tensors[id]
    node = state.node if state.node in nodes else None
    facts = (state.name, state.value, before.version(id), state.requires_grad, node, state.output_nr if node else 0)
    return _cut_off(TensorSeen(id, *facts, state.grad, base=state.base, cut=state.cut), nodes)


def _referred(events: Iterable[Record], within: Collection[str] = _IDS) -> dict[str, None]:
    """Return the nodes and tensors that these fields of the events refer to, in order."""
    found: dict[str, None] = {}

    def note(id: str) -> str:
        found[id] = None
        return id

    for event in events:
        _mapped(event, note, within)
    return found


def _mapped(fact: _Fact, change: Callable[[str], str], within: Collection[str] = _IDS) -> _Fact:
    """Return a record, or a part of one, with other ids; the same object if no id changes."""
    news: dict[str, Any] = {}
    for name in _names_of(type(fact)):
        value: Any = getattr(fact, name)
        now: Any = value
        several = value.__class__ is tuple
        if name in within:
            now = tuple([change(id) for id in value]) if several else value and change(value)
            now = value if now == value else now
        elif several:
            all = [_mapped(each, change, within) if is_dataclass(each) else each for each in value]
            now = tuple(all) if any(one is not other for one, other in zip(all, value, strict=True)) else value
        elif is_dataclass(value):
            now = _mapped(value, change, within)
        if now is not value:
            news[name] = now
    return replace(fact, **news) if news else fact  # type: ignore[type-var]


@cache
def _names_of(kind: Any) -> tuple[str, ...]:
    """Return the fields that may hold ids."""
    if kind in (Value, Part):
        return ()
    return tuple([each.name for each in fields(kind) if each.name not in ("path", "code", "value", "grad", "grads")])


_CLOSE = {"float64": 1e-9, "float32": 1e-5, "float16": 1e-2}  # relative: less is rounding

_ORDER = ("only here", "part", "operation", "sources", "value", "saved", "runs", "order", "gradient", "error")


@dataclass(frozen=True, slots=True)
class TraceDifference:
    """One difference in a sentence; its kind, and the place it is at in the first and in the second trace."""

    kind: str
    sentence: str
    first: str | None
    second: str | None


class Side:
    """One of the traces, as it ended."""

    def __init__(self, trace: Timeline) -> None:
        events = trace.events
        self.frame: Frame = trace.frame(len(events))
        self.runs = [event.node for event in events if isinstance(event, NodeStarted)]
        self.leaves = [id for id, tensor in self.frame.tensors.items() if tensor.role is not None]

    def called(self, id: str) -> str:
        """Return what a place is called, and the variable that holds its result, if there is one."""
        name = self.frame.called(id)
        if id not in self.frame.nodes or 0 not in self.frame.nodes[id].outputs:
            return name
        variable = self.frame.variable(self.frame.nodes[id].outputs[0][0])
        return f"{name} ({variable})" if variable else name

    def rank(self, id: str) -> str:
        """When a place ran."""
        number = self.runs.index(id) + 1
        ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
        return f"{number}{ending}"


class Differences:
    """What is not the same in two traces: first in how they are built, then what is in them, then what ran."""

    def __init__(self, first: Timeline, second: Timeline) -> None:
        self.first, self.second = Side(first), Side(second)
        self.pairs = self._paired()

    def _paired(self) -> dict[str, str]:
        """Return the places of the second trace that those of the first are compared with."""
        one, two = self.first.frame, self.second.frame
        left = [id for id in self.first.leaves if one.tensors[id].name is None]
        right = [id for id in self.second.leaves if two.tensors[id].name is None]
        names = {two.tensors[id].name: id for id in reversed(self.second.leaves)}
        found: dict[str, str] = {}
        for id in self.first.leaves:
            name = one.tensors[id].name
            if name is not None and name in names:
                found[id] = names.pop(name)
        taken = set(found.values())
        left += [id for id in self.first.leaves if id not in found and id not in left]
        right += [id for id in self.second.leaves if id not in taken and id not in right]
        found |= dict(zip(left, right, strict=False))
        ours, theirs = list(one.nodes), list(two.nodes)
        kinds = [[frame.nodes[id].made.name for id in ids] for frame, ids in ((one, ours), (two, theirs))]
        blocks = list(_opcodes(*kinds))
        for tag, i, to_i, j, to_j in blocks:
            if tag == "equal":
                found |= dict(zip(ours[i:to_i], theirs[j:to_j], strict=True))
        taken = set(found.values())
        moved: dict[str, list[str]] = {}
        for id, kind in zip(theirs, kinds[1], strict=True):
            if id not in taken:
                moved.setdefault(kind, []).append(id)
        for id, kind in zip(ours, kinds[0], strict=True):
            if id not in found and moved.get(kind):
                found[id] = moved[kind].pop(0)
        taken = set(found.values())
        for _, i, to_i, j, to_j in blocks:  # one operation in the place of another
            left = [id for id in ours[i:to_i] if id not in found]
            right = [id for id in theirs[j:to_j] if id not in taken]
            found |= dict(zip(left, right, strict=False))
        return found

    def __iter__(self) -> Iterator[TraceDifference]:
        return iter(sorted(self._all(), key=lambda each: _ORDER.index(each.kind)))

    def _all(self) -> Iterator[TraceDifference]:
        one, two, pairs = self.first, self.second, self.pairs
        for id in [*one.leaves, *one.frame.nodes]:
            if id not in pairs:
                yield TraceDifference("only here", f"Only the first has {one.called(id)}", id, None)
            elif id in one.frame.nodes:
                yield from self._nodes(id, pairs[id])
            else:
                yield from self._leaves(id, pairs[id])
        for id in [*two.leaves, *two.frame.nodes]:
            if id not in pairs.values():
                yield TraceDifference("only here", f"Only the second has {two.called(id)}", None, id)
        yield from self._order()

    def _leaves(self, one: str, two: str) -> Iterator[TraceDifference]:
        ours, theirs, name = self.first.frame.tensors[one], self.second.frame.tensors[two], self.first.called(one)
        if ours.role != theirs.role:
            yield TraceDifference("part", f"{name} is a {ours.role}, in the second a {theirs.role}", one, two)
        if unlike := _unlike(ours.value, theirs.value):
            yield TraceDifference("value", f"{name} is {unlike}", one, two)
        if unlike := _unlike(ours.grad, theirs.grad):
            yield TraceDifference("gradient", f"{name}.grad is {unlike}", one, two)

    def _nodes(self, one: str, two: str) -> Iterator[TraceDifference]:
        ours, theirs, name = self.first.frame.nodes[one], self.second.frame.nodes[two], self.first.called(one)
        if ours.made.name != theirs.made.name:
            other = self.second.called(two)
            yield TraceDifference("operation", f"Where the first has {name}, the second has {other}", one, two)
        if sources := self._sources(ours, theirs):
            told = f"{name} is computed from {sources[0]}, in the second from {sources[1]}"
            yield TraceDifference("sources", told, one, two)
        for nr in sorted(ours.outputs.keys() & theirs.outputs.keys()):
            if unlike := _unlike(ours.outputs[nr][1], theirs.outputs[nr][1]):
                yield TraceDifference("value", f"{name} gives {unlike}", one, two)
        yield from self._kept(one, two, name)
        for ours_in, theirs_in in zip(ours.received, theirs.received, strict=False):
            if unlike := _unlike(ours_in, theirs_in):
                yield TraceDifference("gradient", f"{name} receives the gradient {unlike}", one, two)
        if ours.error != theirs.error:
            what = [f"fails with {each.error}" if each.error else "does not fail" for each in (ours, theirs)]
            yield TraceDifference("error", f"{name} {what[0]}; in the second it {what[1]}", one, two)

    def _sources(self, ours: NodeState, theirs: NodeState) -> tuple[str, str] | None:
        """Return what both are computed from, unless that is the same, or a part of it is only in one trace."""
        left = [edge.target for edge in ours.made.edges]
        right = [edge.target for edge in theirs.made.edges]
        known = self.pairs.keys(), set(self.pairs.values())
        for ids, there in zip((left, right), known, strict=True):
            if any(id is not None and id not in there for id in ids):
                return None
        if [id and self.pairs[id] for id in left] == right:
            nrs = [[edge.output_nr for edge in each.made.edges] for each in (ours, theirs)]
            if nrs[0] == nrs[1]:
                return None
        sources: list[str] = []
        for side, state in ((self.first, ours), (self.second, theirs)):
            edges = [(edge.target, edge.output_nr) for edge in state.made.edges if edge.target is not None]
            sources.append(series([side.frame.output(id, nr).replace("`", "") for id, nr in edges]) or "only constants")
        return sources[0], sources[1]

    def _kept(self, one: str, two: str, name: str) -> Iterator[TraceDifference]:
        ours, theirs = self.first.frame.nodes[one], self.second.frame.nodes[two]
        kept = [
            series([side.frame.variable(saved.tensor) or saved.name for saved in each.made.saved]) or "nothing"
            for side, each in ((self.first, ours), (self.second, theirs))
        ]
        if kept[0] != kept[1]:
            yield TraceDifference("saved", f"{name} saves {kept[0]}, in the second {kept[1]}", one, two)
        else:
            for saved, mine, other in zip(ours.made.saved, ours.saved, theirs.saved, strict=False):
                if mine is not None and other is not None:
                    unlike = _unlike(mine, other)
                else:
                    whose = ["the result of a hook" if each is None else said(each) for each in (mine, other)]
                    unlike = "" if mine is other else ", in the second ".join(whose)
                if unlike:
                    yield TraceDifference("saved", f"{name} saves as {saved.name} {unlike}", one, two)
        if ours.freed != theirs.freed and ours.made.saved and theirs.made.saved:
            what = ["are freed" if each.freed else "are held" for each in (ours, theirs)]
            yield TraceDifference(
                "saved", f"The saved tensors of {name} {what[0]}, in the second they {what[1]}", one, two
            )

    def _order(self) -> Iterator[TraceDifference]:
        ours = [id for id in self.first.runs if id in self.pairs]
        back = {two: one for one, two in self.pairs.items()}
        theirs = [back[id] for id in self.second.runs if id in back]
        counts = Counter(ours), Counter(theirs)
        for id in dict.fromkeys([*ours, *theirs]):
            if counts[0][id] != counts[1][id]:
                times = [{0: "never", 1: "once", 2: "twice"}.get(count[id], f"{count[id]} times") for count in counts]
                told = f"{self.first.called(id)} runs {times[0]}, in the second {times[1]}"
                yield TraceDifference("runs", told, id, self.pairs[id])
        ours, theirs = ([id for id in ids if counts[0][id] == counts[1][id]] for ids in (ours, theirs))
        kept = {at for tag, i, to_i, *_ in _opcodes(ours, theirs) if tag == "equal" for at in range(i, to_i)}
        for id in dict.fromkeys(id for at, id in enumerate(ours) if at not in kept):
            when = self.first.rank(id), self.second.rank(self.pairs[id])
            told = f"{self.first.called(id)} runs {when[0]}, in the second {when[1]}"
            yield TraceDifference("order", told, id, self.pairs[id])


def _unlike(one: Value | None, two: Value | None) -> str:
    """Return both values, if they differ by more than rounding."""
    if one is None or two is None:
        return "" if one is two else f"{said(one)}, in the second {said(two)}"
    if (one.shape, one.dtype) != (two.shape, two.dtype):
        return f"{one.kind}: {said(one)}, in the second {two.kind}: {said(two)}"
    if one.values is None or two.values is None:
        parts = [np.array([v.norm, v.min, v.max, v.mean, v.nonfinite], float) for v in (one, two)]
    else:
        parts = [np.array(value.values) for value in (one, two)]
    close = _CLOSE.get(one.dtype, 0.0)
    least = close * 1e-3 * max(one.norm, 1e-300) if close else 0
    if np.allclose(parts[0], parts[1], rtol=close, atol=least, equal_nan=True):
        return ""
    told = said(one), said(two)
    apart = f" (they differ by {one.norm and abs(parts[0] - parts[1]).max():.2g})" if told[0] == told[1] else ""
    return f"{told[0]}, in the second {told[1]}{apart}"
