"""Elements put where an index along a dimension, a mask, or an index into all elements says: copies, and in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import errors
from ...autograd.levels import elements
from ...autograd.tensor import Tensor
from ..core.checks import INT64, check_broadcast, check_tensor, dim_index, held, number_of, tensors_only
from ..core.op import define, operation
from ..core.registry import abbreviation
from ..core.results import copied


def _with_slices(a: np.ndarray, dim: int, index: np.ndarray, value: Any) -> np.ndarray:
    """Return a copy with the slices that `index` names replaced by others, or by one number."""
    out = np.array(a, order="C") if np.ndim(value) else np.asarray(copied(a))
    if isinstance(value, np.ndarray) and value.ndim:
        value = np.moveaxis(value, dim, 0)
    np.moveaxis(np.atleast_1d(out), dim, 0)[index.reshape(-1)] = value
    return out


_index_fill_number = define(
    "index_fill_number(Tensor self, dim, Kept index, value)",
    _with_slices,
    node="IndexFillBackward0",
    self="index_fill_number(grad, dim, index, 0)",
    tangent="index_fill_number(self_t, dim, index, 0)",
)
_index_fill = define(
    "index_fill(Tensor self, dim, Kept index, Tensor value)",
    _with_slices,
    node="IndexFillBackward1",
    kind="assign",
    self="index_fill_number(grad, dim, index, 0)",
    value="sum_all(index_select(grad, dim, index))",
)
_index_copy = define(
    "index_copy(Tensor self, dim, Kept index, Tensor source)",
    _with_slices,
    self="index_fill_number(grad, dim, index, 0)",
    source="reshape(index_select(grad, dim, index), source.shape)",
)


def _scattered(a: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Return a copy with elements of `source`, in their order, where the mask is true."""
    shape = np.broadcast_shapes(a.shape, mask.shape)
    out = np.array(np.broadcast_to(a, shape), order="C")
    where = np.broadcast_to(mask, shape)
    out[where] = source.reshape(-1)[: np.count_nonzero(where)]
    return out


def _collected(grad: np.ndarray, mask: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Return the other way: the elements under the mask, and zeros for those that went nowhere."""
    out = np.zeros(sizes, grad.dtype)
    found = grad[np.broadcast_to(mask, grad.shape)]
    out.reshape(-1)[: found.size] = found
    return out


abbreviation("scattered_slope(g, shape)", "g if g.shape == shape else sum_to(g, shape)")
_masked_scatter = define(
    "masked_scatter(Tensor self, Kept mask, Tensor source)",
    _scattered,
    self="scattered_slope(masked_fill_number(grad, mask, 0), self.shape)",
    source="masked_scatter_backward(grad, mask, source.shape)",
)
define(
    "masked_scatter_backward(Tensor grad_output, Kept mask, shape)",
    _collected,
    grad_output="masked_scatter(zeros_like(grad_output), mask, grad)",
    tangent="linear",
)
_take = define(
    "take(Tensor self, Kept index)",
    lambda a, index: a.reshape(-1)[index],
    self="put_at(zeros_like(self), index, grad, True)",
    tangent="linear",
)


def _put_at(a: np.ndarray, index: np.ndarray, source: np.ndarray, accumulate: bool) -> np.ndarray:
    out = np.asarray(copied(a))
    if not index.size:
        return out
    whole = np.atleast_1d(out)
    places = np.unravel_index(index % a.size, whole.shape)
    if accumulate:
        np.add.at(whole, places, source.reshape(index.shape))
    else:
        whole[places] = source.reshape(index.shape)
    return out


_put = define(
    "put_at(Tensor self, Kept index, Tensor source, accumulate)",
    _put_at,
    node="PutBackward0",
    self="grad if accumulate else put_at(grad, index, zeros_like(source), False)",
    source="reshape(take(grad, index), source.shape)",
    tangent="linear",
)


def _first_outside(index: Tensor, least: int, size: int) -> Any:
    """Return the first index that names no element, or None."""
    every = elements(index)
    wrong = every[(every < least) | (every >= size)]
    return wrong.flat[0] if wrong.size else None


@operation(in_place="mask")
@tensors_only()
def index_fill(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """Return a copy with `value` written into the slices at the positions in `index` along `dim`.

    The elements that were overwritten receive a gradient of 0.

    Args:
        index: A vector of positions along `dim`.
        value: A number, or a tensor without dimensions.

    Raises:
        IndexError: if an index is outside the tensor.
    """
    if index._array.dtype is not INT64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    dim = dim_index(dim, self._array.ndim)
    if isinstance(value, Tensor) and value._array.ndim:
        raise RuntimeError(errors.NO_DIMENSION.format("index_fill_", value._array.ndim))
    if index._array.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    size = self._array.shape[dim] if self._array.ndim else 1
    outside = _first_outside(index, -size, size)
    if outside is not None:
        raise IndexError(errors.INDEX_RANGE.format(outside, dim, size))
    if isinstance(value, Tensor):
        return _index_fill(self, dim, index, value)
    return _index_fill_number(self, dim, index, held(number_of("index_fill", "value", 3, value), self.dtype))


@operation(in_place="along")
def index_copy(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Return a copy with each slice of `source` written over the slice at its index along `dim`.

    For `dim=0`, `out[index[i]]` is `source[i]`. The slices that were replaced receive a gradient of
    0.

    Raises:
        IndexError: if an index is outside the tensor, or the shapes don't fit.
    """
    check_tensor("index_copy", "index", 2, index)
    check_tensor("index_copy", "source", 3, source)
    a, b, count = self._array, source._array, index._array.size
    dim = dim_index(dim, a.ndim)
    if index._array.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index._array.ndim})")
    if not b.ndim and count != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {count})")
    if b.ndim and a.ndim and a.ndim != b.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({b.ndim}), destination dimensionality ({a.ndim})"
        )
    if index._array.dtype is not INT64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index.dtype.word}")
    if source.dtype is not self.dtype:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {self.dtype.word} and "
            f"(source) {source.dtype.word}"
        )
    whole, given = (x.shape[:dim] + x.shape[dim + 1 :] for x in (a, b))
    if whole != given:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, whole))} at dimension {dim} and source slice shape: {' '.join(map(str, given))} at "
            f"dimension {dim if b.ndim else 0}."
        )
    if b.ndim and count != b.shape[dim]:
        raise IndexError(
            f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) ({b.shape[dim]})"
        )
    size = a.shape[dim] if a.ndim else 1
    outside = _first_outside(index, 0, size)
    if outside is not None:
        raise IndexError(f"index_copy_(): index {outside} is out of bounds for dimension {dim} with size {size}")
    return _index_copy(self, dim, index, source)


@operation(in_place=True)
def masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Return a copy with elements of `source` written, in order, where `mask` is True.

    The mask is broadcast to the shape of the tensor; outside the in-place version, the tensor is
    broadcast to the mask's shape, too.

    Raises:
        RuntimeError: if `source` has too few elements.
    """
    check_tensor("masked_scatter", "mask", 1, mask)
    check_tensor("masked_scatter", "source", 2, source)
    check_broadcast([mask._array.shape, self._array.shape])
    if source.dtype is not self.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got{self.dtype.word} and "
            f"{source.dtype.word}"
        )
    if mask._array.dtype.kind != "b":
        raise RuntimeError(errors.ONLY_MASKS.format("masked_scatter_", mask.dtype.word))
    shape = np.broadcast_shapes(mask._array.shape, self._array.shape)
    if source._array.size < np.count_nonzero(np.broadcast_to(mask._array, shape)):
        raise RuntimeError("Number of elements of source < number of ones in mask")
    return _masked_scatter(self, mask, source)


def _check_index(function: str, self: Tensor, index: Tensor) -> None:
    """Raise an error in take and put if an index is outside."""
    if index._array.dtype is not INT64:
        raise RuntimeError(f"{function}(): Expected a long tensor for index, but got {index.dtype.word}")


def _check_inside(self: Tensor, index: Tensor) -> None:
    count = self._array.size
    outside = _first_outside(index, -count, count)
    if outside is not None:
        raise IndexError(f"out of range: tried to access index {outside} on a tensor of {count} elements.")


@operation()
def take(self: Tensor, index: Tensor) -> Tensor:
    """Return the elements at the positions `index` of the flattened tensor, in the shape of `index`.

    Raises:
        IndexError: if an index is outside the tensor.
    """
    check_tensor("take", "index", 1, index)
    _check_index("take", self, index)
    if not self._array.size and index._array.size:
        raise IndexError("take(): tried to take from an empty tensor")
    _check_inside(self, index)
    return _take(self, index)


@operation(in_place=True)
def put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Return a copy with the elements of `source` written to positions in the flattened tensor.

    The result has the shape of the tensor.

    Args:
        index: The positions, with as many elements as `source`.
        accumulate: Add the elements of `source` to the old ones instead of overwriting them.

    Raises:
        IndexError: if an index is outside the tensor.
    """
    check_tensor("put", "index", 1, index)
    check_tensor("put", "source", 2, source)
    _check_index("put_", self, index)
    if source.dtype is not self.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {self.dtype.word} and "
            f"source.dtype = {source.dtype.word}"
        )
    if source._array.size != index._array.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source._array.size}, index.numel() = {index._array.size}"
        )
    if not self._array.size and index._array.size:
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    _check_inside(self, index)
    return _put(self, index, source, accumulate)
