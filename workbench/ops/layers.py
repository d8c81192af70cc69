"""What layers of networks compute: normalization, dropout, rows of a table (embedding), attention, windows of images.

Windows are convolved, or pooled, which makes each one number. A convolution lays windows out as columns by strides;
then it is one matrix product. The convolution and the gradients of its two factors are three faces of one trilinear
form, so each one's derivative is told by the other two.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.grad_mode import no_grad
from ..autograd.levels import elements
from ..autograd.tensor import Tensor
from ..errors import warn
from .activation import softmax
from .core.checks import check_tensor, ints_of, number_of, only_floats, tensors_only
from .core.op import define
from .core.registry import TENSORS, abbreviation, explained, in_formulas
from .core.results import in_rows
from .creation import arange, dropout_mask, full, ones, zeros, zeros_like
from .math import mul
from .reduction import _count_of
from .shape import adder, sums

Ints = tuple[int, ...]


def _standardized(a: np.ndarray, dims: Ints, eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The elements with mean 0 and variance 1, what the mean was, and one over the standard deviation."""
    wide = a.astype(np.float32) if a.itemsize < 4 else a
    added, count, slack, once = _how(a.shape, dims, wide.dtype, eps)
    mean = added(wide) / count
    less = wide - mean
    rstd = np.sqrt(count / (added(less * less) + slack))
    less *= rstd
    if not mean.ndim:
        mean, rstd = (np.array(each, ndmin=a.ndim) for each in (mean, rstd))
    if wide is a:
        return less, mean[once].copy(), rstd[once].copy()
    return less.astype(a.dtype), mean[once].astype(a.dtype), rstd[once].astype(a.dtype)


@lru_cache(1000)
def _how(shape: Ints, dims: Ints, dtype: np.dtype, eps: float) -> tuple[Any, np.ndarray, np.ndarray, Any]:
    """What adds elements up, how many become one, eps for each of them, and the index of what may be repeated, once."""
    once = tuple([slice(1) if d in dims else slice(None) for d in range(len(shape))])
    count = np.array(max(_count_of(shape, dims), 1), dtype)
    return adder(shape, dims, dtype, None), count, np.array(count * eps, dtype), once


# Arrays use the moments that forward computed; tensors compute them anew, for they too depend on the input.
in_formulas("mean_of", lambda x, mean, dims: mean, lambda x, mean, dims: TENSORS["mean_dim"](x, dims, True))
abbreviation("anew(x, dims, eps)", "rsqrt(mean_dim((x - mean_dim(x, dims, True)) ** 2, dims, True) + eps)")
in_formulas("rstd_of", lambda x, rstd, dims, eps: rstd, lambda x, rstd, dims, eps: TENSORS["anew"](x, dims, eps))
abbreviation("standard(x, mean, rstd, dims, eps)", "(x - mean_of(x, mean, dims)) * rstd_of(x, rstd, dims, eps)")
in_formulas(
    explained("means(x, dims)", "mean_dim(x, dims, True)"),
    lambda x, dims: sums(x, dims) / float(_count_of(x.shape, dims) or np.nan),
    lambda x, dims: TENSORS["mean_dim"](x, dims, True),
)
abbreviation("remainder(g, h, dims)", "g - means(g, dims) - h * means(g * h, dims)")
abbreviation(
    "standard_slope(g, x, mean, rstd, dims, eps)",
    "rstd_of(x, rstd, dims, eps) * remainder(g, standard(x, mean, rstd, dims, eps), dims)",
)
in_formulas("last_dims", *[lambda x, shape: _last_dims(x.ndim, len(shape))] * 2)


def _affine(h: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None) -> np.ndarray:
    """The elements of `h`, which nobody else has, times weight, plus bias."""
    if weight is not None:
        h *= weight
    if bias is not None:
        h += bias
    return h


_affine_in_rows = in_rows(_affine)


def _layer_normalized(
    a: np.ndarray, shape: Ints, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[np.ndarray, ...]:
    standard, mean, rstd = _standardized(a, _last_dims(a.ndim, len(shape)), eps)
    return _affine_in_rows(standard, weight, bias), mean, rstd


@lru_cache(100)
def _last_dims(ndim: int, count: int) -> Ints:
    return tuple(range(ndim - count, ndim))


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


def _refuse_to_normalize(input: Tensor, shape: Ints, weight: Tensor | None, bias: Tensor | None) -> None:
    """RuntimeError or NotImplementedError: which of the arguments does not fit."""
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least "
            "one element, but got normalized_shape = []"
        )
    dtype, given = input.dtype, [t.dtype.word for t in (weight, bias) if t is not None]
    if given and given[0] != dtype.word:
        raise RuntimeError(
            "mixed dtype (CPU): all inputs must share same datatype."
            if set(given) == {"Float"}
            else "mixed dtype (CPU): expect parameter to have scalar type of Float"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t._array.shape != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(t.shape)} and "
                f"normalized_shape = {list(shape)}"
            )
    size = input._array.shape
    if size[-len(shape) :] != shape:
        raise RuntimeError(
            ("Given normalized_shape={}, expected input with shape [*, {}], but got input of size{}").format(
                list(shape), ", ".join(map(str, shape)), list(size)
            )
        )
    only_floats("LayerNormKernelImpl")((input,))
    raise RuntimeError(errors.SCALAR_TYPE.format(dtype.word, given[-1]))


@tensors_only()
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Mean 0 and variance 1 over the last dimensions, those of `normalized_shape`; then times weight, plus bias."""
    if isinstance(normalized_shape, int):
        raise TypeError("layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int")
    a, shape = input._array, tuple(normalized_shape)
    for n in shape:
        if type(n) is not int:
            shape = ints_of("layer_norm", "normalized_shape", (shape,))
            break
    fits = shape and a.shape[-len(shape) :] == shape and a.dtype.kind == "f"
    for t in (weight, bias):
        if t is not None and (t._array.shape != shape or t._array.dtype is not a.dtype):
            fits = False
    if not fits:
        _refuse_to_normalize(input, shape, weight, bias)
    if type(eps) is not float:
        eps = number_of("layer_norm", "eps", 4, eps, "float")
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
        standard, m, r = _standardized(a, (0, *range(2, a.ndim)), eps)
        m, r = m.reshape(-1), r.reshape(-1)
        if mean is not None:  # the running statistics move on, not counted as a write, nor by PyTorch
            count = a.size // len(m)
            mean += momentum * (m - mean)
            var += momentum * ((np.reciprocal(r * r) - eps) * (count / (count - 1)) - var)
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
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    channels = a.shape[1] if a.ndim > 1 else 0
    given = ("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)
    for name, t in given:
        if t is None:
            if not training and name in ("running_mean", "running_var"):
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        elif t._array.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {t._array.size}")
    if a.ndim < 2:
        raise IndexError(errors.DIM_RANGE.format(-1, 0, 1))
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if a.dtype.kind != "f":
        only_floats("batch_norm")((input,))
    if type(eps) is not float or type(momentum) is not float:
        momentum = number_of("batch_norm", "momentum", 6, momentum, "float")
        eps = number_of("batch_norm", "eps", 7, eps, "float")
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@tensors_only()
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element becomes 0 with probability p, the others grow by 1 / (1 - p); nothing happens without `training`."""
    if not 0 <= p <= 1:
        raise ValueError(errors.DROPOUT_PROBABILITY.format(p))
    if not p or not training or not input._array.size:
        return input
    if input._array.dtype.kind != "f":
        raise RuntimeError(errors.OUT_CAST.format("Float", input.dtype.word))
    if p == 1:
        noise = zeros((), dtype=input.dtype)
    else:
        noise = dropout_mask(input._array.shape, 1 - p, input._array.dtype)
    return input.mul_(noise) if inplace else mul(input, noise)


def _added_rows(grad: np.ndarray, indices: np.ndarray, num_weights: int, padding_idx: int | None) -> np.ndarray:
    """Each row added where it was taken from, but for those that were taken as padding."""
    out = np.zeros((num_weights, grad.shape[-1]), grad.dtype)
    np.add.at(out, indices.reshape(-1), grad.reshape(indices.size, grad.shape[-1]))
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
    check_tensor("embedding", "indices", 1, input)
    check_tensor("embedding", "weight", 0, weight)
    count = weight.shape[0] if weight._array.ndim else 0
    if padding_idx is not None and not -count <= padding_idx < count:
        raise AssertionError(errors.PADDING_INDEX)
    if weight.dim() != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar "
            f"types: Long, Int; but got {input.dtype.type_name} instead (while checking arguments for embedding)"
        )
    found = elements(input)
    if found.size and not count:
        raise RuntimeError(errors.SELECT_NO_DIM)
    if found.size and not 0 <= found.min() <= found.max() < count:
        raise IndexError(errors.OUT_OF_RANGE)
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
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    found = elements(tensor)
    if not found.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if found.size and found.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    count = int(found.max()) + 1 if num_classes == -1 else num_classes
    if found.size and found.max() >= count:
        raise RuntimeError("Class values must be smaller than num_classes.")
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
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got "
            f"query.dim: {query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    mask = ones(query.size(-2), key.size(-2), dtype=dtypes.bool_).tril() if is_causal else attn_mask
    if mask is not None and mask.dtype is dtypes.bool_:
        mask = additive(~mask, query.dtype)
    if mask is None or (elements(mask) > -math.inf).any(-1).all():
        return dropout(attention_weights(query, key, mask, scale), dropout_p) @ value
    blind = (mask == -math.inf).all(-1, keepdim=True)
    weights = attention_weights(query, key, mask.masked_fill(blind, 0.0), scale)
    return dropout(weights.masked_fill(blind, 0.0), dropout_p) @ value


@lru_cache(1000)
def _extents(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """How many places the kernel has along each dimension."""
    facts = zip(size, kernel, stride, padding, dilation, strict=True)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in facts)


def _padded(a: np.ndarray, padding: Ints) -> np.ndarray:
    return np.pad(a, ((0, 0), (0, 0), *((p, p) for p in padding))) if any(padding) else a


def _columns(a: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> np.ndarray:
    """What the kernel sees at each of its places: (images, groups, channels * kernel, places)."""
    a = np.ascontiguousarray(_padded(a, padding))
    windows, strides, columns = _windows_of(a.shape, a.strides, kernel, stride, dilation, groups)
    if 0 in windows:
        return np.empty(columns, a.dtype)
    if math.prod(columns) <= FEW_SEEN:
        return a.take(_places_seen(a.shape, kernel, windows[3 + len(kernel) :], stride, dilation)).reshape(columns)
    return np.ndarray(windows, a.dtype, a, 0, strides).reshape(columns)


@lru_cache(1000)
def _windows_of(
    shape: Ints, strides: Ints, kernel: Ints, stride: Ints, dilation: Ints, groups: int
) -> tuple[Ints, Ints, Ints]:
    """How the windows lie in a padded image: their shape and strides, and their shape as columns."""
    (count, channels, *size), (image, channel, *steps) = shape, strides
    out, each = _extents(tuple(size), kernel, stride, (0,) * len(size), dilation), channels // groups
    along = [n * d for n, d in zip(steps, dilation, strict=True)] + [n * s for n, s in zip(steps, stride, strict=True)]
    windows = (count, groups, each, *kernel, *out)
    columns = (count, groups, each * math.prod(kernel), math.prod(out))
    return windows, (image, channel * each, channel, *along), columns


def _in_groups(grad: np.ndarray, groups: int) -> np.ndarray:
    count, channels, *size = grad.shape
    return grad.reshape(count, groups, channels // groups, math.prod(size))


def _convolved(
    a: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> np.ndarray:
    kernel = weight.shape[2:]
    columns = _columns(a, kernel, stride, padding, dilation, groups)
    out = np.matmul(weight.reshape(groups, len(weight) // groups, -1), columns)
    out = out.reshape(len(a), len(weight), *_extents(a.shape[2:], kernel, stride, padding, dilation))
    return out if bias is None else out + bias.reshape(-1, *(1,) * len(kernel))


def _to_input(
    grad: np.ndarray, weight: np.ndarray, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """Each place's column put back where it was seen; where windows overlap they add up."""
    kernel, places = weight.shape[2:], grad.shape[2:]
    matrices = weight.reshape(groups, len(weight) // groups, -1).swapaxes(1, 2)
    columns = np.matmul(matrices, _in_groups(grad, groups)).reshape(*shape[:2], *kernel, *places)
    padded = np.zeros(shape[:2] + tuple([n + 2 * p for n, p in zip(shape[2:], padding, strict=True)]), grad.dtype)
    if columns.size <= FEW_SEEN:  # the sums are the same, to the last bit
        np.add.at(padded.reshape(-1), _places_seen(padded.shape, kernel, places, stride, dilation), columns.reshape(-1))
    else:
        for at, seen in _seen(kernel, places, stride, dilation):
            part = padded[seen]
            part += columns[at]
    if not any(padding):
        return padded
    return padded[(..., *(slice(p, p + n) for p, n in zip(padding, shape[2:], strict=True)))]


@lru_cache(100)
def _seen(kernel: Ints, places: Ints, stride: Ints, dilation: Ints) -> list[tuple[Any, Any]]:
    """For each element of the kernel where it is in columns, and what it sees of the padded image."""
    return [
        (
            (slice(None), slice(None), *at),
            (..., *[slice(i * d, i * d + s * n, s) for i, d, s, n in zip(at, dilation, stride, places, strict=True)]),
        )
        for at in np.ndindex(*kernel)
    ]


FEW_SEEN = 5_000  # elements of columns: so many are put back one by one sooner than by slices


@lru_cache(100)
def _places_seen(shape: Ints, kernel: Ints, places: Ints, stride: Ints, dilation: Ints) -> np.ndarray:
    """Where a padded image, read row by row, has what each element of its columns sees."""
    every = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    found = np.empty((*shape[:2], *kernel, *places), np.int64)
    for at, seen in _seen(kernel, places, stride, dilation):
        found[at] = every[seen]
    return found.reshape(-1)


def _to_weight(
    grad: np.ndarray, a: np.ndarray, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    columns = _columns(a, shape[2:], stride, padding, dilation, groups)
    return np.matmul(_in_groups(grad, groups), columns.swapaxes(2, 3)).sum(0).reshape(shape)


_SAMPLES = (
    ("r(2, 2, 4, 3)", "r(2, 2, 3, 2)", "(1, 1), (0, 0), (1, 1)", 1, "(2, 2, 2, 2)"),
    ("r(1, 4, 5, 5)", "r(2, 2, 2, 2)", "(2, 1), (1, 0), (1, 2)", 2, "(1, 2, 3, 3)"),
)
_HOW = "stride, padding, dilation, transposed, output_padding, groups"
_convolution = define(
    "ConvolutionBackward0",
    "convolution(Tensor input, Tensor weight, Tensor? bias, stride, padding, dilation, transposed, output_padding, "
    "groups)",
    _convolved,
    input="conv_input(grad, weight, input.shape, stride, padding, dilation, groups)",
    weight="conv_weight(grad, input, weight.shape, stride, padding, dilation, groups)",
    bias="sum_dim(grad, all_but_channels(grad), False)",
    tangent=f"convolution(input_t, weight, None, {_HOW}) + convolution(input, weight_t, None, {_HOW}) "
    "+ channels(bias_t, input)",
    samples="; ".join(
        f"{a}, {w}, {b}, {how}, False, (0, 0), {g}" for b in ("None", "r(2)") for a, w, how, g, _ in _SAMPLES
    ),
)
in_formulas("all_but_channels", *[lambda g: (0, *range(2, g.ndim))] * 2)
define(
    "ConvolutionBackwardBackward0",
    "conv_input(Tensor grad_output, Tensor weight, shape, stride, padding, dilation, groups)",
    _to_input,
    grad_output="convolution(grad, weight, None, stride, padding, dilation, False, (0, 0), groups)",
    weight="conv_weight(grad_output, grad, weight.shape, stride, padding, dilation, groups)",
    samples="; ".join(f"r{out}, {w}, {a[1:]}, {how}, {g}" for a, w, how, g, out in _SAMPLES),
)
define(
    "ConvolutionBackwardBackward0",
    "conv_weight(Tensor grad_output, Tensor input, shape, stride, padding, dilation, groups)",
    _to_weight,
    grad_output="convolution(input, grad, None, stride, padding, dilation, False, (0, 0), groups)",
    input="conv_input(grad_output, grad, input.shape, stride, padding, dilation, groups)",
    samples="; ".join(f"r{out}, {a}, {w[1:]}, {how}, {g}" for a, w, how, g, out in _SAMPLES),
)


def _with_borders(a: np.ndarray, pad: Ints, value: float) -> np.ndarray:
    """Borders of one value; `pad` has two numbers a dimension, the last dimension first, and negative ones cut off."""
    sides = [(0, 0)] * (a.ndim - len(pad) // 2) + [pad[i : i + 2] for i in range(0, len(pad), 2)][::-1]
    cut = tuple(slice(max(-left, 0), n - max(-right, 0)) for (left, right), n in zip(sides, a.shape, strict=True))
    return np.pad(a[cut], [(max(left, 0), max(right, 0)) for left, right in sides], constant_values=value)


_pad = define(
    "ConstantPadNdBackward0",
    "constant_pad(Tensor self, pad, value)",
    _with_borders,
    batch="in front",
    self="constant_pad(grad, backwards(pad), 0)",
    tangent="constant_pad(self_t, pad, 0)",
    samples="r(2, 3), (1, 2), 0; r(2, 3), (0, 1, -1, 0), 1.5",
)


def _pair(name: str, value: Any) -> Ints:
    """One number for both dimensions, or one for each."""
    if type(value) is int:
        return value, value
    pair = (value,) * 2 if isinstance(value, int) else tuple(value)
    pair = pair * 2 if len(pair) == 1 else pair
    if len(pair) != 2:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of 2 values to match the "
            f"convolution dimensions, but got {name}={list(pair)}"
        )
    return pair


@tensors_only()
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Kernels moved over images (images, channels, height, width), one output channel each (cross-correlation)."""
    if input._array.ndim not in (3, 4):
        raise RuntimeError(
            f"Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: {list(input.shape)}"
        )
    if input._array.ndim == 3:
        return conv2d(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)
    stride, dilation = _pair("stride", stride), _pair("dilation", dilation)
    if isinstance(padding, str):
        input, padding = _named_padding(input, padding, weight._array.shape[2:], stride, dilation)
    padding = _pair("padding", padding)
    size = None if bias is None else bias._array.shape
    _check_sizes(input._array.shape, weight._array.shape, size, stride, padding, dilation, groups)
    _check_dtypes(input, weight, bias)
    return _convolution(input, weight, bias, stride, padding, dilation, False, (0, 0), groups)


def _named_padding(input: Tensor, name: str, kernel: Ints, stride: Ints, dilation: Ints) -> tuple[Tensor, Ints]:
    """What "same" and "valid" mean; the input gets a zero more on its far sides where two sides cannot be alike."""
    if name == "valid":
        return input, (0, 0)
    if name != "same":
        raise RuntimeError(f"Invalid padding string: '{name}'")
    if any(s != 1 for s in stride):
        raise RuntimeError(errors.PADDING_SAME_STRIDE)
    reach = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    if any(r % 2 for r in reach):
        warn(
            "Using padding='same' with even kernel lengths and odd dilation may require a "
            "zero-padded copy of the input be created"
        )
        input = _pad(input, tuple(n for r in reach[::-1] for n in (0, r % 2)), 0)
    return input, tuple(r // 2 for r in reach)


@lru_cache(1000)
def _check_sizes(a: Ints, w: Ints, bias: Ints | None, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> None:
    """RuntimeError where sizes or numbers do not fit: the shapes of image, weight and bias, and how it moves."""
    for name, wrong in (
        ("non-positive stride", min(stride) <= 0),
        ("negative padding", min(padding) < 0),
        ("non-positive dilation", min(dilation) <= 0),
        ("non-positive groups", groups <= 0),
    ):
        if wrong:
            raise RuntimeError(f"{name} is not supported")
    size, shape = list(w), list(a)
    if len(w) != 4:
        raise RuntimeError(
            f"expected stride to be a single integer value or a list of {len(w) - 2} values to match the "
            f"convolution dimensions, but got stride={list(stride)}"
        )
    if w[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got "
            f"weight of size [{size}] instead"
        )
    if a[1] != w[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {size}, expected input{shape} to have "
            f"{w[1] * groups} channels, but got "
            f"{a[1]} channels instead"
        )
    if bias is not None and bias != w[:1]:
        raise RuntimeError(
            f"Given weight of size {size}, expected bias to be 1-dimensional with {w[0]} elements, but "
            f"got bias of size {list(bias)} instead"
        )
    inside = [n + 2 * p for n, p in zip(a[2:], padding, strict=True)]
    kernel = [d * (k - 1) + 1 for d, k in zip(dilation, w[2:], strict=True)]
    if any(k > n for k, n in zip(kernel, inside, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({inside[0]} x {inside[1]}). Kernel size: "
            f"({kernel[0]} x {kernel[1]}). "
            "Kernel size can't be greater than actual input size"
        )


def _check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """RuntimeError where the dtypes are not one."""
    a, w = input._array, weight._array
    if a.dtype is not w.dtype and input.dtype.name == "float64":
        raise RuntimeError(errors.SCALAR_TYPE.format("Double", weight.dtype.word))
    if a.dtype is not w.dtype:
        raise RuntimeError(
            f"Input type ({input.dtype.type_name}) and weight type ({weight.dtype.type_name}) should "
            "be the same or input should be a "
            "MKLDNN tensor and weight is a dense tensor"
        )
    if bias is not None and bias._array.dtype is not a.dtype:
        words = {"float32": "float", "float64": "double", "float16": "c10::Half"}
        got, other = (words.get(t.dtype.name, t.dtype.name) for t in (input, bias))
        raise RuntimeError(f"Input type ({got}) and bias type ({other}) should be the same")


def _outputs(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Ints:
    """How many windows there are along each dimension; with `ceil_mode` one more that reaches over the far side."""
    found = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        room = n + 2 * p - d * (k - 1) - 1
        count = (room + (s - 1 if ceil_mode else 0)) // s + 1
        found.append(count - (ceil_mode and (count - 1) * s >= n + p))  # no window begins outside the image
    return tuple(found)


def _reach(size: Ints, outputs: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """By how much the last window reaches over the far side, along each dimension."""
    facts = zip(size, outputs, kernel, stride, padding, dilation, strict=True)
    return tuple(max((o - 1) * s + d * (k - 1) + 1 - n - p, 0) for n, o, k, s, p, d in facts)


def _largest_at(
    a: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> np.ndarray:
    """Where each window's largest element is, the first of equal ones, counted through the image row by row."""
    size = a.shape[-2:]
    outputs = _outputs(size, kernel, stride, padding, dilation, ceil_mode)
    far = _reach(size, outputs, kernel, stride, padding, dilation)
    sides = [(0, 0)] * (a.ndim - 2) + list(zip(padding, far, strict=True))
    padded = np.pad(a, sides, constant_values=-np.inf if a.dtype.kind == "f" else np.iinfo(a.dtype).min)
    *lead, row, column = padded.strides
    steps = (*lead, row * stride[0], column * stride[1], row * dilation[0], column * dilation[1])
    windows = np.ndarray((*a.shape[:-2], *outputs, *kernel), a.dtype, padded, 0, steps)
    first = windows.reshape(*windows.shape[:-2], -1).argmax(-1)
    down, right = np.divmod(first, kernel[1])
    rows = np.arange(outputs[0], dtype=np.int64)[:, None] * stride[0] - padding[0] + down * dilation[0]
    columns = np.arange(outputs[1], dtype=np.int64) * stride[1] - padding[1] + right * dilation[1]
    return rows * size[1] + columns


def _at(a: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The elements of images at such places."""
    flat, images = (x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1]) for x in (indices, a))
    return np.take_along_axis(images, flat, -1).reshape(indices.shape)


def _put_back(grad: np.ndarray, indices: np.ndarray, size: Ints) -> np.ndarray:
    """Each gradient where its element came from; where windows overlap they add up."""
    images = grad.reshape(-1, grad.shape[-2] * grad.shape[-1])
    out = np.zeros((len(images), size[0] * size[1]), grad.dtype)
    np.add.at(out, (np.arange(len(images), dtype=np.int64)[:, None], indices.reshape(images.shape)), images)
    return out.reshape(*grad.shape[:-2], *size)


_indices = define(
    "max_pool2d_indices",
    "max_pool2d_indices(Tensor self, kernel_size, stride, padding, dilation, ceil_mode)",
    _largest_at,
    batch="in front",
)
_max_pool = define(
    "MaxPool2DWithIndicesBackward0",
    "max_pool2d(Tensor self, kernel_size, stride, padding, dilation, ceil_mode; Kept indices)",
    lambda a, kernel_size, stride, padding, dilation, ceil_mode, indices: _at(a, indices),
    batch="pointwise",
    self="max_pool2d_backward(grad, indices, self.shape[-2:])",
    tangent="linear",
    samples="r(2, 3, 4, 4), (2, 2), (2, 2), (0, 0), (1, 1), False, w.tensor([[[[0, 2], [5, 15]]]]).expand(2, 3, 2, 2)",
)
define(
    "MaxPool2DWithIndicesBackwardBackward0",
    "max_pool2d_backward(Tensor grad_output, Kept indices, shape)",
    _put_back,
    batch="pointwise",
    grad_output="max_pool2d(grad, None, None, None, None, None, indices)",
    tangent="linear",
    samples="r(1, 2, 2), w.tensor([[[0, 2], [2, 15]]]), (4, 4)",
)


@tensors_only()
def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of images (images, channels, height, width), or of one image.

    With `return_indices` also where these elements are.
    """
    how = _windows(input, kernel_size, stride, padding)
    how = *how, _pair("dilation", dilation), ceil_mode
    _check_outputs(input, *how)
    indices = _indices(input.detach(), *how)
    out = _max_pool(input, *how, indices)
    return (out, indices) if return_indices else out


@tensors_only()
def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of images (images, channels, height, width), or of one image.

    Zeros around the image count as elements unless `count_include_pad` is False.
    """
    kernel, stride, padding = _windows(input, kernel_size, stride, padding)
    size, channels = input.shape[-2:], input.shape[-3]
    outputs = _check_outputs(input, kernel, stride, padding, (1, 1), ceil_mode)
    far = _reach(size, outputs, kernel, stride, padding, (1, 1))
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    number = divisor_override or kernel[0] * kernel[1]
    weight = full((channels, 1, *kernel), 1 / number, dtype=input.dtype)
    around = (padding[1], far[1], padding[0], far[0])
    means = conv2d(_pad(input, around, 0.0) if any(around) else input, weight, None, stride, groups=channels)
    if divisor_override or not (any(padding) and not count_include_pad or any(map(int.__gt__, far, padding))):
        return means
    counted = ones((1, 1, *size), dtype=input.dtype)
    inside = (padding[1], min(far[1], padding[1]), padding[0], min(far[0], padding[0]))
    if count_include_pad:
        counted = _pad(counted, inside, 1.0)
        around = tuple(all_ - here for all_, here in zip(around, inside, strict=True))
    return means / conv2d(_pad(counted, around, 0.0), weight[:1], None, stride).view(outputs)


def _windows(input: Tensor, kernel: Any, stride: Any, padding: Any) -> tuple[Ints, Ints, Ints]:
    """The windows' size, their distance and the padding, for both dimensions; RuntimeError where they do not fit."""
    kernel, padding = _pair("kernel_size", kernel), _pair("padding", padding)
    stride = kernel if stride is None or stride == () else _pair("stride", stride)
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    if input.dim() not in (3, 4):
        raise RuntimeError("non-empty 3D or 4D (batch mode) tensor expected for input")
    return kernel, stride, padding


def _check_outputs(input: Tensor, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Ints:
    """How many windows there are; RuntimeError if there is none, or if one could lie in the padding."""
    for p, k in zip(padding, kernel, strict=True):
        if p * 2 > k:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, "
                f"kernel_size={k} and dilation={dilation[0]}"
            )
    outputs = _outputs(input.shape[-2:], kernel, stride, padding, dilation, ceil_mode)
    if min(outputs) < 1:
        planes, *size = input.shape[-3:]
        raise RuntimeError(
            f"Given input size: ({planes}x{size[0]}x{size[1]}). Calculated output size: "
            f"({planes}x{outputs[0]}x{outputs[1]}). Output size is too small"
        )
    return outputs
