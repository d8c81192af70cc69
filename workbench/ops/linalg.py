"""Linear algebra: inverses, solutions, factors and norms of matrices (torch.linalg). LAPACK, by NumPy, computes."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce, wraps
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.grad_mode import no_grad
from ..autograd.tensor import Tensor, wrap
from ..errors import LinAlgError, warn
from .core.checks import bool_of, check_tensor, dim_index, dims_of, int_of, not_a_tensor, number_of
from .core.op import define, operation
from .core.registry import ARRAYS, TENSORS, in_formulas
from .core.results import into, results_of
from .join_split import diagonal
from .linear import matmul
from .reduction import amax, amin, norm

Words = dict[str, Any]
Array = np.ndarray


def _in_floats(forward: Callable[..., Any]) -> Callable[..., Any]:
    """The forward, computed in float32 where an operand is narrower: LAPACK has no other types."""

    def computed(*args: Any) -> Any:
        narrow = next((a.dtype for a in args if isinstance(a, np.ndarray) and a.dtype == np.float16), None)
        if narrow is None:
            return forward(*args)
        found = forward(*[a.astype(np.float32) if isinstance(a, np.ndarray) else a for a in args])
        return tuple([a.astype(narrow) for a in found]) if isinstance(found, tuple) else found.astype(narrow)

    return computed


# What formulas say of matrices; each works on arrays and on tensors.


def _mt(x: Any) -> Any:
    """Each matrix transposed."""
    return x.swapaxes(-1, -2)


def _like(x: Any, a: Array) -> Any:
    """Numbers as an array or a tensor, as `x` is one, in its dtype."""
    return a.astype(x.dtype) if isinstance(x, np.ndarray) else wrap(a.astype(x._array.dtype))


def _eye(x: Any) -> Any:
    """The identity in the size of a matrix's or vector's last dimension."""
    return _like(x, np.eye(x.shape[-1]))


def _lower(x: Any, k: int = 0) -> Any:
    """Each matrix with zeros above a diagonal."""
    return x * _like(x, np.tri(*x.shape[-2:], k))


def _upper(x: Any, k: int = 0) -> Any:
    """Each matrix with zeros below a diagonal."""
    return x * _like(x, 1 - np.tri(*x.shape[-2:], k - 1))


def _on_diagonal(v: Any) -> Any:
    """Matrices with these diagonals."""
    return v[..., None] * _eye(v)


def _sum_of(*terms: Any) -> Any:
    """The sum of those that are there; None if none is."""
    found = [term for term in terms if term is not None]
    return reduce(lambda a, b: a + b, found) if found else None


in_formulas("mt", _mt, _mt)
in_formulas("lower", _lower, _lower)
in_formulas("upper", _upper, _upper)


def _formula(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: let formulas say the function, whose first argument is the words of other formulas."""

    def with_words(words: Words) -> Callable[..., Any]:
        def said(*args: Any) -> Any:
            return function(words, *args)

        return said

    in_formulas(function.__name__.removeprefix("_"), with_words(ARRAYS), with_words(TENSORS))
    return function


# Inverse and solutions.


def _zero_pivot(a: Array) -> int:
    """Which diagonal element of U in PLU is zero, counted from one; 0 if none is."""
    u = a.astype(np.float64, copy=True)
    for k in range(len(u)):
        best = k + int(np.argmax(np.abs(u[k:, k])))
        if u[best, k] == 0:
            return k + 1
        u[[k, best]] = u[[best, k]]
        u[k + 1 :, k:] -= np.outer(u[k + 1 :, k] / u[k, k], u[k, k:])
    return 0


def _refuse(name: str, a: Array, fails: Callable[[Array], int], sentence: str) -> None:
    """Raise LinAlgError for the first matrix that cannot be done."""
    for place in np.ndindex(*a.shape[:-2]):
        if minor := fails(a[place]):
            number = int(np.ravel_multi_index(place, a.shape[:-2])) if place else 0
            batch = f" (Batch element {number}):" if place else ""
            raise LinAlgError(f"{name}:{batch} {sentence.format(minor)}")


def _is_singular(a: Array) -> int:
    try:
        np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return _zero_pivot(a) or len(a)
    return 0


def _inverse_of(a: Array, name: str) -> Array:
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        _refuse(
            name,
            a,
            _is_singular,
            "The diagonal element {} is zero, the inversion could not be completed because the input matrix is "
            "singular.",
        )
        raise


linalg_inv_ex = define(
    "LinalgInvExBackward0",
    "linalg_inv_ex(Tensor A, name)",
    _in_floats(_inverse_of),
    A="-(mt(result) @ (grad @ mt(result)))",
    tangent="-(result @ A_t @ result)",
    batch="in front",
    samples="inv(3), 'linalg.inv'; inv(2, 2), 'linalg.inv'",
)


def _is_vector(a: Any, b: Any) -> bool:
    """Whether the right side of a system is one vector for each matrix."""
    return b.ndim == 1 or (a.ndim - 1 == b.ndim and tuple(b.shape) == tuple(a.shape[:-1]))


def _solution_of(a: Array, b: Array, left: bool) -> Array:
    vector = _is_vector(a, b)
    b = b[..., None] if vector else b
    try:
        x = np.linalg.solve(a, b) if left else _mt(np.linalg.solve(_mt(a), _mt(b)))
    except np.linalg.LinAlgError:
        sentence = "The solver failed because the input matrix is singular."
        _refuse("torch.linalg.solve", a, _is_singular, sentence)
        raise
    return x[..., 0] if vector else x


@_formula
def _solve_slope(words: Words, grad: Any, x: Any, a: Any, left: bool) -> Any:
    """The gradient of the matrix of a system, of which `x` is the solution."""
    g = words["linalg_solve_ex"](_mt(a), grad, left)
    if _is_vector(a, grad):
        g, x = g[..., None], x[..., None]
    return words["sum_to"](-(g @ _mt(x) if left else _mt(x) @ g), tuple(a.shape))


linalg_solve_ex = define(
    "LinalgSolveExBackward0",
    "linalg_solve_ex(Tensor A, Tensor B, left)",
    _in_floats(_solution_of),
    A="solve_slope(grad, result, A, left)",
    B="sum_to(linalg_solve_ex(mt(A), grad, left), B.shape)",
    batch="in front",
    samples="inv(3), r(3, 2), True; inv(3), r(3), True; inv(2), r(3, 2), False; "
    "inv(2, 3), r(3, 2), True; inv(3), r(2, 3, 1), True",
)


def _triangle(a: Array, upper: bool, unitriangular: bool) -> Array:
    part = np.triu(a, int(unitriangular)) if upper else np.tril(a, -int(unitriangular))
    return part + np.eye(a.shape[-1], dtype=a.dtype) if unitriangular else part


def _triangular_solution(a: Array, b: Array, upper: bool, left: bool, unitriangular: bool) -> Array:
    part = _triangle(a, upper, unitriangular)
    try:
        return np.linalg.solve(part, b) if left else _mt(np.linalg.solve(_mt(part), _mt(b)))
    except np.linalg.LinAlgError:  # a zero on the diagonal: LAPACK divides by it
        rows = [part[..., i, :, None] for i in range(part.shape[-1])]
        b = b if left else _mt(b)
        part = part if left else _mt(part)
        x = np.zeros(np.broadcast_shapes(part.shape[:-2], b.shape[:-2]) + b.shape[-2:], b.dtype)
        order = range(len(rows))[:: -1 if upper == left else 1]
        for i in order:
            x[..., i, :] = (b[..., i, :] - (part[..., i, :, None] * x).sum(-2)) / part[..., i, i, None]
        return x if left else _mt(x)


@_formula
def _triangular_slope(words: Words, grad: Any, x: Any, a: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    """The gradient of the triangle of a system, of which `x` is the solution."""
    g = words["linalg_solve_triangular"](_mt(a), grad, not upper, left, unitriangular)
    full = -(g @ _mt(x) if left else _mt(x) @ g)
    part = _upper(full, int(unitriangular)) if upper else _lower(full, -int(unitriangular))
    return words["sum_to"](part, tuple(a.shape))


linalg_solve_triangular = define(
    "LinalgSolveTriangularBackward0",
    "linalg_solve_triangular(Tensor self, Tensor B, upper, left, unitriangular)",
    _in_floats(_triangular_solution),
    self="triangular_slope(grad, result, self, upper, left, unitriangular)",
    B="sum_to(linalg_solve_triangular(mt(self), grad, not upper, left, unitriangular), B.shape)",
    batch="in front",
    samples="inv(3), r(3, 2), True, True, False; inv(3), r(3, 2), False, True, True; "
    "inv(2), r(3, 2), False, False, False; inv(2, 3), r(3, 2), True, True, False",
)


# Factors.


def _minor(a: Array) -> int:
    """The order of the first leading minor that is not positive; 0 if all are."""
    for k in range(1, len(a) + 1):
        try:
            np.linalg.cholesky(a[:k, :k])
        except np.linalg.LinAlgError:
            return k
    return 0


def _cholesky_of(a: Array, upper: bool, name: str) -> Array:
    lower = _mt(a) if upper else a  # of which LAPACK reads one triangle
    try:
        factor = np.linalg.cholesky(lower)
    except np.linalg.LinAlgError:
        _refuse(
            name,
            lower,
            _minor,
            "The factorization could not be completed because the input is not positive-definite (the leading minor "
            "of order {} is not positive-definite).",
        )
        raise
    return _mt(factor) if upper else factor


@_formula
def _cholesky_slope(words: Words, grad: Any, factor: Any, upper: bool) -> Any:
    """The symmetric gradient of a positive definite matrix. Murray, "Differentiation of the Cholesky decomposition"."""
    low, g = (_mt(factor), _mt(grad)) if upper else (factor, grad)
    solve = words["linalg_solve_triangular"]
    phi = _mt(low) @ g
    half = (_lower(phi) + _mt(_lower(phi, -1))) * 0.5
    left = solve(_mt(low), half, True, True, False)
    return solve(low, left, False, False, False)


linalg_cholesky_ex, _cholesky_factor = (
    define(
        node,
        f"{name}(Tensor self, upper, name)",
        _in_floats(_cholesky_of),
        self="cholesky_slope(grad, result, upper)",
        batch="in front",
        samples="sym(3), False, 'linalg.cholesky'; sym(2, 2), True, 'linalg.cholesky'",
    )
    for node, name in (("LinalgCholeskyExBackward0", "linalg_cholesky_ex"), ("CholeskyBackward0", "cholesky_factor"))
)


def _inverse_of_factor(a: Array, upper: bool) -> Array:
    low = np.triu(a).swapaxes(-1, -2) if upper else np.tril(a)
    inverse = _triangular_solution(low, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape), False, True, False)
    return _mt(inverse) @ inverse


@_formula
def _factor_slope(words: Words, both: Any, factor: Any, upper: bool) -> Any:
    """The gradient of a Cholesky factor from that of the matrix, which is made symmetric."""
    both = both + _mt(both)
    return _upper(factor @ both) if upper else _lower(both @ factor)


cholesky_inverse_op = define(
    "CholeskyInverseBackward0",
    "cholesky_inverse(Tensor self, upper)",
    _in_floats(_inverse_of_factor),
    self="factor_slope(-(result @ grad @ result), self, upper)",
    batch="in front",
    samples="inv(3), False; inv(2, 2), True",
)


def _solution_by_factor(b: Array, factor: Array, upper: bool) -> Array:
    low = _mt(np.triu(factor)) if upper else np.tril(factor)
    return _triangular_solution(_mt(low), _triangular_solution(low, b, False, True, False), True, True, False)


cholesky_solve_op = define(
    "CholeskySolveBackward0",
    "cholesky_solve(Tensor self, Tensor input2, upper)",
    _in_floats(_solution_by_factor),
    self="sum_to(cholesky_solve(grad, input2, upper), self.shape)",
    input2="sum_to(factor_slope(-(cholesky_solve(grad, input2, upper) @ mt(result)), input2, upper), input2.shape)",
    batch="in front",
    samples="r(3, 2), inv(3), False; r(2, 1), inv(2), True; r(2, 3, 1), inv(3), False",
)


def _qr_of(a: Array, mode: str) -> tuple[Array, Array]:
    if mode == "r":
        return np.zeros(0, a.dtype), np.linalg.qr(a, "r")
    q, r = np.linalg.qr(a, mode)
    return q, r


@_formula
def _qr_slope(words: Words, grads: Any, q: Any, r: Any, mode: str) -> Any:
    """Roberts and Roberts, "QR and LQ decomposition matrix backpropagation algorithms"; PyTorch's conditions."""
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    rows, columns = q.shape[-2], r.shape[-1]
    if mode == "complete" and rows > columns:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        )
    gq, gr = grads
    if gq is None and gr is None:
        return None
    core = _sum_of(None if gr is None else gr @ _mt(r), None if gq is None else -(_mt(q) @ gq))
    solve = words["linalg_solve_triangular"]
    if rows >= columns:
        part = _upper(core)
        both = part + _mt(part)
        both = both - both * _eye(both) * 0.5
        out = q @ both
        return solve(_mt(r), out if gq is None else out + gq, False, False, False)
    core = -core
    out = solve(_mt(r[..., :rows]), q @ _lower(core - _mt(core)), False, False, False)
    out = out @ _like(out, np.eye(rows, columns))  # nothing in the columns behind
    return out if gr is None else out + q @ gr


linalg_qr = define(
    "LinalgQrBackward0",
    "linalg_qr(Tensor A, mode)",
    _in_floats(_qr_of),
    kind="several",
    results=("Q", "R"),
    A="qr_slope(grad, Q, R, mode)",
    tangent="transposed",
    batch="in front",
    samples="r(3, 2), 'reduced'; r(2, 3), 'reduced'; r(2, 2, 2), 'complete'",
)


def _eigen_of(a: Array, uplo: str) -> tuple[Array, Array]:
    if not np.isfinite(a).all():
        return np.full(a.shape[:-1], np.nan, a.dtype), np.full_like(a, np.nan)
    return tuple(np.linalg.eigh(a, uplo))


@_formula
def _eigh_slope(words: Words, grads: Any, values: Any, vectors: Any) -> Any:
    """Giles, "An extended collection of matrix derivative results": infinite where two eigenvalues are equal."""
    g, gv = grads
    if gv is None:
        return None if g is None else vectors @ (g[..., None] * _mt(vectors))
    turned = _mt(vectors) @ gv
    apart = values[..., None, :] - values[..., :, None] + _eye(values)
    core = _sum_of((turned - _mt(turned)) * 0.5 / apart, None if g is None else _on_diagonal(g))
    return vectors @ (core @ _mt(vectors))


linalg_eigh = define(
    "LinalgEighBackward0",
    "linalg_eigh(Tensor A, UPLO)",
    _in_floats(_eigen_of),
    kind="several",
    results=("eigenvalues", "eigenvectors"),
    A="eigh_slope(grad, eigenvalues, eigenvectors)",
    tangent="transposed",
    batch="in front",
    samples="sym(3), 'L'; sym(2, 2), 'U'",
)


def _svd_of(a: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    try:
        return tuple(np.linalg.svd(a, full_matrices))
    except np.linalg.LinAlgError:
        sentence = "The algorithm failed to converge because the input matrix contained non-finite values."
        _refuse("linalg.svd", a, lambda each: not np.isfinite(each).all(), sentence)
        raise


@_formula
def _svd_slope(words: Words, grads: Any, u: Any, s: Any, vh: Any) -> Any:
    """Giles, "An extended collection of matrix derivative results": infinite where two singular values are equal."""
    rank = s.shape[-1]
    rows, columns = u.shape[-2], vh.shape[-1]
    u, vh = u[..., :rank], vh[..., :rank, :]
    gu, gs, gvh = grads
    gu = None if gu is None else gu[..., :rank]
    gvh = None if gvh is None else gvh[..., :rank, :]
    if gu is None and gvh is None:
        return None if gs is None else (u * gs[..., None, :]) @ vh
    row, column = s[..., None, :], s[..., :, None]
    apart = (row - column) * (row + column) + _eye(s)

    def skew(x: Any) -> Any:
        return x - _mt(x)

    core = _sum_of(
        None if gu is None else skew(_mt(u) @ gu) / apart * row,
        None if gvh is None else column * (skew(vh @ _mt(gvh)) / apart),
        None if gs is None else _on_diagonal(gs),
    )
    if rows > columns and gu is not None:
        return (u @ core + (gu - u @ (_mt(u) @ gu)) / row) @ vh
    if rows < columns and gvh is not None:
        return u @ (core @ vh + (gvh - (gvh @ _mt(vh)) @ vh) / column)
    return u @ core @ vh


linalg_svd = define(
    "LinalgSvdBackward0",
    "linalg_svd(Tensor A, full_matrices)",
    _in_floats(_svd_of),
    kind="several",
    results=("U", "S", "Vh"),
    A="svd_slope(grad, U, S, Vh)",
    tangent="transposed",
    batch="in front",
    samples="r(3, 2), False; r(2, 3), False; r(2, 2, 2), False",
)


# Determinants.


@_formula
def _det_slope(words: Words, grad: Any, a: Any, det: Any) -> Any:
    """The determinant times the inverse, transposed; by singular values where there is no inverse."""
    numbers = det if isinstance(det, np.ndarray) else det._array
    if numbers.all():
        return (grad * det)[..., None, None] * _mt(words["linalg_inv_ex"](a, "linalg.det"))
    u, s, vh = words["linalg_svd"](a, False)
    eye = _eye(s)
    others = words["prod_dim"](s[..., None, :] * (1 - eye) + eye, -1, False)
    turned = grad * words["linalg_det"](u) * words["linalg_det"](vh)
    return (u * (turned[..., None] * others)[..., None, :]) @ vh


linalg_det = define(
    "LinalgDetBackward0",
    "linalg_det(Tensor A)",
    _in_floats(lambda a: np.asarray(np.linalg.det(a))),
    A="det_slope(grad, A, result)",
    batch="in front",
    samples="inv(3); inv(2, 2)",
)


def _logdet_of(a: Array) -> tuple[Array, Array]:
    sign, logabsdet = np.linalg.slogdet(a)
    return np.asarray(sign), np.asarray(logabsdet)


@_formula
def _slogdet_slope(words: Words, grads: Any, a: Any) -> Any:
    g = grads[1]
    return None if g is None else g[..., None, None] * _mt(words["linalg_inv_ex"](a, "linalg.slogdet"))


linalg_slogdet = define(
    "LinalgSlogdetBackward0",
    "linalg_slogdet(Tensor A)",
    _in_floats(_logdet_of),
    kind="several",
    results=("sign", "logabsdet"),
    A="slogdet_slope(grad, A)",
    tangent="transposed",
    batch="in front",
    samples="inv(3); inv(2, 2)",
)


# Pseudoinverses.


def _pinv_of(a: Array, rtol: Any, atol: Any, hermitian: bool) -> Array:
    u, s, vh = _spectrum(a, hermitian)
    largest = np.abs(s).max(-1, keepdims=True, initial=0)
    keep = np.abs(s) > np.maximum(np.asarray(atol)[..., None], np.asarray(rtol)[..., None] * largest)
    inverse = np.divide(1, s, where=keep, out=np.zeros_like(s))
    return (_mt(vh) * inverse[..., None, :]) @ _mt(u)


def _spectrum(a: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    if not hermitian:
        return np.linalg.svd(a, False)
    values, vectors = np.linalg.eigh(a)
    return vectors, values, _mt(vectors)


@_formula
def _pinv_slope(words: Words, grad: Any, p: Any, a: Any) -> Any:
    """Golub and Pereyra, "The differentiation of pseudo-inverses", where the rank does not change."""
    pt, gt = _mt(p), _mt(grad)
    if p.shape[-2] <= p.shape[-1]:
        k = gt @ p
        kpt = k @ pt
        return -_mt(p @ k) + kpt - (a @ p) @ kpt + (pt @ p) @ (gt - k @ a)
    k = p @ gt
    ptk = pt @ k
    return -_mt(k @ p) + (gt - a @ k) @ p @ pt + ptk - (ptk @ p) @ a


linalg_pinv = define(
    "LinalgPinvBackward0",
    "linalg_pinv(Tensor self, rtol, atol, hermitian)",
    _in_floats(_pinv_of),
    self="pinv_slope(grad, result, self)",
    batch="in front",
    samples="r(3, 2), 1e-15, 0.0, False; r(2, 3), 1e-15, 0.0, False; inv(2, 2), 1e-15, 0.0, False",
)


# What users call.


def _matrices(name: str, a: Any, square: bool = True, float_sentence: str = "", argument: str = "A") -> Tensor:
    """The argument, which has to hold matrices of floating point numbers."""
    if not isinstance(a, Tensor):
        raise TypeError(not_a_tensor(name.replace(".", "_"), argument, 0, a))
    if a._array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    if square and a._array.shape[-1] != a._array.shape[-2]:
        rows, columns = a._array.shape[-2:]
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices")
    if a._array.dtype.kind != "f":
        if float_sentence:
            raise NotImplementedError(errors.NO_KERNEL.format(float_sentence, a.dtype.word))
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {a.dtype.word}")
    return a


def _not_half(kernel: str, *tensors: Tensor) -> None:
    for t in tensors:
        if t._array.dtype.itemsize < 4:
            raise NotImplementedError(errors.NO_KERNEL.format(kernel, t.dtype.word))


def _takes_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the function, which writes its result into `out` if that is given."""
    name = f"linalg_{function.__name__}"

    @wraps(function)
    def called(*args: Any, out: Tensor | None = None, **options: Any) -> Any:
        return function(*args, **options) if out is None else into(name, out, function, *args, **options)

    return called


@_takes_out
def inv(A: Tensor) -> Tensor:
    """The inverse of each square matrix (..., n, n); LinAlgError for one that has none.

    Source: torch.linalg.inv.
    """
    _matrices("linalg.inv", A)
    if A._array.dtype.itemsize < 4:
        raise RuntimeError(f"linalg.inv: Low precision dtypes not supported. Got {A.dtype.word}")
    return linalg_inv_ex(A, "linalg.inv")


@operation()
def inverse(self: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of each square matrix (..., n, n); LinAlgError for one that has none."""
    return inv(self, out=out)


@_takes_out
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The X of A X = B, or of X A = B if not `left`, for square A (..., n, n) and B (..., n, k) or vectors (..., n).

    Batches broadcast; LinAlgError where A has no inverse. Source: torch.linalg.solve.
    """
    _matrices("linalg.solve", A)
    check_tensor("linalg_solve", "B", 1, B)
    if A.dtype is not B.dtype:
        raise RuntimeError(
            "linalg.solve: Expected A and B to have the same dtype, but found A of type "
            f"{A.dtype.word} and B of type {B.dtype.word} instead"
        )
    a, b = A._array, B._array
    vector = _is_vector(a, b)
    if not b.ndim:
        raise RuntimeError("linalg.solve: The input tensor B must have at least 2 dimensions.")
    _check_fit("linalg.solve", a.shape, (*b.shape, 1) if vector else b.shape, left)
    _not_half("lu_cpu", A)
    return linalg_solve_ex(A, B, left)


def _check_fit(name: str, a: tuple[int, ...], b: tuple[int, ...], left: bool) -> None:
    if a[-1] != b[-2 if left else -1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
        )


@_takes_out
def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """The X of A X = B, or X A = B if not `left`, where one triangle of A (..., n, n) is read and B is (..., n, k).

    With `unitriangular` the diagonal is taken as ones. A zero on it gives inf or nan. Source:
    torch.linalg.solve_triangular.
    """
    check_tensor("linalg_solve_triangular", "A", 0, A)
    check_tensor("linalg_solve_triangular", "B", 1, B)
    if B._array.ndim < 2:
        raise RuntimeError("linalg.solve_triangular: The input tensor B must have at least 2 dimensions.")
    _matrices("linalg.solve_triangular", A, float_sentence="triangular_solve_cpu")
    _check_fit("linalg.solve_triangular", A._array.shape, B._array.shape, left)
    return linalg_solve_triangular(A, B, upper, left, unitriangular)


@_takes_out
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangle L with L L^T = A, or its transpose if `upper`, of positive definite A (..., n, n).

    LinAlgError where A is not positive definite; of A one triangle is read. Source: torch.linalg.cholesky.
    """
    _not_half("cholesky_cpu", _matrices("linalg.cholesky", A))
    return linalg_cholesky_ex(A, upper, "linalg.cholesky")


@operation()
def cholesky_inverse(self: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of L L^T, or of U^T U if `upper`, from the triangle (..., n, n). Source: torch.cholesky_inverse."""
    if out is not None:
        return into("cholesky_inverse", out, cholesky_inverse, self, upper)
    _matrices("cholesky_inverse", self, float_sentence="cholesky_inverse_out_cpu")
    return cholesky_inverse_op(self, bool_of("cholesky_inverse", "upper", 1, upper))


@operation()
def cholesky_solve(self: Tensor, input2: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The X of A X = B, B (..., n, k), from the Cholesky factor `input2` of A. Source: torch.cholesky_solve."""
    if out is not None:
        return into("cholesky_solve", out, cholesky_solve, self, input2, upper)
    check_tensor("cholesky_solve", "input2", 1, input2)
    for letter, t in (("b", self), ("u", input2)):
        if t._array.ndim < 2:
            count = t._array.ndim
            raise RuntimeError(f"{letter} should have at least 2 dimensions, but has {count} dimensions instead")
    rows, columns = input2._array.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"A must be batches of square matrices, but they are {rows} by {columns} matrices")
    if columns != self._array.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {rows} by {columns} but each b matrix is "
            "{} by {}".format(*self._array.shape[-2:])
        )
    return cholesky_solve_op(self, input2, upper)


@operation()
def logdet(self: Tensor) -> Tensor:
    """The logarithm of the determinant of each square matrix: nan for a negative one, -inf for 0."""
    sign, logabsdet = linalg_slogdet(_matrices("linalg.slogdet", self))
    return TENSORS["where"](sign == -1.0, float("nan"), logabsdet)


@_takes_out
def det(A: Tensor) -> Tensor:
    """The determinant of each square matrix (..., n, n). Source: torch.linalg.det."""
    _not_half("lu_cpu", _matrices("linalg.det", A))
    return linalg_det(A)


_Slogdet = results_of("linalg_slogdet", "sign", "logabsdet")
_Qr = results_of("linalg_qr", "Q", "R")
_Svd = results_of("linalg_svd", "U", "S", "Vh")
_Eigh = results_of("linalg_eigh", "eigenvalues", "eigenvectors")
_Lstsq = results_of("linalg_lstsq", "solution", "residuals", "rank", "singular_values")


def slogdet(A: Tensor) -> Any:
    """(sign, logabsdet): the sign of the determinant and the logarithm of its size. Source: torch.linalg.slogdet."""
    _not_half("lu_cpu", _matrices("linalg.slogdet", A))
    return _Slogdet(*linalg_slogdet(A))


def qr(A: Tensor, mode: str = "reduced") -> Any:
    """(Q, R): orthonormal columns and an upper triangle whose product is A (..., m, n).

    `mode` is "reduced", "complete" or, without Q, "r". There is no gradient with "r", nor with "complete" where m > n.
    Source: torch.linalg.qr.
    """
    _matrices("linalg.qr", A, square=False)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    _not_half("geqrf_cpu", A)
    return _Qr(*linalg_qr(A, mode))


def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """(eigenvalues, eigenvectors) of symmetric matrices (..., n, n), of which one triangle is read, in rising order.

    The gradient of eigenvectors is infinite where two eigenvalues are equal, and so is not to be trusted where they
    nearly are. Source: torch.linalg.eigh.
    """
    _not_half("linalg_eigh_cpu", _matrices("linalg.eigh", A, float_sentence="linalg_eigh_cpu"))
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return _Eigh(*linalg_eigh(A, UPLO.upper()))


@_takes_out
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric matrices (..., n, n), in rising order. Source: torch.linalg.eigvalsh."""
    return eigh(A, UPLO)[0]


def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """(U, S, Vh): A (..., m, n) is U diag(S) Vh, with the singular values S in falling order.

    The gradient of U and Vh is infinite where two singular values are equal or one is zero. Source: torch.linalg.svd.
    """
    _not_half("linalg_svd_cpu", _matrices("linalg.svd", A, square=False))
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs")
    return _Svd(*linalg_svd(A, bool_of("linalg_svd", "full_matrices", 1, full_matrices)))


@_takes_out
def svdvals(A: Tensor) -> Tensor:
    """The singular values of matrices (..., m, n), in falling order. Source: torch.linalg.svdvals."""
    return svd(A, False)[1]


def _no_fewer(name: str, a: Any, sentence: str, argument: str = "input") -> Tensor:
    if not isinstance(a, Tensor):
        raise TypeError(not_a_tensor(f"linalg_{name}", argument, 0, a))
    if a._array.dtype.kind != "f" or a._array.ndim < 2:
        raise RuntimeError(sentence.format(f"{a.dtype.word}{{{list(a._array.shape)}}}"))
    return a


def _tolerances(a: Tensor, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """Below what a singular value is taken as zero: in itself, and beside the largest."""
    given = [t._array if isinstance(t, Tensor) else t for t in (atol, rtol)]
    if given[1] is None:
        usual = np.finfo(a._array.dtype).eps * max(a._array.shape[-2:])
        above = given[0] is not None and np.any(np.asarray(given[0]) > 0)
        given[1] = 0.0 if above else float(usual)
    return (0.0 if given[0] is None else given[0]), given[1]


@_takes_out
def pinv(
    A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """The pseudoinverse (..., n, m) of matrices (..., m, n); singular values below max(atol, rtol * largest) are zero.

    Source: torch.linalg.pinv.
    """
    sentence = "linalg.pinv({}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble types"
    atol, rtol = _tolerances(_no_fewer("pinv", A, sentence), atol, rcond if rtol is None else rtol)
    return linalg_pinv(A, rtol, atol, hermitian)


@operation()
def pinverse(self: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudoinverse (..., n, m) of matrices (..., m, n)."""
    return pinv(self, rcond)


@_takes_out
def matrix_rank(
    A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """How many singular values are above max(atol, rtol * largest), as int64. Source: torch.linalg.matrix_rank."""
    if isinstance(A, Tensor) and A._array.dtype.kind != "f":
        raise RuntimeError("This function doesn't handle types other than float and double")
    few = "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions."
    _no_fewer("matrix_rank", A, few)
    atol, rtol = (tol, 0.0) if tol is not None else _tolerances(A, atol, rtol)
    atol = atol._array if isinstance(atol, Tensor) else atol
    s = np.abs(_spectrum(A._array, hermitian)[1])
    bound = np.maximum(np.asarray(atol), np.asarray(rtol) * s.max(-1, initial=0))
    return wrap(np.asarray((s > bound[..., None]).sum(-1), np.int64))


@operation()
def matrix_power(self: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """Each square matrix (..., m, m) times itself n times; of its inverse where n is negative."""
    if out is not None:
        return into("linalg_matrix_power", out, matrix_power, self, n)
    n = int_of("linalg_matrix_power", "n", 1, n)
    if self._array.ndim < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    rows, columns = self._array.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"linalg.matrix_power: A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )
    if n == 0:
        return self.clone().copy_(wrap(np.eye(rows, dtype=self._array.dtype)).expand(*self._array.shape))
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


# Least squares.


def _least_squares_of(a: Array, b: Array, rcond: float) -> tuple[Array, Array]:
    solution = _pinv_of(a, rcond, 0.0, False) @ b
    rows, columns = a.shape[-2:]
    if rows <= columns:
        return solution, np.zeros(0, a.dtype)
    return solution, ((a @ solution - b) ** 2).sum(-2)


@_formula
def _lstsq_slope(words: Words, grads: Any, a: Any, b: Any, x: Any, wanted: str) -> Any:
    """The gradient of a or b, where x minimises the norm of a x - b."""
    g, of_residuals = grads
    p = None if g is None else words["linalg_pinv"](a, 1e-15, 0.0, False)
    apart = None if of_residuals is None else (a @ x - b) * (2 * of_residuals[..., None, :])
    if wanted == "b":
        return _sum_of(None if g is None else _mt(p) @ g, None if apart is None else -apart)
    of_solution = None if g is None else words["pinv_slope"](g @ _mt(b), p, a)
    return _sum_of(of_solution, None if apart is None else apart @ _mt(x))


linalg_lstsq = define(
    "LinalgLstsqBackward0",
    "linalg_lstsq(Tensor self, Tensor b, rcond)",
    _in_floats(_least_squares_of),
    kind="several",
    results=("solution", "residuals"),
    self="lstsq_slope(grad, self, b, solution, 'a')",
    b="lstsq_slope(grad, self, b, solution, 'b')",
    tangent="transposed",
    batch="loop",
    samples="r(3, 2), r(3, 2), 1e-15; r(2, 3), r(2, 1), 1e-15",
)


def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """(solution, residuals, rank, singular_values): the X for which the norm of A X - B, (..., m, n) and (..., m, k),
    is least; of several the smallest.

    Residuals are there where m > n and A has full rank. Source: torch.linalg.lstsq.
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
    if A._array.dtype.kind != "f":
        raise RuntimeError("This function doesn't handle types other than float and double")
    drivers = ("gels", "gelsy", "gelsd", "gelss")
    if driver not in (None, *drivers):
        raise RuntimeError(f"{name}: parameter `driver` should be one of ({', '.join(drivers)})")
    usual = float(np.finfo(A._array.dtype).eps * max(A._array.shape[-2:]))
    rcond = usual if rcond is None else rcond
    solution, residuals = linalg_lstsq(A, B.unsqueeze(-1) if vector else B, rcond)
    with no_grad():
        rank = matrix_rank(A, rtol=rcond)
        shown = svdvals(A) if driver in ("gelsd", "gelss") else A.new_empty(0)
        whole = bool((rank == A._array.shape[-1]).all())
    if driver == "gels":
        rank = wrap(np.zeros(0, np.int64))
    residuals = residuals if whole else residuals.new_empty(0)
    return _Lstsq(solution.squeeze(-1) if vector else solution, residuals, rank, shown)


# Norms and products.


@_takes_out
def vector_norm(
    x: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> Tensor:
    """The `ord`-norm of all elements taken as one vector, or over `dim`. Source: torch.linalg.vector_norm."""
    check_tensor("linalg_vector_norm", "x", 0, x)
    return norm(x, number_of("linalg_vector_norm", "ord", 1, ord), dim, keepdim, dtype)


@_takes_out
def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> Tensor:
    """The norm of each matrix (..., m, n): "fro", "nuc", inf, -inf, 1, -1, 2 or -2. Source: torch.linalg.matrix_norm."""
    check_tensor("linalg_matrix_norm", "input", 0, A)
    if A._array.dtype.kind != "f":
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
        raise RuntimeError(f"linalg.matrix_norm: Order {ord:g} not supported." if not isinstance(ord, str) else (
            f"linalg.matrix_norm: Order {ord} not supported."
        ))
    best = amin if ord in (-1, -2, -float("inf")) else amax
    if ord in ("nuc", 2, -2):
        A = A if dtype is None else A.to(dtype)
        order = [d for d in range(A._array.ndim) if d not in (rows, columns)] + [rows, columns]
        s = svdvals(A.permute(order))
        found = s.sum(-1) if ord == "nuc" else best(s, -1)
        if keepdim:
            for d in sorted((rows, columns)):
                found = found.unsqueeze(d)
        return found
    along, over = (columns, rows) if abs(ord) == float("inf") else (rows, columns)
    over = over - (over > along and not keepdim)
    return best(norm(A, 1, along, keepdim, dtype), over, keepdim)


@_takes_out
def linalg_norm(
    A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> Tensor:
    """A vector's norm or a matrix's, by `dim` or the number of dimensions; without `ord` the 2-norm of all elements.

    Source: torch.linalg.norm.
    """
    check_tensor("linalg_norm", "input", 0, A)
    count = None if dim is None else len(dim) if isinstance(dim, (tuple, list)) else 1
    if ord is None:
        return norm(A, 2, dim, keepdim, dtype)
    if dim is None and A._array.ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{A._array.ndim}D."
        )
    if isinstance(ord, str) or count == 2 or (dim is None and A._array.ndim == 2):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


linalg_norm.__name__ = linalg_norm.__qualname__ = "norm"


@_takes_out
def cond(A: Tensor, p: Any = None) -> Tensor:
    """How many times an error can grow where a system with the matrix is solved. Source: torch.linalg.cond."""
    check_tensor("linalg_cond", "input", 0, A)
    if A._array.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p in (None, 2, -2):
        s = svdvals(A)
        least, most = s[..., -1:], s[..., :1]
        return (least / most if p == -2 else most / least).squeeze(-1)
    rows, columns = A._array.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"linalg.cond(ord={p}): A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )
    try:
        inverted = inv(A)
    except LinAlgError:
        with no_grad():
            return matrix_norm(A, p) * float("inf")
    return matrix_norm(A, p) * matrix_norm(inverted, p)


@_takes_out
def multi_dot(tensors: Any) -> Tensor:
    """The product of several matrices; the first and the last may be vectors. Source: torch.linalg.multi_dot."""
    tensors = list(tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    shapes = [list(t._array.shape) for t in tensors]
    for i in range(len(tensors) - 1):
        if shapes[i][-1] != shapes[i + 1][0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {shapes[i]} and {shapes[i + 1]} cannot be multiplied"
            )
    return _in_best_order(tensors)


def _in_best_order(tensors: list[Tensor]) -> Tensor:
    """The product by the parentheses that take the fewest multiplications. Cormen et al., "Introduction to Algorithms"."""
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
    """The sum over `dim` of the products of two tensors' elements; other dimensions broadcast.

    Source: torch.linalg.vecdot.
    """
    check_tensor("linalg_vecdot", "x", 0, x)
    check_tensor("linalg_vecdot", "y", 1, y)
    if x._array.ndim == y._array.ndim == 1:
        return TENSORS["dot"](x, y)
    return (x * y).sum(dim)


def _cross_of(a: Array, b: Array, dim: int) -> Array:
    return np.cross(a, b, axis=dim)


_cross = define(
    "LinalgCrossBackward0",
    "linalg_cross(Tensor self, Tensor other, dim)",
    _in_floats(_cross_of),
    self="sum_to(linalg_cross(other, grad, dim), self.shape)",
    other="sum_to(linalg_cross(grad, self, dim), other.shape)",
    tangent="multilinear",
    batch="dims",
    samples="r(3), r(3), 0; r(3, 2), r(3, 2), 0; r(2, 3), r(2, 3), 1",
)


def _crossed(name: str, a: Tensor, b: Tensor, dim: int) -> Tensor:
    """The cross product along a dimension, counted from behind so that batches broadcast."""
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
    return _cross(a, b, place)


@operation()
def cross(self: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The cross product of vectors of three elements along `dim`; without it, along the first dimension of size 3."""
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
    return _crossed("cross", self, other, dim)


@_takes_out
def linalg_cross(A: Tensor, B: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product of vectors of three elements along `dim`. Source: torch.linalg.cross."""
    check_tensor("linalg_cross", "input", 0, A)
    check_tensor("linalg_cross", "other", 1, B)
    return _crossed("linalg_cross", A, B, dim)


linalg_cross.__name__ = linalg_cross.__qualname__ = "cross"


def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A view of the diagonal of each matrix. Source: torch.linalg.diagonal."""
    return diagonal(A, offset, dim1, dim2)


linalg_diagonal.__name__ = linalg_diagonal.__qualname__ = "diagonal"


# The older names in `torch` and of tensors.


def _legacy(name: str, function: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """The function under an older name, also a method of tensors."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return operation()(function)


_OldSlogdet = results_of("slogdet", "sign", "logabsdet")
_OldQr = results_of("qr", "Q", "R")
_OldSvd = results_of("svd", "U", "S", "V")


def _old_det(self: Tensor) -> Tensor:
    return det(self)


def _old_slogdet(self: Tensor) -> Any:
    return _OldSlogdet(*slogdet(self))


def _old_svd(self: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    if self._array.ndim < 2:
        count = self._array.ndim
        raise RuntimeError(f"linalg.svd: input should have at least 2 dimensions, but has {count} dimensions instead")
    u, s, vh = svd(self, not some)
    if not compute_uv:
        u, vh = (self.new_zeros((*self._array.shape[:-2], n, n)) for n in self._array.shape[-2:])
    return _OldSvd(u, s, vh.mT)


def _old_qr(self: Tensor, some: bool = True) -> Any:
    warn(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\nThe boolean "
        "parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced "
        "with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
    )
    return _OldQr(*qr(self, "reduced" if some else "complete"))


def _old_cholesky(self: Tensor, upper: bool = False) -> Tensor:
    warn(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch "
        "release.\nL = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = "
        "torch.cholesky(A, upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will "
        "produce equivalent results for all valid (symmetric positive definite) inputs."
    )
    return _cholesky_factor(_matrices("cholesky", self), upper, "cholesky")


_legacy("det", _old_det, "The determinant of each square matrix (..., n, n).")
_legacy("slogdet", _old_slogdet, "(sign, logabsdet): the sign of the determinant and the logarithm of its size.")
_legacy("svd", _old_svd, "(U, S, V): matrices (..., m, n) are U diag(S) V^T, with S in falling order.")
_legacy("qr", _old_qr, "(Q, R): orthonormal columns and an upper triangle; use linalg.qr.")
_legacy("cholesky", _old_cholesky, "The lower triangle L with L L^T = A; use linalg.cholesky.")
