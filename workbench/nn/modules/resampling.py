"""Pools over windows of one size, or over a given number of windows, and interpolation."""

from __future__ import annotations

from typing import Any

from ...autograd.tensor import Tensor
from .. import functional as F
from .convolution import each
from .module import Module

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]


class _MaxPoolNd(Module):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def extra_repr(self) -> str:
        """Return the sizes."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """Compute the maximum of each window of a sequence, in each channel.

    The input has the shape (batch, channels, length), or is one sequence without the batch. PyTorch:
    torch.nn.MaxPool1d.

    Args:
        kernel_size: The length of a window.
        stride: How many elements the window moves each time. None means `kernel_size`, so that windows don't overlap.
        padding: How many elements to add on both sides, with the value minus infinity.
        dilation: The distance between two neighboring elements of a window: 1 reads all elements, 2 every other one.
        return_indices: If True, the result is a pair: the maxima and their positions in the input.
        ceil_mode: If True, the last window may extend beyond the end of the input. Otherwise, such a window is left
            out.
    """

    def forward(self, input: Tensor) -> Any:
        """Return the maxima, and with `return_indices` their positions in the input."""
        how = self.padding, self.dilation, self.ceil_mode, self.return_indices
        return F.max_pool1d(input, self.kernel_size, self.stride, *how)


class MaxPool2d(_MaxPoolNd):
    """Compute the maximum of each window of an image, in each channel.

    The input has the shape (batch, channels, height, width), or is one image without the batch. Each size below is a
    pair (height, width), or one number for both. PyTorch: torch.nn.MaxPool2d.

    Args:
        kernel_size: The size of a window.
        stride: How many elements the window moves each time. None means `kernel_size`, so that windows don't overlap.
        padding: How many elements to add on both sides of each dimension, with the value minus infinity.
        dilation: The distance between two neighboring elements of a window: 1 reads all elements, 2 every other one.
        return_indices: If True, the result is a pair: the maxima and their positions in the input.
        ceil_mode: If True, the last window may extend beyond the end of the input. Otherwise, such a window is left
            out.
    """

    def forward(self, input: Tensor) -> Any:
        """Return the maxima, and with `return_indices` their positions in each flattened channel."""
        how = self.padding, self.dilation, self.ceil_mode, self.return_indices
        return F.max_pool2d(input, self.kernel_size, self.stride, *how)


class _AvgPoolNd(Module):
    """The common part of average pools of images and of volumes."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPoolNd):
    """Compute the mean of each window of an image, in each channel.

    The input has the shape (batch, channels, height, width), or is one image without the batch. Each size below is a
    pair (height, width), or one number for all. PyTorch: torch.nn.AvgPool2d.

    Args:
        kernel_size: The size of a window.
        stride: How many elements the window moves each time. None means `kernel_size`, so that windows don't overlap.
        padding: How many zeros to add on both sides of each dimension.
        ceil_mode: If True, the last window may extend beyond the end of the input. Otherwise, such a window is left
            out.
        count_include_pad: If True, the zeros of the padding count as elements when a mean is computed.
        divisor_override: The number to divide each sum by, instead of the number of elements.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the means."""
        how = self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override
        return F.avg_pool2d(input, self.kernel_size, self.stride, *how)


class AvgPool1d(Module):
    """Compute the mean of each window of a sequence, in each channel.

    The input has the shape (batch, channels, length), or is one sequence without the batch. PyTorch:
    torch.nn.AvgPool1d.

    Args:
        kernel_size: The length of a window.
        stride: How many elements the window moves each time. None means `kernel_size`, so that windows don't overlap.
        padding: How many zeros to add on both sides.
        ceil_mode: If True, the last window may extend beyond the end of the input. Otherwise, such a window is left
            out.
        count_include_pad: If True, the zeros of the padding count as elements when a mean is computed.
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = each(kernel_size, 1), each(kernel_size if stride is None else stride, 1)
        self.padding, self.ceil_mode, self.count_include_pad = each(padding, 1), ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """Return the means."""
        how = self.padding, self.ceil_mode, self.count_include_pad
        return F.avg_pool1d(input, self.kernel_size, self.stride, *how)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool3d(_AvgPoolNd):
    """Compute the mean of each window of a volume, in each channel.

    The input has the shape (batch, channels, depth, height, width), or is one volume without the batch. Each size below
    is a triple (depth, height, width), or one number for all. PyTorch: torch.nn.AvgPool3d.

    Args:
        kernel_size: The size of a window.
        stride: How many elements the window moves each time. None means `kernel_size`, so that windows don't overlap.
        padding: How many zeros to add on both sides of each dimension.
        ceil_mode: If True, the last window may extend beyond the end of the input. Otherwise, such a window is left
            out.
        count_include_pad: If True, the zeros of the padding count as elements when a mean is computed.
        divisor_override: The number to divide each sum by, instead of the number of elements.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the means."""
        how = self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override
        return F.avg_pool3d(input, self.kernel_size, self.stride, *how)


class _AdaptiveAvgPoolNd(Module):
    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        """Return the number of windows."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Average a sequence over `output_size` windows, whatever its length. Neighboring windows may overlap."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the means."""
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Average an image over a grid of windows, so that the output has the size `output_size`.

    `output_size` is (height, width), or one number for both. Neighboring windows overlap if it doesn't divide the
    image's size.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the means."""
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Average a volume over a grid of windows, so that the output has the size `output_size`.

    `output_size` is (depth, height, width), or one number for all.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the means."""
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMaxPoolNd(_AdaptiveAvgPoolNd):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Divide a sequence into `output_size` windows, and compute the maximum of each: the output's length is fixed.

    Args:
        output_size: The number of windows.
        return_indices: If True, the result is a pair: the maxima and their positions in the input.
    """

    def forward(self, input: Tensor) -> Any:
        """Return the maxima, and with `return_indices` their positions in the input."""
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Divide an image into `output_size` windows, and compute the maximum of each: the output's size is fixed.

    Args:
        output_size: The number of windows, (height, width), or one number for both.
        return_indices: If True, the result is a pair: the maxima and their positions in each flattened channel.
    """

    def forward(self, input: Tensor) -> Any:
        """Return the maxima, and with `return_indices` their positions in each flattened channel."""
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class Upsample(Module):
    """Resize sequences, images or volumes by nearest-neighbor, linear or cubic interpolation.

    The input has the shape (batch, channels, …). PyTorch: torch.nn.Upsample.

    Args:
        size: The size of the output: one number, or a number per dimension. Give either `size` or `scale_factor`.
        scale_factor: The factor by which the size grows: one number, or a number per dimension.
        mode: "nearest" or "nearest-exact" copies the nearest element, and "area" averages the elements of each window.
            "linear" (sequences), "bilinear" (images), "trilinear" (volumes) and "bicubic" (images) interpolate.
        align_corners: For the linear and cubic modes. If True, the centers of the corner elements stay in place. If
            False, the outer edges of the grid do.
        recompute_scale_factor: If True, the interpolation uses the ratio of the output size to the input size instead
            of the given `scale_factor`. Both differ if the output size had to be rounded.
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        if isinstance(scale_factor, tuple):
            scale_factor = tuple(float(factor) for factor in scale_factor)
        self.name, self.size = type(self).__name__, size
        self.scale_factor = float(scale_factor) if isinstance(scale_factor, int) and scale_factor else scale_factor
        self.mode, self.align_corners, self.recompute_scale_factor = mode, align_corners, recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Return the input in its new size."""
        how = self.mode, self.align_corners, self.recompute_scale_factor
        return F.interpolate(input, self.size, self.scale_factor, *how)

    def extra_repr(self) -> str:
        """Return the scale or the size, and how it is computed."""
        by = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{by}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resize images (batch, channels, height, width): each output pixel copies the nearest input pixel.

    Args:
        size: The size of the output: one number, or (height, width). Give either `size` or `scale_factor`.
        scale_factor: The factor by which the size grows: one number, or one for height and one for width.
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Resize images by bilinear interpolation: Upsample with mode "bilinear" and `align_corners=True`.

    Args:
        size: The size of the output: one number, or (height, width). Give either `size` or `scale_factor`.
        scale_factor: The factor by which the size grows: one number, or one for height and one for width.
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)
