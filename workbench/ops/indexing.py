"""Taking parts of a tensor: `x[i]`, `x[a:b]`, `x[None]`, `x[mask]`, `x[indices]`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.tensor import Tensor, wrap
from .declare import define, in_formulas, method
from .movement import _alias, unsqueeze
from .shapes import dim_index, pair


def _at(dim: int, what: Any) -> tuple[Any, ...]:
    return (slice(None),) * dim + (what,)


def _zeros_with(shape: tuple[int, ...], where: Any, grad: Any, dtype: Any) -> np.ndarray:
    out = np.zeros(shape, dtype)
    out[where] = grad
    return out


_select = define(
    "SelectBackward0",
    "select(Tensor self, dim, index)",
    lambda a, dim, index: a[_at(dim, index) + (...,)],
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


def _index_backward(grad: np.ndarray, sizes: tuple[int, ...], indices: Any) -> np.ndarray:
    out = np.zeros(sizes, grad.dtype)
    np.add.at(out, indices, grad)  # an element taken twice receives both gradients
    return out


def _looked_up(a: np.ndarray, indices: Any) -> np.ndarray:
    try:
        return a[indices]
    except IndexError as error:
        text = str(error).replace("axis", "dimension")
        if text.startswith("shape mismatch"):
            shapes = ", ".join(str(list(i.shape)) for i in indices if isinstance(i, np.ndarray))
            text = f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        raise IndexError(text) from None


_index = define(
    "IndexBackward0",
    "index(Tensor self, indices)",
    _looked_up,
    self="index_backward(grad, self.shape, indices)",
    samples="r(4), (np.array([0, 2, 0]),); r(2, 3), (slice(None), np.array([1, 1]))",
)
define(
    "IndexPutBackward0",
    "index_backward(Tensor grad_output, input_sizes, indices)",
    _index_backward,
    grad_output="index(grad, indices)",
    samples="r(3), (4,), (np.array([0, 2, 0]),)",
)


def _with_put(a: np.ndarray, values: Any, indices: Any, accumulate: bool = False) -> np.ndarray:
    out = a.copy()
    try:
        if accumulate:
            np.add.at(out, indices, values)
        else:
            out[indices] = values
    except (ValueError, TypeError):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(np.shape(values))} cannot be broadcast to indexing result of "
            f"shape {list(out[indices].shape)}"
        ) from None
    return out


_index_put = define(
    "IndexPutBackward0",
    "index_put(Tensor self, Tensor values, indices, accumulate)",
    _with_put,
    kind="assign",
    self="grad if accumulate else without(grad, indices)",
    values="index(grad, indices)",
    samples="r(4), r(2), (np.array([0, 2]),), False; r(2, 3), r(), (slice(None), np.array([1, 2])), False; "
    "r(3), r(2), (np.array([1, 1]),), True",
)
in_formulas(
    "without",
    lambda grad, indices: _with_put(grad, 0, indices),
    lambda grad, indices: _index_put(grad, wrap(np.zeros((), grad._array.dtype)), indices, False),
)


@method()
def index_put(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with values written where a tuple of index tensors says; `accumulate` adds them."""
    where = tuple(i._array if isinstance(i, Tensor) else i for i in indices)
    fills = values._array.size == 1 and all(isinstance(i, slice) or i.dtype.kind == "b" for i in where)
    if values.dtype is not self.dtype and not fills:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {self.dtype.word} for the destination "
            f"and {values.dtype.word} for the source."
        )
    return _index_put(self, values, where, accumulate)


in_formulas(
    "zeros",
    lambda shape, like: np.zeros(shape, np.asarray(like).dtype),
    lambda shape, like: wrap(np.zeros(shape, like._array.dtype)),
)


@method("__getitem__")
def getitem(self: Tensor, index: Any) -> Tensor:
    """Part of the tensor: a view for ints, slices, None and ..., a copy for index tensors, masks and lists."""
    view, where = located(self, index)
    if where is not None:
        return _index(view, where)
    return _alias(view) if view is self else view


def located(self: Tensor, index: Any) -> tuple[Tensor, tuple[Any, ...] | None]:
    """An index as a view for its ints, slices and None, and what is left to look up in that view, if anything."""
    if not self._array.ndim and isinstance(index, slice):
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if not self._array.ndim and _is_number(index):
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
            "0-dim tensor to a number"
        )
    alone = isinstance(index, slice)
    parts = _spread(index if isinstance(index, tuple) else (index,), self._array.ndim)
    out, dim, advanced = self, 0, {}
    for place, part in enumerate(parts):
        if part is None:
            out, dim = unsqueeze(out, dim), dim + 1
        elif isinstance(part, slice):
            out, dim = _sliced(out, dim, part, alone), dim + 1
        elif _is_number(part):
            out = _selected(out, dim, int(part), place)
        else:
            advanced[dim] = array = _lookup_of(part, out._array.shape, dim)
            dim += array.ndim if array.dtype.kind == "b" else 1
    if not advanced:
        return out, None
    where: list[Any] = []
    while len(where) < dim:
        where.append(advanced.get(len(where), slice(None)))
        if isinstance(where[-1], np.ndarray) and where[-1].dtype.kind == "b" and where[-1].ndim > 1:
            dim -= where[-1].ndim - 1
            advanced = {d - where[-1].ndim + 1 if d >= len(where) else d: a for d, a in advanced.items()}
    return out, tuple(where)


def _lookup_of(part: Any, shape: tuple[int, ...], dim: int) -> np.ndarray:
    """A part that is looked up element by element, as an array; IndexError where it is no index, or no fitting mask."""
    if not isinstance(part, (Tensor, np.ndarray, list, tuple, range)):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {type(part).__name__})"
        )
    array = part._array if isinstance(part, Tensor) else np.asarray(part)
    if array.dtype.kind not in "iub":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if array.dtype.kind == "b":
        for i, size in enumerate(array.shape):
            if size != shape[dim + i]:
                raise IndexError(
                    f"The shape of the mask {list(array.shape)} at index {i} does not match the shape of the indexed "
                    f"tensor {list(shape)} at index {dim + i}"
                )
    return array


def _is_number(part: Any) -> bool:
    """Whether a part picks one element of a dimension: an int, or a tensor without dimensions that holds one."""
    if isinstance(part, Tensor):
        return not part._array.ndim and part._array.dtype.kind in "iu"
    return isinstance(part, (int, np.integer)) and not isinstance(part, bool)


def _spread(parts: tuple[Any, ...], ndim: int) -> list[Any]:
    """The parts with `...` written out."""
    used = 0
    for part in parts:
        if part is not None and part is not Ellipsis:
            is_mask = isinstance(part, (Tensor, np.ndarray)) and str(part.dtype).endswith("bool")
            used += part.ndim if is_mask else 1
    if used > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    out: list[Any] = []
    for part in parts:
        out += [slice(None)] * (ndim - used) if part is Ellipsis else [part]
    return out


def _sliced(t: Tensor, dim: int, part: slice, alone: bool) -> Tensor:
    size = t._array.shape[dim]
    if part.step is not None and part.step <= 0:
        raise ValueError("step must be greater than zero")
    start, end, step = part.indices(size)
    if not alone and (start, end, step) == (0, size, 1):
        return t
    return _slice(t, dim, start, max(end, start), step)


def _selected(t: Tensor, dim: int, index: int, place: int) -> Tensor:
    size = t._array.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {place} with size {size}")
    return _select(t, dim, index)


def _taken(a: np.ndarray, dim: int, indices: np.ndarray) -> np.ndarray:
    return np.take_along_axis(a, indices, dim) if a.ndim else a.copy()


def _put_back(grad: np.ndarray, dim: int, indices: np.ndarray) -> np.ndarray:
    out = np.array(grad)
    if out.ndim:
        np.put_along_axis(out, indices, grad, dim)
    return out


_sort = define(
    "SortBackward0",
    "sorted_values(Tensor self, dim, Kept indices)",
    _taken,
    self="unsorted_values(grad, dim, indices)",
    samples="r(4), 0, w.argsort(r(4)); r(2, 3), 1, w.argsort(r(2, 3))",
)
define(
    "SortBackwardBackward0",
    "unsorted_values(Tensor self, dim, Kept indices)",
    _put_back,
    self="sorted_values(grad, dim, indices)",
    samples="r(4), 0, w.argsort(r(4)); r(2, 3), 1, w.argsort(r(2, 3))",
)
sort_result = pair("sort")


@method()
def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """The indices that put the elements in order along `dim`; equal elements keep their order."""
    a = -self._array if descending else self._array
    return wrap(np.argsort(a, axis=dim_index(dim, a.ndim), kind="stable") if a.ndim else np.zeros((), np.int64))


@method()
def sort(self: Tensor, dim: int = -1, descending: bool = False) -> sort_result:
    """(values, indices): the elements in order along `dim`, and where each came from."""
    indices = argsort(self, dim, descending)
    return sort_result(_sort(self, dim_index(dim, self._array.ndim), indices), indices)
