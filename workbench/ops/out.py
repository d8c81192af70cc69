"""`out=`: a result written into a tensor that the caller has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..autograd.quiet import warn
from ..autograd.state import local
from ..autograd.tensor import Tensor, bump
from .refusals import check_overlap, kind_of, word

# The ops that take it, of those that are one declared op; functions made of several say so themselves.
TAKERS = frozenset(
    "abs acos asin atan bmm ceil cos cosh dot eq erf exp expm1 floor ge gt le log log1p lt maximum minimum mm mul mv "
    "ne neg reciprocal rsqrt sigmoid sign sin sinh sqrt tan tanh trunc".split()
)
PRODUCTS = frozenset("bmm dot matmul mm mv".split())  # which want the result's very dtype
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


def into(name: str, out: Tensor, function: Callable[..., Tensor], *args: Any, **options: Any) -> Tensor:
    """Write `function(*args, **options)` into `out`, which takes its shape, and return `out`."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{name.removeprefix('aten::')}(): argument 'out' must be Tensor, not {kind_of(out)}")
    given = list(_tensors(args))
    if local.modes.grad and any([t.requires_grad for t in (out, *given)]):
        raise RuntimeError(NO_GRADIENT.format(name))
    with no_grad():
        result = function(*args, **options)
    have, want = out._array, result._array
    if name in PRODUCTS and have.dtype != want.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {word(want)}, but got {word(have)} instead")
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
