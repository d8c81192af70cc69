"""What differs between versions of PyTorch, from the oldest that can be recorded on."""

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
    """Raise an error that says so where a version is too old."""
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is not None and tuple(map(int, found.groups())) < _OLDEST:
        raise ImportError(TOO_OLD.format(".".join(map(str, _OLDEST)), version))


def is_packing() -> bool:
    """Whether hooks pack what operations save now; to disable them is refused while there are some."""
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
    """What a slot of a node keeps, the tensor or what a hook packed, and the hook that unpacks it."""
    return saved.data, saved.unpack_hook


def read_from(node: Any, attribute: str) -> list[tuple[str, Any]]:
    """What a node has just saved without a hook, read as the node reads it: each slot's name behind the attribute.

    Where PyTorch does not tell what a slot keeps, this is the one way to it, and it would run a hook that unpacks.
    """
    name = attribute.removeprefix("_raw")
    try:
        found = getattr(node, "saved_tensors" if name == "_saved_tensors" else name)
    except RuntimeError:  # freed, or written since
        return []
    several = isinstance(found, tuple | list)
    slots = [(f"[{at}]", each) for at, each in enumerate(found)] if several else [("", found)]
    return [(at, each) for at, each in slots if each is not None]
