"""Scopes: every node created inside `with scope("layer1"):` stores this name.

A node gets its scope when it is created (`in_scope` in node.py). Its creator asks for one only while a thread has a
scope open (`scope_threads` in state.py). Modules open a scope at every call (nn/modules/module.py).
"""

from __future__ import annotations

import sys
import threading
from operator import itemgetter
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..events import listeners, next_tag
from . import state
from .state import in_forked_children, scope_threads

if TYPE_CHECKING:
    from .node import Node


class Entry(tuple):  # type: ignore[type-arg]
    """One entering of a scope; a module that is called twice has two.

    If there is a listener, it stores the frames that entered it: for the innermost few the code and the instruction,
    and the number of frames.
    """

    __slots__ = ()  # to write a class out is quicker to load than NamedTuple
    path = property(itemgetter(0))  # the names of all that it lies in and its own, joined by "/"
    name = property(itemgetter(1))
    serial = property(itemgetter(2))
    outer = property(itemgetter(3))  # an entry too, or None
    frames = property(itemgetter(4))  # code, instruction, code, instruction: the innermost first
    depth = property(itemgetter(5))
    kind = property(itemgetter(6))  # the class of the module that it is a call of
    settings = property(itemgetter(7))  # and its numbers: "stride 2, padding 1"


class Stack:
    """The open scopes of one thread: the innermost entry, and the innermost module that is being called."""

    __slots__ = ("entry", "module", "open")

    def __init__(self) -> None:
        self.entry: Entry | None = None
        self.module: Any = None
        self.open = 0

    def enter(self, name: str, module: Any, kind: str = "", up: int = 1) -> None:
        """Open a scope inside the others; the caller stores `entry` and `module`, and restores them.

        `kind` is the class of a called module, or "". The frame that enters the scope is `up` frames above.
        """
        outer = self.entry
        frames, depth = place(up + 1) if listeners else _NOWHERE
        path = name if outer is None else f"{outer.path}/{name}"
        settings = settings_of(module) if kind and listeners else ""
        self.entry = Entry((path, name, next_tag(), outer, frames, depth, kind, settings))
        self.module = module
        if not self.open:
            scope_threads[self] = True
        self.open += 1


_NOWHERE = ((), 0)
_FRAMES = 4  # a context manager of the user's may enter a scope, and what contextlib calls for it


def place(up: int) -> tuple[tuple[Any, ...], int]:
    """Return the code and the instruction of some frames, and the number of frames."""
    frame: FrameType | None = sys._getframe(up)
    frames: list[Any] = []
    depth = 0
    while frame is not None:
        if depth < _FRAMES:
            frames += [frame.f_code, frame.f_lasti]
        frame, depth = frame.f_back, depth + 1
    return tuple(frames), depth


# The attributes of a module that a picture tells, in which words, and what is usual: that goes without saying.
_SETTINGS = (
    ("kernel_size", "kernel {}", None),
    ("stride", "stride {}", 1),
    ("padding", "padding {}", 0),
    ("dilation", "dilation {}", 1),
    ("groups", "groups {}", 1),
    ("num_heads", "{} heads", None),
    ("n_heads", "{} heads", None),
    ("heads", "{} heads", None),
    ("p", "p {}", None),
)


def settings_of(module: Any) -> str:
    """Return the numbers that distinguish a module from others of its class.

    Examples are `stride 2, padding 1`, `4 heads`, `p 0.1`.
    """
    own = getattr(module, "__dict__", {})
    weighted = "weight" in own.get("_parameters", ())  # whose shape tells the kernel
    settings: list[str] = []
    for name, words, usual in _SETTINGS:
        text = _setting(own[name]) if name in own else ""
        left_out = weighted if name == "kernel_size" else text == str(usual)
        if not text or left_out or (name == "stride" and not weighted and text == _setting(own.get("kernel_size"))):
            continue
        settings.append(words.format(text).removesuffix("s" if text == "1" else ""))
    return ", ".join(settings)


def _setting(given: Any) -> str:
    """Return a number, or one per dimension, as text: `2`, `2×1`; "" for anything else."""
    if type(given) in (int, float):
        return f"{given:g}"
    if type(given) is tuple and given and all([type(each) is int for each in given]):
        return "×".join(map(str, given if len({*given}) > 1 else given[:1]))
    return "same" if given == "same" else ""


class _Local(threading.local):
    def __init__(self) -> None:
        self.stack = Stack()
        state.prepare_for_forks()


local = state.scopes = _Local()  # `local.stack` is one slow look-up; what hangs on it is then quick


@in_forked_children
def _forget_other_threads() -> None:
    """Drop the scopes of other threads in a child process, which has only the thread that forked."""
    scope_threads.clear()
    if local.stack.open:
        scope_threads[local.stack] = True


class scope:  # named as what a user writes: `with scope("layer1"):`
    """Name the nodes that are created inside a `with` block, so that pictures draw them as one group.

    Nested scopes are joined: a node inside `scope("encoder")` and `scope("layer1")` is in "encoder/layer1". Each
    thread has its own scopes. AccumulateGrad nodes belong to no scope, because a leaf may be used in several.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with workbench.scope("encoder"):
        ...     h = torch.relu(x)
        >>> picture = workbench.show(h.sum())  # draws a box "encoder" around the ReLU

    Args:
        name: The name of the scope.

    Raises:
        TypeError: if `name` isn't a string.
        ValueError: if `name` is empty.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"A scope's name must be a string, but got {type(name).__name__}.")
        if not name.strip("/"):
            raise ValueError("A scope needs a name that is not empty.")
        self.name = name
        self._before: Any = None  # whose stack, what was open before, and what had been before that

    def __enter__(self) -> scope:
        stack = local.stack
        self._before = stack, stack.entry, stack.module, self._before
        stack.enter(self.name, stack.module, up=2)
        return self

    def __exit__(self, *exc: object) -> None:
        stack, entry, module, self._before = self._before
        stack.open -= 1
        if stack.open:
            stack.entry, stack.module = entry, module
        else:  # the last to be closed leaves none open, whatever it found
            stack.entry = stack.module = None
            scope_threads.pop(stack, None)


def current_scope() -> str | None:
    """Return the names of this thread's open scopes, joined by "/"; None outside all scopes."""
    entry = local.stack.entry
    return None if entry is None else entry.path


def scope_of(node: Node) -> str | None:
    """Return the scope in which a node was created."""
    return None if node.extra is None or node.extra.scope is None else node.extra.scope.path
