"""Uniform distributions over an interval (torch.distributions.uniform)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.tensor import Tensor
from ..ops.creation import rand
from . import constraints
from .distribution import Distribution, broadcast_all, one_shape

__all__ = ["Uniform"]


class Uniform(Distribution):
    """The uniform distribution over the numbers from `low` up to, but not including, `high`.

    PyTorch: torch.distributions.Uniform.
    """

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(one_shape(low, high), validate_args=validate_args)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:  # type: ignore[override]
        """The constraints on the bounds: each by the other."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @property
    def support(self) -> constraints.Constraint:
        """The interval."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        """The middle of the interval."""
        return (self.high + self.low) / 2

    @property
    def variance(self) -> Tensor:
        """A twelfth of the square of the interval's length."""
        return (self.high - self.low) ** 2 / 12

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples `low + noise * (high - low)`, with uniform noise from 0 to 1."""
        noise = rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + noise * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density: `-log(high - low)` inside the interval, -inf outside."""
        if self._validate_args:
            self._validate_sample(value)
        inside = (self.low <= value).type_as(self.low) * (self.high > value).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability that a sample is at most `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def entropy(self) -> Tensor:
        """Return the entropy, `log(high - low)`, in nats."""
        return (self.high - self.low).log()
