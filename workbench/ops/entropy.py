"""Cross entropy: how far scores are from target classes, or from a probability for each."""

from __future__ import annotations

import math

from ..autograd.tensor import Tensor
from .losses import MEAN, NONE, _check_target, _class_dim, _over, _reduction, _times, nll_loss
from .refusals import tensors_only


@tensors_only("cross_entropy_loss")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """nll_loss of log_softmax; targets are classes, or a probability for each class."""
    how = _reduction(size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if input.ndim and input.shape == target.shape:
        return _against_probabilities(input, target, weight, how, ignore_index, label_smoothing)
    _check_target(input, target, weight, ignore_index)
    dim = _class_dim(input.ndim)
    logs = input.log_softmax(dim)
    loss = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if not label_smoothing:
        return loss
    smooth = -_weighted(logs, weight).sum(dim)
    ignored = target == ignore_index
    smooth = smooth.masked_fill(ignored, 0)
    if how != NONE:
        smooth = smooth.sum()
    if how == MEAN:
        counted = ~ignored
        smooth = smooth / (counted if weight is None else weight.gather(0, target.masked_select(counted))).sum()
    return _times(loss, 1 - label_smoothing) + _times(smooth, label_smoothing / input.shape[dim])


def _weighted(logs: Tensor, weight: Tensor | None) -> Tensor:
    """Each class's numbers times its weight."""
    if weight is None:
        return logs
    return logs * (weight.view(1, -1, *(1,) * (logs.ndim - 2)) if logs.ndim > 1 else weight)


def _against_probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, how: int, ignore_index: int, smoothing: float
) -> Tensor:
    dim = _class_dim(input.ndim)
    classes = input.shape[dim]
    if not target.is_floating_point():
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {target.dtype.word}")
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    if weight is not None and weight._array.shape != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got "
            f"weight tensor of shape: {list(weight.shape)}"
        )
    if smoothing:
        target = _times(target, 1 - smoothing) + (smoothing / classes if classes else math.inf)
    products = _weighted(input.log_softmax(dim) * target, weight)
    if how == NONE:
        return -products.sum(dim)
    if how == MEAN and not input.numel():
        return -products.sum().fill_(math.nan)
    loss = -products.sum()
    return _over(loss, input.numel() // classes) if how == MEAN else loss
