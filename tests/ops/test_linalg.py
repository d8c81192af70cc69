"""Linear algebra beside PyTorch's: values, graphs, gradients of two orders, and the sentences of refusal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from oracle import compare, entries

RANDOM = np.random.default_rng(3)
SQUARE = RANDOM.standard_normal((2, 3, 3)) + 3 * np.eye(3)  # so that rounding stays small
PLAIN = SQUARE[0]
POSITIVE = SQUARE @ SQUARE.swapaxes(-1, -2) + np.eye(3)
TALL, WIDE, RIGHT, VECTOR = (RANDOM.standard_normal(shape) for shape in ((4, 3), (3, 4), (3, 2), (3,)))
inf = math.inf

# An expression of L (linalg), m (torch), and the arrays as tensors. What is free in sign or rotation is taken to what
# is not before it is compared.
EXPRESSIONS = """
L.inv(A) | L.inv(S) | m.inverse(A) | A.inverse() | L.solve(A, B) | L.solve(A, v) | L.solve(S, B) | L.solve(S, S)
L.solve(A, B.mT, left=False) | L.solve(S, S[:, 0]) | L.solve(S, v) | L.cholesky(P) | L.cholesky(P, upper=True)
L.det(A) | L.det(S) | m.det(A) | A.det() | L.slogdet(A)[0] | L.slogdet(S)[1] | m.slogdet(A)[1] | A.slogdet()[1]
m.logdet(P) | P.logdet() | L.svdvals(T) | L.svdvals(W) | L.svdvals(S) | L.svd(T)[1] | L.svd(T, False)[0].abs()
L.svd(W, False)[2].abs() | L.svd(S)[0].square() | (L.svd(T, False)[0] * L.svd(T, False)[1]) @ L.svd(T, False)[2]
m.svd(T)[2].abs() | m.svd(T)[0].square() | T.svd().S | L.eigh(P)[0] | L.eigh(P)[1].square() | L.eigh(P, "U")[0]
L.eigvalsh(P) | L.eigvalsh(P[0], UPLO="U") | L.qr(T)[0].abs() | L.qr(T)[1].abs() | L.qr(W)[1].abs() | L.qr(W)[0].abs()
L.qr(S)[0].square() | L.qr(A, "complete")[1].abs() | L.qr(T)[0] @ L.qr(T)[1] | L.pinv(T) | L.pinv(W) | L.pinv(S)
L.pinv(P, hermitian=True) | m.pinverse(T) | T.pinverse() | L.lstsq(T, R4)[0] | L.lstsq(W, B)[0] | L.lstsq(A, B)[0]
L.lstsq(T, R4, driver="gelsd")[1] | L.lstsq(T, R4[:, 0]).solution | L.solve_triangular(A, B, upper=True)
L.solve_triangular(S, B, upper=False) | L.solve_triangular(A, B, upper=True, unitriangular=True)
L.solve_triangular(A, B.mT, upper=False, left=False) | L.solve_triangular(A, B.mT, upper=True, left=False)
m.cholesky_inverse(A) | m.cholesky_inverse(S, True) | m.cholesky_solve(B, A) | m.cholesky_solve(B, S, upper=True)
L.matrix_power(A, 0) | L.matrix_power(A, 1) | L.matrix_power(A, 2) | L.matrix_power(A, 3) | L.matrix_power(S, 7)
L.matrix_power(A, -1) | L.matrix_power(A, -2) | m.matrix_power(A, 4) | A.matrix_power(5) | L.norm(A) | L.norm(A, 2)
L.norm(A, "nuc") | L.norm(A, inf) | L.norm(A, -inf) | L.norm(A, 1) | L.norm(A, -1) | L.norm(A, -2) | L.norm(A, "fro")
L.norm(v, 3) | L.norm(v) | L.norm(S, dim=0) | L.norm(S, 2, dim=(0, 2)) | L.norm(S, "nuc", dim=(2, 0), keepdim=True)
L.norm(S, 1, dim=(1, 2), keepdim=True) | L.norm(S, inf, dim=(0, 1)) | L.matrix_norm(S) | L.matrix_norm(S, 2)
L.vector_norm(S, 1.5, dim=(0, 1)) | L.vector_norm(A, inf) | L.cond(A) | L.cond(A, -2) | m.vdot(v, v)
L.multi_dot([T, A, B]) | L.multi_dot([v, A, B]) | L.multi_dot([v, A, v]) | L.vecdot(v, A) | L.vecdot(v, v)
L.cross(v, v * v) | L.cross(A, S[0]) | m.cross(A, A.T, dim=0) | A.cross(A * A, 1) | L.diagonal(S) | L.matmul(A, B)
"""
EACH = entries(EXPRESSIONS)
ARRAYS = {"A": PLAIN, "S": SQUARE, "P": POSITIVE, "T": TALL, "W": WIDE, "B": RIGHT, "v": VECTOR, "R4": TALL[:, :2] ** 2}


def computed(m: Any, text: str) -> dict[str, Any]:
    """The value, the graph and the gradients of an expression with one of the two engines."""
    given = {name: m.tensor(a, requires_grad=True) for name, a in ARRAYS.items()}
    out = eval(text, {"L": m.linalg, "m": m, "inf": inf} | given)
    names = [name for name in given if name in text.replace("L.", "")]
    wanted = [given[name] for name in names]
    weights = m.tensor(np.cos(np.arange(out.numel(), dtype=float)).reshape(tuple(out.shape)))
    grads = m.autograd.grad((out * weights).sum(), wanted, create_graph=True, allow_unused=True)
    total = m.zeros((), dtype=m.float64)
    for g in grads:
        total = (
            total if g is None else total + (g * m.tensor(np.sin(np.arange(g.numel()) + 1.0)).reshape(g.shape)).sum()
        )
    seconds = m.autograd.grad(total, wanted, allow_unused=True) if total.requires_grad else ()
    return {
        "value": out.detach(),
        "node": out.grad_fn.name(),
        "gradients": [None if g is None else (g + 0).detach() for g in grads],
        "seconds": [None if g is None else (g + 0).detach() for g in seconds],
    }


@pytest.mark.parametrize("text", EACH)
def test_it_computes_what_pytorch_computes(text: str) -> None:
    compare(lambda torch: computed(torch, text))


REFUSED = """
L.inv(i) | L.inv(h) | L.inv(r) | L.inv(v) | L.inv(z) | L.inv(s) | L.inv(b) | L.inv(e) | L.inv([1]) | m.inverse(r)
L.solve(i, i) | L.solve(r, r) | L.solve(v, v) | L.solve(z, z) | L.solve(b, b) | L.solve(q, r) | L.solve(q, v[:2])
L.solve(q, q.double()) | L.solve(q, v, left=False) | L.solve(h, h) | L.solve(q, v[0]) | L.cholesky(i) | L.cholesky(r)
L.cholesky(t) | L.cholesky(m.stack([m.eye(2), t])) | L.cholesky(v) | L.cholesky(h) | m.cholesky(t) | m.cholesky(q)
L.det(i) | L.det(r) | L.det(v) | L.det(z) | L.det(e) | L.det(h) | L.slogdet(z) | L.slogdet(e) | L.slogdet(r)
m.logdet(-q) | m.logdet(z) | L.svd(i) | L.svd(v) | L.svd(h) | L.svd(e) | L.svdvals(i) | L.svd(m.full((2, 2), nan))
m.svd(v) | L.qr(i) | L.qr(v) | L.qr(q, mode="x") | L.qr(h) | L.qr(m.zeros(0, 3)) | L.qr(q, "r") | m.qr(q) | L.eigh(i)
L.eigh(r) | L.eigh(v) | L.eigh(q, UPLO="x") | L.eigh(m.full((2, 2), nan)) | L.eigvalsh(r) | L.eigh(h) | L.pinv(i)
L.pinv(v) | L.lstsq(i, i) | L.lstsq(v, v) | L.lstsq(r, m.ones(3, 1)) | L.lstsq(q, q, driver="x")
L.lstsq(q, q.double()) | L.lstsq(m.ones(2, 2), m.ones(2, 1)) | L.lstsq(q, m.ones(3, 1), driver="gelsd")
L.solve_triangular(q, v, upper=True) | L.solve_triangular(r, r, upper=True) | L.solve_triangular(i, i, upper=True)
L.solve_triangular(z, z, upper=True) | L.solve_triangular(q, m.ones(2, 2), upper=True) | m.cholesky_inverse(r)
m.cholesky_inverse(v) | m.cholesky_inverse(i) | m.cholesky_solve(r, r) | m.cholesky_solve(v, q)
m.cholesky_solve(m.ones(2, 2), q) | L.matrix_power(r, 2) | L.matrix_power(v, 2) | L.matrix_power(z, -1)
L.matrix_power(i, 3) | L.matrix_power(q, 0.5) | L.matrix_power(i, -1) | L.norm(q, "x") | L.norm(q, 0) | L.norm(v, "fro")
L.norm(v, "nuc") | L.norm(i) | L.norm(q, 3) | L.norm(m.ones(2, 2, 2), 2) | L.norm(m.ones(2, 2, 2)) | L.norm(q, 2, dim=0)
L.norm(m.tensor(2.0)) | L.matrix_norm(v) | L.matrix_norm(q, dim=(0, 0)) | L.matrix_norm(q, 5) | L.vector_norm(i)
L.vector_norm(q, "fro") | L.vector_norm(q, dim=(0, 1), keepdim=True) | L.norm(q, 2, dtype=m.float64)
L.matrix_norm(q, "nuc", dtype=m.float64) | L.norm(e, 2) | L.cond(q, "x") | L.cond(v) | L.cond(z) | L.cond(z, 1)
L.cond(r, 1) | L.cond(q, 1) | L.matrix_rank(z) | L.matrix_rank(r) | L.matrix_rank(v)
L.matrix_rank(q, hermitian=True) | L.matrix_rank(q, tol=2.0) | L.matrix_rank(q, atol=2.0) | L.matrix_rank(i)
L.multi_dot([q]) | L.multi_dot([v, q, v]) | L.multi_dot([v, v]) | L.multi_dot([q, r]) | L.multi_dot([]) | L.cross(v, r)
L.cross(v[:2], v[:2]) | m.cross(z, z) | L.cross(v, v, dim=1) | m.cross(q, q) | L.cross(i, i) | L.cross(i[:, :0], i)
L.vecdot(v, v[:2]) | L.vecdot(q, v) | L.inv(A=q) | L.inv(q, out=m.empty(3, 3)) | L.svd(q, False)
L.svd(z, out=(m.empty(0), m.empty(0))) | L.eigh(q, "U") | L.LinAlgError is type(caught(lambda: L.inv(z)))
issubclass(L.LinAlgError, RuntimeError) | m.autograd.grad(L.qr(R, "r")[1].sum(), R)
m.autograd.grad(L.qr(R, "complete")[1].sum(), R) | L.slogdet(q) | m.slogdet(q) | m.svd(q) | L.qr(q) | L.eigh(q)
"""


def caught(call: Any) -> Any:
    """What a call raises."""
    try:
        call()
    except Exception as error:
        return error


@pytest.mark.parametrize("text", entries(REFUSED))
def test_an_answer_or_a_refusal(text: str) -> None:
    def program(torch: Any) -> Any:
        given = {
            "i": torch.ones(2, 2, dtype=torch.int64),
            "h": torch.ones(2, 2, dtype=torch.float16),
            "r": torch.ones(2, 3),
            "R": torch.tensor(TALL, requires_grad=True),
            "v": torch.ones(3),
            "z": torch.zeros(2, 2),
            "s": torch.tensor([[1.0, 2.0], [2.0, 4.0]]),
            "b": torch.stack([torch.eye(2), torch.zeros(2, 2)]),
            "e": torch.zeros(0, 0),
            "t": torch.tensor([[1.0, 2.0], [2.0, 1.0]]),
            "q": torch.eye(3),
        }
        return eval(text, given | {"L": torch.linalg, "m": torch, "nan": math.nan, "caught": caught})

    compare(program)


def test_a_result_that_was_written_to_is_refused_by_its_own_backward() -> None:
    def program(torch: Any) -> Any:
        u, s, vh = torch.linalg.svd(torch.tensor(TALL, requires_grad=True), False)
        u.data.mul_(1)
        loss = (u.square() * s).sum()
        with torch.no_grad():
            vh.mul_(2)
        loss.backward()

    compare(program)


def test_hooks_see_what_a_decomposition_saves() -> None:
    def program(torch: Any) -> Any:
        seen: list[Any] = []
        a = torch.tensor(POSITIVE[0], requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(tuple(t.shape)) or t, lambda t: t):
            values, vectors = torch.linalg.eigh(a)
        (grad,) = torch.autograd.grad((values * values).sum() + vectors.square()[0, 0], a)
        return seen, grad, values.grad_fn._saved_eigenvalues.shape

    compare(program)
