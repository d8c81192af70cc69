"""Apple's devices, of which there are none (torch.backends.mps)."""

from __future__ import annotations

from ..compat.tables import row as _row

__all__ = ["is_available", "is_built"]


@_row(False, "Return False: tensors are always in the computer's main memory.")
def is_available() -> bool: ...
@_row(False, "Return False: the workbench computes with NumPy.")
def is_built() -> bool: ...
