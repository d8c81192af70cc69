"""The listener: keeps what the engine says as small raw tuples, which `reading` makes records of.

Tuples, because a readable record would cost ten times as much meanwhile.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ..events import Event, next_tag
from .asking import maker_of
from .caller import line_of
from .guests import reached_from
from .hearing import HEAR, Hearer
from .reading import Reader
from .records import Record
from .values import LIMIT

_OF_A_TASK = frozenset(("run", "ran", "asks", "asked", "accumulated", "captured", "finished"))
_BEGINS = ("created", "entered", "called", "pushing")
_ENDS = ("finished", "left", "failed")  # after these, and what is written or let go then, something new begins
_AFTER = ("wrote", "regraded", "died", "found")


@dataclass(slots=True)
class Chapter:
    """A part of a recording that speaks of nothing but what it has told of itself: those before it may go."""

    begin: int  # its first raw tuple
    serial: int  # numbers below were given before it
    tensors: set[int]  # that it has told of


class Recorder(Hearer):
    """Call it with every event; `records()` gives what it heard, if there is a `last` about the last so many.

    It then works in chapters of a quarter to a half of that. Each begins where no backward and no transform is going
    on, if possible after the end of one, and forgets all that was known: a thing that is met again is put down again,
    as it would be had the recording begun there. The oldest chapter goes when there is enough without it.
    """

    def __init__(self, limit: int = LIMIT, last: int | None = None) -> None:
        super().__init__(limit)
        self._reader = Reader(self._names)
        self._named = 0
        self._gone = 0  # records that were let go
        self._chapters = [Chapter(0, 0, self._tensors)]
        self._last = sys.maxsize if last is None else last
        self._room = self._full = 1 + self._last // 4  # raw tuples until it has to look at them, and in this chapter

    def __call__(self, event: Event) -> None:
        if self._dead:
            self._bury()
        kind = event[0]
        # A task that began before anybody listened stays unheard: its graph is not known.
        if kind not in _OF_A_TASK or getattr(event[1], "_tag", None) in self._tasks:
            if len(self._raw) >= self._room:
                self._turn(kind)
            HEAR[kind](self, *event[1:])

    def watch(self, on: bool) -> None:
        """From now on note which nodes are gone; or no longer."""
        self._bury()
        self._lives = {} if on else None

    def _bury(self) -> None:
        """Put down the nodes that were let go since the last event."""
        if self._dead and self._lives is not None:
            dead = [self._dead.pop(0).key for _ in range(len(self._dead))]
            for serial in dead:
                self._lives.pop(serial, None)
            self._raw.append(("died", tuple(dead)))

    def records(self, count: int | None = None) -> list[Record]:
        """Everything heard so far, or up to when `count` was this number: nothing, if all that was let go."""
        self._bury()
        self._let_go()
        if len(self._names) != self._named:  # a name belongs to its tensor from the beginning
            self._reader, self._named = Reader(self._names), len(self._names)
        records = self._reader.read(self._raw)
        if count is None:
            return records
        left = count - self._gone
        return records[: left + bool(self._gone)] if left > 0 else []

    @property
    def count(self) -> int:
        """How many records there were so far."""
        return self._gone + len(self._raw) - bool(self._gone)  # the first then tells of those that are gone

    def _changed(self, at: int) -> None:
        if self._reader.read_already > at:
            self._reader = Reader(self._names)

    def id_of(self, serial: int) -> str | None:
        """The id by which the records speak of a node or a tensor, if they do."""
        self.records()
        return self._reader.id_of(serial)

    def aside(self, event: Event) -> list[Record]:
        """The records that an event would add, which are not kept."""
        self.records()
        begin = len(self._raw)
        self(event)
        told = [self._reader.record(each) for each in self._raw[begin:]]
        del self._raw[begin:]
        return told

    def known(self) -> tuple[set[int], set[int]]:
        """The nodes and tensors that it has told of so far."""
        return self._nodes.copy(), self._tensors.copy()

    def unlearn(self, known: tuple[set[int], set[int]]) -> None:
        """Know no others than these any more: what has told of them is taken back."""
        self._nodes &= known[0]
        self._tensors &= known[1]
        self._reader.unlearn(known[1])

    def show(self, tensor: Any, frame: FrameType | None) -> None:
        """Note the graph that made a tensor, as it is."""
        if tensor._meta is None or tensor._meta.creation == "default":
            tensor.grad_fn  # noqa: B018  a view's is made anew, if that was written
        maker = maker_of(tensor)
        if maker is not None:
            self._find(maker)
            self._meet(reached_from(maker))
        self.look_up(frame)
        found: dict[int, tuple[Any, ...]] = {}
        self._describe(tensor, found)
        self._raw.append(("found", tuple(found.values())))
        self._raw.append(("shown", tensor._tag, line_of(frame)))

    # The last events only.

    def _turn(self, kind: str) -> None:
        """Let old chapters go; begin another, if this is long enough and the next event a good one to begin with."""
        self._let_go()
        if self._is_full(kind):
            self._begin()
        self._room = min(max(len(self._raw), self._chapters[-1].begin + self._full), self._last)

    def _is_full(self, kind: str) -> bool:
        begin = self._chapters[-1].begin
        size = len(self._raw) - begin
        if size < self._full or not self._is_at_rest():
            return False
        if size < self._last // 2 and not (kind in _BEGINS and self._is_over()):
            return False
        # Of a large graph all nodes may have to be put down again: not more often than as many others were.
        again = 2 * sum([each[0] == "created" and each[4] for each in self._raw[begin:]])
        self._full = max(self._full, again)
        return size >= again

    def _begin(self) -> None:
        self._before = [chapter.tensors for chapter in self._chapters]
        self._nodes, self._tensors, self._levels, self._tasks = set(), set(), set(), set()
        self._guests = {}
        self._chapters.append(Chapter(len(self._raw), next_tag(), self._tensors))
        self._full = 1 + self._last // 4

    def _is_at_rest(self) -> bool:
        """Whether nothing is going on whose parts belong together."""
        # Tangents of dual tensors are no hindrance: an error may have ended that without a word.
        busy = self._open or self._repeating or any([level for _, level in self._pushing])
        return not busy and all(task() is None for task in self._going)

    def _is_over(self) -> bool:
        """Whether a backward or a transform was the last, but for what was written since."""
        return next((each[0] for each in reversed(self._raw) if each[0] not in _AFTER), "") in _ENDS

    def _let_go(self) -> None:
        """Let the oldest chapters go, as long as half of the events wanted, or more, are in the others."""
        chapters = self._chapters
        while len(chapters) > 1 and len(self._raw) > self._last <= 2 * (len(self._raw) - chapters[1].begin):
            del chapters[0]
            begin, serial = chapters[0].begin, chapters[0].serial
            self._gone += begin - bool(self._gone)
            self._raw[:begin] = [("gone", self._gone)]
            for chapter in chapters:
                chapter.begin -= begin - 1
            known = set().union(*[chapter.tensors for chapter in chapters])
            for facts in (self._names, self._unlinked, self._detached):
                for old in [each for each in facts if each < serial and each not in known]:
                    del facts[old]
            self._before = [chapter.tensors for chapter in chapters[:-1]]
            self._reader, self._named = Reader(self._names), len(self._names)
