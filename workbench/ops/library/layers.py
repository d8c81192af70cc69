"""What layers of networks compute: dropout, rows of a table (embedding), attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import errors
from ...autograd import dtypes
from ...autograd.grad_mode import no_grad
from ...autograd.levels import elements
from ...autograd.tensor import Tensor
from ...errors import warn
from ..arithmetic import mul
from ..core.checks import check_tensor, tensors_only
from ..core.op import define
from ..core.registry import in_formulas
from ..creation import arange, dropout_mask, ones, zeros, zeros_like
from .activation import softmax


@tensors_only()
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each element to 0 with probability `p`, and multiply the others by `1 / (1 - p)`.

    The factor keeps the expected sum the same. The gradient of an element that was set to 0 is 0.

    Args:
        p: The probability of setting an element to 0.
        training: If False, return the input unchanged.
        inplace: Write the result into the input.
    """
    return _dropped(input, p, training, inplace)


def _dropped(
    input: Tensor, p: float, training: bool, inplace: bool, features: bool = False, alpha: bool = False
) -> Tensor:
    """Drop elements or whole `features`, for all dropouts; `alpha` preserves mean and variance."""
    _check_probability(p)
    shape, dtype = input._array.shape, input._array.dtype
    if not p or not training or not input._array.size:
        return input
    if features:
        if len(shape) < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        shape = (*shape[:2], *(1,) * (len(shape) - 2))
    if dtype.kind != "f" and (p < 1 or not (features or alpha)):
        raise RuntimeError(errors.OUT_CAST.format("Float", input.dtype.word))
    if p == 1:
        noise = zeros((), dtype=input.dtype)
    else:
        noise = dropout_mask(shape, 1 - p, dtype)
    if not alpha or p == 1:
        return input.mul_(noise) if inplace else mul(input, noise)
    scale = 1 / math.sqrt((SELU_ALPHA * SELU_ALPHA * p + 1) * (1 - p))
    kept = noise * (1 - p)  # 1 where an element is kept, else 0
    added = (kept - 1) * (SELU_ALPHA * scale) + SELU_ALPHA * scale * p
    return (input.mul_(kept * scale).add_ if inplace else mul(input, kept * scale).add)(added)


SELU_ALPHA = 1.7580993408473766  # what selu comes to, its sign changed, for very small numbers
MANY = (
    "{0}: Received a {1}-D input to {0}, which is deprecated and will result in an error in a future release. To "
    "retain the behavior and silence this warning, please use dropout instead. Note that {0} exists to provide "
    "channel-wise dropout on inputs with {2} spatial dimensions, a channel dimension, and an optional batch dimension "
    "(i.e. {3}D or {4}D inputs)."
)
LIKE_1D = (
    "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input "
    "is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to "
    "interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
    "dropout behavior, please switch to using dropout1d instead."
)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels of sequences (n, channels, length) to 0, each with probability `p`.

    The other channels are multiplied by `1 / (1 - p)`. If `training` is False, the input is
    returned unchanged.
    """
    _check_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists to "
            "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional "
            "batch dimension (i.e. 2D or 3D inputs)."
        )
    return _of_channels(input, input.dim() == 2, p, training, inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels of images (n, channels, height, width) to 0, each with probability `p`.

    The other channels are multiplied by `1 / (1 - p)`. If `training` is False, the input is
    returned unchanged. An input with three dimensions counts as sequences, with a warning.
    """
    _check_probability(p)
    if input.dim() not in (3, 4):
        warn(MANY.format("dropout2d", input.dim(), 2, 3, 4))
    if input.dim() == 3:
        warn(LIKE_1D)
    return _of_channels(input, False, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels of volumes (n, channels, depth, height, width) to 0 with probability `p`.

    The other channels are multiplied by `1 / (1 - p)`. If `training` is False, the input is
    returned unchanged.
    """
    _check_probability(p)
    if input.dim() not in (4, 5):
        warn(MANY.format("dropout3d", input.dim(), 3, 4, 5))
    return _of_channels(input, input.dim() != 5, p, training, inplace)


def _check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(errors.DROPOUT_PROBABILITY.format(p))


def _of_channels(input: Tensor, alone: bool, p: float, training: bool, inplace: bool) -> Tensor:
    """Apply dropout to channels; one sequence or volume `alone` is a batch of one."""
    if not alone:
        return _dropped(input, p, training, inplace, features=True)
    batch = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    out = _dropped(batch, p, training, inplace, features=True)
    return out.squeeze_(0) if inplace else out.squeeze(0)


@tensors_only()
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Drop elements at random, and preserve mean 0 and variance 1, as layers with `selu` need.

    With probability `p`, an element is set to about -1.76, the limit of
    `selu` for large negative inputs. Then all elements
    are scaled and shifted, which preserves mean 0 and variance 1. If `training` is False, the input
    is returned unchanged.
    """
    return _dropped(input, p, training, inplace, alpha=True)


@tensors_only()
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Do the same as `alpha_dropout`, but for whole channels (the second dimension).

    Args:
        p: The probability of replacing a channel.
        training: Whether to replace channels. If False, the input is returned.
    """
    return _dropped(input, p, training, inplace, features=True, alpha=True)


def _added_rows(grad: np.ndarray, indices: np.ndarray, num_weights: int, padding_idx: int | None) -> np.ndarray:
    """Return each row added where it was taken from, except for padding."""
    out = np.zeros((num_weights, grad.shape[-1]), grad.dtype)
    np.add.at(out, indices.reshape(-1), grad.reshape(indices.size, grad.shape[-1]))
    if padding_idx is not None:
        out[padding_idx] = 0
    return out


def _unpadded(rows: Any, indices: Any, padding_idx: int | None) -> Any:
    """Return rows with zeros instead of the padding."""
    return rows if padding_idx is None else rows * (indices != padding_idx)[..., None]


in_formulas("unpadded", _unpadded)
_embedding = define(
    "embedding(Tensor weight, Kept indices, padding_idx)",
    lambda a, indices, padding_idx: a[indices],
    weight="embedding_backward(grad, indices, weight.shape[0], padding_idx)",
)
define(
    "embedding_backward(Tensor grad_output, Kept indices, num_weights, padding_idx)",
    _added_rows,
    node="EmbeddingDenseBackwardBackward0",
    grad_output="unpadded(embedding(grad, indices, padding_idx), indices, padding_idx)",
)


FREQUENT = "the workbench sums the gradients of a row; scale_grad_by_freq must be False"
SPARSE = "the workbench has no sparse tensors; sparse must be False"


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Look up rows of the table `weight`: for each index in `input`, return the row at this index.

    The result equals `weight[input]`. A row that was used several times receives the sum of the
    gradients of its copies. Rows that weren't used receive 0.

    Args:
        input: Indices, int64 or int32, of any shape.
        weight: The table, with one row per index.
        padding_idx: The index of a row whose gradient is always 0.
        max_norm: The largest norm of a row. Before the lookup, each row that is used and has a
            larger norm is scaled down to this norm, in place.
        norm_type: Which p-norm `max_norm` limits: 2 is the Euclidean length.
        scale_grad_by_freq, sparse: Must be False.

    Returns:
        A tensor with the shape of `input` and one more dimension at the end: the rows.

    Example:
        >>> table = torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], requires_grad=True)
        >>> rows = F.embedding(torch.tensor([2, 2, 0]), table)
        >>> rows.sum().backward()
        >>> table.grad
        tensor([[1., 1.],
                [0., 0.],
                [2., 2.]])
    """
    if scale_grad_by_freq or sparse:
        raise NotImplementedError(FREQUENT if scale_grad_by_freq else SPARSE)
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
    """Return a vector for each integer i in the tensor: 1 at index i, and 0 elsewhere.

    The result is int64. The vectors are its last dimension.

    Args:
        tensor: Integers of dtype int64, 0 or larger.
        num_classes: The length of the vectors; -1 means the largest integer plus 1.

    Example:
        >>> F.one_hot(torch.tensor([2, 0]), num_classes=3)
        tensor([[0, 0, 1],
                [1, 0, 0]])
    """
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
    """Return a mask as numbers to add: minus infinity where it is True."""
    return zeros_like(mask, dtype=dtype).masked_fill_(mask, -math.inf)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None, scale: float | None = None) -> Tensor:
    """Return positive weights for each query, one per key, that sum to one."""
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
    """Compute attention: for each query, average the values, weighted by how well keys match it.

    The result is `softmax(query @ key.transpose(-2, -1) * scale + mask, dim=-1) @ value`. If a mask
    hides all keys from a query, the result for this query is 0.

    Args:
        query: Queries (..., n, d).
        key: Keys (..., m, d).
        value: Values (..., m, e).
        attn_mask: A tensor that broadcasts to (..., n, m). A bool mask is True where a query may
            attend to a key. A mask of numbers is added to the products.
        dropout_p: The probability of setting an attention weight to 0.
        is_causal: Let query i attend only to keys 0 to i.
        scale: The factor for the products of queries and keys; by default `1 / sqrt(d)`.

    Returns:
        A tensor (..., n, e).
    """
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype.c_name} "
            f"key.dtype: {key.dtype.c_name} and value.dtype: {value.dtype.c_name} instead."
        )
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
