"""What happens inside a Function's methods: they are called, reach a line, and return."""

from __future__ import annotations

from dataclasses import dataclass

from .facts import Code, Record
from .frame import Frame
from .values import Value


@dataclass(frozen=True, slots=True)
class Variable:
    """What a variable, or a part of `ctx`, holds: an array's value, or the text of anything else."""

    name: str
    value: Value | None
    text: str = ""


class Inside(Record):
    """An event that only the card of a Function tells."""

    __slots__ = ()

    @property
    def quiet(self) -> bool:
        """Whether other players do not stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """The graph stays as it is."""


@dataclass(frozen=True, slots=True)
class MethodCalled(Inside):
    """A method of a Function begins, with this source, whose first line is the file's line `first`.

    `ctx` is the one it works with (None: it sees none), `node` the node that this is, once it is in the graph.
    """

    call: str
    function: str
    method: str
    ctx: str | None
    node: str | None
    file: str
    first: int
    code: Code


@dataclass(frozen=True, slots=True)
class LineReached(Inside):
    """A line is about to run: which variables are new or changed since the line before, and which are gone.

    `ctx` is all that it holds, None where nothing of it has changed.
    """

    call: str
    line: int
    variables: tuple[Variable, ...]
    gone: tuple[str, ...]
    ctx: tuple[Variable, ...] | None


@dataclass(frozen=True, slots=True)
class MethodEnded(Inside):
    """A method is over: it returned a value, or an `error` left it."""

    call: str
    variables: tuple[Variable, ...]
    ctx: tuple[Variable, ...] | None
    returned: tuple[Variable, ...]
    error: str = ""
