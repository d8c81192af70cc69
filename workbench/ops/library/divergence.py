"""x * log(y), which is 0 where x is, and the divergence that is made of it."""

from __future__ import annotations

import numpy as np

from ...autograd.tensor import Tensor
from ...errors import warn
from ..core.complex_rule import only_real
from ..core.op import define
from .losses import _reduction

MEAN_OF_ALL = (
    "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by "
    "the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same as "
    "'batchmean' in the next major release."
)


def _xlogy_of(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    nothing = (a == 0) & ~np.isnan(b)
    return np.where(nothing, 0, a * np.log(np.where(nothing, 1, b))).astype(np.result_type(a, b), copy=False)


xlogy = define(
    "xlogy(Tensor self, Tensor other)",
    _xlogy_of,
    kind="float",
    meaning="Return `input * log(other)`, and 0 where `input` is 0 and `other` isn't nan.",
    self="where(self == 0, where(other <= 0, 0, grad * log(other)), grad * log(other))",
    other="grad * self / other",
    out=True,
    in_place=True,
)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return KL(target ‖ prediction), with the prediction given as logarithms.

    This Kullback-Leibler divergence is 0 if the two distributions are equal, and grows the more
    they differ. The default `reduction="mean"` divides by the number of elements. Use "batchmean"
    for the divergence itself.

    The result for an element is `target * (log(target) - input)`, and 0 where `target` is 0. If
    `log_target` is True, it is `exp(target) * (target - input)`.

    Args:
        input: The logarithms of the predicted probabilities, for example from `log_softmax`.
        target: Probabilities, or log-probabilities if `log_target` is True, in the shape of
            `input`.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "batchmean" divides the sum by the batch size, the first size of `input`.
            "mean", the default, divides the sum by the number of elements, "sum" returns the sum,
            and "none" returns the result for each element.
        log_target: Set this if `target` holds log-probabilities.

    Example:
        >>> prediction, target = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.25, 0.75]])
        >>> F.kl_div(prediction.log(), target, reduction="batchmean")
        tensor(0.1308)
    """
    if reduction == "mean" and size_average is None and reduce is None:
        warn(MEAN_OF_ALL)
    only_real("R:kl_div: Complex inputs not supported.", input, target)
    if "f" != input._array.dtype.kind or "f" != target._array.dtype.kind:
        raise RuntimeError("kl_div: Integral inputs not supported.")
    how = _reduction(size_average, reduce, "sum" if reduction == "batchmean" else reduction)
    each = target.exp() * (target - input) if log_target else xlogy(target, target) - target * input
    if how == 0:
        return each
    out = each.mean() if how == 1 else each.sum()
    return out / input.size(0) if reduction == "batchmean" and input.dim() else out
