"""What is switched on, and for whom: the few flags that every operation looks at.

The straight path of an op asks two questions only: is anything unusual going on (`unusual`: a level, saved-tensor
hooks, anomaly mode, in any thread), and has any thread switched gradients off (`off` is empty when none has, so the
thread's own flag need not be read). Both may answer yes needlessly, never no wrongly.
"""

from __future__ import annotations

import threading
from typing import Any

unusual = 0  # how many unusual modes are on, over all threads
dual: Any = None  # the open level of forward-mode differentiation, which all threads share
inference = 0  # how many inference_mode blocks are open, over all threads
anomaly = False  # whether anomaly mode is on, which is so for all threads at once
check_nan = True  # whether anomaly mode looks for nan
off: dict[Modes, bool] = {}  # the threads in which grad mode is off


class Modes:
    """The modes of one thread."""

    __slots__ = (
        "grad",
        "saved_hooks",
        "hooks_refused",
        "mutation",
        "task",
        "inference",
        "depth",
        "levels",
        "paused",
        "__weakref__",
    )

    def __init__(self) -> None:
        self.grad = True
        self.saved_hooks: list[Any] = []  # pairs of pack and unpack hooks, the innermost last
        self.hooks_refused: str | None = None  # why no such pair may be entered
        self.mutation: Any = None  # the open allow_mutation_on_saved_tensors block
        self.inference = False
        self.depth = 0  # how many graph tasks are running inside each other
        self.task: Any = None  # the innermost graph task that is running
        self.levels: tuple[Any, ...] = ()  # the function transforms that are running, the innermost last
        self.paused = False  # whether dual tensors are computed with as if they had no tangents

    @property
    def dual(self) -> Any:
        """The open level of forward-mode differentiation, where this thread looks at it."""
        return None if self.paused else dual

    def copy(self) -> Modes:
        """The same modes for another thread that goes on with this one's work."""
        other = Modes()
        for name in ("saved_hooks", "hooks_refused", "mutation", "task", "inference", "levels", "paused"):
            setattr(other, name, getattr(self, name))
        if not self.grad:
            other.grad, off[other] = False, True
        return other


class _Local(threading.local):
    def __init__(self) -> None:
        self.modes = Modes()  # a new thread starts with gradients on


local = _Local()  # `local.modes` is one slow look-up; what hangs on it is then quick


def set_grad(on: bool) -> bool:
    """Switch this thread's grad mode and return what it was."""
    modes = local.modes
    was = modes.grad
    if was is not on:
        modes.grad = on
        if on:
            del off[modes]
        else:
            off[modes] = True
    return was


_counting = threading.Lock()


def enter_unusual() -> None:
    """From here on ops go through the door."""
    global unusual
    with _counting:
        unusual += 1


def leave_unusual() -> None:
    """The end of what enter_unusual began."""
    global unusual
    with _counting:
        unusual -= 1
