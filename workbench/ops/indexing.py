"""Taking parts of a tensor: `x[i]`, `x[a:b]`, `x[None]`, `x[mask]`, `x[indices]`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..autograd.tensor import Tensor, wrap
from ..autograd.warnings import warn
from .creation import index_array
from .declare import define, in_formulas, method
from .index_refusals import SEQUENCE, as_masks, check_lookup, check_mask, check_put
from .layout import copied
from .looking import is_batched
from .movement import _alias, unsqueeze

Indices = tuple[np.ndarray | None, ...]
MANY = 32  # a sequence this long is one of indices, whatever it holds


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


def _index_backward(grad: np.ndarray, sizes: tuple[int, ...], indices: Indices) -> np.ndarray:
    out = np.zeros(sizes, grad.dtype)
    np.add.at(out, as_masks(indices), grad)  # an element taken twice receives both gradients
    return out


def _looked_up(a: np.ndarray, indices: Indices) -> np.ndarray:
    places = as_masks(indices)
    try:
        return a[places]
    except IndexError as error:
        check_lookup(a.shape, places)
        raise IndexError(str(error).replace("axis", "dimension")) from None


_index = define(
    "IndexBackward0",
    "index(Tensor self, Kept[] indices)",
    _looked_up,
    self="index_backward(grad, self.shape, indices)",
    samples="r(4), (w.tensor([0, 2, 0]),); r(2, 3), (None, w.tensor([1, 1]))",
)


def _with_put(a: np.ndarray, indices: Indices, values: Any, accumulate: bool) -> np.ndarray:
    out, places = copied(a), as_masks(indices)
    if np.ndim(values) > 1 and len(values) == 1:  # NumPy overlooks leading dimensions
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


@method()
def index_put(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with values written where a tuple of index tensors says; `accumulate` adds them."""
    check_put("index_put", indices, values)
    return put(self, tuple(indices), values, accumulate)


def put(self: Tensor, indices: tuple[Tensor | None, ...], values: Tensor, accumulate: bool) -> Tensor:
    """The same, where None stands for all of a dimension."""
    masks = [i for i in indices if i is not None and i._array.dtype.kind in "bu"]
    fills = not accumulate and values._array.size == 1 and len(masks) == 1 == sum([i is not None for i in indices])
    if fills:  # as PyTorch then does
        check_mask(masks[0])
    elif values.dtype is not self.dtype:
        places = as_masks(tuple([None if i is None else i._array for i in indices]))
        check_lookup(self._array.shape, places, values._array)
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
    parts = _spread(index if isinstance(index, tuple) else _parts_of(index), self._array.ndim)
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
            out = _selected(out, dim, operator.index(part), place)
        else:
            lookup = _lookup_of(part)
            where += [None] * (dim - covered) + [lookup]
            covered = dim = dim + (lookup._array.ndim if lookup._array.dtype.kind in "bu" else 1)
    return out, tuple(where) or None


def _is_sequence(part: Any) -> bool:
    """Whether a part holds others, as CPython sees it."""
    return hasattr(type(part), "__getitem__") and not isinstance(part, (dict, Tensor, np.generic))


def _parts_of(index: Any) -> tuple[Any, ...]:
    """What an index that is no tuple consists of: a short sequence of more than numbers counts as a tuple."""
    if _is_sequence(index) and type(index) is not np.ndarray and len(index) < MANY:
        for part in index:
            if part is None or part is Ellipsis or isinstance(part, (slice, Tensor)) or _is_sequence(part):
                warn(SEQUENCE)
                return tuple(index)
    return (index,)


def _lookup_of(part: Any) -> Tensor:
    """A part that is looked up element by element, as a tensor; IndexError where it is no index."""
    if not isinstance(part, Tensor):
        if not _is_sequence(part):
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
                f"(got {type(part).__name__})"
            )
        return wrap(index_array(part))
    if part._array.dtype.kind not in "iub":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return part


def _is_number(part: Any) -> bool:
    """Whether a part picks one element of a dimension: an int, or a tensor without dimensions that holds one."""
    if isinstance(part, Tensor):
        return not part._array.ndim and part._array.dtype.kind == "i" and is_batched(part) is None
    if isinstance(part, np.ndarray):
        return not part.ndim and part.dtype.kind == "i"
    return hasattr(part, "__index__") and not isinstance(part, bool)


def _is_mask(part: Any) -> bool:
    """Whether a part is a mask; bytes count as one."""
    return isinstance(part, (Tensor, np.ndarray)) and str(part.dtype).removeprefix("torch.") in ("bool", "uint8")


def _is_truth(part: Any) -> bool:
    """Whether a part is one truth value, which speaks of no dimension."""
    if isinstance(part, (Tensor, np.ndarray)):
        return not part.ndim and _is_mask(part)
    return isinstance(part, (bool, np.bool_))


def _spread(parts: tuple[Any, ...], ndim: int) -> list[Any]:
    """The parts with `...` written out."""
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
    size = t._array.shape[dim]
    start, end, step = part.indices(size)
    if step < 0:
        raise ValueError("step must be greater than zero")
    from_begin = part.start is None or operator.index(part.start) == 0  # as it is written: PyTorch makes a view for -3:
    to_end = part.stop is None or operator.index(part.stop) >= size
    if not alone and from_begin and to_end and step == 1:
        return t
    return _slice(t, dim, start, max(end, start), step)


def _selected(t: Tensor, dim: int, index: int, place: int) -> Tensor:
    size = t._array.shape[dim]
    if not -(2**63) <= index < 2**63:
        raise ValueError("Overflow when unpacking long long")
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {place} with size {size}")
    return _select(t, dim, index)
