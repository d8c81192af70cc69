"""The facts records are made of: what was seen of a tensor, an edge, a saved tensor, a line of code.

Every field is JSON's own (ids, names, numbers, nested facts), so that a record outlives the engine and the
process. Ids count in order of arrival: nodes `n1`, tensors `t1`, backward tasks `b1`, levels `l1`, operations without
a node `o1`, checkpoints `k1`. A leaf's id stands for its AccumulateGrad node too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .frame import Frame
from .values import Value

Phase = Literal["forward", "backward", "update"]


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the user's code; `file` is its base name, or `cell` in a notebook."""

    file: str
    line: int
    text: str


PartKind = Literal["scope", "loop", "round", "call", "expression"]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the program's run: a scope, a loop, one round of it, a call of a function, one computed expression.

    Each has a `key` of its own: a module that is called twice has two parts. `number` is a round's.
    """

    kind: PartKind
    key: int
    title: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class TensorSeen:
    """A tensor as it was: the node and output it came from (None for a leaf), its version, its `.grad`.

    In a function transform it is a tensor of a `level`, and stands there for one `below`. A view shows the memory of
    its `base`, and so does what was detached.
    """

    id: str
    name: str | None
    value: Value
    version: int
    requires_grad: bool
    node: str | None
    output_nr: int
    grad: Value | None
    level: str | None = None
    below: str | None = None
    base: str | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """Where an input's gradient goes: a node or leaf (None: none is needed), and which output of it."""

    target: str | None
    output_nr: int


@dataclass(frozen=True, slots=True)
class Argument:
    """What an operation was called with: a tensor, or the text of anything else.

    The text of a tensor that is one of several in brackets has what stands around it there: `({}`, `{})`.
    """

    tensor: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Packing:
    """How a hook changed what is kept: the hook, where it is defined, what it returned and in place of which tensor."""

    hook: str
    source: SourceLine | None
    kept: str
    tensor: str | None


@dataclass(frozen=True, slots=True)
class Saved:
    """A tensor kept for backward.

    Its value is given only where it is no tensor the trace knows, or one that has it only by the write to come.
    What a hook `packed` has the value of what the hook returned, None where that is no tensor.
    """

    name: str
    tensor: str | None
    value: Value | None
    version: int
    packed: Packing | None = None


@dataclass(frozen=True, slots=True)
class Attribute:
    """What forward put on `ctx` by a name of its own: a tensor, an array, or the text of anything else."""

    name: str
    text: str
    tensor: str | None
    value: Value | None


@dataclass(frozen=True, slots=True)
class Code:
    """A piece of source, or a formula, and what it is called."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Root:
    """Where a backward starts: an output of a node (or a leaf), and its seed."""

    node: str
    output_nr: int
    seed: Value | None


class Record:
    """An event as it is read."""

    __slots__ = ()

    def phase(self, frame: Frame) -> Phase:
        """Whether values go down, gradients climb, or leaves are changed by them; the event has changed the frame."""
        return "backward"

    @property
    def quiet(self) -> bool:
        """Whether a player does not stop here, as it tells of something that was there before."""
        return False

    def apply(self, frame: Frame) -> None:
        """Change the frame as the event changed the graph."""
        raise NotImplementedError

    def sentence(self, frame: Frame) -> str:
        """The event as a clause without its full stop, the frame being as the event has left it.

        The clauses of one step of the player are joined into its caption.
        """
        return ""


class Building(Record):
    """An event that changes the graph or its values."""

    __slots__ = ()

    def phase(self, frame: Frame) -> Phase:
        """Whether values go down, or a backward that is going on computes."""
        return "forward" if frame.working is None else "backward"
