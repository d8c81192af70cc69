"""Differences between versions of PyTorch, from the oldest one that can be recorded on."""

from __future__ import annotations

import re
from typing import Any

import torch

from .. import TOO_OLD

_OLDEST = (2, 6)
_c: Any = torch._C  # its stubs leave out most of what it has
_autograd: Any = _c._autograd

TELLS_SAVED = hasattr(_autograd.SavedTensor, "data")  # whether what is saved can be seen as it is kept: not in 2.9

COMPILED_CALLS = ("compile_wrapper", "_fn")  # what the call of a compiled function runs; the latter until 2.7


def refuse_old(version: str) -> None:
    """Raise an error if a version is too old."""
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is not None and tuple(map(int, found.groups())) < _OLDEST:
        raise ImportError(TOO_OLD.format(".".join(map(str, _OLDEST)), version))


def is_packing() -> bool:
    """Return True if hooks pack what operations save now; PyTorch refuses to disable hooks while there are some."""
    if not _autograd._saved_tensors_hooks_is_enabled():
        return False
    try:
        _autograd._saved_tensors_hooks_disable("looking whether there are hooks on saved tensors")
    except RuntimeError:
        return True
    finally:
        _autograd._saved_tensors_hooks_enable()
    return False


def kept_in(saved: Any) -> tuple[Any, Any]:
    """Return what a node saved under a name, the tensor or what a hook packed, and the hook that unpacks it."""
    return saved.data, saved.unpack_hook


def read_from(node: Any, attribute: str) -> list[tuple[str, Any]]:
    """Return what a node has just saved without a hook, read as the node reads it, by the names of its attributes.

    If PyTorch doesn't expose a node's raw saved tensors, this is the only access, and would run a hook that unpacks.
    """
    name = attribute.removeprefix("_raw")
    try:
        found = getattr(node, "saved_tensors" if name == "_saved_tensors" else name)
    except RuntimeError:  # freed, or written since
        return []
    several = isinstance(found, tuple | list)
    slots = [(f"[{at}]", each) for at, each in enumerate(found)] if several else [("", found)]
    return [(at, each) for at, each in slots if each is not None]
