"""Convolutions of sequences, images and volumes, and their transposes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...autograd.dtypes import dtype as Dtype
from ...autograd.tensor import Parameter, Tensor
from ...errors import PADDING_SAME_STRIDE
from ...ops.creation import empty
from .. import functional as F
from .. import init
from .module import Module

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


def each(size: Any, dims: int) -> tuple[Any, ...]:
    """Return one number per dimension, where one number may stand for all."""
    return tuple(size) if isinstance(size, (tuple, list)) else (size,) * dims


class _ConvNd(Module):
    """The common part of convolutions of any number of dimensions."""

    _dims = 0
    _transposed = False

    def _begin(
        self,
        channels: tuple[int, int],
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Dtype | None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, count in zip(("in_channels", "out_channels"), channels, strict=True):
            if count % groups:
                raise ValueError(f"{name} must be divisible by groups")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError("Invalid padding string {!r}, should be one of {}".format(padding, {"same", "valid"}))
        stride = each(stride, self._dims)
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError(PADDING_SAME_STRIDE)
        modes = {"zeros", "reflect", "replicate", "circular"}
        if padding_mode not in modes:
            raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode={padding_mode!r}")
        (self.in_channels, self.out_channels), self.groups = channels, groups
        self.kernel_size, self.stride, self.dilation = each(kernel_size, self._dims), stride, each(dilation, self._dims)
        self.padding = padding if isinstance(padding, str) else each(padding, self._dims)
        self.output_padding, self.padding_mode = each(output_padding, self._dims), padding_mode
        into, out_of = channels[::-1] if self._transposed else channels
        shape = (out_of, into // groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        own = Parameter(empty(self.out_channels, device=device, dtype=dtype)) if bias else None
        self.register_parameter("bias", own)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias again, uniformly between ±1/√n, for n inputs of each output element."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """Return the channels and sizes, and the options that differ from their defaults."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name)
            text += f", {name}={value}" if value != (usual,) * self._dims else ""
        text += f", groups={self.groups}" if self.groups != 1 else ""
        text += ", bias=False" if self.bias is None else ""
        return text + (f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "")


class _Straight(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Dtype | None = None,
    ) -> None:
        how = kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode, device, dtype
        self._begin((in_channels, out_channels), *how)

    def _run(self, function: Callable[..., Tensor], input: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":  # then the borders are made of the image itself, beforehand
            input, padding = F.pad(input, self._borders(), mode=self.padding_mode), 0
        return function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def _borders(self) -> list[int]:
        """Return the padding before and after each dimension, the last dimension first."""
        if self.padding == "valid":
            return [0] * (2 * self._dims)
        if not isinstance(self.padding, str):
            return [n for n in self.padding[::-1] for _ in range(2)]
        reach = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
        return [n for r in reach[::-1] for n in (r // 2, r - r // 2)]


class Conv1d(_Straight):
    """Slide a learned kernel along sequences, and return its weighted sum at each position, plus a bias.

    There is one kernel for each output channel. The input has the shape (batch, in_channels, length), or is one
    sequence without the batch. The output has `out_channels` channels. Its length is
    `(length + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1`. The weight has the shape
    (out_channels, in_channels / groups, kernel_size). PyTorch: torch.nn.Conv1d.

    Args:
        in_channels: The number of input channels.
        out_channels: The number of output channels.
        kernel_size: The length of the kernels.
        stride: How many elements the kernel moves between two outputs.
        padding: How many elements to add on both sides. "same" adds as many as keep the length, and "valid" adds none.
        dilation: The distance between two neighboring elements that the kernel reads: 1 reads all elements, 2 every
            other one.
        groups: The number of groups into which the channels are divided. An output channel reads only the input
            channels of its group.
        bias: If True, a learned number is added to each output channel.
        padding_mode: What the padding contains: "zeros", "reflect" (a mirror image), "replicate" (copies of the
            outermost element) or "circular" (the elements of the opposite side).
    """

    _dims = 1

    def forward(self, input: Tensor) -> Tensor:
        """Return the convolution, of shape (batch, out_channels, length), or without the batch."""
        return self._run(F.conv1d, input)


class Conv2d(_Straight):
    """Slide learned kernels over images: each output is a sum weighted by a kernel, plus a bias.

    There is one kernel for each output channel. The input has the shape (batch, in_channels, height, width), or is one
    image without the batch. The output has `out_channels` channels. The weight has the shape
    (out_channels, in_channels / groups, kernel height, kernel width). Each size below is a pair (height, width), or one
    number for both. PyTorch: torch.nn.Conv2d.

    Example:
        >>> layer = nn.Conv2d(in_channels=3, out_channels=8, kernel_size=5, padding="same")
        >>> layer(torch.zeros(10, 3, 32, 32)).shape
        torch.Size([10, 8, 32, 32])

    Args:
        in_channels: The number of input channels.
        out_channels: The number of output channels.
        kernel_size: The size of the kernels.
        stride: How many elements the kernel moves between two outputs.
        padding: How many elements to add on both sides of each dimension. "same" adds as many as keep the size, and
            "valid" adds none.
        dilation: The distance between two neighboring elements that the kernel reads: 1 reads all elements, 2 every
            other one.
        groups: The number of groups into which the channels are divided. An output channel reads only the input
            channels of its group.
        bias: If True, a learned number is added to each output channel.
        padding_mode: What the padding contains: "zeros", "reflect" (a mirror image), "replicate" (copies of the
            outermost element) or "circular" (the elements of the opposite side).
    """

    _dims = 2

    def forward(self, input: Tensor) -> Tensor:
        """Return the convolution, of shape (batch, out_channels, height, width), or without the batch."""
        return self._run(F.conv2d, input)


class Conv3d(_Straight):
    """Slide a learned kernel through volumes, and return its weighted sum at each position, plus a bias.

    There is one kernel for each output channel. The input has the shape (batch, in_channels, depth, height, width), or
    is one volume without the batch. The weight has the shape (out_channels, in_channels / groups, kernel depth, kernel
    height, kernel width). Each size below is a triple (depth, height, width), or one number for all three. PyTorch:
    torch.nn.Conv3d.

    Args:
        in_channels: The number of input channels.
        out_channels: The number of output channels.
        kernel_size: The size of the kernels.
        stride: How many elements the kernel moves between two outputs.
        padding: How many elements to add on both sides of each dimension. "same" adds as many as keep the size, and
            "valid" adds none.
        dilation: The distance between two neighboring elements that the kernel reads: 1 reads all elements, 2 every
            other one.
        groups: The number of groups into which the channels are divided. An output channel reads only the input
            channels of its group.
        bias: If True, a learned number is added to each output channel.
        padding_mode: What the padding contains: "zeros", "reflect" (a mirror image), "replicate" (copies of the
            outermost element) or "circular" (the elements of the opposite side).
    """

    _dims = 3

    def forward(self, input: Tensor) -> Tensor:
        """Return the convolution, of shape (batch, out_channels, depth, height, width), or without the batch."""
        return self._run(F.conv3d, input)


class _ConvTransposeNd(_ConvNd):
    _transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Dtype | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        how = kernel_size, stride, padding, dilation, output_padding, groups, bias, padding_mode, device, dtype
        self._begin((in_channels, out_channels), *how)

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """Return the transposed convolution; `output_size` chooses one of the sizes that the stride allows."""
        more = self.output_padding if output_size is None else self._padding_for(input, output_size)
        function = getattr(F, f"conv_transpose{self._dims}d")
        return function(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)

    def _padding_for(self, input: Tensor, wanted: Any) -> list[int]:
        """Return the `output_padding` that gives an output of the wanted size.

        Raises:
            ValueError: if no padding gives this size.
        """
        dims, before = self._dims, input.dim() - self._dims
        if len(wanted) == before + dims:
            wanted = wanted[before:]
        if len(wanted) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must have {dims} or "
                f"{before + dims} elements (got {len(wanted)})"
            )
        facts = zip(input.shape[-dims:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in facts]
        most = [n + s - 1 for n, s in zip(least, self.stride, strict=True)]
        if any(not low <= n <= high for low, n, high in zip(least, wanted, most, strict=True)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to {most} (for an "
                f"input of {input.shape[2:]})"
            )
        return [n - low for n, low in zip(wanted, least, strict=True)]


class ConvTranspose1d(_ConvTransposeNd):
    """Add a scaled copy of the kernel to the output for each input element; overlapping copies are summed.

    This operation computes a Conv1d's gradient with respect to its input. The input has the shape
    (batch, in_channels, length), or is one sequence without the batch. The output's length is
    `(length - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1`. The weight has the shape
    (in_channels, out_channels / groups, kernel_size). PyTorch: torch.nn.ConvTranspose1d.

    Args:
        in_channels: The number of input channels.
        out_channels: The number of output channels.
        kernel_size: The length of the kernels.
        stride: The distance in the output between the copies for two neighboring input elements.
        padding: How many elements to cut off on both sides of the output.
        output_padding: How many elements to add at the end of the output. It chooses among the possible lengths: with a
            stride, a Conv1d gives inputs of several lengths the same output length.
        groups: The number of groups into which the channels are divided. An output channel reads only the input
            channels of its group.
        bias: If True, a learned number is added to each output channel.
        dilation: The distance in the output between two neighboring elements of the kernel.
        padding_mode: Must be "zeros".
    """

    _dims = 1


class ConvTranspose2d(_ConvTransposeNd):
    """Add a scaled copy of the kernel to the output for each input element; overlapping copies are summed.

    The input has the shape (batch, in_channels, height, width), or is one image without the batch. The weight has the
    shape (in_channels, out_channels / groups, kernel height, kernel width). Each size below is a pair (height, width),
    or one number for both. PyTorch: torch.nn.ConvTranspose2d.

    Args:
        in_channels: The number of input channels.
        out_channels: The number of output channels.
        kernel_size: The size of the kernels.
        stride: The distance in the output between the copies for two neighboring input elements.
        padding: How many elements to cut off on both sides of each dimension of the output.
        output_padding: How many elements to add at the end of each dimension of the output. It chooses among the
            possible sizes: with a stride, a convolution gives inputs of several sizes the same output size.
        groups: The number of groups into which the channels are divided. An output channel reads only the input
            channels of its group.
        bias: If True, a learned number is added to each output channel.
        dilation: The distance in the output between two neighboring elements of the kernel.
        padding_mode: Must be "zeros".
    """

    _dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    """Add a scaled copy of the kernel to the output for each input element; overlapping copies are summed.

    The input has the shape (batch, in_channels, depth, height, width), or is one volume without the batch. The weight
    has the shape (in_channels, out_channels / groups, kernel depth, kernel height, kernel width). Each size below is a
    triple (depth, height, width), or one number for all three. PyTorch: torch.nn.ConvTranspose3d.

    Args:
        in_channels: The number of input channels.
        out_channels: The number of output channels.
        kernel_size: The size of the kernels.
        stride: The distance in the output between the copies for two neighboring input elements.
        padding: How many elements to cut off on both sides of each dimension of the output.
        output_padding: How many elements to add at the end of each dimension of the output. It chooses among the
            possible sizes: with a stride, a convolution gives inputs of several sizes the same output size.
        groups: The number of groups into which the channels are divided. An output channel reads only the input
            channels of its group.
        bias: If True, a learned number is added to each output channel.
        dilation: The distance in the output between two neighboring elements of the kernel.
        padding_mode: Must be "zeros".
    """

    _dims = 3
