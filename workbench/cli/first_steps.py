"""Records some steps of a program that knows nothing of it, of whichever engine it uses.

Nothing is imported for that: the workbench's own engine is listened to from the beginning, and PyTorch is recorded once
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
from workbench.recording import Trace, record
from workbench.trace.records import BackwardStarted
from workbench.trace.stacks import is_nested_step

PATIENCE = 100  # backwards without a step of the optimiser that is there: it may never take one
LOST = "workbench: the recording was lost: {}: {}"


def guarded(action: Callable[[], None]) -> None:
    """Do this within the program, which is not to know of an error in it."""
    try:
        action()
    except Exception as error:
        print(LOST.format(type(error).__name__, error), file=sys.stderr)


class EngineSteps:
    """The steps of one engine's program, and its trace from the step `first` to the step `last`, both counted from 0.

    A step is an optimiser's, of which the program may have several. Where it has none, it is a backward.
    """

    name = ""  # of the engine

    def __init__(self, frame: FrameType, first: int, last: int | None, lines: bool, done: Callable[[], None]) -> None:
        self._frame, self._first, self._last, self._lines, self._done = frame, first, last, lines, done
        self._thread = threading.get_ident()
        self._updates = self._backwards = 0
        self.trace: Trace | None = None
        self._is_on = True
        if first == 0:
            self._begin()

    @property
    def steps(self) -> int:
        """How many were taken."""
        return self._updates or (0 if self._optimizes() else self._backwards)

    @property
    def has_backward(self) -> bool:
        """Whether a backward was recorded."""
        return self.trace is not None and any(isinstance(event, BackwardStarted) for event in self.trace.events)

    def updated(self, *_: Any) -> None:
        """An optimiser has taken a step."""
        if self._is_on and threading.get_ident() == self._thread and not is_nested_step():
            self._updates += 1
            self._reached(self._updates)

    def ran_backward(self) -> None:
        """A backward is over."""
        self._backwards += 1
        if not self._is_on or self._updates:
            return
        if self._backwards in (self._first, self._last) and not self._optimizes():
            self._reached(self._backwards)
        elif self.trace is not None and self._last is not None and self._backwards == self._last + PATIENCE:
            guarded(self._finish)

    def _reached(self, step: int) -> None:
        if step == self._first:
            guarded(self._begin)
        elif step == self._last:
            guarded(self._finish)

    def _optimizes(self) -> bool:
        """Whether the program has an optimiser."""
        kind = self._optimizer()
        return any(issubclass(type(each), kind) for each in gc.get_objects())

    def end(self) -> None:
        """Record and count no longer."""
        if self._is_on:
            self._is_on = False
            if self.trace is not None:
                self._stop()

    # What an engine has of its own.

    def _optimizer(self) -> type:
        """The class of all its optimisers."""
        raise NotImplementedError

    def _begin(self) -> None:
        """Begin to record."""
        raise NotImplementedError

    def _stop(self) -> None:
        """Record no longer."""
        raise NotImplementedError

    def _finish(self) -> None:
        """The last step was taken."""
        self._done()

    def leave(self) -> None:
        """Leave nothing behind."""
        self.end()


class _StepsRecord(record):
    """A recording whose outermost frame is given."""

    def begin(self, frame: FrameType) -> Trace:
        trace = self.__enter__()
        self._open[0].sampler.begin(frame)
        return trace

    def end(self, frame: FrameType) -> None:
        self._open[0].look_up(frame)
        self.__exit__(None, None, None)


class WorkbenchSteps(EngineSteps):
    """Those of a program of the workbench's own engine."""

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
        """Leave nothing behind."""
        super().leave()
        self._hook.remove()
        if self._hear in listeners:
            listeners.remove(self._hear)


class TorchSteps(EngineSteps):
    """Those of a program of PyTorch's."""

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
        self.trace = self._recording.start(self._frame)

    def _finish(self) -> None:
        self._recording.when_outside(self._done)

    def _stop(self) -> None:
        self._recording.end(self._frame)

    def leave(self) -> None:
        """Leave nothing behind."""
        super().leave()
        self._watch.remove()
        self._hook.remove()


class FirstSteps:
    """The steps of a program from `first` to `last`, of the engine that takes most of them; `done` is told of the last.

    A `last` of None is the end of the program.
    """

    def __init__(
        self, first: int = 0, last: int | None = None, lines: bool = False, done: Callable[[], None] | None = None
    ) -> None:
        self._told = first, last, lines, self._done
        self._when_done = done
        self._process = os.getpid()
        self.engines: list[EngineSteps] = []
        self._import: _ImportWatch | None = None
        self._before: Any = None
        self._looks: Any = None

    def begin_with(self, is_outermost: Callable[[FrameType], bool]) -> None:
        """Begin with the program's outermost frame, of which it is told whether a frame is it."""
        self._before = before = sys.getprofile()

        def look(frame: FrameType, event: str, given: Any) -> None:
            if event == "call" and is_outermost(frame):
                sys.setprofile(before)
                guarded(lambda: self._begin(frame))

        self._looks = look
        sys.setprofile(look)

    def _begin(self, frame: FrameType) -> None:
        _running.append(self)
        self.engines.append(WorkbenchSteps(frame, *self._told))
        self._import = _ImportWatch("torch", lambda: self.engines.append(TorchSteps(frame, *self._told)))

    def _done(self) -> None:
        guarded(self.end)
        if self._when_done is not None:
            guarded(self._when_done)

    def end(self) -> None:
        """Record no longer."""
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
        """Whether this is no forked child."""
        return self._process == os.getpid()

    @property
    def most(self) -> EngineSteps | None:
        """The engine of which a backward was recorded, the one that took most steps if both were."""
        found = [each for each in self.engines if each.has_backward]
        return max(found, key=lambda each: each.steps, default=None)


_running: list[FirstSteps] = []


def _leave_all() -> None:
    """A forked child, as one that loads data, is not recorded."""
    for each in tuple(_running):
        each.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)


class _ImportWatch:
    """Calls an action once a module is imported, before who imports it goes on."""

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self._name, self._action = name, action
        if name in sys.modules:
            action()
        else:
            sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """What finds the module, made to tell of it."""
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
        """Tell of nothing."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
