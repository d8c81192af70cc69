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
    """Compute by how much differences are below a margin; see F.margin_ranking_loss."""

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Return by how much the differences are below the margin."""
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_MarginLoss):
    """Compute how far angles are from their targets; see F.cosine_embedding_loss."""

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Return how far the angles are from their targets."""
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class HingeEmbeddingLoss(_MarginLoss):
    """Compute distances of similar pairs, and how near the others are; see F.hinge_embedding_loss."""

    def __init__(
        self, margin: float = 1.0, size_average: Old = None, reduce: Old = None, reduction: str = "mean"
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the distances of similar pairs, and how near the others are."""
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """Compute how much too near negatives are; see F.triplet_margin_loss."""

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
        """Return how much too near the negatives are."""
        how = self.margin, self.p, self.eps, self.swap
        return F.triplet_margin_loss(anchor, positive, negative, *how, reduction=self.reduction)


class PoissonNLLLoss(_Loss):
    """Compute minus the log-probability of counts; see F.poisson_nll_loss."""

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
        """Return minus the log-probabilities of the counts."""
        how = {"log_input": self.log_input, "full": self.full, "eps": self.eps, "reduction": self.reduction}
        return F.poisson_nll_loss(log_input, target, **how)  # type: ignore[arg-type]


class GaussianNLLLoss(_Loss):
    """Compute minus the log-density of targets; see F.gaussian_nll_loss."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """Return minus the log-densities of the targets."""
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """Compute the mean of log(1 + exp(-target * input)); see F.soft_margin_loss."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return log(1 + exp(-target * input)), reduced."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Compute the mean binary cross-entropy of each row's labels; see F.multilabel_soft_margin_loss."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return for each row the mean of the losses of its labels, reduced."""
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)
