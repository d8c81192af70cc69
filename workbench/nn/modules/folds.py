"""Windows of images as columns, and images from columns, as modules."""

from __future__ import annotations

from typing import Any

from ...autograd.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Fold", "Unfold"]


class Unfold(Module):
    """Copy each window of an image into a column.

    The input has the shape (batch, channels, height, width), and the output has the shape
    (batch, window size, windows). The window size is `channels * kernel height * kernel width`. A convolution is the
    matrix product of the flattened kernels with these columns. Each argument is a number or a pair (height, width), as
    for Conv2d. PyTorch: torch.nn.Unfold.

    Args:
        kernel_size: The size of a window.
        dilation: The distance between two neighboring elements of a window: 1 reads all elements, 2 every other one.
        padding: How many zeros to add on each side of the image.
        stride: How many elements the window moves each time.
    """

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        """Return the columns, of shape (batch, window size, windows)."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Return the sizes and steps of the windows."""
        how = f"dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        return f"kernel_size={self.kernel_size}, {how}"


class Fold(Unfold):
    """Build images of `output_size` from columns: the reverse of Unfold.

    Where windows overlap, their values are summed. The input has the shape (batch, window size, windows), and the
    output has the shape (batch, channels, height, width). Each argument is a number or a pair (height, width). PyTorch:
    torch.nn.Fold.

    Args:
        output_size: The size of the images, (height, width).
        kernel_size: The size of a window.
        dilation: The distance between two neighboring elements of a window: 1 reads all elements, 2 every other one.
        padding: How many rows and columns to remove from each side, which `Unfold` added.
        stride: How many elements the window moves each time.
    """

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """Return the images, of shape (batch, channels, height, width)."""
        how = self.kernel_size, self.dilation, self.padding, self.stride
        return F.fold(input, self.output_size, *how)

    def extra_repr(self) -> str:
        """Return the size of the images, and the sizes and steps of the windows."""
        return f"output_size={self.output_size}, {super().extra_repr()}"
