"""Variables that are 1 or 0 (torch.distributions.bernoulli)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..autograd.tensor import Size, Tensor
from ..ops.comparison import where
from ..ops.creation import rand
from ..ops.library.losses import binary_cross_entropy_with_logits
from . import constraints
from .distribution import ONE_OF_TWO, Distribution, broadcast_all, clamped, made_once

__all__ = ["Bernoulli"]


class Bernoulli(Distribution):
    """The distribution of a coin toss: 1 with probability `probs`, otherwise 0.

    Give either `probs` or `logits`. PyTorch: torch.distributions.Bernoulli.

    Example:
        >>> coins = torch.distributions.Bernoulli(torch.tensor([0.5, 0.9]))  # two variables
        >>> coins.log_prob(torch.tensor(1.0)).exp()
        tensor([0.5000, 0.9000])

    Args:
        probs: The probability of 1: a number, or a tensor with a probability for each variable.
        logits: The log-odds `log(probs / (1 - probs))`: a number, or a tensor.
        validate_args: If True, raise ValueError for invalid parameters and values. None means the default setting.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError(ONE_OF_TWO)
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        (self._param,) = broadcast_all(given)
        self.__dict__[name] = self._param
        shape = Size() if isinstance(given, (int, float)) else self._param.shape
        super().__init__(shape, validate_args=validate_args)

    @made_once
    def logits(self) -> Tensor:
        """The log-odds."""
        probs = clamped(self.probs)
        return probs.log() - (-probs).log1p()

    @made_once
    def probs(self) -> Tensor:
        """The probabilities of 1."""
        return self.logits.sigmoid()

    @property
    def mean(self) -> Tensor:
        """The probability of 1."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The more probable value; nan if both have the same probability."""
        return where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs))

    @property
    def variance(self) -> Tensor:
        """probs * (1 - probs)."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return zeros and ones in the dtype of the probabilities, in the shape `sample_shape` + batch shape."""
        with no_grad():
            noise = rand(self._extended_shape(sample_shape), dtype=self.probs.dtype)
            return (noise < self.probs).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of `value`, which must contain only 0 and 1.

        Another value raises ValueError. With `validate_args=False`, the result for it has no meaning.
        """
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        """Return the entropy, `-p * log(p) - (1 - p) * log(1 - p)`."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
