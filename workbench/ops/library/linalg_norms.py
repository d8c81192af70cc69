"""Norms of vectors and matrices, condition numbers, and products: chains, dot and cross products."""

from __future__ import annotations

from typing import Any

from ... import errors
from ...autograd import dtypes
from ...autograd.grad_mode import no_grad
from ...autograd.tensor import Tensor
from ...errors import LinAlgError, kind_of, warn
from ..core.checks import check_tensor, dim_index, number_of, word
from ..core.op import operation
from ..core.results import into
from ..extrema import amax, amin
from ..join_split import diagonal
from ..linear import matmul
from . import matrices
from .linalg import _check_square, _takes_out, inv, svdvals
from .norms import norm


@_takes_out
def vector_norm(
    x: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> Tensor:
    """Return the `ord`-norm of all elements, or the norms over the dimensions in `dim`.

    The norm is `(abs(x) ** ord).sum() ** (1 / ord)`. If `ord` is inf, it is the largest absolute
    value. `dim` and `keepdim` work as in `sum`.
    """
    check_tensor("linalg_vector_norm", "x", 0, x)
    return norm(x, number_of("linalg_vector_norm", "ord", 1, ord), dim, keepdim, dtype)


@_takes_out
def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> Tensor:
    """Return the norm of each matrix in A (..., m, n).

    Args:
        ord: Which norm to use. "fro" is the root of the sum of squares, and "nuc" the sum of the
            singular values. inf and -inf are the largest and smallest row sum of absolute values, 1
            and -1 the largest and smallest column sum, 2 and -2 the largest and smallest singular
            value.
        dim: The two dimensions of the matrices. They are removed from the result unless `keepdim`
            is True.
    """
    check_tensor("linalg_matrix_norm", "input", 0, A)
    if A._array.dtype.kind not in "fc":
        raise RuntimeError(
            f"linalg.matrix_norm: Expected a floating point or complex tensor as input. Got {A.dtype.word}"
        )
    if A._array.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        given = len(dim) if isinstance(dim, (tuple, list)) else 1
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {given} dimensions")
    rows, columns = (dim_index(d, A._array.ndim) for d in dim)
    if rows == columns:
        raise RuntimeError("linalg.matrix_norm: dims must be different. Got ({}, {})".format(*dim))
    if ord == "fro":
        return norm(A, 2, (rows, columns), keepdim, dtype)
    if ord not in ("nuc", 1, -1, 2, -2, float("inf"), -float("inf")):
        told = ord if isinstance(ord, str) else f"{ord:g}"
        raise RuntimeError(f"linalg.matrix_norm: Order {told} not supported.")
    best = amin if ord in (-1, -2, -float("inf")) else amax
    if ord in ("nuc", 2, -2):
        A = A if dtype is None else A.to(dtype)
        order = [d for d in range(A._array.ndim) if d not in (rows, columns)] + [rows, columns]
        s = svdvals(A.permute(order))
        found = s.sum(-1) if ord == "nuc" or not s._array.shape[-1] else best(s, -1)
        return found[..., None, None].permute([order.index(d) for d in range(len(order))]) if keepdim else found
    along, over = (columns, rows) if abs(ord) == float("inf") else (rows, columns)
    over = over - (over > along and not keepdim)
    return best(norm(A, 1, along, keepdim, dtype), over, keepdim)


@_takes_out
def linalg_norm(
    A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> Tensor:
    """Return the norm of the vectors or matrices in A.

    If `dim` is one dimension, the result contains norms of vectors along it. If `dim` is a pair of
    dimensions, the result contains norms of matrices. Without `dim`, a tensor with one dimension is
    a vector, and a tensor with two is a matrix. Without `dim` and `ord`, the result is the 2-norm
    of all elements.

    Args:
        ord: The kind of norm, as in `vector_norm` or `matrix_norm`.
    """
    check_tensor("linalg_norm", "input", 0, A)
    count = None if dim is None else len(dim) if isinstance(dim, (tuple, list)) else 1
    if ord is None:
        return norm(A, 2, dim, keepdim, dtype)
    if dim is None and A._array.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A._array.ndim}D."
        )
    if isinstance(ord, str) or count == 2 or (dim is None and A._array.ndim == 2):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


linalg_norm.__name__ = linalg_norm.__qualname__ = "norm"


@_takes_out
def cond(A: Tensor, p: Any = None) -> Tensor:
    """Return the condition number of each matrix (..., m, n).

    When you solve A X = B, the condition number bounds how much a relative error in A or B is
    amplified in X. For a square matrix, it is the norm of A times the norm of its inverse.

    Args:
        p: Which norm to use, like `ord` in `matrix_norm`. None means 2.
    """
    check_tensor("linalg_cond", "input", 0, A)
    if A._array.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p in (None, 2, -2):
        s = svdvals(A)
        least, most = s[..., -1:], s[..., :1]
        return (least / most if p == -2 else most / least).squeeze(-1)
    _check_square(f"linalg.cond(ord={p}): ", A)
    try:
        inverted = inv(A)
    except LinAlgError:
        with no_grad():
            return matrix_norm(A, p).fill_(float("inf"))
    return matrix_norm(A, p) * matrix_norm(inverted, p)


@_takes_out
def multi_dot(tensors: Any) -> Tensor:
    """Return the product of several matrices, in the order that needs the fewest multiplications.

    Args:
        tensors: At least two tensors: matrices, of which the first and the last one may be vectors.
            Batches of matrices are refused.

    Returns:
        A matrix (n, m), or (m,) if the first tensor is a vector, or (n,) if the last one is. If
        both are vectors, the result has no dimensions.

    Raises:
        RuntimeError: if a tensor has a wrong number of dimensions, or the sizes don't fit.

    Example:
        >>> A, B, v = torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)
        >>> torch.linalg.multi_dot([A, B, v])
        tensor([12., 12.])
    """
    _check_chain(tensors)
    return _in_best_order(list(tensors))


def _check_chain(tensors: Any) -> None:
    """Refuse tensors that `multi_dot` can't multiply, in PyTorch's order."""
    if not isinstance(tensors, list | tuple):
        given = kind_of(tensors)
        raise TypeError(f"linalg_multi_dot(): argument 'tensors' (position 1) must be tuple of Tensors, not {given}")
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(errors.LIST_KIND.format(i, kind_of(t)))
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    shapes = [list(t._array.shape) for t in tensors]
    for end, place in (("first", 0), ("last", -1)):
        if len(shapes[place]) not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {end} tensor must be 1D or 2D but got {len(shapes[place])}D")
    for i, shape in enumerate(shapes[1:-1], 1):
        if len(shape) != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {len(shape)}D")
    first = tensors[0]._array.dtype
    for i in range(1, len(tensors)):
        if (other := tensors[i]._array.dtype) != first:
            pair = f"tensor 0 is {word(first)} and tensor {i} {word(other)}"
            raise RuntimeError(f"multi_dot(): all tensors must have be the same dtype but {pair}")
        if shapes[i - 1][-1] != shapes[i][0]:
            pair = f"tensors {i - 1} and {i} with shapes {shapes[i - 1]} and {shapes[i]}"
            raise RuntimeError(f"multi_dot(): {pair} cannot be multiplied")


def _in_best_order(tensors: list[Tensor]) -> Tensor:
    """Return the product by the parentheses that take the fewest multiplications."""
    first, last = tensors[0]._array.ndim == 1, tensors[-1]._array.ndim == 1
    if first:
        tensors[0] = tensors[0].unsqueeze(0)
    if last:
        tensors[-1] = tensors[-1].unsqueeze(-1)
    sizes = [t._array.shape[0] for t in tensors] + [tensors[-1]._array.shape[1]]
    best: dict[tuple[int, int], tuple[int, int]] = {}

    def cost(i: int, j: int) -> tuple[int, int]:
        if i == j:
            return 0, i
        if (i, j) not in best:
            ways = [
                (cost(i, k)[0] + cost(k + 1, j)[0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            ]
            best[i, j] = min(ways)
        return best[i, j]

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return tensors[i]
        k = cost(i, j)[1]
        return matmul(product(i, k), product(k + 1, j))

    out = product(0, len(tensors) - 1)
    shape = [n for n, left in zip(out._array.shape, (first, last), strict=True) if not left]
    return out.view(shape)


@_takes_out
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Return the dot product of each pair of vectors along `dim`.

    The shapes of `x` and `y` are broadcast.
    """
    check_tensor("linalg_vecdot", "x", 0, x)
    check_tensor("linalg_vecdot", "y", 1, y)
    if x._array.ndim == y._array.ndim == 1:
        return matrices.vdot(x, y)
    return (x.conj() * y).sum(dim)


def _crossed(a: Tensor, b: Tensor, dim: int) -> Tensor:
    """Return the cross product along a dimension, counted from behind so that batches broadcast."""
    x, y = a._array, b._array
    if x.ndim != y.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    place = dim_index(dim, x.ndim)
    if x.shape[place] != 3 or y.shape[place] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {x.shape[place]} and {y.shape[place]}"
        )
    if a.dtype is not b.dtype:
        kind = dtypes.result_type([(a.dtype, 2), (b.dtype, 2)])
        a, b = a.to(kind), b.to(kind)
    return matrices.linalg_cross(a, b, place)


@operation()
def cross(self: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the cross product of each pair of vectors of three elements along `dim`.

    Args:
        other: The second vectors; the shapes are broadcast.
        dim: The dimension of the vectors. If omitted, it is the first dimension of size 3.
    """
    if out is not None:
        return into("linalg_cross", out, cross, self, other, dim)
    check_tensor("cross", "other", 1, other)
    if dim is None:
        warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or "
            "simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross "
            "in a future release."
        )
        found = [d for d, n in enumerate(self._array.shape) if n == 3]
        if not found:
            raise RuntimeError("no dimension of size 3 in input")
        dim = found[0]
    return _crossed(self, other, dim)


@_takes_out
def linalg_cross(A: Tensor, B: Tensor, *, dim: int = -1) -> Tensor:
    """Return the cross product of each pair of vectors of three elements along `dim`.

    Args:
        A: The first vectors.
        B: The second vectors, with as many dimensions as A. The shapes are broadcast.
        dim: The dimension of the vectors, of size 3.
    """
    check_tensor("linalg_cross", "input", 0, A)
    check_tensor("linalg_cross", "other", 1, B)
    return _crossed(A, B, dim)


linalg_cross.__name__ = linalg_cross.__qualname__ = "cross"


def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return a view of the diagonals of the matrices A (..., m, n), as the last dimension.

    Args:
        offset: The diagonal to return: 0 is the main one, 1 the next above, -1 the next below.
        dim1: The dimension of the rows.
        dim2: The dimension of the columns.
    """
    return diagonal(A, offset, dim1, dim2)


linalg_diagonal.__name__ = linalg_diagonal.__qualname__ = "diagonal"
