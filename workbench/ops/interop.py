"""Tensors and the rest of Python: NumPy arrays, copies, pickles."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..autograd import dtypes
from ..autograd.dtypes import dtype as Dtype
from ..autograd.tensor import Tensor, bump, wrap
from ..autograd.warnings import warn
from ..events import failed
from .casting import memory_of
from .creation import full, tensor
from .declare import method
from .devices import placed

NEGATIVE_STRIDES = (
    "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
    "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
)
READ_ONLY_ARRAY = (
    "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to "
    "this tensor will result in undefined behavior. You may want to copy the array to protect its data or make it "
    "writable before converting it to a tensor. This type of warning will be suppressed for the rest of this program."
)
ASARRAY_GRAD = (
    "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass "
    "requires_grad=False explicitly to get the old behavior and silence this warning."
)
DEEPCOPY_NON_LEAF = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you "
    "were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
    "https://github.com/pytorch/pytorch/pull/103001"
)


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor over an array's own memory."""
    if not isinstance(ndarray, np.ndarray):
        kind = type(ndarray)
        word = f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__
        raise TypeError(f"expected np.ndarray (got {word})")
    dtypes.of(ndarray)
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(NEGATIVE_STRIDES)
    if not ndarray.flags.writeable:
        warn(READ_ONLY_ARRAY)
    return wrap(ndarray)


@placed
def as_tensor(data: Any, dtype: Dtype | None = None) -> Tensor:
    """`data` as a tensor, sharing memory where that is possible: a tensor itself, or a NumPy array's memory."""
    if not isinstance(data, (Tensor, np.ndarray)):
        return tensor(data, dtype=dtype)
    t = data if isinstance(data, Tensor) else from_numpy(data)
    return t if dtype is None else t.to(dtype)


@placed
def asarray(
    obj: Any, *, dtype: Dtype | None = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """as_tensor, as a copy if need be; `requires_grad` is set on leaves, and False cuts others off their history."""
    t = as_tensor(obj)
    if requires_grad is None and t.requires_grad:
        warn(ASARRAY_GRAD)
    t = t if dtype is None else t.to(dtype)
    t = t.clone() if copy else t
    if requires_grad is None:
        return t
    return t.requires_grad_(requires_grad) if t.is_leaf else t if requires_grad else t.detach()


@method("new_tensor")
@placed
def _new_tensor(self: Tensor, data: Any, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """A leaf with a copy of `data` in this tensor's dtype."""
    return tensor(data, dtype=dtype or self.dtype, requires_grad=requires_grad)


@method("new_full")
@placed
def _new_full(
    self: Tensor, size: Any, fill_value: float, *, dtype: Dtype | None = None, requires_grad: bool = False
) -> Tensor:
    """A leaf with one number everywhere, in this tensor's dtype."""
    return full(size, fill_value, dtype=dtype or self.dtype, requires_grad=requires_grad)


@method("__array_wrap__")
def _from_ufunc(self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Tensor:
    """What a NumPy function makes of a tensor is a tensor; masks become bytes."""
    return from_numpy(np.asarray(array, np.uint8 if array.dtype.kind == "b" else None))


@method("__contains__")
def _contains(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, bool, int, float, np.generic)):
        return bool((self == element).any().item())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


def _copied(array: np.ndarray, memo: dict[int, Any]) -> np.ndarray:
    """An array that lies in the copy of its memory as it lies in that itself."""
    memory = memory_of(array)
    if not memory.flags.forc or not memory.size:
        return array.copy(order="K")
    key = id(memory)
    if key not in memo:
        memo[key] = memory.copy(order="K")
        memo.setdefault(id(memo), []).append(memory)  # alive, so that its id stays its own
    first, start = (a.__array_interface__["data"][0] for a in (array, memory))
    return np.ndarray(array.shape, array.dtype, memo[key], first - start, array.strides)


@method("__deepcopy__")
def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A leaf with its own memory, gradient and attributes; RuntimeError for what a recorded operation made.

    What shares its memory with other tensors shares it with their copies.
    """
    if not self.is_leaf:
        raise failed(RuntimeError(DEEPCOPY_NON_LEAF), self)
    out = memo[id(self)] = wrap(_copied(self._array, memo), self.requires_grad)
    bump(out)
    grad = None if self._meta is None else self._meta.grad
    if grad is not None:
        out.grad = copy.deepcopy(grad, memo)
    out.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return out


@method("__reduce_ex__")
def _reduce(self: Tensor, protocol: int) -> tuple[Any, ...]:
    """What a pickle keeps: elements, attributes, whether it requires grad; neither gradient nor history."""
    return rebuilt, (self._array, self.requires_grad), self.__dict__ or None


def rebuilt(array: np.ndarray, requires_grad: bool) -> Tensor:
    """A leaf as a pickle kept it; the array comes with a dtype object of its own, and there is one of each here."""
    made = wrap(array.view(np.dtype(array.dtype.name)), requires_grad)
    bump(made)
    return made
