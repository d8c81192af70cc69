"""Copies with elements in other places: flipped, rolled, repeated, or in one triangle of each matrix alone."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ... import errors
from ...autograd.tensor import Tensor
from ..core.checks import dim_index, dims_of, int_of, ints_of, named
from ..core.op import define, method, operation
from ..core.registry import abbreviation, in_formulas
from ..core.results import copied, in_rows
from ..core.vmap import Ints, Mapped, Results, alone, batches, flat, run_op


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
def _backwards(ndim: int, dims: Ints) -> tuple[slice, ...]:
    """Return the index that reverses some dimensions."""
    return tuple([slice(None, None, -1) if d in dims else slice(None) for d in range(ndim)])


_flip = define("flip(Tensor self, dims)", lambda a, dims: copied(a[_backwards(a.ndim, dims)]), self="flip(grad, dims)")
_roll = define(
    "roll(Tensor self, shifts, dims)",
    in_rows(lambda a, *how: _rolled(a, *how)),
    self="roll(grad, backwards(shifts), dims)",
)
in_formulas("backwards", lambda shifts: tuple(-s for s in shifts))


def _tiles(repeats: Ints, shape: Ints) -> Ints:
    """Return a repeated tensor's shape with each dimension taken apart: how often, how many; and so on."""
    full = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    return tuple(n for both in zip(repeats, full, strict=True) for n in both)


in_formulas("tiles", _tiles)
in_formulas("every_other", lambda repeats: tuple(range(0, 2 * len(repeats), 2)))
in_formulas("all_of", all)
abbreviation("over_tiles(g, repeats, shape)", "sum_dim(reshape(g, tiles(repeats, shape)), every_other(repeats), False)")
_repeat = define(
    "repeat(Tensor self, repeats)",
    np.tile,
    self="reshape(over_tiles(grad, repeats, self.shape), self.shape) if all_of(repeats) else zeros(self.shape, grad)",
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
    "tril(Tensor self, diagonal)",
    lambda a, diagonal: _one_triangle(a, diagonal, True),
    batch="in front",
    self="tril(grad, diagonal)",
)
_triu = define(
    "triu(Tensor self, diagonal)",
    lambda a, diagonal: _one_triangle(a, diagonal - 1, False),
    batch="in front",
    self="triu(grad, diagonal)",
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


@batches("repeat")
def _repeat_each(op: Any, size: int, self: Mapped, repeats: Ints) -> Results:
    return run_op(op, self=self.aligned(len(repeats)), repeats=(1, *repeats))


@batches("roll")
def _roll_each(op: Any, size: int, self: Mapped, shifts: Ints, dims: Ints) -> Results:
    if dims:
        return run_op(op, self=self.value, shifts=shifts, dims=tuple([d + 1 for d in dims]))
    (out,), _ = run_op(op, self=flat(self.value), shifts=shifts, dims=(1,))  # the elements are one row
    return alone(out.reshape(self.value.shape))
