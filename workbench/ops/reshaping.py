"""Other shapes and orders of dimensions, composed from view, permute and expand."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.tensor import Tensor
from .declare import method
from .movement import expand, reshape, view
from .refusals import tensors_only
from .shapes import dim_index, shape_of


@method()
def flatten(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` as one; the tensor itself if that is one already."""
    shape = self._array.shape
    start, end = dim_index(start_dim, len(shape)), dim_index(end_dim, len(shape))
    if not shape:
        return reshape(self, 1)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    together = int(np.prod(shape[start : end + 1]))
    return self if start == end else reshape(self, shape[:start] + (together,) + shape[end + 1 :])

@method()
def unflatten(self: Tensor, dim: int, sizes: Any) -> Tensor:
    """One dimension as several of these sizes (one may be -1)."""
    shape, sizes = self._array.shape, shape_of(sizes)
    dim = dim_index(dim, len(shape))
    known = int(np.prod([n for n in sizes if n != -1]))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if known != shape[dim] and (-1 not in sizes or not known or shape[dim] % known):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[dim]}) in the "
            "input tensor"
        )
    return view(self, shape[:dim] + tuple([shape[dim] // known if n == -1 else n for n in sizes]) + shape[dim + 1 :])


@method()
def ravel(self: Tensor) -> Tensor:
    """All elements as a vector: a view where they lie in memory in order, else a copy."""
    return view(self.contiguous(), -1)


@method()
def broadcast_to(self: Tensor, size: Any) -> Tensor:
    """A view in which dimensions of size 1 are repeated."""
    return expand(self, size)


@method()
@tensors_only()
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """The same in the shape of another tensor."""
    return expand(self, other._array.shape)


@method()
@tensors_only()
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """The elements in the shape of another tensor."""
    return reshape(self, other._array.shape)
