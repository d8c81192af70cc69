"""Windows of images as columns, and columns put together to images, as layers."""

from __future__ import annotations

from typing import Any

from ...autograd.tensor import Tensor
from .. import functional as F
from .module import Module


class Unfold(Module):
    """The windows of images, as columns."""

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        """The columns."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """What the windows are like."""
        how = f"dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        return f"kernel_size={self.kernel_size}, {how}"


class Fold(Unfold):
    """Images of a size, put together from columns; where windows overlap they add up."""

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """The images."""
        how = self.kernel_size, self.dilation, self.padding, self.stride
        return F.fold(input, self.output_size, *how)

    def extra_repr(self) -> str:
        """The size, and what the windows are like."""
        return f"output_size={self.output_size}, {super().extra_repr()}"
