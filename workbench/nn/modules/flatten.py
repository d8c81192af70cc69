"""Dimensions made one (torch.nn.modules.flatten)."""

from __future__ import annotations

from ...autograd.tensor import Tensor
from .module import Module


class Flatten(Module):
    """The input with the dimensions from `start_dim` to `end_dim` as one: all but the batch, unless told otherwise."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The same elements in fewer dimensions."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The first and the last of these dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
