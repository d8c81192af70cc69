"""What there is of Apple's devices: nothing (torch.backends.mps)."""

from __future__ import annotations

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """False: tensors are always in the computer's own memory."""
    return False


def is_built() -> bool:
    """False: the workbench computes with NumPy."""
    return False
