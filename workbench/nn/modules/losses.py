"""Losses of pairs, of triplets and of distributions, as modules."""

from __future__ import annotations

from ...autograd.tensor import Tensor
from .. import functional as F
from .layers import _Loss, _WeightedLoss

Old = bool | None  # how `reduction` was said before there was one


class _MarginLoss(_Loss):
    """A loss with a margin, which may be the first argument."""

    def __init__(
        self, margin: float = 0.0, size_average: Old = None, reduce: Old = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class MarginRankingLoss(_MarginLoss):
    """Compute a loss for pairs in the wrong order: `max(0, -target * (input1 - input2) + margin)`.

    A target of 1 means that `input1` should be larger than `input2`; a target of -1 means the opposite. PyTorch:
    torch.nn.MarginRankingLoss.

    Args:
        margin: By how much the input that should be larger must exceed the other input.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean", "sum", or "none" for a loss per pair.
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Return the mean over the pairs, the sum, or each loss, as `reduction` chooses."""
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_MarginLoss):
    """Compute a loss from the cosine of the angle between two vectors.

    For a target of 1 (similar vectors), the loss is `1 - cos`. For a target of -1, it is `max(0, cos - margin)`.
    The inputs are (batch, features) and the target is (batch), or all are without the batch. PyTorch:
    torch.nn.CosineEmbeddingLoss.

    Args:
        margin: The cosine up to which vectors with a target of -1 cost nothing.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean", "sum", or "none" for a loss per pair.
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Return the mean over the pairs of vectors, the sum, or each loss, as `reduction` chooses."""
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class HingeEmbeddingLoss(_MarginLoss):
    """Compute a loss from the distances of pairs: similar pairs should be close, other pairs at least `margin` apart.

    The input has the distances. For a target of 1 (similar), the loss is `input`. For a target of -1, it is `max(0,
    margin
    - input)`. PyTorch: torch.nn.HingeEmbeddingLoss.

    Args:
        margin: The distance from which on pairs with a target of -1 cost nothing.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean", "sum", or "none" for a loss per element.
    """

    def __init__(
        self, margin: float = 1.0, size_average: Old = None, reduce: Old = None, reduction: str = "mean"
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the mean over the elements, the sum, or each loss, as `reduction` chooses."""
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """Compute `max(distance(anchor, positive) - distance(anchor, negative) + margin, 0)`, averaged over the triplets.

    The inputs are (batch, features), or vectors. PyTorch: torch.nn.TripletMarginLoss.

    Args:
        margin: By how much the negatives should be farther away than the positives.
        p: The p of the norm that measures distances.
        eps: Added to differences before the norm.
        swap: Use the distance between positive and negative instead of anchor and negative, if it is smaller.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean", "sum", or "none" for a loss per triplet.
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: Old = None,
        reduce: Old = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Return the mean over the triplets, the sum, or each loss."""
        how = self.margin, self.p, self.eps, self.swap
        return F.triplet_margin_loss(anchor, positive, negative, *how, reduction=self.reduction)


class PoissonNLLLoss(_Loss):
    """Compute minus the log-probability of counts in a Poisson distribution, without its constant terms.

    The input is the logarithm of the mean: the loss is `exp(input) - target * input`. With `log_input=False` the input
    is the mean itself: `input - target * log(input + eps)`. PyTorch: torch.nn.PoissonNLLLoss.

    Args:
        log_input: The input is the logarithm of the mean.
        full: Add Stirling's approximation of `log(target!)`, which doesn't depend on the input.
        size_average, reduce: Deprecated; use `reduction`.
        eps: Added to the mean before its logarithm, with `log_input=False`.
        reduction: "mean", "sum", or "none" for a loss per element.
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: Old = None,
        eps: float = 1e-8,
        reduce: Old = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """Return the mean over the elements, the sum, or each loss."""
        how = {"log_input": self.log_input, "full": self.full, "eps": self.eps, "reduction": self.reduction}
        return F.poisson_nll_loss(log_input, target, **how)  # type: ignore[arg-type]


class GaussianNLLLoss(_Loss):
    """Compute minus the log-density of the target in a normal distribution with mean `input` and variance `var`.

    The loss is `(log(var) + (input - target)**2 / var) / 2`; a smaller variance than `eps` counts as `eps`.
    PyTorch: torch.nn.GaussianNLLLoss.

    Args:
        full: Add the constant `log(2 * pi) / 2`.
        eps: The smallest variance; a smaller one counts as `eps`, which the gradient doesn't take into account.
        reduction: "mean", "sum", or "none" for a loss per element.
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """Return the mean over the elements, the sum, or each loss; `var` may have a number per row, or in all."""
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """Compute `log(1 + exp(-target * input))`, for targets of 1 and -1.

    Args:
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean", "sum", or "none" for a loss per element.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the mean over the elements, the sum, or each loss, as `reduction` chooses."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Compute the binary cross-entropy of several labels per sample, from logits: the mean over each sample's labels.

    The input and the target (0 or 1 per label) are (batch, labels). PyTorch: torch.nn.MultiLabelSoftMarginLoss.

    Args:
        weight: A factor per label.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean", "sum", or "none" for a loss per sample.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the mean over the samples, the sum, or each sample's loss, as `reduction` chooses."""
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)
