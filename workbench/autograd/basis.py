"""The unit vectors that a Jacobian is computed along."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .tensor import Tensor, wrap


def bases(tensors: Sequence[Tensor], chunk_size: int | None = None) -> Iterator[list[Tensor]]:
    """For the elements of all tensors together, the unit vectors: row k of each tensor's array is its part of the k-th.

    At most `chunk_size` rows at a time.
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
