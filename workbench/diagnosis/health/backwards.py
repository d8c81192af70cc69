"""The backward passes of a trace: what each place received and sent, and how tensors' `.grad` changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...pictures.trace.backward_records import (
    BackwardFinished,
    BackwardStarted,
    Failed,
    FailuresCaught,
    GradAccumulated,
    GradCaptured,
    GradChanged,
    NodeFinished,
    NodeStarted,
)
from ...pictures.trace.call_records import HookRan
from ...pictures.trace.facts import Root, SourceLine
from ...pictures.trace.forward_records import NodeCreated
from ...pictures.trace.schema import Record
from ...pictures.trace.values import Value
from .graph import Grads, RecordedGraph, Take
from .measures import is_broken


@dataclass(slots=True, eq=False)
class RecordedBackward:
    """A backward pass from start to end, with what places received and sent in the order in which they ran."""

    started: BackwardStarted
    event: int
    inner: bool  # whether it ran inside of another
    losses: list[Value]
    end: int | None = None
    received: dict[str, Grads] = field(default_factory=dict)
    sent: dict[str, Grads] = field(default_factory=dict)
    added: dict[str, Value | None] = field(default_factory=dict)  # leaf -> its `.grad` after that
    captured: set[str] = field(default_factory=set)
    hooks: list[HookRan] = field(default_factory=list)
    failed: Failed | None = None

    @property
    def source(self) -> SourceLine | None:
        """The line that started it."""
        return self.started.source

    @property
    def roots(self) -> tuple[Root, ...]:
        """Where it starts, with the initial gradients."""
        return self.started.roots

    @property
    def starts(self) -> list[str]:
        """The places of the roots."""
        return [root.node for root in self.started.roots]

    @property
    def targets(self) -> tuple[str, ...] | None:
        """The inputs it was restricted to, if any."""
        return self.started.targets


class Change(NamedTuple):
    """What changed a `.grad`: a backward pass, or the program."""

    event: int
    backward: RecordedBackward | None
    made: GradAccumulated | GradChanged

    @property
    def clears(self) -> bool:
        """Return True if it removed the gradient, or made it zero."""
        return isinstance(self.made, GradChanged) and self.made.clears


class RecordedBackwards(RecordedGraph):
    """A graph and the backward passes through it."""

    def __init__(self, events: Sequence[Record]) -> None:
        self.backwards: list[RecordedBackward] = []
        self.failures: list[tuple[int, Failed]] = []
        self.caught = 0  # failures, the first ones, that the program caught
        self.changes: dict[str, list[Change]] = {}  # tensor -> what was done to its `.grad`
        self._tasks: dict[str, RecordedBackward] = {}
        self._going: list[RecordedBackward] = []
        super().__init__(events)

    def _takes(self) -> dict[type[Record], Take]:
        own: dict[type[Record], Take] = {
            BackwardStarted: self._begin,
            NodeStarted: self._start,
            NodeFinished: self._finish,
            GradAccumulated: self._accumulate,
            GradCaptured: self._capture,
            GradChanged: self._change,
            HookRan: self._hook,
            BackwardFinished: self._over,
            Failed: self._fail,
            FailuresCaught: self._catch,
        }
        return super()._takes() | own

    def _create(self, at: int, made: NodeCreated) -> None:
        super()._create(at, made)
        self.nodes[made.node].inside = bool(self._going)

    def _begin(self, at: int, event: BackwardStarted) -> None:
        losses: list[Value] = []
        for root in event.roots:
            node = self.nodes.get(root.node)
            if node is not None and root.output_nr < len(node.outputs):
                losses.append(node.outputs[root.output_nr])
            elif root.node in self.values:
                losses.append(self.values[root.node])
        began = self._tasks[event.task] = RecordedBackward(event, at, bool(self._going), losses)
        self.backwards.append(began)
        self._going.append(began)

    def _start(self, at: int, event: NodeStarted) -> None:
        if event.task in self._tasks:
            self._tasks[event.task].received[event.node] = event.grads
        node = self.nodes.get(event.node)
        if node is not None:
            node.gradients = node.gradients if node.started else event.grads
            node.started.append(at)

    def _finish(self, at: int, event: NodeFinished) -> None:
        if event.task in self._tasks:
            self._tasks[event.task].sent[event.node] = event.grads
        node = self.nodes.get(event.node)
        if node is not None:
            node.sent = node.sent if node.finished else event.grads
            node.finished.append(at)

    def _accumulate(self, at: int, event: GradAccumulated) -> None:
        backward = self._tasks.get(event.task)
        if backward is not None:
            backward.added[event.tensor] = event.grad
            self.changes.setdefault(event.tensor, []).append(Change(at, backward, event))

    def _capture(self, at: int, event: GradCaptured) -> None:
        if event.task in self._tasks:
            self._tasks[event.task].captured.add(event.node)

    def _change(self, at: int, event: GradChanged) -> None:
        self.changes.setdefault(event.tensor, []).append(Change(at, None, event))

    def _hook(self, at: int, event: HookRan) -> None:
        if event.task in self._tasks:
            self._tasks[event.task].hooks.append(event)

    def _over(self, at: int, event: BackwardFinished) -> None:
        self._end(at, event.task)

    def _fail(self, at: int, event: Failed) -> None:
        self.failures.append((at, event))
        if event.task in self._tasks:
            self._tasks[event.task].failed = event
        self._end(at, event.task)

    def _catch(self, at: int, event: FailuresCaught) -> None:
        self.caught = len(self.failures)

    def _end(self, at: int, task: str | None) -> None:
        """End a backward pass, and those inside it."""
        for depth, going in enumerate(self._going):
            if going.started.task == task:
                going.end = at
                del self._going[depth:]
                return

    def broken_by(self, tensor: str, end: int | None = None) -> Change | None:
        """Return what made a `.grad` not finite, if it has been so ever since, up to an event."""
        first: Change | None = None
        for change in reversed(self.changes.get(tensor, ())):
            if end is not None and change.event >= end:
                continue
            if is_broken(change.made.grad):
                first = change
            elif not change.clears:
                break
        return first

    def backward_to(self, place: str) -> RecordedBackward | None:
        """Return the last backward pass whose graph leads to a place."""
        before = self.before(place)
        return next((each for each in reversed(self.backwards) if any(start in before for start in each.starts)), None)
