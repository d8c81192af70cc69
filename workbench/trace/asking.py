"""What a recorder asks tensors and nodes, by which nothing of them changes."""

from __future__ import annotations

from typing import Any

import numpy as np


def maker_of(tensor: Any) -> Any:
    """The node that made a tensor: of a view the one it had when the user last asked, as asking makes it a new one."""
    meta = tensor._meta
    return tensor._fn if meta is None or meta.base is None else meta.view_fn


def version_of(tensor: Any) -> int:
    """How often a tensor was written; nobody counts that of one made in inference mode."""
    return 0 if tensor.is_inference() else tensor._version


def entry_of(node: Any) -> Any:
    """The entry of the innermost scope that a node was made in (autograd/scopes.py)."""
    return getattr(getattr(node, "extra", None), "scope", None)


def grad_of(tensor: Any) -> Any:
    """The gradient that a tensor has; `grad` itself may warn."""
    return None if tensor._meta is None else tensor._meta.grad


def memory_of(tensor: Any) -> Any:
    """The array that owns the memory a tensor shows, if it is one that can be asked for it."""
    array = getattr(tensor, "_array", None)
    return array if type(array) is not np.ndarray or array.base is None else array.base


def zeros_of(node: Any) -> tuple[int, ...]:
    """The outputs of a custom node for which it is given zeros where no gradient arrives."""
    hands = getattr(type(node), "hands_zeros", None)
    return () if hands is None else tuple([nr for nr in range(node.outputs) if hands(node, nr)])
