"""Conveniences built on the engine, under torch.utils's names."""

from . import checkpoint, hooks

__all__ = ["checkpoint", "hooks"]
