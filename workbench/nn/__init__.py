"""What neural networks are made of, under PyTorch's names."""

from . import functional, modules
from .modules import *  # noqa: F403
from .parameter import Parameter

__all__ = ["functional", "modules", "Parameter", *modules.__all__]
