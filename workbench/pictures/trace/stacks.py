"""The frames of the running program: which are the user's, what their variables hold, and a stack taken down."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from .listing import GENERATOR, Listing, Spot, listing, listings
from .source import LAYERS, Line, is_engines, is_users, line_text
from .variables import COPIES, OPTIMIZED, local_variables

_frame_at = sys._getframe  # pyright: ignore[reportPrivateUsage]  inspect has nothing as fast


def user_frame() -> FrameType | None:
    """Return the innermost frame of user code; in a thread that runs none, the innermost frame of the library."""
    frame: FrameType | None = _frame_at(1)
    library = None
    while frame is not None and not is_users(frame.f_code.co_filename):
        if library is None and not is_engines(frame.f_code.co_filename):
            library = frame
        frame = frame.f_back
    return frame or library


def user_frames() -> Iterator[FrameType]:
    """Return all frames of user code, the innermost first."""
    frame: FrameType | None = _frame_at(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def line_of(frame: FrameType | None) -> Line:
    """Return the file and the line that a frame is at."""
    return None if frame is None else _listing(frame).at(frame.f_lineno)


def user_line() -> Line:
    """Return the innermost line of user code whose text is known; if there is none, the innermost line."""
    found: Line = None
    for frame in user_frames():
        line = line_of(frame)
        if line is not None and line_text(*line):
            return line
        found = found or line
    return found or line_of(user_frame())


def spot_of(frame: FrameType | None) -> Spot:
    """Return where a frame is, without what it holds."""
    if frame is None:
        return None
    _listing(frame)  # while the text that it runs can be found
    return frame.f_code, frame.f_lasti


def _listing(frame: FrameType) -> Listing:
    return listings.get(id(frame.f_code)) or listing(frame.f_code, _around(frame))


def _around(frame: FrameType) -> Iterator[FrameType]:
    while (outer := frame.f_back) is not None:
        yield (frame := outer)


# A stack as it was: how many frames were left out at its bottom, then of each frame its code and the instruction it was
# at, the innermost first, then what the variables of loops held. Nothing of the frames themselves, which hold tensors.
Mark = tuple[int, tuple[str, ...], tuple[int, ...]]  # of a frame in loops: its place from outside, their variables
Marks = tuple[Mark, ...]
Stack = tuple[int, tuple[Any, ...], Marks]


class StackSampler:
    """Takes down the stack of frames, down to the one in which the recording began, if that is on it."""

    __slots__ = ("_code", "_address", "_below")

    def __init__(self) -> None:
        self._code: CodeType | None = None
        self._address = self._below = 0

    def begin(self, frame: FrameType) -> None:
        """Begin the recording here: frames outside this one are left out."""
        self._code, self._address, self._below = frame.f_code, id(frame), 0
        while (outer := frame.f_back) is not None:
            frame = outer
            self._below += 1

    def stack(self, up: int = 3) -> Stack:
        """Return the stack from the frame `up` levels above, without those of the listener who asks."""
        frame: FrameType | None = _frame_at(up)
        outermost, address, below = self._code, self._address, 0
        found: list[Any] = []
        looping: list[Mark] = []
        add = found.append
        while frame is not None:
            code, lasti = frame.f_code, frame.f_lasti
            told = (listings.get(id(code)) or listing(code, _around(frame))).watched
            if told is not None and (names := told[lasti]):
                looping.append((len(found), names, _held(frame, names)))
            add(code)
            add(lasti)
            if code is outermost and id(frame) == address:
                below = self._below
                break
            frame = frame.f_back
        last = len(found) - 2
        return below, tuple(found), tuple([((last - at) // 2, names, held) for at, names, held in looping])

    def frames(self) -> list[FrameType]:
        """Return the user code's frames, the outermost first: from the recording's beginning, if it is on the stack."""
        found: list[FrameType] = []
        for frame in user_frames():
            found.append(frame)
            if frame.f_code is self._code and id(frame) == self._address:
                break
        return found[::-1]

    def around(self) -> list[FrameType]:
        """Return the same frames if the recording's beginning is on the stack, else none."""
        found = self.frames()
        return found if found and found[0].f_code is self._code and id(found[0]) == self._address else []


def line_in(stack: Stack) -> tuple[str, int] | None:
    """Return the innermost line of user code with known text; if there is none, the innermost line, or a library's."""
    found = library = None
    codes = stack[1]
    for at in range(0, len(codes), 2):
        file = codes[at].co_filename
        if is_users(file):
            line = _line_at(codes[at], codes[at + 1])
            if line_text(*line):
                return line
            found = found or line
        elif library is None and not is_engines(file):
            library = at
    return found if found or library is None else _line_at(codes[library], codes[library + 1])


def _line_at(code: CodeType, lasti: int) -> tuple[str, int]:
    told = listing(code)
    return told.file, told.line(told.start(lasti))


def _held(frame: FrameType, names: tuple[str, ...]) -> tuple[int, ...]:
    """Return what distinguishes a loop's iterations: the number that a variable holds, or an object's address.

    All that counts is whether it changes.
    """
    local = frame.f_locals
    found = [*map(local.get, names)]
    if not frame.f_code.co_flags & OPTIMIZED and local is not frame.f_globals:
        # While a comprehension runs in a module, Python 3.13 gives the comprehension's variables only.
        found = [local[name] if name in local else frame.f_globals.get(name) for name in names]
    held = tuple([each if type(each) is int else id(each) for each in found])
    if names[-1] == GENERATOR:
        held = *held[:-1], id(frame)
    if COPIES and frame.f_code.co_flags & OPTIMIZED and sys.getrefcount(local) <= 3:
        local.clear()  # as above
    return held


def called_modules() -> list[Any]:
    """Return the workbench's own modules that are being called, the innermost first."""
    found: list[Any] = []
    frame: FrameType | None = _frame_at(1)
    while frame is not None:
        code = frame.f_code
        if code.co_qualname == "Module.__call__" and code.co_filename.startswith(LAYERS):
            found.append(dict(local_variables(frame)).get("self"))
        frame = frame.f_back
    return found


# What every optimizer step calls, in the workbench and in PyTorch; its `self` is the optimizer.
_STEPS = frozenset({"_hooked.<locals>.hooked", "Optimizer.profile_hook_step.<locals>.wrapper"})


def stepping() -> str | None:
    """Return the class of the optimizer whose step is running, if there is one."""
    frame: FrameType | None = _frame_at(1)
    while frame is not None:
        code = frame.f_code
        if code.co_qualname in _STEPS and not is_users(code.co_filename):
            return type(dict(local_variables(frame)).get("self")).__name__
        frame = frame.f_back
    return None


def is_nested_step() -> bool:
    """Return True if the running optimizer step is part of another one, such as a wrapping optimizer's."""
    count = 0
    frame: FrameType | None = _frame_at(1)
    while frame is not None:
        code = frame.f_code
        count += code.co_qualname in _STEPS and not is_users(code.co_filename)
        frame = frame.f_back
    return count > 1
