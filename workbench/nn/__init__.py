"""What neural networks are made of, under PyTorch's names."""

from typing import Any as _Any

from ..absent import refusal as _refusal
from . import functional, init, modules, utils
from .modules import *  # noqa: F403
from .parameter import Parameter

__all__ = ["functional", "init", "modules", "Parameter", "utils", *modules.__all__]


def __getattr__(name: str) -> _Any:
    raise _refusal(f"module {__name__!r}", "torch.nn", name)
