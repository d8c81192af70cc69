"""What is switched on, and for whom: the few flags that every operation looks at.

The compiled function of an op asks two questions only: is anything unusual going on (`unusual`: a level, saved-tensor
hooks, anomaly mode, in any thread), and has any thread switched gradients off (`off` is empty when none has, so the
thread's own flag need not be read). Both may answer yes needlessly, never no wrongly.

Ctrl-C can come where a function begins and after every call of one that is not written in Python. So what is switched
on is restored by assignments alone, in a `finally` or at the very beginning of an `__exit__`: no function does it for
them all. Threads take turns at the same points, and need no lock for such assignments either.

NumPy's settings for division by zero are per thread as well: a logarithm of zero inside the engine warns nobody, one of
the user's own does. Each thread's setting is "call" from when it first asks for its modes, and what is called looks at
who divided by zero. Operations before that fall back on a warning filter for the engine's modules.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import events
from ..errors import is_users

unusual: dict[Any, bool] = {}  # what is on that ops cannot go straight past: ("levels", modes of a thread), "dual" ...
dual: Any = None  # the open level of forward-mode differentiation, which all threads share
inferring: dict[Modes, bool] = {}  # the threads in inference mode
anomaly = False  # whether anomaly mode is on, which is so for all threads at once
check_nan = True  # whether anomaly mode looks for nan
off: dict[Modes, bool] = {}  # the threads in which grad mode is off
scoped: dict[Any, bool] = {}  # the threads, by their stacks of scopes, in which a scope is open
scopes: Any = None  # `scopes.stack` is this thread's, from when scopes.py is loaded


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
        "overridden",
        "__weakref__",
    )

    def __init__(self) -> None:
        self.grad = True
        self.saved_hooks: tuple[Any, ...] = ()  # pairs of pack and unpack hooks, the innermost last
        self.hooks_refused: str | None = None  # why no such pair may be entered
        self.mutation: Any = None  # the open allow_mutation_on_saved_tensors block
        self.inference = False
        self.depth = 0  # how many graph tasks are running inside each other
        self.task: Any = None  # the innermost graph task that is running
        self.levels: tuple[Any, ...] = ()  # the function transforms that are running, the innermost last
        self.overridden = True  # whether a class of an operand with a __torch_function__ is asked
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


def silence_numpy() -> None:
    """Take over NumPy's default handling of division by zero; settings the user made are left alone."""
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=rf"{__name__.partition('.')[0]}\.")
    _silence_in_thread()


def _silence_in_thread() -> None:
    if np.geterr() == {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}:
        np.seterrcall(_warn_user)
        np.seterr(divide="call", over="call", invalid="call")


def _warn_user(kind: str, _flag: int) -> None:
    """NumPy's warning, where a line of the user's caused it."""
    if is_users(sys._getframe(1)):
        warnings.warn(f"{kind} encountered", RuntimeWarning, stacklevel=2)


class _Local(threading.local):
    def __init__(self) -> None:
        self.modes = Modes()  # a new thread starts with gradients on
        _silence_in_thread()


local = _Local()  # `local.modes` is one slow look-up; what hangs on it is then quick
events.local = local


def in_forked_children(renew: Callable[[], None]) -> Callable[[], None]:
    """Decorator: run this in a child process after a fork, where of all threads the one that forked goes on."""
    if hasattr(os, "register_at_fork"):  # Windows does not fork
        os.register_at_fork(after_in_child=renew)
    return renew


@in_forked_children
def _forget_other_threads() -> None:
    modes = local.modes
    pulled = any([key[0] == "pulled" for key in unusual if type(key) is tuple])  # here, or for whom this thread works
    off.clear()
    inferring.clear()
    unusual.clear()
    if not modes.grad:
        off[modes] = True
    if modes.inference:
        inferring[modes] = True
    for name, on in (
        ("levels", modes.levels),
        ("hooks", modes.saved_hooks),
        ("inference", modes.inference),
        ("pulled", pulled),
    ):
        if on:
            unusual[name, modes] = True
    for name, on in (("dual", dual is not None), ("anomaly", anomaly)):
        if on:
            unusual[name] = True


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


def with_grad(on: bool, function: Callable[..., Any], *args: Any) -> Any:
    """What a function returns when it runs in this grad mode, which is then as it was before."""
    modes = local.modes
    before = modes.grad
    try:
        set_grad(on)
        return function(*args)
    finally:
        modes.grad = before
        if before:
            off.pop(modes, None)
        else:
            off[modes] = True
