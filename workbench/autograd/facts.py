"""What can be asked of a tensor's array: its shape and kind, and its elements as Python and NumPy know them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from ..events import failed
from . import dtypes, state
from .quiet import warn
from .storage import Size


class Facts:
    """The part of a tensor that knows nothing of the graph."""

    __slots__ = ()

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return Size(self._array.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        """The number type of the elements."""
        return dtypes.of(self._array)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    def dim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    def size(self, dim: int | None = None) -> Size | int:
        """The shape, or the size of one dimension."""
        try:
            return self.shape if dim is None else self._array.shape[dim]
        except IndexError:
            n = self._array.ndim
            raise IndexError(errors.DIM_RANGE.format(-n, n - 1, dim) if n else errors.NO_DIMS.format(dim)) from None

    def numel(self) -> int:
        """The number of elements."""
        return self._array.size

    def is_floating_point(self) -> bool:
        """Whether the dtype is a floating-point one."""
        return self._array.dtype.kind == "f"

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return len(self._array)

    def __bool__(self) -> bool:
        if self._array.size != 1:
            raise RuntimeError(errors.AMBIGUOUS_TRUTH.format("more than one value" if self.numel() else "no values"))
        return bool(self._array.item())

    def item(self) -> bool | int | float:
        """The one element as a Python number; RuntimeError unless there is exactly one."""
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        return self._array.item()

    def _number(self) -> bool | int | float:
        if self._array.size != 1:
            raise ValueError(errors.ONE_ELEMENT)
        return self._array.item()

    def __float__(self) -> float:
        if self.requires_grad:
            warn(errors.FLOAT_OF_GRAD)
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __index__(self) -> int:
        if self._array.size != 1 or self._array.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._array.item())

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self._array.tolist()

    def numpy(self) -> np.ndarray:
        """The array itself, sharing memory; RuntimeError if the tensor requires grad and gradients are on."""
        if self.requires_grad and state.local.modes.grad:
            raise failed(RuntimeError(errors.NUMPY_REQUIRES_GRAD), self)
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numpy(), dtype=dtype, copy=copy)
