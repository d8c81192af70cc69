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

# The files of this package, what the code it generates is said to come from, and what its `with` blocks go through.
OWN = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep, "<workbench ", contextlib.__file__)


@cache
def _is_own(file: str) -> bool:
    return file.startswith(OWN)


def user_frame() -> FrameType | None:
    """The innermost frame of code that is not the workbench's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def user_frames() -> Iterator[FrameType]:
    """All frames of such code, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not _is_own(frame.f_code.co_filename):
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
