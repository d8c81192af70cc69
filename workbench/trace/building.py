"""What happens to the graph while it is built: nodes join it, tensors are found, shown or written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from .facts import Argument, Attribute, Building, Code, Edge, Part, Phase, Saved, SourceLine, TensorSeen
from .frame import Frame
from .keeping import as_kept, tensor_of
from .states import EdgeState, NodeState
from .values import Value, said, series

_NAMED = 8  # nodes that a sentence names
_LONGEST = 40  # characters of an expression in a sentence


@dataclass(frozen=True, slots=True)
class NodeCreated(Building):
    """A node joined the graph; `found` if it was there before anybody listened, its arguments unknown.

    A found one says its `output_count`: not all outputs may be known. A custom one is given zeros where no gradient
    arrives for one of the outputs `zeros`.

    One that stands for a write through a view `runs` the node that recorded it, in its stead; it was not found then.

    One that computes with tangents tells the level that is `pushing` them, or "dual". What was made inside
    `with scope("a"), scope("b"):` has the scope "a/b". Its `path` are the parts of the program that it was made in, the
    outermost first; the last is the expression.
    """

    node: str
    name: str
    custom: bool
    found: bool
    edges: tuple[Edge, ...]
    args: tuple[Argument, ...]
    tensors: tuple[TensorSeen, ...]
    saved: tuple[Saved, ...]
    code: tuple[Code, ...]
    source: SourceLine | None
    pushing: str | None = None
    attributes: tuple[Attribute, ...] = ()
    scope: str | None = None
    output_count: int = 1
    runs: str | None = None
    zeros: tuple[int, ...] = ()
    path: tuple[Part, ...] = ()

    @property
    def quiet(self) -> bool:
        """Whether a player does not stop for it."""
        return self.found

    @property
    def operation(self) -> str:
        """What the node is the backward of: `Square` for SquareBackward, `mul` for MulBackward0."""
        return _operation(self.name, self.custom)

    @property
    def words(self) -> tuple[str, ...]:
        """What it may be told by, the shortest first: its name, with the user's expression, with its place."""
        text = self.path[-1].title if self.path and self.path[-1].kind == "expression" else ""
        if not text:
            return (self.name,)
        told = f"`{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}`"
        rounds = [part.title for part in self.path if part.kind == "round"][-1:]
        placed = " in ".join([told, *[where for where in (self.scope, *rounds) if where]])
        return tuple(dict.fromkeys([self.name, told, placed, f"{self.name} of {placed}"]))

    def apply(self, frame: Frame) -> None:
        """Add the node, its tensors and its edges, in the order of its arguments."""
        node = frame.nodes[self.node] = NodeState(made=self, during=None if self.found else frame.working)
        frame.count_words(self)
        for seen in self.tensors:
            frame.see(seen)
        frame.touch(self.node)
        known, given = frame.tensors, {arg.tensor for arg in self.args}
        node.given = tuple([None if arg.tensor is None else known[arg.tensor].value for arg in self.args])
        kept = []
        for saved in self.saved:
            told = saved.value is not None or saved.tensor is None
            kept.append(saved.value if told else known[saved.tensor].value)
            if saved.tensor is not None:
                inner = bool(self.args) and saved.tensor not in given
                frame.hold(self.node, saved.tensor, saved.version, inner)
        node.saved = tuple(kept)
        if self.runs is not None:
            frame.nodes[self.runs].run_by = self.node
        waiting = {index: edge for index, edge in enumerate(self.edges) if edge.target is not None}
        leading: dict[str | None, list[int]] = {}  # to each place, the last edge first
        for index, edge in reversed(waiting.items()):
            leading.setdefault(edge.target, []).append(index)
        for position, arg in enumerate(self.args):
            if arg.tensor is None:
                continue
            tensor = known[arg.tensor]
            maker = tensor.node or tensor.id
            if leading.get(maker) and tensor.requires_grad:
                index = leading[maker].pop()
                self._connect(frame, index, waiting.pop(index))
            elif not tensor.requires_grad:
                if tensor.node is None:
                    frame.play_part(tensor.id, "constant")
                constant = EdgeState(maker, self.node, tensor.output_nr, differentiable=False)
                frame.add_edge(f"{self.node}.c{position}", constant)
        for index, edge in waiting.items():
            self._connect(frame, index, edge)
        frame.focus = self.node
        frame.cursor = self.source or frame.cursor

    def _connect(self, frame: Frame, index: int, edge: Edge) -> None:
        assert edge.target is not None
        if edge.target not in frame.nodes:
            frame.play_part(edge.target, "leaf")
        frame.add_edge(f"{self.node}.{index}", EdgeState(edge.target, self.node, edge.output_nr))

    def sentence(self, frame: Frame) -> str:
        """What was computed from what, and what is kept for backward."""
        if self.found:
            return ""
        made = [seen for seen in self.tensors if seen.node == self.node]
        results = series([f"{seen.name} = " * bool(seen.name) + said(seen.value) for seen in made])
        known = [frame.variable(tensor_of(saved)) or frame.viewed(tensor_of(saved)) for saved in self.saved]
        names = [as_kept(saved, name or saved.name) for saved, name in zip(self.saved, known, strict=True)]
        kept = series(list(dict.fromkeys(names)))
        gives = f"{frame.call(self.operation, self.args)} gives {results or 'its result'}"
        level = next((frame.levels[seen.level].number for seen in made if seen.level is not None), None)
        graph = "the graph" if level is None else f"the graph of level {level}"
        return f"{gives}; {self.name} joins {graph} and keeps {kept or 'nothing'} for backward"


@cache
def _operation(name: str, custom: bool) -> str:
    if custom:
        return re.sub("(?<=.)(Generated)?Backward$", "", name)
    words = re.findall("[A-Z][a-z0-9]*", re.sub(r"Backward(s|\d*)$", "", name))
    return "_".join(words).lower() or name


@dataclass(frozen=True, slots=True)
class NodesGone(Building):
    """Nodes that nothing holds any more, and with them what they had saved: a variable had another value, say."""

    nodes: tuple[str, ...]

    @property
    def quiet(self) -> bool:
        """Whether a player does not stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """They are no part of any graph."""
        for node in self.nodes:
            frame.nodes[node].gone = True
            frame.touch(node)

    def sentence(self, frame: Frame) -> str:
        """How many they are, or which."""
        if len(self.nodes) < 2:
            return "" if not self.nodes else f"{frame.told(self.nodes[0])} is gone, as nothing holds it any more"
        return f"{len(self.nodes):,} nodes are gone, as nothing holds them any more"


@dataclass(frozen=True, slots=True)
class EventsLetGo(Building):
    """The first event of a recording of only the last ones: so many came before it."""

    count: int

    @property
    def quiet(self) -> bool:
        """Whether a player does not stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """Nothing of them is known."""

    def sentence(self, frame: Frame) -> str:
        """How many."""
        return f"{self.count:,} earlier event{' was' if self.count == 1 else 's were'} let go"


@dataclass(frozen=True, slots=True)
class TensorsFound(Building):
    """Tensors that were there before anybody listened, held by the user's variables."""

    tensors: tuple[TensorSeen, ...]

    @property
    def quiet(self) -> bool:
        """Whether a player does not stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """Note them as they are."""
        for seen in self.tensors:
            frame.see(seen)


@dataclass(frozen=True, slots=True)
class TensorShown(Building):
    """The user asked to see the graph of this tensor."""

    tensor: str
    source: SourceLine | None

    def apply(self, frame: Frame) -> None:
        """A tensor without a node is the whole graph."""
        tensor = frame.tensors[self.tensor]
        if tensor.node is None:
            frame.play_part(self.tensor, "leaf" if tensor.requires_grad else "constant")
        frame.focus = tensor.node or self.tensor
        frame.cursor = self.source or frame.cursor

    def sentence(self, frame: Frame) -> str:
        """What is shown."""
        tensor = frame.tensors[self.tensor]
        if tensor.node is None:
            kind = "a leaf: gradients end here" if tensor.requires_grad else "a constant: it gets no gradient"
            return f"{tensor.name or 'This tensor'} = {said(tensor.value)} is {kind}"
        named = f"{tensor.name} = " if tensor.name else ""
        return f"The graph that made {named}{said(tensor.value)}, from the leaves down"


@dataclass(frozen=True, slots=True)
class TensorWritten(Building):
    """An in-place operation wrote into a tensor; through a view, its base may come from another node: `slices`."""

    tensor: str
    name: str
    version: int
    value: Value
    node: str | None
    output_nr: int
    source: SourceLine | None = None
    slices: str | None = None

    def phase(self, frame: Frame) -> Phase:
        """An update, if it writes unrecorded into a leaf that a backward can have given a gradient."""
        owner = frame.tensors[frame.owner(self.tensor)]
        leaf = owner.node is None and owner.requires_grad
        return frame.between if self.node is None and leaf else Building.phase(self, frame)

    def apply(self, frame: Frame) -> None:
        """The tensor has a new value and version, and may have come from another node by that.

        What shares its memory has the same version.
        """
        tensor = frame.tensors[self.tensor]
        tensor.value = self.value
        frame.count_write(self.tensor, self.version)
        frame.cursor = self.source or frame.cursor
        if self.node is not None and self.node != tensor.node:
            tensor.node, tensor.output_nr, tensor.requires_grad = self.node, self.output_nr, True
            frame.nodes[self.node].outputs[self.output_nr] = (self.tensor, self.value)
            frame.touch(self.node)
        frame.focus = self.slices or self.tensor

    def sentence(self, frame: Frame) -> str:
        """What it is now, and which nodes had saved what it was."""
        what = frame.called(self.tensor)
        written = f"{self.name} writes into {what}: now {said(self.value)}, version {self.version}"
        if late := frame.stale_holders(self.tensor):
            few = len(late) <= _NAMED
            who = series([frame.told(node) for node in late]) if few else f"{len(late):,} nodes"
            written += f"; but {who} had saved it before that"
        if self.slices is not None:
            written += f"; {frame.output(self.slices, 0)} now comes from {frame.told(self.slices)}"
        return written
