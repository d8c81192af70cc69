"""Random numbers whose distribution tensors say: normal ones, and numbers of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import dtypes
from ..autograd.dtypes import dtype as Dtype
from ..autograd.tensor import Tensor
from .core.checks import int_of
from .core.op import operation
from .creation import drawn, generator, randn
from .grids import broadcast_tensors

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
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, dtype: Dtype | None = None, requires_grad: bool = False
) -> Tensor:
    """Normally distributed numbers of a mean and a standard deviation: for each element of these, or of a size."""
    given = [each for each in (mean, std) if isinstance(each, Tensor)]
    if isinstance(std, Tensor):
        if (std._array < 0).any():
            raise RuntimeError(STD_SIGNS)
    elif std < 0:
        raise RuntimeError(STD_SIGN.format(std))
    if not given:
        noise = randn(size, dtype=dtype)
        return (noise * std + mean).requires_grad_(requires_grad)
    shape = broadcast_tensors(*given)[0].shape if len(given) == 2 else given[0].shape
    mean, std = (each.detach() if isinstance(each, Tensor) else each for each in (mean, std))
    return randn(shape, dtype=given[0].dtype) * std + mean


@operation()
def multinomial(self: Tensor, num_samples: int, replacement: bool = False) -> Tensor:
    """Numbers of classes, drawn as often as the weights in the last dimension say; each once without `replacement`."""
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

    def draw(batch: tuple[int, ...]) -> np.ndarray:
        if not replacement:  # each class comes first that waits least
            waits = generator().exponential(size=(*batch, *p.shape))
            return np.argsort(-p / waits, -1, "stable")[..., :count]
        upto = np.cumsum(p, -1, np.float64)
        noise = generator().random((*batch, *p.shape[:-1], count)) * upto[..., -1:]
        return (upto[..., None, :-1] <= noise[..., None]).sum(-1)

    return drawn(draw, np.dtype(np.int64), False)
