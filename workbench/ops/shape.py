"""Other shapes and arrangements: views of the same memory, copies with the elements in another order.

At the end, what makes gradients fit their inputs again: summing over broadcast dimensions, putting reduced ones back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from math import prod
from operator import methodcaller
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes, forward_ad, state, views
from ..autograd.anomaly_mode import remember
from ..autograd.node import edge_of, sequence
from ..autograd.state import local
from ..autograd.tensor import DetachedTensor, Size, Tensor, alias
from ..errors import warn
from ..events import emit, listeners
from .core import checks, formats
from .core.checks import FEW, dim_index, dims_of, int_of, ints_of, named, numpy_names, tensors_only
from .core.formats import cloned
from .core.op import define, method, operation
from .core.registry import REGISTRY, abbreviation, in_formulas
from .core.results import copied, in_rows

Shape = tuple[int, ...]
Ints = tuple[int, ...]
clone = define(
    "CloneBackward0",
    "clone(Tensor self, memory_format=None)",
    lambda a, memory_format=None: copied(a) if memory_format is None else cloned(a, memory_format),
    meaning="Return a copy of the tensor: the same shape and elements, its own memory.\n\n"
    "`memory_format` is the order of the elements in memory, such as `channels_last`.",
    batch="pointwise",
    self="grad",
    samples="r(3), None",
    method=True,
)
_in_rows = define(
    "CloneBackward0",
    "contiguous_clone(Tensor self)",
    lambda a: a.copy(),
    batch="in front",
    self="grad",
    samples="r(3)",
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
in_formulas("inverse", *[lambda dims: tuple(sorted(range(len(dims)), key=dims.__getitem__))] * 2)


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


_expand = define(
    "ExpandBackward0",
    "expand(Tensor self, size)",
    _broadcast,
    kind="view",
    self="sum_to(grad, self.shape)",
    samples="r(3), (2, 3); r(2, 1), (2, 3)",
)
_unsqueeze = define(
    "UnsqueezeBackward0",
    "unsqueeze(Tensor self, dim)",
    lambda a, dim: a[(slice(None),) * (dim % (a.ndim + 1)) + (None,)],
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


@operation(also=("swapaxes", "swapdims"))
def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Return a view of the tensor with the dimensions `dim0` and `dim1` exchanged."""
    ndim = self._array.ndim
    return _transpose(self, dim_index(dim0, ndim), dim_index(dim1, ndim))


@operation()
def t(self: Tensor) -> Tensor:
    """Return a view of a matrix with rows and columns exchanged.

    A tensor with fewer than two dimensions is returned as it is.
    """
    check_t(self, "t")
    return _t(self)


def check_t(self: Tensor, name: str) -> None:
    """Raise RuntimeError for more than two dimensions."""
    if self._array.ndim > 2:
        raise RuntimeError(f"{name}() expects a tensor with <= 2 dimensions, but self is {self._array.ndim}D")


@operation()
def permute(self: Tensor, *given: Any, dims: Any = None) -> Tensor:
    """Return a view of the tensor with its dimensions in another order.

    Pass ints or one tuple, called `dims`: with `permute(2, 0, 1)`, dimension 2 becomes the first.

    Example:
        >>> torch.zeros(2, 3, 4).permute(2, 0, 1).shape
        torch.Size([4, 2, 3])
    """
    return _permute(self, _order(self._array.ndim, *ints_of("permute", "dims", given, dims)))


@lru_cache(1000, typed=True)
def _order(ndim: int, *dims: int) -> Shape:
    """Return the dimensions counted from the front; RuntimeError where they are not every one once."""
    order = tuple([dim_index(d, ndim) for d in dims])
    if len(order) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal "
            f"to len(dims) = {len(order)}"
        )
    if len(set(order)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return order


def _reversed(self: Tensor) -> Tensor:
    """Return a view of a matrix with its dimensions exchanged."""
    if self._array.ndim != 2:
        warn(
            (
                "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
                "deprecated and it will throw an error in a future release. Consider `x.mT` to "
                "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` "
                "to reverse the dimensions of a tensor."
            )
            if self._array.ndim
            else ("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.")
        )
        return permute(self, tuple(range(self._array.ndim))[::-1])
    return _permute(self, (1, 0))


def _transposed(self: Tensor) -> Tensor:
    """Return a view with the last two dimensions exchanged."""
    if not self._array.ndim:
        warn("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.")
        return self
    if self._array.ndim == 1:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return transpose(self, -2, -1)


for _name, _getter in (("T", _reversed), ("mT", _transposed)):
    setattr(Tensor, _name, property(_getter))


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
def detach(self: Tensor) -> Tensor:
    """Return a tensor that shares memory with this one, but isn't connected to its graph.

    The result doesn't require grad, so no gradient flows back through it. A write into one of the
    two tensors changes both.
    """
    return alias(self)


@operation()
def detach_(self: Tensor) -> Tensor:
    """Detach the tensor from its graph, in place.

    The tensor no longer requires grad. In inference mode, nothing changes.

    Raises:
        RuntimeError: if the tensor is a view.
    """
    if local.modes.inference:
        return self
    if self._base is not None:
        raise RuntimeError(errors.DETACH_VIEW)
    if self._fn is not None and type(self) is Tensor:
        self.__class__ = DetachedTensor
    if listeners:
        emit(("unrecorded", "detach_", (self,), (self,)))
    self._fn, self._nr, self._rg = None, 0, False
    if self._meta is not None:
        self._meta.tangent = None
    return self


@method()
def contiguous(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """Return the tensor with its elements in order in memory: the tensor itself, or a copy.

    Args:
        memory_format: Another order, such as `channels_last`.
    """
    if memory_format is not None and memory_format is not formats.contiguous_format:
        formats.check_format("contiguous", memory_format)
        if memory_format is formats.preserve_format and not self._array.flags.c_contiguous:
            raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
        formats.check_rank(self._array.ndim, memory_format)
        return self if self.is_contiguous(memory_format=memory_format) else clone(self, memory_format)
    return self if self._array.flags.c_contiguous else _in_rows(self)


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


def _rolled(a: np.ndarray, shifts: Ints, dims: Ints) -> np.ndarray:
    """Return the last elements along each dimension, or of all, in front: `np.roll` takes four times as long."""
    if not dims:
        row = a.reshape(-1)
        before, after = _turn(1, row.size, shifts[0], 0)
        return np.concatenate((row[after], row[before])).reshape(a.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        before, after = _turn(a.ndim, a.shape[dim], shift, dim)
        a = np.concatenate((a[after], a[before]), dim)
    return a


@lru_cache(1000)
def _turn(ndim: int, size: int, shift: int, dim: int) -> tuple[tuple[slice, ...], ...]:
    """Return the indices of the elements that come to stand last, and of those that come in front."""
    cut, lead = size - shift % (size or 1), (slice(None),) * dim
    return (*lead, slice(cut)), (*lead, slice(cut, None))


@lru_cache(100)
def _backwards(ndim: int, dims: Shape) -> tuple[slice, ...]:
    """Return the index that reverses some dimensions."""
    return tuple([slice(None, None, -1) if d in dims else slice(None) for d in range(ndim)])


_flip = define(
    "FlipBackward0",
    "flip(Tensor self, dims)",
    lambda a, dims: copied(a[_backwards(a.ndim, dims)]),
    self="flip(grad, dims)",
    samples="r(2, 3), (0, 1); r(2, 3), (1,); r(), ()",
)
_roll = define(
    "RollBackward0",
    "roll(Tensor self, shifts, dims)",
    in_rows(lambda a, *how: _rolled(a, *how)),
    self="roll(grad, backwards(shifts), dims)",
    samples="r(4), (1,), (); r(2, 3), (1,), (); r(2, 3), (1, -2), (0, 1)",
)
in_formulas("backwards", *[lambda shifts: tuple(-s for s in shifts)] * 2)


def _tiles(repeats: Shape, shape: Shape) -> Shape:
    """Return a repeated tensor's shape with each dimension taken apart: how often, how many; and so on."""
    full = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    return tuple(n for both in zip(repeats, full, strict=True) for n in both)


in_formulas("tiles", _tiles, _tiles)
in_formulas("every_other", *[lambda repeats: tuple(range(0, 2 * len(repeats), 2))] * 2)
in_formulas("all_of", all, all)
abbreviation("over_tiles(g, repeats, shape)", "sum_dim(reshape(g, tiles(repeats, shape)), every_other(repeats), False)")
_repeat = define(
    "RepeatBackward0",
    "repeat(Tensor self, repeats)",
    np.tile,
    self="reshape(over_tiles(grad, repeats, self.shape), self.shape) if all_of(repeats) else zeros(self.shape, grad)",
    samples="r(3), (2, 2); r(2, 3), (1, 2); r(), (3,)",
)


def _one_triangle(a: np.ndarray, diagonal: int, lower: bool) -> np.ndarray:
    """Return the lower triangle of each matrix up to a diagonal, or what is not in it; zeros elsewhere."""
    mask = _triangle_mask(a.shape[-2:], diagonal)
    return np.where(mask if lower else ~mask, a, np.zeros((), a.dtype))


def _triangle_mask(shape: tuple[int, ...], diagonal: int) -> np.ndarray:
    return _small_mask(shape, diagonal) if prod(shape) <= 10_000 else _mask(shape, diagonal)


def _mask(shape: tuple[int, ...], diagonal: int) -> np.ndarray:
    rows, columns = shape
    return np.tri(rows, columns, diagonal, bool)


_small_mask = lru_cache(100)(_mask)


_tril = define(
    "TrilBackward0",
    "tril(Tensor self, diagonal)",
    lambda a, diagonal: _one_triangle(a, diagonal, True),
    batch="in front",
    self="tril(grad, diagonal)",
    samples="r(3, 3), 0; r(2, 2, 3), 1",
)
_triu = define(
    "TriuBackward0",
    "triu(Tensor self, diagonal)",
    lambda a, diagonal: _one_triangle(a, diagonal - 1, False),
    batch="in front",
    self="triu(grad, diagonal)",
    samples="r(3, 3), 0; r(2, 2, 3), -1",
)


@operation()
def flip(self: Tensor, *given: Any, dims: Any = None) -> Tensor:
    """Return a copy with the elements in reverse order along each dimension in `dims`."""
    dims = ints_of("flip", "dims", given, dims)
    return _flip(self, dims_of(dims, self._array.ndim) if dims else ())


@operation()
def roll(self: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """Return the elements shifted along `dims`; elements that leave at one end enter at the other.

    Args:
        shifts: The number of positions to shift by, or one number for each dimension in `dims`.
        dims: The dimensions along which to shift. If omitted, the tensor is flattened, shifted, and
            given its old shape again.

    Example:
        >>> torch.roll(torch.tensor([1, 2, 3]), 1)
        tensor([3, 1, 2])
        >>> torch.roll(torch.tensor([[1, 2], [3, 4], [5, 6]]), shifts=(1, 1), dims=(0, 1))
        tensor([[6, 5],
                [2, 1],
                [4, 3]])
    """
    shifts = ints_of("roll", "shifts", (shifts,))
    dims = () if dims is None else ints_of("roll", "dims", (dims,), position=2)
    if dims and not self._array.ndim:
        raise IndexError(errors.NO_DIMS.format(dims[0]))
    if len(shifts) != len(dims) and (dims or len(shifts) != 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return _roll(self, shifts, tuple([dim_index(d, self._array.ndim) if self._array.size else 0 for d in dims]))


@method()
def repeat(self: Tensor, *given: Any, repeats: Any = None) -> Tensor:
    """Return a copy of the tensor in which dimension i is repeated `repeats[i]` times.

    Additional numbers in front add dimensions. Unlike `expand`, it also repeats dimensions larger
    than 1: a vector (n,) gives `repeat(3)` of shape (3 * n,).
    """
    times = ints_of("repeat", "repeats", given, repeats)
    if len(times) < self._array.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    size = [n * s for n, s in zip(times, (1,) * (len(times) - self._array.ndim) + self._array.shape, strict=True)]
    if min(size, default=0) < 0:
        wrong = next(n for n in size if n < 0)
        raise RuntimeError(errors.NEGATIVE_SIZE.format(wrong, size))
    return _repeat(self, times)


def _triangle(name: str, op: Any, which: str, edge: str) -> Any:
    def triangle(self: Tensor, diagonal: int = 0) -> Tensor:
        if self._array.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return op(self, int_of(name, "diagonal", 1, diagonal))

    named(triangle, name)
    triangle.__doc__ = (
        f"Return the {which} triangle of each matrix, with zeros in the rest.\n\nArgs:\n"
        f"    diagonal: The {edge} diagonal to keep: 0 is the main one, 1 the next above, -1 below."
    )
    return operation(in_place="triangle")(triangle)


tril = _triangle("tril", _tril, "lower", "highest")
triu = _triangle("triu", _triu, "upper", "lowest")


@operation(also=("moveaxis",))
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Return a view with the dimensions `source` moved to the positions `destination`.

    The other dimensions keep their order.

    Args:
        source: A dimension, or a tuple of dimensions.
        destination: The position of each of them in the result: an int, or a tuple of as many.

    Example:
        >>> torch.zeros(2, 3, 4).movedim(0, -1).shape
        torch.Size([3, 4, 2])
    """
    ndim = input._array.ndim
    if not ndim:
        _order_of_dims.__wrapped__(ndim, source, destination)
        return _alias(input)
    settled = _order_of_dims if type(source) is type(destination) is int else _order_of_dims.__wrapped__
    return _permute(input, settled(ndim, source, destination))


@lru_cache(1000)
def _order_of_dims(ndim: int, source: Any, destination: Any) -> Shape:
    """Return the dimensions in the order that brings `source` where `destination` says."""
    named = (("source", source), ("destination", destination))
    given = [list(ints_of("movedim", name, (dims,), position=i)) for i, (name, dims) in enumerate(named, 1)]
    if len(given[0]) != len(given[1]):
        raise RuntimeError(
            (
                "movedim: Invalid source or destination dims: source ({} dims) should contain the "
                "same number of dims as destination ({} dims)"
            ).format(*given)
        )
    places = [[dim_index(d, ndim) for d in dims] for dims in given]
    for name, dims, as_given in zip(("source", "destination"), places, given, strict=True):
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({as_given})")
    order = [d for d in range(ndim) if d not in places[0]]
    for place, dim in sorted(zip(places[1], places[0], strict=True)):
        order.insert(place, dim)
    return tuple(order[:ndim])


_as_strided = define(
    "AsStridedBackward0",
    "as_strided(Tensor self, geometry, layout)",
    lambda a, geometry, layout: views.strided(a, geometry),
    kind="view",
    self="strided_scatter(grad, geometry, layout)",
    samples="r(2, 3), ((2,), (24,), 8), ((2, 3), (24, 8), 0)",
)


@operation()
def as_strided(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Return a view of the tensor's memory with the given shape and strides.

    An element that occurs several times in the view receives the sum of the gradients of its
    copies.

    Args:
        size: The shape of the view.
        stride: For each dimension, how far apart two neighboring elements are in memory, counted in
            elements.
        storage_offset: The position of the view's first element in memory; by default the tensor's.

    Raises:
        RuntimeError: if the view would reach outside the memory.

    Example:
        >>> torch.as_strided(torch.arange(4), (3, 2), (1, 1))
        tensor([[0, 1],
                [1, 2],
                [2, 3]])
    """
    for position, (name, given) in enumerate((("size", size), ("stride", stride)), 1):
        if not isinstance(given, (tuple, list)):
            raise TypeError(checks.wrong("as_strided", name, position, f"tuple of ints, not {errors.kind_of(given)}"))
    shape, steps = ints_of("as_strided", "size", (size,)), ints_of("as_strided", "stride", (stride,), position=1)
    if len(shape) != len(steps):
        raise RuntimeError("mismatch in length of strides and shape")
    if min(steps, default=0) < 0:
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(steps)}")
    first = self.storage_offset() if storage_offset is None else storage_offset
    if first < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {first}")
    if min(shape, default=0) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(steps)}")
    base = self if self._base is None else self._base
    width = self._array.itemsize
    there, ahead = views.reach(base._array), base.storage_offset() * width
    last = first + sum([(n - 1) * s for n, s in zip(shape, steps, strict=True)])
    needed = 0 if 0 in shape else (last + 1) * width
    if needed > ahead + there:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(steps)}, storage offset {first}, and itemsize {width} "
            f"requiring a storage size of {needed} are out of bounds for storage of size {ahead + there}"
        )
    before = (first - self.storage_offset()) * width
    outside = before < 0 or needed > self.storage_offset() * width + views.reach(self._array)
    if outside or views.overlaps(self._array.shape, self._array.strides):
        self, before = base, first * width - ahead  # which has each element once, and all of them
    geometry = shape, tuple([s * width for s in steps]), before
    return _as_strided(self, geometry, views.layout_of(self._array))


Tensor.strided_copy = define(
    "AsStridedCopyBackward0",
    "strided_copy(Tensor self, geometry, layout)",
    views.gather_strided,
    meaning="Return a copy of the elements that `as_strided` selects (used by its derivatives).",
    self="strided_scatter(grad, geometry, layout)",
    samples="r(2, 3), ((2,), (24,), 8), ((2, 3), (24, 8), 0)",
)
Tensor.strided_scatter = define(
    "AsStridedScatterBackward0",
    "strided_scatter(Tensor self, geometry, layout)",
    views.scatter_strided,
    meaning="Return zeros, with the elements added at the places that `as_strided` selects (used by its derivatives).",
    self="strided_copy(grad, geometry, layout)",
    samples="r(2), ((2,), (24,), 8), ((2, 3), (24, 8), 0)",
)


def _windows_along(a: np.ndarray, dim: int, length: int, step: int) -> np.ndarray:
    """Return a view with the windows along a dimension as its last one; a number has one window, or an empty one."""
    if not a.ndim:
        return a.reshape(1)[:length]
    count = (a.shape[dim] - length) // step + 1
    shape = (*a.shape[:dim], count, *a.shape[dim + 1 :], length)
    strides = (*a.strides[:dim], a.strides[dim] * step, *a.strides[dim + 1 :], a.strides[dim])
    return views.strided(a, (shape, strides, 0))


def _windows_back(grad: np.ndarray, sizes: Shape, dim: int, length: int, step: int) -> np.ndarray:
    """Return each gradient where its element was seen; overlapping windows add up."""
    out = np.zeros(sizes, grad.dtype)
    if not sizes:
        return out + grad.sum()
    along = np.moveaxis(out, dim, 0)
    windows = np.moveaxis(grad, dim, 0)
    for i in range(length):
        along[i : i + step * len(windows) : step][: len(windows)] += windows[..., i]
    return out


_unfold = define(
    "UnfoldBackward0",
    "unfold(Tensor self, dim, length, step)",
    _windows_along,
    kind="view",
    self="unfold_backward(grad, self.shape, dim, length, step)",
    samples="r(5), 0, 3, 1; r(2, 5, 2), 1, 2, 3",
)
define(
    "UnfoldBackwardBackward0",
    "unfold_backward(Tensor grad_output, input_sizes, dim, length, step)",
    _windows_back,
    batch="new dims",
    grad_output="unfold(grad, dim, length, step)",
    tangent="linear",
    samples="r(3, 3), (5,), 0, 3, 1; r(2, 2, 2, 2), (2, 5, 2), 1, 2, 3",
)


@method()
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Return a view of all windows of `size` elements along `dimension`.

    Neighboring windows start `step` elements apart. `dimension` then counts the windows, and a new
    last dimension contains their elements.

    Example:
        >>> torch.arange(5).unfold(0, 3, 1)
        tensor([[0, 1, 2],
                [1, 2, 3],
                [2, 3, 4]])
    """
    dim = dim_index(dimension, self._array.ndim)
    length, step = int_of("unfold", "size", 2, size), int_of("unfold", "step", 3, step)
    if length < 0:
        raise RuntimeError(f"size is {length} but must be >= 0")
    longest = self._array.shape[dim] if self._array.ndim else 1
    if length > longest:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {longest} but size is {length}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if local.modes.levels and not self._array.ndim:  # a batch of numbers has one dimension too few
        self = self.reshape(1)
    return _unfold(self, dim, length, step)


def _regenerate(base: Tensor, geometry: Any, layout: Any) -> Any:
    node = _as_strided.op.node()
    node.seq, node.extra = next(sequence), None
    node.next0, node.nr0 = edge_of(base), base._nr
    node.arg_geometry, node.arg_layout = geometry, layout
    if state.anomaly:
        remember(node)
    return node


views.regenerate = _regenerate
forward_ad.part = _as_strided
forward_ad.unpacked = define(
    "torch::autograd::Identity",
    "identity(Tensor self)",
    lambda a: a[...],
    kind="view",
    self="grad",
    samples="r(3)",
)
forward_ad.aliased = lambda t: REGISTRY["view"].function(t, t._array.shape)


@lru_cache(1000)
def broadcast_dims(got: tuple[int, ...], want: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dimensions of `got` over which broadcasting from `want` repeated the values."""
    lead = len(got) - len(want)
    return (*range(lead), *(i for i in range(lead, len(got)) if want[i - lead] == 1 and got[i] != 1))


FLOATS = np.dtype("float32"), np.dtype("float64")


@lru_cache(1000)
def adder(shape: Ints, dim: Ints | None, dtype: np.dtype, keepdim: bool | None) -> Callable[[np.ndarray], np.ndarray]:
    """How elements are summed over dimensions, or all of them; with None for `keepdim` sums may be repeated along them.

    Few elements are multiplied by ones: that takes a third of the time, and NumPy repeats slowly.
    """
    if prod(shape) <= FEW and dtype in FLOATS:
        if dim is None or len(dim) == len(shape):
            once, ones = (1,) * len(shape) if keepdim else (), np.ones(prod(shape), dtype)
            return (lambda a: a.ravel().dot(ones).reshape(once)) if once else lambda a: a.ravel().dot(ones)
        n = shape[dim[0]]
        sides = (n, n) if keepdim is None else (n, 1) if keepdim else (n,)
        if dim == (len(shape) - 1,):
            return methodcaller("dot", np.ones(sides, dtype))
        if dim == (0,) and len(shape) == 2:
            return np.ones(sides[::-1], dtype).dot
    whole = np.int64 if dtype.kind in "biu" else None
    return in_rows(partial(np.add.reduce, axis=dim, keepdims=keepdim is not False, dtype=whole))


def summed(a: np.ndarray, dim: Ints | None = None, keepdim: bool = False) -> np.ndarray:
    """Return the sum over dimensions, or of all elements, in rows in memory; of integers and masks in int64."""
    return adder(a.shape, dim, a.dtype, keepdim)(a)


def sums(a: np.ndarray, dim: Ints) -> np.ndarray:
    """Return the sums over dimensions as they meet `a`: kept with size 1, repeated, or one number for all elements."""
    return adder(a.shape, dim, a.dtype, None)(a)


def sum_to_array(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum an array down to a shape it was broadcast from."""
    if grad.shape == shape:
        return grad
    dims = broadcast_dims(grad.shape, shape)
    if len(dims) == grad.ndim - len(shape):
        return np.asarray(summed(grad, dims))
    return summed(grad, dims, True).reshape(shape)


def fit_arrays(fit: tuple[Any, ...], *grads: Any) -> list[Any]:
    """Return each wanted gradient in its input's shape and dtype."""
    return [
        g if f is None or g is None else sum_to_array(g, f[0]).astype(f[1], copy=False)
        for f, g in zip(fit, grads, strict=True)
    ]


def fit_tensors(fit: tuple[Any, ...], *grads: Any) -> list[Any]:
    """Return the same on tensors, recorded."""
    return [
        g if f is None or g is None else summed_to(g, f[0]).to(dtypes.named(f[1].name))
        for f, g in zip(fit, grads, strict=True)
    ]


def is_expandable(shape: Ints, to: Ints) -> bool:
    """Return True if a tensor of one shape can be expanded to the other."""
    return len(shape) <= len(to) and all([n in (1, m) for n, m in zip(shape[::-1], to[::-1], strict=False)])


@method()
def sum_to_size(self: Tensor, *given: Any, size: Any = None) -> Tensor:
    """Return the tensor summed down to the shape `size`, as the backward pass of `expand` does with a gradient.

    The sum runs over the dimensions along which broadcasting from `size` would repeat elements.
    """
    wanted, have = ints_of("sum_to_size", "size", given, size), self._array.shape
    if not is_expandable(wanted, have):
        raise RuntimeError(f"size {{{list(wanted)}}} is not expandable to size {{{list(have)}}}.")
    return summed_to(self, wanted) if wanted else self.sum()


def summed_to(t: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the same for a shape that it was broadcast from."""
    if t._array.shape == shape:
        return t
    if not shape:
        return t.sum()
    out = t.sum(broadcast_dims(t._array.shape, shape), keepdim=True)
    return out if out._array.ndim == len(shape) else out.view(shape)


def putting_back(reshape: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gives a reduced gradient its reduced dimensions back, with size 1."""

    def put_back(grad: Any, shape: tuple[int, ...], dim: tuple[int, ...], keepdim: bool) -> Any:
        if keepdim or not shape:
            return grad
        return reshape(grad, tuple(1 if i in dim else n for i, n in enumerate(shape)))

    return put_back


in_formulas("put_back", *[putting_back(lambda x, shape: x.reshape(shape))] * 2)
in_formulas("sum_to", sum_to_array, lambda grad, shape: grad.sum_to_size(shape))
in_formulas("fit_arrays", fit_arrays, fit_tensors)
in_formulas("fit_tensors", fit_arrays, fit_tensors)
in_formulas("numel", lambda shape: Size(shape).numel(), lambda shape: Size(shape).numel())


def per_channel(t: Any, x: Any) -> Any:
    """Return a number for each channel, in a shape that fits images or a batch of rows `x`; None stays None."""
    return None if t is None else t if x.ndim == 2 else t.reshape((-1,) + (1,) * (x.ndim - 2))


in_formulas("channels", per_channel, per_channel)
