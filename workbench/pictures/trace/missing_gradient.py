"""A `.grad` that is None where Python wants a tensor: not autograd's error, but what it has not done is the cause."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import FrameType
from typing import Any

from .error_frames import users_frames
from .facts import Called
from .names import named_in
from .source import line_text
from .variables import class_of, variable

_GRADS = re.compile(r"([^\W\d][\w.]*)\.grad\b")
_GROUPS = ("_parameters", "_buffers", "_modules")  # where a module keeps its own


def without_gradient(error: BaseException | None) -> tuple[Called, tuple[str, int]] | None:
    """Return the tensor whose `.grad` is None on the line that raised this error, and the line: `w -= 0.1 * w.grad`."""
    if not isinstance(error, TypeError | AttributeError) or "NoneType" not in str(error):
        return None
    users = users_frames(error)
    if not users:
        return None
    frame, line = users[-1]
    for written in _GRADS.findall(line_text(*line)):
        tensor = held_by(frame, written)
        if not is_any_tensor(tensor):
            continue
        if tensor.requires_grad and (not tensor.is_leaf or tensor.grad is None) and not tensor.retains_grad:
            kind = "no gradient" if tensor.is_leaf else "no gradient of a result"
        elif not tensor.requires_grad and tensor.grad is None:
            kind = "no gradient required"
        else:
            continue
        name = next((name for name, each in named_in(frame, is_any_tensor) if each is tensor), written)
        return Called(kind, name), line
    return None


def is_any_tensor(thing: Any) -> bool:
    """Return True if it is a tensor of either engine."""
    names = dir(class_of(thing))
    return "is_leaf" in names and "retains_grad" in names


def held_by(frame: FrameType, written: str) -> Any:
    """Return what a name and its attributes hold in a frame; None if finding out would run code."""
    first, *attributes = written.split(".")
    held: Any = variable(frame, first)
    for each in attributes:
        told: dict[str, Any] = getattr(held, "__dict__", {})
        groups: list[Any] = [told, *[told.get(group) for group in _GROUPS]]
        held = next((group[each] for group in groups if issubclass(type(group), Mapping) and each in group), None)
    return held
