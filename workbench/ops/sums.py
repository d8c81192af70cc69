"""Sums over dimensions, by which gradients fit their inputs again; and reduced dimensions, which are put back."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from math import prod
from operator import methodcaller
from typing import Any

import numpy as np

from ..autograd import dtypes
from ..autograd.tensor import Size, Tensor
from .core.checks import FEW, ints_of
from .core.op import method
from .core.registry import in_formulas
from .core.results import in_rows


@lru_cache(1000)
def broadcast_dims(got: tuple[int, ...], want: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dimensions of `got` over which broadcasting from `want` repeated the values."""
    lead = len(got) - len(want)
    return (*range(lead), *(i for i in range(lead, len(got)) if want[i - lead] == 1 and got[i] != 1))


FLOATS = np.dtype("float32"), np.dtype("float64")


@lru_cache(1000)
def adder(
    shape: tuple[int, ...], dim: tuple[int, ...] | None, dtype: np.dtype, keepdim: bool | None
) -> Callable[[np.ndarray], np.ndarray]:
    """How elements are summed over dimensions, or all of them; with None for `keepdim` sums may be repeated along them.

    Few elements are multiplied by ones: that takes a third of the time, and NumPy repeats slowly.
    """
    if prod(shape) <= FEW and dtype in FLOATS:
        if dim is None or len(dim) == len(shape):
            once, ones = (1,) * len(shape) if keepdim else (), np.ones(prod(shape), dtype)
            return (lambda a: a.ravel().dot(ones).reshape(once)) if once else lambda a: a.ravel().dot(ones)
        n = shape[dim[0]]
        sides = (n, n) if keepdim is None else (n, 1) if keepdim else (n,)
        if dim == (len(shape) - 1,):
            return methodcaller("dot", np.ones(sides, dtype))
        if dim == (0,) and len(shape) == 2:
            return np.ones(sides[::-1], dtype).dot
    whole = np.int64 if dtype.kind in "biu" else None
    return in_rows(partial(np.add.reduce, axis=dim, keepdims=keepdim is not False, dtype=whole))


def summed(a: np.ndarray, dim: tuple[int, ...] | None = None, keepdim: bool = False) -> np.ndarray:
    """Return the sum over dimensions, or of all elements, in rows in memory; of integers and masks in int64."""
    return adder(a.shape, dim, a.dtype, keepdim)(a)


def sums(a: np.ndarray, dim: tuple[int, ...]) -> np.ndarray:
    """Return the sums over dimensions as they meet `a`: kept with size 1, repeated, or one number for all elements."""
    return adder(a.shape, dim, a.dtype, None)(a)


def sum_to_array(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum an array down to a shape it was broadcast from."""
    if grad.shape == shape:
        return grad
    dims = broadcast_dims(grad.shape, shape)
    if len(dims) == grad.ndim - len(shape):
        return np.asarray(summed(grad, dims))
    return summed(grad, dims, True).reshape(shape)


def fit_arrays(fit: tuple[Any, ...], *grads: Any) -> list[Any]:
    """Return each wanted gradient in its input's shape and dtype."""
    return [
        g if f is None or g is None else sum_to_array(g, f[0]).astype(f[1], copy=False)
        for f, g in zip(fit, grads, strict=True)
    ]


def fit_tensors(fit: tuple[Any, ...], *grads: Any) -> list[Any]:
    """Return the same on tensors, recorded."""
    return [
        g if f is None or g is None else summed_to(g, f[0]).to(dtypes.named(f[1].name))
        for f, g in zip(fit, grads, strict=True)
    ]


def is_expandable(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Return True if a tensor of one shape can be expanded to the other."""
    return len(shape) <= len(to) and all([n in (1, m) for n, m in zip(shape[::-1], to[::-1], strict=False)])


@method()
def sum_to_size(self: Tensor, *given: Any, size: Any = None) -> Tensor:
    """Return the tensor summed down to the shape `size`, as the backward pass of `expand` does with a gradient.

    The sum runs over the dimensions along which broadcasting from `size` would repeat elements.
    """
    wanted, have = ints_of("sum_to_size", "size", given, size), self._array.shape
    if not is_expandable(wanted, have):
        raise RuntimeError(f"size {{{list(wanted)}}} is not expandable to size {{{list(have)}}}.")
    return summed_to(self, wanted) if wanted else self.sum()


def summed_to(t: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the same for a shape that it was broadcast from."""
    if t._array.shape == shape:
        return t
    if not shape:
        return t.sum()
    out = t.sum(broadcast_dims(t._array.shape, shape), keepdim=True)
    return out if out._array.ndim == len(shape) else out.view(shape)


def _put_back(grad: Any, shape: tuple[int, ...], dim: tuple[int, ...], keepdim: bool) -> Any:
    """Give a reduced gradient its reduced dimensions back, with size 1."""
    return grad if keepdim or not shape else grad.reshape(tuple(1 if i in dim else n for i, n in enumerate(shape)))


in_formulas("put_back", _put_back)
in_formulas("sum_to", sum_to_array, lambda grad, shape: grad.sum_to_size(shape))
in_formulas("fit_arrays", fit_arrays, fit_tensors)
in_formulas("fit_tensors", fit_arrays, fit_tensors)
in_formulas("numel", lambda shape: Size(shape).numel())


def per_channel(t: Any, x: Any) -> Any:
    """Return a number for each channel, in a shape that fits images or a batch of rows `x`; None stays None."""
    return None if t is None else t if x.ndim == 2 else t.reshape((-1,) + (1,) * (x.ndim - 2))


in_formulas("channels", per_channel)
