"""Utilities built on the engine (torch.utils)."""

from ..compat.absent import refusing as _refusing
from . import checkpoint, data, hooks

__getattr__ = _refusing(__name__)  # refuses absent names by a sentence

__all__ = ["checkpoint", "data", "hooks"]
