"""Sums and means of all elements, or over dimensions, and the words of formulas for dimensions that are reduced."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.tensor import Tensor
from .convert import in_dtype
from .core.checks import bool_of, dims_of, numpy_names
from .core.op import define, operation
from .core.registry import abbreviation, in_formulas
from .core.results import into_as
from .sums import summed

ALL = "all dimensions"  # None says the same, but PyTorch then gives another node


def _mean(a: np.ndarray, dim: tuple[int, ...], keepdim: bool) -> np.ndarray:
    return summed(a, dim, keepdim) / float(_count_of(a.shape, dim) or np.nan)


_sum_all = define("sum_all(Tensor self)", summed, node="SumBackward0", batch="sum_dim", self="expand(grad, self.shape)")
_sum_dim = define(
    "sum_dim(Tensor self, dim, keepdim)",
    summed,
    node="SumBackward1",
    self="expand(put_back(grad, self.shape, dim, keepdim), self.shape)",
)
_mean_all = define(
    "mean_all(Tensor self)",
    lambda a: summed(a) / (a.size or np.nan),
    node="MeanBackward0",
    batch="mean_dim",
    self="expand(grad, self.shape) / numel(self.shape)",
)
_mean_dim = define(
    "mean_dim(Tensor self, dim, keepdim)",
    _mean,
    node="MeanBackward1",
    self="expand(put_back(grad, self.shape, dim, keepdim), self.shape) / count_of(self.shape, dim)",
)
_sum_all_as, _sum_dim_as = in_dtype(_sum_all), in_dtype(_sum_dim)
_mean_all_as, _mean_dim_as = in_dtype(_mean_all), in_dtype(_mean_dim)


@lru_cache(1000)
def _count_of(shape: tuple[int, ...], dim: tuple[int, ...]) -> int:
    return math.prod([shape[d] for d in dim]) if shape else 1


in_formulas("count_of", _count_of)


@operation()
@numpy_names
def sum(
    self: Tensor, dim: Any = ALL, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Any = None
) -> Tensor:
    """Return the sum of all elements, or the sums over the dimensions in `dim`.

    The gradient of each element is the gradient of the sum that contains it.

    Args:
        dim: One dimension or several to sum over. They are removed from the result unless `keepdim`
            is True. If omitted, all elements are added.
        keepdim: Keep the summed dimensions in the result, with size 1.
        dtype: Convert the elements to this dtype first. By default, integers and bool become int64.

    Example:
        >>> t = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> t.sum(), t.sum(dim=0), t.sum(dim=1)
        (tensor(21.), tensor([5., 7., 9.]), tensor([ 6., 15.]))
        >>> t.sum(dim=1, keepdim=True).shape
        torch.Size([2, 1])
    """
    if out is not None:
        return into_as("sum", out, sum, self, dim, keepdim, dtype=dtype)
    if dim is ALL:
        if keepdim:
            raise TypeError(errors.WITHOUT_DIM.format("sum", "keepdim"))
        return _sum_all(self) if dtype is None else _sum_all_as(self, dtype=dtype)
    args = self, dims_of(dim, self._array.ndim), bool_of("sum", "keepdim", 2, keepdim)
    return _sum_dim(*args) if dtype is None else _sum_dim_as(*args, dtype=dtype)


@operation()
@numpy_names
def mean(
    self: Tensor, dim: Any = ALL, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Any = None
) -> Tensor:
    """Return the mean of all elements, or the means over the dimensions in `dim`.

    The gradient of each element is the gradient of its mean, divided by the number of elements in
    that mean.

    Args:
        dim, keepdim: The same as in `sum`.
        dtype: Convert the elements to this dtype first.

    Raises:
        RuntimeError: if the elements are integers or bool. Convert them with `float()`.

    Example:
        >>> t = torch.tensor([[1.0, 2.0], [3.0, 8.0]], requires_grad=True)
        >>> t.mean(dim=0)
        tensor([2., 5.], grad_fn=<MeanBackward1>)
        >>> t.mean().backward()
        >>> t.grad
        tensor([[0.2500, 0.2500],
                [0.2500, 0.2500]])
    """
    if out is not None:
        return into_as("mean", out, mean, self, dim, keepdim, dtype=dtype)
    wanted = dtypes.chosen_dtype("mean", dtype, self.dtype)
    if wanted.rank < 2:
        raise RuntimeError(
            (
                (
                    "mean(): could not infer output dtype. Input dtype must be either a floating point "
                    "or complex dtype. Got: {}"
                )
                if dtype is None
                else (
                    "mean(): could not infer output dtype. Optional dtype must be either a floating "
                    "point or complex dtype. Got: {}"
                )
            ).format(wanted.word)
        )
    if dim is ALL:
        if keepdim:
            raise TypeError(errors.WITHOUT_DIM.format("mean", "keepdim"))
        return _mean_all(self) if dtype is None else _mean_all_as(self, dtype=dtype)
    args = self, dims_of(dim, self._array.ndim), bool_of("mean", "keepdim", 2, keepdim)
    return _mean_dim(*args) if dtype is None else _mean_dim_as(*args, dtype=dtype)


Dims = tuple[int, ...] | None


@lru_cache(1000)
def _over(shape: tuple[int, ...], dim: Dims) -> tuple[int, ...]:
    """Return the dimensions meant: all of them for None and ()."""
    return dim or tuple(range(len(shape)))


in_formulas("over", _over)
abbreviation("restored(g, x, dim, keepdim)", "put_back(g, x.shape, over(x.shape, dim), keepdim)")
