"""The facts records are made of: what was seen of a tensor, an edge, a saved tensor, a line of code.

Every field is JSON's own (ids, names, numbers, nested facts), so that a record outlives the engine and the
process. Ids count in order of arrival: nodes `n1`, tensors `t1`, backward tasks `b1`, levels `l1`, operations without
a node `o1`, checkpoints `k1`, storages `s1`. A leaf's id stands for its AccumulateGrad node too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_origin, get_type_hints

from .frame import Frame
from .values import Value, read, value, values

if TYPE_CHECKING:
    from .reader import Reader

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

    Each has a `key` of its own: a module that is called twice has two parts. `number` is a round's, or that of the
    statement which calls a module or a function, or computes an expression: the same in all its parts. Of a statement
    of several lines an expression and a call have the text as `variable`. A module that has no name but its class's has
    a `variable`, as the call tells it: `D` of `D(x)`. `module` is a module's class, and `settings` its numbers:
    "stride 2, padding 1".
    """

    kind: PartKind
    key: int
    title: str
    number: int = 0
    variable: str = ""
    module: str = ""
    settings: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the way of a gradient ends: at an output of a node, or at a leaf (None: at one the trace does not know).

    The `word` is what ends it: `detach`, `data`, `no_grad`, or the dtype of what has no gradient.
    """

    node: str | None
    output_nr: int
    word: str
    source: SourceLine | None


@dataclass(frozen=True, slots=True)
class TensorSeen:
    """A tensor as it was: the node and output it came from (None for a leaf), its version, its `.grad`.

    In a function transform it is a tensor of a `level`, and stands there for one `below`. A view shows the memory of
    its `base`, and so does what was detached. One that takes no gradient may lie behind a `cut`.
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
    cut: Cut | None = None


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
class Storage:
    """Memory and its bytes: it has the id of the tensor that it was first kept for, or one of its own."""

    id: str
    size: int


@dataclass(frozen=True, slots=True)
class Saved:
    """A tensor kept for backward.

    Its value is given only where it is no tensor the trace knows, or one that has it only by the write to come.
    What a hook `packed` has the value of what the hook returned, None where that is no tensor. The `storage` is told
    where the tensor, or its base, does not tell it.
    """

    name: str
    tensor: str | None
    value: Value | None
    version: int
    packed: Packing | None = None
    storage: Storage | None = None


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


# An event as a recorder puts it down: the class of its record, then serial numbers and copies of arrays, in the order
# in which `read` takes them. Adding one to a list costs a tenth of what the record does.
Raw = tuple[Any, ...]
Way = Callable[["Reader", Any], Any]  # how a raw value is read


def asks(method: str, *more: Any) -> Way:
    """The way of a value that a method of the reader reads."""
    return lambda at, given: getattr(at, method)(given, *more)


def by(function: Callable[[Any], Any]) -> Way:
    """The way of a value that needs nothing of the reader."""
    return lambda at, given: function(given)


# Types of fields that say how these are read: serial numbers as ids, stacks as lines.
Known = Annotated[str, asks("place")]  # what a record has told of
Place = Annotated[str | None, asks("place")]  # the same, or nothing
Changed = Annotated[str, asks("changed")]  # a tensor that is told of anew when it is met again
Tensors = Annotated[tuple[TensorSeen, ...], asks("seen")]
Reached = Annotated[SourceLine | None, asks("seen_at")]  # how far the program is
_OF_ARRAYS: dict[Any, Way] = {Value: by(read), Value | None: by(value), tuple[Value | None, ...]: by(values)}


class Record:
    """An event as it is read."""

    __slots__ = ()

    @classmethod
    def read(cls, at: Reader, *values: Any, **named: Any) -> Record:
        """The record of a raw event, all before it having been read: each value as its field's type says."""
        told = [given if way is None else way(at, given) for way, given in zip(_ways(cls), values, strict=False)]
        return cls(*told, **named)

    def phase(self, frame: Frame) -> Phase:
        """Whether values go down, gradients climb, or leaves are changed by them; the event has changed the frame."""
        return "backward"

    @property
    def quiet(self) -> bool:
        """Whether a player does not stop here, as it tells of something that was there before."""
        return False

    def apply(self, frame: Frame) -> None:
        """Change the frame as the event changed the graph; the node that it is about comes into focus."""
        node = getattr(self, "node", None)
        if node is not None:
            frame.place(node)
            frame.focus = frame.key(node)
            frame.touch(frame.focus)

    def sentence(self, frame: Frame) -> str:
        """The event as a clause without its full stop, the frame being as the event has left it.

        The clauses of one step of the player are joined into its caption. Who says nothing else is told by its name:
        `MulBackward0: gradient scaled`.
        """
        if self.quiet:
            return ""
        node = getattr(self, "node", None)
        words = re.sub("(?<=.)(?=[A-Z])", " ", type(self).__name__).lower()
        return words if node is None else f"{frame.told(node)}: {words}"


class Building(Record):
    """An event that changes the graph or its values."""

    __slots__ = ()

    def phase(self, frame: Frame) -> Phase:
        """Whether values go down, or a backward that is going on computes."""
        return "forward" if frame.working is None else "backward"


@cache
def _ways(kind: type[Record]) -> tuple[Way | None, ...]:
    """How each value of a raw event is read; None: it is as it is."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple([_way(hints[name]) for name in names_of(kind)])


def _way(hint: Any) -> Way | None:
    return hint.__metadata__[0] if get_origin(hint) is Annotated else _OF_ARRAYS.get(hint)


@cache
def names_of(kind: Any) -> tuple[str, ...]:
    """What the values of a raw event are called: the parameters of `read`, or the fields of its record."""
    code = kind.read.__code__
    return code.co_varnames[2 : code.co_argcount] or kind.__match_args__


def value_of(raw: Raw, name: str) -> Any:
    """The value of a raw event that has this name; None if it has none."""
    names = names_of(raw[0])
    return raw[1 + names.index(name)] if name in names else None


def replaced(raw: Raw, **values: Any) -> Raw:
    """A raw event with other values under these names."""
    kind, *others = raw
    return kind, *[values.get(name, other) for name, other in zip(names_of(kind), others, strict=False)]


RECORDS: dict[str, type[Record]] = {}  # all kinds, by the names that files have for them
_Kind = TypeVar("_Kind", bound=type[Record])


def kind_of_event(cls: _Kind) -> _Kind:
    """A record that files may hold."""
    RECORDS[cls.__name__] = cls
    return cls
