"""Operations under vmap beside PyTorch's: what comes out for a batch, and each sample's gradients."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from oracle import compare, entries

# A small letter is one tensor, the same capital a batch of such tensors: the function is mapped over the capitals.
SHAPES = {
    "x": (3,),
    "y": (3,),
    "p": (3,),
    "z": (3,),
    "s": (),
    "v": (2,),
    "a": (2, 3),
    "b": (2, 3),
    "k": (3, 5),
    "w": (3, 3),
    "l": (2, 3, 3),
    "c": (2, 3, 6, 5),
    "q": (4, 3, 2, 2),
    "o": (4,),
    "d": (5, 3),
    "u": (1, 3, 1),
    "h": (3,),
}
INDICES = {"i": (3, (2,)), "j": (2, (2,)), "g": (2, (2, 3)), "n": (3, ()), "t": (3, (2,)), "e": (1, ())}
NUMBERS = 4

EXPRESSIONS = """
X @ y | A @ y | x @ K | A @ K | A @ k | a @ K | X @ Y | W @ W | X @ K | A @ X | a @ X | L @ W | W @ A.mT | L @ L
l @ W | torch.mm(A, k) | torch.mm(a, K) | torch.mm(A, K) | torch.mv(W, x) | torch.mv(w, X) | torch.mv(W, X)
torch.dot(X, y) | torch.dot(X, Y) | torch.bmm(L, L) | torch.bmm(L, l) | torch.bmm(l, L) | torch.addmm(s, A, k)
torch.addmm(x, A, W) | torch.addmm(X, A, w, beta=2, alpha=0.5) | torch.addmm(A, a, w) | torch.addmm(x, a, W)
torch.outer(X, y) | torch.outer(X, Y) | F.linear(X, w, y) | F.linear(A, W, X) | F.linear(a, W) | F.linear(L, a)
F.linear(X, w, Y) | torch.einsum('ij,jk->ik', A, k) | torch.einsum('ij,jk->ik', a, K) | torch.einsum('i,ij->j', X, W)
torch.einsum('...i,...i->...', A, B) | torch.einsum('ii->i', W) | torch.einsum('i,j->ij', X, y)
torch.einsum('bij,bjk,k->bi', L, l, X) | F.conv2d(C, q) | F.conv2d(c, Q) | F.conv2d(C, Q)
F.conv2d(C, q, O, stride=2, padding=1) | F.conv2d(C, q, o)
F.conv2d(C, Q, o, stride=(2, 1), padding=(0, 1), dilation=(1, 2)) | F.conv2d(c, q, O) | F.conv2d(C[0], Q, O)
F.conv2d(C, q, padding='same') | F.conv2d(C[:, :2], q[:, :1], groups=2) | F.conv2d(C[:, :2], Q[:, :1], groups=2)
torch.cat([X, y]) | torch.cat([X, Y]) | torch.cat([A, b], 1) | torch.cat([a, B], -1) | torch.stack([X, y])
torch.stack([S, s]) | torch.stack([X, Y], -1) | X.split(2) | X.chunk(2) | A.split([1, 2], 1) | A.unbind()
A.unbind(1) | X.narrow(0, 1, 2) | sum(A) | list(A)[1] | X[1] | X[1:] | X[::2] | X[:, None] | A[..., 0] | A[None, 1:]
X[[0, 2]] | X[I] | x[I] | X[i] | A[J] | a[J] | W[I, I] | W[i, I] | w[I, i] | L[J, :, I] | L[j, :, I] | l[J, :, I]
A[:, I] | a[:, I] | A[:, i] | W[I, :, None] | L[None, J, ..., 1:] | C[:, I, :, I] | C[:, I, :, i] | c[:, I, :, i]
W[I, 1] | W[1, I] | W[..., I] | x[N] | X[m] | A[:, m] | w[I[None]] | put(X, I, 5.0) | put(X, i, 5.0) | put(X, m, 5.0)
put(X, I, V) | put(X, i, V) | put(X, I, v) | put(W, (I, i), V) | put(W, (slice(None), I), s)
put(L, (J, slice(None), I), X) | put(A, 0, X) | put(A, (slice(None), 1), S) | put(A, slice(1, 2), x)
X.index_put((I,), V) | x.index_put((I,), V) | X.index_put((i,), V) | X.index_put((I,), v)
X.index_put((I,), V, accumulate=True) | x.index_put((I,), V, accumulate=True)
A.index_put((J, I), s, accumulate=True) | X.gather(0, I) | x.gather(0, I) | X.gather(0, i) | A.gather(0, G)
A.gather(1, G) | a.gather(1, G) | S.gather(0, E) | X.scatter(0, I, V) | x.scatter(0, I, V) | X.scatter(0, i, v)
X.scatter(0, I, 1.5) | x.scatter(0, I, 1.5) | X.scatter_add(0, I, V) | x.scatter_add(0, I, V) | A.scatter_add(1, G, B)
A.scatter_add(0, g, b) | X.index_select(0, I) | x.index_select(0, I) | X.index_select(0, i) | W.index_select(1, I)
a.index_select(1, I) | X.index_add(0, I, V) | x.index_add(0, I, V) | X.index_add(0, i, V)
A.index_add(1, I, w[:2, :2], alpha=2) | X.masked_fill(M, 2.0) | x.masked_fill(M, 2.0) | X.masked_fill(m, 2.0)
X.masked_fill(M, S) | x.masked_fill(m, S) | a.masked_fill(M, S) | X.masked_select(m) | A.masked_select(m)
torch.where(X > 0, X, y) | torch.where(M, x, S) | torch.where(M, X, 0.0) | torch.where(m, S, Y) | X.sum() | A.sum()
S.sum() | A.sum(0) | S.sum(0) | A.sum((0, 1)) | A.sum(-1, keepdim=True) | X.sum(-1) | G.sum() | M.sum() | X.mean()
A.mean() | A.mean(-1) | S.mean(0) | S.mean() | X.prod() | Z.prod() | A.prod() | S.prod() | A.prod(0) | Z.prod(0)
X.max() | A.max() | S.max() | A.max(0) | X.max(0) | S.max(0) | A.min(-1, keepdim=True) | A.amax() | S.amax()
A.amax(0) | A.amin((0, 1)) | X.argmax() | A.argmax() | S.argmax() | A.argmax(0) | A.argmin(-1, keepdim=True)
X.argsort() | A.argsort(0, descending=True) | S.argsort() | X.sort() | A.sort(0, descending=True) | X.topk(2)
A.topk(1, 0, largest=False) | S.topk(1) | M.any() | M.all() | M.any(0) | (A > 0).all(1, keepdim=True) | (S > 0).any()
X.softmax(0) | S.softmax(0) | A.log_softmax(-1) | S.log_softmax(0) | F.softmax(A, dim=0) | A.logsumexp(1)
A.logsumexp((0, 1), keepdim=True) | X.norm() | A.norm() | S.norm() | A.norm(dim=1) | A.norm(p=1, dim=0)
A.norm(float('inf')) | X.var() | A.var(0) | X.std() | A.std(1, keepdim=True) | A.var((0, 1), correction=0)
X.cumsum(0) | S.cumsum(0) | A.cumsum(-1) | X.cumprod(0) | Z.cumprod(0) | A.cumprod(1) | X.flip(0) | A.flip((0, 1))
A.flip(()) | X.roll(1) | A.roll(1) | A.roll((1, -1), (0, 1)) | X.repeat(2) | X.repeat(2, 1) | S.repeat(2)
X.expand(2, 3) | S.expand(2, 3) | A.reshape(-1) | A.view(3, 2) | A.mT | A.t() | X.t() | A.T | A.T.reshape(-1)
A.transpose(0, -1) | L.permute(2, 0, 1) | X.unsqueeze(0) | S.unsqueeze(-1) | U.squeeze() | U.squeeze(0)
U.squeeze((0, 2)) | U.squeeze(-1) | S.squeeze() | S.squeeze(0) | W.diagonal() | L.diagonal(1, 0, 2) | W.tril()
A.triu(1) | A.sum_to_size(3) | A.sum_to_size(1, 3) | F.layer_norm(X, (3,)) | F.layer_norm(A, (3,), x, y)
F.layer_norm(A, (3,), X, Y) | F.layer_norm(a, (3,), X, y) | F.layer_norm(A, (3,), x, Y) | F.layer_norm(A, (2, 3))
F.layer_norm(A, (3,), None, Y) | F.batch_norm(D, None, None, training=True)
F.batch_norm(D, None, None, X, y, training=True) | F.batch_norm(D, None, None, x, y, training=True)
F.batch_norm(D, x, p) | F.batch_norm(D, x, p, training=True) | F.nll_loss(A, T) | F.nll_loss(a, T) | F.nll_loss(A, t)
F.nll_loss(X, N) | F.nll_loss(A, T, p) | F.nll_loss(A, T, p, reduction='sum', ignore_index=1)
F.nll_loss(A, t, ignore_index=1) | F.nll_loss(L[None, :, :2], G[None]) | F.cross_entropy(A, T) | F.cross_entropy(X, N)
F.cross_entropy(A, t) | F.cross_entropy(A, B.softmax(1)) | F.cross_entropy(A, T, label_smoothing=0.1)
F.cross_entropy(A, T, p) | F.cross_entropy(L, G) | F.mse_loss(A, B) | F.mse_loss(a, B) | F.mse_loss(S, s)
F.mse_loss(A, b, reduction='none') | F.mse_loss(A, b, reduction='sum') | X.clamp(-0.5, 0.5) | X.clamp(y, P)
X.clamp(min=S) | X + y | S + x | S + h | H + S | H * s | X + N | N + h | N * 2.5 | H * 2.5 | N / (N + 1) | X / p
x / P | X ** 2 | P ** X | P ** x | 2 ** X | 1 / X | 1 - X | -X | ~M | M & m | M.bitwise_or(m)
torch.logical_and(M, m) | torch.logical_or(X, S) | X == y | X > S | X.isnan() | torch.isclose(X, y)
X.to(torch.int64) | X.float() | X.long() | X.bool() | X.half() | N.double() | M.int() | X.clone() | A.T.contiguous()
X.detach() * X | torch.zeros_like(X) + X | torch.full_like(X, 2.0) * X | X.new_zeros(3) + X | F.relu(X) | F.gelu(X)
F.elu(X) | F.silu(X) | F.softplus(X) | F.leaky_relu(X) | F.logsigmoid(X) | X.tanh() | X.sigmoid() | X.floor()
X.round() | X.round(decimals=1) | X.sign() | X.abs() | X.erf() | X.square() | P.sqrt() | P.log() | torch.maximum(X, y)
torch.minimum(S, x) | X.relu() | X.clone().fill_(2) | X.clone().fill_(S) | X.clone().zero_() | X.clone().copy_(Y)
A.clone().copy_(X) | X.clone().add_(Y) | X.clone().mul_(S) | X.clone().clamp_(0) | X.clone().masked_fill_(M, S)
A.clone().index_add_(1, I, w[:2, :2]) | F.dropout(X, 0.0) | torch.tensor([1.0, 2.0, 3.0]) * X | len(A) * A
X if X.ndim == 1 else A
"""

# PyTorch refuses the gradients of these: to look up a number in a gradient's tensor, to differentiate by a weight.
VALUES = """
X[N] | W[N] | W[I, N] | W[:, N] | put(X, N, 5.0) | put(X, N, S) | F.batch_norm(D, X, P, y) | F.batch_norm(d, X, P)
F.nll_loss(A, T, P) | F.nll_loss(X, N, P) | F.nll_loss(A, T, P, reduction='none')
"""

REFUSED = """
X[M] | x[M] | put(X, M, 0.0) | X.index_put((M,), S) | X.masked_select(M) | x.masked_select(M) | X.nonzero()
torch.where(M) | X.sum().item() | float(S) | int(N) | X.tolist() | X.numpy() | X if S > 0 else -X | torch.equal(X, y)
torch.allclose(X, y) | 1.5 in X | [1, 2, 3][N]
"""


def numbers(module: Any) -> dict[str, Any]:
    """The tensors by name, the same under both modules."""
    random = np.random.default_rng(0)
    found = {name: random.standard_normal((NUMBERS, *shape)) for name, shape in SHAPES.items()}
    found["p"] = np.abs(found["p"]) + 0.5
    found["z"] *= np.array([1.0, 0.0, 1.0])
    found["h"] = found["h"].astype(np.float32)
    found |= {name: random.integers(0, bound, (NUMBERS, *shape)) for name, (bound, shape) in INDICES.items()}
    for row in found["i"]:  # an element that is written twice has no one gradient
        row[1] = (row[0] + 1) % 3
    found["m"] = random.random((NUMBERS, 3)) < 0.5
    found["m"][0, 1] = True
    capitals = {name.upper(): module.from_numpy(array) for name, array in found.items()}
    return capitals | {name: module.from_numpy(np.array(array[0])) for name, array in found.items()}


def put(t: Any, index: Any, value: Any) -> Any:
    """A copy with something written into it."""
    t = t.clone()
    t[index] = value
    return t


def weight(outputs: Any) -> Any:
    """One number made of all floating-point outputs."""
    if isinstance(outputs, (tuple, list)):
        return sum(weight(out) for out in outputs)
    return (outputs * outputs).sum() if outputs.is_floating_point() else 0


def program(module: Any, text: str, gradients: bool) -> Any:
    """The expression for a batch, or the gradients of it for each sample."""
    warnings.filterwarnings("ignore", "There is a performance drop")  # PyTorch runs some operations in a loop
    func, tensors = module.func, numbers(module)
    known = tensors | {"torch": module, "F": module.nn.functional, "put": put}
    batch = list(dict.fromkeys(name for name in re.findall(r"(?<![.\w])[A-Z]\b", text) if name in tensors))

    def function(*samples: Any) -> Any:
        return eval(text, known | dict(zip(batch, samples, strict=True)))

    given = [tensors[name] for name in batch]
    if not gradients:
        return func.vmap(function)(*given)
    by = tuple(i for i, t in enumerate(given) if t.is_floating_point())
    return func.vmap(func.grad(lambda *samples: weight(function(*samples)), argnums=by))(*given)


@pytest.mark.parametrize("text", entries(EXPRESSIONS + VALUES + REFUSED))
def test_a_batch_is_what_pytorch_makes_of_it(text: str) -> None:
    compare(program, text, False)


@pytest.mark.parametrize("text", entries(EXPRESSIONS))
def test_gradients_for_each_sample_are_what_pytorch_makes_of_them(text: str) -> None:
    compare(program, text, True)
