"""Leaving out at random (torch.nn.modules.dropout)."""

from __future__ import annotations

from ...autograd.tensor import Tensor
from .. import functional as F
from .. import messages
from .module import Module


class Dropout(Module):
    """In training, zeros in place of each element with probability `p`, and the others enlarged to make up for it."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(messages.PROBABILITY.format(p))
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input, in training without some of its elements."""
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The probability, and whether it writes into its input."""
        return f"p={self.p}, inplace={self.inplace}"
