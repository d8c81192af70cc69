"""Tensors over one another's dimensions: broadcast together, as coordinates of a grid, each element several times."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import errors
from ...autograd.tensor import Tensor, wrap
from ...errors import warn
from ..core import checks
from ..core.checks import check_broadcast, dim_index, int_of
from ..core.op import operation
from ..shape import flatten, unsqueeze
from .selecting import index_select

# What these refuse or warn of, word for word PyTorch's (PyTorch 2.13).
GRID_EMPTY = "meshgrid expects a non-empty TensorList"
GRID_DTYPES = "meshgrid expects all tensors to have the same dtype"
GRID_ORDER = 'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {}'
GRID_DIMENSIONS = "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {}"
GRID_TOLD = "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument."
REPEATS_SIGN = "Repeats must be non-negative"
REPEATS_SIGNS = "repeats can not be negative"
REPEATS_SHAPE = "repeats must be 0-dim or 1-dim tensor"
REPEATS_SIZE = "repeats must have the same size as input along dim, but got repeats.size(0) = {} and input.size(0) = {}"
REPEATS_KIND = "\"repeat_interleave_cpu\" not implemented for '{}'"
REPEATS_TOTAL = "allocated size does not match required size"
REPEATS_TYPE = "repeat_interleave(): argument 'repeats' must be Tensor or int, not {}"


@operation(method=False)
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Return views of the tensors, all in the shape to which they broadcast together."""
    checks.check_tensors("broadcast_tensors", tensors)
    shapes = [t._array.shape for t in tensors]
    check_broadcast(shapes or [()])
    shape = np.broadcast_shapes(*shapes)
    return tuple([t if t._array.shape == shape else t.expand(shape) for t in tensors])


@operation(method=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Return the coordinates of all points of a grid: one tensor for each input vector.

    Args:
        tensors: Vectors with the coordinates along each dimension of the grid.
        indexing: "ij" gives tensors whose shape is (len(first), len(second), ...). "xy" swaps the
            first two dimensions, as is usual for images. Always pass `indexing`; without it you get
            a warning.

    Example:
        >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4, 5]), indexing="ij")
        (tensor([[1, 1, 1],
                [2, 2, 2]]), tensor([[3, 4, 5],
                [3, 4, 5]]))
    """
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    checks.check_tensors("meshgrid", given)
    if indexing is None:
        warn(GRID_TOLD)
    if not given:
        raise RuntimeError(GRID_EMPTY)
    for t in given:
        if t._array.ndim > 1:
            raise RuntimeError(GRID_DIMENSIONS.format(t))
        if t._array.dtype != given[0]._array.dtype:
            raise RuntimeError(GRID_DTYPES)
    if indexing not in (None, "xy", "ij"):
        raise RuntimeError(GRID_ORDER.format(indexing))
    places = [*range(len(given))]
    if indexing == "xy" and len(given) > 1:
        places[:2] = 1, 0
    shape = [0] * len(given)
    for t, place in zip(given, places, strict=True):
        shape[place] = t._array.size
    return tuple(
        [
            t.view([-1 if at == place else 1 for at in range(len(given))]).expand(shape)
            for t, place in zip(given, places, strict=True)
        ]
    )


@operation()
def repeat_interleave(
    self: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Return each element several times in a row.

    Args:
        repeats: The number of repetitions: an int for all elements, or a tensor with an int for
            each. If omitted, the input itself holds the counts, and the result contains each index
            i `input[i]` times.
        dim: The dimension along which to repeat. If omitted, the tensor is flattened first.
        output_size: The size of the result along `dim`, if you know it.

    Example:
        >>> torch.repeat_interleave(torch.tensor([1, 2]), 2), torch.tensor([1, 2]).repeat(2)
        (tensor([1, 1, 2, 2]), tensor([1, 2, 1, 2]))
    """
    if repeats is None:
        return _numbered(self, output_size)
    source, dim = (flatten(self), 0) if dim is None else (self, dim_index(dim, self._array.ndim))
    if not source._array.ndim:
        raise IndexError(errors.DIM_RANGE.format(-1, 0, 1))
    size = source._array.shape[dim]
    if isinstance(repeats, Tensor):
        if repeats._array.ndim > 1:
            raise RuntimeError(REPEATS_SHAPE)
        if repeats._array.size not in (1, size) or (repeats._array.ndim and repeats._array.shape[0] not in (1, size)):
            raise RuntimeError(REPEATS_SIZE.format(repeats._array.size, size))
        times = wrap(np.broadcast_to(repeats._array.reshape(-1), (size,)))
        return index_select(source, dim, _numbered(times, output_size))
    if not checks.is_int(repeats):
        raise TypeError(REPEATS_TYPE.format(type(repeats).__name__))
    count = int_of("repeat_interleave", "repeats", 1, repeats)
    if count < 0:
        raise RuntimeError(REPEATS_SIGN)
    shape = list(source._array.shape)
    wide = unsqueeze(source, dim + 1).expand([*shape[: dim + 1], count, *shape[dim + 1 :]])
    return wide.clone().view([*shape[:dim], size * count, *shape[dim + 1 :]])


def _numbered(repeats: Tensor, output_size: int | None) -> Tensor:
    """Return the number of each element, as often as the element says."""
    counts = repeats._array
    if counts.ndim != 1:
        raise RuntimeError(REPEATS_SHAPE)
    if counts.dtype.kind != "i":
        raise NotImplementedError(REPEATS_KIND.format(checks.dtypes.named(counts.dtype.name).word))
    if (counts < 0).any():
        raise RuntimeError(REPEATS_SIGNS)
    if output_size is not None and output_size != counts.sum():
        raise RuntimeError(REPEATS_TOTAL)
    return wrap(np.repeat(np.arange(counts.size), counts))
