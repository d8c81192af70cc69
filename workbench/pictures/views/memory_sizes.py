"""Sizes in memory: the bytes of an array, whose memory a saved tensor is, and how an amount is said."""

from __future__ import annotations

import math
import re
from functools import lru_cache

from ..trace.facts import Saved
from ..trace.frame import Frame
from ..trace.values import Value


def bytes_of(value: Value) -> int:
    """Return an array's size in bytes, from the bits in its dtype's name: "bfloat16", "complex64"."""
    return math.prod(value.shape) * _width(value.dtype)


@lru_cache(100)
def _width(dtype: str) -> int:
    bits = re.search(r"\d+", dtype)
    return 1 if bits is None else max(1, int(bits[0]) // 8)


def bytes_said(count: float) -> str:
    """Return an amount of memory with 4 significant digits: `36 bytes`, `3.906 KiB`."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count:.4g} {'byte' if count == 1 else 'bytes'}"


def owner_of(frame: Frame, tensor: str) -> tuple[str, int, bool]:
    """Return the tensor that owns another one's memory, its bytes, and if it is held anyway, as a leaf or by a name."""
    owner = frame.owner(tensor)
    state = frame.tensors[owner]
    return owner, bytes_of(state.value), state.node is None and (state.requires_grad or state.name is not None)


def kept_of(frame: Frame, place: str, saved: Saved, value: Value | None) -> tuple[str, int, bool]:
    """Return a saved tensor's storage, its bytes, and if it is held anyway; `place` names it otherwise."""
    if saved.storage is not None:
        id, size = saved.storage.id, saved.storage.size
        owner, _, anyway = owner_of(frame, id) if id in frame.tensors else (id, 0, False)
        return owner, size, anyway
    if saved.tensor is not None:
        return owner_of(frame, saved.tensor)
    return place, bytes_of(value) if value else 0, False
