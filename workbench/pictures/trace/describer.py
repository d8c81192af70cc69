"""What describes an engine to a trace, whatever engine that is: raw events, and the records that are read of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Any

from .advised import known_error
from .assignments import assignments
from .cuts import Cuts, Way
from .engine import Engine
from .error_frames import called_in
from .facts import Cut
from .formulas import text_of
from .forward_records import TensorsFound
from .hooks import retained
from .names import named_outside
from .raw_events import RawEvents
from .stacks import Stack, stepping, user_line
from .tensor_records import DATA, UNREPORTED
from .variables import class_of

_OFTEN_WRITTEN = ("running_mean", "running_var")  # by each forward pass; no backward reads them then
_PLAIN = (int, float, bool, str, type(None))


class Describer(RawEvents, Engine):
    """Record things, each under its serial number, in raw events that a Reader turns into records."""

    _arrays: tuple[type, ...] = ()  # what the engine computes with, where that is no tensor

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit
        self._tensors: set[int] = set()
        self._told_before: list[set[int]] = []  # the tensors that earlier chapters have told of
        self._detached: dict[int, int] = {}  # tensor -> the one that it was detached from
        self._cuts = Cuts()
        self._reads: set[Any] = set()  # lines that read numbers behind a cut
        self._starts: frozenset[int] = frozenset()  # leaves that the last backward pass starts at
        self._marks: dict[int, dict[str, tuple[Any, ...]]] = {}  # node -> by name: what it saved, version and mark
        self._last_marks: dict[int, tuple[int, Any]] = {}  # tensor -> the version and the mark that are known last

    def _is_known(self, tensor: int) -> bool:
        """Return True if this chapter or an earlier one has recorded a tensor."""
        before = self._told_before
        return tensor in self._tensors or (bool(before) and any([tensor in known for known in before]))

    # What is asked of cuts.

    def cut_before(self, serial: int) -> Cut | None:
        """Return where a tensor's gradient path is cut, even for one without a record."""
        self.records()
        cut = self._cuts.known.get(serial)
        return None if cut is None else self._reader.cut(*cut)

    def cut_right_after(self, serial: int) -> frozenset[str]:
        """Return the tensors computed from this one where the gradient path is cut; no record may know them."""
        found = [each for each, cut in self._cuts.known.items() if serial in (cut.way.place, *cut.others)]
        return frozenset([id for each in found if (id := self.id_of(each)) is not None])

    # What is recorded.

    def _put_refused(self, task: int | None, place: int | None, error: BaseException, tensors: Iterable[Any]) -> None:
        """Record an error with the tensors that it is about, and what may have cut them off."""
        found: dict[int, tuple[Any, ...]] = {}
        about = tuple([self._describe(each, found) for each in tensors])
        self._tell(found)
        more = user_line(), self._cuts.number, task is None and place is None and self._is_off()
        called = called_in(error)
        if called is not None and called.kind == "refused" and known_error(str(error)) is not None:
            called = None  # which of autograd's own functions refused is each engine's affair
        self._put_failed(task, place, type(error).__name__, str(error), about, *more, called)

    def _tell_assigned(self, frame: FrameType) -> None:
        """Record what the program assigns to variables with known names."""
        assigned = assignments(frame, {*self._names.values()})
        self._raw += [(TensorsFound, (), assigned)] if assigned else []

    def _learn(self, named: Iterable[tuple[str, Any]]) -> None:
        """Learn what variables hold; one tensor keeps the first name found."""
        found: dict[int, Any] = {}
        for name, thing in named_outside([*named], self.sampler.around(), self._is_tensor):
            serial = self._tag(thing)
            self._names.setdefault(serial, name)
            if self._is_news(thing, serial):
                self._describe(thing, found)
        self._tell(found)

    def _note(self, arg: Any, given: list[Any], tensors: list[Any], found: dict[int, Any]) -> None:
        """Record an argument: a tensor's serial number, or a description of anything else."""
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
        """Return the attributes that forward set on `ctx`; items of a list are returned one by one."""
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

    def _is_off(self) -> bool:
        """Return True if operations aren't recorded now, as under `no_grad`."""
        return False

    # Where gradients go.

    def _way(self, tensor: Any) -> Way | None:
        """Return where a tensor's gradient goes."""
        if not tensor.requires_grad:
            return None
        maker = self._maker(tensor)
        if maker is None:
            return Way(self._tag(tensor), 0, True)
        return Way(self._number(maker), self._output_nr(tensor), False)

    def _edges(self, goes: Iterable[tuple[Any, int]], found: dict[int, Any]) -> tuple[tuple[int | None, int], ...]:
        """Return where the gradients that a node sends arrive, by serial numbers; `goes` are its `next_functions`."""
        edges: list[tuple[int | None, int]] = []
        for to, nr in goes:
            serial = None if to is None else self._number(to)
            edges.append((self._place(to, found) if to is not None and serial is None else serial, nr))
        return tuple(edges)

    def _place(self, node: Any, found: dict[int, Any]) -> int:
        """Return the serial number of a gradient's destination: the node's, or for an AccumulateGrad the leaf's."""
        if (serial := self._number(node)) is not None:
            return serial
        if (leaf := self._leaf(node)) is None:
            return self._find(node)
        serial = self._tag(leaf)
        return serial if serial in found or self._is_same(leaf, serial) else self._describe(leaf, found)

    def _argument(self, tensor: Any, found: dict[int, Any]) -> int:
        """Record an operation's tensor argument, if it differs from its record; return its serial number."""
        serial = self._tag(tensor)
        if serial not in found and not self._is_same(tensor, serial):
            self._describe(tensor, found)
        return serial

    # Nodes.

    def _kept(self, node: Any, items: Any, tensors: Sequence[Any], found: dict[int, Any]) -> tuple[Any, ...]:
        """Return what a node saved: known tensors by number, others by value, and what a hook packed by both.

        The `items` are names, what is saved there, and the version or what unpacks it. What was saved of one of
        `tensors` is known by that.
        """
        saved: list[tuple[Any, ...]] = []
        marks: dict[str, tuple[Any, ...]] = {}
        for name, thing, how in items:
            if (known := self._saved_as(thing, how, tensors)) is None:
                packed = self._packed(node, thing, how, tensors)
                saved += () if packed is None else ((name, None, *packed),)
                continue
            tensor, version = known
            own = copy = None
            if tensor is None:
                copy = self._copy(thing)
            elif self._is_rewritten(own := self._tag(tensor), name, thing, version, marks) or own not in self._tensors:
                self._describe(tensor, found)
            saved.append((name, own, copy, version, None, self._storage(thing, tensor)))
        if marks and (serial := self._number(node)) is not None:
            self._marks[serial] = marks
        return tuple(saved)

    # Writes that no engine reports.

    def _is_rewritten(self, own: int, name: str, thing: Any, version: int, marks: dict[str, tuple[Any, ...]]) -> bool:
        """Mark the memory of a saved tensor; return True if it's not as it was when it was last marked."""
        if name in _OFTEN_WRITTEN or (mark := self._mark(thing)) is None:
            return False
        marks[name] = own, version, mark
        before = self._last_marks.get(own)
        self._last_marks[own] = version, mark
        if before is None or before[0] != version or before[1] == mark:
            return False
        self._forget_value(own)
        return True

    def _put_rewritten(
        self, node: int, items: Iterable[tuple[str, Any, Any]], is_stale: Callable[[], bool] = lambda: False
    ) -> None:
        """Record writes into what a node saved that no engine reported: through NumPy, for example.

        The `items` are what it has saved, before it runs. `is_stale` says whether the engine knows of a write.
        """
        marks = self._marks[node]
        for name, thing, version in items:
            own, then, mark = marks.get(name, (0, None, None))
            last = self._last_marks.get(own)
            if last is None or version != then or last != (then, mark):
                continue
            if (now := self._mark(thing)) not in (None, mark) and not is_stale():
                self._last_marks[own] = then, now
                self._forget_value(own)
                value = self._copy(thing)
                self._put_written(own, UNREPORTED, then, value, None, 0, self.sampler.stack(4), None, None, None)

    def _mark(self, thing: Any) -> Any:
        """Return a number that is another after a write into a saved tensor's memory; None if it can't be read."""
        return None

    def _forget_value(self, tensor: int) -> None:
        """Forget what was kept of a tensor's values."""

    # The user's hooks.

    def _put_retained(self, task: int, place: int, tensors: Iterable[tuple[int, Any]]) -> None:
        """Record what tensors, known weakly by their output numbers, keep of the gradient that arrived."""
        for nr, own in tensors:
            if (tensor := own()) is not None:
                kept = (self._copy(tensor.grad),)
                self._put_hook(task, place, retained(nr), kept, kept)

    # Writes.

    def _put_write(self, tensor: Any, name: str, stack: Stack | None = None) -> None:
        """Record a write to a tensor, and the new state of the tensors that share its memory."""
        self._put_grad_in(tensor, name, stack)
        serial, found = self._tag(tensor), dict[int, Any]()
        if name != DATA:  # what a node has saved may be the old memory, or this
            self._last_marks.pop(serial, None)
        if serial not in self._tensors:
            if not self._is_part(tensor):
                return  # of no graph yet
            self._describe(tensor, found)
        stack = stack or self.sampler.stack(4)
        slices = self._slices(tensor, found, stack)
        self._describe_others(tensor, found, stack)
        self._tell(found)
        maker = self._maker(tensor)
        node, nr = None if maker is None else self._number(maker), self._output_nr(tensor)
        by = stepping() if maker is None and tensor.requires_grad else None
        value, moved = self._value(tensor, serial), None if by is None else self._moved(tensor, serial)
        self._put_written(serial, name, self._version(tensor), value, node, nr, stack, slices, by, moved)

    def _tell_read(self, tensor: Any) -> None:
        """Record a tensor behind a cut whose numbers a line reads, once for each line: no node may get it."""
        line = user_line()
        if line not in self._reads and not tensor.requires_grad and self._tag(tensor) in self._cuts.known:
            self._reads.add(line)
            found: dict[int, Any] = {}
            self._describe(tensor, found)
            self._tell(found)

    def _put_grad_in(self, written: Any, name: str, stack: Stack | None) -> None:
        """Record the gradient of a tensor whose gradient's memory was written."""
        if (tensor := self._tensor_of(written)) is not None:
            self._put_grad(tensor, name, stack)

    # What each engine's describer records in its own way.

    def _moved(self, tensor: Any, serial: int) -> float | None:
        """Return the norm of a weight's change so far in the current step; None if it is unknown."""
        raise NotImplementedError

    def _put_grad(self, tensor: Any, name: str = "", stack: Stack | None = None) -> None:
        """Record the current gradient of a known tensor."""
        raise NotImplementedError

    def _slices(self, written: Any, found: dict[int, Any], stack: Stack) -> int | None:
        """Record the node that a write through a view gave the view's base, if that is new."""
        raise NotImplementedError

    def _describe_others(self, written: Any, found: dict[int, Any], stack: Stack) -> None:
        """Record the tensors that share the written memory: they have new values, and perhaps a new history."""
        raise NotImplementedError

    def _describe(self, tensor: Any, found: dict[int, Any]) -> int:
        """Record a tensor's current state, and return its serial number."""
        raise NotImplementedError

    def _find(self, node: Any) -> int:
        """Record a node from before the recording, after everything it came from; return its serial number."""
        raise NotImplementedError


def in_brackets(several: list[Any]) -> list[Any]:
    """Return the arguments of a list, whose tensors, if any, carry the brackets and the text between them."""
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
