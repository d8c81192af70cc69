"""The records of one tensor: it was shown, or an in-place operation wrote to it."""

from __future__ import annotations

from dataclasses import dataclass

from .facts import Phase
from .frame import Frame, Key
from .schema import Building, Changed, Known, Located, Place, Reached, kind_of_event
from .values import Value, code, format_value, series

DATA = "data"  # what gives a tensor other memory by `w.data = ...`
UNREPORTED = "other code"  # what writes into memory where no engine reported the write
_NAMED = 8  # nodes that a sentence names


@kind_of_event
@dataclass(frozen=True, slots=True)
class TensorShown(Building):
    """The user asked to see the graph of this tensor."""

    tensor: Known
    source: Located

    def apply(self, frame: Frame) -> None:
        """Apply the event: a tensor without a node is the whole graph."""
        tensor = frame.tensors[self.tensor]
        if tensor.node is None:
            frame.play_part(self.tensor, "leaf" if tensor.requires_grad else "constant")
        frame.focus = frame.key(tensor.node or self.tensor)
        frame.cursor = self.source or frame.cursor

    def sentence(self, frame: Frame) -> str:
        """Say what is shown."""
        tensor = frame.tensors[self.tensor]
        if tensor.node is None:
            kind = "a leaf: gradients end here" if tensor.requires_grad else "a constant: it gets no gradient"
            return f"{code(tensor.name) if tensor.name else 'This tensor'} = {format_value(tensor.value)} is {kind}"
        named = f"{code(tensor.name)} = " if tensor.name else ""
        return f"The graph of {named}{format_value(tensor.value)}, from the leaves down"


@kind_of_event
@dataclass(frozen=True, slots=True)
class TensorWritten(Building):
    """An in-place operation wrote to a tensor; through a view, its base may come from another node: `slices`.

    For a weight that isn't stored completely, `moved` is the norm of its change so far in an optimizer's step.
    """

    tensor: Changed
    name: str
    version: int
    value: Value
    node: Place
    output_nr: int
    source: Reached = None
    slices: Place = None
    optimizer: str | None = None  # whose step this is a part of
    moved: float | None = None

    @property
    def writes(self) -> str:
        """`SGD changes`, or `mul_ writes into`: what does it."""
        return f"{self.name} writes into" if self.optimizer is None else f"{self.optimizer} changes"

    def target(self, frame: Frame) -> str:
        """Return what it writes into by the name from before: `mul_` writes into the result of exp."""
        if frame.variable(self.tensor) is None and self.node is not None and self.name.endswith("_"):
            given = [arg.tensor for arg in frame.nodes[self.node].made.args[:1]]
            if given and given[0] is not None:
                return frame.describe(given[0])
        return frame.describe(self.tensor)

    def phase(self, frame: Frame) -> Phase:
        """Return "update" if it writes unrecorded into a leaf that a backward pass may have given a gradient."""
        owner = frame.tensors[frame.owner(self.tensor)]
        leaf = owner.node is None and owner.requires_grad
        return frame.between if self.node is None and leaf else Building.phase(self, frame)

    def apply(self, frame: Frame) -> None:
        """Give the tensor its new value and version, and perhaps another origin.

        What shares its memory has the same version.
        """
        tensor = frame.tensors[self.tensor]
        tensor.value = self.value
        frame.count_write(self.tensor, self.version)
        frame.cursor = self.source or frame.cursor
        if self.node is not None and self.node != tensor.node:
            tensor.node, tensor.output_nr, tensor.requires_grad = self.node, self.output_nr, True
            frame.nodes[self.node].outputs[self.output_nr] = (self.tensor, self.value)
            frame.touch(Key("node", self.node))
        frame.focus = frame.key(self.slices or self.tensor)

    def sentence(self, frame: Frame) -> str:
        """Say what it is now, and which nodes had saved its earlier value."""
        what = self.target(frame)
        written = f"{self.writes} {what}: now {format_value(self.value)}, version {self.version}"
        if late := frame.stale_holders(self.tensor):
            few = len(late) <= _NAMED
            who = series([frame.describe(node) for node in late]) if few else f"{len(late):,} nodes"
            written += f"; but {who} saved it before that"
        if self.slices is not None:
            written += f"; {frame.output(self.slices, 0)} now comes from {frame.describe(self.slices)}"
        return written
