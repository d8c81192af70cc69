"""PyTorch's backend switches; they can be set, and have no effect (torch.backends)."""

from __future__ import annotations

from typing import Any as _Any

from ..absent import refusal as _refusal
from . import cuda, cudnn, mps

__all__ = ["cuda", "cudnn", "mps"]


def __getattr__(name: str) -> _Any:
    raise _refusal(f"module {__name__!r}", "torch.backends", name)
