"""Making tensors: from data, filled, counted, random."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.dtypes import dtype as Dtype
from ..autograd.tensor import Tensor, wrap
from .declare import in_formulas
from .shapes import shape_of

_generator = np.random.default_rng(0)


def manual_seed(seed: int) -> np.random.Generator:
    """Begin the random numbers anew; the same seed gives the same numbers (NumPy's, not PyTorch's)."""
    global _generator
    _generator = np.random.default_rng(seed)
    return _generator


def _leaf(array: np.ndarray, requires_grad: bool) -> Tensor:
    if requires_grad and array.dtype.kind != "f":
        raise RuntimeError(errors.ONLY_FLOATS_CONSTRUCTOR)
    return wrap(array, requires_grad)


def tensor(data: Any, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """A leaf with a copy of `data`: numbers, nested lists, arrays. Python floats get the default dtype."""
    if isinstance(data, Tensor):
        data = data._array
    if isinstance(data, (np.ndarray, np.generic)):
        array = np.array(data)
        dtypes.of(array)
    else:
        _check_nested(data)
        array = np.array(_plain(data))
        if not array.size and array.dtype.kind == "f" or array.dtype.kind == "f":
            array = array.astype(dtypes.get_default_dtype().np)
        elif array.dtype.kind not in "bi":
            raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    return _leaf(array if dtype is None else array.astype(dtype.np), requires_grad)


def _plain(data: Any) -> Any:
    """Nested lists in which tensors have become their arrays."""
    if isinstance(data, Tensor):
        return data._array
    return [_plain(d) for d in data] if isinstance(data, (list, tuple)) else data


def _check_nested(data: Any) -> None:
    """ValueError where nested lists are ragged, TypeError where an element is no number."""
    level, dim = [data], 0
    while level and all(isinstance(d, (list, tuple)) for d in level):
        size = len(level[0])
        for d in level:
            if len(d) != size:
                raise ValueError(f"expected sequence of length {size} at dim {dim} (got {len(d)})")
        level, dim = [e for d in level for e in d], dim + 1
    for d in level:
        if not isinstance(d, (numbers.Number, np.generic, np.ndarray, Tensor)):
            raise TypeError(f"new(): invalid data type '{type(d).__name__}'")


def full(size: Any, fill_value: float, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """A leaf of shape `size`, every element `fill_value`."""
    kind = dtypes.of_number(fill_value) if dtype is None else dtype
    return _leaf(np.full(shape_of(size), fill_value, kind.np), requires_grad)


def zeros(*size: Any, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """A leaf of zeros."""
    return _leaf(np.zeros(shape_of(*size), (dtype or dtypes.get_default_dtype()).np), requires_grad)


def ones(*size: Any, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """A leaf of ones."""
    return _leaf(np.ones(shape_of(*size), (dtype or dtypes.get_default_dtype()).np), requires_grad)


def zeros_like(input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Zeros in the shape and dtype of a tensor."""
    return _leaf(np.zeros(input._array.shape, (dtype or input.dtype).np), requires_grad)


in_formulas("zeros_like", np.zeros_like, zeros_like)


def ones_like(input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Ones in the shape and dtype of a tensor."""
    return _leaf(np.ones(input._array.shape, (dtype or input.dtype).np), requires_grad)


def arange(
    start: float,
    end: float | None = None,
    step: float = 1,
    *,
    dtype: Dtype | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The numbers from `start` (0 if only one bound is given) up to, not including, `end`."""
    if end is None:
        start, end = 0, start
    if dtype is None:
        whole = all(isinstance(v, int) for v in (start, end, step))
        dtype = dtypes.int64 if whole else dtypes.get_default_dtype()
    count = max(int(np.ceil((end - start) / step)), 0)
    return _leaf((start + step * np.arange(count)).astype(dtype.np), requires_grad)


def randn(*size: Any, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Normally distributed random numbers."""
    array = np.asarray(_generator.standard_normal(shape_of(*size)))
    return _leaf(array.astype((dtype or dtypes.get_default_dtype()).np), requires_grad)


def rand(*size: Any, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Random numbers spread evenly over [0, 1)."""
    array = np.asarray(_generator.random(shape_of(*size)))
    return _leaf(array.astype((dtype or dtypes.get_default_dtype()).np), requires_grad)


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)
