"""What a node saves of operands that may be numbers, of different dtypes, or made in inference mode."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import errors
from ...autograd.state import quietly
from ...autograd.tensor import InferenceTensor, Tensor


def saved_as(value: Any, dtype: np.dtype) -> tuple[Any, Any]:
    """Return what is saved of an operand, and its version: tensors and lists of them unchanged, a number as array."""
    if type(value) is tuple:
        return value, tuple([_version_of(t) for t in value])
    if value is None or isinstance(value, Tensor):
        return value, _version_of(value)
    return quietly(np.array, value, dtype), value.item() if isinstance(value, np.generic) else value


def _version_of(saved: Tensor | None) -> int:
    """At which version a tensor is saved; RuntimeError for what may not be."""
    if type(saved) is InferenceTensor:
        raise RuntimeError(errors.INFERENCE_SAVED)
    return 0 if saved is None else saved._version


def fit_of(operands: list[Any], kept: list[Any], needs: list[bool], result: np.ndarray) -> Any:
    """Return what each wanted gradient must be made into, as (shape, dtype); None where all fit already."""
    shape = None
    for t in operands:
        if isinstance(t, Tensor):
            array = t._array
            shape = array.shape if shape is None else shape
            if array.shape != shape or array.dtype is not result.dtype:
                break
    else:
        if all([isinstance(t, Tensor) and t._array.shape == shape for t in kept]):
            return None
    wide = result.dtype if result.dtype.kind == "c" else None  # of whose gradients the real part is taken at the end
    return tuple(
        [
            (t._array.shape, t._array.dtype if wide is None or t._array.dtype.kind == "c" else wide) if need else None
            for t, need in zip(operands, needs, strict=True)
        ]
    )
