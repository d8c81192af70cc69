"""The graph of a trace: nodes and tensors by id, their uses, and the paths of gradients."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...pictures.trace.facts import Cut, Edge, SourceLine, TensorSeen
from ...pictures.trace.forward_records import NodeCreated
from ...pictures.trace.memory_records import NodesGone, SavedFreed
from ...pictures.trace.schema import Record
from ...pictures.trace.tensor_records import TensorShown, TensorWritten
from ...pictures.trace.values import Value
from .measures import is_broken

Grads = tuple[Value | None, ...]
Take = Callable[[int, Any], None]


@dataclass(slots=True)
class RecordedNode:
    """A node with the values that passed through it; `gradients` and `sent` are those of its first run."""

    made: NodeCreated
    event: int
    inside: bool = False  # whether a backward pass created it
    inputs: list[Value] = field(default_factory=list)
    input_ids: list[str] = field(default_factory=list)  # of each the tensor, or the node that gave it
    outputs: list[Value] = field(default_factory=list)
    saved: dict[str, Value] = field(default_factory=dict)  # what is known of what it has saved, as that was
    gradients: Grads = ()
    sent: Grads = ()
    started: list[int] = field(default_factory=list)
    finished: list[int] = field(default_factory=list)
    gone: int | None = None
    freed: int | None = None

    @property
    def id(self) -> str:
        """Its id."""
        return self.made.node

    @property
    def line(self) -> SourceLine | None:
        """The line of the program that created it."""
        return self.made.source


class RecordedGraph:
    """Nodes and tensors from records, in one pass; a place is a node or a leaf."""

    def __init__(self, events: Sequence[Record]) -> None:
        self.events = events
        self.nodes: dict[str, RecordedNode] = {}
        self.tensors: dict[str, TensorSeen] = {}  # as they were met last
        self.values: dict[str, Value] = {}  # tensor -> what it is
        self.places: dict[str, str] = {}  # tensor -> the node that it comes from, or itself
        self.cuts: dict[str, tuple[int, Cut]] = {}  # tensor -> where the way of its gradient ends, and when it was met
        self.users: dict[str, list[str]] = {}  # place -> the nodes whose gradients go there
        self.constants: dict[str, list[str]] = {}  # tensor -> nodes given it, or a view, while it took no gradient
        self.broken: dict[str, list[tuple[int, TensorWritten]]] = {}  # tensor -> writes by which it was not finite
        self.shown: str | None = None  # the tensor that the user asked to see
        takes = self._takes()
        for at, event in enumerate(events):
            for seen in getattr(event, "tensors", ()):
                self._see(at, seen)
            if (take := takes.get(type(event))) is not None:
                take(at, event)

    def _takes(self) -> dict[type[Record], Take]:
        """Return the handlers by kind of event."""
        return {
            NodeCreated: self._create,
            TensorWritten: self._write,
            TensorShown: self._show,
            NodesGone: self._gone,
            SavedFreed: self._free,
        }

    def _see(self, at: int, seen: TensorSeen) -> None:
        self.tensors[seen.id], self.values[seen.id] = seen, seen.value
        self.places[seen.id] = seen.node or seen.id
        if seen.cut is not None:
            self.cuts.setdefault(seen.id, (at, seen.cut))

    def _create(self, at: int, made: NodeCreated) -> None:
        node = self.nodes[made.node] = RecordedNode(made, at)
        args = {arg.tensor: None for arg in made.args if arg.tensor is not None}
        given = [(arg.tensor, self.values[arg.tensor]) for arg in made.args if arg.tensor in self.values]
        for edge in made.edges:
            if edge.target is None:
                continue
            self.users.setdefault(edge.target, []).append(made.node)
            if edge.target in self.nodes:
                outputs = self.nodes[edge.target].outputs
                if not args and edge.output_nr < len(outputs):
                    given.append((edge.target, outputs[edge.output_nr]))
            elif edge.target not in args and edge.target in self.values:
                given.append((edge.target, self.values[edge.target]))
        below = [(id, value) for id, value in given if id not in self.tensors or self.tensors[id].level is None]
        node.input_ids, node.inputs = [id for id, _ in below], [value for _, value in below]
        node.outputs = [seen.value for seen in made.tensors if seen.node == made.node and seen.level is None]
        for saved in made.saved:
            value = saved.value or self.values.get(saved.tensor or "")
            if value is not None:
                node.saved[saved.name] = value
        for id in self.given(made.node):
            for own in {id, self.tensors[id].base}:
                if own in self.tensors and not self.tensors[own].requires_grad:
                    self.constants.setdefault(own, []).append(made.node)

    def _write(self, at: int, event: TensorWritten) -> None:
        if is_broken(event.value) and not is_broken(self.values.get(event.tensor)):
            self.broken.setdefault(event.tensor, []).append((at, event))
        self.values[event.tensor] = event.value
        if event.node is not None:
            self.places[event.tensor] = event.node
            if (seen := self.tensors.get(event.tensor)) is not None:
                made = replace(seen, node=event.node, output_nr=event.output_nr, requires_grad=True)
                self.tensors[event.tensor] = made

    def _show(self, at: int, event: TensorShown) -> None:
        self.shown = event.tensor

    def _gone(self, at: int, event: NodesGone) -> None:
        for id in event.nodes:
            if id in self.nodes:
                self.nodes[id].gone = at

    def _free(self, at: int, event: SavedFreed) -> None:
        if event.node in self.nodes:
            self.nodes[event.node].freed = at

    # What follows from it.

    def given(self, node: str) -> list[str]:
        """Return the known tensors that a node was called with or saved."""
        made = self.nodes[node].made
        known = [*[arg.tensor for arg in made.args], *[saved.tensor for saved in made.saved]]
        return list(dict.fromkeys([id for id in known if id is not None and id in self.tensors]))

    def cuts_met(self, places: Iterable[str]) -> Iterator[tuple[Cut, str, str]]:
        """Return the cuts in front of what nodes were given, each with the tensor behind it, and the node."""
        for node in [place for place in places if place in self.nodes]:
            for id in [id for id in self.given(node) if id in self.cuts]:
                yield self.cuts[id][1], id, node

    def targets(self, place: str) -> list[str]:
        """Return where the gradients of a place go."""
        node = self.nodes.get(place)
        return [] if node is None else [edge.target for edge in node.made.edges if edge.target is not None]

    def users_of(self, place: str, output_nr: int) -> list[str]:
        """Return the nodes whose gradients go to one output of a place."""
        edge = Edge(place, output_nr)
        return [user for user in self.users.get(place, ()) if edge in self.nodes[user].made.edges]

    def sends_on(self, place: str, grads: Grads) -> list[tuple[str, Value | None]]:
        """Return what a node sent, and where to."""
        node = self.nodes.get(place)
        edges = () if node is None else node.made.edges
        return [(edge.target, grad) for edge, grad in zip(edges, grads, strict=False) if edge.target is not None]

    def source(self, place: str | None) -> SourceLine | None:
        """Return the line that created a node, if it is known."""
        node = self.nodes.get(place or "")
        return None if node is None else node.line

    def results(self, node: str) -> list[Value]:
        """Return the outputs of a node as they were when it was created; without a recording, only the shown one."""
        told = [seen.value for seen in self.nodes[node].made.tensors if seen.node == node]
        shown = self.tensors.get(self.shown or "")
        return [shown.value] if not told and shown is not None and shown.node == node else told

    def reached(self, starts: Iterable[str], without: Collection[str] = ()) -> dict[str, str | None]:
        """Return the places that gradients can reach from these, nearest first, each with the one before it."""
        found: dict[str, str | None] = {start: None for start in starts if start not in without}
        queue = deque(found)
        while queue:
            place = queue.popleft()
            for target in self.targets(place):
                if target not in found and target not in without:
                    found[target] = place
                    queue.append(target)
        return found

    def before(self, *ends: str) -> dict[str, None]:
        """Return these places, and those from which gradients reach them."""
        found = dict.fromkeys(ends)
        stack = list(found)
        while stack:
            for user in self.users.get(stack.pop(), ()):
                if user not in found:
                    found[user] = None
                    stack.append(user)
        return found

    def way(self, starts: Iterable[str], end: str) -> list[str]:
        """Return the shortest path to a place; empty if there is none."""
        return way_in(self.reached(starts), end)


def way_in(found: dict[str, str | None], end: str) -> list[str]:
    """Return the path to a place, from the place before each."""
    way = [end] if end in found else []
    while way and (before := found[way[-1]]) is not None:
        way.append(before)
    return way[::-1]
