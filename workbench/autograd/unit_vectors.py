"""The rows of an identity matrix, for Jacobians: one backward or forward pass for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .tensor import Tensor, wrap


def unit_vectors(tensors: Sequence[Tensor], chunk_size: int | None = None) -> Iterator[list[Tensor]]:
    """Return the unit vectors for all elements of the tensors: row k of each array is its part of the k-th vector.

    At most `chunk_size` rows come at a time.
    """
    sizes = [t.numel() for t in tensors]
    total = sum(sizes)
    step = total if chunk_size is None else min(chunk_size, total)
    for first in range(0, total, step) if total else (0,):
        count, start, chunk = min(step, total - first), 0, []
        for t, size in zip(tensors, sizes, strict=True):
            chunk.append(wrap(np.eye(count, size, first - start, t._array.dtype).reshape(count, *t._array.shape)))
            start += size
        yield chunk
