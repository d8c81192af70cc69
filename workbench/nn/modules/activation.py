"""Element-wise functions, gates, and softmax."""

from __future__ import annotations

from typing import Any

from ...autograd.dtypes import dtype as Dtype
from ...autograd.tensor import Parameter, Tensor
from ...ops.creation import empty
from .. import functional as F
from .. import init
from .module import Module

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _InPlace(Module):
    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class _ShowsInPlace(_InPlace):
    def extra_repr(self) -> str:
        """Return "inplace=True" if the module writes into its input."""
        return "inplace=True" if self.inplace else ""


class ReLU(_ShowsInPlace):
    """Compute `max(0, x)` for each element x. PyTorch: torch.nn.ReLU.

    Args:
        inplace: If True, the result overwrites the input.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace)

    def forward(self, input: Tensor) -> Tensor:
        """Return each element, or 0 where it is negative."""
        return F.relu(input, inplace=self.inplace)


class LeakyReLU(Module):
    """Return each element x, or `negative_slope * x` where x is negative.

    Args:
        negative_slope: The slope for negative elements.
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return each element; negative elements are multiplied by `negative_slope`."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """Return the slope below zero, and whether the module writes into its input."""
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class Tanh(Module):
    """Compute the hyperbolic tangent of each element, a number between -1 and 1."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the hyperbolic tangent of each element."""
        return F.tanh(input)


class Sigmoid(Module):
    """Compute `1 / (1 + exp(-x))` for each element x, a number between 0 and 1."""

    def forward(self, input: Tensor) -> Tensor:
        """Return 1 / (1 + exp(-element))."""
        return F.sigmoid(input)


class LogSigmoid(Module):
    """Compute `log(1 / (1 + exp(-x)))` for each element x, without overflow."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the logarithm of the sigmoid."""
        return F.logsigmoid(input)


class SiLU(_ShowsInPlace):
    """Compute `x * sigmoid(x)` for each element x; also called swish."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace)

    def forward(self, input: Tensor) -> Tensor:
        """Return each element times its sigmoid."""
        return F.silu(input, self.inplace)


class ELU(Module):
    """Return each element x, or `alpha * (exp(x) - 1)` where x is negative (Clevert et al., 2016).

    Args:
        alpha: The result for large negative inputs approaches `-alpha`.
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return each element; a negative element x becomes `alpha * (exp(x) - 1)`."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Return alpha, and whether the module writes into its input."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class Softplus(Module):
    """Compute `log(1 + exp(beta * x)) / beta` for each element x, a smooth ReLU.

    Where `beta * x` is above `threshold`, the result is x itself, which avoids an overflow.
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        """Return log(1 + exp(beta * element)) / beta."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Return beta, and the threshold above which an element is returned as it is."""
        return f"beta={self.beta}, threshold={self.threshold}"


class GELU(Module):
    """Compute a smooth ReLU: x times the probability that a standard normal random number is below x.

    With `approximate="tanh"`, compute `0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))` instead. PyTorch:
    torch.nn.GELU; see Hendrycks and Gimpel (2016).
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Return each element times the probability that a standard normal number is below it."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Return how the probability is computed."""
        return f"approximate={self.approximate!r}"


class _AlongDim(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """Return the dimension."""
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """Compute `exp(x) / sum(exp(x))` along `dim`: positive numbers that sum to one. PyTorch: torch.nn.Softmax."""

    def forward(self, input: Tensor) -> Tensor:
        """Return positive numbers that sum to one along `dim`."""
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """Compute `log(softmax(x))` along `dim`, in one stable operation. PyTorch: torch.nn.LogSoftmax."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the logarithm of softmax."""
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Hardtanh(Module):
    """Clamp each element to the range from `min_val` to `max_val`: `min(max(x, min_val), max_val)`.

    Args:
        min_val: The lower bound.
        max_val: The upper bound, which must be larger.
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return each element, clamped to the range."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """Return the bounds, and whether the module writes into its input."""
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """Clamp each element x to the range from 0 to 6: `min(max(0, x), 6)`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Return "inplace=True" if the module writes into its input."""
        return "inplace=True" if self.inplace else ""


class Hardsigmoid(_InPlace):
    """Compute `(x + 3) / 6`, clamped to the range from 0 to 1: a sigmoid made of straight lines."""

    def forward(self, input: Tensor) -> Tensor:
        """Return numbers between 0 and 1."""
        return F.hardsigmoid(input, self.inplace)


class Hardswish(_InPlace):
    """Compute `x * hardsigmoid(x)` for each element x."""

    def forward(self, input: Tensor) -> Tensor:
        """Return each element times its hardsigmoid."""
        return F.hardswish(input, self.inplace)


class Mish(_ShowsInPlace):
    """Compute `x * tanh(softplus(x))` for each element x (Misra, 2019)."""

    def forward(self, input: Tensor) -> Tensor:
        """Return each element times the hyperbolic tangent of its softplus."""
        return F.mish(input, self.inplace)


class SELU(_ShowsInPlace):
    """Compute a scaled ELU, which preserves mean 0 and variance 1 through many layers (Klambauer et al., 2017).

    The result is `1.0507 * x` where x is positive, otherwise `1.7581 * (exp(x) - 1)`.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the scaled ELU."""
        return F.selu(input, self.inplace)


class CELU(Module):
    """Return each element x, or `alpha * (exp(x / alpha) - 1)` where x is negative.

    Args:
        alpha: The result for large negative inputs approaches `-alpha`.
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return each element; where it is negative, a number between -alpha and 0."""
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Return alpha, and whether the module writes into its input."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """Return lambda, the distance from 0."""
        return str(self.lambd)


class Hardshrink(_Shrink):
    """Replace each element between `-lambd` and `lambd` with 0."""

    def forward(self, input: Tensor) -> Tensor:
        """Replace each element between `-lambd` and `lambd` with 0."""
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """Move each element toward 0 by `lambd`; elements between `-lambd` and `lambd` become 0."""

    def forward(self, input: Tensor) -> Tensor:
        """Return each element, moved toward 0."""
        return F.softshrink(input, self.lambd)


class Tanhshrink(Module):
    """Compute `x - tanh(x)` for each element x."""

    def forward(self, input: Tensor) -> Tensor:
        """Return each element minus its hyperbolic tangent."""
        return F.tanhshrink(input)


class Softsign(Module):
    """Compute `x / (1 + abs(x))` for each element x, a number between -1 and 1."""

    def forward(self, input: Tensor) -> Tensor:
        """Return each element divided by 1 plus its absolute value."""
        return F.softsign(input)


class Threshold(Module):
    """Replace each element that isn't above `threshold` with `value`.

    Args:
        threshold: The limit.
        value: The number that replaces smaller and equal elements.
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return each element above the threshold, and `value` for the others."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """Return the threshold, the value, and whether the module writes into its input."""
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class GLU(_AlongDim):
    """Split the input into two halves a and b along `dim`, and return `a * sigmoid(b)` (Dauphin et al., 2017)."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim)

    def forward(self, input: Tensor) -> Tensor:
        """Return the gated first half: the result is half as long along `dim`."""
        return F.glu(input, self.dim)


class PReLU(Module):
    """Multiply each negative element by a learned factor; other elements stay unchanged (He et al., 2015).

    Args:
        num_parameters: 1 to learn a single factor, or the number of channels (dimension 1) to learn a factor for each
            channel.
        init: The initial value of each factor.
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Dtype | None = None
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the factors to their initial value."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Return each element; negative elements are multiplied by their factor."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Return how many factors are learned."""
        return f"num_parameters={self.num_parameters}"


class RReLU(Module):
    """Multiply each negative element by a random factor, and return all other elements unchanged.

    In training mode, the factor of each element is drawn between `lower` and `upper`. In eval mode, all factors are the
    mean of these two bounds.
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return each element; negative elements are multiplied by their factor."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Return the bounds, and whether the module writes into its input."""
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class Softmin(_AlongDim):
    """Compute `softmax(-x)` along `dim`: positive numbers that sum to one, the largest for the smallest element."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim)

    def forward(self, input: Tensor) -> Tensor:
        """Return positive numbers that sum to one along `dim`."""
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Apply softmax over the channels at each pixel of a batch of images (batch, channels, height, width)."""

    def forward(self, input: Tensor) -> Tensor:
        """Return positive numbers that sum to one over the channels."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)
