"""Names that programs take for granted: devices, other shapes, NumPy's names of arguments, tensors put together."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import entries, names

CAST = """
x.to(torch.float32) | x.to("cpu") | x.to(torch.device("cpu")) | x.to(n).dtype | x.to(y) is x | x.to("cpu") is x
x.to(torch.float64) is x | x.to(torch.float64, copy=True) | x.to(dtype=torch.float32) | x.to(device="cpu")
x.to("cpu", torch.float32) | x.to("cpu", torch.float32, True) | x.to("cpu", copy=True) | x.to(y, copy=True) | x.to()
x.to(torch.float32, non_blocking=True) | x.to(torch.float32, True, True) | x.to("float") | x.to("cuda")
n.to(torch.float32, copy=True) | n.to(torch.int64, copy=True) | x.to(copy=True) | x.type() | m.type() | x.type_as(n)
x.type(torch.float32) | x.type("torch.FloatTensor") | x.type(torch.float64) is x | x.type_as(x.float()) | x.byte()
x.cpu() is x | x.cuda() | x.type("float")
"""
DEVICES = """
x.device | str(x.device) | x.device.type | x.device.index | x.device == torch.device("cpu") | torch.device("cpu", 0)
torch.device("cuda") | torch.device("cpu:0") | torch.device("nope") | torch.device(x.device) | {x.device: 1}[x.device]
torch.tensor([1.0], device="cpu") | torch.zeros(2, device="cpu") | torch.zeros_like(x, device="cpu")
torch.ones(2, device=x.device, dtype=torch.float64) | torch.arange(3, device="cpu") | torch.eye(2, device="cpu")
torch.full((2,), 1.0, device="cpu") | torch.linspace(0, 1, 3, device="cpu") | x.new_zeros(2, device="cpu")
torch.as_tensor([1.0], device="cpu") | torch.randint(0, 1, (2,), device="cpu") | torch.zeros(2, device="cuda")
x.new_full((2,), 3, device="cpu") | x.new_tensor([1, 2], device="cpu") | x.is_cpu | x.is_cuda | x.get_device()
str(torch.device("cpu:0")) | f"{torch.device('cpu', 0)}" | str(torch.device("cuda")) | str(torch.device("cuda", 1))
"""
SHAPES = """
A.flatten() | A.flatten(1) | A.flatten(0, 1) | A.flatten(start_dim=1) | A.flatten(1, 0) | A.flatten(5) | s.flatten()
x.flatten() is x | a.t().flatten() | a.expand(2, 2, 3).flatten() | torch.flatten(A, 1, 2) | e.flatten() | A.ravel()
A.transpose(0, 1).ravel() | s.ravel() | x.ravel() is x | torch.ravel(a) | A.swapaxes(0, 1) | A.swapdims(0, 1)
torch.swapaxes(A, 0, 1) | a.unflatten(1, (3, 1)) | x.unflatten(0, (1, -1)) | torch.unflatten(x, 0, (3, 1))
x.unflatten(0, (2, 2)) | x.unflatten(0, ()) | x.expand_as(a) | x.reshape_as(a[:1]) | a.view(size=(6,)) | s.T | x.T
torch.moveaxis(A, -1, 0) | A.moveaxis(0, 1) | A.movedim((0, 1), (1, 2))
a.reshape(shape=(6,)) | x.broadcast_to((2, 3)) | torch.broadcast_to(x, (2, 3)) | a.T | a.mT | A.mT
"""
AXES = """
a.sum(axis=0) | a.sum(axis=(0, 1), keepdims=True) | a.mean(axis=1, keepdims=True) | a.max(axis=1) | a.min(axis=1)
a.argmax(axis=1) | a.prod(axis=1) | a.cumsum(axis=0) | a.softmax(axis=1) | a.logsumexp(axis=0) | a.std(axis=0)
a.var(axis=0) | a.amax(axis=0) | a.amin(axis=0, keepdims=True) | a.squeeze(axis=0) | a.unsqueeze(axis=0)
a.sort(axis=0) | a.argsort(axis=0) | a.topk(1, axis=0) | a.gather(axis=0, index=j[None])
a.index_select(axis=0, index=j)
a.unbind(axis=0) | a.chunk(2, axis=0) | a.select(axis=0, index=0) | a.narrow(axis=0, start=0, length=1)
a.all(axis=0) | a.any(axis=0) | torch.cat([a, a], axis=1) | torch.stack([a, a], axis=1) | torch.sum(a, axis=1)
torch.mean(a, axis=1)
"""
TOGETHER = """
torch.cat([e, x]) | torch.cat([x, e]) | torch.cat([e, a]) | torch.cat([a, e]) | torch.cat([a, e, a], 1)
torch.cat([e, e]) | torch.cat([e.long(), a.float()]) | torch.cat([e, a.float()]) | torch.cat([torch.zeros(0, 2), a])
torch.cat([e, a], 1) | torch.cat([e, a], 2) | torch.cat([]) | torch.cat([s, s]) | torch.cat([x, s]) | torch.cat(x)
torch.cat([x, n]) | torch.cat([a, x]) | torch.cat([a, a.t()]) | torch.concat([x, y]) | torch.stack([e, e])
torch.concatenate([x, y], axis=0) | torch.stack([]) | torch.stack([x, a]) | torch.stack([x, n]) | torch.stack([x, y], 2)
torch.stack([x, y], dim=-2) | torch.stack([s, s]) | torch.stack(x) | torch.hstack([x, y]) | torch.vstack([x, y])
torch.hstack([s, s]) | torch.hstack([a, a]) | torch.vstack([s, s]) | torch.vstack([a, x])
"""
FACTS = """
x.nelement() | x.ndimension() | x.itemsize | x.nbytes | x.is_complex() | n.is_signed() | m.is_signed() | x.stride(0)
a.stride(-1) | x.is_same_size(y) | x.is_nonzero() | s.is_nonzero() | torch.is_nonzero(s) | x.retains_grad
"""


@pytest.mark.parametrize("text", entries(CAST + DEVICES + SHAPES + AXES + TOGETHER + FACTS))
def test_an_expression(torch: Any, text: str) -> Any:
    named = names(torch)
    out = eval(text, named)
    first = out[0] if isinstance(out, tuple) else out
    if isinstance(first, torch.Tensor) and first.requires_grad and first.grad_fn is not None:
        (first * first).sum().backward()
    return out, [leaf.grad for leaf in named.values() if isinstance(leaf, torch.Tensor)]
