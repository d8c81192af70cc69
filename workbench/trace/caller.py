"""The user's code as it runs: which line called, and which variables hold what."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
from collections.abc import Iterator
from functools import cache
from types import FrameType
from typing import Any

# The files of this package, and what the code it generates is said to come from.
OWN = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep, "<workbench ")
# Those of the standard library: of it the user's code is called, a `with` block or a repr goes through it.
_LIBRARY = (os.path.dirname(os.path.abspath(contextlib.__file__)) + os.sep, "<frozen ")
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")  # may lie in the library's folder


@cache
def is_users(file: str) -> bool:
    """Whether code is neither the workbench's own nor the standard library's."""
    library = file.startswith(_LIBRARY) and not any(folder in file for folder in _INSTALLED)
    return not library and not file.startswith(OWN)


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


def variables(frame: FrameType) -> list[tuple[str, Any]]:
    """A frame's variables, the local ones first."""
    local = frame.f_locals
    found = [*local.items(), *frame.f_globals.items()]
    # Before Python 3.13 a function's f_locals is a copy that its frame keeps: it would keep every tensor alive.
    # It is nobody else's if it has no reference but the frame's, ours and the counting's own.
    if isinstance(local, dict) and frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.getrefcount(local) <= 3:
        local.clear()
    return found


def line_of(frame: FrameType | None) -> tuple[str, int] | None:
    """The file and the line that a frame is at."""
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
