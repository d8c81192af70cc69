"""Naming a part of the graph: every node made inside `with scope("layer1"):` remembers where it was made.

Nodes are labelled by a listener that is there only while a scope is open, so that nobody else pays for it. It stands
before all other listeners: whoever hears that a node was created can already ask for its scope. Modules open a scope
at every call (nn/modules/module.py).
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any, NamedTuple

from .. import errors, events
from ..events import Event, listeners, next_tag
from .node import AccumulateGrad, Node, Scoped, extra_of
from .state import in_forked_children
from .tensor import made_by
from .views import CopySlices


class Entry(NamedTuple):
    """One time that a scope was entered; a module that is called twice has two of them.

    While somebody listens it tells which frames entered it: of the innermost few the code and the instruction they were
    at, and how many frames there were.
    """

    path: str  # the names of all that it lies in and its own, joined by "/"
    name: str
    serial: int
    outer: Entry | None
    frames: tuple[Any, ...]  # code, instruction, code, instruction: the innermost first
    depth: int
    kind: str = ""  # the class of the module that it is a call of


class Stack:
    """The open scopes of one thread: the entry of the innermost, and the innermost module that is being called."""

    __slots__ = ("entry", "module", "open")

    def __init__(self) -> None:
        self.entry: Entry | None = None
        self.module: Any = None
        self.open = 0

    def enter(self, name: str, module: Any, kind: str = "", up: int = 1) -> None:
        """Open a scope inside the others; the caller keeps `entry` and `module` as they were, and restores them.

        It is a call of a module of this `kind`, or of none; the frame that enters it is so many `up`.
        """
        outer = self.entry if self.open else None
        where = place(up + 1) if listeners and listeners[-1] is not label else _NOWHERE
        entry = Entry(name if outer is None else f"{outer.path}/{name}", name, next_tag(), outer, *where, kind)
        if not self.open:
            listeners[:0] = [label]  # once for each thread with open scopes: the others then hear it in vain
        self.entry = entry
        self.module = module
        self.open += 1


_NOWHERE = ((), 0)
_FRAMES = 4  # a context manager of the user's may enter a scope, and what contextlib calls for it


def place(up: int) -> tuple[tuple[Any, ...], int]:
    """The code of some frames and the instruction they are at, and how many frames there are."""
    frame: FrameType | None = sys._getframe(up)
    frames: list[Any] = []
    depth = 0
    while frame is not None:
        if depth < _FRAMES:
            frames += [frame.f_code, frame.f_lasti]
        frame, depth = frame.f_back, depth + 1
    return tuple(frames), depth


class _Local(threading.local):
    def __init__(self) -> None:
        self.stack = Stack()


local = _Local()  # `local.stack` is one slow look-up; what hangs on it is then quick


@in_forked_children
def _forget_other_threads() -> None:
    """A child process has the scopes of the thread that forked, and no others to label for."""
    for _ in range(listeners.count(label) - bool(local.stack.open)):
        listeners.remove(label)


class scope:  # named as what a user writes: `with scope("layer1"):`
    """Give the nodes made inside a `with` block a name; scopes inside each other are joined: "encoder/layer1".

    Each thread has its own scopes. A leaf's AccumulateGrad belongs to none, as a leaf may be used in many. Errors:
    TypeError unless `name` is a string, ValueError if it is empty.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(errors.SCOPE_KIND.format(type(name).__name__))
        if not name.strip("/"):
            raise ValueError(errors.SCOPE_EMPTY)
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
            listeners.remove(label)


def current_scope() -> str | None:
    """The names of this thread's open scopes, joined by "/"; None outside all."""
    entry = local.stack.entry
    return None if entry is None else entry.path


def scope_of(node: Node) -> str | None:
    """The scope in which a node was made."""
    return None if node.extra is None or node.extra.scope is None else node.extra.scope.path


def label(event: Event) -> None:
    """Note the scope of new nodes, and of those that a write through a view gave its base and the view."""
    entry = local.stack.entry
    if entry is None:
        return
    if event[0] == "created":
        node = event[1]
        if node.extra is None and type(node) is not AccumulateGrad:
            node.extra = extra = Scoped()
            extra.scope = entry
        else:
            _name(node, entry)
    elif event[0] == "wrote":
        written = event[1]
        base = written._base
        if base is not None and type(made_by(base)) is CopySlices:
            _name(made_by(base), entry)
            _name(made_by(written), entry)


def _name(node: Any, entry: Entry) -> None:
    if node is not None and type(node) is not AccumulateGrad and scope_of(node) is None:
        extra_of(node).scope = entry


events.labels = label
