"""Naming a part of the graph: every node made inside `with scope("layer1"):` remembers where it was made.

Nodes are labelled by a listener that is there only while a scope is open, so that nobody else pays for it. It stands
before all other listeners: whoever hears that a node was created can already ask for its scope. Modules open a scope
at every call (nn/modules/module.py).
"""

from __future__ import annotations

import threading
from typing import Any

from .. import events
from ..events import Event, listeners
from .node import AccumulateGrad, Extra, Node, extra_of
from .state import in_forked_children
from .tensor import made_by
from .views import CopySlices


class Stack:
    """The open scopes of one thread: their names joined by "/", and the innermost module that is being called."""

    __slots__ = ("path", "module", "open")

    def __init__(self) -> None:
        self.path: str | None = None
        self.module: Any = None
        self.open = 0

    def enter(self, name: str, module: Any) -> None:
        """Open a scope inside the others; the caller keeps `path` and `module` as they were, and restores them."""
        if self.open:
            self.path = f"{self.path}/{name}"
        else:
            self.path = name
            listeners[:0] = [label]  # once for each thread with open scopes: the others then hear it in vain
        self.module = module
        self.open += 1


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
            raise TypeError(f"A scope's name must be a string, but got {type(name).__name__}.")
        if not name.strip("/"):
            raise ValueError("A scope needs a name that is not empty.")
        self.name = name
        self._before: Any = None  # whose stack, what was open before, and what had been before that

    def __enter__(self) -> scope:
        stack = local.stack
        self._before = stack, stack.path, stack.module, self._before
        stack.enter(self.name, stack.module)
        return self

    def __exit__(self, *exc: object) -> None:
        stack, path, module, self._before = self._before
        stack.open -= 1
        if stack.open:
            stack.path, stack.module = path, module
        else:  # the last to be closed leaves none open, whatever it found
            stack.path = stack.module = None
            listeners.remove(label)


def current_scope() -> str | None:
    """The names of this thread's open scopes, joined by "/"; None outside all."""
    return local.stack.path


def scope_of(node: Node) -> str | None:
    """The scope in which a node was made."""
    return None if node.extra is None else node.extra.scope


def label(event: Event) -> None:
    """Note the scope of new nodes, and of those that a write through a view gave its base and the view."""
    path = local.stack.path
    if path is None:
        return
    if event[0] == "created":
        node = event[1]
        if node.extra is None and type(node) is not AccumulateGrad:
            node.extra = extra = Extra()
            extra.scope = path
        else:
            _name(node, path)
    elif event[0] == "wrote":
        written = event[1]
        base = written._base
        if base is not None and type(made_by(base)) is CopySlices:
            _name(made_by(base), path)
            _name(made_by(written), path)


def _name(node: Any, path: str) -> None:
    if node is not None and type(node) is not AccumulateGrad and scope_of(node) is None:
        extra_of(node).scope = path


events.labels = label
