"""Define records: how each is read from a raw event, changes a frame and is described."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Protocol, TypeVar, get_origin, get_type_hints

from .facts import (
    Argument,
    Code,
    Cut,
    Phase,
    Saved,
    SourceLine,
    TensorSeen,
)
from .frame import Frame
from .source import source
from .values import Value, read, value, values


class Reading(Protocol):
    """What raw events ask as they are read: the Reader of `reader.py` answers."""

    ids: dict[int, str]  # by serial number, of what a record has told of
    paths: Any

    def id(self, serial: int, kind: str) -> str: ...

    def place(self, serial: int | None) -> str | None: ...

    def code(self, cls: type) -> tuple[Code, ...]: ...

    def source(self, stack: Any) -> SourceLine | None: ...

    def seen_at(self, stack: Any) -> SourceLine | None: ...

    def cut(self, way: Any, word: str, line: Any, operation: str = "", others: tuple[int, ...] = ()) -> Cut: ...

    def saved(self, slot: str, own: int | None, copy: Any, at: int, *more: Any) -> Saved: ...

    def seen(self, tensors: tuple[Any, ...]) -> tuple[TensorSeen, ...]: ...

    def argument(self, arg: Any) -> Argument: ...


# An event as a recorder puts it down: the class of its record, then serial numbers and copies of arrays, in the order
# in which `read` takes them. Adding one to a list costs a tenth of what the record does.
Raw = tuple[Any, ...]
HowRead = Callable[[Reading, Any], Any]  # how a raw value is read


def via_reader(method: str, *more: Any) -> HowRead:
    """Return how to read a value with a method of the reader."""
    return lambda at, given: getattr(at, method)(given, *more)


def by(function: Callable[[Any], Any]) -> HowRead:
    """Return how to read a value without the reader."""
    return lambda at, given: function(given)


# Types of fields that say how these are read: serial numbers as ids, stacks as lines.
Known = Annotated[str, via_reader("place")]  # what a record has told of
Place = Annotated[str | None, via_reader("place")]  # the same, or nothing
Changed = Annotated[str, via_reader("changed")]  # a tensor that is described again when it occurs again
Tensors = Annotated[tuple[TensorSeen, ...], via_reader("seen")]
Reached = Annotated[SourceLine | None, via_reader("seen_at")]  # how far the program is
Located = Annotated[SourceLine | None, by(source)]  # a file and the number of a line in it
_OF_ARRAYS: dict[Any, HowRead] = {Value: by(read), Value | None: by(value), tuple[Value | None, ...]: by(values)}


class Record:
    """An event as it is read."""

    __slots__ = ()

    @classmethod
    def read(cls, at: Reading, *values: Any, **named: Any) -> Record:
        """Return the record of a raw event, after all before it have been read: each value as its field's type says."""
        arguments = [given if way is None else way(at, given) for way, given in zip(_ways(cls), values, strict=False)]
        return cls(*arguments, **named)

    def phase(self, frame: Frame) -> Phase:
        """Return whether values flow down, gradients flow up, or leaves are updated; the frame is after the event."""
        return "backward"

    @property
    def quiet(self) -> bool:
        """True if a player doesn't stop here, because it describes something from earlier."""
        return False

    def apply(self, frame: Frame) -> None:
        """Change the frame as the event changed the graph; the node that it is about comes into focus."""
        node = getattr(self, "node", None)
        if node is not None:
            frame.place(node)
            frame.focus = frame.key(node)
            frame.touch(frame.focus)

    def sentence(self, frame: Frame) -> str:
        """Return the event as a clause without its full stop; the frame is in the state after the event.

        The clauses of one player step are joined into its caption. The default is the event's name:
        `MulBackward0: gradient scaled`.
        """
        if self.quiet:
            return ""
        node = getattr(self, "node", None)
        words = re.sub("(?<=.)(?=[A-Z])", " ", type(self).__name__).lower()
        return words if node is None else f"{frame.introduced(node)}: {words}"


class Building(Record):
    """An event that changes the graph or its values."""

    __slots__ = ()

    def phase(self, frame: Frame) -> Phase:
        """Return whether values flow down, or a backward pass in progress computes."""
        return "forward" if frame.working is None else "backward"


@cache
def _ways(kind: type[Record]) -> tuple[HowRead | None, ...]:
    """Return how to read each value of a raw event; None: unchanged."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple([_way(hints[name]) for name in names_of(kind)])


def _way(hint: Any) -> HowRead | None:
    return hint.__metadata__[0] if get_origin(hint) is Annotated else _OF_ARRAYS.get(hint)


@cache
def names_of(kind: Any) -> tuple[str, ...]:
    """Return the names of a raw event's values: the parameters of `read`, or the fields of its record."""
    code = kind.read.__code__
    return code.co_varnames[2 : code.co_argcount] or kind.__match_args__


def value_of(raw: Raw, name: str) -> Any:
    """Return the value of a raw event with this name; None if it has none."""
    names = names_of(raw[0])
    return raw[1 + names.index(name)] if name in names else None


def replaced(raw: Raw, **values: Any) -> Raw:
    """Return a raw event with other values under these names."""
    kind, *others = raw
    return kind, *[values.get(name, other) for name, other in zip(names_of(kind), others, strict=False)]


RECORDS: dict[str, type[Record]] = {}  # all kinds, by the names that files have for them
_Kind = TypeVar("_Kind", bound=type[Record])


def kind_of_event(cls: _Kind) -> _Kind:
    """Register a record that files may hold."""
    RECORDS[cls.__name__] = cls
    return cls
