"""Operations that move or copy elements without changing them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from ..autograd.state import local
from ..autograd.tensor import DetachedTensor, Tensor, alias
from ..autograd.warnings import warn
from . import refusals
from .arguments import ints_of
from .declare import define, in_formulas, method
from .layout import copied
from .naming import numpy_names
from .shapes import dim_index, dims_of, sum_to_array

VIEW_ARGUMENTS = (
    "view() received an invalid combination of arguments - got (), but expected one of:\n * (torch.dtype dtype)\n "
    "* (tuple of ints size)\n"
)

clone, _in_rows = (
    define("CloneBackward0", f"{name}(Tensor self)", how, batch="pointwise", self="grad", samples="r(3)")
    for name, how in (("clone", copied), ("contiguous_clone", lambda a: a.copy()))
)
_view = define(
    "ViewBackward0",
    "view(Tensor self, size)",
    lambda a, size: a.reshape(size),
    kind="view",
    self="reshape(grad, self.shape)",
    samples="r(2, 3), (6,); r(6), (3, 2)",
)
_unsafe_view = define(
    "UnsafeViewBackward0",
    "unsafe_view(Tensor self, size)",
    lambda a, size: a.reshape(size),
    self="reshape(grad, self.shape)",
    samples="r(2, 3), (6,)",
)
_reshape_alias = define(
    "ReshapeAliasBackward0",
    "reshape_alias(Tensor self, size)",
    lambda a, size: a.reshape(size),
    kind="view",
    self="reshape(grad, self.shape)",
    samples="r(2, 3), (6,)",
)
_transpose = define(
    "TransposeBackward0",
    "transpose(Tensor self, dim0, dim1)",
    lambda a, dim0, dim1: a.swapaxes(dim0, dim1) if a.ndim else a[...],
    kind="view",
    self="transpose(grad, dim0, dim1)",
    samples="r(2, 3), 0, 1; r(2, 3, 2), 0, -1",
)
_t = define("TBackward0", "t(Tensor self)", lambda a: a.T, kind="view", self="t(grad)", samples="r(2, 3)")
_permute = define(
    "PermuteBackward0",
    "permute(Tensor self, dims)",
    lambda a, dims: a.transpose(dims),
    kind="view",
    self="permute(grad, inverse(dims))",
    samples="r(2, 3, 4), (2, 0, 1)",
)
Tensor.clone = clone
in_formulas("inverse", lambda dims: tuple(np.argsort(dims)), lambda dims: tuple(np.argsort(dims).tolist()))


def _spread(a: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """Broadcast over the same memory, which may be written to as the memory itself may."""
    if a.size and a.flags.c_contiguous:  # ten times as fast as np.broadcast_to
        lead = len(size) - a.ndim
        steps = [0 if n == 1 else s for n, s in zip(a.shape, a.strides, strict=True)]
        return np.ndarray(size, a.dtype, a, 0, (0,) * lead + tuple(steps))
    spread = np.broadcast_to(a, size)
    spread.setflags(write=a.flags.writeable)
    return spread


_expand = define(
    "ExpandBackward0",
    "expand(Tensor self, size)",
    _spread,
    kind="view",
    self="sum_to(grad, self.shape)",
    samples="r(3), (2, 3); r(2, 1), (2, 3)",
)
_unsqueeze = define(
    "UnsqueezeBackward0",
    "unsqueeze(Tensor self, dim)",
    np.expand_dims,
    batch="new dims",
    kind="view",
    self="squeeze(grad, dim)",
    samples="r(3), 0; r(2, 3), -1",
)
_squeeze = define(
    "SqueezeBackward1",
    "squeeze(Tensor self, dim)",
    lambda a, dim: a.squeeze(dim) if a.ndim and a.shape[dim] == 1 else a[...],
    kind="view",
    self="reshape(grad, self.shape)",
    samples="r(2, 1), 1; r(2, 1), 0",
)
_squeeze_dims = define(
    "SqueezeBackward2",
    "squeeze_dims(Tensor self, dim)",
    lambda a, dim: a.squeeze(tuple([d for d in dim if a.shape[d] == 1])) if a.ndim else a[...],
    kind="view",
    self="reshape(grad, self.shape)",
    samples="r(2, 1, 1), (1, 2); r(2, 1), (0, 1)",
)
_squeeze_all = define(
    "SqueezeBackward0",
    "squeeze_all(Tensor self)",
    lambda a: a.squeeze(),
    kind="view",
    self="reshape(grad, self.shape)",
    samples="r(2, 1); r(2)",
)
_alias = define("AliasBackward0", "alias(Tensor self)", lambda a: a[...], kind="view", self="grad", samples="r(3)")
in_formulas("sum_to", sum_to_array, lambda grad, shape: grad.sum_to_size(shape))
in_formulas("reshape", np.reshape, lambda grad, shape: reshape(grad, shape))


@method()
def reshape(self: Tensor, *given: Any, shape: Any = None) -> Tensor:
    """The same elements in another shape (one size may be -1): a view where that is possible, else a copy."""
    size = _full_shape(self, ints_of("reshape", "shape", given, shape))
    moved = self._array.reshape(size)
    if moved.size and not np.may_share_memory(moved, self._array):
        return _unsafe_view(_in_rows(self), size)
    return _view(self, size) if self._array.flags.c_contiguous else _reshape_alias(self, size)


@method()
def view(self: Tensor, *given: Any, size: Any = None) -> Tensor:
    """The same elements in another shape, over the same memory; RuntimeError where that is impossible."""
    if not given and size is None:
        raise TypeError(VIEW_ARGUMENTS)
    size = _full_shape(self, ints_of("view", "size", given, size))
    if self._array.size and not np.may_share_memory(self._array.reshape(size), self._array):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return _view(self, size)


@method()
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """A view in the shape of another tensor."""
    if not isinstance(other, Tensor):
        raise TypeError(refusals.not_a_tensor("view_as", "other", 1, other))
    return view(self, other._array.shape)


def _full_shape(t: Tensor, size: tuple[int, ...]) -> tuple[int, ...]:
    if size.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    known = int(np.prod([s for s in size if s != -1], dtype=np.int64))
    if not known and not t._array.size and -1 in size:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(size)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    full = tuple(t._array.size // known if s == -1 and known else s for s in size)
    if int(np.prod(full, dtype=np.int64)) != t._array.size:
        raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {t._array.size}")
    return full


@method()
def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with two dimensions exchanged."""
    ndim = self._array.ndim
    return _transpose(self, dim_index(dim0, ndim), dim_index(dim1, ndim))


@method()
def t(self: Tensor) -> Tensor:
    """The transpose of a matrix; fewer dimensions stay as they are."""
    check_t(self, "t")
    return _t(self)


def check_t(self: Tensor, name: str) -> None:
    """RuntimeError for what has more dimensions than a matrix."""
    if self._array.ndim > 2:
        raise RuntimeError(f"{name}() expects a tensor with <= 2 dimensions, but self is {self._array.ndim}D")


@method()
def permute(self: Tensor, *given: Any, dims: Any = None) -> Tensor:
    """A view with the dimensions in the order given."""
    order = tuple(dim_index(d, self._array.ndim) for d in ints_of("permute", "dims", given, dims))
    refusals.check_permute(self, order)
    return _permute(self, order)


def _reversed(self: Tensor) -> Tensor:
    """A view of a matrix with its dimensions exchanged."""
    if not self._array.ndim:
        told = "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases."
        warn(told)
    elif self._array.ndim != 2:
        warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will "
            "throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.",
        )
    return permute(self, tuple(range(self._array.ndim))[::-1])


Tensor.T = property(_reversed)


def _transposed(self: Tensor) -> Tensor:
    """A view with the last two dimensions exchanged."""
    if not self._array.ndim:
        told = "Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases."
        warn(told)
        return self
    if self._array.ndim == 1:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return transpose(self, -2, -1)


Tensor.mT = property(_transposed)


@method()
def expand(self: Tensor, *given: Any, size: Any = None) -> Tensor:
    """A view in which dimensions of size 1 are repeated (-1 keeps a size)."""
    shape = ints_of("expand", "size", given, size)
    refusals.check_expand(self, shape)
    lead = len(shape) - self._array.ndim
    return _expand(self, tuple(self._array.shape[i - lead] if s == -1 else s for i, s in enumerate(shape)))


@method()
@numpy_names
def unsqueeze(self: Tensor, dim: int) -> Tensor:
    """A view with a dimension of size 1 put in at `dim`."""
    return _unsqueeze(self, dim_index(dim, self._array.ndim + 1))


@method()
@numpy_names
def squeeze(self: Tensor, dim: Any = None) -> Tensor:
    """A view without dimension `dim` (or several) if its size is 1, or without all dimensions of size 1."""
    if isinstance(dim, (tuple, list)):
        return _squeeze_dims(self, dims_of(dim, self._array.ndim) if dim else ())
    return _squeeze_all(self) if dim is None else _squeeze(self, dim_index(dim, self._array.ndim))


@method()
def detach(self: Tensor) -> Tensor:
    """A tensor over the same memory and version counter, without history."""
    return alias(self)


@method()
def detach_(self: Tensor) -> Tensor:
    """Cut the tensor out of its graph, in place; RuntimeError for a view. Inference mode leaves it as it is."""
    if local.modes.inference:
        return self
    if self._base is not None:
        raise RuntimeError(errors.DETACH_VIEW)
    if self._fn is not None and type(self) is Tensor:
        self.__class__ = DetachedTensor
    self._fn, self._nr, self._rg = None, 0, False
    if self._meta is not None:
        self._meta.tangent = None
    return self


@method()
def contiguous(self: Tensor) -> Tensor:
    """The tensor itself if its elements lie in memory in order, else a copy."""
    return self if self._array.flags.c_contiguous else _in_rows(self)
