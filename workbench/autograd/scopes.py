"""Naming a part of the graph: every node made inside `with scope("layer1"):` remembers where it was made.

Nodes are labelled by a listener that is there only while a scope is open, so that nobody else pays for it. It stands
before all other listeners: whoever hears that a node was created can already ask for its scope.
"""

from __future__ import annotations

import threading
from typing import Any

from ..events import Event, listeners
from .node import AccumulateGrad, Node, extra_of
from .tensor import made_by
from .views import CopySlices


class _Stack(threading.local):
    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()


_stack = _Stack()
_counting = threading.Lock()
_open = 0  # scopes, over all threads


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
        self._before: list[tuple[str, ...]] = []

    def __enter__(self) -> scope:
        global _open
        with _counting:
            if not _open:
                listeners.insert(0, _label)
            _open += 1
        self._before.append(_stack.names)
        _stack.names = (*_stack.names, self.name)
        return self

    def __exit__(self, *exc: object) -> None:
        global _open
        _stack.names = self._before.pop()
        with _counting:
            _open -= 1
            if not _open:
                listeners.remove(_label)


def current_scope() -> str | None:
    """The names of this thread's open scopes, joined by "/"; None outside all."""
    return "/".join(_stack.names) or None


def scope_of(node: Node) -> str | None:
    """The scope in which a node was made."""
    return None if node.extra is None else node.extra.scope


def _label(event: Event) -> None:
    """Note the scope of new nodes, and of those that a write through a view gave its base and the view."""
    if not _stack.names:
        return
    if event[0] == "created":
        _name(event[1])
    elif event[0] == "wrote":
        written = event[1]
        base = written._base
        if base is not None and type(made_by(base)) is CopySlices:
            _name(made_by(base))
            _name(made_by(written))


def _name(node: Any) -> None:
    if node is not None and type(node) is not AccumulateGrad and scope_of(node) is None:
        extra_of(node).scope = current_scope()
