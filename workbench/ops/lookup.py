"""Numbers of classes and words as vectors: embedding, one_hot."""

from __future__ import annotations

import numpy as np

from ..autograd import dtypes
from ..autograd.grad_mode import no_grad
from ..autograd.levels import elements
from ..autograd.tensor import Tensor
from .comparison import where
from .core.checks import not_a_tensor, tensors_only
from .creation import arange


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
        raise AssertionError("Padding_idx must be within num_embeddings")
    if input.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{input.dtype.type_name} instead (while checking arguments for embedding)"
        )
    if weight.dim() != 2:
        raise RuntimeError("'weight' must be 2-D")
    found = elements(input)
    if found.size and not 0 <= found.min() <= found.max() < count:
        raise IndexError("index out of range in self")
    if max_norm is not None:
        with no_grad():
            for i in np.unique(found):
                length = weight[i].norm(norm_type)
                if length > max_norm:
                    weight[i].mul_(max_norm / (length + 1e-7))
    rows = weight[input]
    if padding_idx is None:
        return rows
    return where((input == padding_idx % count).unsqueeze(-1), rows.detach(), rows)


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
