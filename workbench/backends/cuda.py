"""Switches of matrix products on CUDA; they can be set, and have no effect (torch.backends.cuda)."""

from __future__ import annotations

__all__ = ["is_built"]


class _Products:
    """How matrix products would be computed on such a device."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False


matmul = _Products()


def is_built() -> bool:
    """Return False: the workbench computes with NumPy."""
    return False
