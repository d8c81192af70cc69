"""Normal distributions (torch.distributions.normal)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..autograd.tensor import Tensor
from ..ops.creation import randn
from . import constraints
from .distribution import Distribution, broadcast_all, one_shape

__all__ = ["Normal"]


class Normal(Distribution):
    """The normal distribution with mean `loc` and standard deviation `scale`.

    PyTorch: torch.distributions.Normal.

    Example:
        >>> mean = torch.tensor(0.0, requires_grad=True)
        >>> noise = torch.distributions.Normal(mean, 2.0)
        >>> noise.log_prob(torch.tensor(1.0)).backward()
        >>> mean.grad
        tensor(0.2500)

    Args:
        loc: The mean: a number, or a tensor with a mean for each variable.
        scale: The standard deviation: a number, or a tensor with a deviation for each variable.
        validate_args: If True, raise ValueError for invalid parameters and values. None means the default setting.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(one_shape(loc, scale), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean, which is the mode as well."""
        return self.loc

    mode = mean

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The square of the standard deviation."""
        return self.stddev**2

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples `loc + noise * scale`, with normal noise, in the shape `sample_shape` + batch shape."""
        noise = randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at `value`. A nan raises ValueError, unless `validate_args` is False."""
        if self._validate_args:
            self._validate_sample(value)
        variance = self.scale**2
        return -((value - self.loc) ** 2) / (2 * variance) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability that a sample is at most `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def entropy(self) -> Tensor:
        """Return the entropy, `(1 + log(2 * pi)) / 2 + log(scale)`, in nats."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    def expand(self, batch_shape: Sequence[int]) -> Normal:
        """Return the same variables, expanded to the batch shape `batch_shape`."""
        return Normal(self.loc.expand(batch_shape), self.scale.expand(batch_shape), self._validate_args)
