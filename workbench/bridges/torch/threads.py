"""Which threads a PyTorch recording records: the one that started it and, while that one waits, one other at a time.

A recorder records events one after the other, and PyTorch's means for it (modes, numbers of nodes) are per thread. So
threads take turns. A thread that computes while another one does isn't recorded, but its backward passes are counted.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from types import FrameType
from typing import Any
from weakref import WeakSet

import torch

from ...pictures.trace.source import OWN, is_users
from .describe import _sequence

ours: WeakSet[threading.Thread] = WeakSet()  # threads that the workbench itself runs, which are part of no recording

_TORCH = torch.__path__[0]


class Turns:
    """The turns of threads in a recording, from the start until `remove`."""

    def __init__(self, recorder: Any, mode: Any) -> None:
        self._recorder, self._mode = recorder, mode
        self._home, self._guest = threading.get_ident(), 0  # the thread that began it, and the other one, if any
        self._entered = {self._home}  # threads that have the mode
        self._firsts = {self._home: recorder._begin}  # by thread the number of its first node in the recording
        self._lock, self._is_over = threading.Lock(), False
        self.unheard: Counter[str] = Counter()  # backward passes, by the name of the thread
        self.most: int | None = None  # backward passes of other threads that are recorded
        self._passes, self._home_only = 0, False  # how many were recorded, and whether that is enough
        self._before = threading.getprofile()
        self._own = self._began
        threading.setprofile(self._own)

    def hears(self) -> bool:
        """Return True if this thread has its turn, or gets it now."""
        thread = threading.get_ident()
        if thread == self._home:
            if self._guest:
                self._turn_to(0)
            return not self._is_over
        return thread == self._guest or self._joins(thread)

    def _joins(self, thread: int) -> bool:
        with self._lock:
            busy = self._home_only or self._recorder.is_computing() or threading.current_thread() in ours
            if self._is_over or busy or not _waits(self._home) or (self._guest and not _waits(self._guest)):
                return False
            self._enter(thread)
            self._turn_to(thread)
            return True

    def _turn_to(self, guest: int) -> None:
        self._firsts[self._guest or self._home] = self._recorder._begin
        self._guest = guest
        self._recorder._begin = self._firsts.setdefault(guest or self._home, _sequence())

    def _enter(self, thread: int) -> None:
        if thread not in self._entered:
            self._entered.add(thread)
            self._firsts.pop(thread, None)
            torch.overrides._push_mode(self._mode)

    def _began(self, frame: FrameType, event: Any, given: Any) -> None:
        """Enter the mode in a new thread: Python calls this before the thread's code."""
        sys.setprofile(self._before)
        if not self._is_over and threading.current_thread() not in ours:
            thread = threading.get_ident()
            self._entered.discard(thread)  # an earlier thread, whose number this one has
            self._enter(thread)
        if self._before is not None:
            self._before(frame, event, given)

    def hears_backward(self) -> bool:
        """Return True if this thread has its turn at the start of a backward pass, and count the pass."""
        heard, thread = self.hears(), threading.current_thread()
        if heard and threading.get_ident() == self._guest:
            self._passes += 1
            if self.most is not None and self._passes > self.most:
                self._turn_to(0)
                heard, self._home_only = False, True
        if not heard and not self._is_over and thread not in ours:
            self.unheard[thread.name] += 1
        return heard

    def remove(self) -> None:
        """Record no thread any longer; a running thread keeps the mode, which does nothing from now on."""
        self._is_over, self._guest = True, 0
        if threading.getprofile() == self._own:
            threading.setprofile(self._before)  # type: ignore[arg-type]


def _waits(thread: int) -> bool:
    """Return True if a thread has finished, or waits: it runs code of neither the user nor PyTorch."""
    frame = sys._current_frames().get(thread)
    file = "" if frame is None else frame.f_code.co_filename
    return not (is_users(file) or file.startswith((_TORCH, *OWN))) if file else True
