"""Python's own reports of the lines it runs, for those who watch certain functions.

From Python 3.12 on by `sys.monitoring`, as a tool beside any debugger; before that by `sys.settrace`, of which a thread
has only one: where a debugger or a coverage tool has it, nothing is watched, and it stays as it is.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from types import CodeType, FrameType
from typing import Any, Protocol

BUSY = "The lines of Functions are not recorded: a debugger or a coverage tool traces this thread already."


class Watcher(Protocol):
    """Who is told of the functions it wants; the frame is of no use to it afterwards."""

    def wants(self, code: CodeType) -> bool:
        """Whether this function is to be watched."""

    def called(self, frame: FrameType) -> None:
        """It begins."""

    def reached(self, frame: FrameType) -> None:
        """It is about to run the line that the frame is at."""

    def ended(self, frame: FrameType, value: Any, error: BaseException | None) -> None:
        """It returns a value, or an error leaves it."""


_watchers: list[Watcher] = []
_lock = threading.Lock()


def _renew_lock() -> None:
    """In a forked child nobody has it: who had it at the fork is in the parent."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_renew_lock)


def watch(watcher: Watcher) -> None:
    """From now on tell the watcher."""
    with _lock:
        _watchers.append(watcher)
        if len(_watchers) == 1:
            _begin()


def unwatch(watcher: Watcher) -> None:
    """Tell it no more; after the last one nothing is traced."""
    with _lock:
        if watcher in _watchers:
            _watchers.remove(watcher)
            if not _watchers:
                _end()


def _tell(what: str, frame: FrameType, *more: Any) -> None:
    """Tell whoever wants the function; one that raises loses this report, and the function goes on."""
    for watcher in tuple(_watchers):
        try:
            if watcher.wants(frame.f_code):
                getattr(watcher, what)(frame, *more)
        except Exception as error:
            lost = f"A line of {frame.f_code.co_name} was not recorded: {type(error).__name__}: {error}"
            warnings.warn(lost, RuntimeWarning, stacklevel=2)


def _wanted(code: CodeType) -> bool:
    return any([watcher.wants(code) for watcher in tuple(_watchers)])


if sys.version_info >= (3, 12):
    _events = sys.monitoring.events
    _tool: int | None = None
    _lines: dict[CodeType, None] = {}  # whose lines are reported

    def _begin() -> None:
        global _tool
        free = [id for id in (3, 4) if sys.monitoring.get_tool(id) is None]  # those that are nobody's by custom
        if not free:
            warnings.warn(BUSY, RuntimeWarning, stacklevel=4)
            return
        _tool = free[0]
        sys.monitoring.use_tool_id(_tool, "workbench")
        for event, callback in (
            (_events.PY_START, _started),
            (_events.LINE, lambda code, line: _tell("reached", sys._getframe(1))),
            (_events.PY_RETURN, lambda code, offset, value: _tell("ended", sys._getframe(1), value, None)),
            (_events.PY_UNWIND, _unwound),
        ):
            sys.monitoring.register_callback(_tool, event, callback)
        sys.monitoring.set_events(_tool, _events.PY_START | _events.PY_UNWIND)

    def _started(code: CodeType, offset: int) -> None:
        if _wanted(code):
            if code not in _lines and _tool is not None:
                _lines[code] = None
                sys.monitoring.set_local_events(_tool, code, _events.LINE | _events.PY_RETURN)
            _tell("called", sys._getframe(1))

    def _unwound(code: CodeType, offset: int, error: BaseException) -> None:
        if code in _lines:
            _tell("ended", sys._getframe(1), None, error)

    def _end() -> None:
        global _tool
        if _tool is not None:
            for code in _lines:
                sys.monitoring.set_local_events(_tool, code, 0)
            _lines.clear()
            sys.monitoring.set_events(_tool, 0)
            for event in (_events.PY_START, _events.LINE, _events.PY_RETURN, _events.PY_UNWIND):
                sys.monitoring.register_callback(_tool, event, None)
            sys.monitoring.free_tool_id(_tool)
            _tool = None

else:
    _errors: dict[FrameType, BaseException] = {}  # on their way out of a watched function, or to its `except`

    def _begin() -> None:
        if sys.gettrace() is not None:
            warnings.warn(BUSY, RuntimeWarning, stacklevel=4)
            return
        sys.settrace(_trace)
        if threading.gettrace() is None:
            threading.settrace(_trace)

    def _trace(frame: FrameType, event: str, arg: Any) -> Any:
        if not _watchers:  # a thread that was still running when the watching ended
            sys.settrace(None)
            return None
        if not _wanted(frame.f_code):
            return None
        _tell("called", frame)
        return _trace_line

    def _trace_line(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            _errors.pop(frame, None)  # caught
            _tell("reached", frame)
        elif event == "exception":
            _errors[frame] = arg[1]
        elif event == "return":
            _tell("ended", frame, arg, _errors.pop(frame, None))
        return _trace_line

    def _end() -> None:
        if sys.gettrace() is _trace:
            sys.settrace(None)
        if threading.gettrace() is _trace:
            threading.settrace(None)  # type: ignore[arg-type]
