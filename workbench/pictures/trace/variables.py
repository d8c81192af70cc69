"""What the variables of a frame hold."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

OPTIMIZED = inspect.CO_OPTIMIZED
class_of: Callable[[object], Any] = type  # `__class__` may say another
COPIES = sys.version_info < (3, 13)


def variables(frame: FrameType) -> list[tuple[str, Any]]:
    """Return a frame's variables, the local ones first."""
    return [*local_variables(frame), *frame.f_globals.items()]


def variable(frame: FrameType, name: str) -> Any:
    """Return what a frame's variable holds, a local one first; None if it has none of that name."""
    return next((value for each, value in variables(frame) if each == name), None)


def local_variables(frame: FrameType) -> list[tuple[str, Any]]:
    """Return the local variables of a frame."""
    local = frame.f_locals
    found = [*local.items()]
    # Before Python 3.13 a function's f_locals is a copy that its frame keeps: it would keep every tensor alive.
    # Nothing else refers to it if its only references are the frame's, ours and the counting's own.
    if COPIES and frame.f_code.co_flags & OPTIMIZED and sys.getrefcount(local) <= 3:
        local.clear()
    return found
