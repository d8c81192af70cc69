"""Views of all windows along a dimension: `unfold`."""

from __future__ import annotations

import numpy as np

from ...autograd import views
from ...autograd.state import local
from ...autograd.tensor import Tensor
from ..core.checks import dim_index, int_of
from ..core.op import define, method


def _windows_along(a: np.ndarray, dim: int, length: int, step: int) -> np.ndarray:
    """Return a view with the windows along a dimension as its last one; a number has one window, or an empty one."""
    if not a.ndim:
        return a.reshape(1)[:length]
    count = (a.shape[dim] - length) // step + 1
    shape = (*a.shape[:dim], count, *a.shape[dim + 1 :], length)
    strides = (*a.strides[:dim], a.strides[dim] * step, *a.strides[dim + 1 :], a.strides[dim])
    return views.strided(a, (shape, strides, 0))


def _windows_back(grad: np.ndarray, sizes: tuple[int, ...], dim: int, length: int, step: int) -> np.ndarray:
    """Return each gradient where its element was seen; overlapping windows add up."""
    out = np.zeros(sizes, grad.dtype)
    if not sizes:
        return out + grad.sum()
    along = np.moveaxis(out, dim, 0)
    windows = np.moveaxis(grad, dim, 0)
    for i in range(length):
        along[i : i + step * len(windows) : step][: len(windows)] += windows[..., i]
    return out


_unfold = define(
    "unfold(Tensor self, dim, length, step)",
    _windows_along,
    kind="view",
    self="unfold_backward(grad, self.shape, dim, length, step)",
)
define(
    "unfold_backward(Tensor grad_output, input_sizes, dim, length, step)",
    _windows_back,
    batch="new dims",
    grad_output="unfold(grad, dim, length, step)",
)


@method()
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Return a view of all windows of `size` elements along `dimension`.

    Neighboring windows start `step` elements apart. `dimension` then counts the windows, and a new
    last dimension contains their elements.

    Example:
        >>> torch.arange(5).unfold(0, 3, 1)
        tensor([[0, 1, 2],
                [1, 2, 3],
                [2, 3, 4]])
    """
    dim = dim_index(dimension, self._array.ndim)
    length, step = int_of("unfold", "size", 2, size), int_of("unfold", "step", 3, step)
    if length < 0:
        raise RuntimeError(f"size is {length} but must be >= 0")
    longest = self._array.shape[dim] if self._array.ndim else 1
    if length > longest:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {longest} but size is {length}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if local.modes.levels and not self._array.ndim:  # a batch of numbers has one dimension too few
        self = self.reshape(1)
    return _unfold(self, dim, length, step)
