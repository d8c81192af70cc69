"""Modules, losses and functions for neural networks, under PyTorch's names (torch.nn)."""

from typing import Any as _Any

from ..absent import part as _part
from . import functional, init, modules, parallel, utils
from .modules import *  # noqa: F403
from .parallel import DataParallel
from .parameter import Parameter

__all__ = ["functional", "init", "modules", "Parameter", "parallel", "DataParallel", "utils", *modules.__all__]


def __getattr__(name: str) -> _Any:
    return _part(__name__, name)
