"""How results lie in memory: as their operands do, which NumPy sees to, or row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def in_rows(forward: Callable[..., Any]) -> Callable[..., Any]:
    """The forward with its result row by row in memory, where PyTorch's is so whatever the operands do."""

    def laid_out(*args: Any) -> Any:
        result = forward(*args)
        return result if result.flags.c_contiguous else result.copy()

    return laid_out


def copied(a: np.ndarray) -> np.ndarray:
    """A copy that lies in memory as `a` does; row by row where an element of `a` is many."""
    return a.copy("C" if 0 in a.strides else "K")


def lying_as(a: np.ndarray, result: np.ndarray) -> np.ndarray:
    """The result, lying in memory as `a` of the same shape does; what are dimensions of a batch stay in front."""
    lead = result.ndim - a.ndim
    if a.flags.c_contiguous or 0 in a.strides or a.shape != result.shape[lead:]:
        return result
    order = [*range(lead), *[lead + d for d in sorted(range(a.ndim), key=lambda d: -abs(a.strides[d]))]]
    out = np.empty([result.shape[d] for d in order], result.dtype).transpose(np.argsort(order))
    out[...] = result
    return out
