"""Utilities built on the engine (torch.utils)."""

from typing import Any as _Any

from ..absent import refusal as _refusal
from . import checkpoint, data, hooks

__all__ = ["checkpoint", "data", "hooks"]


def __getattr__(name: str) -> _Any:
    raise _refusal(f"module {__name__!r}", "torch.utils", name)
