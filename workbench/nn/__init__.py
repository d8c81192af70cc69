"""What neural networks are made of, under PyTorch's names."""

from . import functional

__all__ = ["functional"]
