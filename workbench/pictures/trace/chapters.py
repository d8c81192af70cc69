"""A recording that keeps about the last N events, in chapters that can be dropped one by one."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from ...events import next_tag
from .backward_records import BackwardFinished, Failed, GradChanged
from .call_records import LevelLeft
from .describer import Describer
from .forward_records import NodeCreated, TensorsFound
from .gap_records import EventsLetGo
from .memory_records import NodesGone
from .schema import Record, value_of
from .tensor_records import TensorWritten

# After these, and what is written or let go then, something new begins.
_ENDS = (BackwardFinished, LevelLeft, Failed)
_AFTER = (TensorWritten, GradChanged, NodesGone, TensorsFound)


def check_last(last: Any) -> None:
    """Raise an error for an invalid number of events to keep."""
    if last is None:
        return
    if not isinstance(last, int) or isinstance(last, bool):
        raise TypeError(
            f"record(last=...) takes how many events to keep, a whole number, but got {type(last).__name__}."
        )
    if last < 1:
        raise ValueError(f"record(last=...) takes how many events to keep, at least 1, but got {last}.")


@dataclass(slots=True)
class Chapter:
    """A part of a recording that only refers to its own records, so that earlier parts may be dropped."""

    begin: int  # its first raw tuple
    serial: int  # numbers below were given before it
    tensors: set[int]  # that it has told of


class InChapters(Describer):
    """Divide a recording into chapters of a quarter to a half of the `last` events, if it keeps only these.

    A chapter begins where no backward pass and no transform is in progress, if possible after the end of one, and
    forgets everything known: things that occur again are recorded again, as if the recording had begun there. The
    oldest chapter is dropped when the others are enough.
    """

    def _keep_last(self, last: int | None) -> None:
        """Keep about so many events, or all."""
        self._chapters = [Chapter(0, 0, self._tensors)]
        self._last = sys.maxsize if last is None else last
        self._room = self._full = 1 + self._last // 4  # raw tuples until it has to look at them, and in this chapter

    def records(self, count: int | None = None) -> list[Record]:
        """Return all records so far, or up to when `count` was this number: none, if all of those were dropped."""
        self._flush_deaths()
        self._let_go()
        return super().records(count)

    # What each engine's recorder says, and forgets, in its own way.

    def _is_at_rest(self) -> bool:
        """Return True if nothing is in progress whose parts belong together."""
        raise NotImplementedError

    def _forget_known(self) -> None:
        """Forget everything known: things that occur again will be recorded again."""
        raise NotImplementedError

    def _forget_older(self, serial: int, known: set[int]) -> None:
        """Forget what is kept of tensors with lower numbers, but for those that are known."""
        raise NotImplementedError

    # Chapters.

    def _turn(self, begins: bool) -> None:
        """Let old chapters go; begin another, if this is long enough and the next event a good one to begin with."""
        self._let_go()
        if self._is_full(begins):
            self._forget_known()
            self._chapters.append(Chapter(len(self._raw), next_tag(), self._tensors))
            self._told_before = [chapter.tensors for chapter in self._chapters[:-1]]
            self._full = 1 + self._last // 4
        self._room = min(max(len(self._raw), self._chapters[-1].begin + self._full), self._last)

    def _is_full(self, begins: bool) -> bool:
        begin = self._chapters[-1].begin
        size = len(self._raw) - begin
        early = size < self._last // 2
        if size < self._full or (early and not begins) or not self._is_at_rest():
            return False
        if early and not self._is_over():
            return False
        # All nodes of a large graph may have to be recorded again, but only after as many others were.
        again = 2 * sum([each[0] is NodeCreated and value_of(each, "found") for each in self._raw[begin:]])
        self._full = max(self._full, again)
        return size >= again

    def _is_over(self) -> bool:
        """Return True if a backward pass or a transform came last, apart from later writes."""
        return next((each[0] for each in reversed(self._raw) if each[0] not in _AFTER), None) in _ENDS

    def _let_go(self) -> None:
        """Let the oldest chapters go, as long as half of the events wanted, or more, are in the others."""
        chapters = self._chapters
        while len(chapters) > 1 and len(self._raw) > self._last <= 2 * (len(self._raw) - chapters[1].begin):
            del chapters[0]
            begin, serial = chapters[0].begin, chapters[0].serial
            self._gone += begin - bool(self._gone)
            self._raw[:begin] = [(EventsLetGo, self._gone)]
            for chapter in chapters:
                chapter.begin -= begin - 1
            self._forget_older(serial, set[int]().union(*[chapter.tensors for chapter in chapters]))
            self._told_before = [chapter.tensors for chapter in chapters[:-1]]
            self._read_anew()
