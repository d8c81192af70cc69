"""Moving PyTorch's warnings during a recording to the user's line.

PyTorch warns at the frame that called it, which is the recorder's then. Python's `warnings` shows each warning with one
function, which is replaced here: nothing runs unless something warns.
"""

from __future__ import annotations

import os
import sys
import warnings
from types import FrameType
from typing import Any

from ...pictures.trace.stacks import user_frame

_HERE = os.path.dirname(__file__) + os.sep
_SHOWS = "_showwarnmsg"  # the function that Python itself calls, whatever has a program put around it
_REGISTRY = "__warningregistry__"  # where Python notes, in a module, which of its warnings it has shown


class WarningPlaces:
    """While it is active, warnings in the recorder's lines appear at the user's; `remove` ends it."""

    def __init__(self, *_: Any) -> None:
        inner: Any = getattr(warnings, _SHOWS, None)
        self._inner, self._is_on = inner, True

        def show(message: Any) -> None:
            if not self._is_on or not message.filename.startswith(_HERE) or _is_moved(message):
                inner(message)

        self._own = show
        if inner is not None:
            setattr(warnings, _SHOWS, show)

    def remove(self) -> None:
        """Leave warnings unchanged."""
        self._is_on = False
        if getattr(warnings, _SHOWS, None) is self._own:
            setattr(warnings, _SHOWS, self._inner)


def _is_moved(message: Any) -> bool:
    """Move a warning to the user's line; return whether to show it, as one that was shown there already isn't shown."""
    frame = user_frame()
    if frame is None:
        return True
    noted, key = _noted_of(message.filename), (str(message.message), message.category, message.lineno)
    message.filename, message.lineno = frame.f_code.co_filename, frame.f_lineno
    if noted.pop(key, None) is None:  # Python shows it each time
        return True
    own = frame.f_globals.setdefault(_REGISTRY, {})
    if own.get("version") != noted.get("version"):  # the filters are others by now
        own.clear()
        own["version"] = noted.get("version")
    key = *key[:2], message.lineno
    is_news = not own.get(key)
    own[key] = True
    return is_news


def _noted_of(file: str) -> dict[Any, Any]:
    """Return the notes of warnings in the module of this running file."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    return {} if frame is None else frame.f_globals.get(_REGISTRY, {})
