"""Random numbers, and where they come from."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..autograd import dtypes
from ..autograd.dtypes import dtype as Dtype
from ..autograd.tensor import Tensor, wrap
from .arguments import int_of, size_of
from .creation import kind_for, leaf, like
from .refusals import kind_of

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


def randn(*given: Any, size: Any = None, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Normally distributed random numbers."""
    return leaf(_random("standard_normal", size_of("randn", given, size), kind_for("randn", dtype)), requires_grad)


def rand(*given: Any, size: Any = None, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Random numbers spread evenly over [0, 1)."""
    return leaf(_random("random", size_of("rand", given, size), kind_for("rand", dtype)), requires_grad)


def _random(distribution: str, shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    if kind.kind != "f":
        kernel = {"standard_normal": "normal_kernel_cpu", "random": "check_uniform_bounds"}[distribution]
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.named(kind.name).word}'")
    return np.asarray(getattr(generator(), distribution)(shape)).astype(kind)


def randn_like(input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Normally distributed random numbers in the shape and dtype of a tensor."""
    return like("randn_like", functools.partial(_random, "standard_normal"), input, dtype, requires_grad)


def rand_like(input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Random numbers spread evenly over [0, 1), in the shape and dtype of a tensor."""
    return like("rand_like", functools.partial(_random, "random"), input, dtype, requires_grad)


def randint(
    low: int = 0,
    high: Any = None,
    size: Any = None,
    *,
    dtype: Dtype | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Random integers from `low` (0 if only one bound is given) up to, not including, `high`."""
    if not isinstance(high, (int, np.integer)) or size is None:
        low, high, size = 0, low, size if high is None else high
    if not isinstance(size, (list, tuple)):
        raise TypeError(f"randint(): argument 'size' (position 2) must be tuple of ints, not {kind_of(size)}")
    low, high = int_of("randint", "low", 0, low), int_of("randint", "high", 0, high)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    kind = dtypes.chosen("randint", dtype, dtypes.int64).np
    return leaf(np.asarray(generator().integers(low, high, size_of("randint", (size,)))).astype(kind), requires_grad)


def randperm(n: int, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """The integers below `n` in random order."""
    kind = dtypes.chosen("randperm", dtype, dtypes.int64).np
    (n,) = size_of("randperm", (int_of("randperm", "n", 0, n),))
    return leaf(generator().permutation(n).astype(kind), requires_grad)
