"""A trace read once: its operations in order with what they were given, its gradients, and its writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...pictures.trace.backward_records import (
    BackwardStarted,
    GradAccumulated,
    GradCaptured,
    GradChanged,
    NodeFinished,
    NodeStarted,
)
from ...pictures.trace.call_records import HookRan
from ...pictures.trace.facts import Edge, SourceLine
from ...pictures.trace.forward_records import NodeCreated, OperationRan
from ...pictures.trace.frame import Frame
from ...pictures.trace.gap_records import EventsLetGo
from ...pictures.trace.rounds import rounds_of
from ...pictures.trace.tensor_records import TensorWritten
from ...pictures.trace.timeline import Timeline
from ...pictures.trace.values import Value

Grads = tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class Operand:
    """What an operation was given: the node or tensor it is from, whether that is a leaf or data, and its value."""

    id: str
    is_data: bool
    value: Value | None


@dataclass(frozen=True, slots=True)
class RunMoment:
    """Something that happened, at this event: an "operation", a "write" into a tensor, or a gradient.

    `count` says how often the same has happened at this place before.
    """

    kind: str
    id: str
    count: int
    at: int


@dataclass(frozen=True, slots=True)
class Write:
    """A write into a tensor that no node records, or into a `.grad`."""

    value: Value
    source: SourceLine | None
    who: str
    at: int


@dataclass
class RecordedRun:
    """One of two traces."""

    trace: Timeline
    frame: Frame = field(default_factory=lambda: Frame(follows=False))
    operations: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)  # of an operation -> its kind
    moments: list[RunMoment] = field(default_factory=list)
    inputs: dict[str, list[Operand]] = field(default_factory=dict)
    outputs: dict[str, dict[int, Value]] = field(default_factory=dict)
    users: dict[str, list[str]] = field(default_factory=dict)  # place -> nodes whose gradients go there
    received: dict[str, list[Grads]] = field(default_factory=dict)
    sent: dict[str, list[Grads]] = field(default_factory=dict)
    grads: dict[str, list[Value | None]] = field(default_factory=dict)  # leaf -> its .grad after each accumulation
    captured: dict[str, list[tuple[int, Value | None]]] = field(default_factory=dict)
    seeds: dict[str, list[tuple[int, Value | None]]] = field(default_factory=dict)
    writes: dict[str, list[Write]] = field(default_factory=dict)
    sets: dict[str, list[Write]] = field(default_factory=dict)  # leaf -> what was written into its .grad
    clears: dict[str, int] = field(default_factory=dict)
    hooks: dict[str, list[HookRan]] = field(default_factory=dict)
    dtypes: set[str] = field(default_factory=set)  # of all results
    dropped: int = 0

    def __post_init__(self) -> None:
        for at, event in enumerate(self.trace.events):
            event.apply(self.frame)
            self.frame.touched.clear()
            take = _TAKES.get(type(event))
            if take is not None:
                take(self, event, at)
        for id, node in self.frame.nodes.items():
            self.outputs[id] = {nr: value for nr, (_, value) in node.outputs.items()}
        self.dtypes = {value.dtype for rows in self.outputs.values() for value in rows.values()}
        self._rounds = rounds_of(self.trace.events)

    def _note(self, kind: str, id: str, into: dict[str, list[Any]], what: object, at: int) -> None:
        rows = into.setdefault(id, [])
        self.moments.append(RunMoment(kind, id, len(rows), at))
        rows.append(what)

    def _write(self, event: TensorWritten, at: int) -> None:
        if event.node is None:
            told = Write(event.value, event.source, event.optimizer or event.name, at)
            self._note("write", event.tensor, self.writes, told, at)

    def _grad_changed(self, event: GradChanged, at: int) -> None:
        if event.clears:
            self.clears[event.tensor] = self.clears.get(event.tensor, 0) + 1
        elif event.grad is not None:
            told = Write(event.grad, event.source, event.name or "an assignment", at)
            self._note("set", event.tensor, self.sets, told, at)

    def _begun(self, event: BackwardStarted, at: int) -> None:
        self.moments.append(RunMoment("begin", event.task, 0, at))
        for root in event.roots:
            self._note("seed", root.node, self.seeds, (root.output_nr, root.seed), at)

    def _let_go(self, event: EventsLetGo, at: int) -> None:
        self.dropped = event.count

    def _node(self, event: NodeCreated, at: int) -> None:
        known, id = self.frame.tensors, event.node
        found = [self._input(arg.tensor) for arg in event.args if arg.tensor is not None]
        there = {each.id for each in found}
        for edge in event.edges:
            if edge.target is not None:
                self.users.setdefault(edge.target, []).append(id)
                if edge.target in there:
                    continue
                if edge.target in known:
                    found.append(Operand(edge.target, True, known[edge.target].value))
                elif edge.target in self.frame.nodes:  # not every engine tells what an operation was given
                    _, value = self.frame.nodes[edge.target].outputs.get(edge.output_nr, (None, None))
                    found.append(Operand(edge.target, False, value))
        self.inputs[id] = found
        inside = "in backward: " if self.frame.nodes[id].during is not None else ""
        self._add(id, inside + event.name, at)

    def _operation(self, event: OperationRan, at: int) -> None:
        known, id = self.frame.tensors, event.op
        self.inputs[id] = [self._input(arg.tensor) for arg in event.args if arg.tensor is not None]
        self.outputs[id] = {nr: known[each].value for nr, each in enumerate(event.outputs)}
        self._add(id, event.name, at)

    def _add(self, id: str, name: str, at: int) -> None:
        self.names[id] = name
        self.operations.append(id)
        self.moments.append(RunMoment("operation", id, 0, at))

    def _input(self, tensor: str) -> Operand:
        state = self.frame.tensors[tensor]
        maker = state.node or self.frame.results.get(tensor)
        return Operand(maker or tensor, maker is None, state.value)

    def made(self, id: str) -> NodeCreated | OperationRan:
        """Return the record of an operation."""
        return self.frame.nodes[id].made if id in self.frame.nodes else self.frame.operations[id].made

    def edges(self, id: str) -> tuple[Edge, ...]:
        """Return where the gradients of a node go."""
        return self.frame.nodes[id].made.edges if id in self.frame.nodes else ()

    def source(self, id: str) -> SourceLine | None:
        """Return the line of an operation, if it is one and its line is known."""
        is_operation = id in self.frame.nodes or id in self.frame.operations
        return self.made(id).source if is_operation else None

    @property
    def steps(self) -> int:
        """Return the number of training steps."""
        return sum(each.number > 0 for each in self._rounds)

    def step_of(self, at: int) -> str:
        """Return which training step an event is in: `step 3`; empty if it is in none."""
        return next((each.name for each in self._rounds if each.begin <= at < each.end and each.number), "")

    def name_of(self, tensor: str) -> str | None:
        """Return the variable that holds a tensor."""
        return self.frame.tensors[tensor].name if tensor in self.frame.tensors else None


# How a run takes each kind of record.
_TAKES: dict[type, Callable[[RecordedRun, Any, int], None]] = {
    NodeCreated: RecordedRun._node,
    OperationRan: RecordedRun._operation,
    TensorWritten: RecordedRun._write,
    GradChanged: RecordedRun._grad_changed,
    BackwardStarted: RecordedRun._begun,
    EventsLetGo: RecordedRun._let_go,
    NodeStarted: lambda run, event, at: run._note("received", event.node, run.received, event.grads, at),
    NodeFinished: lambda run, event, at: run._note("sent", event.node, run.sent, event.grads, at),
    GradAccumulated: lambda run, event, at: run._note("grad", event.tensor, run.grads, event.grad, at),
    GradCaptured: lambda run, event, at: run._note(
        "captured", event.node, run.captured, (event.output_nr, event.grad), at
    ),
    HookRan: lambda run, event, at: run._note("hook", event.node, run.hooks, event, at),
}
