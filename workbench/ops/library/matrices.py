"""Operations on matrices, with their derivatives: inverses, solutions, factors, determinants; LAPACK computes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from ...autograd.tensor import wrap
from ...errors import LinAlgError
from ..core.checks import is_vector
from ..core.op import define
from ..core.registry import ARRAYS, TENSORS, in_formulas
from ..linear import dot

Words = dict[str, Any]
Array = np.ndarray


def _in_floats(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Return the forward, computed in float32 where an operand is narrower: LAPACK has no other types."""

    def computed(*args: Any) -> Any:
        narrow = next((a.dtype for a in args if isinstance(a, np.ndarray) and a.dtype == np.float16), None)
        try:
            if narrow is None:
                return forward(*args)
            found = forward(*[a.astype(np.float32) if isinstance(a, np.ndarray) else a for a in args])
        except ValueError as error:  # shapes that the function which users call has let through
            raise RuntimeError(str(error)) from None
        return tuple([a.astype(narrow) for a in found]) if isinstance(found, tuple) else found.astype(narrow)

    return computed


def _by_columns(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same forward with matrices stored by columns, as LAPACK leaves them."""
    forward = _in_floats(forward)

    def turned(a: Array) -> Array:
        return a if a.ndim < 2 else np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)

    def computed(*args: Any) -> Any:
        found = forward(*args)
        return tuple([turned(a) for a in found]) if isinstance(found, tuple) else turned(found)

    return computed


# What formulas say of matrices; each works on arrays and on tensors.


def _mt(x: Any) -> Any:
    """Return each matrix transposed."""
    return x.swapaxes(-1, -2)


def _like(x: Any, a: Array) -> Any:
    """Return numbers as an array or a tensor, as `x` is one, in its dtype."""
    return a.astype(x.dtype) if isinstance(x, np.ndarray) else wrap(a.astype(x._array.dtype))


def _eye(x: Any) -> Any:
    """Return the identity in the size of a matrix's or vector's last dimension."""
    return _like(x, np.eye(x.shape[-1]))


def _lower(x: Any, k: int = 0) -> Any:
    """Return each matrix with zeros above a diagonal."""
    return x * _like(x, np.tri(x.shape[-2], x.shape[-1], k))


def _upper(x: Any, k: int = 0) -> Any:
    """Return each matrix with zeros below a diagonal."""
    return x * _like(x, 1 - np.tri(x.shape[-2], x.shape[-1], k - 1))


def _on_diagonal(v: Any) -> Any:
    """Return matrices with these diagonals."""
    return v[..., None] * _eye(v)


def _sum_of(*terms: Any) -> Any:
    """Return the sum of those that are there; None if none is."""
    found = [term for term in terms if term is not None]
    return reduce(lambda a, b: a + b, found) if found else None


in_formulas("mt", _mt, _mt)
in_formulas("lower", _lower, _lower)
in_formulas("upper", _upper, _upper)


def _formula(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let formulas call the function, whose first argument is the namespace of other formulas (a decorator)."""

    def with_words(words: Words) -> Callable[..., Any]:
        def said(*args: Any) -> Any:
            return function(words, *args)

        return said

    in_formulas(function.__name__.removeprefix("_"), with_words(ARRAYS), with_words(TENSORS))
    return function


# Inverse and solutions.


def _zero_pivot(a: Array) -> int:
    """Return which diagonal element of U in PLU is zero, counted from one; 0 if none is."""
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


def _inverse_of(a: Array) -> Array:
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        _refuse(
            "linalg.inv",
            a,
            _is_singular,
            "The diagonal element {} is zero, the inversion could not be completed because the input matrix is "
            "singular.",
        )
        raise


linalg_inv_ex = define(
    "LinalgInvExBackward0",
    "linalg_inv_ex(Tensor A)",
    _by_columns(_inverse_of),
    A="-(mt(result) @ (grad @ mt(result)))",
    tangent="-(result @ A_t @ result)",
    batch="in front",
    samples="inv(3); inv(2, 2)",
)


def _solution_of(a: Array, b: Array, left: bool) -> Array:
    vector = is_vector(a, b)
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
    """Return the gradient of the matrix of a system, of which `x` is the solution."""
    g = words["linalg_solve_ex"](_mt(a), grad, left)
    if is_vector(a, grad):
        g, x = g[..., None], x[..., None]
    return words["sum_to"](-(g @ _mt(x) if left else _mt(x) @ g), tuple(a.shape))


linalg_solve_ex = define(
    "LinalgSolveExBackward0",
    "linalg_solve_ex(Tensor A, Tensor B, left)",
    _by_columns(_solution_of),
    A="solve_slope(grad, result, A, left)",
    B="sum_to(linalg_solve_ex(mt(A), grad, left), B.shape)",
    batch="systems",
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
    """Return the gradient of the triangle of a system, of which `x` is the solution."""
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
    """Return the order of the first leading minor that is not positive; 0 if all are."""
    for k in range(1, len(a) + 1):
        try:
            np.linalg.cholesky(a[:k, :k])
        except np.linalg.LinAlgError:
            return k
    return 0


def _cholesky_of(name: str, a: Array, upper: bool) -> Array:
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
    """Return the gradient of a positive definite matrix (Murray, "Differentiation of the Cholesky decomposition")."""
    low, g = (_mt(factor), _mt(grad)) if upper else (factor, grad)
    solve = words["linalg_solve_triangular"]
    phi = _mt(low) @ g
    half = (_lower(phi) + _mt(_lower(phi, -1))) * 0.5
    left = solve(_mt(low), half, True, True, False)
    return solve(low, left, False, False, False)


linalg_cholesky_ex, cholesky_factor = (
    define(
        node,
        f"{name}(Tensor self, upper)",
        _by_columns(partial(_cholesky_of, said)),
        self="cholesky_slope(grad, result, upper)",
        batch="in front",
        samples="sym(3), False; sym(2, 2), True",
    )
    for node, name, said in (
        ("LinalgCholeskyExBackward0", "linalg_cholesky_ex", "linalg.cholesky"),
        ("CholeskyBackward0", "cholesky_factor", "cholesky"),
    )
)


def _inverse_of_factor(a: Array, upper: bool) -> Array:
    low = np.triu(a).swapaxes(-1, -2) if upper else np.tril(a)
    inverse = _triangular_solution(
        low, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape), False, True, False
    )
    return _mt(inverse) @ inverse


@_formula
def _factor_slope(words: Words, both: Any, factor: Any, upper: bool) -> Any:
    """Return a Cholesky factor's gradient from the matrix's, made symmetric; like PyTorch's, it isn't triangular."""
    both = both + _mt(both)
    return factor @ both if upper else both @ factor


cholesky_inverse_op = define(
    "CholeskyInverseBackward0",
    "cholesky_inverse(Tensor self, upper)",
    _by_columns(_inverse_of_factor),
    self="factor_slope(-(result @ grad @ result), self, upper)",
    batch="in front",
    samples="tri(3), False; tri(2, 2), False",
)


def _solution_by_factor(b: Array, factor: Array, upper: bool) -> Array:
    low = _mt(np.triu(factor)) if upper else np.tril(factor)
    return _triangular_solution(_mt(low), _triangular_solution(low, b, False, True, False), True, True, False)


cholesky_solve_op = define(
    "CholeskySolveBackward0",
    "cholesky_solve(Tensor self, Tensor input2, upper)",
    _by_columns(_solution_by_factor),
    self="sum_to(cholesky_solve(grad, input2, upper), self.shape)",
    input2="sum_to(factor_slope(-(cholesky_solve(grad, input2, upper) @ mt(result)), input2, upper), input2.shape)",
    batch="in front",
    samples="r(3, 2), tri(3), False; r(2, 1), tri(2), False; r(2, 3, 1), tri(3), False",
)


def _qr_of(a: Array, mode: str) -> tuple[Array, Array]:
    if mode == "r":
        return np.zeros(0, a.dtype), np.asarray(np.linalg.qr(a, "r"))
    q, r = np.linalg.qr(a, "complete" if mode == "complete" else "reduced")
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
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
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
    _by_columns(_qr_of),
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
    values, vectors = np.linalg.eigh(a, "U" if uplo == "U" else "L")
    return values, vectors


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
    _by_columns(_eigen_of),
    kind="several",
    results=("eigenvalues", "eigenvectors"),
    A="eigh_slope(grad, eigenvalues, eigenvectors)",
    tangent="transposed",
    batch="in front",
    samples="sym(3), 'L'; sym(2, 2), 'U'",
)


def _svd_of(a: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    if not np.isfinite(a).all():  # of which LAPACK may search singular values for ever
        sentence = "The algorithm failed to converge because the input matrix contained non-finite values."
        _refuse("linalg.svd", a, lambda each: not np.isfinite(each).all(), sentence)
    u, s, vh = np.linalg.svd(a, full_matrices)
    return u, s, vh


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
    _by_columns(_svd_of),
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
    """Return the determinant times the inverse, transposed; by singular values where there is no inverse."""
    numbers = det if isinstance(det, np.ndarray) else det._array
    if numbers.all():
        return (grad * det)[..., None, None] * _mt(words["linalg_inv_ex"](a))
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
    return None if g is None else g[..., None, None] * _mt(words["linalg_inv_ex"](a))


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
    u, s, vh = spectrum(a, hermitian)
    largest = np.abs(s).max(-1, keepdims=True, initial=0)
    keep = np.abs(s) > np.maximum(np.asarray(atol)[..., None], np.asarray(rtol)[..., None] * largest)
    inverse = np.divide(1, s, where=keep, out=np.zeros_like(s))
    return (_mt(vh) * inverse[..., None, :]) @ _mt(u)


def spectrum(a: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    if not hermitian:
        return _svd_of(a, False)
    values, vectors = _eigen_of(a, "L")
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


# Least squares.


def _least_squares_of(a: Array, b: Array, rcond: float) -> tuple[Array, Array]:
    if is_vector(a, b):
        solution, residuals = _least_squares_of(a, b[..., None], rcond)
        return solution[..., 0], residuals[..., 0]
    solution = _pinv_of(a, rcond, 0.0, False) @ b
    return solution, ((a @ solution - b) ** 2).sum(-2)


@_formula
def _lstsq_slope(words: Words, grads: Any, a: Any, b: Any, x: Any, wanted: str) -> Any:
    """Return the gradient of a or b, where x minimizes the norm of a x - b."""
    g, of_residuals = grads
    of_residuals = of_residuals if a.shape[-2] > a.shape[-1] else None
    if is_vector(a, b):
        g, of_residuals, b, x = (None if each is None else each[..., None] for each in (g, of_residuals, b, x))
        found = _lstsq_slope(words, (g, of_residuals), a, b, x, wanted)
        return found if found is None or wanted == "a" else found[..., 0]
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
    batch="systems",
    samples="r(3, 2), r(3, 2), 1e-15; r(2, 3), r(2, 1), 1e-15; r(3, 2), r(3), 1e-15",
)


# Products.

vdot = define(
    "VdotBackward0",
    "vdot(Tensor self, Tensor other)",
    dot.op.forward,
    meaning="Return the dot product of two vectors (n,); for real tensors, the same as `dot`.",
    self="grad * other",
    other="grad * self",
    samples="r(3), r(3)",
    out="exact",
)


def _cross_of(a: Array, b: Array, dim: int) -> Array:
    return np.cross(a, b, axis=dim)


linalg_cross = define(
    "LinalgCrossBackward0",
    "linalg_cross(Tensor self, Tensor other, dim)",
    _in_floats(_cross_of),
    self="sum_to(linalg_cross(other, grad, dim), self.shape)",
    other="sum_to(linalg_cross(grad, self, dim), other.shape)",
    tangent="multilinear",
    batch="dims",
    samples="r(3), r(3), 0; r(3, 2), r(3, 2), 0; r(2, 3), r(2, 3), 1",
)
