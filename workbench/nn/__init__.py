"""Modules, losses and functions for neural networks, under PyTorch's names (torch.nn)."""

from ..compat.absent import refusing as _refusing
from . import functional, init, modules, parallel, utils
from .modules import *  # noqa: F403
from .parallel import DataParallel
from .parameter import Parameter

__getattr__ = _refusing(__name__)  # refuses absent names by a sentence

__all__ = ["functional", "init", "modules", "Parameter", "parallel", "DataParallel", "utils", *modules.__all__]
