"""Sums and means of the elements that are numbers: nan is left out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import errors
from ...autograd import dtypes
from ...autograd.tensor import Tensor
from ..core.checks import dims_of, numpy_names
from ..core.complex_rule import only_real
from ..core.op import define, operation
from ..core.results import into_as
from ..sums import summed

_nansum = define(
    "nansum(Tensor self, dim, keepdim)",
    lambda a, dim, keepdim: summed(np.where(np.isnan(a), a.dtype.type(0), a), dim, keepdim),
    self="expand(put_back(grad, self.shape, dim, keepdim), self.shape) * (self == self)",
    tangent="sum_dim(self_t * (self == self), dim, keepdim)",
)


@operation()
@numpy_names
def nansum(
    self: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Any = None
) -> Tensor:
    """Return the sum of the elements that aren't nan. If all are nan, it is 0.

    Args:
        dim, keepdim: The same as in `sum`.
        dtype: Convert the elements to this dtype first. By default, integers and bool become int64.
    """
    if isinstance(out, Tensor) and out._array.dtype.kind != "f" == self._array.dtype.kind:
        raise NotImplementedError(errors.NO_KERNEL.format("nansum_cpu", out.dtype.word))
    if out is not None:
        return into_as("nansum", out, nansum, self, dim, keepdim, dtype=dtype)
    dims = tuple(range(self._array.ndim)) if dim is None else dims_of(dim, self._array.ndim)
    only_real("R:nansum on CPU does not support complex inputs", self)
    if self._array.dtype.kind != "f":
        return self.sum(dims, keepdim, dtype=dtype)
    return _nansum(self if dtype is None else self.to(dtype), dims, keepdim)


@operation()
@numpy_names
def nanmean(self: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the mean of the elements that aren't nan. If all are nan, it is nan.

    Args:
        dim, keepdim: The same as in `sum`.
        dtype: Convert the elements to this dtype first.

    Raises:
        RuntimeError: if the elements are integers or bool. Convert them with `float()`.
    """
    if self._array.dtype.kind not in "fc":
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {self.dtype.word}"
        )
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. "
            f"Got: {dtype.word}"
        )
    dims = tuple(range(self._array.ndim)) if dim is None else dims_of(dim, self._array.ndim)
    known = self.detach()
    return nansum(self, dims, keepdim, dtype=dtype) / (known == known).sum(dims, keepdim)
