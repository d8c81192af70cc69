"""`out=`: what is written, in which shape and dtype, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import entries

import workbench
from workbench.ops import REGISTRY

# `o` and `d` are to be written, `n` holds integers, `g` requires grad.
CALLS = """
torch.exp(x, out=o) | torch.exp(x, out=o) is o | torch.exp(x, out=torch.empty(5)) | torch.exp(x, out=torch.empty(0))
torch.exp(g, out=o) | torch.exp(x, out=g) | torch.exp(x, out=n) | torch.sqrt(x, out=d) | torch.exp(x, out=3)
torch.exp(x, out=None) | torch.exp(x, out=torch.zeros(4)[::2]) | torch.neg(o, out=o) | torch.mul(x, 2, out=o)
torch.mul(x, g, out=o) | torch.add(x, 1, out=o) | torch.add(x, 1, alpha=2, out=o) | torch.sub(x, g, out=o)
torch.div(x, 2, out=o) | torch.div(x, 2, rounding_mode='floor', out=o) | torch.div(n, 2, out=n) | torch.eq(x, x, out=n)
torch.maximum(x, x, out=o) | torch.sum(m, 0, out=o) | torch.sum(m, 0, out=d) | torch.mean(m, 0, out=o)
torch.sum(m, (0, 1), True, out=o) | torch.sum(m * g, 0, out=o) | torch.mm(m, m, out=M) | torch.mm(m, m, out=M.double())
torch.matmul(m, m, out=M) | torch.matmul(m, g, out=o) | torch.mv(m, x, out=o) | torch.dot(x, x, out=torch.zeros(()))
torch.bmm(m[None], m[None], out=M[None]) | torch.cat([x[:1], x[:1]], out=o) | torch.cat([x, x], out=d)
torch.cat([x, g], out=o) | torch.stack([x, x], out=M) | torch.stack([x, x], 1, out=o) | torch.arange(2, out=o)
torch.arange(2, out=n) | torch.zeros(2, out=o) | torch.ones((2, 2), out=M) | torch.eye(2, out=M)
torch.full((2,), 3, out=o) | torch.linspace(0, 1, 2, out=o) | torch.zeros(2, out=None) | torch.relu(x, out=o)
torch.pow(x, x, out=o) | torch.pow(x, 2, out=o) | torch.pow(2, x, out=o) | torch.pow(x, 2, out=n)
torch.pow(x, g, out=o) | torch.pow(x, x, out=None) | torch.max(x, out=s) | torch.max(x, out=o) | torch.min(x, out=s)
torch.max(m, 0, out=(o, n)) | torch.max(m, 0, True, out=(o, n)) | torch.min(m, 1, out=[o, n]) | torch.max(g, out=s)
torch.max(m, 0, out=(o, o)) | torch.max(m, 0, out=(d, n)) | torch.max(m, 0, out=(o,)) | torch.max(m, 0, out=(o, 3))
torch.max(m, 0, out=(g, n)) | torch.min(m * g, 0, out=(o, n)) | torch.max(m, 0, out=None) | torch.max(n, out=s)
torch.max(x, x, out=o) | torch.max(x, g, out=o) | torch.min(x, x * 2, out=d) | torch.max(x, x, out=n)
torch.max(m, 0, out=(torch.zeros(3), n)) | torch.prod(m, 0, out=o) | torch.prod(m, 0, True, out=o)
torch.prod(m, 0, out=d) | torch.prod(m, 0, out=n) | torch.prod(m * g, 0, out=o) | torch.prod(x, 0, out=n)
torch.prod(m, 0, dtype=torch.float64, out=d) | torch.prod(m, 0, dtype=torch.float64, out=o) | torch.cumsum(x, 0, out=o)
torch.cumsum(x, 0, out=d) | torch.cumsum(x, 0, out=n) | torch.cumsum(n, 0, out=o) | torch.cumsum(o, 0, out=o)
torch.cumsum(x, 0, dtype=torch.float64, out=o) | torch.cumsum(g, 0, out=o) | torch.cumsum(x, 5, out=o)
torch.cumsum(x, dim=0, out=torch.zeros(3)) | torch.cumsum(x, 0, out=3) | torch.cumprod(x, 0, out=d)
torch.cumprod(g, 0, out=o) | torch.sum(m, 0, out=n) | torch.sum(m, 0, dtype=torch.float64, out=o)
torch.where(c, x, x, out=o) | torch.where(c, x, 2.0, out=o) | torch.where(c, x, g, out=o) | torch.where(c, n, x, out=o)
torch.where(c, x, x, out=d) | torch.where(c, n, n, out=o) | torch.where(c, x, x, out=torch.zeros(3))
torch.clamp(x, 2, 3, out=o) | torch.clamp(x, max=2, out=o) | torch.clamp(g, 2, out=o) | torch.clamp(x, 2, 3, out=n)
torch.clamp(x, x, x, out=d) | torch.clamp(x, x, g, out=o) | torch.clamp(o, 2, out=o) | torch.clamp(n, 2.5, out=o)
torch.sort(x, out=(o, n)) | torch.sort(x, 0, True, out=(o, n)) | torch.sort(g, out=(o, n)) | torch.sort(x, out=(d, n))
torch.topk(x, 1, out=(o, n)) | torch.topk(x, 2, 0, False, True, out=(o, n)) | torch.topk(x, 2, out=o)
torch.topk(x, 2, out=(o, o)) | torch.median(m, 0, out=(o, n)) | torch.median(m, 1, True, out=(o, n))
torch.median(g, 0, out=(s, n)) | torch.clamp(x[:1], x, x, out=o)
torch.neg(x, out=d) | torch.neg(x, out=n) | torch.floor(x, out=d)
torch.dot(x, x, out=s.double()) | torch.matmul(x, x, out=s.long())
(lambda z: torch.neg(z[1:], out=z[:3]))(torch.zeros(4)) | torch.clip(x, 2, out=o) | torch.clip(g, 2, out=o)
torch.clamp(x, 2, out=d)
"""


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("text", entries(CALLS))
def test_a_call(torch: Any, text: str, recording: bool) -> Any:
    o, n = torch.tensor([7.0, 8.0]), torch.tensor([7, 8])
    known = {"torch": torch, "o": o, "n": n, "d": o.double(), "g": torch.tensor([1.0, 4.0], requires_grad=True)}
    known |= {"x": torch.tensor([1.0, 4.0]), "m": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "M": torch.zeros(2, 2)}
    known |= {"s": torch.zeros(()), "c": torch.tensor([True, False])}
    with torch.set_grad_enabled(recording):
        out = eval(text, known)
    return out, o, n, o._version, n._version


@pytest.mark.parametrize("name", sorted(op.name for op in REGISTRY.values() if op.out))
def test_a_methods_call_is_not_slowed_by_what_only_the_function_takes(name: str) -> None:
    function, method = getattr(workbench, name), getattr(workbench.Tensor, name)
    x = (
        workbench.ones(1, 2, 2)
        if name == "bmm"
        else workbench.ones(2)
        if name in ("dot", "vdot")
        else workbench.ones(2, 2)
    )
    for args in ((x,), (x, workbench.ones(2) if name == "mv" else x)):
        try:
            function(*args), method(*args)
        except TypeError:
            continue
        with pytest.raises(TypeError):
            method(*args, out=x)
    assert method.__code__.co_kwonlyargcount == 0 and "out" not in method.__code__.co_varnames
    assert function.__code__.co_kwonlyargcount == 1
