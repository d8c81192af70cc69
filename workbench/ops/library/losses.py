"""Losses: how far scores and values are from what they should be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import errors
from ...autograd import dtypes
from ...autograd.levels import elements
from ...autograd.state import local
from ...autograd.tensor import Tensor, wrap
from ...errors import warn
from ..comparison import where_
from ..core.checks import (
    INT64,
    all_within,
    check_broadcast,
    check_width,
    no_bools,
    number_of,
    only_floats,
    tensors_only,
)
from ..core.op import define
from ..core.registry import abbreviation, in_formulas
from ..core.results import grid, places_along
from ..sums import summed
from .activation import _log_softmax

NONE = 0  # as PyTorch numbers the reductions
MEAN = 1
SUM = 2
NUMBERS = {"none": NONE, "mean": MEAN, "sum": SUM}


def _reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> int:
    """Return the reduction's number; ValueError if there is none of that name."""
    if size_average is not None or reduce is not None:  # what they were called before `reduction`
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    if reduction not in NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return NUMBERS[reduction]


def _reduced(a: np.ndarray, reduction: int) -> np.ndarray:
    return a if reduction == NONE else summed(a) / ((a.size or np.nan) if reduction == MEAN else 1)


def _double_share(reduction: int, shape: tuple[int, ...]) -> float:
    """Return two, or its share in a mean."""
    count = int(np.prod(shape)) if reduction == MEAN else 1
    return 2 / count if count else np.nan


in_formulas("double_share", _double_share)


def _met(kernel: str) -> Any:
    """Refuse two tensors of integers, or masks."""

    def check(args: tuple[Any, ...]) -> tuple[Any, ...]:
        kind = dtypes.result_type([(t.dtype, 2) for t in args[:2]])
        if not kind.is_floating_point:
            raise NotImplementedError(errors.NO_KERNEL.format(kernel, kind.word))
        return args

    return check


def _less(a: Tensor, b: Tensor) -> Tensor:
    """Return the difference of which one may be a mask, which `-` refuses."""
    a, b = (t.to(dtypes.uint8) if t.dtype == dtypes.bool_ else t for t in (a, b))
    return a - b


in_formulas("less", np.subtract, _less)
_mse_loss = define(
    "mse_loss(Tensor self, Tensor target, reduction)",
    lambda a, target, reduction: _reduced((a - target) ** 2, reduction),
    kind="tensors",
    prepare=_met("mse_cpu"),
    self="grad * double_share(reduction, self.shape) * less(self, target)",
    target="grad * double_share(reduction, self.shape) * less(target, self)",
    tangent="reduction",
)


def _class_dim(ndim: int) -> int:
    return 1 if ndim > 1 else 0


def _counts_all(target: np.ndarray, weight: Any, total: np.ndarray) -> bool:
    """Return True if it is known that no target is ignored: unweighted, they then total their number."""
    return weight is None and total.item() == target.size


def _nll_of(
    a: np.ndarray, target: np.ndarray, weight: Any, reduction: int, ignore_index: int, total: np.ndarray
) -> np.ndarray:
    if (
        target.ndim == 1
        and a.ndim == 2
        and reduction
        and weight is None
        and total.item() == len(target)
        and len(target)
    ):
        out = 0.0 - summed(a[grid(target.shape)[0], target])
        return out / total[()] if reduction == MEAN else out
    every = _counts_all(target, weight, total)
    counted = every or target != ignore_index
    where = target if every else np.where(counted, target, 0)
    rows = a if a.ndim == 2 else np.moveaxis(a, _class_dim(a.ndim), -1).reshape(-1, a.shape[_class_dim(a.ndim)])
    if not rows.shape[1]:  # of no classes, targets that are all ignored
        each, weight = np.zeros(target.shape, a.dtype), None
    else:
        flat = where if where.ndim == 1 else where.reshape(-1)
        each = rows[grid(flat.shape)[0], flat]
        each = each if target.ndim == 1 else each.reshape(target.shape)
    each = each if weight is None else each * weight[where]
    each = each if every else np.where(counted, each, a.dtype.type(0))
    if reduction == NONE:
        return -each
    out = 0.0 - summed(each)  # below, scalars: NumPy divides them in a sixth of the time of arrays
    return out / (total[()] if total or out else np.nan) if reduction == MEAN else out  # 0 / 0 would warn in threads


def _nll_backward(
    grad: np.ndarray, a: np.ndarray, target: np.ndarray, weight: Any, reduction: int, ignored: int, total: np.ndarray
) -> np.ndarray:
    """Return zeros, but at each target the gradient times minus its class's weight, or times its share."""
    out = np.zeros(a.shape, a.dtype)
    if not a.size:
        return out
    every = _counts_all(target, weight, total)
    counted = every or target != ignored
    where = target if every else np.where(counted, target, 0).astype(np.intp)
    share = 1 if weight is None else weight[where]
    if reduction == MEAN and total:
        share = share / total[()]
    elif reduction == MEAN:  # a division by 0, which would warn in threads
        share = np.where(np.equal(share, 0), np.nan, np.copysign(np.inf, share))
    here = -share * grad[()]
    here = here if every else np.where(counted, here, 0).astype(a.dtype)
    if a.ndim > 1:
        where = where[:, None]
        here = here[:, None] if here.ndim else here
    out[places_along(where, _class_dim(a.ndim))] = here
    return out


_REST = "target, weight, reduction, ignore_index, total_weight"
_nll_loss, _nll_loss_2d = (
    define(
        f"{name}(Tensor self, Kept target, Kept? weight, reduction, ignore_index; Kept total_weight)",
        _nll_of,
        self=f"{name}_backward(grad, self, {_REST})",
        tangent="linear",
    )
    for name in ("nll_loss", "nll_loss2d")
)
for _name in ("nll_loss", "nll_loss2d"):
    define(
        f"{_name}_backward(Tensor grad_output, Tensor self, Kept target, Kept? weight, reduction, ignore_index, "
        "Kept total_weight)",
        _nll_backward,
        grad_output=f"{_name}(grad, {_REST})",
        self="zeros_like(grad)",
    )
# A tensor times or by a number, which PyTorch's own code writes as a scalar, not as a tensor without dimensions.
_times = define(
    "mul_number(Tensor self, other)", np.multiply, node="MulBackward1", batch="pointwise", self="grad * other"
)
_over = define("div_number(Tensor self, other)", np.divide, node="DivBackward1", batch="pointwise", self="grad / other")


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean squared error: the mean of `(input - target) ** 2` over all elements.

    Args:
        input: The predictions.
        target: The true values. If the shapes differ, they are broadcast, with a warning.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" averages the losses, "sum" adds them, and "none" returns one loss per
            element.
    """
    input, target = _alike(input, target)
    how = _reduction(size_average, reduce, reduction)
    return _mse_loss(input, target, how)


def _alike(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return both in one shape, with a warning if their shapes differ."""
    a, b = input.size(), target.size()
    if a == b:
        return input, target
    warn(
        f"Using a target size ({b}) that is different to the input size ({a}). This will "
        "likely lead to incorrect results due to broadcasting. Please ensure they have the "
        "same size."
    )
    check_broadcast([a, b])
    common = np.broadcast_shapes(a, b)
    input, target = [t if t.shape == common else t.expand(common) for t in (input, target)]
    return input, target


def _share(reduction: int, shape: tuple[int, ...]) -> float:
    """Return the part of each element in the loss."""
    count = int(np.prod(shape)) if reduction == MEAN else 1
    return 1 / count if count else np.nan


in_formulas("share", _share)
abbreviation("of_ones(t, h, pos_weight)", "h if pos_weight is None else h * (1 + (pos_weight - 1) * t)")
abbreviation("beyond(h, pos_weight)", "0 if pos_weight is None else (pos_weight - 1) * h")


def _huber_of(a: np.ndarray, target: np.ndarray, reduction: int, delta: float) -> np.ndarray:
    far = np.abs(a - target)
    return _reduced(np.where(far < delta, far * far * 0.5, (far - 0.5 * delta) * delta), reduction)


_huber_loss = define(
    "huber_loss(Tensor self, Tensor target, reduction, delta)",
    _huber_of,
    kind="tensors",
    prepare=only_floats("huber_cpu"),
    self="grad * share(reduction, self.shape) * clamp(self - target, -delta, delta)",
    target="grad * share(reduction, self.shape) * clamp(target - self, -delta, delta)",
    tangent="reduction",
)
_smooth_l1_loss = define(
    "smooth_l1_loss(Tensor self, Tensor target, reduction, beta)",
    lambda a, target, reduction, beta: _huber_of(a, target, reduction, beta) / beta,
    kind="tensors",
    prepare=_met("smooth_l1_cpu"),
    self="grad * share(reduction, self.shape) * clamp((self - target) / beta, -1, 1)",
    target="grad * share(reduction, self.shape) * clamp((target - self) / beta, -1, 1)",
    tangent="reduction",
)


def _entropy_of(a: np.ndarray, target: np.ndarray, weight: Any, reduction: int) -> np.ndarray:
    each = -(target * np.maximum(np.log(a), -100) + (1 - target) * np.maximum(np.log1p(-a), -100))
    return _reduced(each if weight is None else each * weight, reduction)


_binary_cross_entropy = define(
    "binary_cross_entropy(Tensor self, Tensor target, Kept? weight, reduction)",
    _entropy_of,
    self="scaled(grad * share(reduction, self.shape), weight) * (self - target) "
    "/ clamp(self * (1 - self), 1e-12, None)",
    target="scaled(grad * share(reduction, self.shape), weight) * (log1p(-self) - log(self))",
    tangent="reduction",
)


def _logits(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Refuse integers and masks, among which there is no logarithm."""
    only_floats("log_sigmoid_cpu")(args)
    input, target = args[:2]
    if target.dtype is dtypes.bool_:
        no_bools((target, target))
    if not target.dtype.is_floating_point:
        raise RuntimeError(errors.OUT_CAST.format(input.dtype.word, target.dtype.word))
    return args


def _entropy_of_logits(a: np.ndarray, target: np.ndarray, weight: Any, pos_weight: Any, reduction: int) -> np.ndarray:
    ones = np.minimum(a, 0) - np.log1p(np.exp(-np.abs(a)))
    each = (1 - target) * a - (ones if pos_weight is None else ones * (1 + (pos_weight - 1) * target))
    return _reduced(each if weight is None else each * weight, reduction)


_binary_cross_entropy_with_logits = define(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Kept? weight, Kept? pos_weight, reduction)",
    _entropy_of_logits,
    prepare=_logits,
    self="scaled(grad * share(reduction, self.shape), weight) "
    "* (1 - target - of_ones(target, sigmoid(-self), pos_weight))",
    target="scaled(grad * share(reduction, self.shape), weight) * (-self - beyond(logsigmoid(self), pos_weight))",
    tangent="reduction",
)


_soft_margin_loss = define(
    "soft_margin_loss(Tensor self, Kept target, reduction)",
    lambda a, target, reduction: _reduced(np.log(1 + np.exp(-target * a)), reduction),
    self="grad * share(reduction, self.shape) * -target * exp(-target * self) / (1 + exp(-target * self))",
    tangent="reduction",
)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean absolute error: the mean of `abs(input - target)` over all elements.

    Where both elements are equal, the gradient is 0.

    Args:
        input, target: The predictions and the true values, in the same shape.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" averages the losses, "sum" adds them, and "none" returns one loss per
            element.
    """
    input, target = _alike(input, target)
    how, each = _reduction(size_average, reduce, reduction), (input - target).abs()
    return each if how == NONE else each.mean() if how == MEAN else each.sum()


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Return the Huber loss: squared for small errors, linear for large ones.

    With `d = abs(input - target)`, the loss is `d**2 / 2` where `d < delta`, and
    `delta * (d - delta / 2)` elsewhere. Both parts have the same slope at `delta`.

    Args:
        input, target: The predictions and the true values, in the same shape.
        reduction: "mean" averages the losses, "sum" adds them, and "none" returns one loss per
            element.
        delta: The error at which the loss becomes linear.
    """
    input, target = _alike(input, target)
    how = _reduction(None, None, reduction)
    delta = number_of("huber_loss", "delta", 3, delta, "float")
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    return _huber_loss(input, target, how, delta)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the logistic loss of yes-or-no predictions with targets 1 and -1.

    The loss of an element is `log(1 + exp(-target * input))`.

    Args:
        input: The predictions: positive for class 1, negative for class -1.
        target: 1 or -1, in the shape of `input` or one that broadcasts to it. No gradient is
            computed for it.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" averages the losses, "sum" adds them, and "none" returns one loss per
            element.
    """
    _constant("soft_margin_loss", target=target)
    for mask in [each for each in (target, input) if each.dtype is dtypes.bool_]:
        return -mask  # which is refused
    if not input.is_floating_point():
        word = "Double" if target.dtype is dtypes.float64 else "Float"
        raise RuntimeError(errors.OUT_CAST.format(word, input.dtype.word))
    shapes = [tuple(input.shape), tuple(target.shape)]
    check_broadcast(shapes)
    check_width(shapes[0], np.broadcast_shapes(*shapes))
    target = target.to(input.dtype)
    return _soft_margin_loss(input, target, _reduction(size_average, reduce, reduction))


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Return a loss that is squared for errors below `beta`, and linear above.

    With `d = abs(input - target)`, the loss is `d**2 / (2 * beta)` where `d < beta`, and
    `d - beta / 2` elsewhere. This is `huber_loss` with `delta=beta`, divided by `beta`. If `beta`
    is 0, it is `l1_loss`.

    Args:
        input, target: The predictions and the true values, in the same shape.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" averages the losses, "sum" adds them, and "none" returns one loss per
            element.
        beta: The error at which the loss becomes linear.
    """
    beta = number_of("smooth_l1_loss", "beta", 3, beta, "float")
    if not beta:
        return l1_loss(input, target, size_average, reduce, reduction)
    input, target = _alike(input, target)
    how = _reduction(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return _smooth_l1_loss(input, target, how, beta)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the cross-entropy of yes-or-no predictions, given as probabilities.

    The loss of an element is `-(target * log(input) + (1 - target) * log(1 - input))`. Logarithms
    below -100 count as -100, so no loss is above 100. For logits,
    `binary_cross_entropy_with_logits` is more accurate.

    Args:
        input: Probabilities between 0 and 1, for example from `sigmoid`.
        target: Numbers between 0 and 1, in the shape of `input`.
        weight: A factor for each element. No gradient is computed for it.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" averages the losses, "sum" adds them, and "none" returns one loss per
            element.

    Raises:
        ValueError: if the shapes differ.
        RuntimeError: if an element is outside the range from 0 to 1, or `weight` requires grad.
    """
    how = _reduction(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. "
            "Please ensure they have the same size."
        )
    _constant("binary_cross_entropy", weight=weight)
    only_floats("binary_cross_entropy")((input,))
    for name, t in (("input", input), ("target", target)):
        if not ((elements(t) >= 0) & (elements(t) <= 1)).all():
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    return _binary_cross_entropy(input, target, weight, how)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the cross-entropy of yes-or-no predictions, given as logits.

    Without `pos_weight`, the result equals `binary_cross_entropy(sigmoid(input), target)`, in one
    formula. For a large logit, `sigmoid` would round to exactly 0 or 1, and the loss would be
    wrong.

    Args:
        input: Logits: positive for yes, negative for no.
        target: Numbers between 0 and 1, in the shape of `input`.
        weight: A factor for each element. No gradient is computed for it.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" averages the losses, "sum" adds them, and "none" returns one loss per
            element.
        pos_weight: A factor for the loss of positive targets, usually a vector with one factor per
            class. A factor above 1 makes a missed yes cost more.
    """
    how = _reduction(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    _constant("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    if input._array.dtype is not target._array.dtype:
        _logits((input, target))
        input = input.to(target.dtype)
    return _binary_cross_entropy_with_logits(input, target, weight, pos_weight, how)


def _constant(function: str, **weights: Tensor | None) -> None:
    """Raise RuntimeError for a weight that requires grad."""
    for name, weight in weights.items():
        if weight is not None and weight.requires_grad:
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument '{name}'. This input "
                "cannot have requires_grad True."
            )


@tensors_only("nll_loss_nd")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log-probability of the correct classes, averaged over the batch.

    The input holds log-probabilities, as from `log_softmax`. `cross_entropy` does both steps.

    Args:
        input: Log-probabilities of shape (classes,), (n, classes) or (n, classes, ...).
        target: The index of the correct class for each sample, int64 or uint8, in the shape of
            `input` without the class dimension.
        weight: A vector with a factor for each class. "mean" then divides by the sum of the factors
            of the targets.
        ignore_index: Samples with this target are left out of the loss and of the number of
            samples.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" averages the losses, "sum" adds them, and "none" returns one loss per
            sample.
    """
    how = _reduction(size_average, reduce, reduction)
    every = _check_target(input, target, weight, ignore_index)
    if input._array.dtype.kind != "f":
        only_floats("nll_loss_out_frame" if input._array.ndim < 3 else "nll_loss2d_forward_out_frame")((input,))
    return _of_classes(input, target, weight, how, ignore_index, every)


def _of_classes(
    input: Tensor, target: Tensor, weight: Tensor | None, how: int, ignore_index: int, every: bool
) -> Tensor:
    """Return the same for targets that are checked; `every` one counts, or some are to be ignored."""
    if input._array.ndim in (1, 2, 4):
        return _nll(input, target, weight, how, ignore_index, every)
    flat = input.contiguous().view(*input.shape[:2], 1, -1)
    out = _nll(flat, target.contiguous().view(target.shape[0], 1, -1), weight, how, ignore_index, every)
    return out.view(target.shape) if how == NONE else out


def _nll(input: Tensor, target: Tensor, weight: Tensor | None, how: int, ignore_index: int, every: bool) -> Tensor:
    ndim = input._array.ndim
    if how == NONE and ndim != 1:
        total = wrap(np.zeros((), input._array.dtype))
    elif every and weight is None and not local.modes.levels:
        total = wrap(np.array(target._array.size, input._array.dtype))
    else:
        total = _total(input, target, weight, ignore_index, every)
    if ndim == 1:
        target = target.reshape(())
    op = _nll_loss if ndim < 3 else _nll_loss_2d
    return op(input, target, weight, how, ignore_index, total)


def _total(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, every: bool) -> Tensor:
    """Return the weights of all targets together, in the input's dtype."""
    if not local.modes.levels or not any([level.kind == "vmap" for level in local.modes.levels]):
        t = target._array
        if weight is None:
            ignored = 0 if every else np.count_nonzero(t == ignore_index)
            return wrap(np.array(t.size - ignored, input._array.dtype))
        return wrap(np.asarray(weight._array[t[t != ignore_index]].sum(), input._array.dtype))
    counted = target != ignore_index
    if weight is None:
        return counted.sum().to(input.dtype)
    return where_(counted, weight.detach()[where_(counted, target, 0)], 0.0).sum()


def _check_target(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> bool:
    """Return True if surely none is ignored; ValueError, RuntimeError or IndexError where targets name no class."""
    a, t = input._array, target._array
    if weight is not None or a.ndim != 2 or a.shape[:1] != t.shape or t.dtype is not INT64:
        _check_sizes(input, target, weight)
    t, classes = elements(target), a.shape[_class_dim(a.ndim)]
    if all_within(t, classes):
        return not 0 <= ignore_index < classes
    outside = t[(t != ignore_index) & ((t < 0) | (t >= classes))]
    if outside.size:
        raise IndexError(f"Target {outside.flat[0]} is out of bounds.")
    return False


def _check_sizes(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Raise ValueError or RuntimeError if targets or weights don't fit the input."""
    a, t = input._array, target._array
    if not a.ndim:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if a.ndim > 1 and t.ndim and a.shape[0] != t.shape[0]:
        raise ValueError(f"Expected input batch_size ({a.shape[0]}) to match target batch_size ({t.shape[0]}).")
    if a.ndim < 3 and t.ndim > 1:
        raise RuntimeError(errors.MULTI_TARGET)
    if a.ndim == 1 and t.size != 1:
        raise RuntimeError(f"For 1D input, 1D target must have size 1, but got target size: {t.size}")
    if a.ndim == 4 and t.ndim != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {t.ndim}"
        )
    want = [*a.shape[:1], *a.shape[2:]]
    if a.ndim > 2 and list(t.shape) != want:
        if a.ndim == 4:
            raise RuntimeError(f"size mismatch (got input: {list(a.shape)} , target: {list(t.shape)}")
        raise RuntimeError(f"Expected target size {want}, got {list(t.shape)}")
    if target.dtype not in (dtypes.int64, dtypes.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype.word}")
    classes = a.shape[_class_dim(a.ndim)]
    if weight is not None and weight._array.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got "
            f"weight tensor of shape: {list(weight.shape)}"
        )
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(errors.SCALAR_TYPE.format(input.dtype.word, weight.dtype.word))


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
    """Return the cross-entropy between logits and targets: the usual loss of a classifier.

    The loss is the negative logarithm of the probability that `softmax(input)` gives to the correct
    class, averaged over the batch. Pass logits, not probabilities: `cross_entropy` applies the
    softmax itself. Without weights, the gradient of a logit is its probability minus its target
    probability, divided by the batch size.

    Args:
        input: Logits of shape (classes,), (n, classes) or (n, classes, ...).
        target: The index of the correct class for each sample, as int64, in the shape of `input`
            without the class dimension. Or the probability of each class, in the shape of `input`.
        weight: A vector with a factor for each class, for example to give rare classes more
            influence. "mean" then divides by the sum of the factors of the targets.
        size_average, reduce: Deprecated; use `reduction`.
        ignore_index: Samples with this target are left out of the loss and of the number of
            samples.
        reduction: "mean" averages over the samples, "sum" adds them, "none" returns each loss.
        label_smoothing: A number s from 0 to 1. The target becomes a mixture: 1 - s times the given
            target, plus s times equal probabilities for all classes.

    Example:
        >>> logits = torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
        >>> F.cross_entropy(logits, torch.tensor([0, 2]))
        tensor(0.2395)
    """
    how = _reduction(size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    shape = input._array.shape
    if shape and shape == target._array.shape:
        return _against_probabilities(input, target, weight, how, ignore_index, label_smoothing)
    every = _check_target(input, target, weight, ignore_index)
    dim = _class_dim(len(shape))
    logs = _log_softmax(input, dim)
    loss = _of_classes(logs, target, weight, how, ignore_index, every)
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
    return _times(loss, 1 - label_smoothing) + _times(smooth, label_smoothing / shape[dim])


def _weighted(logs: Tensor, weight: Tensor | None) -> Tensor:
    """Return each class's numbers times its weight."""
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
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no "
            f"classes but got weight tensor of shape: {list(weight.shape)}"
        )
    if smoothing:
        target = _times(target, 1 - smoothing) + (smoothing / classes if classes else math.inf)
    products = _weighted(_log_softmax(input, dim) * target, weight)
    if how == NONE:
        return -products.sum(dim)
    if how == MEAN and not input.numel():
        return -products.sum().fill_(math.nan)
    loss = -products.sum()
    return _over(loss, input.numel() // classes) if how == MEAN else loss
