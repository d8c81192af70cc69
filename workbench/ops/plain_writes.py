"""Writes with nothing to record: a NumPy function writes into the array.

They are for elements in row order, need no checks and save nothing. Where one has more to look at, `inplace` writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy._core.umath import clip  # pyright: ignore[reportAttributeAccessIssue]  # NumPy's stub leaves it out

from ..autograd.state import compute, is_plain, local, no_grad_threads, slow_path_reasons
from ..autograd.tensor import Parameter, Tensor, storage_of
from ..events import emit, listeners
from . import arithmetic, comparison, division, masks, math
from .core.scalars import SCALARS

BOOL = np.dtype(bool)
FLOAT32 = np.dtype("float32")
FLOAT64 = np.dtype("float64")
ZEROS = {kind: np.zeros((), kind) for kind in (FLOAT32, FLOAT64)}  # with an array a ufunc takes less than with a number
LARGE = 3e38  # numbers of which every float dtype but half has one


def _tell_write(t: Tensor, name: str, node: Any, given: tuple[Any, ...]) -> None:
    """Report a write, and if no node records it, its arguments, which get no gradient."""
    emit(("wrote", t, name, node))
    if node is None:
        emit(("unrecorded", name, given, (t,)))


def _is_quiet(t: Tensor) -> bool:
    """Return True if to write into the array is all there is to do."""
    if (slow_path_reasons and not is_plain()) or (type(t) is not Tensor and type(t) is not Parameter):
        return False
    if (t._rg or t._meta is not None) and _is_recorded(t):
        return False
    a = t._array
    return (a.dtype is FLOAT64 or a.dtype is FLOAT32) and (a.base is None or a.flags.c_contiguous)


def _is_recorded(t: Tensor) -> bool:
    """Return True if an operation on the tensor is recorded now."""
    return t.requires_grad and not (no_grad_threads and not local.modes.grad)


def _count_write(t: Tensor, name: str, given: tuple[Any, ...] = ()) -> Tensor:
    """Count and report a write to the tensor, with its `given` arguments, and return the tensor."""
    storage = t._storage or storage_of(t)
    storage.version += 1
    if listeners:
        _tell_write(t, name, None, (t, *given))
    return t


def _quiet_operand(t: Tensor, other: Any) -> Any:
    """Return what to write into such a tensor as NumPy takes it; None where a write has more to look at."""
    kind = type(other)
    if kind is float or kind is int:
        return SCALARS[kind][t._array.dtype][other]
    if kind is not Tensor and kind is not Parameter:
        return None
    if (other._rg or other._meta is not None) and _is_recorded(other):
        return None
    a, b = t._array, other._array
    if b.dtype is not a.dtype or (
        b is not a and (a if a.base is None else a.base) is (b if b.base is None else b.base)
    ):
        return None
    return b


UFUNCS = {
    arithmetic.add: np.add,
    arithmetic.sub: np.subtract,
    division.div: np.divide,
    math.relu: lambda a, out: np.maximum(a, ZEROS[a.dtype], out=out),
}


def _scaled_quietly(ufunc: Any) -> Callable[..., bool]:
    def write_scaled(t: Tensor, other: Any, *, alpha: Any) -> bool:
        """`t` plus or minus alpha times the other operand."""
        a, given = t._array, _quiet_operand(t, other)
        if given is None or type(alpha) not in SCALARS:
            return False
        compute(ufunc, a, compute(np.multiply, SCALARS[type(alpha)][a.dtype][alpha], given), a)
        return True

    return write_scaled


def _clamp_quietly(t: Tensor, min: Any = None, max: Any = None) -> bool:
    """`t` between two numbers."""
    if type(min) not in SCALARS or type(max) not in SCALARS:
        return False
    a = t._array
    clip(a, SCALARS[float][a.dtype][min], SCALARS[float][a.dtype][max], a)
    return True


def _masked_quietly(t: Tensor, mask: Any, value: Any) -> bool:
    """`t` with a number wherever a mask of its shape is true."""
    if type(mask) is not Tensor or type(value) not in SCALARS or not -LARGE < value < LARGE:
        return False
    a, where = t._array, mask._array
    if where.dtype is not BOOL or where.shape != a.shape:
        return False
    np.copyto(a, SCALARS[type(value)][a.dtype][value], where=where)
    return True


PLAINLY: dict[Any, Callable[..., bool]] = {
    arithmetic.add: _scaled_quietly(np.add),
    arithmetic.sub: _scaled_quietly(np.subtract),
    comparison.clamp: _clamp_quietly,
    masks.masked_fill: _masked_quietly,
}
