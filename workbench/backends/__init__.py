"""PyTorch's backend switches; they can be set, and have no effect (torch.backends)."""

from __future__ import annotations

from ..compat.absent import refusing as _refusing
from . import cuda, cudnn, mps

__getattr__ = _refusing(__name__)  # refuses absent names by a sentence

__all__ = ["cuda", "cudnn", "mps"]
