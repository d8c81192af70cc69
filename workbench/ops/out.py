"""`out=`: a result written into a tensor that the caller has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..autograd.state import local
from ..autograd.tensor import Tensor, bump
from ..autograd.warnings import warn
from .pairs import pair
from .refusals import check_overlap, kind_of, word

# The ops that take it, of those that are one declared op; functions made of several say so themselves.
TAKERS = frozenset(
    "abs acos asin atan bmm ceil cos cosh dot eq erf exp expm1 floor ge gt le log log1p lt maximum minimum mm mul mv "
    "ne neg reciprocal rsqrt sigmoid sign sin sinh sqrt tan tanh trunc".split()
)
PRODUCTS = frozenset("bmm dot matmul mm mv".split())  # which want the result's very dtype
EXACTLY = "Expected out tensor to have dtype {}, but got {} instead"
NO_GRADIENT = (
    "{}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires "
    "grad."
)
RESIZED = (
    "An output with one or more elements was resized since it had shape {}, which does not match the required output "
    "shape {}. This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they "
    "have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
    "t.resize_(0)."
)


def into(
    name: str, out: Tensor, function: Callable[..., Tensor], *args: Any, exact: str = "", **options: Any
) -> Tensor:
    """Write `function(*args, **options)` into `out`, which takes its shape, and return `out`.

    `exact` is the sentence that refuses another dtype than the result's, where numbers are not cast.
    """
    if not isinstance(out, Tensor):
        raise TypeError(f"{name.removeprefix('aten::')}(): argument 'out' must be Tensor, not {kind_of(out)}")
    given = list(_tensors(args))
    _check_no_gradient(name, [out, *given])
    with no_grad():
        result = function(*args, **options)
    if result.dtype is not out.dtype and (exact or name in PRODUCTS):
        sentence = exact.format(out.dtype.word, result.dtype.word)
        raise RuntimeError(sentence or EXACTLY.format(word(result.dtype), word(out.dtype)))
    return _write(name, out, result, given)


def into_as(name: str, out: Tensor, function: Callable[..., Tensor], *args: Any, dtype: Any) -> Tensor:
    """The same for a function that computes in a dtype: that of `out`, which no other may be asked for."""
    if isinstance(out, Tensor) and dtype not in (None, out.dtype):
        raise RuntimeError(EXACTLY.format(word(dtype), word(out.dtype)))
    return into(name, out, function, *args, dtype=getattr(out, "dtype", dtype))


def into_both(name: str, outs: Any, function: Callable[..., tuple[Tensor, Tensor]], *args: Any) -> Any:
    """The same for values and indices: a tuple of two tensors of just their dtypes."""
    if not isinstance(outs, (list, tuple)):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {kind_of(outs)}")
    if len(outs) != 2:
        raise TypeError(f"expected tuple of 2 elements but got {len(outs)}")
    for i, out in enumerate(outs):
        if not isinstance(out, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 3, but got {kind_of(out)}")
    given = list(_tensors(args))
    _check_no_gradient(name, [*outs, *given])
    with no_grad():
        results = function(*args)
    for out, result in zip(outs, results, strict=True):
        if result.dtype is not out.dtype:
            raise RuntimeError(EXACTLY.format(word(result.dtype), word(out.dtype)))
    return pair(f"{name}_out")(*[_write(name, out, r, given) for out, r in zip(outs, results, strict=True)])


def _check_no_gradient(name: str, tensors: list[Tensor]) -> None:
    if local.modes.grad and any([t.requires_grad for t in tensors]):
        raise RuntimeError(NO_GRADIENT.format(name))


def _write(name: str, out: Tensor, result: Tensor, given: list[Tensor]) -> Tensor:
    have, want = out._array, result._array
    if result.dtype.rank > out.dtype.rank:
        raise RuntimeError(f"result type {result.dtype.word} can't be cast to the desired output type {out.dtype.word}")
    if have.shape == want.shape:
        check_overlap(out, tuple(given), name)
        have[...] = want
    else:
        if have.size:
            warn(RESIZED.format(list(have.shape), list(want.shape)))
        out._array = np.array(want, have.dtype)
    bump(out)
    return out


def _tensors(args: tuple[Any, ...]) -> Iterator[Tensor]:
    for arg in args:
        if isinstance(arg, Tensor):
            yield arg
        elif isinstance(arg, (list, tuple)):
            yield from _tensors(tuple(arg))
