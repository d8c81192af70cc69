"""What a recording keeps of a PyTorch tensor: its numbers if they are few, else what sums them up.

A tensor in memory is read through NumPy, which no mode of PyTorch's sees. One on another device is summed up there,
and never copied as a whole beyond the limit.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import torch

from ...trace.values import Value, kept

LIMIT = 100  # values of one tensor that are kept unless the user says otherwise: a training step stays below 20 MB

_LARGE = 1000  # values up to which a copy takes less time than what sums them up
_FLOATS = (torch.float32, torch.float64)
_PLAIN = (*_FLOATS, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool, torch.float16)
_numpy = torch.Tensor.numpy
_functorch, _keys = torch._C._functorch, torch._C.DispatchKey
_TRANSFORMS = torch._C.DispatchKeySet(_keys.FuncTorchDynamicLayerFrontMode) | torch._C.DispatchKeySet(
    _keys.FuncTorchDynamicLayerBackMode
)
_is_wrapped = _functorch.is_functorch_wrapped_tensor
_detach = torch.Tensor.data.__get__  # unlike `detach()`, no dispatch mode of the user's sees it


def kept_of(tensor: torch.Tensor, limit: int) -> Any:
    """What is kept of a tensor: as `trace.values.kept`, or a Value of which only shape and dtype are known."""
    dtype = tensor.dtype
    try:
        if dtype in _PLAIN and tensor.is_cpu:
            array = _numpy(_detach(tensor) if tensor.requires_grad else tensor)
            size = array.size
            if size <= limit:
                return array.copy()
            if size <= _LARGE:
                return (array.copy(),)  # summed up when it is read
            summary = _summed_up(array) if dtype in _FLOATS else None
            return kept(array, limit) if summary is None else (array.shape, name_of(dtype), None, *summary)
        return _elsewhere(tensor, limit)
    except (RuntimeError, TypeError, NotImplementedError, AttributeError):  # fake, sparse, of a transform
        return _inside(tensor, limit) if _is_wrapped(tensor) else unknown(tensor)


def _inside(tensor: torch.Tensor, limit: int) -> Any:
    """Of a tensor that a function transform has wrapped: its numbers, those of all samples of a vmap at once."""
    batched: list[int] = []
    try:
        while _is_wrapped(tensor):
            if _functorch.is_batchedtensor(tensor):
                batched.append(_functorch.maybe_get_bdim(tensor))
            tensor = _functorch.get_unwrapped(tensor)
        with torch._C._ExcludeDispatchKeyGuard(_TRANSFORMS):
            array = _numpy(_detach(tensor)).copy()
    except (RuntimeError, TypeError, NotImplementedError, AttributeError):
        return unknown(tensor)
    for at, dim in enumerate(reversed(batched)):  # the outermost vmap's samples come first
        array = np.moveaxis(array, dim + at, at)
    return Value.of(array, limit, len(batched))


def unknown(thing: Any) -> tuple[Any, ...]:
    """What is known of a tensor, or of an output of a node, at which nobody can look; sizes that vary count as none."""
    try:
        shape = tuple([size if type(size) is int else 0 for size in thing.shape])
    except (RuntimeError, AttributeError):  # of a nested tensor
        shape = ()
    return shape, kind_of(thing), None, math.nan, None, None, None, 0


def _summed_up(array: Any) -> tuple[Any, ...] | None:
    """Norm, least, largest, mean and no others, of an array whose values are all finite; else None."""
    flat = array.reshape(-1)  # a view, or a copy of the same dtype
    with np.errstate(all="ignore"):
        squares = float(np.dot(flat, flat))
        if not 1e-30 < squares < 1e30:
            return None
        return math.sqrt(squares), float(flat.min()), float(flat.max()), float(flat.mean(dtype=flat.dtype)), 0


def _elsewhere(tensor: torch.Tensor, limit: int) -> Any:
    """Of a tensor that NumPy has no kind for, or that is on another device."""
    shape, kind = tuple(tensor.shape), kind_of(tensor)
    if tensor.device.type == "meta" or tensor.layout is not torch.strided or tensor.is_quantized:
        return unknown(tensor)
    with torch.no_grad():
        plain = _detach(tensor)
        if plain.is_complex():
            kind += " (absolute values)"
            plain = plain.abs()
        if plain.numel() <= limit:
            if plain.dtype not in _PLAIN:
                plain = plain.float() if plain.is_floating_point() else plain.double()
            return plain.cpu().numpy(), kind  # summed up when it is read
        plain = plain.double() if plain.device.type != "mps" else plain.float()
        finite = plain.isfinite()
        others = int(plain.numel() - finite.sum())
        norm = float(plain.norm())
        some = plain[finite] if others else plain
        if not some.numel():
            return shape, kind, None, norm, None, None, None, others
        return shape, kind, None, norm, float(some.min()), float(some.max()), float(some.mean()), others


@cache
def name_of(dtype: torch.dtype) -> str:
    """`float32`."""
    return str(dtype).rpartition(".")[2]


def kind_of(tensor: Any) -> str:
    """The dtype, and the device if it is not the usual one: `float32 on cuda:0`."""
    return _kind(tensor.dtype, tensor.device)


@cache
def _kind(dtype: torch.dtype, device: torch.device) -> str:
    name = name_of(dtype)
    return name if device.type == "cpu" else f"{name} on {device}"
