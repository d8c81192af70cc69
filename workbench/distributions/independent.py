"""Several variables as the parts of one (torch.distributions.independent)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.tensor import Size, Tensor
from . import constraints
from .distribution import Distribution

__all__ = ["Independent"]

TOO_MANY = "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual {} vs {}"


class Independent(Distribution):
    """A distribution that treats several variables of a batch as the parts of one variable.

    For example, a batch of three normal variables becomes one variable with three parts, whose log-probability is the
    sum of the log-probabilities of the parts. PyTorch: torch.distributions.Independent.

    Args:
        base_distribution: The batch of variables.
        reinterpreted_batch_ndims: How many batch dimensions to combine, counted from the last one.
        validate_args: If True, raise ValueError for invalid parameters and values. None means the default setting.
    """

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch, event = base_distribution.batch_shape, base_distribution.event_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(TOO_MANY.format(reinterpreted_batch_ndims, len(batch)))
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        self.has_rsample = base_distribution.has_rsample
        at = len(batch) - reinterpreted_batch_ndims
        super().__init__(Size(batch[:at]), Size((*batch[at:], *event)), validate_args=validate_args)

    @property
    def support(self) -> constraints.Constraint:
        """The constraint on all parts of an event."""
        return constraints.independent(self.base_dist.support, self.reinterpreted_batch_ndims)

    @property
    def mean(self) -> Tensor:
        """The means of the parts."""
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        """The modes of the parts."""
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        """The variances of the parts."""
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples of all parts, in the shape `sample_shape` + batch shape + event shape."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples as `sample(sample_shape)` does, but the parameters get gradients through them."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the sum of the parts' log-probabilities at `value`."""
        return rightmost_sum(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """Return the sum of the parts' entropies, in nats."""
        return rightmost_sum(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


def rightmost_sum(value: Tensor, dims: int) -> Tensor:
    """Return the sum over the last `count` dimensions."""
    return value.reshape((*value.shape[: value.dim() - dims], -1)).sum(-1) if dims else value
