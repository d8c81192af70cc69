"""The p-norm of all elements, or over dimensions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...autograd import dtypes
from ...autograd.tensor import Tensor
from ..complex import of_modulus
from ..core.checks import bool_of, dims_of, number_of
from ..core.op import define, operation
from ..core.registry import abbreviation
from ..core.results import in_rows
from ..reduction import Dims, _over
from ..sums import summed


def _norm_of(a: np.ndarray, ord: float, dim: Dims, keepdim: bool) -> np.ndarray:
    dims, wide = _over(a.shape, dim), a.astype(np.float32) if a.itemsize < 4 else a
    if ord == 2:
        out = np.sqrt(summed(wide * wide, dims, keepdim))
        return out if wide is a else out.astype(a.dtype)
    empty = [d for d in dims if not a.shape[d]]
    if empty and (math.isinf(ord) or ord < 0):
        raise RuntimeError(
            (
                (
                    "linalg.vector_norm cannot compute the {:g} norm on an empty tensor because the "
                    "operation does not have an identity"
                )
                if dim is None
                else (
                    "linalg.vector_norm cannot compute the {:g} norm on the dimension {}because this "
                    "dimension is empty and the operation does not have an identity"
                )
            ).format(ord, empty[0])
        )
    size, how = np.abs(wide), {"axis": dims, "keepdims": keepdim}
    if math.isinf(ord):
        out = size.max(**how) if ord > 0 else size.min(**how)
    elif not ord:
        out = np.count_nonzero(size, **how)
    else:
        out = size.sum(**how) if ord == 1 else np.add.reduce(size**ord, **how) ** (1 / ord)
    return np.asarray(out).astype(a.dtype)


abbreviation("masked(bad, x)", "where(bad, 0, x)")
abbreviation(
    "norm_slope(g, x, ord, n, dim)",
    "None if ord == 0 else sign(x) * g if ord == 1 else g * masked(n == 0, x / n) if ord == 2 "
    "else sign(x) * shared(g, attains(abs(x), n), x, dim) if ord in (inf, -inf) "
    "else masked(x == 0, sign(x) * abs(x) ** (ord - 1)) * g * n ** (1 - ord) if ord < 1 "
    "else sign(x) * abs(x) ** (ord - 1) * masked(n == 0, g / n ** (ord - 1)) if ord < 2 "
    "else x * abs(x) ** (ord - 2) * masked(n == 0, g / n ** (ord - 1))",
)
_norm = define(
    "vector_norm(Tensor self, ord, dim, keepdim)",
    in_rows(_norm_of),
    node="LinalgVectorNormBackward0",
    self="norm_slope(restored(grad, self, dim, keepdim), self, ord, restored(result, self, dim, keepdim), dim)",
    tangent="reduction",
)


of_modulus("vector_norm")


def _widened(t: Tensor, dtype: dtypes.dtype) -> Tensor:
    if dtype.rank < 2:
        raise RuntimeError(f"linalg.vector_norm: dtype should be floating point or complex, but got {dtype.word}")
    if dtype.itemsize < t.dtype.itemsize:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({t.dtype.word}) should be convertible without "
            f"narrowing to the specified dtype ({dtype.word})"
        )
    return t.to(dtype)


@operation()
def norm(
    self: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: dtypes.dtype | None = None
) -> Tensor:
    """Return the p-norm of all elements, or the p-norms over the dimensions in `dim`.

    The p-norm is `(abs(x) ** p).sum() ** (1 / p)`. For a vector of zeros, the gradient is zero. If
    `p` is inf, the elements with the largest absolute value share the gradient evenly.

    Args:
        p: A number: 2 gives the Euclidean length, 1 the sum of absolute values, inf the largest
            absolute value, and 0 the number of nonzero elements. "fro" is the same as 2.
        dim, keepdim: The same as in `sum`.
        dtype: Convert the elements to this dtype first.

    Example:
        >>> torch.norm(torch.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
        tensor([ 5., 10.])
    """
    if isinstance(p, Tensor):
        p = number_of("linalg_vector_norm", "ord", 1, p)
    if p == "nuc":
        raise RuntimeError("the workbench has no nuclear norm; p may be 'fro' or a number.")
    if self._array.dtype.kind not in "fc":
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {self.dtype.word}"
        )
    if dtype is not None:
        self = _widened(self, dtype)
    dims = None if dim is None else dims_of(dim, self._array.ndim)
    return _norm(self, 2 if p in ("fro", None) else p, dims, bool_of("linalg_vector_norm", "keepdim", 3, keepdim))
