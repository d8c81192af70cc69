"""Variables that are one of several classes, as one-hot rows (torch.distributions.one_hot_categorical)."""

from __future__ import annotations

from collections.abc import Sequence

from ..autograd.tensor import Size, Tensor
from ..nn.functional import one_hot
from ..ops.creation import eye
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["OneHotCategorical"]


class OneHotCategorical(Distribution):
    """The distribution of a random class, as a one-hot vector: 1 at the class that was drawn, 0 elsewhere.

    Give either `probs` or `logits`. PyTorch: torch.distributions.OneHotCategorical.

    Args:
        probs: The probabilities of the classes, along the last dimension. They need not sum to one.
        logits: The logarithms of the probabilities, up to a constant for each variable.
        validate_args: If True, raise ValueError for invalid parameters and values. None means the default setting.

    Raises:
        ValueError: if both or neither of `probs` and `logits` are given, or if they have no dimension.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        event = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, event, validate_args=validate_args)

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self._categorical.probs

    mean = probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the probabilities."""
        return self._categorical.param_shape

    @property
    def mode(self) -> Tensor:
        """The most probable class."""
        return one_hot(self._categorical.mode, self._event_shape[0]).to(self.probs.dtype)

    @property
    def variance(self) -> Tensor:
        """probs * (1 - probs)."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return one-hot vectors, in the shape `sample_shape` + batch shape + (classes,)."""
        return one_hot(self._categorical.sample(sample_shape), self._event_shape[0]).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of the class at which `value` has its 1.

        A value that isn't one-hot raises ValueError. With `validate_args=False`, its largest element counts as the 1.
        """
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        """Return the entropy of the random class, in nats."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return the one-hot vectors of all classes along a new first dimension, for every variable.

        Without `expand`, the batch dimensions have the size 1.
        """
        count, batch = self._event_shape[0], self._batch_shape
        values = eye(count, dtype=self.probs.dtype).view(count, *(1,) * len(batch), count)
        return values.expand(count, *batch, count) if expand else values
