"""Linear algebra: inverses, solutions and factors of matrices (torch.linalg), and what `torch` calls them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ... import errors
from ...autograd.grad_mode import no_grad
from ...autograd.tensor import Tensor, wrap
from ...errors import warn
from ..core.checks import bool_of, check_tensor, int_of, is_vector, not_a_tensor
from ..core.described import explain_shared
from ..core.op import operation
from ..core.registry import TENSORS
from ..core.results import into, into_each, results_of
from . import matrices

FLOATS_ONLY = "This function doesn't handle types other than float and double"


def _matrices(name: str, a: Any, square: bool = True, float_sentence: str = "", argument: str = "A") -> Tensor:
    """Return the argument, which has to hold matrices of floating point numbers."""
    if not isinstance(a, Tensor):
        raise TypeError(not_a_tensor(name.replace(".", "_"), argument, 0, a))
    if a._array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    if square:
        _check_square(f"{name}: ", a)
    if a._array.dtype.kind not in "fc":
        if float_sentence:
            raise NotImplementedError(errors.NO_KERNEL.format(float_sentence, a.dtype.word))
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {a.dtype.word}")
    return a


def _check_square(where: str, a: Tensor) -> None:
    rows, columns = a._array.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{where}A must be batches of square matrices, but they are {rows} by {columns} matrices")


def _not_half(kernel: str, *tensors: Tensor) -> None:
    for t in tensors:
        if t._array.dtype.itemsize < 4:
            raise NotImplementedError(errors.NO_KERNEL.format(kernel, t.dtype.word))


def _takes_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let the function write its result into `out`, if given (a decorator)."""
    explain_shared(function)
    name = f"linalg_{function.__name__}"

    @wraps(function)
    def called(*args: Any, out: Tensor | None = None, **options: Any) -> Any:
        return function(*args, **options) if out is None else into(name, out, function, *args, **options)

    return called


def _takes_outs(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function with several results write them into `out`, if given (a decorator)."""
    name = f"linalg_{function.__name__}"

    @wraps(function)
    def called(*args: Any, out: Any = None, **options: Any) -> Any:
        if out is None:
            return function(*args, **options)
        return into_each(name, out, lambda *given: function(*given, **options), *args)

    return called


@_takes_out
def inv(A: Tensor) -> Tensor:
    """Return the inverse of each square matrix in A (..., n, n).

    Raises:
        LinAlgError: if a matrix is singular.
    """
    _matrices("linalg.inv", A)
    if A._array.dtype.itemsize < 4:
        raise RuntimeError(f"linalg.inv: Low precision dtypes not supported. Got {A.dtype.word}")
    return matrices.linalg_inv_ex(A)


@operation()
def inverse(self: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of each square matrix (..., n, n).

    Raises:
        LinAlgError: if a matrix is singular.
    """
    return inv(self, out=out)


@_takes_out
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """Return the solution X of A X = B, for square matrices A (..., n, n).

    Args:
        B: Matrices (..., n, k), whose batch dimensions are broadcast with those of A, or vectors. B
            counts as vectors if its shape is (n,), or the shape of A without its last dimension.
        left: If False, solve X A = B instead, with B (..., k, n).

    Returns:
        A matrix X for each system, in the shape of B after broadcasting. For vectors B, X contains
        a vector (n,) for each matrix in A.

    Raises:
        LinAlgError: if a matrix is singular.

    Example:
        >>> A = torch.tensor([[2.0, 0.0], [1.0, 1.0]])
        >>> torch.linalg.solve(A, torch.tensor([2.0, 3.0]))
        tensor([1., 2.])
    """
    _matrices("linalg.solve", A)
    check_tensor("linalg_solve", "B", 1, B)
    if A.dtype is not B.dtype:
        raise RuntimeError(
            "linalg.solve: Expected A and B to have the same dtype, but found A of type "
            f"{A.dtype.word} and B of type {B.dtype.word} instead"
        )
    a, b = A._array, B._array
    vector = is_vector(a, b)
    if not b.ndim:
        raise RuntimeError("linalg.solve: The input tensor B must have at least 2 dimensions.")
    _check_fit("linalg.solve", a.shape, (*b.shape, 1) if vector else b.shape, left)
    _not_half("lu_cpu", A)
    return matrices.linalg_solve_ex(A, B, left)


def _check_fit(name: str, a: tuple[int, ...], b: tuple[int, ...], left: bool) -> None:
    if a[-1] != b[-2 if left else -1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
        )


@_takes_out
def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """Return the solution X of A X = B, for triangular A (..., n, n) and B (..., n, k).

    Only the triangle that `upper` names is read. A zero on the diagonal gives inf or nan.

    Args:
        upper: Whether A is upper triangular. Otherwise it is lower triangular.
        left: If False, solve X A = B instead.
        unitriangular: Treat all elements on the diagonal of A as 1.
    """
    check_tensor("linalg_solve_triangular", "A", 0, A)
    check_tensor("linalg_solve_triangular", "B", 1, B)
    if B._array.ndim < 2:
        raise RuntimeError("linalg.solve_triangular: The input tensor B must have at least 2 dimensions.")
    _matrices("linalg.solve_triangular", A, float_sentence="triangular_solve_cpu")
    _check_fit("linalg.solve_triangular", A._array.shape, B._array.shape, left)
    return matrices.linalg_solve_triangular(A, B, upper, left, unitriangular)


@_takes_out
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """Return the Cholesky factor of positive definite matrices A (..., n, n).

    The factor is the lower triangular L with L L^T = A. If `upper` is True, the result is the
    transpose of L.

    Only the lower triangle of A is read, or the upper one if `upper` is True. It isn't checked that
    A is symmetric. The gradient of A is symmetric.

    Raises:
        LinAlgError: if a matrix isn't positive definite.
    """
    _not_half("cholesky_cpu", _matrices("linalg.cholesky", A))
    return matrices.linalg_cholesky_ex(A, upper)


@operation()
def cholesky_inverse(self: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of matrices A, given their Cholesky factors (..., n, n).

    The input is the lower triangle L of `A = L L^T`. If `upper` is True, it is the upper triangle U
    of `A = U^T U`.
    """
    if out is not None:
        return into("cholesky_inverse", out, cholesky_inverse, self, upper)
    _not_half(
        "cholesky_inverse_out_cpu", _matrices("cholesky_inverse", self, float_sentence="cholesky_inverse_out_cpu")
    )
    return matrices.cholesky_inverse_op(self, bool_of("cholesky_inverse", "upper", 1, upper))


@operation()
def cholesky_solve(self: Tensor, input2: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the solution X of A X = B, given B (the input) and the Cholesky factor of A.

    B has the shape (..., n, k).

    Args:
        input2: The Cholesky factor (..., n, n) of A: the lower triangle, or the upper one if
            `upper` is True.
    """
    if out is not None:
        return into("cholesky_solve", out, cholesky_solve, self, input2, upper)
    check_tensor("cholesky_solve", "input2", 1, input2)
    for letter, t in (("b", self), ("u", input2)):
        if t._array.ndim < 2:
            count = t._array.ndim
            raise RuntimeError(f"{letter} should have at least 2 dimensions, but has {count} dimensions instead")
    _check_square("", input2)
    rows, columns = input2._array.shape[-2:]
    if columns != self._array.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {rows} by {columns} but each b matrix is "
            "{} by {}".format(*self._array.shape[-2:])
        )
    if self.dtype is not input2.dtype:
        raise RuntimeError(
            "Expected b and A to have the same dtype, but found b of type "
            f"{self.dtype.word} and A of type {input2.dtype.word} instead."
        )
    if self._array.dtype.kind not in "fc" or self._array.dtype.itemsize < 4:
        raise NotImplementedError(errors.NO_KERNEL.format("cholesky_solve_cpu", self.dtype.word))
    return matrices.cholesky_solve_op(self, input2, upper)


@operation()
def logdet(self: Tensor) -> Tensor:
    """Return the logarithm of the determinant of each square matrix.

    The result is nan if the determinant is negative, and -inf if the determinant is 0.
    """
    sign, logabsdet = matrices.linalg_slogdet(_matrices("logdet", self))
    if sign.is_complex():
        return logabsdet + sign.log()
    return TENSORS["where"](sign == -1.0, float("nan"), logabsdet)


@_takes_out
def det(A: Tensor) -> Tensor:
    """Return the determinant of each square matrix in A.

    A has the shape (..., n, n), and the result has the shape (...). The gradient of A is the matrix
    of its cofactors times the gradient of the result, also if A is singular.
    """
    _not_half("lu_cpu", _matrices("linalg.det", A))
    return matrices.linalg_det(A)


_Slogdet = results_of("linalg_slogdet", "sign", "logabsdet")
_Qr = results_of("linalg_qr", "Q", "R")
_Svd = results_of("linalg_svd", "U", "S", "Vh")
_Eigh = results_of("linalg_eigh", "eigenvalues", "eigenvectors")
_Lstsq = results_of("linalg_lstsq", "solution", "residuals", "rank", "singular_values")


@_takes_outs
def slogdet(A: Tensor) -> Any:
    """Return (sign, logabsdet) of each square matrix in A (..., n, n).

    `det(A)` is `sign * exp(logabsdet)`: `sign` is 1, -1 or 0, and `logabsdet` is the logarithm of
    the determinant's absolute value, which doesn't overflow for large matrices. If A is singular,
    they are 0 and -inf. The gradient of `logabsdet` goes to A as `inv(A).mT`; `sign` sends none.
    """
    if _matrices("linalg.slogdet", A)._array.dtype.itemsize < 4:
        raise RuntimeError(f"linalg.slogdet: Low precision dtypes not supported. Got {A.dtype.word}")
    return _Slogdet(*matrices.linalg_slogdet(A))


@_takes_outs
def qr(A: Tensor, mode: str = "reduced") -> Any:
    """Return (Q, R), the QR decomposition of matrices A (..., m, n).

    A is `Q R`. The columns of Q are orthonormal, and R is upper triangular.

    Args:
        mode: "reduced" computes as many columns of Q as A needs, "complete" makes Q square, and "r"
            computes only R. There is no gradient with "r", and none with "complete" if m > n.
    """
    _matrices("linalg.qr", A, square=False)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    _not_half("geqrf_cpu", A)
    return _Qr(*matrices.linalg_qr(A, mode))


@_takes_outs
def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Return (eigenvalues, eigenvectors) of symmetric matrices A (..., n, n).

    The eigenvalues are in ascending order. Column i of the eigenvectors belongs to eigenvalue i: A
    times this column is the eigenvalue times this column. The gradient of the eigenvectors is
    infinite if two eigenvalues are equal, and unreliable if they are close.

    Args:
        UPLO: The triangle that is read: "L" for the lower one or "U" for the upper one.
    """
    _not_half("linalg_eigh_cpu", _matrices("linalg.eigh", A, float_sentence="linalg_eigh_cpu"))
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return _Eigh(*matrices.linalg_eigh(A, UPLO.upper()))


@_takes_out
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Return the eigenvalues of symmetric matrices A (..., n, n), in ascending order.

    `UPLO` chooses the triangle that is read, as in `eigh`.
    """
    return eigh(A, UPLO)[0]


@_takes_outs
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """Return (U, S, Vh), the singular value decomposition of matrices A (..., m, n).

    A is `U diag(S) Vh`. The singular values S, of shape (..., min(m, n)), are in descending order.

    The gradient of U and Vh is infinite if two singular values are equal or one is zero.

    Args:
        full_matrices: Return square matrices U (..., m, m) and Vh (..., n, n). If False, U is
            (..., m, k) and Vh is (..., k, n), where k is the smaller of m and n.
        driver: Only None works: PyTorch has other methods on GPUs only.
    """
    _not_half("linalg_svd_cpu", _matrices("linalg.svd", A, square=False))
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs")
    return _Svd(*matrices.linalg_svd(A, bool_of("linalg_svd", "full_matrices", 1, full_matrices)))


@_takes_out
def svdvals(A: Tensor) -> Tensor:
    """Return the singular values of matrices A (..., m, n), in descending order."""
    return svd(A, False)[1]


def _no_fewer(name: str, a: Any, sentence: str, argument: str = "input") -> Tensor:
    if not isinstance(a, Tensor):
        raise TypeError(not_a_tensor(f"linalg_{name}", argument, 0, a))
    if a._array.dtype.kind not in "fc" or a._array.dtype.itemsize < 4 or a._array.ndim < 2:
        raise RuntimeError(sentence.format(f"{a.dtype.word}{{{list(a._array.shape)}}}"))
    return a


def _tolerances(a: Tensor, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """Return the limits below which a singular value counts as zero: absolute, and relative to the largest."""
    given = [t._array if isinstance(t, Tensor) else t for t in (atol, rtol)]
    if given[1] is None:
        usual = np.finfo(a._array.dtype).eps * max(a._array.shape[-2:])
        above = given[0] is not None and np.any(np.asarray(given[0]) > 0)
        given[1] = 0.0 if above else float(usual)
    return (0.0 if given[0] is None else given[0]), given[1]


@_takes_out
def pinv(A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """Return the pseudoinverse (..., n, m) of matrices A (..., m, n).

    For a matrix A and a vector b, `pinv(A) @ b` is the shortest x that minimizes the norm of A x -
    b.

    Singular values up to `max(atol, rtol * largest singular value)` count as zero.

    Args:
        rcond: The older name of `rtol`.
        hermitian: Set this if the matrices are symmetric: the computation is then faster. Only the
            lower triangle is then read, so the symmetry isn't checked.
        atol: By default 0.
        rtol: By default `max(m, n)` times the precision of the dtype (1.2e-7 for float32), or 0 if
            `atol` is given.

    Example:
        >>> torch.linalg.pinv(torch.tensor([[2.0, 0.0], [0.0, 0.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.0000]])
    """
    sentence = "linalg.pinv({}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble types"
    atol, rtol = _tolerances(_no_fewer("pinv", A, sentence), atol, rcond if rtol is None else rtol)
    return matrices.linalg_pinv(A, rtol, atol, hermitian)


@operation()
def pinverse(self: Tensor, rcond: float = 1e-15) -> Tensor:
    """Return the pseudoinverse (..., n, m) of matrices (..., m, n).

    Singular values up to `rcond` times the largest one count as zero.
    """
    return pinv(self, rcond)


@_takes_out
def matrix_rank(A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """Return the rank of each matrix in A (..., m, n), as int64.

    The rank is the number of singular values above `max(atol, rtol * largest singular value)`.

    Args:
        tol: The older name of `atol`. If it is given, `rtol` is 0.
        hermitian: Set this if the matrices are symmetric: the computation is then faster. Only the
            lower triangle is then read, so the symmetry isn't checked.
        atol: By default 0.
        rtol: By default `max(m, n)` times the precision of the dtype (1.2e-7 for float32), or 0 if
            `atol` is given.
    """
    if isinstance(A, Tensor) and (A._array.dtype.kind not in "fc" or A._array.dtype.itemsize < 4):
        raise RuntimeError(FLOATS_ONLY)
    few = "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions."
    _no_fewer("matrix_rank", A, few)
    atol, rtol = (tol, 0.0) if tol is not None else _tolerances(A, atol, rtol)
    atol = atol._array if isinstance(atol, Tensor) else atol
    s = np.abs(matrices.spectrum(A._array, hermitian)[1])
    bound = np.maximum(np.asarray(atol), np.asarray(rtol) * s.max(-1, initial=0))
    return wrap(np.asarray((s > bound[..., None]).sum(-1), np.int64))


@operation()
def matrix_power(self: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """Return the n-th power of each square matrix (..., m, m).

    If `n` is negative, it is a power of the inverse.
    """
    if out is not None:
        return into("linalg_matrix_power", out, matrix_power, self, n)
    n = int_of("linalg_matrix_power", "n", 1, n)
    if self._array.ndim < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    _check_square("linalg.matrix_power: ", self)
    if n == 0:
        return self.clone().copy_(
            wrap(np.eye(self._array.shape[-1], dtype=self._array.dtype)).expand(*self._array.shape)
        )
    base, n = (self, n) if n > 0 else (inv(self), -n)
    if n == 1:
        return base.clone() if base is self else base
    if n <= 3:
        square = base @ base
        return square if n == 2 else square @ base
    result = None
    while n > 0:
        if n % 2:
            result = base if result is None else result @ base
        n //= 2
        base = base @ base if n else base
    assert result is not None
    return result


def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """Return (solution, residuals, rank, singular_values) of a least-squares problem.

    The solution X minimizes the norm of A X - B, for A (..., m, n) and B (..., m, k). If there are
    several, the one with the smallest norm is returned. The residuals are the squared norms of the
    columns of A X - B. They are empty with the default driver, and also if m <= n or A doesn't have
    full rank.

    Args:
        rcond: Singular values of A up to `rcond` times the largest one count as zero.
        driver: None, "gelsy", "gels", "gelsd" or "gelss". All compute the same solution. Only
            "gelsd" and "gelss" return singular values, and "gels" returns no rank.
    """
    check_tensor("linalg_lstsq", "input", 0, A)
    check_tensor("linalg_lstsq", "b", 1, B)
    name = "torch.linalg.lstsq"
    if A._array.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if not B._array.ndim:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    vector = A._array.ndim - 1 == B._array.ndim and B._array.shape == A._array.shape[:-1]
    if A._array.shape[-2] != B._array.shape[-1 if vector else -2]:
        dim = -1 if vector else -2
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({dim})")
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {A.dtype.word} and "
            f"other's dtype {B.dtype.word}"
        )
    if A._array.dtype.kind not in "fc" or A._array.dtype.itemsize < 4:
        if rcond is None:
            raise RuntimeError(FLOATS_ONLY)
        raise NotImplementedError(errors.NO_KERNEL.format("linalg_lstsq_cpu", A.dtype.word))
    drivers = ("gels", "gelsy", "gelsd", "gelss")
    if driver not in (None, *drivers):
        raise RuntimeError(f"{name}: parameter `driver` should be one of ({', '.join(drivers)})")
    usual = float(np.finfo(A._array.dtype).eps * max(A._array.shape[-2:]))
    rcond = usual if rcond is None else rcond
    solution, residuals = matrices.linalg_lstsq(A, B, rcond)
    with no_grad():
        rank = matrix_rank(A, rtol=rcond)
        shown = svdvals(A) if driver in ("gelsd", "gelss") else A.new_empty(0)
        whole = bool((rank == A._array.shape[-1]).all())
    if driver == "gels":
        rank = wrap(np.zeros(0, np.int64))
    tells = driver not in (None, "gelsy") and whole and A._array.shape[-2] > A._array.shape[-1]
    residuals = residuals if tells else residuals.new_empty(0)
    return _Lstsq(solution, residuals, rank, shown)


# Norms and products.
# The older names in `torch` and of tensors.


def _legacy(name: str, function: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """Return the function under an older name, also a method of tensors."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return operation()(function)


_OldSlogdet = results_of("slogdet", "sign", "logabsdet")
_OldQr = results_of("qr", "Q", "R")
_OldSvd = results_of("svd", "U", "S", "V")


def _old_det(self: Tensor) -> Tensor:
    return det(self)


def _old_slogdet(self: Tensor, *, out: Any = None) -> Any:
    if out is not None:
        return into_each("slogdet", out, _old_slogdet, self)
    return _OldSlogdet(*slogdet(self))


def _old_svd(self: Tensor, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    if out is not None:
        return into_each("svd", out, _old_svd, self, some, compute_uv)
    if self._array.ndim < 2:
        count = self._array.ndim
        raise RuntimeError(f"linalg.svd: input should have at least 2 dimensions, but has {count} dimensions instead")
    u, s, vh = svd(self, not some)
    if not compute_uv:
        u, vh = (self.new_zeros((*self._array.shape[:-2], n, n)) for n in self._array.shape[-2:])
    return _OldSvd(u, s, vh.mH)


def _old_qr(self: Tensor, some: bool = True, *, out: Any = None) -> Any:
    if out is not None:
        return into_each("qr", out, _old_qr, self, some)
    warn(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\n"
        "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\n"
        "should be replaced with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
    )
    return _OldQr(*qr(self, "reduced" if some else "complete"))


def _old_cholesky(self: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    if out is not None:
        return into("cholesky", out, _old_cholesky, self, upper)
    warn(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch "
        "release.\nL = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = "
        "torch.cholesky(A, upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will "
        "produce equivalent results for all valid (symmetric positive definite) inputs."
    )
    _not_half("cholesky_cpu", _matrices("cholesky", self, float_sentence="cholesky_cpu"))
    return matrices.cholesky_factor(self, upper)


_legacy("det", _old_det, "Return the determinant of each square matrix (..., n, n).")
_legacy("slogdet", _old_slogdet, "Return (sign, logabsdet) of each determinant; see `linalg.slogdet`.")
_legacy(
    "svd",
    _old_svd,
    """Return (U, S, V) with `A = U diag(S) V^T` for matrices A (..., m, n); prefer `linalg.svd`.

    This older function returns V, where `linalg.svd` returns its transpose Vh, as NumPy does. The
    singular values S, of shape (..., min(m, n)), are in descending order.

    Args:
        some: Return U (..., m, k) and V (..., n, k), where k is the smaller of m and n. If False, U
            is (..., m, m) and V is (..., n, n).
        compute_uv: If False, U (..., m, m) and V (..., n, n) are zeros. To get only the singular
            values, use `linalg.svdvals`.
    """,
)
_legacy(
    "qr",
    _old_qr,
    "Return (Q, R), the QR decomposition of matrices (..., m, n); use `linalg.qr`.\n\nIf `some` is False, Q is square.",
)
_legacy(
    "cholesky",
    _old_cholesky,
    "Return the Cholesky factor of matrices (..., n, n); use `linalg.cholesky`.\n\n"
    "If `upper` is True, the factor is the transpose of the lower triangle.",
)
