"""Making gradients fit their inputs again: summing over broadcast dimensions, putting reduced ones back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...autograd import dtypes
from ...autograd.tensor import Size, Tensor
from .. import messages
from .checks import ints_of
from .op import method
from .registry import in_formulas


def broadcast_dims(got: tuple[int, ...], want: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions of `got` over which broadcasting from `want` repeated the values."""
    lead = len(got) - len(want)
    return (*range(lead), *(i for i in range(lead, len(got)) if want[i - lead] == 1 and got[i] != 1))


def sum_to_array(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum an array down to a shape it was broadcast from."""
    if grad.shape == shape:
        return grad
    return np.add.reduce(grad, axis=broadcast_dims(grad.shape, shape), keepdims=True).reshape(shape)


def fit_arrays(fit: tuple[Any, ...], *grads: Any) -> list[Any]:
    """Each wanted gradient in its input's shape and dtype."""
    return [
        g if f is None or g is None else sum_to_array(g, f[0]).astype(f[1], copy=False)
        for f, g in zip(fit, grads, strict=True)
    ]


def fit_tensors(fit: tuple[Any, ...], *grads: Any) -> list[Any]:
    """The same on tensors, recorded."""
    return [
        g if f is None or g is None else summed_to(g, f[0]).to(dtypes.named(f[1].name))
        for f, g in zip(fit, grads, strict=True)
    ]


@method()
def sum_to_size(self: Tensor, *given: Any, size: Any = None) -> Tensor:
    """Sum over the dimensions that broadcasting from `size` would repeat; the tensor itself if there are none."""
    wanted, have = ints_of("sum_to_size", "size", given, size), self._array.shape
    if len(wanted) > len(have) or any([n not in (1, m) for n, m in zip(wanted[::-1], have[::-1], strict=False)]):
        raise RuntimeError(messages.NOT_EXPANDABLE.format(list(wanted), list(have)))
    return summed_to(self, wanted) if wanted else self.sum()


def summed_to(t: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The same for a shape that it was broadcast from."""
    if t._array.shape == shape:
        return t
    if not shape:
        return t.sum()
    out = t.sum(broadcast_dims(t._array.shape, shape), keepdim=True)
    return out if out._array.ndim == len(shape) else out.view(shape)


def putting_back(reshape: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives a reduced gradient its reduced dimensions back, with size 1."""

    def put_back(grad: Any, shape: tuple[int, ...], dim: tuple[int, ...], keepdim: bool) -> Any:
        if keepdim or not shape:
            return grad
        return reshape(grad, tuple(1 if i in dim else n for i, n in enumerate(shape)))

    return put_back


in_formulas("put_back", *[putting_back(lambda x, shape: x.reshape(shape))] * 2)
in_formulas("fit_arrays", fit_arrays, fit_tensors)
in_formulas("fit_tensors", fit_arrays, fit_tensors)
in_formulas("numel", lambda shape: Size(shape).numel(), lambda shape: Size(shape).numel())
