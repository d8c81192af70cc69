"""What describes an engine to a trace, whatever engine that is: raw events, and the records that are read of them."""

from __future__ import annotations

from collections.abc import Iterable
from types import FrameType
from typing import Any

from .assignments import assignments
from .cuts import Cuts
from .facts import Cut
from .formulas import text_of
from .reader import Reader
from .records import TensorsFound
from .schema import Raw, Record
from .stacks import StackSampler

_PLAIN = (int, float, bool, str, type(None))


def class_of(thing: object) -> Any:
    """Its class: `__class__` may say another."""
    return type(thing)


class Describer:
    """Puts down what it is shown, each thing under its serial number, in raw events that a Reader makes records of."""

    _reading: type[Reader] = Reader
    _arrays: tuple[type, ...] = ()  # what the engine computes with, where that is no tensor

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.sampler = StackSampler()
        self._raw: list[Raw] = []
        self._gone = 0  # records that were let go
        self._tensors: set[int] = set()
        self._names: dict[int, str] = {}  # tensor -> the first variable found that holds it
        self._detached: dict[int, int] = {}  # tensor -> the one that it was detached from
        self._cuts = Cuts()
        self._read_anew()

    # What a trace asks for.

    def records(self, count: int | None = None) -> list[Record]:
        """Everything put down so far, or up to when `count` was this number."""
        self._flush_deaths()
        if len(self._names) != self._named:  # a name belongs to its tensor from the beginning
            self._read_anew()
        records = self._reader.read(self._raw)
        if count is None:
            return records
        left = count - self._gone
        return records[: left + bool(self._gone)] if left > 0 else []

    @property
    def count(self) -> int:
        """How many records there were so far."""
        return self._gone + len(self._raw) - bool(self._gone)  # the first then tells of those that are gone

    def id_of(self, serial: int) -> str | None:
        """The id by which the records speak of a node or a tensor, if they do."""
        self.records()
        return self._reader.id_of(serial)

    def cut_before(self, serial: int) -> Cut | None:
        """Where the way of a tensor's gradient is cut, also of one that no record knows."""
        self.records()
        cut = self._cuts.known.get(serial)
        return None if cut is None else self._reader.cut(*cut)

    def cut_right_after(self, serial: int) -> frozenset[str]:
        """The tensors that were computed from this one where the way of a gradient is cut: no record may know it."""
        found = [each for each, cut in self._cuts.known.items() if cut.way.place == serial]
        return frozenset([id for each in found if (id := self.id_of(each)) is not None])

    def _read_anew(self) -> None:
        self._reader, self._named = self._reading(self._names), len(self._names)

    def _changed(self, at: int) -> None:
        """The raw event there is no longer what it was."""
        if self._reader.read_already > at:
            self._read_anew()

    def _flush_deaths(self) -> None:
        """Put down the nodes that were let go since the last event."""
        raise NotImplementedError

    # What is put down.

    def _tell(self, found: dict[int, Any]) -> None:
        """Put down tensors as they are, if there are any."""
        if found:
            self._raw.append((TensorsFound, tuple(found.values())))

    def _tell_assigned(self, frame: FrameType) -> None:
        """Put down what the program assigns to variables of the names that are known."""
        assigned = assignments(frame, {*self._names.values()})
        self._raw += [(TensorsFound, (), assigned)] if assigned else []

    def _learn(self, named: Iterable[tuple[str, Any]]) -> None:
        """Learn what variables hold; one tensor keeps the first name found."""
        found: dict[int, Any] = {}
        for name, thing in named:
            serial = self._tag(thing)
            self._names.setdefault(serial, name)
            if self._is_news(thing, serial):
                self._describe(thing, found)
        self._tell(found)

    def _note(self, arg: Any, given: list[Any], tensors: list[Any], found: dict[int, Any]) -> None:
        """Put down an argument: a tensor's serial number, or what can be said of anything else."""
        kind = class_of(arg)
        if self._is_tensor(arg):
            tensors.append(arg)
            given.append((self._argument(arg, found),))
        elif issubclass(kind, (list, tuple)):
            several: list[Any] = []
            for each in arg:
                self._note(each, several, tensors, found)
            given += several if len(several) < 2 else in_brackets(several)
        elif kind.__name__ == "dtype":
            given.append(str(arg))
        else:
            given.append(arg if isinstance(arg, _PLAIN) else kind)

    def _attributes(self, node: Any, found: dict[int, Any]) -> tuple[Any, ...]:
        """What forward put on `ctx`, several in a list one by one."""
        told: list[tuple[Any, ...]] = []
        for name, thing in self._put_on(node):
            several: Any = thing if issubclass(class_of(thing), list | tuple) else (thing,)
            for index, each in enumerate(several):
                called = name if each is thing else f"{name}[{index}]"
                text = each if isinstance(each, _PLAIN) else class_of(each)
                own = copy = None
                if self._is_tensor(each):
                    own = self._tag(each)
                    if own not in self._tensors:
                        self._describe(each, found)
                elif issubclass(class_of(each), self._arrays):
                    copy = self._copy(each)
                told.append((called, text, own, copy))
        return tuple(told)

    # What differs from engine to engine.

    def _is_tensor(self, thing: Any) -> bool:
        """Whether it is one of the engine's tensors."""
        raise NotImplementedError

    def _tag(self, tensor: Any) -> int:
        """The serial number of a tensor."""
        raise NotImplementedError

    def _copy(self, thing: Any) -> Any:
        """What is kept of the values of a tensor, or of an array."""
        raise NotImplementedError

    def _describe(self, tensor: Any, found: dict[int, Any]) -> int:
        """Put down a tensor as it is now; its serial number."""
        raise NotImplementedError

    def _argument(self, tensor: Any, found: dict[int, Any]) -> int:
        """Put down a tensor that an operation was called with, if it is not as it was told of; its serial number."""
        raise NotImplementedError

    def _is_news(self, tensor: Any, serial: int) -> bool:
        """Whether a tensor that a variable holds is to be told of: the node that made it is known."""
        raise NotImplementedError

    def _put_on(self, node: Any) -> Iterable[tuple[str, Any]]:
        """What the user's forward has put on `ctx`, by its names."""
        raise NotImplementedError


def in_brackets(several: list[Any]) -> list[Any]:
    """A list's arguments: its tensors, if there are any, bear the brackets and what is said between them."""
    named: list[Any] = []
    text = "("
    for arg in several:
        if arg.__class__ is tuple:
            named.append((arg[0], text + (arg[1] if len(arg) > 1 else "{}")))
            text = ""
        else:
            text += f"{text_of(arg)}, "
    if not named:
        return several
    serial, last = named[-1]
    return [*named[:-1], (serial, ", ".join([last, *text.split(", ")[:-1]]) + ")")]
