"""Record some steps of a program that doesn't know about it, for either engine.

Nothing is imported for that: the workbench's own engine is listened to from the start, and PyTorch is recorded once
the program has imported it.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from workbench.events import Event, listeners
from workbench.optim.optimizer import Optimizer, register_optimizer_step_post_hook
from workbench.pictures.recording import Trace, record
from workbench.pictures.trace.backward_records import BackwardStarted
from workbench.pictures.trace.raw_events import Ended
from workbench.pictures.trace.stacks import is_nested_step

PATIENCE = 100  # backward passes without a step of the existing optimizer, which may never take one
LOOKED_FOR = 8  # backward passes that each look for an optimizer
LOST = "workbench: the recording was lost: {}: {}"


def guarded(action: Callable[[], None]) -> None:
    """Run this inside the program, and hide its errors from the program."""
    try:
        action()
    except Exception as error:
        print(LOST.format(type(error).__name__, error), file=sys.stderr)


class EngineSteps:
    """The steps of one engine's program, and its trace from step `first` to step `last`, both counted from 0.

    A step is that of an optimizer; a program may have several. Without an optimizer it is a backward pass. After each
    recorded step, `took` is called with it.
    """

    name = ""  # of the engine

    def __init__(
        self,
        frame: FrameType,
        first: int,
        last: int | None,
        lines: bool,
        done: Callable[[], None],
        took: Callable[[EngineSteps], None] | None,
    ) -> None:
        self._frame, self._first, self._last, self._lines, self._done, self._took = (
            frame,
            first,
            last,
            lines,
            done,
            took,
        )
        self._thread = threading.get_ident()
        self._updates = self._backwards = self._waited = 0
        self.elsewhere = 0  # steps that another thread took, which are recorded but end nothing
        self._known_optimizer = False
        self.recorded = 0  # steps in the trace, if `took` is called for them
        self.trace: Trace | None = None
        self._is_on = True
        if first == 0:
            self._begin()

    @property
    def steps(self) -> int:
        """The number of steps taken."""
        return self._updates or (0 if self._optimizes() else self._backwards)

    @property
    def has_backward(self) -> bool:
        """True if a backward pass was recorded."""
        return self.trace is not None and any(isinstance(event, BackwardStarted) for event in self.trace.events)

    def updated(self, *_: Any) -> None:
        """Count a step of an optimizer."""
        if not self._is_on or is_nested_step():
            return
        if threading.get_ident() != self._thread:
            self.elsewhere += 1
        else:
            self._updates += 1
            self._reached(self._updates)

    def ran_backward(self) -> None:
        """Count a backward pass that has finished."""
        self._backwards += 1
        self._waited += 1
        if self._is_on and self._took is not None and self._waited > PATIENCE:
            guarded(lambda: self._outside(self.begin_anew))
        if not self._is_on or self._updates:
            return
        told = self._took is not None and self._backwards > self._first and not self._has_optimizer()
        if told or (self._backwards in (self._first, self._last) and not self._optimizes()):
            self._reached(self._backwards)
        elif self.trace is not None and self._last is not None and self._backwards == self._last + PATIENCE:
            guarded(lambda: self._outside(self._done))

    def _reached(self, step: int) -> None:
        self._waited = 0
        if step == self._first:
            guarded(self._begin)
        elif step == self._last:
            guarded(lambda: self._outside(self._done))
        elif self._took is not None and self.trace is not None:
            self.recorded += 1
            took = self._took
            guarded(lambda: self._outside(lambda: took(self)))

    def _optimizes(self) -> bool:
        """Return True if the program has an optimizer."""
        kind = self._optimizer()
        return any(issubclass(type(each), kind) for each in gc.get_objects())

    def _has_optimizer(self) -> bool:
        """Return True if there is an optimizer; asked at each backward pass, it looks less and less often."""
        count = self._backwards
        if not self._known_optimizer and (count - self._first <= LOOKED_FOR or not count & (count - 1)):
            self._known_optimizer = self._optimizes()
        return self._known_optimizer

    def begin_anew(self) -> None:
        """Drop the recording so far, and start again."""
        if self._is_on and self.trace is not None:
            self._stop()
            self.recorded = self._waited = 0
            self._begin()

    def end(self) -> None:
        """Stop recording and counting."""
        if self._is_on:
            self._is_on = False
            if self.trace is not None:
                self._stop()

    # What an engine has of its own.

    def _optimizer(self) -> type:
        """Return the base class of all optimizers."""
        raise NotImplementedError

    def _begin(self) -> None:
        """Start recording."""
        raise NotImplementedError

    def _stop(self) -> None:
        """Stop recording."""
        raise NotImplementedError

    def _outside(self, action: Callable[[], None]) -> None:
        """Run this where nothing that is being recorded is in progress."""
        action()

    def leave(self) -> None:
        """Remove every trace of the recorder."""
        self.end()


class _StepsRecord(record):
    """A recording whose outermost frame is given."""

    def begin(self, frame: FrameType) -> Trace:
        trace = self.__enter__()
        self._open[0].sampler.begin(frame)
        return trace

    def end(self, frame: FrameType) -> None:
        self._open[0].look_up(frame)
        self.__exit__(Ended, Ended(), None)


class WorkbenchSteps(EngineSteps):
    """The steps of a program of the workbench's own engine."""

    name = "the workbench"

    def __init__(self, *args: Any) -> None:
        self._going = 0  # backwards, each within the one before
        super().__init__(*args)
        self._hook = register_optimizer_step_post_hook(self.updated)
        if self.trace is None:
            listeners.append(self._hear)

    def _hear(self, event: Event) -> None:
        if threading.get_ident() != self._thread:
            return
        if event[0] == "backward":
            self._going += 1
        elif event[0] == "failed":
            self._going = 0
        elif event[0] == "finished":
            self._going = max(0, self._going - 1)
            if not self._going:
                self.ran_backward()

    def _optimizer(self) -> type:
        return Optimizer

    def _begin(self) -> None:
        if self._hear in listeners:
            listeners.remove(self._hear)
        self._recording = _StepsRecord(lines=self._lines)
        self.trace = self._recording.begin(self._frame)
        listeners.append(self._hear)  # after the recorder, so that what it hears is recorded

    def _stop(self) -> None:
        self._recording.end(self._frame)

    def leave(self) -> None:
        """Remove every trace of the recorder."""
        super().leave()
        self._hook.remove()
        if self._hear in listeners:
            listeners.remove(self._hear)


class TorchSteps(EngineSteps):
    """The steps of a PyTorch program."""

    name = "PyTorch"

    def __init__(self, *args: Any) -> None:
        from torch.optim.optimizer import register_optimizer_step_post_hook

        from workbench.bridges.torch.steps import BackwardWatch

        self._watch = BackwardWatch(self.ran_backward)
        super().__init__(*args)
        self._hook = register_optimizer_step_post_hook(self.updated)

    def _optimizer(self) -> type:
        from torch.optim import Optimizer

        return Optimizer

    def _begin(self) -> None:
        from workbench.bridges.torch.steps import StepsRecording

        self._recording = StepsRecording(Trace, lines=self._lines)
        self.trace = self._recording.start(self._frame, PATIENCE if self._last is None else self._last - self._first)

    def _outside(self, action: Callable[[], None]) -> None:
        self._recording.when_outside(action)

    def _stop(self) -> None:
        self._recording.end(self._frame)

    def leave(self) -> None:
        """Remove every trace of the recorder."""
        super().leave()
        self._watch.remove()
        self._hook.remove()


class FirstSteps:
    """The steps of a program from `first` to `last`, of the engine that takes most; `done` is called after the last.

    If `last` is None, it is the end of the program. `took` is called after each recorded step.
    """

    def __init__(
        self,
        first: int = 0,
        last: int | None = None,
        lines: bool = False,
        done: Callable[[], None] | None = None,
        took: Callable[[EngineSteps], None] | None = None,
    ) -> None:
        self._options = first, last, lines, self.finish, took
        self._when_done = done
        self._process = os.getpid()
        self.engines: list[EngineSteps] = []
        self._import: ImportWatch | None = None
        self._before: Any = None
        self._looks: Any = None

    def begin_with(self, is_outermost: Callable[[FrameType], bool]) -> None:
        """Start at the program's outermost frame, which the given function recognizes."""
        self._before = before = sys.getprofile()

        def look(frame: FrameType, event: str, given: Any) -> None:
            if event == "call" and is_outermost(frame):
                sys.setprofile(before)
                guarded(lambda: self._begin(frame))

        self._looks = look
        sys.setprofile(look)

    def _begin(self, frame: FrameType) -> None:
        _running.append(self)
        self.engines.append(WorkbenchSteps(frame, *self._options))
        self._import = ImportWatch("torch", lambda: self.engines.append(TorchSteps(frame, *self._options)))

    def finish(self) -> None:
        """Stop recording, and call `done`."""
        guarded(self.end)
        if self._when_done is not None:
            guarded(self._when_done)

    def end(self) -> None:
        """Stop recording."""
        for each in self.engines:
            each.end()

    def leave(self) -> None:
        """Leave nothing behind in the program's process."""
        if sys.getprofile() is self._looks:
            sys.setprofile(self._before)
        if self._import is not None:
            self._import.remove()
        for each in self.engines:
            each.leave()
        with suppress(ValueError):
            _running.remove(self)

    @property
    def is_of_this_process(self) -> bool:
        """Return True unless this is a forked child."""
        return self._process == os.getpid()

    @property
    def most(self) -> EngineSteps | None:
        """Return the engine with a recorded backward pass; if both have one, the engine that took most steps."""
        found = [each for each in self.engines if each.has_backward]
        return max(found, key=lambda each: each.steps, default=None)


_running: list[FirstSteps] = []


def _leave_all() -> None:
    """Stop recording in a forked child, such as one that loads data."""
    for each in tuple(_running):
        each.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)


class ImportWatch:
    """Call a function once a module is imported, before the importing code continues."""

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self._name, self._action = name, action
        if name in sys.modules:
            action()
        else:
            sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of the module, with a loader that reports the import."""
        if name != self._name:
            return None
        self.remove()
        spec = importlib.util.find_spec(name)
        loader: Any = None if spec is None else spec.loader
        if loader is None:
            return spec
        inner = loader.exec_module

        def exec_module(module: Any) -> None:
            del loader.exec_module
            inner(module)
            guarded(self._action)

        loader.exec_module = exec_module
        return spec

    def remove(self) -> None:
        """Report nothing any longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
