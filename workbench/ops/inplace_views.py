"""Tensors that become another view of their memory, in place: `t_`, `transpose_`, `unsqueeze_`, `squeeze_`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.forward_ad import set_tangent, tangent_of
from ..autograd.levels import Lifted, below, place_of_write
from ..autograd.state import local
from ..autograd.tensor import Tensor, bump, cached_grad_fn, meta_of, part_of
from ..autograd.views import check_write
from ..events import emit, listeners
from .core.checks import dim_index, dims_of
from .core.op import define, method
from .dimensions import _t, _transpose, check_t
from .shape import _squeeze, _squeeze_all, _squeeze_dims, _unsqueeze


def reshaped(t: Tensor, name: str, op: Callable[..., Tensor], *args: Any) -> Tensor:
    """Make `t` what `op(t, *args)` is, recorded if wanted, and return `t`; its version counts one more write."""
    modes = local.modes
    if modes.levels:
        level = place_of_write(t, (t,), name)
        height = level.number if level else 0
        if height < len(modes.levels):
            with below(modes.levels[height]):
                return reshaped(t, name, op, *args)
    tracked = t.requires_grad and modes.grad and not modes.inference
    if tracked:
        check_write(t)
    seen = t._again() if type(t) is Lifted else part_of(t, t._array)
    seen._rg, seen._fn, seen._nr = tracked, t.grad_fn if tracked else None, t._nr
    tangent = tangent_of(t)
    if tangent is not None:
        meta_of(seen).tangent = tangent
    new: Any = op(seen, *args)
    t._array = new._array
    if type(t) is Lifted:
        t._value, t._given = new._value, new._given
    bump(t)
    set_tangent(t, tangent_of(new))
    node = cached_grad_fn(new)
    if tracked:
        if t._base is None:
            t._fn = node
        else:
            t._meta.view_fn, t._meta.attr_version = node, t._version
        t._nr, t._rg = 0, True
    if listeners:
        emit(("wrote", t, name, node))
    return t


def _view_in_place(node_name: str, like: Callable[..., Any]) -> Callable[..., Any]:
    """Return a view's op under the name that PyTorch gives the node of its in-place kind."""
    op = like.op
    name, _, variant = op.name.partition("_")
    signature = f"{name}_{variant and '_' + variant}" + op.signature[len(op.name) :]
    batch = vars(op).get("batch")  # as declared: to ask the op would take its signature apart
    return define(signature, op.forward, node=node_name, kind="view", batch=batch, **op.formulas)


_t_ = _view_in_place("TBackward1", _t)
_transpose_ = _view_in_place("TransposeBackward1", _transpose)
_unsqueeze_ = _view_in_place("UnsqueezeBackward1", _unsqueeze)
_squeeze_all_ = _view_in_place("SqueezeBackward3", _squeeze_all)
_squeeze_ = _view_in_place("SqueezeBackward4", _squeeze)
_squeeze_dims_ = _view_in_place("SqueezeBackward5", _squeeze_dims)


def _transposed(t: Tensor, dim0: int, dim1: int) -> Tensor:
    return _transpose_(t, dim_index(dim0, t._array.ndim), dim_index(dim1, t._array.ndim))


def _unsqueezed(t: Tensor, dim: int) -> Tensor:
    return _unsqueeze_(t, dim_index(dim, t._array.ndim + 1))


def _squeezed(t: Tensor, dim: Any) -> Tensor:
    if dim is None:
        return _squeeze_all_(t)
    if isinstance(dim, (tuple, list)):
        return _squeeze_dims_(t, dims_of(dim, t._array.ndim) if dim else ())
    return _squeeze_(t, dim_index(dim, t._array.ndim))


@method()
def t_(self: Tensor) -> Tensor:
    """Transpose a matrix in place; tensors with fewer dimensions stay the same."""
    check_t(self, "t_")
    return reshaped(self, "t_", _t_)


@method()
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange the dimensions `dim0` and `dim1` in place."""
    return reshaped(self, "transpose_", _transposed, dim0, dim1)


@method()
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """Insert a dimension of size 1 at `dim`, in place."""
    return reshaped(self, "unsqueeze_", _unsqueezed, dim)


@method()
def squeeze_(self: Tensor, dim: Any = None) -> Tensor:
    """Remove dimension `dim` (or several) if its size is 1, or all dimensions of size 1, in place."""
    return reshaped(self, "squeeze_", _squeezed, dim)
