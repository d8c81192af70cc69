"""The recorder: it hears every event in one thread at a time, keeps chapters, and shows the graph behind an error."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import Any

from ...events import SCHEMA, Event, tag
from .chapters import InChapters
from .event_recorder import HEAR, EventRecorder
from .forward_records import NodeCreated
from .hooks import nodes_behind
from .schema import Record, value_of
from .stacks import line_of
from .values import LIMIT
from .workbench_engine import maker_of

# What says of a task that goes on, or that it is over.
_OF_A_TASK = {kind for kind, event in SCHEMA.items() if event.fields[:1] == ("task",)} - {"backward", "failed"}
_BEGINS = ("created", "entered", "called", "pushing")


# Threads are heard one at a time, by all recorders: what one thread's event first told of, another's refers to.
recording_lock: Any = threading.RLock()
if hasattr(os, "register_at_fork"):  # no thread of a forked child has it: its holder is in the parent
    os.register_at_fork(after_in_child=recording_lock._at_fork_reinit)


class Recorder(InChapters, EventRecorder):
    """Call it with every event; `records()` returns the records, if there is a `last` about the last N of them."""

    def __init__(self, limit: int = LIMIT, last: int | None = None) -> None:
        super().__init__(limit)
        self._keep_last(last)

    def __call__(self, event: Event) -> None:
        with recording_lock:
            if self._dead:
                self._flush_deaths()
            kind = event[0]
            # A task that began before anybody listened stays unheard: its graph is not known.
            if kind not in _OF_A_TASK or getattr(event[1], "_tag", None) in self._tasks:
                if len(self._raw) >= self._room:
                    self._turn(kind in _BEGINS)
                try:
                    HEAR[kind](self, *event[1:])
                except BaseException:
                    self._take_back()
                    raise

    def watch(self, on: bool) -> None:
        """Start or stop noting which nodes are dropped."""
        with recording_lock:
            self._flush_deaths()
            self._lives = {} if on else None

    def _take_back(self) -> None:
        """Know nothing of what was met by an event that was lost: no record would tell of it."""
        told = self._raw[self._chapters[-1].begin :]
        self._nodes &= {each[1] for each in told if each[0] is NodeCreated}
        self._tensors &= {tensor[0] for each in told for tensor in value_of(each, "tensors") or ()}

    def _flush_deaths(self) -> None:
        """Record the nodes that were dropped since the last event."""
        if self._dead and self._lives is not None:
            dead = [self._lives.pop(self._dead.pop(0), None) for _ in range(len(self._dead))]
            self._put_gone([serial for serial in dead if serial is not None])

    def records(self, count: int | None = None) -> list[Record]:
        """Return all records so far, or up to when `count` was this number: none, if all of those were dropped."""
        with recording_lock:
            return super().records(count)

    def records_without_keeping(self, event: Event) -> list[Record]:
        """Return the records that an event would add, without keeping them."""
        self.records()
        begin = len(self._raw)
        self(event)
        told = [self._reader.record(each) for each in self._raw[begin:]]
        del self._raw[begin:]
        return told

    def known(self) -> tuple[set[int], set[int]]:
        """Return the nodes and tensors recorded so far."""
        return self._nodes.copy(), self._tensors.copy()

    def forget_all_but(self, known: tuple[set[int], set[int]]) -> None:
        """Know no others than these any more: what has told of them is taken back."""
        self._nodes &= known[0]
        self._tensors &= known[1]
        self._reader.forget_all_but(known[1])

    def show(self, tensor: Any, frame: FrameType | None) -> None:
        """Note the graph that made a tensor, as it is."""
        if tensor._meta is None or tensor._meta.creation == "default":
            tensor.grad_fn  # noqa: B018  reading it rebuilds a view's, if that was written
        maker = maker_of(tensor)
        if maker is not None:
            self._find(maker)
            self._meet(nodes_behind([maker]))
        self.look_up(frame)
        found: dict[int, tuple[Any, ...]] = {}
        self._describe(tensor, found)
        self._tell(found)
        self._put_shown(tensor._tag, line_of(frame))

    # The last events only.

    def _forget_known(self) -> None:
        self._nodes, self._tensors, self._levels, self._tasks = set(), set(), set(), set()
        self._hooks = {}
        self._models.forget()

    def _is_at_rest(self) -> bool:
        # Tangents of dual tensors are no hindrance: an error may have ended that without a word.
        busy = self._open or self._repeating or any([level for _, level in self._pushing])
        return not busy and all(task() is None for task in self._going)

    def _forget_older(self, serial: int, known: set[int]) -> None:
        self._cuts.forget(serial, known)
        for facts in (self._names, self._unlinked, self._detached):
            for old in [each for each in facts if each < serial and each not in known]:
                del facts[old]


class ErrorRecorder(Recorder):
    """Record the state when an error left the engine, and then the error."""

    _held: Sequence[Any] = ()  # what the user's variables hold

    def find(
        self,
        roots: Iterable[Any],
        tensors: Iterable[Any],
        named: Iterable[tuple[str, Any]],
        failure: tuple[int | None, str, str],
    ) -> None:
        """Record the graph of `roots` and `tensors`, variables' names, and (the failing node's tag, type, message)."""
        named = list(named)
        self._held = [tensor for _, tensor in named]
        found: dict[int, tuple[Any, ...]] = {}
        for root in roots:
            self._place(root, found)
        for tensor in tensors:
            if (maker := maker_of(tensor)) is not None:
                self._place(maker, found)
            self._describe(tensor, found)
        for tensor in self._held:
            maker = maker_of(tensor)
            if tag(tensor) in self._tensors and (maker is None or tag(maker) in self._nodes):
                self._describe(tensor, found)
        self._tell(found)
        self._learn(named)
        node, kind, words = failure
        self._put_failed(None, node if node in self._nodes or node in self._tensors else None, kind, words)

    def _saved(self, node: Any, tensors: list[Any], found: dict[int, Any]) -> tuple[Any, ...]:
        """Return what a node saved; the array of its own output may be a tensor that the user holds."""
        items = [getattr(thing, "_array", thing) for _, thing, _ in node.saved_items()]
        for tensor in self._held:
            if any(tensor._array is item for item in items):
                self._describe(tensor, found)
                tensors = [*tensors, tensor]
        return super()._saved(node, tensors, found)


def number_of(node: Any) -> int:
    """Return the number of a node in records; for an AccumulateGrad, its leaf's."""
    return tag(getattr(node, "variable", node))
