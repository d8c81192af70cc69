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
    """Compute a loss for pairs of scores in the wrong order: `max(0, -target * (input1 - input2) + margin)`.

    A target of 1 means that `input1` should be larger than `input2`; a target of -1 means the opposite. PyTorch:
    torch.nn.MarginRankingLoss.

    Args:
        margin: The loss is zero if the input that should be larger exceeds the other one by at least this much.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per pair.
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Compare `input1` with `input2` as `target` says.

        Return the mean over the pairs, the sum, or each loss, as `reduction` chooses.
        """
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_MarginLoss):
    """Compute a loss that pulls similar vectors to the same direction, and pushes dissimilar ones apart.

    With `cos`, the cosine of the angle between two vectors, the loss is `1 - cos` for a target of 1 (similar), and
    `max(0, cos - margin)` for a target of -1. The inputs have the shape (batch, features) and the target has the shape
    (batch,), or all are without the batch dimension. PyTorch: torch.nn.CosineEmbeddingLoss.

    Args:
        margin: The largest cosine for which the loss of two dissimilar vectors is zero.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per pair.
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Compare `input1` with `input2` as `target` says.

        Return the mean over the pairs of vectors, the sum, or each loss, as `reduction` chooses.
        """
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class HingeEmbeddingLoss(_MarginLoss):
    """Compute a loss from the distances of pairs: similar pairs should be close, other pairs at least `margin` apart.

    The input contains the distances. For a target of 1 (similar), the loss is `input`. For a target of -1, the loss is
    `max(0, margin - input)`. PyTorch: torch.nn.HingeEmbeddingLoss.

    Args:
        margin: The smallest distance for which the loss of a pair with target -1 is zero.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            element.
    """

    def __init__(
        self, margin: float = 1.0, size_average: Old = None, reduce: Old = None, reduction: str = "mean"
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`.

        Return the mean over the elements, the sum, or each loss, as `reduction` chooses.
        """
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """Compute a loss that is zero if each anchor is closer to its positive than to its negative, by `margin`.

    The loss of a triplet is `max(distance(anchor, positive) - distance(anchor, negative) + margin, 0)`. The inputs have
    the shape (batch, features), or are single vectors. PyTorch: torch.nn.TripletMarginLoss.

    Args:
        margin: The loss is zero if the negative is farther from the anchor than the positive by at least this much.
        p: Which p-norm measures distances: 2 is the Euclidean distance, 1 the Manhattan distance.
        eps: A small number added to each difference before the norm, so that no distance is exactly zero.
        swap: If True, the distance from the negative is measured from the anchor or the positive, whichever is closer
            to the negative.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            triplet.
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
        """Compare `anchor` with `positive` and `negative`.

        Return the mean over the triplets, the sum, or each loss, as `reduction` chooses.
        """
        how = self.margin, self.p, self.eps, self.swap
        return F.triplet_margin_loss(anchor, positive, negative, *how, reduction=self.reduction)


class PoissonNLLLoss(_Loss):
    """Compute the negative log-probability of counts in a Poisson distribution, up to a constant.

    The input is the logarithm of the distribution's mean, and the loss is `exp(input) - target * input`. With
    `log_input=False`, the input is the mean itself, and the loss is `input - target * log(input + eps)`. PyTorch:
    torch.nn.PoissonNLLLoss.

    Args:
        log_input: If True, the input is the logarithm of the distribution's mean. Otherwise, it is the mean itself.
        full: If True, the loss includes the constant `log(target!)`, in Stirling's approximation.
        size_average, reduce: Deprecated; use `reduction`.
        eps: With `log_input=False`, a small number added to the mean before its logarithm is taken, so that the result
            is finite.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            element.
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
        """Compare `log_input` with `target`.

        Return the mean over the elements, the sum, or each loss, as `reduction` chooses.
        """
        how = {"log_input": self.log_input, "full": self.full, "eps": self.eps, "reduction": self.reduction}
        return F.poisson_nll_loss(log_input, target, **how)  # type: ignore[arg-type]


class GaussianNLLLoss(_Loss):
    """Compute the negative log-density of the target in a normal distribution, from its mean and variance.

    The loss is `(log(var) + (input - target)**2 / var) / 2`, where `input` is the mean. PyTorch:
    torch.nn.GaussianNLLLoss.

    Args:
        full: If True, the loss includes the constant `log(2 * pi) / 2`.
        eps: The smallest variance. A smaller variance counts as `eps`, but its gradient is computed as if it weren't
            replaced.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            element.
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """Compare `input` with `target`.

        Return the mean over the elements, the sum, or each loss, as `reduction` chooses. `var` holds a variance for
        each element, or for each row; it may also be one number.
        """
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """Compute the loss of a score for targets of 1 and -1: `log(1 + exp(-target * input))`.

    Args:
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            element.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`.

        Return the mean over the elements, the sum, or each loss, as `reduction` chooses.
        """
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Compute the mean binary cross-entropy for samples with several labels, each 0 or 1, from logits.

    The input and the target have the shape (batch, labels). PyTorch: torch.nn.MultiLabelSoftMarginLoss.

    Args:
        weight: A factor for the loss of each label.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            sample.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`.

        Return the mean over the samples, the sum, or each sample's loss, as `reduction` chooses.
        """
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)
