"""A question about a gradient, an engine's facts about it, and the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ...pictures.trace.facts import Cut
from ...pictures.trace.schema import Record
from ...pictures.trace.values import Value, code
from .finding import quoted_once

Verdict = Literal["none", "zero", "not finite", "sum", "there"]


@dataclass(frozen=True, slots=True)
class Asked:
    """An engine's facts about a tensor now; `id` is its name in the records, None if it isn't in them."""

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
        """The tensor in a sentence."""
        return code(self.name) if self.name else "this tensor"

    @property
    def slot(self) -> str:
        """Its gradient in a sentence."""
        return f"`{self.name}.grad`" if self.name else "The `.grad` of this tensor"

    @property
    def typed(self) -> str:
        """Its name as one types it: `net[0].weight` for `net.0.weight`."""
        return re.sub(r"\.(\d+)", r"[\1]", self.name or "tensor")


class Shared(NamedTuple):
    """A node that saved the memory of a tensor that requires grad (None: the one that shares it doesn't)."""

    node: str | None
    tensor: str  # its id
    name: str


@dataclass(frozen=True, slots=True)
class LiveGraph:
    """Questions to an existing graph that its records don't answer."""

    shared: Sequence[Shared] = ()
    twins: Sequence[str] = ()  # the leaves of the graph that show the memory of the tensor asked about
    freed: bool = False  # whether nodes have let go what they had saved


class Inquiry(NamedTuple):
    """The input of `answer`: the records of a graph, and the engine's facts about the tensors now."""

    events: Sequence[Record]
    asked: Asked
    loss: Asked | None
    live: LiveGraph | None  # None: the events are those of a recording


@dataclass(slots=True)
class Answer:
    """The answer: what is certain, possible causes, advice, and the places of the path, starting at the loss.

    The boxes of `marks` get an added line. If the path is cut, `behind` is the rest of it, beyond the cut.
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
        """The whole answer, one sentence per line."""
        possible = ["Possible causes:"] * bool(self.possible) + [f"- {each}" for each in self.possible]
        return "\n".join([quoted_once("\n".join(self.sentences)), *possible, *[self.advice] * bool(self.advice)])
