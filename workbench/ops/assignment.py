"""Writing into part of a tensor: `t[index] = value`, and `index_put_`."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ..autograd.state import quietly
from ..autograd.tensor import Tensor, bump, wrap
from ..errors import kind_of
from ..events import listeners
from .core.checks import fitting
from .core.op import method, operation
from .core.scalars import SCALARS
from .indexing import located, plain_view
from .inplace import write
from .lookup import _put_one, check_put, put
from .plain_writes import BOOL, _is_quiet, _is_recorded, _quiet_operand
from .shape import expand, unsqueeze, view


@operation()
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Write `values` at `indices`, a tuple of index tensors, as `t[i, j] = values` does.

    Args:
        accumulate: Add the values to the elements instead of overwriting them, as in `index_put`.
    """
    check_put("index_put_", indices, values)
    return _put_in(self, tuple(indices), values, accumulate)


def _put_in(self: Tensor, indices: tuple[Tensor | None, ...], values: Tensor, accumulate: bool = False) -> Tensor:
    masks = [i._array.dtype.kind == "b" for i in indices if i is not None]

    def putting(before: Tensor, indices: Any, values: Tensor) -> Tensor:
        return put(before, indices, values, accumulate)

    if masks == [True] and values._array.size == 1 and not accumulate:
        return write(self, "index_put_", _put_one, indices, values)
    return write(self, "index_put_", putting, indices, values)


@method("__setitem__")
def setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write into part of the tensor, for `t[index] = value`.

    Index tensors and masks choose single elements; other indices choose a view to write into.
    """
    if index is False:
        return
    if not listeners and _is_quiet(self) and _set_quietly(self, index, value):  # else the write to a view is reported
        return
    if index is True:
        part, where = unsqueeze(self, 0), None
    else:
        alone = type(index) is int or isinstance(index, slice)
        parts = (index,) if alone and self._array.ndim else index
        part, where = plain_view(self, parts), None
        if part is None:
            part, where = located(self, parts)
    if not isinstance(value, Tensor):
        if not isinstance(value, (bool, int, float, complex, np.integer)):
            raise TypeError(f"can't assign a {kind_of(value)} to a torch.{self.dtype.word}Tensor")
        value = (
            value
            if self.dtype.is_floating_point and type(value) is not complex
            else fitting(cast(Any, value), self.dtype)
        )
        value = wrap(quietly(np.asarray, value, self._array.dtype))
    if where is not None:
        lead = _leading_ones(value)
        _put_in(part, where, view(value, value._array.shape[lead:]) if lead else value)
    elif part._array.shape == value._array.shape:
        part.copy_(value)
    elif not value._array.ndim:
        part.fill_(value)
    else:
        value = view(value, value._array.shape[_leading_ones(value) :])
        part.copy_(value if value._array.shape == part._array.shape else expand(value, part._array.shape))


def _set_quietly(t: Tensor, index: Any, value: Any) -> bool:
    """Write what fits a part that ints, slices or a mask name; False where there is more to do."""
    a, given, kind = t._array, _quiet_operand(t, value), type(index)
    if not a.ndim or (given is None and not (type(value) is Tensor and _is_plain(index))):
        return False
    where: Any = index
    if kind is Tensor:
        where = index._array
        if where.dtype is not BOOL or where.shape != a.shape or type(value) not in SCALARS:
            return False
    elif kind is tuple:
        if not all([_is_plain(each) for each in index]):
            return False
    elif not _is_plain(index):
        return False
    try:
        if given is None:  # `t[i] += ...` writes the part into itself
            if not _is_same(a[where], value):
                return False
        elif type(value) not in SCALARS and a[where].shape != given.shape:
            return False
        else:
            a[where] = given
    except IndexError:
        return False
    bump(t)
    return True


def _is_same(part: Any, value: Tensor) -> bool:
    """Return True if a tensor without history is just this part of an array."""
    b = value._array
    return (
        type(part) is np.ndarray
        and part.dtype is b.dtype
        and part.shape == b.shape
        and part.strides == b.strides
        and part.__array_interface__["data"] == b.__array_interface__["data"]
        and not ((value._rg or value._meta is not None) and _is_recorded(value))
    )


def _is_plain(index: Any) -> bool:
    """Return True if it is an int, or a slice that goes forwards."""
    if type(index) is slice:
        return index.step is None or (type(index.step) is int and index.step > 0)
    return type(index) is int


def _leading_ones(t: Tensor) -> int:
    """Return how many dimensions of size 1 come first."""
    for i, n in enumerate(t._array.shape):
        if n != 1:
            return i
    return t._array.ndim
