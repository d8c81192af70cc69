"""Taking parts of a tensor, and writing them: `x[i]`, `x[mask]`, gather and scatter, elements under a mask."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .. import errors
from ..autograd.levels import elements, is_batched
from ..autograd.tensor import Tensor, wrap
from ..errors import kind_of, warn
from .core.checks import (
    INT64,
    all_within,
    check_broadcast,
    check_tensor,
    dim_index,
    held,
    number_of,
    numpy_names,
    tensors_only,
    word,
    wrong,
)
from .core.op import define, method, operation
from .core.registry import TENSORS, in_formulas
from .core.results import copied, places_along
from .creation import index_array
from .shape import _alias, _unsqueeze, is_expandable, sum_to_array, unsqueeze

Shape = tuple[int, ...]
INDEX_DTYPES = (INT64, np.dtype(np.int32))


def _outside(index: Tensor, size: int) -> int | None:
    """Return the first index that names no element."""
    every = elements(index)
    if all_within(every, size):
        return None
    outside = every[(every < 0) | (every >= size)]
    return outside.flat[0] if outside.size else None


def check_places(function: str, t: Tensor, dim: int, index: Tensor, src: Tensor | None = None) -> int:
    """Check the arguments of gather and scatter; return the dimension, counted from the front."""
    check_tensor(function, "index", 2, index)
    shape, places = t._array.shape or (1,), index._array.shape or (1,)
    dim = dim_index(dim, len(shape))
    usual = places == shape and index._array.dtype is INT64 and index._array.size
    if not usual or (src is not None and (src._array.shape != shape or src._array.dtype is not t._array.dtype)):
        _check_sizes(function, t, dim, index, src)
    outside = _outside(index, shape[dim])
    if outside is not None:
        place = dim + max(elements(x).ndim - x._array.ndim for x in (t, index))
        raise RuntimeError(errors.INDEX_RANGE.format(outside, place, shape[dim]))
    return dim


def _check_sizes(function: str, t: Tensor, dim: int, index: Tensor, src: Tensor | None) -> None:
    shape, places = t._array.shape or (1,), index._array.shape or (1,)
    empty = not index._array.size
    if not empty and index._array.dtype not in INDEX_DTYPES:
        raise RuntimeError(f"{function}(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype is not t.dtype:
        raise RuntimeError(f"{function}(): Expected self.dtype to be equal to src.dtype")
    if empty:  # and all else is overlooked
        return
    whom = "input" if function == "gather" else "self"
    if len(places) != len(shape):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {whom} tensor")
    if src is not None and 0 < src._array.ndim < len(places):
        dim_index(src._array.ndim, src._array.ndim)
    if src is not None and len(places) != (src._array.ndim or 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    too_large = next((d for d, n in enumerate(places) if d != dim and n > shape[d]), None)
    if function == "gather" and too_large is not None:
        raise RuntimeError(
            f"Size does not match at dimension {too_large} expected index {list(places)} to be no larger than self "
            f"{list(shape)} apart from dimension {dim}"
        )
    beyond = src is not None and any(n > m for n, m in zip(places, src._array.shape or (1,), strict=True))
    if too_large is not None or beyond:
        wanted = f"no larger than self {list(t._array.shape)} apart from dimension {dim}"
        if src is not None:
            wanted += f" and to be no larger size than src {list(src._array.shape)}"
        raise RuntimeError(f"Expected index {list(places)} to be {wanted}")


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


def check_mask(mask: Tensor) -> None:
    """Raise RuntimeError for anything but a mask."""
    if mask._array.dtype.kind != "b":
        raise RuntimeError(errors.ONLY_MASKS.format("masked_fill_", word(mask.dtype)))


def check_put(function: str, indices: Any, values: Any) -> None:
    """Raise TypeError unless values go where several tensors say."""
    if not isinstance(indices, (tuple, list)):
        raise TypeError(wrong(function, "indices", 1, f"tuple of Tensors, not {kind_of(indices)}"))
    for i, each in enumerate(indices):
        if not isinstance(each, Tensor):
            raise TypeError(errors.LIST_KIND.format(i, kind_of(each)))
    check_tensor(function, "values", 2, values)


def as_masks(indices: tuple[Any, ...], shape: Shape) -> tuple[Any, ...]:
    """Return NumPy's index for index arrays: bytes are masks, with a warning, and None means all of a dimension."""
    places: list[Any] = []
    overlooked = False
    for each in indices:
        if each is not None and each.dtype.kind == "u":
            warn(errors.BYTES)
            each = each.astype(bool)
        overlooked |= each is not None and not each.size and each.dtype.kind == "b"
        places.append(slice(None) if each is None else each)
    if overlooked:  # NumPy takes a mask of no elements whatever its shape
        check_lookup(shape, tuple(places))
    return tuple(places)


def check_lookup(shape: Shape, places: tuple[Any, ...], values: Any = None) -> None:
    """Say in PyTorch's words why NumPy refused `places`, or to put `values` there; nothing for what else it refused."""
    if len(places) > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)} (got {len(places)})")
    arrays, dim, sizes = [], 0, list(shape)
    for each in places:
        if isinstance(each, slice):
            dim += 1
            continue
        if each.dtype.kind not in "ib":
            raise IndexError(errors.INDEX_DTYPE)
        if each.dtype.kind == "b":
            for i, size in enumerate(each.shape):
                if shape[dim + i : dim + i + 1] != (size,):
                    raise IndexError(
                        f"The shape of the mask {list(each.shape)} at index {i} does not match the "
                        "shape of the indexed "
                        f"tensor {list(shape)} at index {dim + i}"
                    )
        if each.dtype.kind == "i":
            sizes[dim] = max(sizes[dim], 1)  # so that index 0, which stands for all below, is there
        arrays += each.nonzero() if each.dtype.kind == "b" else [each]
        dim += each.ndim if each.dtype.kind == "b" else 1
    try:
        np.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:
        shapes = ", ".join(str(list(a.shape)) for a in arrays)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    if sizes != list(shape) and all(map(np.size, arrays)):
        raise IndexError("index is out of bounds for dimension with size 0")
    if values is not None:
        _check_values(places, sizes, np.shape(values))


def _check_values(places: tuple[Any, ...], sizes: list[int], given: Shape) -> None:
    """Raise RuntimeError if values of a shape don't fit the elements at `places`."""
    first = [
        np.zeros_like(each) if isinstance(each, np.ndarray) and each.dtype.kind == "i" else each for each in places
    ]
    found = np.broadcast_to(False, sizes)[tuple(first)].shape
    if len(given) > len(found) or any(n not in (1, m) for n, m in zip(given[::-1], found[::-1], strict=False)):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(given)} cannot be broadcast to indexing "
            f"result of shape {list(found)}"
        )


def _gather_of(a: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    if not index.size:
        return np.empty(index.shape, a.dtype)
    return (a if a.ndim else a.reshape(1))[places_along(index, dim)].reshape(index.shape)


def _put_at(a: np.ndarray, dim: int, index: np.ndarray, src: Any, add: bool) -> np.ndarray:
    out = np.asarray(a.copy())  # NumPy makes a scalar, which cannot be written, of a result without dimensions
    if not index.size:
        return out
    places, values = places_along(index, dim), src
    if isinstance(src, np.ndarray) and src.ndim and src.shape != index.shape:
        values = src[tuple([slice(n) for n in index.shape or (1,)])]
    whole = out if out.ndim else out.reshape(1)
    if add:
        np.add.at(whole, places, values)
    else:
        whole[places] = values
    return out


def _fitting(grad: Any, shape: tuple[int, ...], node: str) -> Any:
    """Return a gradient for `src`, summed if that had no dimension; RuntimeError if `src` was larger than its index."""
    if grad.shape == shape:
        return grad
    if not is_expandable(shape, grad.shape):
        got, want = list(grad.shape), list(shape)
        raise RuntimeError(errors.INVALID_GRADIENT_SHAPE.format(node, 1, got, want))
    return sum_to_array(grad, shape) if isinstance(grad, np.ndarray) else grad.sum_to_size(shape)


in_formulas("fitting", _fitting, _fitting)
_gather = define(
    "GatherBackward0",
    "gather(Tensor self, dim, Kept index)",
    _gather_of,
    self="scatter_add(zeros_like(self), dim, index, grad)",
    tangent="linear",
    samples="r(4), 0, w.tensor([2, 0, 2]); r(2, 3), 1, w.tensor([[0, 0, 2]]); r(), 0, w.tensor(0)",
)
_scatter_add = define(
    "ScatterAddBackward0",
    "scatter_add(Tensor self, dim, Kept index, Tensor src)",
    lambda a, dim, index, src: _put_at(a, dim, index, src, add=True),
    self="grad",
    src="fitting(gather(grad, dim, index), src.shape, 'ScatterAddBackward0')",
    samples="r(4), 0, w.tensor([2, 0, 2]), r(3); r(2, 3), 1, w.tensor([[1, 1]]), r(1, 2); r(), 0, w.tensor(0), r()",
)
_scatter = define(
    "ScatterBackward0",
    "scatter(Tensor self, dim, Kept index, Tensor src)",
    lambda a, dim, index, src: _put_at(a, dim, index, src, add=False),
    self="scatter_number(grad, dim, index, 0)",
    src="fitting(gather(grad, dim, index), src.shape, 'ScatterBackward0')",
    samples="r(4), 0, w.tensor([2, 0]), r(2); r(2, 3), 1, w.tensor([[1, 2]]), r(1, 2); r(), 0, w.tensor(0), r()",
)
_scatter_number = define(
    "ScatterBackward1",
    "scatter_number(Tensor self, dim, Kept index, value)",
    lambda a, dim, index, value: _put_at(a, dim, index, value, add=False),
    self="scatter_number(grad, dim, index, 0)",
    tangent="scatter_number(self_t, dim, index, 0)",
    samples="r(4), 0, w.tensor([2, 0]), 2.0; r(), 0, w.tensor(0), 2.0",
)


def _added(a: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, alpha: float) -> np.ndarray:
    out, added = np.asarray(a.copy()), np.atleast_1d(source)
    if alpha != 1:
        added = added * source.dtype.type(alpha)
    np.add.at(np.moveaxis(np.atleast_1d(out), dim, 0), np.atleast_1d(index), np.moveaxis(added, dim, 0))
    return out


in_formulas("expand_as", lambda a, like: np.broadcast_to(a, like.shape), lambda t, like: t.expand(like.shape))
in_formulas("times", *(lambda x, number: x if number == 1 else x * number,) * 2)
_index_add = define(
    "IndexAddBackward0",
    "index_add(Tensor self, dim, Kept index, Tensor source, alpha)",
    _added,
    self="grad",
    source="times(expand_as(index_select(grad, dim, index), source), alpha)",
    tangent="linear",
    samples="r(3), 0, w.tensor([2, 0]), r(2), 1; r(2, 3), 1, w.tensor([1, 1]), r(2, 2), 2.5;"
    " r(), 0, w.tensor(0), r(), 1",
)
_index_select = define(
    "IndexSelectBackward0",
    "index_select(Tensor self, dim, Kept index)",
    lambda a, dim, index: a.take(index if index.ndim else index.reshape(1), dim) if a.ndim else a.copy(),
    self="index_add(zeros(self.shape, grad), dim, index, grad, 1)",
    samples="r(3), 0, w.tensor([2, 0, 2]); r(2, 3), 1, w.tensor([1]); r(), 0, w.tensor(0)",
)


def _filled(a: np.ndarray, mask: np.ndarray, value: Any) -> np.ndarray:
    same = a.shape == mask.shape
    out = np.asarray(a.copy() if same else np.broadcast_to(a, np.broadcast_shapes(a.shape, mask.shape)).copy())
    np.copyto(out, value, casting="unsafe", where=mask)
    return out


_fill_number = define(
    "MaskedFillBackward0",
    "masked_fill_number(Tensor self, Kept mask, value)",
    _filled,
    kind="assign",
    self="masked_fill_number(grad, mask, 0)",
    tangent="masked_fill_number(self_t, mask, 0)",
    samples="r(3), b(3), 2.0; r(3), b(2, 3), 2.0",
)
_fill = define(
    "MaskedFillBackward1",
    "masked_fill(Tensor self, Kept mask, Tensor value)",
    _filled,
    kind="assign",
    self="masked_fill_number(grad, mask, 0)",
    value="where(mask, grad, 0)",
    samples="r(3), b(3), r(); r(2, 1), b(2, 3), r()",
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
    "MaskedSelectBackward0",
    "masked_select(Tensor self, Kept mask)",
    _selected,
    self="unselected(grad, self, mask)",
    tangent="linear",
    samples="r(4), w.tensor([True, False, True, True]); r(3), w.tensor([[True, False, True], [True, True, False]])",
)


@operation()
@numpy_names
def gather(self: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Return the elements of the tensor that `index` selects along `dim`.

    For a matrix and `dim=0`, `out[i, j]` is `input[index[i, j], j]`. For `dim=1`, `out[i, j]` is
    `input[i, index[i, j]]`. An element that was selected several times receives the sum of the
    gradients of its copies.

    Args:
        dim: The dimension along which elements are selected.
        index: Positions along `dim`: int64, with as many dimensions as the tensor. In all
            dimensions except `dim`, its size is at most that of the tensor.
        sparse_grad: Accepted for compatibility; it has no effect.

    Returns:
        A tensor with the shape of `index`.

    Example:
        >>> scores = torch.tensor([[0.1, 0.9], [0.7, 0.3]])
        >>> labels = torch.tensor([[1], [0]])
        >>> torch.gather(scores, 1, labels)
        tensor([[0.9000],
                [0.7000]])
    """
    return _gather(self, check_places("gather", self, dim, index), index)


@operation(in_place="along")
def scatter(self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: float | None = None) -> Tensor:
    """Return a copy with each element of `src` written to its position in `index` along `dim`.

    `scatter` is the opposite of `gather`. For a matrix and `dim=0`, `src[i, j]` is written to
    `out[index[i, j], j]`. The elements that were overwritten receive a gradient of 0. If several
    elements go to the same position, only one of them is written, but all of them receive the
    gradient of that position, as in PyTorch.

    Args:
        index: Positions along `dim`: int64, with as many dimensions as the tensor.
        src: A tensor at least as large as `index`, or a number. A number may also be passed as
            `value`.

    Example:
        >>> torch.zeros(2, 3).scatter(1, torch.tensor([[2], [0]]), torch.tensor([[5.0], [6.0]]))
        tensor([[0., 0., 5.],
                [6., 0., 0.]])
    """
    if not isinstance(src, Tensor):
        number = held(number_of("scatter", "value", 3, value if src is None else src), self.dtype)
        return _scatter_number(self, check_places("scatter", self, dim, index), index, number)
    return _scatter(self, check_places("scatter", self, dim, index, src), index, src)


@operation(in_place="along")
def scatter_add(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Return a copy with each element of `src` added at its position in `index` along `dim`.

    For a matrix and `dim=0`, `src[i, j]` is added to `out[index[i, j], j]`. Elements that go to the
    same position are all added. The gradient of an element of `src` is the gradient at its
    position.

    Args:
        index: Positions along `dim`: int64, with as many dimensions as the tensor.
        src: A tensor at least as large as `index`.

    Example:
        >>> votes = torch.tensor([0, 2, 2])
        >>> torch.zeros(3).scatter_add(0, votes, torch.ones(3))
        tensor([1., 0., 2.])
    """
    check_tensor("scatter_add", "index", 2, index)
    check_tensor("scatter_add", "src", 3, src)
    return _scatter_add(self, check_places("scatter", self, dim, index, src), index, src)


@operation(in_place="mask")
@tensors_only()
def masked_fill(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Return a copy with `value` written wherever `mask` is True.

    The elements that were overwritten receive a gradient of 0.

    Args:
        mask: A bool tensor that broadcasts to the shape of the tensor.
        value: A number, or a tensor without dimensions. Such a tensor receives the sum of the
            gradients of all elements into which it was written.

    Example:
        >>> torch.tensor([1.0, 2.0, 3.0]).masked_fill(torch.tensor([False, True, False]), 0.0)
        tensor([1., 0., 3.])
    """
    check_mask(mask)
    check_broadcast([mask._array.shape, self._array.shape])
    if not isinstance(value, Tensor):
        return _fill_number(self, mask, held(number_of("masked_fill", "value", 2, value), self.dtype))
    if value._array.ndim:
        raise RuntimeError(errors.NO_DIMENSION.format("masked_fill_", value._array.ndim))
    return _fill(self, mask, value)


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


Indices = tuple[np.ndarray | None, ...]
WHOLE = (slice(None),)
MANY = 32  # a sequence this long is one of indices, whatever it holds


def _at(dim: int, *what: Any) -> tuple[Any, ...]:
    return WHOLE * dim + what


def _zeros_with(shape: tuple[int, ...], where: Any, grad: Any, dtype: Any) -> np.ndarray:
    out = np.zeros(shape, dtype)
    out[where] = grad
    return out


_select = define(
    "SelectBackward0",
    "select(Tensor self, dim, index)",
    lambda a, dim, index: a[_at(dim, index, ...)],
    kind="view",
    self="select_backward(grad, self.shape, dim, index)",
    samples="r(3), 0, 1; r(2, 3), 1, -1",
)
define(
    "SelectBackwardBackward0",
    "select_backward(Tensor grad_output, input_sizes, dim, index)",
    lambda g, sizes, dim, index: _zeros_with(sizes, _at(dim, index), g, np.asarray(g).dtype),
    grad_output="select(grad, dim, index)",
    samples="r(), (3,), 0, 1; r(2), (2, 3), 1, 2",
)
_slice = define(
    "SliceBackward0",
    "slice(Tensor self, dim, start, end, step)",
    lambda a, dim, start, end, step: a[_at(dim, slice(start, end, step))],
    kind="view",
    self="slice_backward(grad, self.shape, dim, start, end, step)",
    samples="r(4), 0, 1, 3, 1; r(2, 5), 1, 0, 5, 2",
)
define(
    "SliceBackwardBackward0",
    "slice_backward(Tensor grad_output, input_sizes, dim, start, end, step)",
    lambda g, sizes, dim, start, end, step: _zeros_with(sizes, _at(dim, slice(start, end, step)), g, g.dtype),
    grad_output="slice(grad, dim, start, end, step)",
    samples="r(2), (4,), 0, 1, 3, 1",
)


def _index_backward(grad: np.ndarray, sizes: tuple[int, ...], indices: Indices) -> np.ndarray:
    out = np.zeros(sizes, grad.dtype)
    places = as_masks(indices, sizes)
    if len(places) == 1 and places[0].dtype.kind == "b":
        out[places] = grad + 0.0  # as a sum has it: -0.0 becomes 0.0
    else:
        np.add.at(out, places, grad)  # an element taken twice receives both gradients
    return out


def _looked_up(a: np.ndarray, indices: Indices) -> np.ndarray:
    first = indices[0]
    if len(indices) == 1 and first is not None and first.dtype.kind == "i" and a.flags.c_contiguous and a.size:
        try:
            return a.take(first, 0)  # in a quarter of the time
        except IndexError:
            pass  # is said below
    places = as_masks(indices, a.shape)
    try:
        found = a[places]
    except IndexError as error:
        check_lookup(a.shape, places)
        raise IndexError(str(error).replace("axis", "dimension")) from None
    # NumPy lays out the dimensions of the indices as the outer ones, wherever they stand.
    return found.copy() if a.flags.c_contiguous and not found.flags.c_contiguous else found


_index = define(
    "IndexBackward0",
    "index(Tensor self, Kept[] indices)",
    _looked_up,
    self="index_backward(grad, self.shape, indices)",
    samples="r(4), (w.tensor([0, 2, 0]),); r(2, 3), (None, w.tensor([1, 1]))",
)


def _with_put(a: np.ndarray, indices: Indices, values: Any, accumulate: bool) -> np.ndarray:
    out, places = np.asarray(copied(a)), as_masks(indices, a.shape)
    if type(values) is np.ndarray and values.ndim > 1 and len(values) == 1:  # NumPy overlooks leading dimensions
        check_lookup(a.shape, places, values)
    try:
        if accumulate:
            np.add.at(out, places, values)
        else:
            out[places] = values
    except (ValueError, TypeError, IndexError) as error:
        check_lookup(a.shape, places, values)
        raise type(error)(str(error).replace("axis", "dimension")) from None
    return out


_index_put, _index_put_impl = (
    define(
        node,
        f"{name}(Tensor self, Kept[] indices, Tensor values, accumulate)",
        _with_put,
        kind="assign",
        self="grad if accumulate else without(grad, indices)",
        values="index(grad, indices)",
        samples="r(4), (w.tensor([0, 2]),), r(2), False; r(2, 3), (None, w.tensor([1, 2])), r(), False; "
        "r(3), (w.tensor([1, 1]),), r(2), True",
    )
    for node, name in (("IndexPutBackward0", "index_put"), ("IndexPutImplBackward0", "index_put_impl"))
)
in_formulas(
    "index_backward",
    _index_backward,
    lambda grad, sizes, indices: _index_put_impl(wrap(np.zeros(sizes, grad._array.dtype)), indices, grad, True),
)
in_formulas(
    "without",
    lambda grad, indices: _with_put(grad, indices, 0, False),
    lambda grad, indices: _index_put(grad, indices, wrap(np.zeros((), grad._array.dtype)), False),
)


@operation(in_place="indices")
def index_put(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Return a copy with `values` written at `indices`.

    This is `t[i, j] = values`, but the tensor itself doesn't change. The elements that were
    overwritten receive a gradient of 0. The gradient of `values` is the gradient at `indices`.

    Args:
        indices: A tuple of index tensors, one for each of the first dimensions.
        values: A tensor that broadcasts to the shape of the indexed elements.
        accumulate: Add the values to the elements instead of overwriting them. If an index occurs
            more than once, all its values are added. Without `accumulate`, only one of them is
            written.

    Example:
        >>> rows, columns = torch.tensor([0, 1]), torch.tensor([2, 0])
        >>> torch.zeros(2, 3).index_put((rows, columns), torch.tensor([5.0, 6.0]))
        tensor([[0., 0., 5.],
                [6., 0., 0.]])
    """
    check_put("index_put", indices, values)
    return put(self, tuple(indices), values, accumulate)


def put(self: Tensor, indices: tuple[Tensor | None, ...], values: Tensor, accumulate: bool) -> Tensor:
    """Do the same as index_put; None means all of a dimension."""
    masks = [i for i in indices if i is not None and i._array.dtype.kind in "bu"]
    fills = not accumulate and values._array.size == 1 and len(masks) == 1 == sum([i is not None for i in indices])
    if fills:  # as PyTorch then does
        check_mask(masks[0])
    elif values._array.dtype is not self._array.dtype:
        shape = self._array.shape
        places = as_masks(tuple([None if i is None else i._array for i in indices]), shape)
        check_lookup(shape, places, values._array)
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {self.dtype.word} for the "
            f"destination and {values.dtype.word} for the source."
        )
    return _index_put(self, indices, values, accumulate)


in_formulas(
    "zeros",
    lambda shape, like: np.zeros(shape, np.asarray(like).dtype),
    lambda shape, like: wrap(np.zeros(shape, like._array.dtype)),
)


@method("__getitem__")
def getitem(self: Tensor, index: Any) -> Tensor:
    """Return part of the tensor, for `t[index]`.

    An index of ints, slices, None and `...` gives a view, which shares memory with the tensor.
    Index tensors, masks and lists give a copy. Elements that appear several times in the result
    receive the sum of the gradients.

    Example:
        >>> t = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        >>> t[torch.tensor([2, 2, 0])].sum().backward()
        >>> t[t > 1.5].tolist(), t.grad
        ([2.0, 3.0], tensor([1., 0., 2.]))
    """
    kind, ndim = type(index), self._array.ndim
    if kind is tuple:
        out, where = plain_view(self, index), None
    elif kind is int and ndim:
        return _select_at(self, 0, index, 0)
    elif kind is slice and ndim:
        return _sliced(self, 0, index, True)
    else:
        out = where = None
    if out is None:
        out, where = located(self, index)
    if where is not None:
        return _index(out, where)
    return _alias(out) if out is self else out


def plain_view(self: Tensor, index: Any) -> Tensor | None:
    """Return the view that a tuple of ints, slices, None and one `...` names, or the tensor itself; None otherwise."""
    if type(index) is not tuple:
        return None
    free, dots = self._array.ndim, None
    for place, part in enumerate(index):
        if type(part) is int or type(part) is slice:
            free -= 1
        elif part is Ellipsis and dots is None:
            dots = place
        elif part is not None:
            return None
    if free < 0:
        return None
    if dots is not None:
        index = index[:dots] + WHOLE * free + index[dots + 1 :]
    out, dim = self, 0
    for place, part in enumerate(index):
        if type(part) is int:
            out = _select_at(out, dim, part, place)
        else:
            out = _unsqueeze(out, dim) if part is None else _sliced(out, dim, part, False)
            dim += 1
    return out


def located(self: Tensor, index: Any) -> tuple[Tensor, tuple[Tensor | None, ...] | None]:
    """Return a view for the index's ints, slices and None, and the indices left to look up in it, if any."""
    if type(index) is Tensor and 0 < index._array.ndim <= self._array.ndim and index._array.dtype.kind in "ib":
        return self, (index,)
    if not self._array.ndim and isinstance(index, slice):
        raise IndexError(errors.SLICE_NO_DIMS)
    if not self._array.ndim and _is_number(index):
        raise IndexError(errors.INDEX_0D)
    alone = isinstance(index, slice)
    parts = _without_dots(index if isinstance(index, tuple) else _parts_of(index), self._array.ndim)
    out, dim = self, 0
    where: list[Tensor | None] = []  # the index tensors; None for each dimension that is taken whole before one
    covered = 0  # how many dimensions these speak of: a mask of several dimensions speaks of as many
    for place, part in enumerate(parts):
        if part is None:
            out, dim = unsqueeze(out, dim), dim + 1
        elif _is_truth(part):  # a mask over a dimension made for it
            out = unsqueeze(out, dim)
            where += [None] * (dim - covered) + [wrap(np.zeros(int(bool(part)), np.int64))]
            covered = dim = dim + 1
        elif isinstance(part, slice):
            out, dim = _sliced(out, dim, part, alone), dim + 1
        elif _is_number(part):
            out = _select_at(out, dim, operator.index(part), place)
        else:
            lookup = _lookup_of(part)
            where += [None] * (dim - covered) + [lookup]
            covered = dim = dim + (lookup._array.ndim if lookup._array.dtype.kind in "bu" else 1)
    return out, tuple(where) or None


def _is_sequence(part: Any) -> bool:
    """Return True if a part holds others, as CPython sees it."""
    return hasattr(type(part), "__getitem__") and not isinstance(part, (dict, Tensor, np.generic))


def _parts_of(index: Any) -> tuple[Any, ...]:
    """Return what an index that is no tuple consists of: a short sequence of more than numbers counts as a tuple."""
    if _is_sequence(index) and type(index) is not np.ndarray and len(index) < MANY:
        for part in index:
            if part is None or part is Ellipsis or isinstance(part, (slice, Tensor)) or _is_sequence(part):
                warn(
                    "Using a non-tuple sequence for multidimensional indexing is deprecated and will "
                    "be changed in pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 "
                    "this will be interpreted as tensor index, x[torch.tensor(seq)], which will result "
                    "either in an error or a different result"
                )
                return tuple(index)
    return (index,)


def _lookup_of(part: Any) -> Tensor:
    """Return a part that is looked up element by element, as a tensor; IndexError where it is no index."""
    if not isinstance(part, Tensor):
        if not _is_sequence(part):
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables "
                f"are valid indices (got {type(part).__name__})"
            )
        return wrap(index_array(part))
    if part._array.dtype.kind not in "iub":
        raise IndexError(errors.INDEX_DTYPE)
    return part


def _is_number(part: Any) -> bool:
    """Return True if a part picks one element of a dimension: an int, or a tensor without dimensions that holds one."""
    if isinstance(part, Tensor):
        return not part._array.ndim and part._array.dtype.kind == "i" and is_batched(part) is None
    if isinstance(part, np.ndarray):
        return not part.ndim and part.dtype.kind == "i"
    return hasattr(part, "__index__") and not isinstance(part, bool)


def _is_mask(part: Any) -> bool:
    """Return True if a part is a mask; bytes count as one."""
    return isinstance(part, (Tensor, np.ndarray)) and str(part.dtype).removeprefix("torch.") in ("bool", "uint8")


def _is_truth(part: Any) -> bool:
    """Return True if a part is one truth value, which speaks of no dimension."""
    if isinstance(part, (Tensor, np.ndarray)):
        return not part.ndim and _is_mask(part)
    return isinstance(part, (bool, np.bool_))


def _without_dots(parts: tuple[Any, ...], ndim: int) -> list[Any]:
    """Return the parts with `...` written out."""
    used = 0
    for part in parts:
        if part is not None and part is not Ellipsis and not _is_truth(part):
            used += part.ndim if _is_mask(part) else 1
    if used > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    out: list[Any] = []
    for part in parts:
        if part is not Ellipsis:
            out.append(part)
        else:  # a second one stands for nothing more
            out += [slice(None)] * (ndim - used)
            used = ndim
    return out


def _sliced(t: Tensor, dim: int, part: slice, alone: bool) -> Tensor:
    if not alone and part.start is part.stop is part.step is None:
        return t
    size = t._array.shape[dim]
    start, end, step = part.indices(size)
    if step < 0:
        raise ValueError("step must be greater than zero")
    if not alone and step == 1 and (part.stop is None or operator.index(part.stop) >= size):
        if part.start is None or operator.index(part.start) == 0:  # as it is written: PyTorch makes a view for -3:
            return t
    return _slice(t, dim, start, end if end > start else start, step)


def _select_at(t: Tensor, dim: int, index: int, place: int) -> Tensor:
    size = t._array.shape[dim]
    if -size <= index < size:
        return _select(t, dim, index)
    if not -(2**63) <= index < 2**63:
        raise ValueError(errors.LONG_OVERFLOW)
    raise IndexError(errors.INDEX_RANGE.format(index, place, size))
