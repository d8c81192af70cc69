"""Elements in another arrangement, as copies: flipped, rolled round, repeated, one triangle of a matrix.

Dimensions moved are a view.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from ..autograd.tensor import Tensor
from .arguments import int_of, ints_of
from .declare import abbreviation, define, in_formulas, method
from .layout import copied, in_rows
from .movement import _alias, permute
from .shapes import dim_index, dims_of, shape_of

Shape = tuple[int, ...]

_flip = define(
    "FlipBackward0",
    "flip(Tensor self, dims)",
    lambda a, dims: copied(np.flip(a, dims) if a.ndim else a),
    self="flip(grad, dims)",
    samples="r(2, 3), (0, 1); r(2, 3), (1,); r(), ()",
)
_roll = define(
    "RollBackward0",
    "roll(Tensor self, shifts, dims)",
    in_rows(lambda a, shifts, dims: np.roll(a, shifts, dims) if dims else np.roll(a, shifts[0])),
    self="roll(grad, backwards(shifts), dims)",
    samples="r(4), (1,), (); r(2, 3), (1,), (); r(2, 3), (1, -2), (0, 1)",
)
in_formulas("backwards", *[lambda shifts: tuple(-s for s in shifts)] * 2)


def _tiles(repeats: Shape, shape: Shape) -> Shape:
    """A repeated tensor's shape with each dimension taken apart: how often, how many; and so on."""
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
_tril = define(
    "TrilBackward0",
    "tril(Tensor self, diagonal)",
    np.tril,
    batch="pointwise",
    self="tril(grad, diagonal)",
    samples="r(3, 3), 0; r(2, 2, 3), 1",
)
_triu = define(
    "TriuBackward0",
    "triu(Tensor self, diagonal)",
    np.triu,
    batch="pointwise",
    self="triu(grad, diagonal)",
    samples="r(3, 3), 0; r(2, 2, 3), -1",
)


@method()
def flip(self: Tensor, *given: Any, dims: Any = None) -> Tensor:
    """The elements in reverse order along each of `dims`."""
    dims = ints_of("flip", "dims", given, dims)
    return _flip(self, dims_of(dims, self._array.ndim) if dims else ())


@method()
def roll(self: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """Elements moved on by `shifts` along `dims`, the last ones to the front; without `dims`, as one long row."""
    shifts, dims = shape_of(shifts), shape_of(dims)
    if dims and not self._array.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    if len(shifts) != len(dims) and (dims or len(shifts) != 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return _roll(self, shifts, tuple(dim_index(d, self._array.ndim) for d in dims))


@method()
def repeat(self: Tensor, *given: Any, repeats: Any = None) -> Tensor:
    """The tensor put next to itself so many times along each dimension; further dimensions come in front."""
    times = ints_of("repeat", "repeats", given, repeats)
    if len(times) < self._array.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    size = [n * s for n, s in zip(times, (1,) * (len(times) - self._array.ndim) + self._array.shape, strict=True)]
    if min(size, default=0) < 0:
        wrong = next(n for n in size if n < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension {wrong}: {size}")
    return _repeat(self, times)


def _triangle(name: str, op: Any, which: str) -> Any:
    def triangle(self: Tensor, diagonal: int = 0) -> Tensor:
        if self._array.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return op(self, int_of(name, "diagonal", 1, diagonal))

    triangle.__name__ = triangle.__qualname__ = name
    triangle.__doc__ = f"The {which} triangle of each matrix, zeros elsewhere; `diagonal` is the last one it has."
    return method()(triangle)


tril = _triangle("tril", _tril, "lower")
triu = _triangle("triu", _triu, "upper")


@method()
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """A view with the dimensions `source` where `destination` says, the others in their order."""
    ndim = input._array.ndim
    given = [[dims] if isinstance(dims, int) else list(dims) for dims in (source, destination)]
    if len(given[0]) != len(given[1]):
        raise RuntimeError(errors.MOVEDIM_COUNT.format(*given))
    places = [[dim_index(d, ndim) for d in dims] for dims in given]
    for name, dims, said in zip(("source", "destination"), places, given, strict=True):
        if len(set(dims)) < len(dims):
            raise RuntimeError(errors.MOVEDIM_TWICE.format(name, said))
    if not ndim:
        return _alias(input)
    order = [d for d in range(ndim) if d not in places[0]]
    for place, dim in sorted(zip(places[1], places[0], strict=True)):
        order.insert(place, dim)
    return permute(input, order)
