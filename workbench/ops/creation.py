"""Making tensors: from data, filled, counted, random."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.dtypes import dtype as Dtype
from ..autograd.tensor import Tensor, wrap
from .declare import in_formulas
from .refusals import not_a_tensor
from .shapes import python_number, shape_of

NESTED = (list, tuple, range, np.ndarray)

_generator: np.random.Generator | None = None


def generator() -> np.random.Generator:
    """Where random numbers come from, made when first needed: NumPy's takes as long to load as all operations."""
    return _generator or manual_seed(0)


def manual_seed(seed: int) -> np.random.Generator:
    """Begin the random numbers anew; the same seed gives the same numbers (NumPy's, not PyTorch's)."""
    global _generator
    _generator = np.random.default_rng(seed)
    return _generator


def get_rng_state() -> Tensor:
    """Where the random numbers are, as bytes that set_rng_state takes."""
    state = generator().bit_generator.state
    numbers = (*state["state"].values(), state["has_uint32"], state["uinteger"])
    return wrap(np.frombuffer(b"".join(n.to_bytes(16, "little") for n in numbers), np.uint8).copy())


def set_rng_state(new_state: Tensor) -> None:
    """Go back to where the random numbers were."""
    if not isinstance(new_state, Tensor):
        raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
    if new_state.dtype is not dtypes.uint8:
        raise TypeError("RNG state must be a torch.ByteTensor")
    if new_state._array.size != 64:
        raise RuntimeError(f"Expected an RNG state of size 64 but found one of size {new_state._array.size}")
    data = new_state._array.tobytes()
    state, inc, has_uint32, uinteger = [int.from_bytes(data[i : i + 16], "little") for i in range(0, 64, 16)]
    inner = {"state": state, "inc": inc}
    whole = {"bit_generator": "PCG64", "state": inner, "has_uint32": has_uint32, "uinteger": uinteger}
    generator().bit_generator.state = whole


def _leaf(array: np.ndarray, requires_grad: bool) -> Tensor:
    if requires_grad and array.dtype.kind != "f":
        raise RuntimeError(errors.ONLY_FLOATS_CONSTRUCTOR)
    return wrap(array, requires_grad)


def _kind(function: str, dtype: Any) -> np.dtype:
    return dtypes.chosen(function, dtype, dtypes.get_default_dtype()).np


def tensor(data: Any, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """A leaf with a copy of `data`: numbers, nested lists, arrays. Python floats get the default dtype."""
    if isinstance(data, Tensor):
        warnings.warn(errors.TENSOR_OF_TENSOR, UserWarning, stacklevel=2)
        array, kind = data._array.copy(), data.dtype
    elif isinstance(data, (np.ndarray, np.generic)):
        array = np.array(data)
        kind = dtypes.of(array)
    else:
        array, kind = _array_of(data)
    return _leaf(array.astype(dtypes.chosen("tensor", dtype, kind).np, copy=False), requires_grad)


def _array_of(data: Any) -> tuple[np.ndarray, Dtype]:
    """Numbers and nested lists of numbers as an array that has lost nothing, and the dtype in which they meet."""
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    shape, first = [], data
    while isinstance(first, NESTED):
        shape.append(len(first))
        first = first[0] if len(first) else None
    level = [data]
    for dim, size in enumerate(shape):
        for part in level:
            if not isinstance(part, NESTED):
                raise TypeError("not a sequence")
            if len(part) != size:
                raise ValueError(f"expected sequence of length {size} at dim {dim} (got {len(part)})")
        level = [element for part in level for element in part]
    kinds = {_kind_of(element) for element in level}
    kind = functools.reduce(dtypes.promote, kinds) if kinds else dtypes.get_default_dtype()
    numbers = [float(e) if isinstance(e, Tensor) and kind.is_floating_point else e for e in level]
    try:
        wide = np.float64 if kind.is_floating_point else kind.np
        return np.array([int(e) if isinstance(e, Tensor) else e for e in numbers], wide).reshape(shape), kind
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None


def _kind_of(element: Any) -> Dtype:
    """The dtype of one number in a list; TypeError, ValueError or RuntimeError if it is none."""
    if isinstance(element, (Tensor, np.generic)):
        return element.dtype if isinstance(element, Tensor) else dtypes.of(np.asarray(element))
    if isinstance(element, (bool, int, float)):
        return dtypes.of_number(element)
    if isinstance(element, NESTED):
        raise TypeError(f"must be real number, not {type(element).__name__}")
    if isinstance(element, str):
        raise ValueError("too many dimensions 'str'")
    if isinstance(element, complex):
        raise TypeError("the workbench has no complex tensors; give real and imaginary parts as two tensors.")
    raise RuntimeError(f"Could not infer dtype of {type(element).__name__}")


def full(size: Any, fill_value: float, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """A leaf of shape `size`, every element `fill_value`."""
    if isinstance(fill_value, Tensor) and not fill_value.requires_grad:
        fill_value = fill_value.item()
    fill_value = python_number(fill_value)
    if not isinstance(fill_value, (bool, int, float)):
        kind = type(fill_value).__name__
        raise TypeError(f"full(): argument 'fill_value' (position 2) must be Number, not {kind}")
    kind = dtypes.chosen("full", dtype, dtypes.of_number(fill_value))
    return _leaf(np.full(shape_of(size), fill_value, kind.np), requires_grad)


def zeros(*size: Any, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """A leaf of zeros."""
    return _leaf(np.zeros(shape_of(*size), _kind("zeros", dtype)), requires_grad)


def ones(*size: Any, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """A leaf of ones."""
    return _leaf(np.ones(shape_of(*size), _kind("ones", dtype)), requires_grad)


def _like(name: str, make: Callable[..., Any], input: Any, dtype: Dtype | None, requires_grad: bool) -> Tensor:
    if not isinstance(input, Tensor):
        raise TypeError(not_a_tensor(name, "input", 0, input))
    return _leaf(make(input._array.shape, dtypes.chosen(name, dtype, input.dtype).np), requires_grad)


def zeros_like(input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Zeros in the shape and dtype of a tensor."""
    return _like("zeros_like", np.zeros, input, dtype, requires_grad)


in_formulas("zeros_like", np.zeros_like, zeros_like)


def ones_like(input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Ones in the shape and dtype of a tensor."""
    return _like("ones_like", np.ones, input, dtype, requires_grad)


def empty(*size: Any, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """A leaf whose elements are whatever the memory held."""
    return _leaf(np.empty(shape_of(*size), _kind("empty", dtype)), requires_grad)


def empty_like(input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """The same in the shape and dtype of a tensor."""
    return _like("empty_like", np.empty, input, dtype, requires_grad)


def full_like(input: Tensor, fill_value: float, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """One number everywhere, in the shape and dtype of a tensor."""
    out = _like("full_like", np.empty, input, dtype, requires_grad)
    out._array[...] = fill_value
    return out


def eye(n: int, m: int | None = None, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """A matrix with ones on its diagonal and zeros elsewhere."""
    for name, size in (("n", n), ("m", n if m is None else m)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    return _leaf(np.eye(n, m, dtype=_kind("eye", dtype)), requires_grad)


def linspace(
    start: float, end: float, steps: int, *, dtype: Dtype | None = None, requires_grad: bool = False
) -> Tensor:
    """So many numbers from `start` to `end`, both included, at equal distances."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    kind = _kind("linspace", dtype)
    if kind.kind == "f":
        return _leaf(np.linspace(float(start), float(end), steps).astype(kind), requires_grad)
    step = (end - start) / max(steps - 1, 1)  # cut off, not rounded, and counted from the nearer end
    numbers = [start + step * i if i < steps // 2 else end - step * (steps - 1 - i) for i in range(steps)]
    return _leaf(np.array(numbers).astype(kind), requires_grad)


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
    if not step:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    numbers = start + step * np.arange(math.ceil((end - start) / step))
    return _leaf(numbers.astype(_kind("arange", dtype)), requires_grad)


def randn(*size: Any, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Normally distributed random numbers."""
    return _leaf(_random("standard_normal", shape_of(*size), _kind("randn", dtype)), requires_grad)


def rand(*size: Any, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Random numbers spread evenly over [0, 1)."""
    return _leaf(_random("random", shape_of(*size), _kind("rand", dtype)), requires_grad)


def _random(distribution: str, shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    if kind.kind != "f":
        kernel = {"standard_normal": "normal_kernel_cpu", "random": "check_uniform_bounds"}[distribution]
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.named(kind.name).word}'")
    return np.asarray(getattr(generator(), distribution)(shape)).astype(kind)


def randn_like(input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Normally distributed random numbers in the shape and dtype of a tensor."""
    return _like("randn_like", functools.partial(_random, "standard_normal"), input, dtype, requires_grad)


def rand_like(input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Random numbers spread evenly over [0, 1), in the shape and dtype of a tensor."""
    return _like("rand_like", functools.partial(_random, "random"), input, dtype, requires_grad)


def randint(
    low: int = 0,
    high: Any = None,
    size: Any = None,
    *,
    dtype: Dtype | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Random integers from `low` (0 if only one bound is given) up to, not including, `high`."""
    if not isinstance(high, (int, np.integer)):
        low, high, size = 0, low, high
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    kind = dtypes.chosen("randint", dtype, dtypes.int64).np
    return _leaf(np.asarray(generator().integers(low, high, shape_of(size))).astype(kind), requires_grad)


def randperm(n: int, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """The integers below `n` in random order."""
    kind = dtypes.chosen("randperm", dtype, dtypes.int64).np
    return _leaf(generator().permutation(n).astype(kind), requires_grad)


def _new(name: str, make: Callable[..., Any], what: str) -> None:
    def new(self: Tensor, *size: Any, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
        return _leaf(make(shape_of(*size), dtypes.chosen(name, dtype, self.dtype).np), requires_grad)

    new.__name__ = name
    new.__doc__ = f"A leaf of {what}, in this tensor's dtype."
    setattr(Tensor, name, new)


_new("new_zeros", np.zeros, "zeros")
_new("new_ones", np.ones, "ones")
_new("new_empty", np.empty, "whatever the memory held")


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)
