"""A recording of PyTorch that starts and ends anywhere in a program, and notices each backward pass meanwhile.

A `with` block ends where it started. This recording may start and end within a hook, between the program's own modes
and recordings: it removes its own parts from among them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from .recorder import TorchRecorder, TorchRecording, _open

__tracebackhide__ = True  # of what fails in a test, pytest shows no frame of this file


class StepsRecording(TorchRecording):
    """A recording from `start` to `end`, wherever these are called."""

    _recorder: TorchRecorder

    def start(self, frame: FrameType, most: int) -> Any:
        """Start recording outside all present modes and recordings, and return the trace.

        `frame` is the program's outermost. At `most` so many backward passes of other threads are recorded, as their
        steps end no recording.
        """
        trace = self.__enter__()
        self._recorder = recorder = self._open[-1]
        recorder.sampler.begin(frame)
        if recorder._turns is not None:
            recorder._turns.most = most
        others = recorder._open_here()[:-1]
        if others or torch._C._len_torch_function_stack() > 1:
            for each in (recorder, *reversed(others)):
                each._pause()
            _open.remove(recorder)
            _open.insert(0, recorder)
            recorder._mode_at = 0
            for each in others:
                each._mode_at = None if each._mode_at is None else each._mode_at + 1  # ours is below it
            for each in (recorder, *others):
                each._go_on()
        return trace

    def end(self, frame: FrameType) -> None:
        """Stop recording, and read a frame's variables; the program's own recordings continue."""
        recorder = self._recorder
        recorder.look_up(frame)
        if recorder in _open:
            recorder.suspend()
            _open.remove(recorder)
            recorder.resume()
        self.__exit__()

    def when_outside(self, action: Callable[[], None]) -> None:
        """Run this as soon as no operation and no backward pass is running: during these the mode is elsewhere."""
        mode, before = self._recorder._mode, sys.getprofile()
        stack = torch.overrides._get_current_function_mode_stack
        file = TorchRecorder.run_backward.__code__.co_filename  # the file of frames that a backward pass has here

        def is_outside(frame: FrameType | None) -> bool:
            if mode not in stack():
                return False
            while frame is not None and frame.f_code.co_filename != file:
                frame = frame.f_back
            return frame is None

        def look(frame: FrameType, event: str, given: Any) -> None:
            if is_outside(frame):
                sys.setprofile(before)
                action()

        if is_outside(sys._getframe()):
            action()
        else:
            sys.setprofile(look)


class BackwardWatch:
    """Call an action after each of this thread's outermost backward passes; `remove` ends it.

    It stays from the start to the end, below what a recording puts in the same place.
    """

    def __init__(self, action: Callable[[], None]) -> None:
        self._places: tuple[Any, ...] = torch.autograd, torch.autograd.graph
        self._is_on = True
        inner = self._inner = torch.autograd.graph._engine_run_backward
        thread, going = threading.get_ident(), False

        def run(*args: Any, **kwargs: Any) -> Any:
            nonlocal going
            if going or not self._is_on or threading.get_ident() != thread:
                return inner(*args, **kwargs)
            going = True
            try:
                found = inner(*args, **kwargs)
            finally:
                going = False
            action()
            return found

        self._own = run
        for place in self._places:
            place._engine_run_backward = run

    def remove(self) -> None:
        """Stop calling it, and restore the original, unless other code has replaced it since."""
        self._is_on = False
        for place in self._places:
            if place._engine_run_backward is self._own:
                place._engine_run_backward = self._inner
