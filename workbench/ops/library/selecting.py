"""Elements taken by an index along a dimension or by a mask, and slices added by an index."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import errors
from ...autograd.levels import is_batched
from ...autograd.tensor import Tensor, wrap
from ..core.checks import check_broadcast, check_tensor, dim_index, number_of, numpy_names, tensors_only
from ..core.op import define, operation
from ..core.registry import TENSORS, in_formulas
from ..gather_scatter import INDEX_DTYPES, _outside
from ..sums import sum_to_array


def check_selected(t: Tensor, dim: int, index: Tensor) -> int:
    """Check the arguments of index_select; return the dimension, counted from the front."""
    check_tensor("index_select", "index", 2, index)
    a = t._array
    dim = dim_index(dim, a.ndim)
    if index._array.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not a.ndim and index._array.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index._array.size} value(s)")
    if index._array.dtype not in INDEX_DTYPES:
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    size = a.shape[dim] if a.ndim else 1
    outside = _outside(index, size)
    if outside is not None:
        if is_batched(t) is not None or is_batched(index) is not None:
            raise RuntimeError(errors.INDEX_RANGE.format(outside, dim + 1, size))
        if a.ndim > 1 and not size:
            raise RuntimeError(errors.SELECT_NO_DIM)
        if a.ndim > 1 and (dim == 1 or not a.size):
            raise RuntimeError(f"INDICES element is out of DATA bounds, id={outside} axis_dim={size}")
        raise IndexError(errors.OUT_OF_RANGE)
    return dim


def check_added(t: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Any) -> tuple[int, Tensor, Tensor, Any]:
    """Check the arguments of index_add: each slice of `source` needs one index and must fit its destination."""
    for position, (argument, given) in enumerate((("index", index), ("source", source))):
        check_tensor("index_add", argument, position + 2, given)
    alpha = number_of("index_add", "alpha", None, alpha)
    a, b, i = t._array, source._array, index._array
    dim = dim_index(dim, a.ndim)
    if i.ndim > 1:
        raise IndexError(
            f"index_add_(): Index is supposed to be a vector, but got dim: {i.ndim} with type: "
            f"{index.dtype.word} and size: {list(i.shape)}"
        )
    if i.dtype not in INDEX_DTYPES:
        raise RuntimeError(f"index_add_(): Expected dtype int32/int64 for index but got: {index.dtype.word}")
    if source.dtype is not t.dtype:
        raise RuntimeError(
            f"index_add_(): self ({t.dtype.word}) and source ({source.dtype.word}) must have the same scalar type"
        )
    if dim and dim >= b.ndim:
        raise RuntimeError(f"index_add_(): Indexing dim {dim} is out of bounds of the source tensor with dim {b.ndim}")
    slices = b.shape[dim] if b.ndim else 1
    if i.size != slices:
        raise RuntimeError(
            f"index_add_(): Number of indices ({i.size}) should be equal to source.size(dim): "
            f"({slices}), for dim: {dim}"
        )
    apart = int(a.ndim > 0 and b.ndim > 0)  # shapes are compared without this dimension
    if a.shape[:dim] + a.shape[dim + apart :] != b.shape[:dim] + b.shape[dim + apart :]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified "
            f"dimension. Got self.shape = {list(a.shape)} source.shape = {list(b.shape)}"
        )
    size = a.shape[dim] if a.ndim else 1
    outside = _outside(index, size)
    if outside is not None and (a.size or a.ndim < 2):
        if a.ndim > 1 and alpha == 1 and dim in (0, a.ndim - 1):
            raise RuntimeError(errors.INDEX_RANGE.format(outside, dim, size))
        raise IndexError(errors.OUT_OF_RANGE)
    return dim, index, source, alpha


def _added(a: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, alpha: float) -> np.ndarray:
    out, added = np.asarray(a.copy()), np.atleast_1d(source)
    if alpha != 1:
        added = added * source.dtype.type(alpha)
    np.add.at(np.moveaxis(np.atleast_1d(out), dim, 0), np.atleast_1d(index), np.moveaxis(added, dim, 0))
    return out


in_formulas("expand_as", lambda a, like: np.broadcast_to(a, like.shape), lambda t, like: t.expand(like.shape))
_index_add = define(
    "index_add(Tensor self, dim, Kept index, Tensor source, alpha)",
    _added,
    self="grad",
    source="times(expand_as(index_select(grad, dim, index), source), alpha)",
    tangent="linear",
)
_index_select = define(
    "index_select(Tensor self, dim, Kept index)",
    lambda a, dim, index: a.take(index if index.ndim else index.reshape(1), dim) if a.ndim else a.copy(),
    self="index_add(zeros(self.shape, grad), dim, index, grad, 1)",
)


def _selected(a: np.ndarray, mask: np.ndarray) -> np.ndarray:
    a, mask = np.broadcast_arrays(a, mask)
    return a[mask]


def _unselected(grad: np.ndarray, a: np.ndarray, mask: np.ndarray) -> np.ndarray:
    out = np.zeros(np.broadcast_shapes(a.shape, mask.shape), grad.dtype)
    out[np.broadcast_to(mask, out.shape)] = grad
    return sum_to_array(out, a.shape)


def _unselected_tensor(grad: Tensor, t: Tensor, mask: Tensor) -> Tensor:
    shape = np.broadcast_shapes(t.shape, mask.shape) or (1,)
    where = np.broadcast_to(mask._array, shape)
    return TENSORS["index_backward"](grad, shape, (wrap(where),)).sum_to_size(t.shape)


in_formulas("unselected", _unselected, _unselected_tensor)
_masked_select = define(
    "masked_select(Tensor self, Kept mask)", _selected, self="unselected(grad, self, mask)", tangent="linear"
)


@operation()
@tensors_only()
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """Return the elements for which the bool tensor `mask` is True, as a vector.

    The tensor and the mask are broadcast to one shape first. `t[mask]` is the usual notation.
    Elements that weren't selected receive a gradient of 0.
    """
    if mask._array.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    check_broadcast([mask._array.shape, input._array.shape])
    return _masked_select(input, mask)


@operation(in_place="along")
def index_add(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """Return a copy with each slice of `source` added to the slice at its index along `dim`.

    For `dim=0`, `alpha * source[i]` is added to `out[index[i]]`. Slices with the same index are all
    added. The gradient of a slice of `source` is `alpha` times the gradient of the slice to which
    it was added.

    Args:
        index: A vector of int64 or int32, with one index for each slice of `source`.
        source: The slices to add: a tensor with the shape of the input, except along `dim`.
        alpha: The factor by which `source` is multiplied.

    Example:
        >>> torch.zeros(3).index_add(0, torch.tensor([0, 2, 2]), torch.tensor([1.0, 10.0, 20.0]))
        tensor([ 1.,  0., 30.])
    """
    return _index_add(self, *check_added(self, dim, index, source, alpha))


@operation()
@numpy_names
def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return the slices at the positions in `index` along `dim`, in the order of `index`.

    A slice that was selected several times receives the sum of the gradients of its copies.

    Args:
        index: A vector of positions, int64 or int32. Its length is the size of the result along
            `dim`.

    Example:
        >>> t = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> torch.index_select(t, 1, torch.tensor([2, 0]))
        tensor([[3., 1.],
                [6., 4.]])
    """
    return _index_select(self, check_selected(self, dim, index), index)
