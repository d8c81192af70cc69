"""Functions of each element, and softmax, as modules (torch.nn.modules.activation)."""

from __future__ import annotations

from ...autograd.tensor import Tensor
from .. import functional as F
from .module import Module


class ReLU(Module):
    """The element, or 0 where it is negative."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The element, or 0 where it is negative."""
        return F.relu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        """Whether it writes into its input."""
        return "inplace=True" if self.inplace else ""


class LeakyReLU(Module):
    """The element, or a small part of it where it is negative."""

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The element, or a small part of it where it is negative."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """The slope below zero, and whether it writes into its input."""
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """The hyperbolic tangent."""
        return F.tanh(input)


class Sigmoid(Module):
    """1 / (1 + exp(-element))."""

    def forward(self, input: Tensor) -> Tensor:
        """1 / (1 + exp(-element))."""
        return F.sigmoid(input)


class LogSigmoid(Module):
    """The logarithm of the sigmoid."""

    def forward(self, input: Tensor) -> Tensor:
        """The logarithm of the sigmoid."""
        return F.logsigmoid(input)


class SiLU(Module):
    """The element times its sigmoid."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The element times its sigmoid."""
        return F.silu(input, self.inplace)

    def extra_repr(self) -> str:
        """Whether it writes into its input."""
        return "inplace=True" if self.inplace else ""


class ELU(Module):
    """The element, or alpha * (exp(element) - 1) where it is negative."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The element, or alpha * (exp(element) - 1) where it is negative."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """What the elements approach below zero, and whether it writes into its input."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class Softplus(Module):
    """log(1 + exp(beta * element)) / beta: ReLU with its corner rounded."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        """log(1 + exp(beta * element)) / beta."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """How sharp the corner is, and from where on the element itself is given."""
        return f"beta={self.beta}, threshold={self.threshold}"


class GELU(Module):
    """The element times the chance that a normally distributed number is below it."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """The element times the chance that a normally distributed number is below it."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """How that chance is computed."""
        return f"approximate={self.approximate!r}"


class Softmax(Module):
    """Positive numbers that sum to one along `dim`."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Positive numbers that sum to one along `dim`."""
        return F.softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """The logarithm of softmax."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """The logarithm of softmax."""
        return F.log_softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"
