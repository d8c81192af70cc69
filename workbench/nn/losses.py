"""Losses that PyTorch composes of other operations, and the distances in them (torch.nn.functional)."""

from __future__ import annotations

import math

from .. import errors
from ..autograd.grad_mode import no_grad
from ..autograd.tensor import Tensor
from ..ops.comparison import minimum, where
from ..ops.core.complex_rule import only_real
from ..ops.creation import ones_like, zeros_like
from ..ops.library.activation import logsigmoid
from ..ops.library.losses import MEAN, SUM, _reduction

LOSS_DIMS = (
    "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
    "input1: {}, input2: {}, target: {} "
)
TRIPLET_DIMS = (
    "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
    "anchor {}D, positive {}D, and negative {}D inputs"
)


def _summary(each: Tensor, how: int) -> Tensor:
    """Return the mean of the losses, their sum, or each loss."""
    return each.mean() if how == MEAN else each.sum() if how == SUM else each


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle between each pair of vectors along dimension `dim`.

    The cosine is the dot product of the vectors, divided by both norms.

    Args:
        x1, x2: Tensors that broadcast to one shape.
        dim: The dimension of the vectors. It is removed from the result.
        eps: The smallest norm to divide by. The gradient doesn't take this limit into account.
    """
    only_real("R:expected common dtype to be floating point, yet common dtype is {}", x1, x2)
    norms = [x.norm(2, dim, keepdim=True).clone() for x in (x1, x2)]
    with no_grad():
        for norm in norms:
            norm.clamp_min_(eps)
    return ((x1 / norms[0]) * (x2 / norms[1])).sum(dim)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """Return the distance between each pair of vectors along the last dimension.

    The distance is the p-norm of `x1 - x2 + eps`.

    Args:
        x1, x2: Tensors (..., d) that broadcast to one shape.
        p: Which p-norm to use: 2 is the Euclidean distance, 1 the Manhattan distance.
        eps: A small number that is added to each difference.
        keepdim: Keep the last dimension in the result, with size 1.
    """
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return a loss for pairs of numbers that are in the wrong order.

    The loss of a pair is `max(0, -target * (input1 - input2) + margin)`.

    Args:
        input1: The first number of each pair. The shapes of the three tensors are broadcast.
        input2: The second number of each pair.
        target: 1 if the first number should be larger, -1 if the second should.
        margin: By how much it should be larger for the loss to be 0.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" averages the losses, "sum" adds them, and "none" returns one loss per
            pair.

    Raises:
        RuntimeError: if the inputs and the target differ in their number of dimensions.
    """
    how = _reduction(size_average, reduce, reduction)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(LOSS_DIMS.format(input1.size(), input2.size(), target.size()))
    difference = input1 - input2
    return _summary((-target * difference + float(margin)).clamp_min(0), how)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return a loss that makes each anchor nearer to `positive` than to `negative`.

    The loss of a triplet is `max(0, margin + near - far)`. `near` is the distance from `anchor` to
    `positive`, and `far` the distance from `anchor` to `negative`.

    Args:
        anchor: Vectors along the last dimension: (..., d). The shapes of the three tensors are
            broadcast.
        positive: Vectors (..., d) that should be near the anchors.
        negative: Vectors (..., d) that should be farther away.
        margin: By how much `far` should exceed `near`.
        p: Which p-norm measures distances: 2 is the Euclidean distance.
        eps: A small number that is added to each difference.
        swap: If the distance from `positive` to `negative` is smaller than `far`, use it instead.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" averages the losses, "sum" adds them, and "none" returns one loss per
            triplet.

    Raises:
        ValueError: if `margin` isn't positive.
        RuntimeError: if the tensors differ in their number of dimensions.
    """
    how = _reduction(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    dims = anchor.dim(), positive.dim(), negative.dim()
    if len({*dims}) > 1:
        raise RuntimeError(TRIPLET_DIMS.format(*dims))
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p, eps))
    return _summary((float(margin) + near - far).clamp_min(0), how)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return a loss that makes similar vectors point in the same direction, and others not.

    The loss of a pair is `1 - cosine` if its target is 1, and `max(0, cosine - margin)` if its
    target is -1. `cosine` is the cosine of the angle between the two vectors.

    Args:
        input1: The first vector of each pair: the rows of a matrix (n, d), or one vector (d,).
        input2: The second vector of each pair, in the same form.
        target: 1 for vectors that should be similar, -1 for others: a vector (n,), or a tensor
            without dimensions for one pair.
        margin: The largest cosine for which the loss is 0 if the target is -1.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" averages the losses, "sum" adds them, and "none" returns one loss per row.

    Raises:
        RuntimeError: if the shapes don't fit.
    """
    how, dim = _reduction(size_average, reduce, reduction), target.dim()
    if dim > 1:
        raise RuntimeError(errors.MULTI_TARGET)
    if input1.dim() != dim + 1:
        raise RuntimeError(
            f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    least = 1e-12
    squares = [(x * x).sum(dim) + least for x in (input1, input2)]
    cosine = (input1 * input2).sum(dim) / (squares[0] * squares[1]).sqrt()
    zeros = zeros_like(cosine)
    alike = where(target == 1, 1 - cosine, zeros)
    return _summary(alike + where(target == -1, (cosine - margin).clamp_min(0), zeros), how)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return a loss that makes distances small for similar pairs, and large for others.

    The loss of an element is `input` if its target is 1, and `max(0, margin - input)` if its target
    is -1.

    Args:
        input: The distance of each pair.
        target: 1 for pairs that should be close, -1 for pairs that should be at least `margin`
            apart. Its shape broadcasts with that of `input`.
        margin: The distance beyond which the loss is 0 for a target of -1.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" averages the losses, "sum" adds them, and "none" returns one loss per
            element.
    """
    how, zeros = _reduction(size_average, reduce, reduction), zeros_like(input)
    short = where(target != 1, (float(margin) - input).clamp_min(0), zeros)
    return _summary(short + where(target != -1, input, zeros), how)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log-likelihood of counts under Poisson distributions.

    The loss of an element is `exp(input) - target * input`. If `log_input` is False, it is
    `input - target * log(input + eps)`. Terms that don't depend on the input are left out.

    Args:
        input: The logarithms of the predicted means, or the means themselves if `log_input` is
            False.
        target: The observed counts. Its shape broadcasts with that of `input`.
        log_input: Whether `input` holds the logarithms of the means.
        full: Add Stirling's approximation of `log(target!)`, which doesn't depend on the input.
        eps: Added to the mean before its logarithm is taken, if `log_input` is False.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" averages the losses, "sum" adds them, and "none" returns one loss per
            element.
    """
    how = _reduction(size_average, reduce, reduction)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return _summary(loss, how)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log-likelihood of the target under normal distributions.

    The loss of an element is `(log(var) + (input - target)**2 / var) / 2`.

    Args:
        input: The predicted means of the distributions.
        target: The observed values.
        var: The predicted variances: one for all elements, one for each row, or one for each
            element.
        full: Add the constant `log(2 * pi) / 2`, which doesn't change the gradient.
        eps: A lower limit: the loss uses the larger of `var` and `eps`. Below the limit, `var`
            still receives a gradient, as if it were equal to `eps`.
        reduction: "mean" averages the losses, "sum" adds them, and "none" returns one loss per
            element.

    Raises:
        ValueError: if an element of `var` is negative, or `var` has none of the shapes above.
    """
    known = var if isinstance(var, Tensor) else var * ones_like(input)
    if bool((known < 0).any()):
        raise ValueError("var has negative entry/entries")
    if known.shape != input.shape:
        if input.shape[:-1] == known.shape:
            known = known.unsqueeze(-1)
        elif input.ndim != known.ndim or sum(v for n, v in zip(input.shape, known.shape, strict=True) if n != v) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(errors.NOT_VALID.format(reduction))
    known = known.clone()
    with no_grad():
        known.clamp_(min=eps)
    loss = 0.5 * (known.log() + (input - target) ** 2 / known)
    if full:
        loss += 0.5 * math.log(2 * math.pi)
    return _summary(loss, _reduction(None, None, reduction))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the binary cross-entropy for several labels per sample, averaged over the labels.

    Args:
        input: Logits of shape (batch, labels).
        target: 0 or 1 for each logit: 1 if the sample has the label.
        weight: A vector with a factor for each label, or None.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" averages the losses, "sum" adds them, and "none" returns one loss per row.
    """
    old = size_average is not None or reduce is not None
    how = _reduction(size_average, reduce, reduction) if old else {"none": 0, "mean": MEAN, "sum": SUM}.get(reduction)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    loss = loss.sum(-1) / input.size(-1)
    if how is None:
        raise ValueError(errors.NOT_VALID.format(reduction))
    return _summary(loss, how)
