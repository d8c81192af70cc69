"""The common part of all distributions: batch and event shapes, samples, and checks of arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from ..autograd.dtypes import get_default_dtype
from ..autograd.grad_mode import enable_grad, no_grad
from ..autograd.tensor import Size, Tensor
from ..ops.creation import tensor
from ..ops.library.grids import broadcast_tensors
from .constraints import Constraint

# What distributions refuse, word for word PyTorch's (PyTorch 2.13).
PARAMETER = (
    "Expected parameter {} ({} of shape {}) of distribution {!r} to satisfy the constraint {!r}, "
    "but found invalid values:\n{}"
)
VALUE = (
    "Expected value argument ({} of shape {}) to be within the support ({!r}) of the distribution {!r}, "
    "but found invalid values:\n{}"
)
VALUE_KIND = "The value argument to log_prob must be a Tensor"
EVENT_SHAPE = "The right-most size of value must match event_shape: {} vs {}."
BATCH_SHAPE = "Value is not broadcastable with batch_shape+event_shape: {} vs {}."
NUMBERS = "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
ONE_OF_TWO = "Either `probs` or `logits` must be specified, but not both."


class Distribution:
    """Base class of distributions: a batch of random variables to sample from, and their probabilities.

    PyTorch: torch.distributions.Distribution.

    Args:
        batch_shape: The shape of the batch of independent variables.
        event_shape: The shape of one sample of one variable.
        validate_args: If True, raise ValueError for invalid parameters and values. None means the default setting.
    """

    arg_constraints: dict[str, Constraint] = {}
    support: Any = None
    has_rsample = False
    has_enumerate_support = False
    _validate_args: bool = __debug__

    def __init__(
        self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self.arg_constraints.items():
                if name in self.__dict__ and not constraint.check(value := self.__dict__[name]).all():
                    kind, shape = type(value).__name__, tuple(value.shape)
                    raise ValueError(PARAMETER.format(name, kind, shape, self, constraint, value))

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Choose with True or False whether distributions check parameters and values by default.

        The `value` applies to distributions that are created without `validate_args`.
        """
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of independent variables."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one variable."""
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        """The mean of each variable."""
        raise NotImplementedError

    @property
    def variance(self) -> Tensor:
        """The variance of each variable."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of each variable."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples without gradients, in the shape `sample_shape` + batch shape + event shape."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples that are computed from the parameters and noise, so that the parameters get gradients.

        The shape is that of `sample(sample_shape)`.
        """
        raise NotImplementedError

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of `value`, or of the density there if variables are continuous.

        A value that no sample can have raises ValueError, unless `validate_args` is False.
        """
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Return the entropy of each variable, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """Return the exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        """Raise ValueError for a value that no sample can have."""
        if not isinstance(value, Tensor):
            raise ValueError(VALUE_KIND)
        if value.shape[len(value.shape) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(EVENT_SHAPE.format(value.size(), self._event_shape))
        expected = Size((*self._batch_shape, *self._event_shape))
        if any(1 not in (i, j) and i != j for i, j in zip(value.shape[::-1], expected[::-1], strict=False)):
            raise ValueError(BATCH_SHAPE.format(value.size(), expected))
        support = self.support
        if not support.check(value).all():
            raise ValueError(VALUE.format(type(value).__name__, tuple(value.shape), support, self, value))

    def __repr__(self) -> str:
        given = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        told = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in given.items()]
        return f"{type(self).__name__}({', '.join(told)})"


def broadcast_all(*values: Any) -> list[Tensor]:
    """Return numbers and tensors as tensors of one shape; numbers get the dtype of the first tensor."""
    tensors = [value for value in values if isinstance(value, Tensor)]
    if len(tensors) + sum(isinstance(value, (int, float)) for value in values) < len(values):
        raise ValueError(NUMBERS)
    dtype = tensors[0].dtype if tensors else get_default_dtype()
    alike = [value if isinstance(value, Tensor) else tensor(value, dtype=dtype) for value in values]
    return list(broadcast_tensors(*alike))


def one_shape(*values: Any) -> Size:
    """Return the batch shape of the arguments; numbers only give the empty shape."""
    return Size() if all(isinstance(value, (int, float)) for value in values) else broadcast_all(*values)[0].shape


def made_once(compute: Callable[[Any], Tensor]) -> cached_property[Tensor]:
    """Return an attribute that is computed on first use, and recorded even inside no_grad."""

    def with_graph(self: Any) -> Tensor:
        with enable_grad():
            return compute(self)

    with_graph.__doc__ = compute.__doc__
    return cached_property(with_graph)


def clamped(probs: Tensor) -> Tensor:
    """Return probabilities moved away from 0 and 1 by the dtype's smallest step, so that logarithms are finite."""
    eps = {2: 2.0**-10, 4: 2.0**-23, 8: 2.0**-52}[probs.element_size()]
    return probs.clamp(min=eps, max=1 - eps)
