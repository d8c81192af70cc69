"""Operations that write into a tensor: each runs its ordinary op and then writes the result in place.

The op runs on the tensor as it was before the write, so that what its node saves is right; the tensor then takes the
result's place in the graph, and its version counts one more write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors
from ..autograd.state import local
from ..autograd.tensor import Tensor, bump, storage_of, wrap
from ..events import emit, listeners
from . import pointwise
from .declare import method
from .shapes import dim_index


def _refuse_tracked(t: Tensor) -> None:
    """RuntimeError where a write would be lost to the gradient: a leaf, or a view of one."""
    base = t._base
    if base is not None and base.requires_grad and base.is_leaf and t.requires_grad:
        raise RuntimeError(errors.VIEW_OF_LEAF_IN_PLACE)
    if t.requires_grad and t.is_leaf:
        raise RuntimeError(errors.LEAF_IN_PLACE)
    if base is not None:
        raise NotImplementedError(
            "this version of the workbench cannot record a write through a view; write into the tensor itself, or use "
            "the out-of-place operation."
        )


def write(t: Tensor, name: str, op: Callable[..., Tensor], *args: Any) -> Tensor:
    """Write `op(t, *args)` into `t`, recorded if wanted, and return `t`."""
    tracked = local.modes.grad and (t.requires_grad or any(isinstance(a, Tensor) and a.requires_grad for a in args))
    if not tracked:
        r = op(_before(t, requires_grad=False), *args)
        _fill(t, r, name)
    else:
        _refuse_tracked(t)
        storage = storage_of(t)
        before = _before(t, t.requires_grad)
        r = op(before, *args)
        _fill(t, r, name)
        t._rg, t._fn, t._nr = r._rg, r._fn, r._nr
        node = r._fn
        if node is not None and node.keeps_result:
            node.s_result, node.c_result, node.v_result = t._array, storage, storage.version
    if listeners:
        emit(("wrote", t, name))
    return t


def _before(t: Tensor, requires_grad: bool) -> Tensor:
    """A copy of the tensor as it is now, at the same place in the graph."""
    before = wrap(t._array.copy() if requires_grad else t._array, requires_grad)
    if requires_grad:
        before._fn, before._nr = t.grad_fn, t._nr
    return before


def _fill(t: Tensor, r: Tensor, name: str) -> None:
    if r._array.shape != t._array.shape:
        raise RuntimeError(
            f"output with shape {list(t._array.shape)} doesn't match the broadcast shape {list(r._array.shape)}"
        )
    if r.dtype.rank > t.dtype.rank:
        words = {"float64": "Double", "float32": "Float", "int64": "Long"}
        got, want = (words.get(x.dtype.name, x.dtype.word) for x in (r, t))
        raise RuntimeError(f"result type {got} can't be cast to the desired output type {want}")
    t._array[...] = r._array
    bump(t)


def _in_place(name: str, op: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def writing(self: Tensor, *args: Any) -> Tensor:
        return write(self, name, op, *args)

    writing.__name__ = name
    writing.__doc__ = f"{op.__name__}, written into the tensor itself."
    setattr(Tensor, name, writing)
    return writing


for _name, _op in (
    ("add_", pointwise.add),
    ("sub_", pointwise.sub),
    ("mul_", pointwise.mul),
    ("div_", pointwise.div),
    ("exp_", pointwise.exp),
    ("neg_", pointwise.neg),
    ("relu_", pointwise.relu),
    ("sqrt_", pointwise.sqrt),
    ("pow_", pointwise.pow),
    ("clamp_", pointwise.clamp),
):
    _in_place(_name, _op)

Tensor.__iadd__, Tensor.__isub__, Tensor.__imul__ = Tensor.add_, Tensor.sub_, Tensor.mul_
Tensor.__itruediv__, Tensor.__ipow__ = Tensor.div_, Tensor.pow_


@method()
def fill_(self: Tensor, value: float) -> Tensor:
    """Write one number into every element; the tensor no longer depends on what it was."""
    return write(
        self, "fill_", lambda t, v: t * 0 + v if t.requires_grad else wrap(np.full_like(t._array, v)), value
    )


@method()
def zero_(self: Tensor) -> Tensor:
    """Write zeros into every element."""
    return fill_(self, 0)


@method()
def copy_(self: Tensor, src: Tensor) -> Tensor:
    """Write another tensor's values, broadcast and cast, into this one."""
    return write(self, "copy_", lambda t, s: s.to(t.dtype).expand(t._array.shape).clone(), src)


@method()
def index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Add source's slices to those of this tensor that `index` names along `dim`."""
    dim = dim_index(dim, self._array.ndim)

    def added(t: Tensor, s: Tensor) -> Tensor:
        out = np.moveaxis(t._array.copy(), dim, 0)
        np.add.at(out, index._array, np.moveaxis(s._array, dim, 0))
        return wrap(np.moveaxis(out, 0, dim))

    if local.modes.grad and (self.requires_grad or source.requires_grad):
        raise NotImplementedError(
            "this version of the workbench has no gradient of index_add_; use it under no_grad."
        )
    return write(self, "index_add_", added, source)


@method("__setitem__")
def setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write into part of the tensor, as if the part were written in place."""
    tracked = local.modes.grad and (self.requires_grad or (isinstance(value, Tensor) and value.requires_grad))
    if tracked:
        if self.requires_grad and self.is_leaf:
            raise RuntimeError(errors.VIEW_OF_LEAF_IN_PLACE)
        raise NotImplementedError(
            "this version of the workbench cannot record a write into part of a tensor; use where() or cat()."
        )
    parts = index if isinstance(index, tuple) else (index,)
    where = tuple(p._array if isinstance(p, Tensor) else p for p in parts)
    self._array[where] = value._array if isinstance(value, Tensor) else value
    bump(self)
    if listeners:
        emit(("wrote", self, "__setitem__"))
