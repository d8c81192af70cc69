"""Rules of what networks are made of, for a whole batch: convolutions, normalizations, losses.

Each folds the batch into a dimension that the op has anyway: images, channels or groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from ..autograd.tensor import Tensor, wrap
from .batching import Mapped, Results, alone, batches, flat, run
from .compile import TENSORS

Ints = tuple[int, ...]
NONE, MEAN = 0, 1  # reductions


def _folded(m: Mapped, size: int) -> Tensor:
    """The batch and the samples' first dimension as one."""
    first, *rest = m.shape
    return m.full(size).reshape(size * first, *rest)


def _unfolded(t: Tensor, size: int) -> Tensor:
    many, *rest = t._array.shape
    return t.reshape(size, many // size, *rest)


def _in_channels(m: Mapped, size: int) -> Tensor:
    """The batch and the samples' second dimension as one."""
    first, second, *rest = m.shape
    return m.full(size).transpose(0, 1).reshape(first, size * second, *rest)


def _out_of_channels(t: Tensor, size: int) -> Tensor:
    first, many, *rest = t._array.shape
    return t.reshape(first, size, many // size, *rest).transpose(0, 1)


@batches("convolution")
def _convolution(op: Any, size: int, input: Mapped, weight: Mapped, bias: Mapped | None, **how: Any) -> Results:
    added = None if bias is None or not bias.batched else bias
    if weight.batched:  # each sample's channels are groups of their own
        how["groups"] *= size
        (out,), _ = run(op, input=_in_channels(input, size), weight=_folded(weight, size), bias=None, **how)
        out, added = _out_of_channels(out, size), bias
    else:
        own = None if added is not None or bias is None else bias.value
        (out,), _ = run(op, input=_folded(input, size), weight=weight.value, bias=own, **how)
        out = _unfolded(out, size)
    return alone(out if added is None else out + added.shaped((1, *added.shape, *(1,) * (out.ndim - 3))))


@batches("conv_input")
def _conv_input(op: Any, size: int, grad_output: Mapped, weight: Mapped, shape: Ints, **how: Any) -> Results:
    count, channels, *rest = shape
    if not weight.batched:
        grad, shape = _folded(grad_output, size), (count * size, channels, *rest)
        (out,), _ = run(op, grad_output=grad, weight=weight.value, shape=shape, **how)
        return alone(_unfolded(out, size))
    how["groups"] *= size
    grad, shape = _in_channels(grad_output, size), (count, channels * size, *rest)
    (out,), _ = run(op, grad_output=grad, weight=_folded(weight, size), shape=shape, **how)
    return alone(_out_of_channels(out, size))


@batches("conv_weight")
def _conv_weight(op: Any, size: int, grad_output: Mapped, input: Mapped, shape: Ints, **how: Any) -> Results:
    how["groups"] *= size
    grad, a = (_in_channels(m, size) for m in (grad_output, input))
    (out,), _ = run(op, grad_output=grad, input=a, shape=(shape[0] * size, *shape[1:]), **how)
    return alone(_unfolded(out, size))


@batches("native_layer_norm")
def _layer_norm(op: Any, size: int, input: Mapped, weight: Mapped | None, bias: Mapped | None, **how: Any) -> Results:
    own, later = {}, {}
    for name, m in (("weight", weight), ("bias", bias)):
        apart = m is not None and (m.batched or bool(later))
        own[name] = None if m is None or apart else m.value
        if apart:
            later[name] = m.aligned(input.ndim)
    (out,), extras = run(op, input=input.full(size), **own, **how)
    out = out * later["weight"] if "weight" in later else out
    return (out + later["bias"] if "bias" in later else out,), extras


@batches("native_batch_norm")
def _batch_norm(op: Any, size: int, input: Mapped, training: bool, momentum: float, eps: float, **of: Any) -> Results:
    running = of["running_mean"]
    if training and running is not None and not running.batched:
        raise RuntimeError(errors.VMAP_RUNNING)
    of = {name: None if m is None else _folded(m, size) for name, m in of.items()}
    (out,), extras = run(op, input=_in_channels(input, size), training=training, momentum=momentum, eps=eps, **of)
    return (_out_of_channels(out, size),), tuple([e.reshape(size, e._array.size // size) for e in extras])


@batches("mse_loss")
def _mse_loss(op: Any, size: int, self: Mapped, target: Mapped, reduction: int) -> Results:
    (out,), _ = run(op, self=self.full(size), target=target.full(size), reduction=NONE)
    return alone(out if reduction == NONE else _reduced(out, reduction == MEAN))


def _reduced(t: Tensor, mean: bool) -> Tensor:
    """One number for each sample: the mean or the sum."""
    return flat(t).mean(1) if mean else flat(t).sum(1)


def _weighted(t: Tensor, weight: Mapped | None, ndim: int) -> Tensor:
    """A batch of scores times the weight of each class."""
    if weight is None:
        return t
    before = 1 if ndim > 1 else 0
    return t * weight.shaped((1,) * before + weight.shape + (1,) * (ndim - before - 1))


def _rows(m: Mapped, size: int, ndim: int) -> Tensor:
    """A batch of batches as one; a sample of one row is a row."""
    return m.full(size) if ndim == 1 else _folded(m, size)


def _unweighted(self: Mapped, target: Mapped, size: int) -> dict[str, Any]:
    """The arguments of a loss of all samples' rows together, each row for itself."""
    nothing = wrap(np.zeros((), self.value._array.dtype))
    where = _rows(target, size, self.ndim)
    return {"self": _rows(self, size, self.ndim), "target": where, "weight": None, "total_weight": nothing}


@batches("nll_loss", "nll_loss2d")
def _nll(
    op: Any,
    size: int,
    self: Mapped,
    target: Mapped,
    weight: Mapped | None,
    total_weight: Mapped,
    reduction: int,
    ignore_index: int,
) -> Results:
    scores = Mapped(_weighted(self.full(size), weight, self.ndim), True)
    (out,), _ = run(op, **_unweighted(scores, target, size), reduction=NONE, ignore_index=ignore_index)
    out = out if self.ndim == 1 else _unfolded(out, size)
    out = out if reduction == NONE else _reduced(out, mean=False)
    return alone(out / total_weight.value if reduction == MEAN else out)


@batches("nll_loss_backward", "nll_loss2d_backward")
def _nll_backward(
    op: Any,
    size: int,
    grad_output: Mapped,
    self: Mapped,
    target: Mapped,
    weight: Mapped | None,
    total_weight: Mapped,
    reduction: int,
    ignore_index: int,
) -> Results:
    grad = grad_output
    if reduction == MEAN:
        total = total_weight.value
        share = grad.value / TENSORS["where"](total == 0, 1, total)
        grad = Mapped(share, grad.batched or total_weight.batched)
    if reduction != NONE and self.ndim > 1:
        ones = (1,) * (self.ndim - 1)
        grad = Mapped(grad.shaped(ones).expand((*grad.value.shape[: grad.batched], *target.shape)), grad.batched)
    given = _unweighted(self, target, size)
    grads = _rows(grad, size, self.ndim)
    (out,), _ = run(op, grad_output=grads, **given, reduction=NONE, ignore_index=ignore_index)
    return alone(_weighted(out if self.ndim == 1 else _unfolded(out, size), weight, self.ndim))
