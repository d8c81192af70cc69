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
}


def told(text: str, torch: Any) -> Any:
    """What an expression gives, its graph, and the gradients of its elements' weighted sum."""
    known = names(torch) | {"F": torch.nn.functional, "nn": torch.nn}
    found = eval(text, known)
    out = []
    for t in found if isinstance(found, (tuple, list)) else [found]:
        if not isinstance(t, torch.Tensor) or not t.requires_grad:
            out.append(t)
            continue
        weights = torch.arange(1.0, t.numel() + 1, dtype=t.dtype).reshape(t.shape)
        (t * weights).sum().backward()
        out.append((t, chain(t.grad_fn), t.dtype))
    leaves = {k: v.grad for k, v in known.items() if isinstance(v, torch.Tensor) and v.requires_grad}
    return out, {k: g for k, g in leaves.items() if g is not None}


@pytest.mark.parametrize("text", [text for group in GROUPS.values() for text in entries(group)])
def test_an_expression(text: str) -> None:
    compare(lambda torch: told(text, torch))
