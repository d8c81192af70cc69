"""What is switched on, and for whom: the few flags that every operation reads.

The compiled function of an op checks only two things: whether anything unusual is going on (`slow_path_reasons`: a
level, saved-tensor hooks, anomaly mode, in any thread), and whether any thread has switched gradients off
(`no_grad_threads` is empty if none has, so the thread's own flag needn't be read). Both may needlessly say yes, but
never wrongly no.

Ctrl-C can arrive where a function begins and after every call of one that isn't written in Python. So flags are only
restored by assignments, in a `finally` or at the very beginning of an `__exit__`: no shared function does it. Threads
switch at the same points, so such assignments need no lock either.

NumPy's settings for division by zero are the user's: a logarithm of zero inside the engine neither warns nor raises,
one in user code follows the user's settings. NumPy keeps these settings in a context variable, so the engine computes
in its own context (`compute`, `quietly`), which costs a tenth of changing the settings and back.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextvars import Context
from operator import add
from typing import Any

import numpy as np

from .. import events

slow_path_reasons: dict[Any, bool] = {}  # what ops can't go straight past: ("levels", modes of a thread), "dual" ...
complex_made = False  # whether there has been a complex tensor
dual: Any = None  # the open level of forward-mode differentiation, which all threads share
inferring: dict[Modes, bool] = {}  # the threads in inference mode
anomaly = False  # whether anomaly mode is on, which is so for all threads at once
check_nan = True  # whether anomaly mode looks for nan
readable: dict[Any, bool] = {}  # the open `readable()` blocks, for all threads
no_grad_threads: dict[Modes, bool] = {}  # the threads in which grad mode is off
scope_threads: dict[Any, bool] = {}  # the threads, by their stacks of scopes, in which a scope is open
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
        """Return the open level of forward-mode differentiation, if this thread uses it."""
        return None if self.paused else dual

    def copy(self) -> Modes:
        """Return the same modes for another thread that continues this one's work."""
        other = Modes()
        for name in ("saved_hooks", "hooks_refused", "mutation", "task", "inference", "levels", "paused"):
            setattr(other, name, getattr(self, name))
        if not self.grad:
            other.grad, no_grad_threads[other] = False, True
        return other


_silent = Context()
_silent.run(np.seterr, all="ignore")
silent = _silent.copy  # another such context: what calls only `silent().run` never finds it in use
compute = _silent.run  # calls a kernel with arguments; RuntimeError where it is in use, perhaps by another thread
BUSY = "cannot enter context"  # how that error begins


def quietly(kernel: Callable[..., Any], *args: Any) -> Any:
    """Call a function that computes with NumPy, without NumPy's warnings; it must not call user code.

    The user's context variables have their defaults there.
    """
    return silent().run(kernel, *args)


def again_quietly(error: RuntimeError, kernel: Callable[..., Any], *args: Any) -> Any:
    """Call what `compute` had no context for; raise any other error."""
    if not str(error).startswith(BUSY):
        raise error
    return quietly(kernel, *args)


def total(a: Any, b: Any) -> Any:
    """Return the sum of two gradients, arrays or tensors."""
    if type(a) is not np.ndarray and not isinstance(a, np.generic):
        return a + b
    try:
        return compute(add, a, b)
    except RuntimeError as error:
        return again_quietly(error, add, a, b)


_imported = threading.get_ident(), os.getpid()
_renewals: list[Callable[[], None]] = []  # what a forked child has to do
_prepared = False  # whether Python calls them at a fork: one thread needs nothing renewed


def prepare_for_forks(needed: bool = False) -> None:
    """Have forked children renew what other threads may hold, if this is another thread than the one that imported."""
    global _prepared
    thread, process = _imported
    if _prepared or not (needed or thread != threading.get_ident()):
        return
    _prepared = True
    if hasattr(os, "register_at_fork"):  # Windows does not fork
        os.register_at_fork(after_in_child=_renew)
    if process != os.getpid():  # a thread that had not computed yet has forked
        _renew()


def _renew() -> None:
    for renew in _renewals:
        renew()


class _Local(threading.local):
    def __init__(self) -> None:
        self.modes = Modes()  # a new thread starts with gradients on
        prepare_for_forks()


local = _Local()  # `local.modes` is one slow look-up; what hangs on it is then quick
events.local = local


def in_forked_children(renew: Callable[[], None]) -> Callable[[], None]:
    """Run this in a child process after a fork, where only the thread that forked continues (a decorator)."""
    _renewals.append(renew)
    return renew


@in_forked_children
def _forget_other_threads() -> None:
    modes = local.modes
    # Here, or for whom this thread works.
    pulled = any([key[0] == "pulled" for key in slow_path_reasons if type(key) is tuple])
    no_grad_threads.clear()
    inferring.clear()
    slow_path_reasons.clear()
    if not modes.grad:
        no_grad_threads[modes] = True
    if modes.inference:
        inferring[modes] = True
    for name, on in (
        ("levels", modes.levels),
        ("hooks", modes.saved_hooks),
        ("inference", modes.inference),
        ("pulled", pulled),
    ):
        if on:
            slow_path_reasons[name, modes] = True
    for name, on in (("dual", dual is not None), ("anomaly", anomaly), ("readable", bool(readable))):
        if on:
            slow_path_reasons[name] = True


def is_plain() -> bool:
    """Return True if nothing unusual is on but readable mode, which changes no write of arrays into arrays."""
    return not slow_path_reasons or slow_path_reasons.keys() == {"readable"}


def set_grad(on: bool) -> bool:
    """Switch this thread's grad mode and return what it was."""
    modes = local.modes
    was = modes.grad
    if was is not on:
        modes.grad = on
        if on:
            del no_grad_threads[modes]
        else:
            no_grad_threads[modes] = True
    return was


def with_grad(on: bool, function: Callable[..., Any], *args: Any) -> Any:
    """Return what a function returns in this grad mode, and restore the mode afterward."""
    modes = local.modes
    before = modes.grad
    try:
        set_grad(on)
        return function(*args)
    finally:
        modes.grad = before
        if before:
            no_grad_threads.pop(modes, None)
        else:
            no_grad_threads[modes] = True
