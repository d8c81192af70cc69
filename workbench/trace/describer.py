"""What describes an engine to a trace, whatever engine that is: raw events, and the records that are read of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from .assignments import assignments
from .call_records import HookRan, HooksFound
from .cuts import Cuts, Way
from .engine import Engine
from .formulas import text_of
from .reader import Reader
from .records import GradAccumulated, TensorsFound
from .schema import Raw, Record, value_of
from .stacks import StackSampler

Hooks = tuple[tuple[Any, ...], ...]  # of each its kind, which output it is on, its name and line

_PLAIN = (int, float, bool, str, type(None))
class_of: Callable[[object], Any] = type  # `__class__` may say another


class Describer(Engine):
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
        self._hooks: dict[int, Hooks] = {}  # place -> what was put down of its hooks
        self._late: list[Raw] = []  # what hooks did after an accumulation that is still to be told
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

    # Where gradients go.

    def _way(self, tensor: Any) -> Way | None:
        """Where a tensor's gradient goes."""
        if not tensor.requires_grad:
            return None
        maker = self._maker(tensor)
        if maker is None:
            return Way(self._tag(tensor), 0, True)
        return Way(self._number(maker), self._output_nr(tensor), False)

    def _edges(self, goes: Iterable[tuple[Any, int]], found: dict[int, Any]) -> tuple[tuple[int | None, int], ...]:
        """Where the gradients that a node sends arrive, by serial numbers; `goes` are its `next_functions`."""
        edges: list[tuple[int | None, int]] = []
        for to, nr in goes:
            serial = None if to is None else self._number(to)
            edges.append((self._place(to, found) if to is not None and serial is None else serial, nr))
        return tuple(edges)

    def _place(self, node: Any, found: dict[int, Any]) -> int:
        """The serial number of where a gradient goes: the node's, or the leaf's for its AccumulateGrad."""
        if (serial := self._number(node)) is not None:
            return serial
        if (leaf := self._leaf(node)) is None:
            return self._find(node)
        serial = self._tag(leaf)
        return serial if serial in found or self._is_same(leaf, serial) else self._describe(leaf, found)

    def _argument(self, tensor: Any, found: dict[int, Any]) -> int:
        """Put down a tensor that an operation was called with, if it is not as it was told of; its serial number."""
        serial = self._tag(tensor)
        if serial not in found and not self._is_same(tensor, serial):
            self._describe(tensor, found)
        return serial

    # The user's hooks.

    def _put_hooks(self, places: Iterable[tuple[int, Hooks]]) -> None:
        """Put down which hooks are at these places, where they are others than before."""
        news: list[tuple[int, Hooks]] = []
        for place, hooks in places:
            if hooks != self._hooks.get(place, ()):
                self._hooks[place] = hooks
                news.append((place, hooks))
        if news:
            self._raw.append((HooksFound, tuple(news)))

    def _put_hook(
        self, task: int, place: int, hook: tuple[Any, ...], before: tuple[Any, ...], after: tuple[Any, ...]
    ) -> None:
        """Put down what a hook did; after an accumulation that is told once the accumulation is."""
        (self._late if hook[0] == "accumulated" else self._raw).append((HookRan, task, place, hook, before, after))

    def _put_retained(self, task: int, place: int, tensors: Iterable[tuple[int, Any]]) -> None:
        """Put down what tensors, known weakly by the output that they are, keep of the gradient that has come."""
        for nr, own in tensors:
            if (tensor := own()) is not None:
                kept = (self._copy(tensor.grad),)
                self._put_hook(task, place, retained(nr), kept, kept)

    def _take_late(self, leaf: int) -> list[Raw]:
        """What hooks did since a gradient was added to a leaf's."""
        if not self._late:
            return []
        told, self._late = [each for each in self._late if value_of(each, "node") == leaf], []
        return told

    def _forget_late(self, task: int) -> None:
        """Forget what hooks of a task that is over did after an accumulation that nobody told of."""
        self._late = [each for each in self._late if value_of(each, "task") != task]

    def _put_accumulated(self, task: int, leaf: int, grad: Any, late: list[Raw]) -> None:
        """Put down a leaf's new gradient: as it was before hooks, and what these did after that."""
        self._raw.append((GradAccumulated, task, leaf, value_of(late[0], "before")[0] if late else grad))
        self._raw += late

    # What each engine's describer puts down in its own way.

    def _describe(self, tensor: Any, found: dict[int, Any]) -> int:
        """Put down a tensor as it is now; its serial number."""
        raise NotImplementedError

    def _find(self, node: Any) -> int:
        """Put down a node that was born unheard, after all it came from; its serial number."""
        raise NotImplementedError


def retained(nr: int) -> tuple[Any, ...]:
    """What is put down of `retain_grad` on an output, as of a hook."""
    return "retained", nr, "retain_grad", None


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
