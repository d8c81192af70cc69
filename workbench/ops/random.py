"""Random numbers, and where they come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.dtypes import dtype as Dtype
from ..autograd.levels import below, lift
from ..autograd.state import in_forked_children, local
from ..autograd.tensor import Tensor, wrap
from . import messages
from .core.checks import int_of, kind_of, not_a_tensor, size_of
from .core.results import lying_as, placed
from .creation import kind_for, leaf

_generators: dict[str, np.random.Generator] = {}


def generator() -> np.random.Generator:
    """Where random numbers come from, made when first needed: NumPy's takes as long to load as all operations."""
    found = _generators.get("default")
    # of threads that begin at once all get the same, or they would draw the same numbers
    return found or _generators.setdefault("default", np.random.default_rng(0))


def manual_seed(seed: int) -> np.random.Generator:
    """Begin the random numbers anew; the same seed gives the same numbers (NumPy's, not PyTorch's)."""
    made = _generators["default"] = np.random.default_rng(seed)
    return made


@in_forked_children
def _unlock() -> None:
    """Another thread may have been drawing numbers: NumPy's lock is then held for ever."""
    for made in _generators.values():
        lock: Any = made.bit_generator.lock
        lock._at_fork_reinit()


def get_rng_state() -> Tensor:
    """Where the random numbers are, as bytes that set_rng_state takes."""
    state = generator().bit_generator.state
    numbers = (*state["state"].values(), state["has_uint32"], state["uinteger"])
    return wrap(np.frombuffer(b"".join(n.to_bytes(16, "little") for n in numbers), np.uint8).copy())


def set_rng_state(new_state: Tensor) -> None:
    """Go back to where the random numbers were."""
    if not isinstance(new_state, Tensor):
        raise TypeError(messages.RNG_KIND.format(type(new_state).__name__))
    if new_state.dtype is not dtypes.uint8:
        raise TypeError(messages.RNG_DTYPE)
    if new_state._array.size != 64:
        raise RuntimeError(messages.RNG_SIZE.format(new_state._array.size))
    data = new_state._array.tobytes()
    state, inc, has_uint32, uinteger = [int.from_bytes(data[i : i + 16], "little") for i in range(0, 64, 16)]
    inner = {"state": state, "inc": inc}
    whole = {"bit_generator": "PCG64", "state": inner, "has_uint32": has_uint32, "uinteger": uinteger}
    generator().bit_generator.state = whole


@placed
def randn(*given: Any, size: Any = None, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Normally distributed random numbers."""
    return _random("standard_normal", size_of("randn", given, size), kind_for("randn", dtype), requires_grad)


@placed
def rand(*given: Any, size: Any = None, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Random numbers spread evenly over [0, 1)."""
    return _random("random", size_of("rand", given, size), kind_for("rand", dtype), requires_grad)


def kept(shape: tuple[int, ...], p: float, kind: np.dtype) -> Tensor:
    """For each element 1 / p with probability p, else 0: what dropout multiplies by."""
    return _drawn(lambda batch: (generator().random((*batch, *shape)) < p).astype(kind) / p, kind, False)


def _random(distribution: str, shape: tuple[int, ...], kind: np.dtype, requires_grad: bool, like: Any = None) -> Tensor:
    if kind.kind != "f":
        kernel = {"standard_normal": "normal_kernel_cpu", "random": "check_uniform_bounds"}[distribution]
        raise NotImplementedError(messages.NO_KERNEL.format(kernel, dtypes.named(kind.name).word))

    def draw(batch: tuple[int, ...]) -> np.ndarray:
        numbers = np.asarray(getattr(generator(), distribution)((*batch, *shape)))
        return numbers if like is None else lying_as(like, numbers)

    return _drawn(draw, kind, requires_grad)


def _drawn(draw: Callable[[tuple[int, ...]], np.ndarray], kind: np.dtype, requires_grad: bool) -> Tensor:
    """Random numbers as a leaf, or as many as there are samples of the running vmaps that want different ones."""
    levels = local.modes.levels
    if not levels:
        return leaf(draw(()).astype(kind), requires_grad)
    vmaps = [level for level in levels if level.kind == "vmap"]
    if any([level.randomness == "error" for level in vmaps]):
        raise RuntimeError(errors.RANDOM_UNDER_VMAP)
    if any([level.own for level in vmaps]):
        raise RuntimeError(errors.RANDOM_IN_BATCH)
    with below(None):
        t = leaf(draw(tuple([v.size for v in vmaps if v.randomness == "different"])).astype(kind), requires_grad)
    for level in levels:
        if level not in vmaps or level.randomness == "different":
            t = lift(t, level)
    return t


def _like(name: str, distribution: str, input: Tensor, dtype: Dtype | None, requires_grad: bool) -> Tensor:
    if not isinstance(input, Tensor):
        raise TypeError(not_a_tensor(name, "input", 0, input))
    kind = dtypes.chosen_dtype(name, dtype, input.dtype).np
    return _random(distribution, input._array.shape, kind, requires_grad, input._array)


@placed
def randn_like(input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Normally distributed random numbers in the shape and dtype of a tensor."""
    return _like("randn_like", "standard_normal", input, dtype, requires_grad)


@placed
def rand_like(input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Random numbers spread evenly over [0, 1), in the shape and dtype of a tensor."""
    return _like("rand_like", "random", input, dtype, requires_grad)


@placed
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
        raise TypeError(messages.RANDINT_SIZE.format(kind_of(size)))
    low, high = int_of("randint", "low", 0, low), int_of("randint", "high", 0, high)
    if low >= high:
        raise RuntimeError(messages.RANDINT_RANGE.format(low, high))
    kind, shape = dtypes.chosen_dtype("randint", dtype, dtypes.int64).np, size_of("randint", (size,))
    return _drawn(lambda batch: np.asarray(generator().integers(low, high, (*batch, *shape))), kind, requires_grad)


@placed
def randperm(n: int, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """The integers below `n` in random order."""
    kind = dtypes.chosen_dtype("randperm", dtype, dtypes.int64).np
    (n,) = size_of("randperm", (int_of("randperm", "n", 0, n),))

    def orders(batch: tuple[int, ...]) -> np.ndarray:
        if not batch:
            return generator().permutation(n)
        return generator().permuted(np.broadcast_to(np.arange(n), (*batch, n)), axis=-1)

    return _drawn(orders, kind, requires_grad)
