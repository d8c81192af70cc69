"""The user's code as it runs: which line called, and which variables hold what."""

from __future__ import annotations

import contextlib
import inspect
import linecache
import os
import sys
from collections.abc import Iterator
from functools import cache
from types import CodeType, FrameType
from typing import Any

# The files of this package, and what the code it generates is said to come from.
OWN = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep, "<workbench ")
# Those of the standard library: of it the user's code is called, a `with` block or a repr goes through it.
_LIBRARY = (os.path.dirname(os.path.abspath(contextlib.__file__)) + os.sep, "<frozen ")
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")  # may lie in the library's folder
# What calls a widget's handlers: a button that is pressed is no part of the program.
_HOSTS = frozenset(
    "IPython anywidget comm ipykernel ipykernel_launcher.py ipywidgets jupyter_client psygnal tornado "
    "traitlets zmq".split()
)

# What Python calls the text of any exec() or `python -c`: a source of that name may be another one's.
_NAMELESS = ("<string>", "<stdin>")


_engines: tuple[str, ...] = ()  # the folders of other engines that are recorded


def leave_out(folder: str) -> None:
    """From now on what lies in this folder is no code of the user's."""
    global _engines
    if folder not in _engines:
        _engines += (folder,)
        is_users.cache_clear()


@cache
def is_users(file: str) -> bool:
    """Whether code is neither the workbench's own, nor the standard library's, Jupyter's or a recorded engine's."""
    installed = next((file.partition(folder)[2] for folder in _INSTALLED if folder in file), None)
    library = file.startswith(_LIBRARY) if installed is None else installed.partition(os.sep)[0] in _HOSTS
    return not library and not file.startswith(OWN) and not file.startswith(_engines)


def line_text(file: str, number: int) -> str:
    """A line of the source; empty where that is not known."""
    return "" if file in _NAMELESS else linecache.getline(file, number)


def source_lines(code: Any) -> tuple[list[str], int]:
    """The lines of a function or its code, and the number of the first.

    Errors: OSError where they are not known, TypeError for what is not written in Python.
    """
    if inspect.getfile(inspect.unwrap(code) if callable(code) else code) in _NAMELESS:
        raise OSError("the source is not known")
    return inspect.getsourcelines(code)


def user_frame() -> FrameType | None:
    """The innermost frame of the user's code; of a thread that runs nothing of the user's, that of the library."""
    frame: FrameType | None = sys._getframe(1)
    library = None
    while frame is not None and not is_users(frame.f_code.co_filename):
        if library is None and not frame.f_code.co_filename.startswith(OWN):
            library = frame
        frame = frame.f_back
    return frame or library


def user_frames() -> Iterator[FrameType]:
    """All frames of the user's code, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


# A stack as it was: how many frames were left out at its bottom, then of each frame its code and the instruction it was
# at, the innermost first. Nothing of the frames themselves, which hold the user's tensors.
Stack = tuple[int, tuple[Any, ...]]
Line = tuple[str, int] | None  # a file, and the number of a line


class Outlook:
    """Takes down the stack of frames, down to the one in which the recording began, if that is on it."""

    __slots__ = ("_code", "_address", "_below")

    def __init__(self) -> None:
        self._code: CodeType | None = None
        self._address = self._below = 0

    def begin(self, frame: FrameType) -> None:
        """This is where the recording begins: what called it is of no interest."""
        self._code, self._address, self._below = frame.f_code, id(frame), 0
        while (outer := frame.f_back) is not None:
            frame = outer
            self._below += 1

    def stack(self, up: int = 3) -> Stack:
        """The stack, without those of the listener who asks: from the frame so many `up`."""
        frame: FrameType | None = sys._getframe(up)
        outermost, address = self._code, self._address
        found: list[Any] = []
        add = found.append
        while frame is not None:
            code = frame.f_code
            add(code)
            add(frame.f_lasti)
            if code is outermost and id(frame) == address:
                return self._below, tuple(found)
            frame = frame.f_back
        return 0, tuple(found)

    def frames(self, up: int = 3) -> list[FrameType]:
        """The same frames themselves, the outermost first: not to be kept, nor those of who asks among them."""
        found: list[FrameType] = []
        frame: FrameType | None = sys._getframe(up)
        while frame is not None:
            found.append(frame)
            if frame.f_code is self._code and id(frame) == self._address:
                break
            frame = frame.f_back
        return found[::-1]


def variables(frame: FrameType) -> list[tuple[str, Any]]:
    """A frame's variables, the local ones first."""
    return [*local_variables(frame), *frame.f_globals.items()]


def local_variables(frame: FrameType) -> list[tuple[str, Any]]:
    """The local variables of a frame."""
    local = frame.f_locals
    found = [*local.items()]
    # Before Python 3.13 a function's f_locals is a copy that its frame keeps: it would keep every tensor alive.
    # It is nobody else's if it has no reference but the frame's, ours and the counting's own.
    if isinstance(local, dict) and frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.getrefcount(local) <= 3:
        local.clear()
    return found


def line_of(frame: FrameType | None) -> Line:
    """The file and the line that a frame is at."""
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
