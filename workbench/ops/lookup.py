"""Numbers of classes and words as vectors: embedding, one_hot."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import dtypes
from ..autograd.grad_mode import no_grad
from ..autograd.levels import elements
from ..autograd.tensor import Tensor
from .core.checks import not_a_tensor, tensors_only
from .core.op import define
from .core.registry import in_formulas
from .creation import arange


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
