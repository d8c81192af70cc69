"""What is refused of index tensors and masks, in PyTorch's words and in its order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd.levels import elements, is_batched
from ...autograd.tensor import Tensor
from ...errors import warn
from .. import messages
from .broadcasting import dim_index
from .checks import kind_of, not_a_tensor, word, wrong

Shape = tuple[int, ...]
INT64, UINT64 = np.dtype(np.int64), np.dtype(np.uint64)
WHOLE = (INT64, np.dtype(np.int32))
FEW = 50  # elements: of no more Python finds the extremes sooner than NumPy


def check_tensor(function: str, argument: str, position: int, given: Any) -> None:
    """TypeError for an argument that is no tensor."""
    if not isinstance(given, Tensor):
        raise TypeError(not_a_tensor(function, argument, position, given))


def all_within(places: np.ndarray, size: int) -> bool:
    """Whether 64-bit places all lie from 0 up to `size`, which one comparison tells: below 0 is very large then.

    Of other dtypes it says no.
    """
    if places.dtype is not INT64:
        return False
    if places.size > FEW or not places.size:
        return not (places.view(UINT64) >= size).any()
    every = places.ravel().tolist()
    return min(every) >= 0 and max(every) < size


def _outside(index: Tensor, size: int) -> int | None:
    """The first index that names no element."""
    every = elements(index)
    if all_within(every, size):
        return None
    outside = every[(every < 0) | (every >= size)]
    return outside.flat[0] if outside.size else None


def check_places(function: str, t: Tensor, dim: int, index: Tensor, src: Tensor | None = None) -> int:
    """For gather and scatter: the dimension counted from the front, where indices name elements and all sizes fit."""
    check_tensor(function, "index", 2, index)
    shape, places = t._array.shape or (1,), index._array.shape or (1,)
    dim = dim_index(dim, len(shape))
    empty = not index._array.size
    if not empty and index._array.dtype not in WHOLE:
        raise RuntimeError(messages.GATHER_INDEX_DTYPE.format(function))
    if src is not None and src.dtype is not t.dtype:
        raise RuntimeError(messages.SCATTER_DTYPE.format(function))
    if empty:  # and all else is overlooked
        return dim
    whom = "input" if function == "gather" else "self"
    if len(places) != len(shape):
        raise RuntimeError(messages.INDEX_NDIM.format(whom))
    if src is not None and 0 < src._array.ndim < len(places):
        dim_index(src._array.ndim, src._array.ndim)
    if src is not None and len(places) != (src._array.ndim or 1):
        raise RuntimeError(messages.INDEX_NDIM_OF_SOURCE)
    too_large = next((d for d, n in enumerate(places) if d != dim and n > shape[d]), None)
    if function == "gather" and too_large is not None:
        raise RuntimeError(messages.GATHER_SIZE.format(too_large, list(places), list(shape), dim))
    beyond = src is not None and any(n > m for n, m in zip(places, src._array.shape or (1,), strict=True))
    if too_large is not None or beyond:
        wanted = f"no larger than self {list(shape)} apart from dimension {dim}"
        if src is not None:
            wanted += f" and to be no larger size than src {list(src._array.shape)}"
        raise RuntimeError(messages.SCATTER_SIZE.format(list(places), wanted))
    outside = _outside(index, shape[dim])
    if outside is not None:
        place = dim + max(elements(x).ndim - x._array.ndim for x in (t, index))
        raise RuntimeError(messages.INDEX_RANGE.format(outside, place, shape[dim]))
    return dim


def check_selected(t: Tensor, dim: int, index: Tensor) -> int:
    """For index_select: the dimension counted from the front, where a vector of indices names slices."""
    check_tensor("index_select", "index", 2, index)
    a = t._array
    dim = dim_index(dim, a.ndim)
    if index._array.ndim > 1:
        raise IndexError(messages.SELECT_VECTOR)
    if not a.ndim and index._array.size != 1:
        raise RuntimeError(messages.SELECT_OF_SCALAR.format(index._array.size))
    if index._array.dtype not in WHOLE:
        raise RuntimeError(messages.SELECT_DTYPE)
    size = a.shape[dim] if a.ndim else 1
    outside = _outside(index, size)
    if outside is not None:
        if is_batched(t) is not None or is_batched(index) is not None:
            raise RuntimeError(messages.INDEX_RANGE.format(outside, dim + 1, size))
        if a.ndim > 1 and not size:
            raise RuntimeError(messages.SELECT_NO_DIM)
        if a.ndim > 1 and (dim == 1 or not a.size):
            raise RuntimeError(messages.ADD_RANGE.format(outside, size))
        raise IndexError(messages.OUT_OF_RANGE)
    return dim


def check_added(t: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Any) -> tuple[int, Tensor, Tensor, Any]:
    """For index_add: its arguments, where every slice of `source` has one index and fits what it is added to."""
    for position, (argument, given) in enumerate((("index", index), ("source", source))):
        check_tensor("index_add", argument, position + 2, given)
    if isinstance(alpha, Tensor):
        alpha = alpha.item()
    if not isinstance(alpha, (bool, int, float, np.number)):
        raise TypeError(messages.ADD_ALPHA.format(kind_of(alpha)))
    a, b, i = t._array, source._array, index._array
    dim = dim_index(dim, a.ndim)
    if i.ndim > 1:
        raise IndexError(messages.ADD_VECTOR.format(i.ndim, index.dtype.word, list(i.shape)))
    if i.dtype not in WHOLE:
        raise RuntimeError(messages.ADD_INDEX_DTYPE.format(index.dtype.word))
    if source.dtype is not t.dtype:
        raise RuntimeError(messages.ADD_DTYPE.format(t.dtype.word, source.dtype.word))
    if dim and dim >= b.ndim:
        raise RuntimeError(messages.ADD_DIM.format(dim, b.ndim))
    slices = b.shape[dim] if b.ndim else 1
    if i.size != slices:
        raise RuntimeError(messages.ADD_COUNT.format(i.size, slices, dim))
    apart = int(a.ndim > 0 and b.ndim > 0)  # shapes are compared without this dimension
    if a.shape[:dim] + a.shape[dim + apart :] != b.shape[:dim] + b.shape[dim + apart :]:
        raise RuntimeError(messages.ADD_SHAPE.format(list(a.shape), list(b.shape)))
    size = a.shape[dim] if a.ndim else 1
    outside = _outside(index, size)
    if outside is not None and (a.size or a.ndim < 2):
        if a.ndim > 1 and alpha == 1 and dim in (0, a.ndim - 1):
            raise RuntimeError(messages.INDEX_RANGE.format(outside, dim, size))
        raise IndexError(messages.OUT_OF_RANGE)
    return dim, index, source, alpha


def check_mask(mask: Tensor) -> None:
    """RuntimeError for what is no mask."""
    if mask._array.dtype.kind != "b":
        raise RuntimeError(messages.MASK_DTYPE.format(word(mask.dtype)))


def check_put(function: str, indices: Any, values: Any) -> None:
    """TypeError unless values go where several tensors say."""
    if not isinstance(indices, (tuple, list)):
        raise TypeError(wrong(function, "indices", 1, f"tuple of Tensors, not {kind_of(indices)}"))
    for i, each in enumerate(indices):
        if not isinstance(each, Tensor):
            raise TypeError(messages.LIST_KIND.format(i, kind_of(each)))
    check_tensor(function, "values", 2, values)


def as_masks(indices: tuple[Any, ...]) -> tuple[Any, ...]:
    """NumPy's index for index arrays: bytes are masks, with a warning, and None stands for all of a dimension."""
    places: list[Any] = []
    for each in indices:
        if each is not None and each.dtype.kind == "u":
            warn(messages.BYTES)
            each = each.astype(bool)
        places.append(slice(None) if each is None else each)
    return tuple(places)


def check_lookup(shape: Shape, places: tuple[Any, ...], values: Any = None) -> None:
    """Say in PyTorch's words why NumPy refused `places`, or to put `values` there; nothing for what else it refused."""
    if len(places) > len(shape):
        raise IndexError(messages.TOO_MANY_INDICES.format(len(shape), len(places)))
    arrays, dim, sizes = [], 0, list(shape)
    for each in places:
        if isinstance(each, slice):
            dim += 1
            continue
        if each.dtype.kind not in "ib":
            raise IndexError(messages.INDEX_DTYPE)
        if each.dtype.kind == "b":
            for i, size in enumerate(each.shape):
                if shape[dim + i : dim + i + 1] != (size,):
                    raise IndexError(messages.MASK_SHAPE.format(list(each.shape), i, list(shape), dim + i))
        if each.dtype.kind == "i":
            sizes[dim] = max(sizes[dim], 1)  # so that index 0, which stands for all below, is there
        arrays += each.nonzero() if each.dtype.kind == "b" else [each]
        dim += each.ndim if each.dtype.kind == "b" else 1
    try:
        np.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:
        shapes = ", ".join(str(list(a.shape)) for a in arrays)
        raise IndexError(messages.INDEX_SHAPES.format(shapes)) from None
    if values is None:
        return
    first = [
        np.zeros_like(each) if isinstance(each, np.ndarray) and each.dtype.kind == "i" else each for each in places
    ]
    found = np.broadcast_to(False, sizes)[tuple(first)].shape
    given = np.shape(values)
    if len(given) > len(found) or any(n not in (1, m) for n, m in zip(given[::-1], found[::-1], strict=False)):
        raise RuntimeError(messages.PUT_SHAPE.format(list(given), list(found)))
