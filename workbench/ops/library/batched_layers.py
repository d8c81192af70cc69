"""The batching rules of layers and losses: they fold the batch into images, channels, groups or rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd.tensor import Tensor, wrap
from ..core.registry import TENSORS
from ..core.vmap import Ints, Mapped, Results, alone, batches, flat, map_tensors, run_op
from .batched_indices import _in_own_rows


@batches("channel_shuffle")
def _channel_shuffle(op: Any, size: int, self: Mapped, groups: int) -> Results:
    (out,), _ = run_op(op, self=_folded(self, size), groups=groups)
    return alone(_unfolded(out, size))


@batches("embedding")
def _embedding(op: Any, size: int, weight: Mapped, indices: Mapped, padding_idx: int | None) -> Results:
    if not weight.batched:
        return run_op(op, weight=weight.value, indices=indices.value, padding_idx=padding_idx)
    where = _in_own_rows(indices, weight.shape[0], size)
    (rows,), _ = run_op(op, weight=_folded(weight, size), indices=where, padding_idx=None)
    if padding_idx is None:
        return alone(rows)
    return alone(TENSORS["where"]((indices.value == padding_idx).unsqueeze(-1), rows.detach(), rows))


@batches("embedding_backward")
def _embedding_backward(
    op: Any, size: int, grad_output: Mapped, indices: Mapped, num_weights: int, padding_idx: int | None
) -> Results:
    grad, where = grad_output.full(size), _in_own_rows(indices, num_weights, size)
    if padding_idx is not None:
        grad = grad * (indices.value != padding_idx).unsqueeze(-1)
    (out,), _ = run_op(op, grad_output=grad, indices=where, num_weights=num_weights * size, padding_idx=None)
    return alone(_unfolded(out, size))


NONE = 0  # reductions
MEAN = 1


def _folded(m: Mapped, size: int) -> Tensor:
    """Return the batch and the samples' first dimension as one."""
    first, *rest = m.shape
    return m.full(size).reshape(size * first, *rest)


def _unfolded(t: Tensor, size: int) -> Tensor:
    many, *rest = t._array.shape
    return t.reshape(size, many // size, *rest)


def _in_channels(m: Mapped, size: int) -> Tensor:
    """Return the batch and the samples' second dimension as one."""
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
        (out,), _ = run_op(op, input=_in_channels(input, size), weight=_folded(weight, size), bias=None, **how)
        out, added = _out_of_channels(out, size), bias
    else:
        own = None if added is not None or bias is None else bias.value
        (out,), _ = run_op(op, input=_folded(input, size), weight=weight.value, bias=own, **how)
        out = _unfolded(out, size)
    return alone(out if added is None else out + added.shaped((1, *added.shape, *(1,) * (out.ndim - 3))))


@batches("conv_input")
def _conv_input(op: Any, size: int, grad_output: Mapped, weight: Mapped, shape: Ints, **how: Any) -> Results:
    count, channels, *rest = shape
    if not weight.batched:
        grad, shape = _folded(grad_output, size), (count * size, channels, *rest)
        (out,), _ = run_op(op, grad_output=grad, weight=weight.value, shape=shape, **how)
        return alone(_unfolded(out, size))
    how["groups"] *= size
    grad, shape = _in_channels(grad_output, size), (count, channels * size, *rest)
    (out,), _ = run_op(op, grad_output=grad, weight=_folded(weight, size), shape=shape, **how)
    return alone(_out_of_channels(out, size))


@batches("conv_weight")
def _conv_weight(op: Any, size: int, grad_output: Mapped, input: Mapped, shape: Ints, **how: Any) -> Results:
    how["groups"] *= size
    grad, a = (_in_channels(m, size) for m in (grad_output, input))
    (out,), _ = run_op(op, grad_output=grad, input=a, shape=(shape[0] * size, *shape[1:]), **how)
    return alone(_unfolded(out, size))


@batches("native_layer_norm")
def _layer_norm(op: Any, size: int, input: Mapped, weight: Mapped | None, bias: Mapped | None, **how: Any) -> Results:
    own, later = {}, {}
    for name, m in (("weight", weight), ("bias", bias)):
        apart = m is not None and (m.batched or bool(later))
        own[name] = None if m is None or apart else m.value
        if m is not None and apart:
            later[name] = m.aligned(input.ndim)
    (out,), extras = run_op(op, input=input.full(size), **own, **how)
    out = out * later["weight"] if "weight" in later else out
    return (out + later["bias"] if "bias" in later else out,), extras


@batches("native_group_norm")
def _group_norm(op: Any, size: int, input: Mapped, weight: Mapped | None, bias: Mapped | None, **how: Any) -> Results:
    own, later = {}, {}
    for name, m in (("weight", weight), ("bias", bias)):
        apart = m is not None and (m.batched or bool(later))
        own[name] = None if m is None or apart else m.value
        if m is not None and apart:  # one number for each channel of samples
            later[name] = m.shaped((1, *m.shape, *(1,) * (input.ndim - 2)))
    (out,), extras = run_op(op, input=_folded(input, size), **own, **how)
    out = _unfolded(out, size)
    out = out * later["weight"] if "weight" in later else out
    return (out + later["bias"] if "bias" in later else out,), tuple([_unfolded(e, size) for e in extras])


@batches("native_batch_norm")
def _batch_norm(op: Any, size: int, input: Mapped, training: bool, momentum: float, eps: float, **of: Any) -> Results:
    running = of["running_mean"]
    if training and running is not None and not running.batched:
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, "
            "which will be updated in place, were not batched.\nIf you are using a module and "
            "do not need eval mode, please set `track_running_stats` to be False.If you are "
            "using a prebuilt module and do not need eval mode, please see the functorch "
            "website for resources on how to patch your module to work with vmap"
        )
    of = {name: None if m is None else _folded(m, size) for name, m in of.items()}
    (out,), extras = run_op(op, input=_in_channels(input, size), training=training, momentum=momentum, eps=eps, **of)
    return (_out_of_channels(out, size),), tuple([e.reshape(size, e._array.size // size) for e in extras])


@batches("mse_loss", "huber_loss", "smooth_l1_loss", "soft_margin_loss")
@batches("binary_cross_entropy", "binary_cross_entropy_with_logits")
def _loss(op: Any, size: int, self: Mapped, target: Mapped, reduction: int, **rest: Any) -> Results:
    rest = {name: map_tensors(each, lambda m: m.aligned(self.ndim)) for name, each in rest.items()}
    (out,), _ = run_op(op, self=self.full(size), target=target.full(size), reduction=NONE, **rest)
    return alone(out if reduction == NONE else _reduced(out, reduction == MEAN))


def _reduced(t: Tensor, mean: bool) -> Tensor:
    """Return one number for each sample: the mean or the sum."""
    return flat(t).mean(1) if mean else flat(t).sum(1)


def _weighted(t: Tensor, weight: Mapped | None, ndim: int) -> Tensor:
    """Return a batch of scores times the weight of each class."""
    if weight is None:
        return t
    before = 1 if ndim > 1 else 0
    return t * weight.shaped((1,) * before + weight.shape + (1,) * (ndim - before - 1))


def _rows(m: Mapped, size: int, ndim: int) -> Tensor:
    """Return a batch of batches as one; a sample of one row is a row."""
    return m.full(size) if ndim == 1 else _folded(m, size)


def _unweighted(self: Mapped, target: Mapped, size: int) -> dict[str, Any]:
    """Return the arguments of a loss of all samples' rows together, each row for itself."""
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
    (out,), _ = run_op(op, **_unweighted(scores, target, size), reduction=NONE, ignore_index=ignore_index)
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
    (out,), _ = run_op(op, grad_output=grads, **given, reduction=NONE, ignore_index=ignore_index)
    return alone(_weighted(out if self.ndim == 1 else _unfolded(out, size), weight, self.ndim))
