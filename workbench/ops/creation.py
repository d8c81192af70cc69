"""Making tensors: from data, filled, counted, of random numbers."""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.dtypes import dtype as Dtype
from ..autograd.levels import below, is_batched, lift, lift_to_top, made_for
from ..autograd.state import in_forked_children, local, quietly, slow_path_reasons
from ..autograd.tensor import Tensor, wrap
from ..errors import kind_of, warn
from ..events import emit, listeners
from .core import formats
from .core.checks import check_tensor, fitting, int_of, named, not_a_tensor, number_of, size_of
from .core.registry import in_formulas
from .core.results import lying_as, placed

PLAIN = {bool, int, float, complex}
NESTED = (list, tuple, range, deque, np.ndarray)


def leaf(array: np.ndarray, requires_grad: bool) -> Tensor:
    """Return a new leaf over an array; RuntimeError for integers that require grad."""
    if requires_grad and array.dtype.kind not in "fc":
        raise RuntimeError(errors.ONLY_FLOATS_CONSTRUCTOR)
    t = wrap(array, requires_grad)
    return lift_to_top(t, local.modes.levels) if slow_path_reasons and local.modes.levels else t


def kind_for(function: str, dtype: Any) -> np.dtype:
    """Return the NumPy dtype requested, else the default."""
    return dtypes.chosen_dtype(function, dtype, dtypes.get_default_dtype()).np


def filled_with_ones(shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    """Return what `np.ones` gives, in a third of its time."""
    array = np.empty(shape, kind)
    array.fill(1)
    return array


@placed
def tensor(data: Any, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Return a new tensor with a copy of `data`.

    Args:
        data: A number, nested lists of numbers, an array or a tensor.
        dtype: The dtype of the result. By default, arrays and tensors keep their dtype. Python
            numbers give bool, int64 or the default floating-point dtype.
        requires_grad: Whether `backward()` computes a gradient for the tensor.

    Raises:
        ValueError: if nested lists differ in length.
        RuntimeError: if `requires_grad` is True and the dtype isn't floating point.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]]).dtype, torch.tensor(1.0).dtype
        (torch.int64, torch.float32)
    """
    if isinstance(data, Tensor):
        warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than "
            "torch.tensor(sourceTensor)."
        )
        if is_batched(data) is not None:
            raise RuntimeError(errors.DETACH_VIEW)
        array, kind = data._array.copy(), data.dtype
    elif isinstance(data, (np.ndarray, np.generic)):
        array = np.array(data)
        kind = dtypes.of(array)
    else:
        array, kind = _array_of(data)
        wanted = dtypes.chosen_dtype("tensor", dtype, kind)
        if wanted is not kind and wanted.rank == 1 and array.size:
            for end in (array.min(), array.max()):
                fitting(end, wanted, wanted.name)
    wanted = dtypes.chosen_dtype("tensor", dtype, kind).np
    made = leaf(array if array.dtype is wanted else quietly(array.astype, wanted), requires_grad)
    if listeners and any([isinstance(each, Tensor) for each in (data if isinstance(data, tuple | list) else (data,))]):
        emit(("unrecorded", "tensor", (data,), (made,)))
    return made


def _array_of(data: Any) -> tuple[np.ndarray, Dtype]:
    """Return numbers and nested lists as an array without loss, and their common dtype."""
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
    types = {*map(type, level)}
    plain = types <= PLAIN
    kinds = {dtypes.of_number(kind()) for kind in types} if plain else {_kind_of(element) for element in level}
    kind = functools.reduce(dtypes.promote, kinds) if kinds else dtypes.get_default_dtype()
    wide, number = (np.float64, float) if kind.is_floating_point else (kind.np, int)
    if kind.is_complex:
        wide, number = np.complex128, complex
    numbers = level if plain else [number(e) if isinstance(e, Tensor) else e for e in level]
    try:
        return np.array(numbers, wide).reshape(shape), kind
    except OverflowError:
        raise ValueError(errors.LONG_OVERFLOW) from None


def index_array(data: Any) -> np.ndarray:
    """Return a sequence as an array of indices, cut to integers, or as a mask."""
    data = _in_lists(data)
    array, kind = (data, dtypes.of(data)) if isinstance(data, np.ndarray) else _array_of(data)
    return array if kind in (dtypes.bool_, dtypes.uint8) else array.astype(np.int64, copy=False)


def _in_lists(data: Any) -> Any:
    """Sequences of all kinds as lists; TypeError for text, which is one too."""
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if isinstance(data, (np.ndarray, np.generic, Tensor)) or not hasattr(type(data), "__getitem__"):
        return data
    return [_in_lists(part) for part in data]


def _kind_of(element: Any) -> Dtype:
    """Return the dtype of one number in a list; TypeError, ValueError or RuntimeError if it is none."""
    if isinstance(element, (Tensor, np.generic)):
        return element.dtype if isinstance(element, Tensor) else dtypes.of(np.asarray(element))
    if isinstance(element, (bool, int, float, complex)):
        return dtypes.of_number(element)
    if isinstance(element, NESTED):
        raise TypeError(f"must be real number, not {type(element).__name__}")
    if isinstance(element, str):
        raise ValueError("too many dimensions 'str'")
    raise RuntimeError(f"Could not infer dtype of {type(element).__name__}")


@placed(out=True)
def full(size: Any, fill_value: float, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Return a new tensor of shape `size` in which every element equals `fill_value`.

    If `dtype` is omitted, it follows from the number: bool, int64 or the default floating-point
    dtype.
    """
    if not isinstance(size, (list, tuple)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {kind_of(size)}")
    shape = size_of("full", (size,))
    number = number_of("full", "fill_value", 1, fill_value)
    kind = dtypes.chosen_dtype("full", dtype, dtypes.of_number(number))
    return leaf(quietly(np.full, shape, fitting(number, kind), kind.np), requires_grad)


@placed(out=True)
def zeros(*given: Any, size: Any = None, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Return a new tensor in which every element is 0.

    The shape is given as several ints, as one tuple, or as `size`. The dtype is float32 by default.
    """
    return leaf(np.zeros(size_of("zeros", given, size), kind_for("zeros", dtype)), requires_grad)


@placed(out=True)
def ones(*given: Any, size: Any = None, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Return a new tensor in which every element is 1.

    The shape is given as several ints, as one tuple, or as `size`. The dtype is float32 by default.
    """
    return leaf(filled_with_ones(size_of("ones", given, size), kind_for("ones", dtype)), requires_grad)


def like(
    name: str, make: Callable[..., Any], input: Any, dtype: Dtype | None, requires_grad: bool, order: Any = None
) -> Tensor:
    if not isinstance(input, Tensor):
        raise TypeError(not_a_tensor(name, "input", 0, input))
    a = input._array
    kind = a.dtype if dtype is None else dtypes.chosen_dtype(name, dtype, input.dtype).np
    if order is not None and order is not formats.preserve_format:
        formats.check_format(name, order)
        formats.check_rank(a.ndim, order)
        return made_for(
            input, lambda batch: leaf(formats.laid_out(make((*batch, *a.shape), kind), order), requires_grad), True
        )
    if not slow_path_reasons and a.flags.c_contiguous:
        return leaf(make(a.shape, kind), requires_grad)
    return made_for(input, lambda batch: leaf(lying_as(a, make((*batch, *a.shape), kind)), requires_grad), True)


@placed
def zeros_like(
    input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False, memory_format: Any = None
) -> Tensor:
    """Return a tensor of zeros with the shape and dtype of `input`."""
    return like("zeros_like", np.zeros, input, dtype, requires_grad, memory_format)


in_formulas(  # np.zeros_like takes ten times as long
    "zeros_like", lambda a: np.zeros(a.shape, a.dtype) if a.flags.c_contiguous else np.zeros_like(a), zeros_like
)


@placed
def ones_like(
    input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False, memory_format: Any = None
) -> Tensor:
    """Return a tensor of ones with the shape and dtype of `input`."""
    return like("ones_like", filled_with_ones, input, dtype, requires_grad, memory_format)


@placed(out=True)
def empty(
    *given: Any,
    size: Any = None,
    dtype: Dtype | None = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a new tensor with uninitialized elements: write to them before you read them.

    The shape is given as several ints, as one tuple, or as `size`.
    """
    if memory_format is not None:
        formats.check_format("empty", memory_format)
        shape = size_of("empty", given, size)
        formats.check_rank(len(shape), memory_format)
        return leaf(formats.unfilled(shape, kind_for("empty", dtype), memory_format), requires_grad)
    return leaf(np.empty(size_of("empty", given, size), kind_for("empty", dtype)), requires_grad)


@placed
def empty_like(
    input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False, memory_format: Any = None
) -> Tensor:
    """Return a tensor with the shape and dtype of `input`, whose elements are uninitialized."""
    return like("empty_like", np.empty, input, dtype, requires_grad, memory_format)


@placed
def full_like(
    input: Tensor,
    fill_value: float,
    *,
    dtype: Dtype | None = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a tensor with the shape and dtype of `input`, and every element equal to `fill_value`."""
    number = number_of("full_like", "fill_value", 1, fill_value) if isinstance(input, Tensor) else 0

    def filled(shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
        return np.full(shape, fitting(number, dtypes.named(kind.name)), kind)

    return like("full_like", filled, input, dtype, requires_grad, memory_format)


@placed(out=True)
def eye(n: int, m: int | None = None, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Return a matrix (n, m) with ones on its diagonal and zeros elsewhere.

    If `m` is omitted, the matrix is square.
    """
    rows, columns = int_of("eye", "n", 0, n), int_of("eye", "m", 1, n if m is None else m)
    for name, size in (("n", rows), ("m", columns)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    return leaf(np.eye(rows, columns, dtype=kind_for("eye", dtype)), requires_grad)


@placed(out=True)
def linspace(
    start: float, end: float, steps: int, *, dtype: Dtype | None = None, requires_grad: bool = False
) -> Tensor:
    """Return `steps` numbers from `start` to `end`, both included, at equal distances.

    Example:
        >>> torch.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    steps = int_of("linspace", "steps", 2, steps)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    start, end = number_of("linspace", "start", 0, start), number_of("linspace", "end", 1, end)
    kind = kind_for("linspace", dtype)
    if kind.kind == "c":
        return leaf(np.linspace(start, end, steps).astype(kind), requires_grad)
    if kind.kind == "f":
        return leaf(quietly(np.linspace(float(start), float(end), steps).astype, kind), requires_grad)
    step = (end - start) / max(steps - 1, 1)  # cut off, not rounded, and counted from the nearer end
    numbers = [start + step * i if i < steps // 2 else end - step * (steps - 1 - i) for i in range(steps)]
    return leaf(quietly(np.array(numbers).astype, kind), requires_grad)


@placed(out=True)
def arange(
    *bounds: float,
    start: float | None = None,
    end: float | None = None,
    step: float = 1,
    dtype: Dtype | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a vector of the numbers `start`, `start + step`, and so on, below `end`.

    Call it as `arange(end)`, `arange(start, end)` or `arange(start, end, step)`. Without `start`,
    the first number is 0. The result is int64 if all arguments are ints, otherwise floating point.

    Raises:
        RuntimeError: if `step` is zero, or leads away from `end`.

    Example:
        >>> torch.arange(3), torch.arange(1, 2, 0.5)
        (tensor([0, 1, 2]), tensor([1.0000, 1.5000]))
    """
    if len(bounds) == 1 and type(bounds[0]) is int and 0 <= bounds[0] and step == 1:
        if start is end is dtype is None and not requires_grad:
            return leaf(np.arange(bounds[0], dtype=np.int64), False)
    given = dict(zip(("end",) if len(bounds) == 1 and end is None else ("start", "end", "step"), bounds, strict=False))
    if len(bounds) > 3 or any(named is not None and name in given for name, named in (("start", start), ("end", end))):
        raise TypeError("arange() received an invalid combination of arguments")
    given = {"start": 0 if start is None else start, "end": end, "step": step} | given
    low, high, by = (number_of("arange", name, len(bounds) > 1 and i, given[name]) for i, name in enumerate(given))
    if dtype is None:
        whole = all(isinstance(v, int) for v in (low, high, by))
        dtype = dtypes.int64 if whole else dtypes.get_default_dtype()
    kind = kind_for("arange", dtype)
    if kind.kind in "bc":
        raise NotImplementedError(errors.NO_KERNEL.format("arange_cpu", dtypes.named(kind.name).word))
    if not math.isfinite(high - low):
        raise RuntimeError(f"unsupported range: {low:g} -> {high:g}")
    if kind == np.int64:
        low, high, by = int(low), int(high), int(by)
    if not by or by != by:
        raise RuntimeError("step must be nonzero")
    if (high - low) * by < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    count = math.ceil((high - low) / by)
    if kind.kind != "f":
        low, by = int(low), int(by)
    return leaf((low + by * np.arange(count, dtype=np.int64)).astype(kind), requires_grad)


def _new(name: str, make: Callable[..., Any], what: str) -> None:
    def new(
        self: Tensor, *given: Any, size: Any = None, dtype: Dtype | None = None, requires_grad: bool = False
    ) -> Tensor:
        shape, kind = size_of(name, given, size, 1), dtypes.chosen_dtype(name, dtype, self.dtype).np
        return made_for(self, lambda batch: leaf(make((*batch, *shape), kind), requires_grad))

    named(new, name)
    new.__doc__ = (
        f"Return a new tensor {what}, in this tensor's dtype.\n\n"
        "The shape is given as several ints, as one tuple, or as `size`."
    )
    setattr(Tensor, name, placed(new))


_new("new_zeros", np.zeros, "of zeros")
_new("new_ones", filled_with_ones, "of ones")
_new("new_empty", np.empty, "with uninitialized elements")


def is_tensor(obj: Any) -> bool:
    """Return True if `obj` is a Tensor."""
    return isinstance(obj, Tensor)


_generators: dict[str, Any] = {}


def generator(given: Any = None) -> Any:
    """Return the given generator of random numbers, or the default one, created on first use.

    NumPy's random numbers take as long to load as all operations.
    """
    if given is not None:
        if not hasattr(given, "standard_normal"):
            raise TypeError(f"argument 'generator' must be torch.Generator, not {kind_of(given)}")
        return given
    if "default" not in _generators:
        from .generators import Generator

        # of threads that begin at once all get the same, or they would draw the same numbers
        _generators.setdefault("default", Generator())
    return _generators["default"]


source_of = generator  # where an argument has the name


def manual_seed(seed: int) -> Any:
    """Seed the random number generator, so that its numbers repeat, and return the generator.

    The numbers are NumPy's: they differ from those that PyTorch draws for the same seed.
    """
    return generator().manual_seed(int(seed))


def seed() -> int:
    """Seed the random number generator with a random number, and return that number."""
    return generator().seed()


def initial_seed() -> int:
    """Return the last seed of the random number generator, or 0 if none was set."""
    return generator().initial_seed()


@in_forked_children
def _unlock() -> None:
    """Another thread may have been drawing numbers: NumPy's lock is then held for ever."""
    for made in _generators.values():
        lock: Any = made.bit_generator.lock
        lock._at_fork_reinit()


def get_rng_state() -> Tensor:
    """Return the state of the random number generator, as bytes for `set_rng_state`."""
    return generator().get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Restore the random number generator to `new_state`, a state from `get_rng_state`."""
    generator().set_state(new_state)


@placed(out=True)
def randn(
    *given: Any,
    size: Any = None,
    generator: Any = None,
    dtype: Dtype | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return random numbers from the normal distribution with mean 0 and variance 1.

    The shape is given as several ints, as one tuple, or as `size`.
    """
    return _random(
        "standard_normal", size_of("randn", given, size), kind_for("randn", dtype), requires_grad, None, generator
    )


@placed(out=True)
def rand(
    *given: Any,
    size: Any = None,
    generator: Any = None,
    dtype: Dtype | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return random numbers from the uniform distribution over [0, 1).

    The shape is given as several ints, as one tuple, or as `size`.
    """
    return _random("random", size_of("rand", given, size), kind_for("rand", dtype), requires_grad, None, generator)


def dropout_mask(shape: tuple[int, ...], p: float, kind: np.dtype) -> Tensor:
    """Return a mask for dropout to multiply by: 1 / p with probability p, else 0."""
    return drawn(lambda batch: (generator().random((*batch, *shape)) < p).astype(kind) / p, kind, False)


def _random(
    distribution: str, shape: tuple[int, ...], kind: np.dtype, requires_grad: bool, like: Any = None, source: Any = None
) -> Tensor:
    if kind.kind not in "fc":
        kernel = {"standard_normal": "normal_kernel_cpu", "random": "check_uniform_bounds"}[distribution]
        raise NotImplementedError(errors.NO_KERNEL.format(kernel, dtypes.named(kind.name).word))

    def draw(batch: tuple[int, ...]) -> np.ndarray:
        numbers = np.asarray(getattr(generator(source), distribution)((*batch, *shape)))
        if kind.kind == "c":  # normal parts have half the variance each
            others = getattr(generator(source), distribution)((*batch, *shape))
            numbers = (numbers + 1j * others) / (2**0.5 if distribution == "standard_normal" else 1.0)
        return numbers if like is None else lying_as(like, numbers)

    return drawn(draw, kind, requires_grad)


def _drawn_as(draw: Callable[[tuple[int, ...]], np.ndarray], batch: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    return draw(batch).astype(kind)


def drawn(draw: Callable[[tuple[int, ...]], np.ndarray], kind: np.dtype, requires_grad: bool) -> Tensor:
    """Random numbers as a leaf, or as many as there are samples of the running vmaps that want different ones."""
    levels = local.modes.levels
    if not levels:
        return leaf(quietly(_drawn_as, draw, (), kind), requires_grad)
    vmaps = [level for level in levels if level.kind == "vmap"]
    if any([level.randomness == "error" for level in vmaps]):
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use "
            "the 'same' or 'different' randomness flags on vmap or perform the randomness "
            "operation out of vmap"
        )
    if any([level.own for level in vmaps]):
        raise RuntimeError(
            "vmap: We do not yet support calling random operations inside of vmap. Please "
            "perform random operations outside of vmap as a workaround"
        )
    with below(None):
        batch = tuple([v.size for v in vmaps if v.randomness == "different"])
        t = leaf(quietly(_drawn_as, draw, batch, kind), requires_grad)
    for level in levels:
        if level not in vmaps or level.randomness == "different":
            t = lift(t, level)
    return t


def _random_like(name: str, distribution: str, input: Tensor, dtype: Dtype | None, requires_grad: bool) -> Tensor:
    check_tensor(name, "input", 0, input)
    kind = dtypes.chosen_dtype(name, dtype, input.dtype).np
    return _random(distribution, input._array.shape, kind, requires_grad, input._array)


@placed
def randn_like(input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Return standard normal random numbers, like `randn`, in the shape and dtype of `input`."""
    return _random_like("randn_like", "standard_normal", input, dtype, requires_grad)


@placed
def rand_like(input: Tensor, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Return random numbers from [0, 1), like `rand`, in the shape and dtype of `input`."""
    return _random_like("rand_like", "random", input, dtype, requires_grad)


@placed
def randint(
    low: int = 0,
    high: Any = None,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Dtype | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor of random integers, from `low` to `high - 1`.

    Call it as `randint(high, size)` or `randint(low, high, size)`. If `low` is omitted, it is 0.
    The result is int64 by default.
    """
    if not isinstance(high, (int, np.integer)) or size is None:
        low, high, size = 0, low, size if high is None else high
    if not isinstance(size, (list, tuple)):
        raise TypeError(f"randint(): argument 'size' (position 2) must be tuple of ints, not {kind_of(size)}")
    low, high = int_of("randint", "low", 0, low), int_of("randint", "high", 0, high)
    if low >= high:
        raise RuntimeError(errors.RANDOM_RANGE.format(low, high))
    kind, shape = dtypes.chosen_dtype("randint", dtype, dtypes.int64).np, size_of("randint", (size,), position=1)
    source = source_of(generator)
    return drawn(lambda batch: np.asarray(source.integers(low, high, (*batch, *shape))), kind, requires_grad)


@placed
def randperm(n: int, *, generator: Any = None, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Return the integers from 0 to `n - 1` in random order, as int64 by default."""
    kind = dtypes.chosen_dtype("randperm", dtype, dtypes.int64).np
    (n,) = size_of("randperm", (int_of("randperm", "n", 0, n),))

    source = source_of(generator)

    def orders(batch: tuple[int, ...]) -> np.ndarray:
        if not batch:
            return source.permutation(n)
        return source.permuted(np.broadcast_to(np.arange(n, dtype=np.int64), (*batch, n)), axis=-1)

    return drawn(orders, kind, requires_grad)
