"""Elements that index tensors or masks name, looked up and put: `t[i, j]`, `t[mask]`, `index_put`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from ..autograd.tensor import Tensor, wrap
from ..errors import kind_of, warn
from .core.checks import check_tensor, wrong
from .core.op import define, operation
from .core.registry import in_formulas
from .core.results import copied
from .masks import check_mask


def check_put(function: str, indices: Any, values: Any) -> None:
    """Raise TypeError unless values go where several tensors say."""
    if not isinstance(indices, (tuple, list)):
        raise TypeError(wrong(function, "indices", 1, f"tuple of Tensors, not {kind_of(indices)}"))
    for i, each in enumerate(indices):
        if not isinstance(each, Tensor):
            raise TypeError(errors.LIST_KIND.format(i, kind_of(each)))
    check_tensor(function, "values", 2, values)


def as_masks(indices: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
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


def check_lookup(shape: tuple[int, ...], places: tuple[Any, ...], values: Any = None) -> None:
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


def _check_values(places: tuple[Any, ...], sizes: list[int], given: tuple[int, ...]) -> None:
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


Indices = tuple[np.ndarray | None, ...]


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


_index = define("index(Tensor self, Kept[] indices)", _looked_up, self="index_backward(grad, self.shape, indices)")


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
        f"{name}(Tensor self, Kept[] indices, Tensor values, accumulate)",
        _with_put,
        kind="assign",
        self="grad if accumulate else without(grad, indices)",
        values="index(grad, indices)",
    )
    for name in ("index_put", "index_put_impl")
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


def _put_one(before: Tensor, indices: tuple[Tensor | None, ...], value: Tensor) -> Tensor:
    """Write one number where a mask is True."""
    return put(before, indices, value, False)
