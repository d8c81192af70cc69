"""Operations that were added later, beside PyTorch's: values, nodes, gradients, twins in place, and refusals."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import chain, compare, entries, names

GROUPS = {
    "bounds": """
x.clamp_min(0.5) | x.clamp_min(y) | x.clamp_max(0) | torch.clamp_max(a, x) | n.clamp_min(0.5) | n.clamp_max(x)
torch.clamp_min(n, 1) | m.clamp_min(1) | m.clamp_min(True) | e.clamp_max(1) | s.clamp_min(x) | s.clamp_max(1)
(x * 1).clamp_min_(y) | (x * 1).clamp_max_(0) | (x * 1).clamp_min_(a) | (n * 1).clamp_max_(x)
torch.clamp_min_(x * 1, 0) | x.float().clamp_max(0.3) | tie.clamp_min(3.0) | torch.clamp_max(x, max=y)
""",
    "fused": """
torch.addcmul(x, y, p) | torch.addcmul(x, y, p, value=2) | x.addcmul(a, p, value=-0.5) | torch.addcmul(s, x, c)
torch.addcmul(n, n, n, value=2.5) | torch.addcmul(m, m, m) | torch.addcmul(x, 2.0, y) | torch.addcmul(n, x, x)
torch.addcmul(x, y, p, value='x') | torch.addcmul(x, y, tie) | torch.addcmul(e, e, e)
(x * 1).addcmul_(y, p, value=2) | (n * 1).addcmul_(x, y) | (x * 1).addcmul_(a, a) | torch.addcdiv(x, y, p)
torch.addcdiv(x, y, q, value=2) | torch.addcdiv(n, n, n) | torch.addcdiv(x, n, n) | torch.addcdiv(m, m, m)
torch.addcdiv(s, x, p, value=3) | (x * 1).addcdiv_(y, p) | (x * 1).addcdiv_(n, n) | torch.addcdiv(x, y, p, value='x')
torch.addcdiv(x.float(), y, 2) | torch.lerp(x, y, 0.3) | torch.lerp(x, y, p) | x.lerp(y, 1) | torch.lerp(x, a, 0.75)
x.lerp(y, s) | torch.lerp(n, n, 0.5) | torch.lerp(n, n, n) | torch.lerp(x, y.float(), 0.5) | x.lerp(y, p.float())
(x * 1).lerp_(y, 0.3) | (x * 1).lerp_(a, 0.3) | torch.lerp(e, e, 0.5) | x.lerp(y, s.float().detach())
x.float().lerp(y.float(), 0.25)
""",
    "products": """
torch.addmv(x[:2], a, y) | torch.addmv(s, a, y, beta=2, alpha=3) | torch.addmv(x, x, x) | torch.addmv(tie, a, x)
torch.addmv(x[:2], a, tie) | torch.addmv(x[:2], a.float(), y) | torch.addmv(n[:2], n.expand(2, 3), n, beta=1.5)
torch.addmv(x[:2], a, 2.0) | torch.addmv(x[:2], a, y, beta='x') | torch.addmv(x[:2] * float('nan'), a, y, beta=0)
(x[:2] * 1).addmv_(a, y) | (s * 1).addmv_(a, y) | torch.addr(a, x[:2], y) | torch.addr(x, x[:2], y, beta=0.5, alpha=2)
torch.addr(a, a, y) | torch.addr(a, x, y) | torch.addr(n, n, n, alpha=1.5) | torch.addr(n, n, n, beta=2)
torch.addr(m, m, m) | (a * 1).addr_(x[:2], y) | torch.baddbmm(s, A, A.mT)
torch.baddbmm(y[:2], A, A.mT, beta=0.5, alpha=2) | torch.baddbmm(A, A, A.mT) | torch.baddbmm(A, A, A)
torch.baddbmm(A.float(), A, A.mT) | torch.baddbmm(x, a, 2.0) | (A @ A.mT).baddbmm_(A, A.mT)
(a * 1).baddbmm_(A, A.mT) | torch.addbmm(s, A, A.mT) | torch.addbmm(c, A, A.mT, beta=2, alpha=3)
torch.addbmm(a, A, A.mT) | torch.addbmm(s, A, A) | torch.addbmm(s, A[:1], A.mT) | torch.addbmm(s.float(), A, A.mT)
(a[:, :2] * 1).addbmm_(A, A.mT) | (a * 1).addmm_(a[:, :2], a) | (x * 1).addmm_(a.T, a)
torch.addmm(a * float('nan'), a[:, :2], a, beta=0) | torch.addmm(x, a, M[:, :3], beta=0)
""",
    "diagonals": """
torch.diag(x) | torch.diag(a) | a.diag(1) | x.diag(-1) | torch.diag(A) | torch.diag(s) | torch.diag(a, 5)
torch.diag(n) | torch.diagflat(a) | torch.diagflat(s, 1) | x.diagflat(-1) | torch.diagflat(x, 'x')
torch.diag_embed(x) | torch.diag(e) | torch.diag_embed(a, 1, 0, 2) | a.diag_embed(-1) | torch.diag_embed(s)
torch.diag_embed(x, 0, 0, 0) | a.T.diag_embed() | torch.diag_embed(x, 0, 0, 5) | torch.diag_embed(a, dim1=1, dim2=0)
a.trace() | A.trace() | M.trace() | n.expand(3, 3).trace() | m.expand(3, 3).trace() | torch.diag(x, 'x')
""",
    "in place": """
torch.selu(x) | torch.selu_(x * 1) | torch.celu(x) | torch.celu_(x * 1) | torch.threshold(x, 0, 1)
torch.threshold_(x * 1, 0, 1) | torch.rrelu(x) | torch.rrelu_(x * 1) | torch.hardshrink(x) | torch.prelu(x, s)
F.relu_(x * 1) | F.leaky_relu_(x * 1, 0.25) | F.elu_(x * 1, 0.5) | F.selu_(x * 1) | F.celu_(x * 1, 2.0)
F.hardtanh_(x * 1, -0.75, 0.75) | F.threshold_(x * 1, 0, 2) | F.rrelu_(x * 1) | F.relu_(x) | torch.selu_(x)
""",
    "elements": """
torch.exp2(a) | torch.log2(q) | torch.log10(p) | torch.asinh(a) | torch.acosh(p + 1) | torch.atanh(x / 4) | n.exp2()
torch.frac(a) | torch.frac(n) | torch.frac(-x) | torch.deg2rad(a) | torch.rad2deg(n) | torch.atan2(x, y) | a.atan2(x)
torch.atan2(n, n) | torch.hypot(x, y) | torch.hypot(a, x) | torch.hypot(n, n) | torch.logaddexp(x, a) | s.logaddexp(x)
torch.logaddexp(n, n) | torch.nan_to_num(x / z) | torch.nan_to_num(x / z * 0 + x, 1.0, 2.0, 3.0) | torch.nan_to_num(n)
(x * 1).atan2_(y) | (x * 1).hypot_(y) | (x * 1).frac_() | (x / z).nan_to_num_(posinf=7) | e.exp2() | s.log2()
""",
    "pixels": """
F.pixel_shuffle(A.reshape(1, 4, 3, 1), 2) | F.pixel_shuffle(A.reshape(4, 3, 1), 2) | F.pixel_shuffle(A, 2)
F.pixel_unshuffle(M[:, :2].reshape(1, 1, 2, 3), 2) | F.pixel_unshuffle(M.reshape(1, 2, 6), 2) | F.pixel_shuffle(a, 2)
F.pixel_shuffle(A, 0) | F.pixel_unshuffle(A, 0) | nn.PixelShuffle(2)(A.reshape(4, 3, 1)) | nn.PixelUnshuffle(1)(A)
repr(nn.PixelShuffle(2)) | repr(nn.PixelUnshuffle(3)) | repr(nn.CosineSimilarity()) | repr(nn.PairwiseDistance())
F.cosine_similarity(a, q) | F.cosine_similarity(x, y, 0) | F.cosine_similarity(x * 0, y, 0)
F.cosine_similarity(A, A + 1, 2) | nn.CosineSimilarity(0)(a, q)
""",
    "arrangements": """
torch.tile(x, (2,)) | a.tile(2) | a.tile((2, 1, 1)) | torch.flipud(a) | torch.fliplr(a) | torch.fliplr(x)
torch.flipud(s) | torch.msort(a) | torch.take_along_dim(a, torch.tensor([[1], [0]]), 1) | a.take_along_dim(i)
torch.take_along_dim(a, i, 0) | torch.cartesian_prod(x, y) | torch.cartesian_prod(x) | torch.cartesian_prod(x, n, y)
torch.inner(x, y) | torch.inner(a, A) | torch.inner(s, a) | torch.inner(x, tie) | torch.kron(a, c) | torch.kron(x, a)
torch.tensordot(a, M, 1) | torch.tensordot(a, A, ([1], [2])) | torch.tensordot(A, a, dims=([1, 2], [0, 1]))
torch.tensordot(x, y, 0) | torch.tensordot(x, y, 1) | torch.diff(x) | torch.diff(a, 2) | torch.diff(m) | torch.diff(s)
torch.diff(n, prepend=torch.tensor([0])) | torch.diff(a, 1, 0, append=a[:1]) | torch.diff(x, -1) | torch.diff(x, 9)
""",
    "counts": """
torch.argwhere(z) | torch.count_nonzero(z) | torch.count_nonzero(a > 0, 1) | torch.bincount(j) | torch.bincount(n)
torch.bincount(j, minlength=4) | torch.bincount(j, p.detach()) | torch.bincount(x) | torch.bincount(j, minlength=-1)
torch.searchsorted(torch.tensor([1, 3, 5]), n) | torch.searchsorted(torch.tensor([1, 3, 5]), 3, right=True)
torch.searchsorted(torch.tensor([1, 3, 5]), 3, side='right') | torch.searchsorted(torch.tensor([1, 3]), 3, side='x')
torch.searchsorted(torch.tensor([[1, 3], [2, 4]]), torch.tensor([[3], [1]])) | torch.bucketize(n, torch.tensor([0, 2]))
torch.bucketize(n, torch.tensor([0, 2]), right=True, out_int32=True) | torch.bucketize(a, a) | torch.isin(n, j)
torch.isin(n, 2) | torch.isin(n, j, invert=True) | torch.unique(i) | torch.unique(i, return_counts=True) | i.unique()
torch.unique(i, return_inverse=True, return_counts=True) | torch.unique(x) | torch.unique(x, dim=0)
torch.unique(torch.tensor([[1, 2], [1, 2], [0, 3]]), dim=0, return_inverse=True) | torch.unique(tie.detach())
""",
}
NODES_APART = """
torch.var_mean(a) | torch.var_mean(a, 1) | torch.std_mean(a, 0, keepdim=True) | torch.std_mean(a, correction=0)
torch.var_mean(a, False) | torch.trapezoid(x) | torch.trapezoid(a, dx=2, dim=0) | torch.trapezoid(x, y)
torch.trapezoid(a, x) | torch.cumulative_trapezoid(x) | torch.cumulative_trapezoid(a, x)
F.pairwise_distance(a, q) | F.pairwise_distance(x, y, 1.0, keepdim=True) | nn.PairwiseDistance(3.0)(a, q)
torch.cdist(a, M[:, :3]) | torch.cdist(A, A + 1, 1.0) | torch.cdist(x, a) | torch.cdist(a, M) | torch.diff(x, 0)
"""


@pytest.mark.parametrize("text", entries(NODES_APART))
def test_an_expression_whose_nodes_are_others(text: str) -> None:
    """PyTorch has one node for what is here made of several operations, or computes with numbers in another way."""

    def program(torch: Any) -> Any:
        out, grads = told(text, torch)
        numbers = [t[0].detach().tolist() if isinstance(t, tuple) else t for t in out]
        return numbers, {name: grad.tolist() for name, grad in grads.items()}

    compare(program)


def told(text: str, torch: Any) -> Any:
    """What an expression gives, its graph, and the gradients of its elements' weighted sum."""
    known = names(torch) | {"F": torch.nn.functional, "nn": torch.nn}
    found = eval(text, known)
    several = found if isinstance(found, (tuple, list)) else [found]
    tensors = [t for t in several if isinstance(t, torch.Tensor) and t.requires_grad]
    weights = [torch.arange(1.0, t.numel() + 1, dtype=t.dtype).reshape(t.shape) for t in tensors]
    out = [(t, chain(t.grad_fn), t.dtype) if any(t is one for one in tensors) else t for t in several]
    if tensors:
        torch.autograd.backward([(t * w).sum() for t, w in zip(tensors, weights, strict=True)])
    leaves = {k: v.grad for k, v in known.items() if isinstance(v, torch.Tensor) and v.requires_grad}
    return out, {k: g for k, g in leaves.items() if g is not None}


@pytest.mark.parametrize("text", [text for group in GROUPS.values() for text in entries(group)])
def test_an_expression(text: str) -> None:
    compare(lambda torch: told(text, torch))
