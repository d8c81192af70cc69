"""The memory layout of results, the pairs some operations return, and where results are written: `out=`, `device=`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

import numpy as np

from ... import errors
from ...autograd.forward_ad import tangent_of
from ...autograd.grad_mode import no_grad
from ...autograd.levels import is_batched
from ...autograd.state import local, quietly
from ...autograd.tensor import Tensor, bump
from ...errors import kind_of, warn
from .checks import check_device, check_overlap, word
from .described import MADE, explain_shared


def in_rows(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Return the forward with its result row by row in memory, where PyTorch's is so whatever the operands do."""

    def laid_out(*args: Any) -> Any:
        result = forward(*args)
        return result if result.flags.c_contiguous else result.copy()

    return laid_out


def steps_of(a: np.ndarray) -> list[int]:
    """Return how many bytes to move on along each dimension; NumPy says 0 for a new one, of size 1."""
    steps = list(a.strides)
    for d in range(a.ndim - 1, -1, -1):
        if not steps[d] and a.shape[d] == 1:
            steps[d] = steps[d + 1] * a.shape[d + 1] if d + 1 < a.ndim else a.itemsize
    return steps


INT64 = np.dtype(np.int64)


def as_int64(places: np.ndarray) -> np.ndarray:
    """Places that NumPy found in int64, also on machines where its own integers have 32 bits."""
    return places if places.dtype is INT64 else places.astype(INT64)


def copied(a: np.ndarray) -> np.ndarray:
    """Return a copy with the memory layout of `a`; row by row if `a` has elements that share memory."""
    return a.copy("C" if 0 in a.strides else "K")


def lying_as(a: np.ndarray, result: np.ndarray) -> np.ndarray:
    """Return the result in the memory layout of `a`, which has the same shape; batch dimensions stay in front."""
    lead = result.ndim - a.ndim
    if a.flags.c_contiguous or 0 in a.strides or a.shape != result.shape[lead:]:
        return result
    order = [*range(lead), *[lead + d for d in sorted(range(a.ndim), key=lambda d: -abs(a.strides[d]))]]
    out = np.empty([result.shape[d] for d in order], result.dtype).transpose(np.argsort(order))
    out[...] = result
    return out


def places_along(index: np.ndarray, dim: int, keepdim: bool = True) -> tuple[np.ndarray, ...]:
    """NumPy's indices of what an index tensor names: its own places, but along `dim` the elements it holds.

    Without `keepdim` the index tensor does not have that dimension.
    """
    index = index if index.ndim or not keepdim else index.reshape(1)
    places = grid(index.shape)
    return (*places[:dim], index, *places[dim + keepdim :])


@functools.lru_cache(100)
def grid(shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Return the indices along each dimension, in arrays that broadcast with each other."""
    return tuple([np.arange(n, dtype=INT64).reshape((-1,) + (1,) * (len(shape) - i - 1)) for i, n in enumerate(shape)])


class Results(tuple):  # type: ignore[type-arg]
    """What an op returns under several names; to write a class out is quicker to load than namedtuple."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __new__(cls, *results: Any) -> Results:
        return tuple.__new__(cls, results)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)  # a copy is made of all

    def __repr__(self) -> str:
        told = ",\n".join([f"{name}={result!r}" for name, result in zip(self._fields, self, strict=True)])
        return f"torch.return_types.{type(self).__name__}(\n{told})"


def results_of(op: str, *names: str) -> type[Results]:
    """Return the type of what an op returns under these names."""
    body = {"__slots__": (), "__module__": "torch.return_types", "_fields": names}
    return type(op, (Results,), body | {name: property(itemgetter(i)) for i, name in enumerate(names)})


def pair(op: str) -> type[Results]:
    """Return the type of an op's (values, indices)."""
    return results_of(op, "values", "indices")


def into(
    name: str, out: Tensor, function: Callable[..., Tensor], *args: Any, exact: bool | str = False, **options: Any
) -> Tensor:
    """Write `function(*args, **options)` into `out`, which takes its shape, and return `out`.

    `exact` refuses another dtype than the result's, where numbers are not cast: with a sentence of its own, or True.
    """
    if not isinstance(out, Tensor):
        raise TypeError("{}(): argument 'out' must be Tensor, not {}".format(name.removeprefix("aten::"), kind_of(out)))
    given = list(_tensors(args))
    _check_no_gradient(name, [out, *given])
    with no_grad():
        result = function(*args, **options)
    if exact and result.dtype is not out.dtype:
        if exact is True:
            raise RuntimeError(errors.EXACTLY.format(word(result.dtype), word(out.dtype)))
        raise RuntimeError(exact.format(out.dtype.word, result.dtype.word))
    return _write(name, out, result, given)


def into_as(name: str, out: Tensor, function: Callable[..., Tensor], *args: Any, dtype: Any) -> Tensor:
    """Return the same for a function that computes in a dtype: that of `out`, which no other may be asked for."""
    if isinstance(out, Tensor) and dtype not in (None, out.dtype):
        raise RuntimeError(errors.EXACTLY.format(word(dtype), word(out.dtype)))
    return into(name, out, function, *args, dtype=getattr(out, "dtype", dtype))


def into_each(name: str, outs: Any, function: Callable[..., Any], *args: Any) -> Any:
    """Return the same for results under several names: a tuple of as many tensors, of just their dtypes."""
    if not isinstance(outs, (list, tuple)):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {kind_of(outs)}")
    for i, out in enumerate(outs):
        if not isinstance(out, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 3, but got {kind_of(out)}")
    given = list(_tensors(args))
    _check_no_gradient(name, [*outs, *given])
    with no_grad():
        results = function(*args)
    if len(outs) != len(results):
        raise TypeError(f"expected tuple of {len(results)} elements but got {len(outs)}")
    for out, result in zip(outs, results, strict=True):
        if result.dtype is not out.dtype:
            raise RuntimeError(errors.EXACTLY.format(word(result.dtype), word(out.dtype)))
    kind = results_of(f"{name}_out", *results._fields)
    return kind(*[_write(name, out, r, given) for out, r in zip(outs, results, strict=True)])


def _check_no_gradient(name: str, tensors: list[Tensor]) -> None:
    """Return an error where a derivative would have to go through what is written."""
    word = name if name.startswith("aten::") else f"{name}_out"
    if any([is_batched(t) is not None for t in tensors]):
        raise RuntimeError(
            (
                "Batching rule not implemented for aten::{}.out; the fallback path doesn't work on out= or view ops."
            ).format(word.removesuffix("_out").removeprefix("aten::"))
        )
    if local.modes.grad and any([t.requires_grad for t in tensors]):
        raise RuntimeError(errors.OUT_REQUIRES_GRAD.format(name))
    if any([tangent_of(t) is not None for t in tensors]):
        reason = "." if word is name else " because it is an out= function"
        raise NotImplementedError(f"Trying to use forward AD with {word} that does not support it{reason}")


def _write(name: str, out: Tensor, result: Tensor, given: list[Tensor]) -> Tensor:
    have, want = out._array, result._array
    if result.dtype.rank > out.dtype.rank:
        raise RuntimeError(errors.OUT_CAST.format(result.dtype.word, out.dtype.word))
    if have.shape == want.shape:
        check_overlap(out, tuple(given), name)
        have[...] = want
    else:
        if have.size:
            warn(
                f"An output with one or more elements was resized since it had shape {list(have.shape)}, which does "
                f"not match the required output shape {list(want.shape)}. This behavior is deprecated, and in a "
                "future PyTorch release outputs will not be resized unless they have zero "
                "elements. You can explicitly reuse an out tensor t by resizing it, inplace, to "
                "zero elements with t.resize_(0)."
            )
        out._array = quietly(np.array, want, have.dtype)
    bump(out)
    return out


def _tensors(args: tuple[Any, ...]) -> Iterator[Tensor]:
    for arg in args:
        if isinstance(arg, Tensor):
            yield arg
        elif isinstance(arg, (list, tuple)):
            yield from _tensors(tuple(arg))


def placed(make: Callable[..., Any] | None = None, *, out: bool = False) -> Callable[..., Any]:
    """Let a function that makes tensors take `device`, and with `out=True` also `out` (a decorator)."""
    if make is None:
        return functools.partial(placed, out=out)
    explain_shared(make, MADE)

    @functools.wraps(make)
    def made(*args: Any, device: Any = None, **options: Any) -> Any:
        if device is not None:
            check_device(device)
        if not options:
            return make(*args)
        if out and "out" in options:
            return _filled(options.pop("out"), make, args, options)
        return make(*args, **options)

    return made


def _filled(out: Any, make: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return what is made, written into `out` where that is a tensor, in its dtype."""
    if out is None:
        return make(*args, **options)
    if isinstance(out, Tensor):
        options.setdefault("dtype", out.dtype)
    return into(f"aten::{make.__name__}", out, make, *args, **options)
