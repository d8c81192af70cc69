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

    Example:
        >>> angles = torch.distributions.Uniform(0.0, torch.tensor([1.0, 4.0]))  # two variables
        >>> angles.mean, angles.log_prob(torch.tensor(0.5)).exp()
        (tensor([0.5000, 2.0000]), tensor([1.0000, 0.2500]))

    Args:
        low: The lower bound: a number, or a tensor with a bound for each variable.
        high: The upper bound: a number, or a tensor with a bound for each variable. It must be larger than `low`.
        validate_args: If True, raise ValueError for invalid parameters and values. None means the default setting.
    """

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(one_shape(low, high), validate_args=validate_args)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:  # type: ignore[override]
        """The constraints on the bounds: `low` is less than `high`."""
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
        """Return samples `low + noise * (high - low)`, with uniform noise from 0 to 1.

        Their shape is `sample_shape` + batch shape.
        """
        noise = rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + noise * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at `value`: `-log(high - low)` inside the interval, -inf at `high`.

        A value outside the interval raises ValueError, or gives -inf with `validate_args=False`.
        """
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
