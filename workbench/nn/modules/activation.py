"""Functions of each element that are made of pieces, and gates."""

from __future__ import annotations

from typing import Any

from ...autograd.dtypes import dtype as Dtype
from ...autograd.tensor import Parameter, Tensor
from ...ops.creation import empty
from .. import functional as F
from .. import init
from .module import Module


class _InPlace(Module):
    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class _SaysInPlace(_InPlace):
    def extra_repr(self) -> str:
        """Whether it writes into its input."""
        return "inplace=True" if self.inplace else ""


class Hardtanh(Module):
    """The element, no less than `min_val` and no more than `max_val`."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The element within the bounds."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """The bounds, and whether it writes into its input."""
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """The element, no less than 0 and no more than 6."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Whether it writes into its input."""
        return "inplace=True" if self.inplace else ""


class Hardsigmoid(_InPlace):
    """A sixth of the element plus 3, no less than 0 and no more than 1."""

    def forward(self, input: Tensor) -> Tensor:
        """Numbers between 0 and 1."""
        return F.hardsigmoid(input, self.inplace)


class Hardswish(_InPlace):
    """The element times its hardsigmoid."""

    def forward(self, input: Tensor) -> Tensor:
        """The element times its hardsigmoid."""
        return F.hardswish(input, self.inplace)


class Mish(_SaysInPlace):
    """The element times the hyperbolic tangent of its softplus."""

    def forward(self, input: Tensor) -> Tensor:
        """The element times the hyperbolic tangent of its softplus."""
        return F.mish(input, self.inplace)


class SELU(_SaysInPlace):
    """ELU with the scale that keeps mean 0 and variance 1 through many layers."""

    def forward(self, input: Tensor) -> Tensor:
        """The scaled ELU."""
        return F.selu(input, self.inplace)


class CELU(Module):
    """The element, or alpha * (exp(element / alpha) - 1) where it is negative."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The element, or what approaches minus alpha."""
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """What the elements approach below zero, and whether it writes into its input."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """How far from 0 it reaches."""
        return str(self.lambd)


class Hardshrink(_Shrink):
    """The element, or 0 where it is near 0."""

    def forward(self, input: Tensor) -> Tensor:
        """The element, or 0 where it is near 0."""
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """The element, nearer to 0 by a distance."""

    def forward(self, input: Tensor) -> Tensor:
        """The element, nearer to 0."""
        return F.softshrink(input, self.lambd)


class Tanhshrink(Module):
    """The element less its hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """The element less its hyperbolic tangent."""
        return F.tanhshrink(input)


class Softsign(Module):
    """The element divided by 1 plus its absolute value."""

    def forward(self, input: Tensor) -> Tensor:
        """The element divided by 1 plus its absolute value."""
        return F.softsign(input)


class Threshold(Module):
    """The element, or a value where it is not above the threshold."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The element, or the value."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """The threshold, the value, and whether it writes into its input."""
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class GLU(Module):
    """The first half of the elements along `dim`, times the sigmoid of the second."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Half as many elements."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class PReLU(Module):
    """The element, or a learned part of it where it is negative; one for all channels, or one for each."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Dtype | None = None
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """The parts as they were at first."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """The element, or a part of it."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """How many parts are learned."""
        return f"num_parameters={self.num_parameters}"


class RReLU(Module):
    """The element, or a small part of it where it is negative: in training a random part between two bounds."""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The element, or a part of it."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The bounds, and whether it writes into its input."""
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class Softmin(Module):
    """Softmax of the elements with their signs changed."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Positive numbers that sum to one along `dim`."""
        return F.softmin(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class Softmax2d(Module):
    """Softmax over the channels of (images, channels, height, width), or of one image."""

    def forward(self, input: Tensor) -> Tensor:
        """Positive numbers that sum to one over the channels."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)
