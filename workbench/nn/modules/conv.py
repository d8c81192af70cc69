"""Convolutions (torch.nn.modules.conv)."""

from __future__ import annotations

import math
from typing import Any

from ...autograd.dtypes import dtype as Dtype
from ...autograd.tensor import Parameter, Tensor
from ...ops.creation import empty
from .. import functional as F
from .. import init, messages
from .module import Module


def pair(size: Any) -> tuple[Any, ...]:
    """One number for both dimensions, or one for each."""
    return tuple(size) if isinstance(size, (tuple, list)) else (size, size)


class Conv2d(Module):
    """Kernels of weights moved over images, one output channel each, plus bias.

    The weight is (out_channels, in_channels / groups, height, width). Images are padded with zeros.
    """

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
        super().__init__()
        if groups <= 0:
            raise ValueError(messages.CONV_GROUPS)
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(messages.CONV_CHANNELS.format(name))
        if padding_mode != "zeros":
            raise ValueError(messages.CONV_MODE.format(padding_mode))
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = pair(kernel_size), pair(stride), pair(dilation)
        self.padding, self.padding_mode = padding if isinstance(padding, str) else pair(padding), padding_mode
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(messages.CONV_PADDING.format(padding, {"same", "valid"}))
        if padding == "same" and self.stride != (1, 1):
            raise ValueError(messages.CONV_SAME)
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias again, evenly from ±1/√(numbers that flow into an output)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """The convolution of (images, channels, height, width), or of one image."""
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        """The channels and sizes, and what is not as usual."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        text += f", padding={self.padding}" if self.padding != (0, 0) else ""
        text += f", dilation={self.dilation}" if self.dilation != (1, 1) else ""
        text += f", groups={self.groups}" if self.groups != 1 else ""
        return text + (", bias=False" if self.bias is None else "")
