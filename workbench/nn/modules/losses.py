"""Losses, as modules."""

from __future__ import annotations

from ...autograd.tensor import Tensor
from ...ops.library.losses import _reduction
from .. import functional as F
from .module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelSoftMarginLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
]

Old = bool | None  # how `reduction` was said before there was one


class _Loss(Module):
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        old = size_average is not None or reduce is not None
        self.reduction = ("none", "mean", "sum")[_reduction(size_average, reduce, reduction)] if old else reduction


class _WeightedLoss(_Loss):
    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.weight: Tensor | None


class MSELoss(_Loss):
    """Compute the mean squared error: the mean of `(input - target)**2`.

    PyTorch: torch.nn.MSELoss.

    Args:
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            element.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`.

        Return the mean, the sum, or each squared difference, as `reduction` chooses.
        """
        return F.mse_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """Compute the negative log-probability of the correct class, averaged over the batch, from log-probabilities.

    The input contains log-probabilities, such as those of LogSoftmax, and has the shape (batch, classes) or
    (batch, classes, …). The target contains the index of the correct class (int64) and has the shape (batch,) or
    (batch, …). PyTorch: torch.nn.NLLLoss.

    Args:
        weight: A factor for the loss of each class. With "mean", the mean is weighted by these factors.
        size_average, reduce: Deprecated; use `reduction`.
        ignore_index: Samples with this target are left out of the loss and of the mean.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            sample.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`.

        Return the mean over the samples, the sum, or each loss, as `reduction` chooses.
        """
        return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    """Compute the negative log-probability of the correct class, averaged over the batch, from logits.

    The loss applies `log_softmax` to the input, so the model must not end with a softmax. The input has the shape
    (batch, classes) or (batch, classes, …). The target has the shape (batch,) or (batch, …) and contains the index of
    the correct class (int64). It may instead contain a probability for each class, in the input's shape. PyTorch:
    torch.nn.CrossEntropyLoss.

    Example:
        >>> logits = torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        >>> nn.CrossEntropyLoss(reduction="none")(logits, torch.tensor([0, 2]))
        tensor([0.2395, 1.0986])

    Args:
        weight: A factor for the loss of each class. With "mean", the mean is weighted by these factors.
        size_average, reduce: Deprecated; use `reduction`.
        ignore_index: Samples with this target are left out of the loss and of the mean.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            sample.
        label_smoothing: The share of the target probability, from 0 to 1, that is spread evenly over all classes.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`.

        Return the mean over the samples, the sum, or each loss, as `reduction` chooses.
        """
        how = None, self.ignore_index, None, self.reduction, self.label_smoothing
        return F.cross_entropy(input, target, self.weight, *how)


class L1Loss(_Loss):
    """Compute the mean absolute error: the mean of `abs(input - target)`.

    Args:
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            element.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`; return the mean, the sum, or each loss, as `reduction` chooses."""
        return F.l1_loss(input, target, reduction=self.reduction)


class KLDivLoss(_Loss):
    """Measure how far the distribution `input` is from the distribution `target` (the Kullback-Leibler divergence).

    The input contains log-probabilities. The target contains probabilities and has the same shape. The loss of each
    element is `target * (log(target) - input)`. PyTorch: torch.nn.KLDivLoss.

    Args:
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "batchmean" divides the sum of the losses by the batch size, which is the mathematical definition.
            "mean" divides it by the number of elements. "sum" returns the sum, and "none" returns one loss per element.
        log_target: Set this if the target contains log-probabilities, too. The loss is then
            `exp(target) * (target - input)`.
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the divergence of `input`, which holds logarithms, from `target`, as `reduction` chooses."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class SmoothL1Loss(_Loss):
    """Compute the squared error of small differences and the absolute error of differences of at least `beta`.

    With `d = abs(input - target)`, the loss is `d**2 / (2 * beta)` where `d < beta`, otherwise `d - beta / 2`. It
    equals HuberLoss divided by `beta`. PyTorch: torch.nn.SmoothL1Loss.

    Args:
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            element.
        beta: The difference at which the loss becomes linear. With 0, the loss is L1Loss.
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`; return the mean, the sum, or each loss, as `reduction` chooses."""
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Compute the squared error of differences below `delta`, and an error that grows linearly for larger ones.

    With `d = abs(input - target)`, the loss is `d**2 / 2` where `d < delta`, otherwise `delta * (d - delta / 2)`; the
    slope has no jump at `delta`. PyTorch: torch.nn.HuberLoss.

    Args:
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            element.
        delta: The difference at which the loss becomes linear.
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`; return the mean, the sum, or each loss, as `reduction` chooses."""
        return F.huber_loss(input, target, self.reduction, self.delta)


class BCELoss(_WeightedLoss):
    """Compute the negative log-probability of targets that are 0 or 1, from probabilities of a 1.

    The loss, the binary cross-entropy, is `-(target * log(input) + (1 - target) * log(1 - input))`. A logarithm below
    -100 counts as -100. If your model computes logits, use BCEWithLogitsLoss, which is more stable. PyTorch:
    torch.nn.BCELoss.

    Args:
        weight: A factor for each loss, in a shape that broadcasts to the input's shape.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            element.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`.

        Return the mean over the elements, the sum, or each loss, as `reduction` chooses.
        """
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """Compute the negative log-probability of targets that are 0 or 1, from logits.

    The result is that of BCELoss for `sigmoid(input)`, but is computed in one stable operation. The target contains
    numbers from 0 to 1, and has the input's shape. PyTorch: torch.nn.BCEWithLogitsLoss.

    Args:
        weight: A factor for each loss, in a shape that broadcasts to the input's shape.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            element.
        pos_weight: A factor for the loss of targets that are 1. Use 3, for example, if ones are three times as rare as
            zeros.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`.

        Return the mean over the elements, the sum, or each loss, as `reduction` chooses.
        """
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


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
