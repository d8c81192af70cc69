"""The graph of a trace by what leads to what, and each backward that ran through it: what came in and what was sent."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from ..trace.call_records import HookRan
from ..trace.facts import Cut, SourceLine, TensorSeen
from ..trace.records import (
    BackwardStarted,
    Failed,
    GradAccumulated,
    GradCaptured,
    GradChanged,
    NodeCreated,
    NodeFinished,
    NodesGone,
    NodeStarted,
    SavedFreed,
    TensorShown,
    TensorWritten,
)
from ..trace.schema import Record
from ..trace.values import Value

Grads = tuple[Value | None, ...]


@dataclass(slots=True)
class Run:
    """A backward: what each place received and sent, in the order in which they ran, and what became of leaves."""

    started: BackwardStarted
    received: dict[str, Grads] = field(default_factory=dict)
    sent: dict[str, Grads] = field(default_factory=dict)
    added: dict[str, Value | None] = field(default_factory=dict)  # leaf -> its `.grad` after that
    captured: dict[str, None] = field(default_factory=dict)
    hooks: list[HookRan] = field(default_factory=list)
    failed: Failed | None = None

    @property
    def roots(self) -> list[str]:
        """Where it starts."""
        return [root.node for root in self.started.roots]


Change = tuple[Run | None, GradAccumulated | GradChanged]  # what made a `.grad` another: a backward, or the program


class RecordedGraph:
    """Nodes and tensors by their ids, as they were told of, and the backwards; a place is a node or a leaf."""

    def __init__(self, events: Iterable[Record]) -> None:
        self.nodes: dict[str, NodeCreated] = {}
        self.tensors: dict[str, TensorSeen] = {}  # as they were last seen
        self.places: dict[str, tuple[str, int]] = {}  # tensor -> the node and output it comes from, or itself
        self.cuts: dict[str, Cut] = {}  # tensor -> where the way of its gradient ends
        self.users: dict[str, list[str]] = {}  # place -> the nodes whose gradients go there
        self.constant_at: dict[str, str] = {}  # tensor -> the first node that used it while it took no gradient
        self.runs: list[Run] = []
        self.changes: dict[str, list[Change]] = {}  # tensor -> what was done to its `.grad`
        self.freed: set[str] = set()
        self.gone: set[str] = set()
        self.shown: str | None = None  # the tensor that the user asked to see
        self.steps: list[tuple[int, str]] = []  # by the number of runs before: which optimiser wrote what
        self._open: dict[str, Run] = {}
        for event in events:
            self._note(event)

    def _note(self, event: Record) -> None:
        for seen in getattr(event, "tensors", ()):
            self._see(seen)
        if isinstance(event, NodeCreated):
            self._make(event)
        elif isinstance(event, BackwardStarted):
            self._open[event.task] = run = Run(event)
            self.runs.append(run)
        elif isinstance(event, TensorWritten):
            if event.node is not None:
                self.places[event.tensor] = event.node, event.output_nr
            if event.optimizer is not None:
                self.steps.append((len(self.runs), event.tensor))
        elif isinstance(event, GradChanged):
            self.changes.setdefault(event.tensor, []).append((None, event))
        elif isinstance(event, SavedFreed):
            self.freed.add(event.node)
        elif isinstance(event, NodesGone):
            self.gone.update(event.nodes)
        elif isinstance(event, TensorShown):
            self.shown = event.tensor
        else:
            self._follow(event)

    def _follow(self, event: Record) -> None:
        """Note what a backward that goes on does."""
        run = self._open.get(getattr(event, "task", None) or "")
        if run is None:
            return
        if isinstance(event, NodeStarted):
            run.received[event.node] = event.grads
        elif isinstance(event, NodeFinished):
            run.sent[event.node] = event.grads
        elif isinstance(event, GradAccumulated):
            run.added[event.tensor] = event.grad
            self.changes.setdefault(event.tensor, []).append((run, event))
        elif isinstance(event, GradCaptured):
            run.captured[event.node] = None
        elif isinstance(event, HookRan):
            run.hooks.append(event)
        elif isinstance(event, Failed):
            run.failed = event

    def _see(self, seen: TensorSeen) -> None:
        self.tensors[seen.id] = seen
        self.places[seen.id] = (seen.id, 0) if seen.node is None else (seen.node, seen.output_nr)
        if seen.cut is not None:
            self.cuts[seen.id] = seen.cut

    def _make(self, made: NodeCreated) -> None:
        self.nodes[made.node] = made
        for edge in made.edges:
            if edge.target is not None:
                self.users.setdefault(edge.target, []).append(made.node)
        for id in self.given(made.node):
            if not self.tensors[id].requires_grad:
                self.constant_at.setdefault(id, made.node)

    def given(self, node: str) -> list[str]:
        """The tensors that a node was called with or has saved, as far as they are known."""
        made = self.nodes[node]
        known = [*[arg.tensor for arg in made.args], *[saved.tensor for saved in made.saved]]
        return list(dict.fromkeys([id for id in known if id is not None and id in self.tensors]))

    def targets(self, place: str) -> list[str]:
        """Where the gradients of a place go."""
        made = self.nodes.get(place)
        return [] if made is None else [edge.target for edge in made.edges if edge.target is not None]

    def source(self, place: str | None) -> SourceLine | None:
        """The line that made a node, if that is known."""
        made = self.nodes.get(place or "")
        return None if made is None else made.source

    def results(self, node: str) -> list[TensorSeen]:
        """The outputs of a node as they were when it was made; of a graph that nobody recorded the shown one alone."""
        told = [seen for seen in self.nodes[node].tensors if seen.node == node]
        shown = self.tensors.get(self.shown or "")
        return [shown] if not told and shown is not None and shown.node == node else told

    def reached(self, starts: Iterable[str], without: Collection[str] = ()) -> dict[str, str | None]:
        """The places that gradients can go to from these, each with the one before it, the nearest first."""
        found: dict[str, str | None] = {start: None for start in starts if start not in without}
        queue = deque(found)
        while queue:
            place = queue.popleft()
            for target in self.targets(place):
                if target not in found and target not in without:
                    found[target] = place
                    queue.append(target)
        return found

    def before(self, ends: Iterable[str]) -> set[str]:
        """The places that lead to these, and these."""
        found = set(ends)
        stack = list(found)
        while stack:
            for user in self.users.get(stack.pop(), ()):
                if user not in found:
                    found.add(user)
                    stack.append(user)
        return found

    def way(self, starts: Iterable[str], end: str) -> list[str]:
        """The shortest way to a place; empty if there is none."""
        return way_in(self.reached(starts), end)

    def run_of(self, place: str) -> Run | None:
        """The last backward whose graph leads to a place."""
        return next((run for run in reversed(self.runs) if place in self.reached(run.roots)), None)


def way_in(found: dict[str, str | None], end: str) -> list[str]:
    """The way to a place by the one that is before each."""
    way = [end] if end in found else []
    while way and (before := found[way[-1]]) is not None:
        way.append(before)
    return way[::-1]


def is_zero(value: Value | None) -> bool:
    """Whether it is known that all is 0, as where there is no gradient."""
    return value is None or (value.is_known and not value.nonfinite and value.norm == 0 and 0 not in value.shape)


def is_broken(value: Value | None) -> bool:
    """Whether a value is not finite."""
    return value is not None and value.nonfinite > 0


def sends_on(graph: RecordedGraph, place: str, grads: Sequence[Value | None]) -> list[tuple[str, Value | None]]:
    """What a node has sent, and where to."""
    made = graph.nodes.get(place)
    edges = () if made is None else made.edges
    return [(edge.target, grad) for edge, grad in zip(edges, grads, strict=False) if edge.target is not None]
