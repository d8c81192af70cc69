"""Record the lines that a custom Function's methods run, with Python's own monitoring.

From Python 3.12 on this uses `sys.monitoring`, as a tool next to any debugger. Before, it uses `sys.settrace`, of which
a thread has only one: if a debugger or a coverage tool has it, nothing is watched, and it stays as it is.
"""

from __future__ import annotations

import inspect
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Protocol

import numpy as np

from ...events import next_tag
from .call_records import LineReached, MethodCalled, MethodEnded
from .formulas import METHODS
from .recorder import Recorder, recording_lock
from .schema import Raw
from .source import OWN
from .variables import class_of
from .workbench_engine import version_of

_BUSY = "The lines of Functions are not recorded: a debugger or a coverage tool traces this thread already."


class Watcher(Protocol):
    """Receive events of the functions it wants; it must not keep their frames."""

    def wants(self, code: CodeType) -> bool:
        """Return True if this function should be watched."""
        ...

    def called(self, frame: FrameType) -> None:
        """Note that it begins."""

    def reached(self, frame: FrameType) -> None:
        """Note that it is about to run the frame's current line."""

    def ended(self, frame: FrameType, value: Any, error: BaseException | None) -> None:
        """Note that it returns a value, or that an error leaves it."""


_watchers: list[Watcher] = []


def watch(watcher: Watcher) -> None:
    """Start reporting to the watcher."""
    with recording_lock:
        _watchers.append(watcher)
        if len(_watchers) == 1:
            _begin()


def unwatch(watcher: Watcher) -> None:
    """Stop reporting to the watcher; after the last one nothing is traced. Calling it twice is the same as once."""
    with recording_lock:
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
    _NAME = "workbench"
    _tool: int | None = None
    _lines: dict[CodeType, None] = {}  # whose lines are reported

    def _begin() -> None:
        global _tool
        free = [id for id in (3, 4) if sys.monitoring.get_tool(id) is None]  # those without a conventional owner
        if not free:
            warnings.warn(_BUSY, RuntimeWarning, stacklevel=4)
            return
        _tool = free[0]
        sys.monitoring.use_tool_id(_tool, _NAME)
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
        if _tool is not None and sys.monitoring.get_tool(_tool) == _NAME:  # else an interrupt came after that
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
            warnings.warn(_BUSY, RuntimeWarning, stacklevel=4)
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
            threading.settrace(None)  # type: ignore[arg-type, unused-ignore]


_LONGEST = 60  # characters of a text that a variable holds
_MOST = 6  # items told of a list


class LineWatcher:
    """The part of a recorder that watches the methods of all subclasses of `function`, of whatever engine it is."""

    _raw: list[Raw]
    _copy: Callable[[Any], Any]
    _is_tensor: Callable[[Any], bool]

    def __init__(self, function: type, *args: Any) -> None:
        super().__init__(*args)
        self._function = function
        self._codes: dict[CodeType, tuple[type, str] | None] = {}  # None: no method of a Function
        self._methods: dict[FrameType, _Call] = {}
        # ctx -> its number, and by position the variables that held what it has saved
        self._ctxs: weakref.WeakKeyDictionary[Any, tuple[int, dict[int, str]]] = weakref.WeakKeyDictionary()

    def wants(self, code: CodeType) -> bool:
        """Return True if it is a method that the user wrote in a Function."""
        try:
            return self._codes[code] is not None
        except KeyError:
            self._codes[code] = found = None if code.co_filename.startswith(OWN) else self._method(code)
            return found is not None

    def _method(self, code: CodeType) -> tuple[type, str] | None:
        todo = [self._function]
        while todo:
            cls = todo.pop()
            todo += type.__subclasses__(cls)
            for name in METHODS:
                method = vars(cls).get(name)
                if method is not None:
                    function = inspect.unwrap(getattr(method, "__func__", method))
                    if getattr(function, "__code__", None) is code:
                        return cls, name
        return None

    def called(self, frame: FrameType) -> None:
        """Note which method begins."""
        cls, method = self._codes[frame.f_code] or (object, "")
        call = self._methods[frame] = _Call(next_tag(), _ctx(frame))
        number = node = None
        if call.ctx is not None:
            cls = getattr(call.ctx, "_forward_cls", cls)
            number, _ = self._known_ctx(call.ctx)
            node = self._number_of(call.ctx)
        self._raw.append((MethodCalled, call.serial, cls.__name__, method, number, node, frame.f_code))

    def reached(self, frame: FrameType) -> None:
        """Note what is new since the line before."""
        call = self._methods[frame]
        self._raw.append((LineReached, call.serial, frame.f_lineno, *self._changes(call, frame)))

    def ended(self, frame: FrameType, value: Any, error: BaseException | None) -> None:
        """Note what it returns, or which error leaves it."""
        call = self._methods.pop(frame)
        variables, _, ctx = self._changes(call, frame)
        several: Any = value if value.__class__ is tuple else (value,)
        returned = () if error is not None else tuple([self._held("", each) for each in several])
        words = "" if error is None else f"{type(error).__name__}: {error}"
        self._raw.append((MethodEnded, call.serial, variables, ctx, returned, words))

    # What differs from engine to engine.

    def _version(self, tensor: Any) -> int:
        return version_of(tensor)

    def _number_of(self, ctx: Any) -> int | None:
        """Return the serial number of the node that a ctx is, if it is known."""
        raise NotImplementedError

    def _saved_by(self, ctx: Any) -> list[Any]:
        """Return the tensors that a ctx has saved, or will save."""
        raise NotImplementedError

    # What methods do.

    def _known_ctx(self, ctx: Any) -> tuple[int, dict[int, str]]:
        if ctx not in self._ctxs:
            self._ctxs[ctx] = next_tag(), {}
        return self._ctxs[ctx]

    def _changes(self, call: _Call, frame: FrameType) -> tuple[Any, Any, Any]:
        here = {name: thing for name, thing in frame.f_locals.items() if thing is not call.ctx}
        variables: list[Any] = []
        for name, thing in here.items():
            look = self._look(thing)
            if name not in call.looks or not _same(call.looks[name], look):
                call.looks[name] = look
                variables.append(self._held(name, thing))
        gone = tuple([name for name in call.looks if name not in here])
        for name in gone:
            del call.looks[name]
        ctx = None
        if call.ctx is not None:
            held = self._contents(call.ctx, here, self._known_ctx(call.ctx)[1])
            looks = [(name, self._look(thing)) for name, thing in held]
            if call.held is None or len(looks) != len(call.held) or not all(map(_same, looks, call.held)):
                call.held = looks
                ctx = tuple([self._held(name, thing) for name, thing in held])
        return tuple(variables), gone, ctx

    def _held(self, name: str, thing: Any) -> tuple[str, Any, str]:
        """Return a variable's name, a copy of the array it holds, or a text."""
        if isinstance(thing, np.ndarray) or self._is_tensor(thing):
            return name, self._copy(thing), ""
        return name, None, _text(thing)

    def _look(self, thing: Any) -> Any:
        """Return what shows that a variable now holds something else, without keeping a tensor alive."""
        if _is_array(thing):
            return thing.copy()
        if self._is_tensor(thing):
            return weakref.ref(thing), self._version(thing)
        return _text(thing)

    def _contents(self, ctx: Any, variables: dict[str, Any], names: dict[int, str]) -> list[tuple[str, Any]]:
        """Return what ctx holds: the tensors to save, its other settings, and its attributes."""
        held: list[tuple[str, Any]] = []
        for nr, thing in enumerate(self._saved_by(ctx)):
            if self._is_tensor(thing):
                own = next((name for name, other in variables.items() if other is thing), None)
                names.setdefault(nr, own or "")
            held.append((f"saved {names[nr]}" if names.get(nr) else f"saved_tensors[{nr}]", thing))
        methods = {"saved_for_forward": "save_for_forward", "dirty_tensors": "mark_dirty"}
        methods |= {"non_differentiable": "mark_non_differentiable"}
        for attribute, word in methods.items():
            marked = getattr(ctx, attribute, None)
            if marked:
                held.append((word, tuple(marked)))
        attributes = [pair for pair in getattr(ctx, "__dict__", {}).items() if not pair[0].startswith("_")]
        held += [pair for pair in attributes if pair[0] not in ("to_save", *methods)]
        needs = getattr(ctx, "needs_input_grad", None)
        return held if needs is None else [*held, ("needs_input_grad", needs)]


class LineRecorder(LineWatcher, Recorder):
    """A recorder that also watches the methods of Functions."""

    def called(self, frame: FrameType) -> None:
        """Note which method begins."""
        if len(self._raw) >= self._room:
            self._turn(True)
        super().called(frame)

    def _is_at_rest(self) -> bool:
        return not self._methods and super()._is_at_rest()

    def _number_of(self, ctx: Any) -> int | None:
        node = getattr(ctx, "_tag", None)
        return node if node in self._nodes else None

    def _saved_by(self, ctx: Any) -> list[Any]:
        waiting = getattr(ctx, "to_save", None)
        if waiting is not None:
            return list(waiting)
        return [thing for _, thing, _ in ctx.saved_items()] if hasattr(ctx, "saved_items") else []


class _Call:
    """One run of a method."""

    def __init__(self, serial: int, ctx: Any) -> None:
        self.serial, self.ctx = serial, ctx
        self.looks: dict[str, Any] = {}  # how the variables looked at the line before
        self.held: list[Any] | None = None  # and what ctx held


def _is_array(thing: object) -> bool:
    return isinstance(thing, np.ndarray)


def _ctx(frame: FrameType) -> Any:
    """Return the first argument, if it is a ctx."""
    code = frame.f_code
    first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    return first if hasattr(class_of(first), "save_for_backward") else None


def _same(one: Any, other: Any) -> bool:
    kind = class_of(one)
    if kind is not class_of(other):
        return False
    if kind is tuple:
        return len(one) == len(other) and all(map(_same, one, other))
    if _is_array(one):
        return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()
    if kind is weakref.ref:
        return one() is other() is not None
    return bool(one == other)


def _text(thing: Any) -> str:
    """Return a plain thing as written; for anything else its type, because asking it might run user code."""
    kind = class_of(thing)
    if kind in (int, float, bool, type(None)):
        return repr(thing)
    if kind is str:
        return repr(thing if len(thing) <= _LONGEST else thing[: _LONGEST - 1] + "…")
    if hasattr(kind, "_array") or hasattr(kind, "grad_fn"):
        return f"tensor {tuple(thing.shape)}"
    if kind in (tuple, list):
        items = [_text(each) for each in thing[:_MOST]] + ["…"] * (len(thing) > _MOST)
        return f"[{', '.join(items)}]" if kind is list else f"({', '.join(items)}{',' * (len(items) == 1)})"
    return thing.__name__ if isinstance(thing, type) else f"a {kind.__name__}"
