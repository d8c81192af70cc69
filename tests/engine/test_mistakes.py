"""Usual mistakes, and that the workbench answers each with PyTorch's own words."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from oracle import compare, entries, names, raised

MISTAKES = """
x + a[:, :2] | x + M | torch.add(x, 'a') | x + 'a' | x + None | x + [1, 2, 3] | 'a' + x | x * None
x / None | x ** None | None ** x | x - [1] | x < None | x < 'a' | a @ x[:2] | a @ a | x @ y[:2] | x @ 2
2 @ x | s @ x | x @ s | x @ n | a @ M.float() | torch.mm(a, a) | torch.mm(x, y) | torch.mm(a, x)
torch.mv(a, a) | torch.mv(a, x[:2]) | torch.mv(x, x) | torch.dot(a, a) | torch.dot(x, y[:2])
torch.dot(x, n) | torch.bmm(a, a) | torch.bmm(A, A) | torch.mm(a, M.float()) | torch.matmul(a, 2) | A @ A
A @ M[:2] | x.sum(1) | x.sum(dim=3) | a.sum((0, 0)) | x.mean(1) | n.mean() | m.mean() | e.max() | e.min()
x.max(1) | x.argmax(2) | x.sort(1) | x.argsort(2) | a.reshape(4) | a.reshape(-1, -1) | a.reshape(0, -1)
a.reshape(4, -1) | a.view(4) | a.T.view(6) | A.t() | x.transpose(0, 1) | a.permute(0) | a.permute(0, 0)
a.permute(0, 2) | x.expand(4) | x.expand(2, 4) | a.expand(3) | x.expand(-1, 3) | x.expand(-2)
x.unsqueeze(3) | x.squeeze(2) | x[3] | x[-4] | a[0, 3] | x[0, 0] | s[0] | x[1.5] | x[torch.tensor([0.5])]
x[torch.tensor([7])] | x[torch.tensor([True])] | a[[0, 1], [0, 1, 2]] | x[::-1] | torch.cat([])
torch.cat([x, 1]) | torch.cat([x, a]) | torch.cat([s, s]) | torch.cat([a, M]) | torch.cat([x, y], 1)
torch.cat(x) | torch.cat([a, q[:, :2]]) | torch.cat([a, q[:1]], 1) | torch.stack([]) | torch.stack([x, 1])
torch.stack([x, y[:2]]) | torch.stack([x, a]) | torch.stack([x, y], 2) | torch.where(x, x, y)
torch.where(m, x, y[:2]) | x.clamp() | torch.clamp(x) | torch.exp(2) | torch.exp(2.0) | torch.sin([1.0])
torch.relu(1) | torch.matmul(2, x) | torch.sum([x]) | torch.sum(3) | torch.abs(-1) | -m | 1 - m | x - m
m - m | ~x | n ** -1 | torch.tensor([[1, 2], [3]]) | torch.tensor('a') | torch.tensor(['a'])
torch.tensor(None) | torch.tensor([None]) | torch.tensor([1, 2], requires_grad=True)
torch.tensor([True], requires_grad=True) | torch.tensor([[1.0], 2.0]) | torch.tensor([1.0, [2.0]])
torch.tensor([x, x]) | torch.tensor({}) | torch.tensor({1, 2}) | torch.tensor(2**70)
torch.zeros(2, dtype=torch.int64, requires_grad=True) | torch.arange(5, 1) | torch.arange(0, 1, 0)
torch.arange(3, requires_grad=True) | torch.ones_like(n, requires_grad=True) | x.item() | e.item()
float(x) | int(x) | float(e) | bool(x) | bool(e) | x.numpy() | n.requires_grad_() | m.requires_grad_()
x.backward() | x.sum().backward('a') | x.sum().backward(2.0)
x.backward(torch.ones(2, dtype=torch.float64)) | n.sum().backward() | torch.tensor(1.0).backward()
x.detach().sum().backward() | torch.autograd.grad(x, x) | torch.autograd.grad(x.sum(), y)
torch.autograd.grad(x.sum(), n) | torch.autograd.grad(x.sum(), []) | torch.autograd.grad(x.sum(), x, 2.0)
torch.autograd.grad(x, x, []) | torch.autograd.grad([x, y], x, [x]) | torch.autograd.backward(x)
torch.autograd.backward([x.sum(), y.sum()], [None]) | x.grad.sum() | len(s) | list(s) | range(3)[n]
range(3)[n[0]] | range(3)[s] | x.foo | y in [x] | x and y | not x | x.shape[3]
setattr(x * 2, 'requires_grad', False) | setattr(n, 'requires_grad', True) | setattr(x, 'grad', 3.0)
setattr(x, 'grad', x) | setattr(x, 'grad', y[:2].detach()) | setattr(x, 'grad', y.detach().float())
n.retain_grad() | torch.set_grad_enabled() | torch.set_default_dtype(torch.int64) | x.add_(1) | x[0].add_(1)
x.detach().add_(M) | n.add_(1.5) | m.add_(1) | x.detach().copy_(M) | x.__setitem__(0, 1.0)
x.detach().__setitem__(3, 1.0) | x.fill_(1) | x.zero_() | (x * 2).add_(M)
torch.tensor([torch.tensor([1., 2.])]) | torch.tensor([[1], [2, 3]]) | torch.tensor([[1, 2], 3])
torch.tensor([['a']]) | torch.tensor([1, None]) | torch.tensor([1.0, None]) | torch.tensor([{}])
torch.tensor(object) | torch.tensor([2**70]) | torch.tensor([1.5], dtype='float64')
torch.tensor([1.5], dtype=np.float64) | torch.arange(1, 5, -1) | torch.full((2,), x[0])
torch.full((2,), 'a') | torch.autograd.grad(x.sum(), 'a') | torch.autograd.grad('a', x)
torch.autograd.backward('a') | setattr(x, 'grad', n) | setattr(x, 'data', 1) | torch.ones_like([1])
torch.zeros_like(3) | x.add_(x[0]) | x.detach().add_(x.detach()[0]) | x.detach().expand(2, 3).mul_(2)
x.detach().sum().copy_(x) | s.detach()[1:] | (x * 1).copy_((x * 1)[:2]) | torch.mean([1.0]) | torch.sum(2)
torch.reshape([1], (1,)) | torch.transpose(2, 0, 1) | a @ None | a @ 'a'
"""
FLAGS = """
(x * x).sum().backward(retain_graph='a') | (x * x).sum().backward(retain_graph=1.5) | s.backward(None, [])
(x * x).sum().backward(create_graph='a') | (x * x).sum().backward(create_graph=None) | s.backward(x, x)
torch.autograd.backward(s, None, {}) | torch.autograd.backward(s, create_graph=n) | torch.autograd.backward(x, x, x)
torch.autograd.grad(s, x, retain_graph='a') | torch.autograd.grad(s * s, s, create_graph=1)[0].requires_grad
torch.autograd.grad(s, x, allow_unused='a') | torch.autograd.grad(s, x, allow_unused=1) | s.backward(retain_graph=0)
torch.autograd.grad(s, x, materialize_grads='a') | torch.autograd.grad(s * s, s, retain_graph=n[0])
torch.autograd.grad(x * x, x, x, is_grads_batched='a') | torch.autograd.functional.vjp(torch.exp, x, x, create_graph=[])
torch.set_grad_enabled('a') | torch.set_grad_enabled(1) | torch.set_grad_enabled(np.True_)
torch.autograd.set_detect_anomaly('a') | torch.autograd.set_detect_anomaly(True, None)
torch.autograd.detect_anomaly(1).__enter__() | torch.autograd.set_multithreading_enabled('a')
x.requires_grad_(np.True_)
torch.autograd.graph.saved_tensors_hooks(3, len).__enter__()
torch.autograd.graph.saved_tensors_hooks(len, 3).__enter__()
(x * x).grad_fn(dummy=x) | copy.copy((x * x).grad_fn) | copy.deepcopy(x.exp().sum().grad_fn)
pickle.dumps((x * x).grad_fn) | pickle.dumps((x * x).grad_fn.next_functions[0][0])
"""


@pytest.mark.parametrize("text", entries(MISTAKES))
def test_a_mistake(text: str) -> None:
    compare(lambda torch: eval(text, names(torch)))


@pytest.mark.parametrize("text", entries(FLAGS))
def test_a_flag_or_a_hook_that_is_none(text: str) -> None:
    compare(lambda torch: eval(text, names(torch) | {"copy": copy, "pickle": pickle}))


@pytest.mark.parametrize("hooks", [(len, 3), (3, len), (None, None)])
def test_hooks_of_one_saved_tensor_must_be_callable(torch: Any, hooks: Any) -> Any:
    y = torch.ones(2, requires_grad=True).exp()  # which must live as long as what is asked of its node
    saved = y.grad_fn._raw_saved_result
    kind, said = raised(saved.register_hooks, *hooks)
    return kind, said.partition("Invoked with")[0], raised(saved.register_hooks, lambda x: x, lambda x: x)
