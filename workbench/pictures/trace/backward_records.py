"""The records of a backward pass, of the gradients in `.grad`, and of errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .facts import Called, Cut, Phase, Root, SourceLine
from .frame import EdgeState, Frame, Key
from .schema import Building, Changed, Known, Reached, Reading, Record, kind_of_event
from .source import Line, source
from .stacks import Stack
from .values import Value, code, format_value, gradient_said, series, shortened, value

_MESSAGE = 500  # characters of an error in a sentence: as long as those of an engine are
_MOST_SENT = 12  # gradients of a node that a sentence tells all
_FIRST_SENT = 3  # and how many of more


@kind_of_event
@dataclass(frozen=True, slots=True)
class BackwardStarted(Record):
    """A backward pass begins; with `targets`, only what is on a path to them will run."""

    task: str
    roots: tuple[Root, ...]
    targets: tuple[str, ...] | None
    keep_graph: bool
    create_graph: bool
    source: SourceLine | None

    def apply(self, frame: Frame) -> None:
        """Deliver the seeds."""
        for root in self.roots:
            if root.node not in frame.nodes:
                frame.play_part(root.node, "leaf")
        frame.begin(self.task, [root.node for root in self.roots], self.targets)
        for root in self.roots:
            key = f"{root.node}.seed{root.output_nr}"
            frame.add_edge(key, EdgeState(root.node, None, root.output_nr, "seed"))
            frame.flow(self.task, key, root.seed)
            frame.focus = Key("edge", key)
        frame.cursor = self.source or frame.cursor

    def sentence(self, frame: Frame) -> str:
        """Say where it starts and with what."""
        starts: list[str] = []
        for root in self.roots:
            starts.append(f"{frame.output(root.node, root.output_nr)} with the gradient {format_value(root.seed)}")
        own = self.create_graph and not frame.levels  # a transform records for the levels below, if there are any
        recorded = "; its operations are recorded as a graph of their own" if own else ""
        return f"Backward starts at {series(starts)}{recorded}"

    @classmethod
    def read(
        cls,
        at: Reading,
        task: int,
        roots: tuple[Any, ...],
        targets: tuple[int, ...] | None,
        keep_graph: Any,
        create_graph: Any,
        stack: Stack,
    ) -> BackwardStarted:
        """Return the record; later expressions belong to this backward pass."""
        line, ids, own = at.seen_at(stack), at.ids, at.id(task, "b")
        at.paths.begin(own)
        starts = tuple([Root(ids[node], nr, value(seed)) for node, nr, seed in roots])
        wanted = None if targets is None else tuple([ids[each] for each in targets])
        return cls(own, starts, wanted, bool(keep_graph), bool(create_graph), line)


@kind_of_event
@dataclass(frozen=True, slots=True)
class NodeStarted(Record):
    """A node (or a leaf's AccumulateGrad) is taken from the ready queue: one gradient per output."""

    task: Known
    node: Known
    grads: tuple[Value | None, ...]

    def apply(self, frame: Frame) -> None:
        """Mark it as running, and what ran before as done."""
        frame.start(self.node)
        frame.place(self.node).received = self.grads

    def sentence(self, frame: Frame) -> str:
        """Say what came in."""
        grads = series([frame.arrived(self.node, nr, each) for nr, each in enumerate(self.grads)])
        plural = "s" if len(self.grads) > 1 else ""
        article = f"the gradient{plural} " if any(each is not None for each in self.grads) else ""
        return f"{frame.introduced(self.node)} receives {article}{grads or 'no gradient'}"


@kind_of_event
@dataclass(frozen=True, slots=True)
class NodeFinished(Record):
    """A node returned: one gradient per edge."""

    task: Known
    node: Known
    grads: tuple[Value | None, ...]

    def apply(self, frame: Frame) -> None:
        """Let its gradients travel the edges."""
        for index, grad in enumerate(self.grads):
            if (key := f"{self.node}.{index}") in frame.edges:
                frame.flow(self.task, key, grad)

    def sentence(self, frame: Frame) -> str:
        """Say what went out, and where to."""
        return self.describe(frame, frame.receiver)

    def describe(self, frame: Frame, receiver: Callable[[EdgeState], str]) -> str:
        """Say the same, with other words for where it goes."""
        edges = [edge for _, edge in frame.edges_of(self.node) if edge.state == "flowing"]
        told = edges if len(edges) <= _MOST_SENT else edges[:_FIRST_SENT]
        sent = [f"{gradient_said(edge.grad)} to {receiver(edge)}" for edge in told]
        sent += [f"gradients to {len(edges) - len(told)} more"] if told is not edges else []
        return f"it sends {series(sent)}" if sent else "it sends nothing"


@kind_of_event
@dataclass(frozen=True, slots=True)
class GradAccumulated(Record):
    """A leaf's `.grad` is new."""

    task: Known
    tensor: Changed
    grad: Value | None

    def apply(self, frame: Frame) -> None:
        """Note the new gradient and the one it was added to."""
        frame.add_up(self.task, self.tensor, self.grad)

    def sentence(self, frame: Frame) -> str:
        """Say what the leaf's gradient is, and what it was before."""
        tensor = frame.tensors[self.tensor]
        slot = code(f"{tensor.name}.grad") if tensor.name else "its grad"
        if self.grad is None:
            return f"{slot} stays None"
        if tensor.grad_before is None:
            return f"{slot} becomes {gradient_said(self.grad)}"
        return f"{slot} was {gradient_said(tensor.grad_before)} and becomes {gradient_said(self.grad)}"


@kind_of_event
@dataclass(frozen=True, slots=True)
class GradChanged(Record):
    """A tensor's `.grad` was set, to None if it was cleared, or an in-place operation of this name wrote into it."""

    tensor: Changed
    grad: Value | None
    name: str
    source: Reached

    def phase(self, frame: Frame) -> Phase:
        """Return "update", unless a hook or a node's own backward does it."""
        return frame.between

    @property
    def clears(self) -> bool:
        """True if nothing is left of it."""
        return self.grad is None or self.name == "zero_"

    def apply(self, frame: Frame) -> None:
        """Give the leaf another gradient, or none."""
        tensor = frame.tensors[self.tensor]
        tensor.cleared |= tensor.grad is not None and self.grad is None
        why = "cleared since" if self.clears else f"{self.name} changed grad since" if self.name else "replaced since"
        frame.replace_grad(self.tensor, self.grad, why)
        frame.cursor = self.source or frame.cursor
        frame.focus = Key("tensor", self.tensor)

    def sentence(self, frame: Frame) -> str:
        """Say what it is now."""
        slot = frame.grad_of(self.tensor)
        if self.grad is None:
            return f"{slot} is cleared"
        if self.name == "zero_":
            return f"{slot} is cleared: zero_ makes it {format_value(self.grad)}"
        if self.name:
            return f"{self.name} writes into {slot}: now {format_value(self.grad)}"
        return f"{slot} is set to {format_value(self.grad)}"


@kind_of_event
@dataclass(frozen=True, slots=True)
class GradCaptured(Record):
    """A gradient was handed to the caller of `grad()` or `backward(inputs=...)`."""

    task: Known
    node: Known
    output_nr: int
    grad: Value | None

    def apply(self, frame: Frame) -> None:
        """Mark the place as having what it waited for."""
        frame.start(self.node)
        frame.hand_out(self.task, self.node)
        frame.handed.setdefault(self.node, {})[self.output_nr] = self.task, self.grad
        place = frame.place(self.node)
        if not place.received:
            node = frame.nodes.get(self.node)  # else it is a leaf, which has one output
            last = max(node.made.output_count - 1, *node.outputs, 0) if node else 0
            place.received = (None,) * min(self.output_nr, last) + (self.grad,)

    def sentence(self, frame: Frame) -> str:
        """Whose gradient it is."""
        what = frame.output(self.node, self.output_nr)
        return f"The gradient of {what}, {format_value(self.grad)}, is handed to the caller"


@kind_of_event
@dataclass(frozen=True, slots=True)
class BackwardFinished(Record):
    """A backward pass has ended."""

    task: str

    def apply(self, frame: Frame) -> None:
        """Stop all that runs or travels."""
        frame.finish(self.task)
        frame.focus = None

    def sentence(self, frame: Frame) -> str:
        """Say that it has ended."""
        return "Backward pass finished"

    @classmethod
    def read(cls, at: Reading, task: int) -> BackwardFinished:
        """Return the record; later expressions belong to no backward pass."""
        at.paths.end(at.ids[task])
        return cls(at.ids[task])


@kind_of_event
@dataclass(frozen=True, slots=True)
class Failed(Record):
    """An error left the engine, at a node or before there was one."""

    task: str | None
    node: str | None
    error: str
    message: str
    about: tuple[str, ...] = ()  # the tensors that were refused, where no node failed
    source: SourceLine | None = None
    number: Cut | None = None  # where a number was last read of what takes gradients, as by `item()`
    off: bool = False  # whether gradients were switched off then
    called: Called | None = None  # what the engine had called then, if that raised it

    def phase(self, frame: Frame) -> Phase:
        """Return the phase: "backward" if it came while gradients traveled."""
        return "forward" if self.task is None else "backward"

    def apply(self, frame: Frame) -> None:
        """End the backward pass."""
        frame.finish(self.task)
        if self.node is not None:
            place = frame.place(self.node)
            place.state, place.error = "error", f"{self.error}: {self.message}"
            frame.touch(frame.key(self.node))
        frame.focus = None if self.node is None else frame.key(self.node)

    def sentence(self, frame: Frame) -> str:
        """Who failed, and with which words."""
        who = f"{frame.introduced(self.node)} fails with" if self.node is not None else "The engine raises"
        return f"{who} {self.error}: {shortened(self.message, _MESSAGE)}"

    @classmethod
    def read(
        cls,
        at: Reading,
        task: int | None,
        node: int | None,
        error: str,
        message: str,
        about: tuple[int, ...] = (),
        line: Line = None,
        number: tuple[Any, ...] | None = None,
        off: bool = False,
        called: Called | None = None,
    ) -> Failed:
        """Return the record, with which the backward pass ends."""
        own = None if task is None else at.id(task, "b")
        at.paths.end(own)
        known = tuple([at.ids[each] for each in about if each in at.ids])
        read_last = None if number is None else at.cut(*number)
        return cls(own, at.place(node), error, message, known, source(line), read_last, off, called)


@kind_of_event
@dataclass(frozen=True, slots=True)
class FailuresCaught(Building):
    """The program caught the errors before this: they did not end the recording's block."""

    @property
    def quiet(self) -> bool:
        """True if a player doesn't stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """Leave the graph as it is."""
