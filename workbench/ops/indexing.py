"""Taking parts of a tensor, `t[index]`: views by ints and slices, and what is left to look up."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .. import errors
from ..autograd.levels import is_batched
from ..autograd.tensor import Tensor, wrap
from ..errors import warn
from .copies import _alias
from .core.op import define, method
from .creation import index_array
from .lookup import _index
from .shape import _unsqueeze, unsqueeze

Shape = tuple[int, ...]
WHOLE = (slice(None),)
MANY = 32  # a sequence this long is one of indices, whatever it holds


def _at(dim: int, *what: Any) -> tuple[Any, ...]:
    return WHOLE * dim + what


def _zeros_with(shape: tuple[int, ...], where: Any, grad: Any, dtype: Any) -> np.ndarray:
    out = np.zeros(shape, dtype)
    out[where] = grad
    return out


_select = define(
    "select(Tensor self, dim, index)",
    lambda a, dim, index: a[_at(dim, index, ...)],
    kind="view",
    self="select_backward(grad, self.shape, dim, index)",
)
define(
    "select_backward(Tensor grad_output, input_sizes, dim, index)",
    lambda g, sizes, dim, index: _zeros_with(sizes, _at(dim, index), g, np.asarray(g).dtype),
    grad_output="select(grad, dim, index)",
)
_slice = define(
    "slice(Tensor self, dim, start, end, step)",
    lambda a, dim, start, end, step: a[_at(dim, slice(start, end, step))],
    kind="view",
    self="slice_backward(grad, self.shape, dim, start, end, step)",
)
define(
    "slice_backward(Tensor grad_output, input_sizes, dim, start, end, step)",
    lambda g, sizes, dim, start, end, step: _zeros_with(sizes, _at(dim, slice(start, end, step)), g, g.dtype),
    grad_output="slice(grad, dim, start, end, step)",
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
