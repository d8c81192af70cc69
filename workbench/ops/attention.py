"""Attention: a mean of values, weighted by how well their keys match a query (Vaswani et al., 2017)."""

from __future__ import annotations

import math

from ..autograd import dtypes
from ..autograd.levels import elements
from ..autograd.tensor import Tensor
from .activation import softmax
from .core.checks import tensors_only
from .creation import ones, zeros_like
from .normalization import dropout


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
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {query.dim()} "
            f"key.dim: {key.dim()} and value.dim: {value.dim()} instead."
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
