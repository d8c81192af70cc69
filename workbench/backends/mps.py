"""Apple's devices, of which there are none (torch.backends.mps)."""

from __future__ import annotations

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Return False: tensors are always in the computer's main memory."""
    return False


def is_built() -> bool:
    """Return False: the workbench computes with NumPy."""
    return False
