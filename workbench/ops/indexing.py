"""Taking parts of a tensor: `x[i]`, `x[a:b]`, `x[None]`, `x[mask]`, `x[indices]`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.tensor import Tensor, wrap
from .declare import define, in_formulas, method
from .looking import is_batched
from .movement import _alias, unsqueeze
from .shapes import dim_index, pair

Indices = tuple[np.ndarray | None, ...]


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


def _places(indices: Indices) -> tuple[Any, ...]:
    """NumPy's index for index arrays, where None stands for all of a dimension."""
    return tuple([slice(None) if each is None else each for each in indices])


def _index_backward(grad: np.ndarray, sizes: tuple[int, ...], indices: Indices) -> np.ndarray:
    out = np.zeros(sizes, grad.dtype)
    np.add.at(out, _places(indices), grad)  # an element taken twice receives both gradients
    return out


def _looked_up(a: np.ndarray, indices: Indices) -> np.ndarray:
    try:
        return a[_places(indices)]
    except IndexError as error:
        text = str(error).replace("axis", "dimension")
        if text.startswith("shape mismatch"):
            shapes = ", ".join(str(list(i.shape)) for i in indices if isinstance(i, np.ndarray))
            text = f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        raise IndexError(text) from None


_index = define(
    "IndexBackward0",
    "index(Tensor self, Kept[] indices)",
    _looked_up,
    self="index_backward(grad, self.shape, indices)",
    samples="r(4), (w.tensor([0, 2, 0]),); r(2, 3), (None, w.tensor([1, 1]))",
)


def _with_put(a: np.ndarray, indices: Indices, values: Any, accumulate: bool) -> np.ndarray:
    out, places = a.copy(), _places(indices)
    try:
        if accumulate:
            np.add.at(out, places, values)
        else:
            out[places] = values
    except (ValueError, TypeError):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(np.shape(values))} cannot be broadcast to indexing result of "
            f"shape {list(out[places].shape)}"
        ) from None
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


@method()
def index_put(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with values written where a tuple of index tensors says; `accumulate` adds them."""
    fills = values._array.size == 1 and all(i is None or i._array.dtype.kind == "b" for i in indices)
    if values.dtype is not self.dtype and not fills:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {self.dtype.word} for the destination "
            f"and {values.dtype.word} for the source."
        )
    return _index_put(self, indices, values, accumulate)


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


def located(self: Tensor, index: Any) -> tuple[Tensor, tuple[Tensor | None, ...] | None]:
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
    out, dim = self, 0
    where: list[Tensor | None] = []  # the index tensors; None for each dimension that is taken whole before one
    covered = 0  # how many dimensions these speak of: a mask of several dimensions speaks of as many
    for place, part in enumerate(parts):
        if part is None:
            out, dim = unsqueeze(out, dim), dim + 1
        elif _is_truth(part):  # a mask over a dimension made for it
            out = unsqueeze(out, dim)
            where += [None] * (dim - covered) + [wrap(np.array([bool(part)]))]
            covered = dim = dim + 1
        elif isinstance(part, slice):
            out, dim = _sliced(out, dim, part, alone), dim + 1
        elif _is_number(part):
            out = _selected(out, dim, int(part), place)
        else:
            lookup = _lookup_of(part, out._array.shape, dim)
            where += [None] * (dim - covered) + [lookup]
            covered = dim = dim + (lookup._array.ndim if lookup._array.dtype.kind == "b" else 1)
    return out, tuple(where) or None


def _lookup_of(part: Any, shape: tuple[int, ...], dim: int) -> Tensor:
    """A part that is looked up element by element, as a tensor; IndexError where it is no index, or no fitting mask."""
    if not isinstance(part, (Tensor, np.ndarray, list, tuple, range)):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {type(part).__name__})"
        )
    index = part if isinstance(part, Tensor) else wrap(np.array(part))
    array = index._array
    if array.dtype.kind not in "iub":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if array.dtype.kind == "b":
        for i, size in enumerate(array.shape):
            if size != shape[dim + i]:
                raise IndexError(
                    f"The shape of the mask {list(array.shape)} at index {i} does not match the shape of the indexed "
                    f"tensor {list(shape)} at index {dim + i}"
                )
    return index


def _is_number(part: Any) -> bool:
    """Whether a part picks one element of a dimension: an int, or a tensor without dimensions that holds one."""
    if isinstance(part, Tensor):
        return not part._array.ndim and part._array.dtype.kind in "iu" and is_batched(part) is None
    return isinstance(part, (int, np.integer)) and not isinstance(part, bool)


def _is_truth(part: Any) -> bool:
    """Whether a part is one truth value, which speaks of no dimension."""
    if isinstance(part, (Tensor, np.ndarray)):
        return not part.ndim and str(part.dtype).endswith("bool")
    return isinstance(part, (bool, np.bool_))


def _spread(parts: tuple[Any, ...], ndim: int) -> list[Any]:
    """The parts with `...` written out."""
    used = 0
    for part in parts:
        if part is not None and part is not Ellipsis and not _is_truth(part):
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


_sort = define(
    "SortBackward0",
    "sorted_values(Tensor self, dim; Kept indices)",
    _taken,
    self="put(grad, self.shape, dim, True, indices)",
    samples="r(4), 0, w.argsort(r(4)); r(2, 3), 1, w.argsort(r(2, 3))",
)
sort_result = pair("sort")


def _order(a: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    if descending:
        a = -a if a.dtype.kind == "f" else ~a  # the least integer and bytes have no negative
    return np.argsort(a, axis=dim, kind="stable") if a.ndim else np.zeros((), np.int64)


_argsort = define("argsort", "argsort(Tensor self, dim, descending)", _order)


@method()
def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """The indices that put the elements in order along `dim`; equal elements keep their order."""
    return _argsort(self, dim_index(dim, self._array.ndim), descending)


@method()
def sort(self: Tensor, dim: int = -1, descending: bool = False) -> sort_result:
    """(values, indices): the elements in order along `dim`, and where each came from."""
    indices = argsort(self, dim, descending)
    return sort_result(_sort(self, dim_index(dim, self._array.ndim), indices), indices)
