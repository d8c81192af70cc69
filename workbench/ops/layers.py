"""What layers of networks compute: normalization, dropout, rows of a table (embedding), attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.grad_mode import no_grad
from ..autograd.levels import elements
from ..autograd.tensor import Tensor
from . import messages, random
from .activation import softmax
from .core.checks import not_a_tensor, only_floats, tensors_only
from .core.op import define
from .core.registry import TENSORS, abbreviation, in_formulas
from .core.results import in_rows
from .creation import arange, ones, zeros, zeros_like
from .math import mul

Shape = tuple[int, ...]


def _moments(a: np.ndarray, dims: Shape, eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean, one over the standard deviation, and what is left of the elements less the mean."""
    wide = a.astype(np.float32) if a.dtype == np.float16 else a
    count = float(max(math.prod([a.shape[d] for d in dims]), 1))
    mean = np.add.reduce(wide, axis=dims, keepdims=True) / count
    less = wide - mean
    rstd = np.add.reduce(less * less, axis=dims, keepdims=True)
    rstd /= count
    rstd += eps
    rstd = np.reciprocal(np.sqrt(rstd))
    return mean.astype(a.dtype, copy=False), rstd.astype(a.dtype, copy=False), less.astype(a.dtype, copy=False)


# Arrays use the moments that forward computed; tensors compute them anew, for they too depend on the input.
in_formulas("mean_of", lambda x, mean, dims: mean, lambda x, mean, dims: TENSORS["mean_dim"](x, dims, True))
abbreviation("anew(x, dims, eps)", "rsqrt(mean_dim((x - mean_dim(x, dims, True)) ** 2, dims, True) + eps)")
in_formulas("rstd_of", lambda x, rstd, dims, eps: rstd, lambda x, rstd, dims, eps: TENSORS["anew"](x, dims, eps))
abbreviation("standard(x, mean, rstd, dims, eps)", "(x - mean_of(x, mean, dims)) * rstd_of(x, rstd, dims, eps)")
abbreviation("remainder(g, h, dims)", "g - mean_dim(g, dims, True) - h * mean_dim(g * h, dims, True)")
abbreviation(
    "standard_slope(g, x, mean, rstd, dims, eps)",
    "rstd_of(x, rstd, dims, eps) * remainder(g, standard(x, mean, rstd, dims, eps), dims)",
)
in_formulas("last_dims", *[lambda x, shape: tuple(range(x.ndim - len(shape), x.ndim))] * 2)


def _affine(h: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None) -> np.ndarray:
    h = h if weight is None else h * weight
    return h if bias is None else h + bias


_affine_in_rows = in_rows(_affine)


def _layer_normalized(
    a: np.ndarray, shape: Shape, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[np.ndarray, ...]:
    mean, rstd, less = _moments(a, tuple(range(a.ndim - len(shape), a.ndim)), eps)
    return _affine_in_rows(less * rstd, weight, bias), mean, rstd


_layer_norm = define(
    "NativeLayerNormBackward0",
    "native_layer_norm(Tensor input, normalized_shape, Tensor? weight, Tensor? bias, eps)",
    _layer_normalized,
    input="standard_slope(scaled(grad, weight), input, result1, result2, last_dims(input, normalized_shape), eps)",
    weight="sum_to(grad * standard(input, result1, result2, last_dims(input, normalized_shape), eps), "
    "normalized_shape)",
    bias="sum_to(grad, normalized_shape)",
    tangent="scaled(standard_slope(input_t, input, result1, result2, last_dims(input, normalized_shape), eps), weight) "
    "+ weight_t * standard(input, result1, result2, last_dims(input, normalized_shape), eps) + bias_t",
    samples="; ".join(f"r(2, 3), (3,), {affine}, 0.1" for affine in ("p(3), r(3)", "None, None", "None, r(3)")),
)


_only_floats = only_floats("LayerNormKernelImpl")


@tensors_only()
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Mean 0 and variance 1 over the last dimensions, those of `normalized_shape`; then times weight, plus bias."""
    if isinstance(normalized_shape, int):
        raise TypeError(messages.LAYER_NORM_KIND)
    a, shape = input._array, tuple(normalized_shape)
    if not shape:
        raise RuntimeError(messages.LAYER_NORM_NDIM)
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t._array.shape != shape:
            raise RuntimeError(messages.LAYER_NORM_PARAMETER.format(name, name, list(t.shape), list(shape)))
    if a.shape[-len(shape) :] != shape:
        raise RuntimeError(messages.LAYER_NORM_INPUT.format(list(shape), ", ".join(map(str, shape)), list(a.shape)))
    _only_floats((input,))
    if any([t is not None and t._array.dtype is not a.dtype for t in (weight, bias)]):
        raise RuntimeError(messages.LAYER_NORM_DTYPE.format(input.dtype.word))
    return _layer_norm(input, shape, weight, bias, eps)


def _channels(t: Any, x: Any) -> Any:
    """A number for each channel, in a shape that fits the input; None stays None."""
    return None if t is None else t if x.ndim == 2 else t.reshape((-1,) + (1,) * (x.ndim - 2))


in_formulas("channels", _channels, _channels)
in_formulas("over_channels", *[lambda x: (0, *range(2, x.ndim))] * 2)
abbreviation("running_rstd(x, var, eps)", "channels(rsqrt(var + eps), x)")
abbreviation(
    "batch_standard(x, mean, var, m, r, training, eps)",
    "standard(x, channels(m, x), channels(r, x), over_channels(x), eps) if training "
    "else (x - channels(mean, x)) * running_rstd(x, var, eps)",
)
abbreviation(
    "batch_slope(g, x, mean, var, m, r, training, eps)",
    "standard_slope(g, x, channels(m, x), channels(r, x), over_channels(x), eps) if training "
    "else g * running_rstd(x, var, eps)",
)
_BATCH = "input, running_mean, running_var, result1, result2, training, eps"


def _batch_normalized(
    a: np.ndarray, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float
) -> tuple[np.ndarray, ...]:
    if training:
        m, r, less = _moments(a, (0, *range(2, a.ndim)), eps)
        standard, m, r = less * r, m.reshape(-1), r.reshape(-1)
        if mean is not None:  # the running statistics move on, not counted as a write, nor by PyTorch
            count = a.size // len(m)
            mean[...] += momentum * (m - mean)
            var[...] += momentum * ((1 / r**2 - eps) * (count / (count - 1)) - var)
    else:
        standard = (a - _channels(mean, a)) * _channels(1 / np.sqrt(var + eps), a)
        m = r = np.zeros(0, a.dtype)
    return _affine_in_rows(standard, _channels(weight, a), _channels(bias, a)), m, r


_batch_norm = define(
    "NativeBatchNormBackward0",
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Kept? running_mean, Kept? running_var, training, "
    "momentum, eps)",
    _batch_normalized,
    input=f"batch_slope(grad if weight is None else grad * channels(weight, input), {_BATCH})",
    weight=f"sum_dim(grad * batch_standard({_BATCH}), over_channels(input), False)",
    bias="sum_dim(grad, over_channels(grad), False)",
    tangent=f"scaled(batch_slope(input_t, {_BATCH}), channels(weight, input)) "
    f"+ channels(weight_t, input) * batch_standard({_BATCH}) + channels(bias_t, input)",
    samples="r(3, 2), p(2), r(2), None, None, True, 0.1, 0.1; r(2, 2, 2), None, None, None, None, True, 0.1, 0.1; "
    "r(3, 2), p(2), r(2), r(2).detach(), p(2).detach(), False, 0.1, 0.1",
)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 for each channel, over the batch or, without `training`, by running statistics."""
    a = input._array
    if training and a.shape[0] * math.prod(a.shape[2:]) == 1:
        raise ValueError(messages.BATCH_NORM_VALUES.format(input.shape))
    channels = a.shape[1] if a.ndim > 1 else 0
    running = {"running_mean": running_mean, "running_var": running_var}
    for name, t in {**running, "weight": weight, "bias": bias}.items():
        if t is None and name in running and not training:
            raise RuntimeError(messages.BATCH_NORM_RUNNING.format(name))
        if t is not None and t._array.size != channels:
            raise RuntimeError(messages.BATCH_NORM_SIZE.format(name, channels, t._array.size))
    if a.ndim < 2:
        raise IndexError(errors.DIM_RANGE.format(-1, 0, 1))
    if (running_mean is None) != (running_var is None):
        raise ValueError(messages.BATCH_NORM_ONE_RUNNING)
    only_floats("batch_norm")((input,))
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@tensors_only()
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element becomes 0 with probability p, the others grow by 1 / (1 - p); nothing happens without `training`."""
    if not 0 <= p <= 1:
        raise ValueError(messages.DROPOUT_PROBABILITY.format(p))
    if not p or not training or not input._array.size:
        return input
    if input._array.dtype.kind != "f":
        raise RuntimeError(messages.OUT_CAST.format("Float", input.dtype.word))
    if p == 1:
        noise = zeros((), dtype=input.dtype)
    else:
        noise = random.kept(input._array.shape, 1 - p, input._array.dtype)
    return input.mul_(noise) if inplace else mul(input, noise)


def _added_rows(grad: np.ndarray, indices: np.ndarray, num_weights: int, padding_idx: int | None) -> np.ndarray:
    """Each row added where it was taken from, but for those that were taken as padding."""
    out = np.zeros((num_weights, grad.shape[-1]), grad.dtype)
    np.add.at(out, indices.reshape(-1), grad.reshape(-1, grad.shape[-1]))
    if padding_idx is not None:
        out[padding_idx] = 0
    return out


def _unpadded(rows: Any, indices: Any, padding_idx: int | None) -> Any:
    """Rows with zeros in place of the padding."""
    return rows if padding_idx is None else rows * (indices != padding_idx)[..., None]


in_formulas("unpadded", _unpadded, _unpadded)
_embedding = define(
    "EmbeddingBackward0",
    "embedding(Tensor weight, Kept indices, padding_idx)",
    lambda a, indices, padding_idx: a[indices],
    weight="embedding_backward(grad, indices, weight.shape[0], padding_idx)",
    tangent="linear",
    samples="r(3, 2), w.tensor([2, 0, 2]), None; r(3, 2), w.tensor([[2], [0]]), None; r(3, 1), w.tensor(1), None",
)
define(
    "EmbeddingDenseBackwardBackward0",
    "embedding_backward(Tensor grad_output, Kept indices, num_weights, padding_idx)",
    _added_rows,
    grad_output="unpadded(embedding(grad, indices, padding_idx), indices, padding_idx)",
    tangent="linear",
    samples="r(3, 2), w.tensor([2, 0, 2]), 3, None; r(2, 1, 2), w.tensor([[2], [0]]), 3, 2; r(2), w.tensor(1), 3, None",
)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
) -> Tensor:
    """The rows of `weight` that `input` names; the row `padding_idx` gets no gradient.

    With `max_norm`, rows that are longer are shortened to it, in place.
    """
    if not isinstance(input, Tensor):
        raise TypeError(not_a_tensor("embedding", "indices", 1, input))
    count = weight.shape[0]
    if padding_idx is not None and not -count <= padding_idx < count:
        raise AssertionError(messages.PADDING_INDEX)
    if input.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(messages.EMBEDDING_DTYPE.format(input.dtype.type_name))
    if weight.dim() != 2:
        raise RuntimeError(messages.EMBEDDING_WEIGHT)
    found = elements(input)
    if found.size and not 0 <= found.min() <= found.max() < count:
        raise IndexError(messages.OUT_OF_RANGE)
    if max_norm is not None:
        with no_grad():
            for i in np.unique(found):
                length = weight[i].norm(norm_type)
                if length > max_norm:
                    weight[i].mul_(max_norm / (length + 1e-7))
    return _embedding(weight, input, None if padding_idx is None else padding_idx % count)


@tensors_only()
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """For each number a vector of zeros with a one at its place."""
    if tensor.dtype is not dtypes.int64:
        raise RuntimeError(messages.ONE_HOT_DTYPE)
    found = elements(tensor)
    if not found.size and num_classes <= 0:
        raise RuntimeError(messages.ONE_HOT_EMPTY)
    if found.size and found.min() < 0:
        raise RuntimeError(messages.ONE_HOT_NEGATIVE)
    count = int(found.max()) + 1 if num_classes == -1 else num_classes
    if found.size and found.max() >= count:
        raise RuntimeError(messages.ONE_HOT_CLASSES)
    return (tensor.unsqueeze(-1) == arange(count)).to(dtypes.int64)


# Attention: a mean of values, weighted by how well their keys match a query (Vaswani et al., 2017).


def additive(mask: Tensor, dtype: dtypes.dtype) -> Tensor:
    """A mask as numbers to add: minus infinity where it is True."""
    return zeros_like(mask, dtype=dtype).masked_fill_(mask, -math.inf)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None, scale: float | None = None) -> Tensor:
    """For each query positive numbers that sum to one, a number a key."""
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.size(-1)) if scale is None else scale)
    return softmax(scores if mask is None else scores + mask, -1)


@tensors_only()
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(query @ keyᵀ * scale + mask) @ value, with a scale of 1 / √(length of a query) unless told otherwise.

    A mask of truth values keeps what is True; numbers are added. `is_causal` lets no query see a later key. A query
    that may see nothing gets zeros.
    """
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(messages.ATTENTION_NDIM.format(query.dim(), key.dim(), value.dim()))
    if is_causal and attn_mask is not None:
        raise RuntimeError(messages.ATTENTION_MASK)
    mask = ones(query.size(-2), key.size(-2), dtype=dtypes.bool_).tril() if is_causal else attn_mask
    if mask is not None and mask.dtype is dtypes.bool_:
        mask = additive(~mask, query.dtype)
    if mask is None or (elements(mask) > -math.inf).any(-1).all():
        return dropout(attention_weights(query, key, mask, scale), dropout_p) @ value
    blind = (mask == -math.inf).all(-1, keepdim=True)
    weights = attention_weights(query, key, mask.masked_fill(blind, 0.0), scale)
    return dropout(weights.masked_fill(blind, 0.0), dropout_p) @ value
