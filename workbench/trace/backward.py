"""What happens while gradients travel: a backward starts, nodes run, leaves fill up, something fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .facts import Phase, Record, Root, SourceLine
from .frame import Frame
from .keeping import is_slot
from .states import EdgeState
from .values import Value, said, series


@dataclass(frozen=True, slots=True)
class BackwardStarted(Record):
    """A backward begins; with `targets`, only what lies on a way to them will run."""

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
            frame.add_edge(key, EdgeState(root.node, None, root.output_nr))
            frame.flow(self.task, key, root.seed)
            frame.focus = key
        frame.cursor = self.source or frame.cursor

    def sentence(self, frame: Frame) -> str:
        """Where it starts and with what."""
        starts = []
        for root in self.roots:
            starts.append(f"{frame.output(root.node, root.output_nr)} with the gradient {said(root.seed)}")
        own = self.create_graph and not frame.levels  # a transform records for the levels below, if there are any
        recorded = "; what it computes is recorded as a graph of its own" if own else ""
        return f"Backward starts at {series(starts)}{recorded}"


@dataclass(frozen=True, slots=True)
class NodeStarted(Record):
    """A node (or a leaf's AccumulateGrad) is taken from the ready queue: one gradient per output."""

    task: str
    node: str
    grads: tuple[Value | None, ...]

    def apply(self, frame: Frame) -> None:
        """It runs, and what ran before is done."""
        frame.start(self.node)
        frame.place(self.node).received = self.grads

    def sentence(self, frame: Frame) -> str:
        """What came in."""
        grads = series([frame.arrived(self.node, nr, each) for nr, each in enumerate(self.grads)])
        plural = "s" if len(self.grads) > 1 else ""
        article = f"the gradient{plural} " if any(each is not None for each in self.grads) else ""
        return f"{frame.told(self.node)} receives {article}{grads or 'no gradient'}"


@dataclass(frozen=True, slots=True)
class NodeFinished(Record):
    """A node returned: one gradient per edge."""

    task: str
    node: str
    grads: tuple[Value | None, ...]

    def apply(self, frame: Frame) -> None:
        """Its gradients travel the edges."""
        for index, grad in enumerate(self.grads):
            if (key := f"{self.node}.{index}") in frame.edges:
                frame.flow(self.task, key, grad)

    def sentence(self, frame: Frame) -> str:
        """What went out, and where to."""
        return self.told(frame, frame.receiver)

    def told(self, frame: Frame, receiver: Callable[[EdgeState], str]) -> str:
        """The same in other words for where it goes to."""
        edges = [edge for _, edge in frame.edges_of(self.node) if edge.state == "flowing"]
        sent = [f"{said(edge.grad)} to {receiver(edge)}" for edge in edges]
        return f"it sends {series(sent)}" if sent else "it sends nothing on"


@dataclass(frozen=True, slots=True)
class SavedFreed(Record):
    """What a node had saved was let go."""

    node: str

    def apply(self, frame: Frame) -> None:
        """Its saved tensors are gone."""
        inner = frame.nodes[self.node].made.runs
        for node in (self.node, *[inner] * (inner is not None)):
            frame.nodes[node].freed = True
            frame.touch(node)

    def sentence(self, frame: Frame) -> str:
        """That it is gone, or the slots that a checkpoint had left in its place."""
        saved = frame.nodes[self.node].made.saved
        if saved and all(map(is_slot, saved)):
            return f"its slot{'s are' if len(saved) > 1 else ' is'} freed"
        return "what it had saved is freed"


@dataclass(frozen=True, slots=True)
class GradAccumulated(Record):
    """A leaf's `.grad` is new."""

    task: str
    tensor: str
    grad: Value | None

    def apply(self, frame: Frame) -> None:
        """Note the new gradient and the one it was added to."""
        frame.add_up(self.task, self.tensor, self.grad)

    def sentence(self, frame: Frame) -> str:
        """The leaf's gradient, and what it was before."""
        tensor = frame.tensors[self.tensor]
        slot = f"{tensor.name}.grad" if tensor.name else "its grad"
        if self.grad is None:
            return f"{slot} stays None"
        if tensor.grad_before is None:
            return f"{slot} becomes {said(self.grad)}"
        return f"{slot} was {said(tensor.grad_before)} and becomes {said(self.grad)}"


@dataclass(frozen=True, slots=True)
class GradChanged(Record):
    """A tensor's `.grad` was set, to None if it was cleared, or an in-place operation of this name wrote into it."""

    tensor: str
    grad: Value | None
    name: str
    source: SourceLine | None

    def phase(self, frame: Frame) -> Phase:
        """An update, unless a hook or a node's own backward does it."""
        return frame.between

    @property
    def clears(self) -> bool:
        """Whether nothing is left of it."""
        return self.grad is None or self.name == "zero_"

    def apply(self, frame: Frame) -> None:
        """The leaf has another gradient, or none."""
        tensor = frame.tensors[self.tensor]
        tensor.cleared |= tensor.grad is not None and self.grad is None
        why = "cleared since" if self.clears else f"{self.name} changed grad since" if self.name else "replaced since"
        frame.replace_grad(self.tensor, self.grad, why)
        frame.cursor = self.source or frame.cursor
        frame.focus = self.tensor

    def sentence(self, frame: Frame) -> str:
        """What it is now."""
        slot = f"{frame.called(self.tensor)}.grad"
        if self.grad is None:
            return f"{slot} is cleared"
        if self.name == "zero_":
            return f"{slot} is cleared: zero_ makes it {said(self.grad)}"
        if self.name:
            return f"{self.name} writes into {slot}: now {said(self.grad)}"
        return f"{slot} is set to {said(self.grad)}"


@dataclass(frozen=True, slots=True)
class GradCaptured(Record):
    """A gradient was handed to the caller of `grad()` or `backward(inputs=...)`."""

    task: str
    node: str
    output_nr: int
    grad: Value | None

    def apply(self, frame: Frame) -> None:
        """The place has what it was waiting for."""
        frame.start(self.node)
        frame.hand_out(self.task, self.node)
        place = frame.place(self.node)
        if not place.received:
            place.received = (None,) * self.output_nr + (self.grad,)

    def sentence(self, frame: Frame) -> str:
        """Whose gradient it is."""
        what = frame.output(self.node, self.output_nr)
        return f"The gradient of {what}, {said(self.grad)}, is handed to the caller"


@dataclass(frozen=True, slots=True)
class BackwardFinished(Record):
    """A backward is over."""

    task: str

    def apply(self, frame: Frame) -> None:
        """Nothing runs or travels any more."""
        frame.finish(self.task)
        frame.focus = None

    def sentence(self, frame: Frame) -> str:
        """That it is over."""
        return "The backward pass is over"


@dataclass(frozen=True, slots=True)
class Failed(Record):
    """An error left the engine, at a node or before there was one."""

    task: str | None
    node: str | None
    error: str
    message: str

    def phase(self, frame: Frame) -> Phase:
        """Whether it came while gradients travelled."""
        return "forward" if self.task is None else "backward"

    def apply(self, frame: Frame) -> None:
        """The backward ends here."""
        frame.finish(self.task)
        if self.node is not None:
            place = frame.place(self.node)
            place.state, place.error = "error", f"{self.error}: {self.message}"
            frame.touch(self.node)
        frame.focus = self.node

    def sentence(self, frame: Frame) -> str:
        """Who failed, and with which words."""
        who = f"{frame.told(self.node)} fails with" if self.node is not None else "An error stops the work:"
        return f"{who} {self.error}: {self.message}"
