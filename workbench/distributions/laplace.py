"""Laplace distributions (torch.distributions.laplace)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.tensor import Tensor
from ..ops.creation import rand
from . import constraints
from .distribution import Distribution, broadcast_all, one_shape

__all__ = ["Laplace"]


class Laplace(Distribution):
    """The Laplace distribution, with the density `exp(-abs(x - loc) / scale) / (2 * scale)`.

    PyTorch: torch.distributions.Laplace.

    Args:
        loc: The mean: a number, or a tensor with a mean for each variable.
        scale: How wide the distribution is: the mean distance of a sample from `loc`. A number, or a tensor with one
            for each variable.
        validate_args: If True, raise ValueError for invalid parameters and values. None means the default setting.

    Raises:
        ValueError: if `scale` isn't positive.
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
    def variance(self) -> Tensor:
        """Twice the square of the scale."""
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        """The scale times the square root of 2."""
        return (2**0.5) * self.scale

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples `loc - scale * sign(u) * log(1 - abs(u))`, with uniform noise u from -1 to 1.

        Their shape is `sample_shape` + batch shape.
        """
        noise = 1 - 2 * rand(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc - self.scale * noise.sign() * (-noise.abs().clamp(max=1 - 2.0**-24)).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at `value`. A nan raises ValueError, unless `validate_args` is False."""
        if self._validate_args:
            self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability that a sample is at most `value`."""
        if self._validate_args:
            self._validate_sample(value)
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * (-away.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        """Return the number x such that a sample is at most x with the probability `value`."""
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self) -> Tensor:
        """Return the entropy, `1 + log(2 * scale)`, in nats."""
        return 1 + (2 * self.scale).log()

    def expand(self, batch_shape: Sequence[int]) -> Laplace:
        """Return the same variables, expanded to the batch shape `batch_shape`."""
        return Laplace(self.loc.expand(batch_shape), self.scale.expand(batch_shape), self._validate_args)
