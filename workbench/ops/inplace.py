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
from ..autograd.tensor import InferenceTensor, Tensor, bump, storage_of, wrap
from ..autograd.views import check_write, rebase
from ..events import emit, listeners
from . import choice, pointwise
from .declare import define, method
from .indexing import index_add as index_add_op
from .indexing import index_put, located
from .shapes import dim_index


def write(t: Tensor, name: str, op: Callable[..., Tensor], *args: Any) -> Tensor:
    """Write `op(t, *args)` into `t`, recorded if wanted, and return `t`."""
    modes = local.modes
    if type(t) is InferenceTensor and not modes.inference:
        raise RuntimeError(errors.INFERENCE_WRITE)
    if modes.mutation is not None:
        modes.mutation.before_write(t)
    recorded = t.requires_grad or any(isinstance(a, Tensor) and a.requires_grad for a in args)
    tracked = recorded and local.modes.grad and t._array.dtype.kind == "f"
    if not tracked:
        r = op(_before(t, requires_grad=False), *args)
        _fill(t, r, name)
    else:
        check_write(t)
        storage = storage_of(t)
        before = _before(t, t.requires_grad)
        r = op(before, *args)
        _fill(t, r, name)
        node = r._fn
        if node.keeps_result:
            node.s_result, node.c_result, node.v_result = t._array, storage, storage.version
        rebase(t, node, r._nr)
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
    ("clamp_", choice.clamp),
):
    _in_place(_name, _op)

Tensor.__iadd__, Tensor.__isub__, Tensor.__imul__ = Tensor.add_, Tensor.sub_, Tensor.mul_
Tensor.__itruediv__, Tensor.__ipow__ = Tensor.div_, Tensor.pow_


_fill_op = define(
    "FillBackward2",
    "fill(Tensor self, value)",
    np.full_like,
    self="grad * 0",
    samples="r(3), 2.0",
)
_zero = define("ZeroBackward0", "zero(Tensor self)", np.zeros_like, self="grad * 0", samples="r(3)")
_copy = define(
    "torch::autograd::CopyBackwards",
    "copy(Tensor self, Tensor src)",
    lambda a, src: np.broadcast_to(src, a.shape).astype(a.dtype),
    kind="assign",
    self="grad * 0",
    src="grad",
    samples="r(2, 3), r(3); r(3), r(3)",
)


@method()
def fill_(self: Tensor, value: float | Tensor) -> Tensor:
    """Write one number into every element; the tensor no longer depends on what it was."""
    return write(self, "fill_", _copy if isinstance(value, Tensor) else _fill_op, value)


@method()
def zero_(self: Tensor) -> Tensor:
    """Write zeros into every element."""
    return write(self, "zero_", _zero)


@method()
def copy_(self: Tensor, src: Tensor) -> Tensor:
    """Write another tensor's values, broadcast and cast, into this one."""
    return write(self, "copy_", _copy, src)


@method()
def index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Add source's slices to those of this tensor that `index` names along `dim`."""
    return write(self, "index_add_", lambda t, s: index_add_op(t, s, dim_index(dim, t._array.ndim), index), source)


@method("__setitem__")
def setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write into part of the tensor: through a view of it, and element by element where index tensors are used."""
    part, where = located(self, (index,) if isinstance(index, slice) else index)  # x[:] = is a write into x itself
    if not isinstance(value, Tensor):
        value = wrap(np.asarray(value, dtype=self._array.dtype))
    if where is None:
        part.copy_(value)
    else:
        write(part, "index_put_", lambda t, v: index_put(t, v, where), value)
