"""What layers of networks compute: dropout, rows of a table (embedding), attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.grad_mode import no_grad
from ..autograd.levels import elements
from ..autograd.tensor import Tensor
from .activation import softmax
from .core.checks import check_tensor, tensors_only
from .core.op import define
from .core.registry import in_formulas
from .creation import arange, dropout_mask, ones, zeros, zeros_like
from .math import mul


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
    """The rows of `weight` that `input` names, in a last dimension; the row `padding_idx` gets no gradient.

    With `max_norm`, rows that are longer are shortened to it, in place.
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
