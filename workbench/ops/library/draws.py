"""Random numbers whose distribution tensors say: normal ones, and numbers of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import errors
from ...autograd import dtypes
from ...autograd.dtypes import dtype as Dtype
from ...autograd.tensor import Tensor
from ...events import emit, listeners
from ..core.checks import check_tensor, int_of
from ..core.op import define, operation
from ..core.results import into
from ..creation import drawn, randn
from ..creation import generator as generator_of
from .grids import broadcast_tensors
from .random_fills import check_chances

# What these refuse, word for word PyTorch's (PyTorch 2.13).
STD_SIGN = "normal expects std >= 0.0, but found std {:g}"
STD_SIGNS = "normal expects all elements of std >= 0.0"
CLASSES_KIND = "multinomial only supports floating-point dtypes for input, got: {}"
CLASSES_SHAPE = "prob_dist must be 1 or 2 dim"
CLASSES_NONE = "cannot sample n_sample <= 0 samples"
CLASSES_FEW = "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
CLASSES_WRONG = "probability tensor contains either `inf`, `nan` or element < 0"
CLASSES_SUM = "invalid multinomial distribution (sum of probabilities <= 0)"


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Dtype | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return random numbers from normal distributions.

    Args:
        mean: A number, or a tensor with a mean for each element.
        std: A number, or a tensor with a standard deviation for each element.
        size: The shape of the result, if `mean` and `std` are numbers.
        dtype, requires_grad: The same as in `randn`, if `mean` and `std` are numbers.
        generator: The random number generator to draw from. By default, it is the global one.
    """
    given = [each for each in (mean, std) if isinstance(each, Tensor)]
    if isinstance(std, Tensor):
        if (std._array < 0).any():
            raise RuntimeError(STD_SIGNS)
    elif std < 0:
        raise RuntimeError(STD_SIGN.format(std))
    if not given:
        noise = randn(size, generator=generator, dtype=dtype)
        return (noise * std + mean).requires_grad_(requires_grad)
    shape = broadcast_tensors(*given)[0].shape if len(given) == 2 else given[0].shape
    mean, std = (each.detach() if isinstance(each, Tensor) else each for each in (mean, std))
    return randn(shape, generator=generator, dtype=given[0].dtype) * std + mean


@operation()
def multinomial(self: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Draw indices at random, with the elements of the input as weights.

    Args:
        num_samples: The number of indices to draw for each row.
        replacement: Allow an index to be drawn more than once.

    Returns:
        An int64 tensor (num_samples,) for weights (n,), or (m, num_samples) for weights (m, n). The
        weights of a row don't have to sum to 1.
    """
    p, count = self._array, int_of("multinomial", "num_samples", 1, num_samples)
    if p.dtype.kind != "f":
        raise RuntimeError(CLASSES_KIND.format(dtypes.named(p.dtype.name).word))
    if p.ndim not in (1, 2):
        raise RuntimeError(CLASSES_SHAPE)
    if count <= 0:
        raise RuntimeError(CLASSES_NONE)
    if not replacement and count > p.shape[-1]:
        raise RuntimeError(CLASSES_FEW)
    if not (np.isfinite(p) & (p >= 0)).all():
        raise RuntimeError(CLASSES_WRONG)
    if not (p.sum(-1) > 0).all():
        raise RuntimeError(CLASSES_SUM)

    source = generator_of(generator)

    def draw(batch: tuple[int, ...]) -> np.ndarray:
        if not replacement:  # each class comes first that waits least
            waits = source.exponential(size=(*batch, *p.shape))
            return np.argsort(-p / waits, -1, "stable")[..., :count]
        upto = np.cumsum(p, -1, np.float64)
        noise = source.random((*batch, *p.shape[:-1], count)) * upto[..., -1:]
        return (upto[..., None, :-1] <= noise[..., None]).sum(-1)

    made = drawn(draw, np.dtype(np.int64), False)
    if listeners:
        emit(("unrecorded", "multinomial", (self,), (made,)))
    return made


_bernoulli = define(
    "bernoulli_draw(Tensor self, Kept noise)",
    lambda a, noise: (noise < a).astype(a.dtype),
    node="BernoulliBackward0",
    batch="pointwise",
    self="zeros_like(grad)",
    tangent="zeros_like(self_t)",
)
_poisson = define(
    "poisson_draw(Tensor self, Kept numbers)",
    lambda a, numbers: numbers.astype(a.dtype),
    node="PoissonBackward0",
    batch="pointwise",
    self="zeros_like(grad)",
    tangent="zeros_like(self_t)",
)


@operation()
def bernoulli(self: Tensor, p: float | None = None, *, generator: Any = None, out: Tensor | None = None) -> Tensor:
    """Return random 0s and 1s, with the shape and dtype of the input.

    Args:
        p: The probability of a 1. If omitted, the elements of the input are the probabilities.
    """
    if out is not None:
        return into("bernoulli", out, bernoulli, self.detach(), p, generator=generator)
    if p is not None:
        return self.detach().clone().bernoulli_(p, generator=generator)
    if self._array.dtype.kind != "f":
        raise NotImplementedError(errors.NO_KERNEL.format("bernoulli_tensor_cpu_p_", self.dtype.word))
    check_chances(self)
    source = generator_of(generator)
    return _bernoulli(self, drawn(lambda batch: source.random((*batch, *self.shape)), np.dtype("float64"), False))


def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Return random counts from Poisson distributions whose means are the elements of the input.

    Args:
        generator: The random number generator to draw from. By default, it is the global one.
    """
    check_tensor("poisson", "input", 0, input)
    rate = input._array
    if rate.dtype.kind != "f":
        raise NotImplementedError(errors.NO_KERNEL.format("poisson_cpu", input.dtype.word))
    if not (rate >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    source = generator_of(generator)
    return _poisson(input, drawn(lambda batch: source.poisson(rate, (*batch, *rate.shape)), np.dtype("float64"), False))
