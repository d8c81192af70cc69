"""Other shapes of the same elements, as views where possible: view, reshape, expand, squeeze, flatten."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from .. import errors
from ..autograd.tensor import Tensor
from .copies import _in_rows
from .core import checks
from .core.checks import dim_index, dims_of, ints_of, numpy_names, tensors_only
from .core.op import define, method, operation
from .core.registry import in_formulas

Shape = tuple[int, ...]
Ints = tuple[int, ...]
_view = define(
    "view(Tensor self, size)", lambda a, size: a.reshape(size), kind="view", self="reshape(grad, self.shape)"
)
_unsafe_view = define(
    "unsafe_view(Tensor self, size)", lambda a, size: a.reshape(size), self="reshape(grad, self.shape)"
)
_reshape_alias = define(
    "reshape_alias(Tensor self, size)", lambda a, size: a.reshape(size), kind="view", self="reshape(grad, self.shape)"
)


def _broadcast(a: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """Broadcast over the same memory, which may be written to as the memory itself may."""
    if a.shape == size:
        return a[...]
    if a.size and a.flags.c_contiguous:  # ten times as fast as np.broadcast_to
        return np.ndarray(size, a.dtype, a, 0, _steps(a.shape, a.strides, len(size)))
    spread = np.broadcast_to(a, size)
    spread.setflags(write=a.flags.writeable)
    return spread


@lru_cache(1000)
def _steps(shape: Shape, strides: Shape, ndim: int) -> Shape:
    """Return the strides of what is broadcast: 0 where there is one element."""
    steps = [0 if n == 1 else step for n, step in zip(shape, strides, strict=True)]
    return (0,) * (ndim - len(shape)) + tuple(steps)


_expand = define("expand(Tensor self, size)", _broadcast, kind="view", self="sum_to(grad, self.shape)")
_unsqueeze = define(
    "unsqueeze(Tensor self, dim)",
    lambda a, dim: a[(slice(None),) * (dim % (a.ndim + 1)) + (None,)],
    batch="new dims",
    kind="view",
    self="squeeze(grad, dim)",
)
_squeeze = define(
    "squeeze(Tensor self, dim)",
    lambda a, dim: a.squeeze(dim) if a.ndim and a.shape[dim] == 1 else a[...],
    node="SqueezeBackward1",
    kind="view",
    self="reshape(grad, self.shape)",
)
_squeeze_dims = define(
    "squeeze_dims(Tensor self, dim)",
    lambda a, dim: a.squeeze(tuple([d for d in dim if a.shape[d] == 1])) if a.ndim else a[...],
    node="SqueezeBackward2",
    kind="view",
    self="reshape(grad, self.shape)",
)
_squeeze_all = define(
    "squeeze_all(Tensor self)",
    lambda a: a.squeeze(),
    node="SqueezeBackward0",
    kind="view",
    self="reshape(grad, self.shape)",
)
in_formulas("reshape", lambda a, shape: a.reshape(shape), lambda grad, shape: reshape(grad, shape))


@operation()
def reshape(self: Tensor, *given: Any, shape: Any = None) -> Tensor:
    """Return the same elements in another shape: a view if possible, otherwise a copy.

    Sizes are given as ints or as one tuple. One of them may be -1: it's computed from the others.

    Example:
        >>> torch.arange(6).reshape(2, -1)
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
    size = _size_of(self, "reshape", "shape", given, shape)
    if self._array.flags.c_contiguous:
        return _view(self, size)
    moved = self._array.reshape(size)
    if moved.size and not np.may_share_memory(moved, self._array):
        return _unsafe_view(_in_rows(self), size)
    return _reshape_alias(self, size)


@method()
def view(self: Tensor, *given: Any, size: Any = None) -> Tensor:
    """Return the same elements in another shape, over the same memory.

    One size may be -1: it's computed from the others. `reshape` copies where necessary.

    Raises:
        RuntimeError: if the elements aren't in the right order in memory, or the number of elements
            differs.
    """
    if not given and size is None:
        raise TypeError(
            "view() received an invalid combination of arguments - got (), but expected one "
            "of:\n * (torch.dtype dtype)\n * (tuple of ints size)\n"
        )
    size = _size_of(self, "view", "size", given, size)
    a = self._array
    if not a.flags.c_contiguous and a.size and not np.may_share_memory(a.reshape(size), a):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return _view(self, size)


@method()
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """Return a view in the shape of the tensor `other`."""
    checks.check_tensor("view_as", "other", 1, other)
    return view(self, *other._array.shape) if other._array.ndim else view(self, ())


def _size_of(t: Tensor, function: str, argument: str, given: tuple[Any, ...], named: Any) -> tuple[int, ...]:
    """Return the requested sizes, of which one may be -1."""
    whole, count = t._array.size, 1
    for n in given:
        if type(n) is not int or n < 0:
            break
        count *= n
    else:
        if count == whole and given and named is None:
            return given
    size = ints_of(function, argument, given, named)
    unknown = size.count(-1)
    if unknown > 1:
        raise RuntimeError("only one dimension can be inferred")
    count = -prod(size) if unknown else prod(size)
    if unknown and not count and not whole:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(size)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    full = tuple([whole // count if n == -1 else n for n in size]) if unknown and count else size
    if prod(full) != whole:
        raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {whole}")
    return full


@method()
def expand(self: Tensor, *given: Any, size: Any = None) -> Tensor:
    """Return a view in which dimensions of size 1 are repeated to the given sizes.

    Sizes are given as ints or as one tuple, called `size`. -1 keeps a size, and additional sizes in
    front add dimensions, for which -1 is refused. No memory is copied, so writing into the result
    raises a RuntimeError where elements repeat: call `clone()` first. The gradient of an element is
    the sum of the gradients of its repetitions.

    Example:
        >>> column = torch.tensor([[1.0], [2.0]], requires_grad=True)
        >>> column.expand(2, 3).sum().backward()
        >>> column.grad
        tensor([[3.],
                [3.]])
    """
    return _expand(self, checks.expanded(self, ints_of("expand", "size", given, size)))


@operation()
@numpy_names
def unsqueeze(self: Tensor, dim: int) -> Tensor:
    """Return a view of the tensor with a new dimension of size 1, which becomes dimension `dim`.

    Example:
        >>> t = torch.zeros(3)
        >>> t.unsqueeze(0).shape, t.unsqueeze(1).shape
        (torch.Size([1, 3]), torch.Size([3, 1]))
    """
    return _unsqueeze(self, dim_index(dim, self._array.ndim + 1))


@operation()
@numpy_names
def squeeze(self: Tensor, dim: Any = None) -> Tensor:
    """Return a view of the tensor with dimensions of size 1 removed.

    Args:
        dim: One dimension or several; each is removed only if its size is 1. If omitted, all
            dimensions of size 1 are removed.
    """
    if isinstance(dim, (tuple, list)):
        return _squeeze_dims(self, dims_of(dim, self._array.ndim) if dim else ())
    return _squeeze_all(self) if dim is None else _squeeze(self, dim_index(dim, self._array.ndim))


@operation()
def flatten(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Return the tensor with the dimensions from `start_dim` to `end_dim` merged into one.

    The result is a view if possible, otherwise a copy. `flatten(1)` keeps the batch dimension.
    """
    settled = _flat if type(start_dim) is type(end_dim) is int else _flat.__wrapped__
    size = settled(self._array.shape, start_dim, end_dim)
    if size is None:
        return self
    return _view(self, size) if self._array.flags.c_contiguous else reshape(self, size)


@lru_cache(1000)
def _flat(shape: Shape, start_dim: int, end_dim: int) -> Shape | None:
    """Return the sizes with those from `start_dim` to `end_dim` as one; None if that is one already."""
    start, end = dim_index(start_dim, len(shape)), dim_index(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if shape and start == end:
        return None
    return (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :])


@operation()
def unflatten(self: Tensor, dim: int, sizes: Any) -> Tensor:
    """Return the tensor with dimension `dim` split into several dimensions of the given sizes.

    One of the sizes may be -1: it's computed from the others.
    """
    shape, sizes = self._array.shape, ints_of("unflatten", "sizes", (sizes,), position=2)
    dim = dim_index(dim, len(shape))
    if not shape:
        raise RuntimeError("unflatten got an unexpected error:\n" + errors.NO_DIMS.format(dim))
    known = prod([n for n in sizes if n != -1])
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if known != shape[dim] and (-1 not in sizes or not known or shape[dim] % known):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} "
            f"({shape[dim]}) in the input tensor"
        )
    return view(self, shape[:dim] + tuple([shape[dim] // known if n == -1 else n for n in sizes]) + shape[dim + 1 :])


@operation()
def ravel(self: Tensor) -> Tensor:
    """Return all elements as a vector: a view if they are in order in memory, otherwise a copy."""
    return view(self.contiguous(), -1)


@operation()
def broadcast_to(self: Tensor, size: Any) -> Tensor:
    """Return a view of the tensor in the shape `size`, with dimensions of size 1 repeated."""
    return expand(self, size)


@method()
@tensors_only()
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Return a view in which dimensions of size 1 are repeated to the shape of `other`; see `expand`."""
    return expand(self, other._array.shape)


@method()
@tensors_only()
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """Return the elements in the shape of `other`."""
    return reshape(self, other._array.shape)
