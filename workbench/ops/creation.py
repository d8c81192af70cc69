"""Making tensors: from data, filled, counted."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.dtypes import dtype as Dtype
from ..autograd.levels import is_batched, made_for, risen
from ..autograd.state import local
from ..autograd.tensor import Tensor, wrap
from ..errors import warn
from . import messages
from .core.checks import fitting, int_of, kind_of, not_a_tensor, number_of, size_of
from .core.registry import in_formulas
from .core.results import lying_as, placed

NESTED = (list, tuple, range, np.ndarray)


def leaf(array: np.ndarray, requires_grad: bool) -> Tensor:
    """A tensor of its own; RuntimeError for integers that shall require grad."""
    if requires_grad and array.dtype.kind != "f":
        raise RuntimeError(errors.ONLY_FLOATS_CONSTRUCTOR)
    t = wrap(array, requires_grad)
    return risen(t, local.modes.levels) if local.modes.levels else t


def kind_for(function: str, dtype: Any) -> np.dtype:
    """The kind of number that was asked for, else the default."""
    return dtypes.chosen_dtype(function, dtype, dtypes.get_default_dtype()).np


@placed
def tensor(data: Any, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """A leaf with a copy of `data`: numbers, nested lists, arrays. Python floats get the default dtype."""
    if isinstance(data, Tensor):
        warn(errors.TENSOR_OF_TENSOR)
        if is_batched(data) is not None:
            raise RuntimeError(errors.DETACH_VIEW)
        array, kind = data._array.copy(), data.dtype
    elif isinstance(data, (np.ndarray, np.generic)):
        array = np.array(data)
        kind = dtypes.of(array)
    else:
        array, kind = _array_of(data)
        wanted = dtypes.chosen_dtype("tensor", dtype, kind)
        if wanted.rank == 1 and wanted is not kind and array.size:
            for end in (array.min(), array.max()):
                fitting(end, wanted, wanted.name)
    return leaf(array.astype(dtypes.chosen_dtype("tensor", dtype, kind).np, copy=False), requires_grad)


def _array_of(data: Any) -> tuple[np.ndarray, Dtype]:
    """Numbers and nested lists of numbers as an array that has lost nothing, and the dtype in which they meet."""
    if isinstance(data, str):
        raise TypeError(messages.DATA_IS_TEXT)
    shape, first = [], data
    while isinstance(first, NESTED):
        shape.append(len(first))
        first = first[0] if len(first) else None
    level = [data]
    for dim, size in enumerate(shape):
        for part in level:
            if not isinstance(part, NESTED):
                raise TypeError(messages.NOT_A_SEQUENCE)
            if len(part) != size:
                raise ValueError(messages.SEQUENCE_LENGTH.format(size, dim, len(part)))
        level = [element for part in level for element in part]
    kinds = {_kind_of(element) for element in level}
    kind = functools.reduce(dtypes.promote, kinds) if kinds else dtypes.get_default_dtype()
    numbers = [float(e) if isinstance(e, Tensor) and kind.is_floating_point else e for e in level]
    try:
        wide = np.float64 if kind.is_floating_point else kind.np
        return np.array([int(e) if isinstance(e, Tensor) else e for e in numbers], wide).reshape(shape), kind
    except OverflowError:
        raise ValueError(messages.LONG_OVERFLOW) from None


def index_array(data: Any) -> np.ndarray:
    """A sequence as an array of indices, cut to integers, or as a mask."""
    data = _in_lists(data)
    array, kind = (data, dtypes.of(data)) if isinstance(data, np.ndarray) else _array_of(data)
    return array if kind in (dtypes.bool_, dtypes.uint8) else array.astype(np.int64, copy=False)


def _in_lists(data: Any) -> Any:
    """Sequences of all kinds as lists; TypeError for text, which is one too."""
    if isinstance(data, (str, bytes)):
        raise TypeError(messages.DATA_KIND.format(type(data).__name__))
    if isinstance(data, (np.ndarray, np.generic, Tensor)) or not hasattr(type(data), "__getitem__"):
        return data
    return [_in_lists(part) for part in data]


def _kind_of(element: Any) -> Dtype:
    """The dtype of one number in a list; TypeError, ValueError or RuntimeError if it is none."""
    if isinstance(element, (Tensor, np.generic)):
        return element.dtype if isinstance(element, Tensor) else dtypes.of(np.asarray(element))
    if isinstance(element, (bool, int, float)):
        return dtypes.of_number(element)
    if isinstance(element, NESTED):
        raise TypeError(messages.NOT_A_REAL_NUMBER.format(type(element).__name__))
    if isinstance(element, str):
        raise ValueError(messages.DIMENSIONS_OF_TEXT)
    if isinstance(element, complex):
        raise TypeError(messages.NO_COMPLEX)
    raise RuntimeError(messages.DTYPE_OF_ELEMENT.format(type(element).__name__))


@placed
def full(size: Any, fill_value: float, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """A leaf of shape `size`, every element `fill_value`."""
    if not isinstance(size, (list, tuple)):
        raise TypeError(messages.FULL_SIZE.format(kind_of(size)))
    shape = size_of("full", (size,))
    number = number_of("full", "fill_value", 1, fill_value)
    kind = dtypes.chosen_dtype("full", dtype, dtypes.of_number(number))
    return leaf(np.full(shape, fitting(number, kind), kind.np), requires_grad)


@placed
def zeros(*given: Any, size: Any = None, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """A leaf of zeros."""
    return leaf(np.zeros(size_of("zeros", given, size), kind_for("zeros", dtype)), requires_grad)


@placed
def ones(*given: Any, size: Any = None, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """A leaf of ones."""
    return leaf(np.ones(size_of("ones", given, size), kind_for("ones", dtype)), requires_grad)


def like(name: str, make: Callable[..., Any], input: Any, dtype: Dtype | None, requires_grad: bool) -> Tensor:
    if not isinstance(input, Tensor):
        raise TypeError(not_a_tensor(name, "input", 0, input))
    a, kind = input._array, dtypes.chosen_dtype(name, dtype, input.dtype).np
    return made_for(input, lambda batch: leaf(lying_as(a, make((*batch, *a.shape), kind)), requires_grad), True)


@placed
def zeros_like(input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Zeros in the shape and dtype of a tensor."""
    return like("zeros_like", np.zeros, input, dtype, requires_grad)


in_formulas(  # np.zeros_like takes ten times as long
    "zeros_like", lambda a: np.zeros(a.shape, a.dtype) if a.flags.c_contiguous else np.zeros_like(a), zeros_like
)


@placed
def ones_like(input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Ones in the shape and dtype of a tensor."""
    return like("ones_like", np.ones, input, dtype, requires_grad)


@placed
def empty(*given: Any, size: Any = None, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """A leaf whose elements are whatever the memory held."""
    return leaf(np.empty(size_of("empty", given, size), kind_for("empty", dtype)), requires_grad)


@placed
def empty_like(input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """The same in the shape and dtype of a tensor."""
    return like("empty_like", np.empty, input, dtype, requires_grad)


@placed
def full_like(input: Tensor, fill_value: float, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """One number everywhere, in the shape and dtype of a tensor."""
    number = number_of("full_like", "fill_value", 1, fill_value) if isinstance(input, Tensor) else 0

    def filled(shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
        return np.full(shape, fitting(number, dtypes.named(kind.name)), kind)

    return like("full_like", filled, input, dtype, requires_grad)


@placed
def eye(n: int, m: int | None = None, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """A matrix with ones on its diagonal and zeros elsewhere."""
    rows, columns = int_of("eye", "n", 0, n), int_of("eye", "m", 1, n if m is None else m)
    for name, size in (("n", rows), ("m", columns)):
        if size < 0:
            raise RuntimeError(messages.EYE_SIZE.format(name, size))
    return leaf(np.eye(rows, columns, dtype=kind_for("eye", dtype)), requires_grad)


@placed
def linspace(
    start: float, end: float, steps: int, *, dtype: Dtype | None = None, requires_grad: bool = False
) -> Tensor:
    """So many numbers from `start` to `end`, both included, at equal distances."""
    steps = int_of("linspace", "steps", 2, steps)
    if steps < 0:
        raise RuntimeError(messages.LINSPACE_STEPS)
    start, end = number_of("linspace", "start", 0, start), number_of("linspace", "end", 1, end)
    kind = kind_for("linspace", dtype)
    if kind.kind == "f":
        return leaf(np.linspace(float(start), float(end), steps).astype(kind), requires_grad)
    step = (end - start) / max(steps - 1, 1)  # cut off, not rounded, and counted from the nearer end
    numbers = [start + step * i if i < steps // 2 else end - step * (steps - 1 - i) for i in range(steps)]
    return leaf(np.array(numbers).astype(kind), requires_grad)


@placed
def arange(
    *bounds: float,
    start: float | None = None,
    end: float | None = None,
    step: float = 1,
    dtype: Dtype | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The numbers from `start` (0 if only one bound is given) up to, not including, `end`."""
    if len(bounds) == 1 and type(bounds[0]) is int and 0 <= bounds[0] and step == 1:
        if start is end is dtype is None and not requires_grad:
            return leaf(np.arange(bounds[0]), False)
    given = dict(zip(("end",) if len(bounds) == 1 and end is None else ("start", "end", "step"), bounds, strict=False))
    if len(bounds) > 3 or any(named is not None and name in given for name, named in (("start", start), ("end", end))):
        raise TypeError(messages.ARANGE_ARGUMENTS)
    given = {"start": 0 if start is None else start, "end": end, "step": step} | given
    low, high, by = (number_of("arange", name, len(bounds) > 1 and i, given[name]) for i, name in enumerate(given))
    if dtype is None:
        whole = all(isinstance(v, int) for v in (low, high, by))
        dtype = dtypes.int64 if whole else dtypes.get_default_dtype()
    kind = kind_for("arange", dtype)
    if kind.kind == "b":
        raise NotImplementedError(messages.NO_KERNEL.format("arange_cpu", "Bool"))
    if not math.isfinite(high - low):
        raise RuntimeError(messages.ARANGE_RANGE.format(low, high))
    if kind == np.int64:
        low, high, by = int(low), int(high), int(by)
    if not by or by != by:
        raise RuntimeError(messages.ARANGE_STEP)
    if (high - low) * by < 0:
        raise RuntimeError(messages.ARANGE_SIGN)
    count = math.ceil((high - low) / by)
    if kind.kind != "f":
        low, by = int(low), int(by)
    return leaf((low + by * np.arange(count)).astype(kind), requires_grad)


def _new(name: str, make: Callable[..., Any], what: str) -> None:
    def new(
        self: Tensor, *given: Any, size: Any = None, dtype: Dtype | None = None, requires_grad: bool = False
    ) -> Tensor:
        shape, kind = size_of(name, given, size, 1), dtypes.chosen_dtype(name, dtype, self.dtype).np
        return made_for(self, lambda batch: leaf(make((*batch, *shape), kind), requires_grad))

    new.__name__ = new.__qualname__ = name
    new.__doc__ = f"A leaf of {what}, in this tensor's dtype."
    setattr(Tensor, name, placed(new))


_new("new_zeros", np.zeros, "zeros")
_new("new_ones", np.ones, "ones")
_new("new_empty", np.empty, "whatever the memory held")


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)
