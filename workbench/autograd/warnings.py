"""Silence where PyTorch is silent: a logarithm of zero inside the engine warns nobody, one of the user's own does.

NumPy asks one setting for the whole context, so importing sets it to "call", and what is called looks at who divided by
zero: the engine's own lines say nothing, for all others NumPy's warning is raised as before. NumPy starts each thread
afresh: its setting is made when the thread first asks for the engine's modes. Operations before that fall back on a
warning filter for the engine's modules.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from types import FrameType

import numpy as np

PACKAGE = __name__.partition(".")[0]


def _told(kind: str, _flag: int) -> None:
    caller = sys._getframe(1)
    if caller.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        return
    warnings.warn(f"{kind} encountered", RuntimeWarning, stacklevel=2)


def install() -> None:
    """Take over NumPy's default handling; settings the user made are left alone."""
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=rf"{PACKAGE}\.")
    install_in_thread()


def install_in_thread() -> None:
    """The same for the running thread alone."""
    if np.geterr() == {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}:
        np.seterrcall(_told)
        np.seterr(divide="call", over="call", invalid="call")


def users_frames() -> Iterator[FrameType]:
    """The frames that run now, the innermost first, without the package's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] != PACKAGE:
            yield frame
        frame = frame.f_back


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line: the innermost one outside the package."""
    frame, level = sys._getframe(1), 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
