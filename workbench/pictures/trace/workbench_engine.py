"""The current state of the workbench's tensors and nodes; reading it changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import tag
from .engine import ACCUMULATE
from .hooks import name_of, retained
from .raw_events import Hooks


def is_tensor(thing: object) -> bool:
    """Return True if it is one of the engine's tensors."""
    return hasattr(type(thing), "_meta")


def maker_of(tensor: Any) -> Any:
    """Return the node that made a tensor; for a view, the one that the user last saw, as asking can make a new one."""
    meta = tensor._meta
    return tensor._fn if meta is None or meta.base is None else meta.view_fn


def version_of(tensor: Any) -> int:
    """Return how often a tensor was written; writes to a tensor made in inference mode aren't counted."""
    if tensor._storage is None and (tensor._fn is None or not tensor._fn.keeps_result):
        return 0  # most have never been written
    return 0 if tensor.is_inference() else tensor._version


def entry_of(node: Any) -> Any:
    """Return the entry of the innermost scope that a node was made in (autograd/scopes.py)."""
    return getattr(getattr(node, "extra", None), "scope", None)


def grad_of(tensor: Any) -> Any:
    """Return a tensor's gradient, without the warning that `grad` may give."""
    return None if tensor._meta is None else tensor._meta.grad


def memory_of(tensor: Any) -> Any:
    """Return the array that owns a tensor's memory, if it can be asked for it."""
    array = getattr(tensor, "_array", None)
    return array if type(array) is not np.ndarray or array.base is None else array.base


def zeros_of(node: Any) -> tuple[int, ...]:
    """Return the outputs of a custom node for which it gets zeros if no gradient arrives."""
    hands = getattr(node.__class__, "hands_zeros", None)
    return () if hands is None else tuple([nr for nr in range(node.outputs) if hands(node, nr)])


class LeafNode:
    """A leaf as the node that takes its gradient, which comes and goes."""

    arity = 0

    def __init__(self, variable: Any) -> None:
        self.variable, self.extra, self._tag = variable, variable._meta.extra, tag(variable)

    def name(self) -> str:
        return ACCUMULATE


def has_hooks(extra: Any) -> bool:
    """Return True if a node's rarely used facts include hooks."""
    return extra is not None and bool(extra.tensor_hooks or extra.retainers or extra.pre_hooks or extra.post_hooks)


def hooks_of(node: Any) -> Hooks:
    """Return the hooks at a node and on the tensors it made, or on its leaf, in the order in which they run."""
    extra: Any = node.extra
    found: list[tuple[Any, ...]] = []
    if extra is not None:
        for nr, hooks in _all(extra.tensor_hooks).items():
            found += [("tensor", nr, *name_of(hook)) for hook in hooks.values()]
        kept = [nr for nr, tensor in _all(extra.retainers).items() if tensor() is not None]
        found += [retained(nr) for nr in kept]
        found += [("before", 0, *name_of(hook)) for hook in _all(extra.pre_hooks).values()]
        found += [("after", 0, *name_of(hook)) for hook in _all(extra.post_hooks).values()]
    if not node.arity and (told := told_by(node)):
        found += [("accumulated", 0, *name_of(hook)) for hook in told.values()]
    return tuple(found)


def _all(hooks: dict[int, Any] | None) -> dict[int, Any]:
    return hooks or {}


def told_by(node: Any) -> Any:
    """Return the hooks after accumulation of a node that may be a leaf's."""
    meta = node.variable._meta if node.name() == ACCUMULATE else None
    return None if meta is None else meta.post_accumulate
