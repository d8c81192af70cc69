"""What is asked about a gradient, what an engine says of it, and what the answer is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ..trace.facts import Cut
from ..trace.schema import Record
from ..trace.values import Value

Verdict = Literal["none", "zero", "not finite", "sum", "there"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What an engine says of a tensor as it is now; `id` is what the records call it, None if they do not know it."""

    id: str | None
    name: str
    dtype: str
    takes: bool  # whether a tensor of this dtype can have a gradient
    requires_grad: bool
    made_by: str = ""  # the node that made it; empty of a leaf
    retains: bool = False
    grad: Value | None = None
    cut: Cut | None = None  # what it lies behind itself
    cut_after: frozenset[str] = frozenset()  # the tensors before which a way is cut that would have led to this one

    @property
    def words(self) -> str:
        """What a sentence calls it."""
        return self.name or "this tensor"

    @property
    def slot(self) -> str:
        """What a sentence calls its gradient."""
        return f"{self.name}.grad" if self.name else "The .grad of this tensor"


class Shared(NamedTuple):
    """A node has saved the memory of a tensor that takes gradients (None: who takes no gradient shares it)."""

    node: str | None
    tensor: str  # its id
    name: str


@dataclass(frozen=True, slots=True)
class LiveGraph:
    """What can be asked of a graph that is there, and not of its records."""

    shared: Sequence[Shared] = ()
    twins: Sequence[str] = ()  # the leaves of the graph that show the memory of the tensor asked about
    freed: bool = False  # whether nodes have let go what they had saved


class Inquiry(NamedTuple):
    """What `answer` is asked: the records of a graph, and what the engine says of the tensors now."""

    events: Sequence[Record]
    asked: Asked
    loss: Asked | None
    live: LiveGraph | None  # None: the events are those of a recording


@dataclass(slots=True)
class Answer:
    """What is said: what is certain, what is possible, what to do; and the places of the way, from the loss on.

    On the boxes of `marks` a line is added. Where the way is cut `behind` is the rest of it, on the other side.
    """

    verdict: Verdict
    sentences: list[str] = field(default_factory=list)
    possible: list[str] = field(default_factory=list)
    advice: str = ""
    way: list[str] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)
    marks: dict[str, str] = field(default_factory=dict)
    cut: str = ""  # the word for what cuts it

    @property
    def text(self) -> str:
        """All of it, a sentence a line."""
        lines = [*self.sentences]
        if self.possible:
            lines += ["Possible causes:", *[f"- {each}" for each in self.possible]]
        return "\n".join([*lines, *[self.advice] * bool(self.advice)])
