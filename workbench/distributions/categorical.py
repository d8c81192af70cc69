"""Variables that are one of several classes (torch.distributions.categorical)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..autograd.grad_mode import no_grad
from ..autograd.tensor import Size, Tensor
from ..ops.creation import arange, full, rand
from ..ops.library.grids import broadcast_tensors
from . import constraints
from .distribution import ONE_OF_TWO, Distribution, clamped, made_once

__all__ = ["Categorical"]

DIMENSIONS = "`{}` parameter must be at least one-dimensional."


class Categorical(Distribution):
    """The distribution of a random class number from 0 to n - 1, with a probability for each class.

    Give either `probs` or `logits`. Their last dimension has an entry for each class; the other dimensions are a batch
    of variables. The probabilities of each variable are scaled so that they sum to one. PyTorch:
    torch.distributions.Categorical.

    Example:
        >>> dice = torch.distributions.Categorical(probs=torch.ones(6))
        >>> dice.log_prob(torch.tensor(3)).exp()
        tensor(0.1667)

    Args:
        probs: The probabilities. They need not sum to one.
        logits: The logarithms of the probabilities, up to a constant for each variable.
        validate_args: If True, raise ValueError for invalid parameters and values. None means the default setting.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError(ONE_OF_TWO)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        assert given is not None
        if given.dim() < 1:
            raise ValueError(DIMENSIONS.format(name))
        rest = given.sum(-1, keepdim=True) if logits is None else given.logsumexp(-1, keepdim=True)
        self._param = self.__dict__[name] = given / rest if logits is None else given - rest
        self._num_events = self._param.size(-1)
        super().__init__(Size(self._param.shape[:-1]), validate_args=validate_args)

    @property
    def support(self) -> constraints.Constraint:
        """The class numbers."""
        return constraints.integer_interval(0, self._num_events - 1)

    @made_once
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return clamped(self.probs).log()

    @made_once
    def probs(self) -> Tensor:
        """The probabilities."""
        return self.logits.softmax(-1)

    @property
    def param_shape(self) -> Size:
        """The shape of the probabilities."""
        return self._param.shape

    @property
    def mean(self) -> Tensor:
        """Nan: classes have no mean."""
        return full(self._extended_shape(), math.nan, dtype=self.probs.dtype)

    variance = mean

    @property
    def mode(self) -> Tensor:
        """The most probable class."""
        return self.probs.argmax(-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return class numbers, in the shape `sample_shape` + batch shape."""
        with no_grad():
            shape = (*self._extended_shape(sample_shape), 1)
            below = self.probs.cumsum(-1) / self.probs.sum(-1, keepdim=True)
            return (below[..., :-1] <= rand(shape, dtype=self.probs.dtype)).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of the class number `value`.

        A value that isn't a class number raises ValueError. With `validate_args=False`, a fraction is rounded toward
        zero, and a number that no class has raises RuntimeError.
        """
        if self._validate_args:
            self._validate_sample(value)
        value = value.long().unsqueeze(-1)
        value, logits = broadcast_tensors(value, self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        """Return the entropy, minus the sum of `p * log(p)` over the classes."""
        least = {2: -65504.0, 4: -3.4028234663852886e38, 8: -1.7976931348623157e308}[self.logits.element_size()]
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all class numbers along a new first dimension, for every variable.

        Without `expand`, the batch dimensions have the size 1.
        """
        values = arange(self._num_events).view(-1, *(1,) * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values
