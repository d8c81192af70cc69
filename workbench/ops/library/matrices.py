"""Operations on matrices, with their derivatives: inverses, solutions, factors, determinants; LAPACK computes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from ...autograd.complex_tensor import is_complex
from ...autograd.tensor import wrap
from ...errors import LinAlgError
from ..complex import as_it_is, own
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


def _conj(x: Any) -> Any:
    """Return the conjugates of complex numbers, and real numbers as they are."""
    return x.conj() if is_complex(x) else x


def _mh(x: Any) -> Any:
    """Return each matrix transposed, and conjugated if it is complex."""
    return _conj(x.swapaxes(-1, -2))


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


in_formulas("mt", _mt)
in_formulas("mh", _mh)
in_formulas("lower", _lower)
in_formulas("upper", _upper)


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
    u = a.astype(np.result_type(a, np.float64))
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
    "linalg_inv_ex(Tensor A)",
    _by_columns(_inverse_of),
    A="-(mt(result) @ (grad @ mt(result)))",
    tangent="-(result @ A_t @ result)",
    batch="in front",
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
    "linalg_solve_ex(Tensor A, Tensor B, left)",
    _by_columns(_solution_of),
    A="solve_slope(grad, result, A, left)",
    B="sum_to(linalg_solve_ex(mt(A), grad, left), B.shape)",
    batch="systems",
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
    "linalg_solve_triangular(Tensor self, Tensor B, upper, left, unitriangular)",
    _in_floats(_triangular_solution),
    self="triangular_slope(grad, result, self, upper, left, unitriangular)",
    B="sum_to(linalg_solve_triangular(mt(self), grad, not upper, left, unitriangular), B.shape)",
    batch="in front",
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
    lower = _mh(a) if upper else a  # of which LAPACK reads one triangle
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
    return _mh(factor) if upper else factor


@_formula
def _cholesky_slope(words: Words, grad: Any, factor: Any, upper: bool) -> Any:
    """Return the gradient of a positive definite matrix (Murray, "Differentiation of the Cholesky decomposition")."""
    low, g = (_mh(factor), _mh(grad)) if upper else (factor, grad)
    solve = words["linalg_solve_triangular"]
    phi = _mh(low) @ g
    half = _lower(phi) - phi * _eye(phi) * 0.5
    half = (half + _mh(half)) * 0.5
    left = solve(_mh(low), half, True, True, False)
    return solve(low, left, False, False, False)


linalg_cholesky_ex, cholesky_factor = (
    define(
        f"{name}(Tensor self, upper)",
        _by_columns(partial(_cholesky_of, said)),
        node=node,
        self="cholesky_slope(grad, result, upper)",
        batch="in front",
    )
    for node, name, said in (
        ("", "linalg_cholesky_ex", "linalg.cholesky"),
        ("CholeskyBackward0", "cholesky_factor", "cholesky"),
    )
)


def _inverse_of_factor(a: Array, upper: bool) -> Array:
    low = _mh(np.triu(a)) if upper else np.tril(a)
    inverse = _triangular_solution(
        low, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape), False, True, False
    )
    return _mh(inverse) @ inverse


@_formula
def _factor_slope(words: Words, both: Any, factor: Any, upper: bool) -> Any:
    """Return a Cholesky factor's gradient from the matrix's, made symmetric; like PyTorch's, it isn't triangular."""
    both = both + _mh(both)
    return factor @ both if upper else both @ factor


cholesky_inverse_op = define(
    "cholesky_inverse(Tensor self, upper)",
    _by_columns(_inverse_of_factor),
    self="factor_slope(-(result @ grad @ result), self, upper)",
    batch="in front",
)


def _solution_by_factor(b: Array, factor: Array, upper: bool) -> Array:
    low = _mh(np.triu(factor)) if upper else np.tril(factor)
    return _triangular_solution(_mh(low), _triangular_solution(low, b, False, True, False), True, True, False)


cholesky_solve_op = define(
    "cholesky_solve(Tensor self, Tensor input2, upper)",
    _by_columns(_solution_by_factor),
    self="sum_to(cholesky_solve(grad, input2, upper), self.shape)",
    input2="sum_to(factor_slope(-(cholesky_solve(grad, input2, upper) @ mh(result)), input2, upper), input2.shape)",
    batch="in front",
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
    core = _sum_of(None if gr is None else gr @ _mh(r), None if gq is None else -(_mh(q) @ gq))
    solve = words["linalg_solve_triangular"]
    if rows >= columns:
        part = _upper(core)
        both = part + _mh(part)
        both = both - both * _eye(both) * 0.5
        out = q @ both
        return solve(_mh(r), out if gq is None else out + gq, False, False, False)
    core = -core
    core = _lower(core - _mh(core))
    core = core - core * _eye(core) * 0.5  # where complex numbers are imaginary, and real ones zero
    out = solve(_mh(r[..., :rows]), q @ core, False, False, False)
    out = out @ _like(out, np.eye(rows, columns))  # nothing in the columns behind
    return out if gr is None else out + q @ gr


linalg_qr = define(
    "linalg_qr(Tensor A, mode)",
    _by_columns(_qr_of),
    kind="several",
    results=("Q", "R"),
    A="qr_slope(grad, Q, R, mode)",
    tangent="transposed",
    batch="in front",
)


def _eigen_of(a: Array, uplo: str) -> tuple[Array, Array]:
    if not np.isfinite(a).all():
        return np.full(a.shape[:-1], np.nan, np.real(a).dtype), np.full_like(a, np.nan)
    values, vectors = np.linalg.eigh(a, "U" if uplo == "U" else "L")
    return values, vectors


def _check_phases(what: str, ends: str, *turned: Any) -> None:
    """Raise RuntimeError if a loss depends on the phases of complex vectors, which are arbitrary."""
    there = [t if isinstance(t, np.ndarray) else t._array for t in turned if t is not None]
    phases = sum([np.imag(np.diagonal(t, axis1=-2, axis2=-1)) for t in there])
    if there[0].dtype.kind == "c" and not np.allclose(phases, 0, 1e-2, 1e-2):
        raise RuntimeError(
            f"{what} in the complex case are specified up to multiplication by e^{{i phi}}. The specified loss "
            f"function depends on this {ends} ill-defined."
        )


@_formula
def _eigh_slope(words: Words, grads: Any, values: Any, vectors: Any) -> Any:
    """Giles, "An extended collection of matrix derivative results": infinite where two eigenvalues are equal."""
    g, gv = grads
    if gv is None:
        return None if g is None else vectors @ (g[..., None] * _mh(vectors))
    turned = _mh(vectors) @ gv
    _check_phases("linalg_eigh_backward: The eigenvectors", "quantity, so it is", turned)
    apart = values[..., None, :] - values[..., :, None] + _eye(values)
    core = _sum_of((turned - _mh(turned)) * 0.5 / apart, None if g is None else _on_diagonal(g))
    return vectors @ (core @ _mh(vectors))


linalg_eigh = define(
    "linalg_eigh(Tensor A, UPLO)",
    _by_columns(_eigen_of),
    kind="several",
    results=("eigenvalues", "eigenvectors"),
    A="eigh_slope(grad, eigenvalues, eigenvectors)",
    tangent="transposed",
    batch="in front",
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
        return x - _mh(x)

    of_u, of_v = None if gu is None else _mh(u) @ gu, None if gvh is None else vh @ _mh(gvh)
    _check_phases("svd_backward: The singular vectors", "phase term, making it", of_u, of_v)
    core = _sum_of(
        None if of_u is None else skew(of_u) / apart * row,
        None if of_v is None else column * (skew(of_v) / apart),
        None if gs is None else _on_diagonal(gs),
        skew(of_u) * _eye(s) / (2 * row) if is_complex(u) and of_u is not None and of_v is not None else None,
    )
    if rows > columns and gu is not None:
        return (u @ core + (gu - u @ (_mh(u) @ gu)) / row) @ vh
    if rows < columns and gvh is not None:
        return u @ (core @ vh + (gvh - (gvh @ _mh(vh)) @ vh) / column)
    return u @ core @ vh


linalg_svd = define(
    "linalg_svd(Tensor A, full_matrices)",
    _by_columns(_svd_of),
    kind="several",
    results=("U", "S", "Vh"),
    A="svd_slope(grad, U, S, Vh)",
    tangent="transposed",
    batch="in front",
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
    others = words["prod_dim"](s[..., None, :] * (1 - eye) + eye, len(s.shape), False)
    turned = grad * words["linalg_det"](u) * words["linalg_det"](vh)
    return (_conj(u) * (turned[..., None] * others)[..., None, :]) @ _conj(vh)


linalg_det = define(
    "linalg_det(Tensor A)",
    _in_floats(lambda a: np.asarray(np.linalg.det(a))),
    A="det_slope(grad, A, result)",
    batch="in front",
)


def _logdet_of(a: Array) -> tuple[Array, Array]:
    sign, logabsdet = np.linalg.slogdet(a)
    return np.asarray(sign), np.asarray(logabsdet)


@_formula
def _slogdet_slope(words: Words, grads: Any, a: Any) -> Any:
    g = grads[1]
    return None if g is None else g[..., None, None] * _mt(words["linalg_inv_ex"](a))


linalg_slogdet = define(
    "linalg_slogdet(Tensor A)",
    _in_floats(_logdet_of),
    kind="several",
    results=("sign", "logabsdet"),
    A="slogdet_slope(grad, A)",
    batch="in front",
)


@_formula
def _complex_slogdet_slope(words: Words, grads: Any, a: Any, sign: Any) -> Any:
    """Return the same where the sign is a complex number, which turns with the determinant."""
    g, of_sign = grads[1], None if grads[0] is None else words["imag_part"](grads[0] * _conj(sign)) * 1j
    g = _sum_of(g, of_sign)
    return None if g is None else g[..., None, None] * _mh(words["linalg_inv_ex"](a))


own(
    "linalg_slogdet",
    "linalg_slogdet_of_complex(Tensor A)",
    _logdet_of,
    node="LinalgSlogdetBackward0",
    kind="several",
    results=("sign", "logabsdet"),
    A="complex_slogdet_slope(grad, A, sign)",
    tangent="transposed",
    batch="in front",
)


# Pseudoinverses.


def _pinv_of(a: Array, rtol: Any, atol: Any, hermitian: bool) -> Array:
    u, s, vh = spectrum(a, hermitian)
    largest = np.abs(s).max(-1, keepdims=True, initial=0)
    keep = np.abs(s) > np.maximum(np.asarray(atol)[..., None], np.asarray(rtol)[..., None] * largest)
    inverse = np.divide(1, s, where=keep, out=np.zeros_like(s))
    return (_mh(vh) * inverse[..., None, :]) @ _mh(u)


def spectrum(a: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    if not hermitian:
        return _svd_of(a, False)
    values, vectors = _eigen_of(a, "L")
    return vectors, values, _mh(vectors)


@_formula
def _pinv_slope(words: Words, grad: Any, p: Any, a: Any) -> Any:
    """Golub and Pereyra, "The differentiation of pseudo-inverses", where the rank does not change."""
    pt, gt = _mh(p), _mh(grad)
    if p.shape[-2] <= p.shape[-1]:
        k = gt @ p
        kpt = k @ pt
        return -_mh(p @ k) + kpt - (a @ p) @ kpt + (pt @ p) @ (gt - k @ a)
    k = p @ gt
    ptk = pt @ k
    return -_mh(k @ p) + (gt - a @ k) @ p @ pt + ptk - (ptk @ p) @ a


linalg_pinv = define(
    "linalg_pinv(Tensor self, rtol, atol, hermitian)",
    _in_floats(_pinv_of),
    self="pinv_slope(grad, result, self)",
    batch="in front",
)


# Least squares.


def _least_squares_of(a: Array, b: Array, rcond: float) -> tuple[Array, Array]:
    if is_vector(a, b):
        solution, residuals = _least_squares_of(a, b[..., None], rcond)
        return solution[..., 0], residuals[..., 0]
    solution = _pinv_of(a, rcond, 0.0, False) @ b
    return solution, (np.abs(a @ solution - b) ** 2).sum(-2)


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
        return _sum_of(None if g is None else _mh(p) @ g, None if apart is None else -apart)
    of_solution = None if g is None else words["pinv_slope"](g @ _mh(b), p, a)
    return _sum_of(of_solution, None if apart is None else apart @ _mh(x))


linalg_lstsq = define(
    "linalg_lstsq(Tensor self, Tensor b, rcond)",
    _in_floats(_least_squares_of),
    kind="several",
    results=("solution", "residuals"),
    self="lstsq_slope(grad, self, b, solution, 'a')",
    b="lstsq_slope(grad, self, b, solution, 'b')",
    batch="systems",
)


for _name in (
    "linalg_cholesky_ex cholesky_factor cholesky_inverse cholesky_solve linalg_qr linalg_eigh linalg_svd linalg_pinv "
    "linalg_lstsq"
).split():
    as_it_is(_name)


# Products.

vdot = define(
    "vdot(Tensor self, Tensor other)",
    dot.op.forward,
    meaning="Return the dot product of two vectors (n,); for real tensors, the same as `dot`.",
    self="grad * other",
    other="grad * self",
    out="exact",
)


def _cross_of(a: Array, b: Array, dim: int) -> Array:
    return np.cross(a, b, axis=dim)


linalg_cross = define(
    "linalg_cross(Tensor self, Tensor other, dim)",
    _in_floats(_cross_of),
    self="sum_to(linalg_cross(other, grad, dim), self.shape)",
    other="sum_to(linalg_cross(grad, self, dim), other.shape)",
    batch="dims",
)
