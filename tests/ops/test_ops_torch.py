"""Every public operation beside PyTorch's: value, dtype, graph, what is saved, gradient, gradient of the gradient."""

from __future__ import annotations

import re
from typing import Any

import pytest
from oracle import NUMBERS, chain, compare, entries, names, raised, run

import workbench

NO_ERROR = "nothing was raised"


def flat(value: Any) -> list[Any]:
    """The tensors of a result."""
    return list(value) if isinstance(value, (tuple, list)) else [value]


def told(torch: Any, text: str) -> Any:
    """All that an expression shows."""
    named = names(torch)
    leaves = [named[k] for k in NUMBERS]
    outs = flat(eval(text, named))
    facts = [outs]
    for out in outs:
        if not isinstance(out, torch.Tensor) or not out.requires_grad:
            continue
        facts.append(chain(out.grad_fn))
        v = torch.arange(1, 1 + out.numel(), dtype=out.dtype).reshape(out.shape) / 4
        facts.append(torch.autograd.grad(out, leaves, v, retain_graph=True, allow_unused=True))
        v = v.clone().requires_grad_()
        grads = torch.autograd.grad(out, leaves, v, create_graph=True, allow_unused=True)
        used = [g for g in grads if g is not None and g.requires_grad]
        facts.append([None if g is None else (g.detach(), g.requires_grad) for g in grads])
        total = sum((g * g).sum() for g in used)
        if used:
            facts.append(torch.autograd.grad(total, [*leaves, v], allow_unused=True))
    return facts


EXPRESSIONS = """
x + y | x + 2 | 2 + x | x + 2.5 | a + x | a + c | s + x | x + s | x + n | n + x | torch.add(x, y)
x.add(y, alpha=3) | torch.add(x, 2, alpha=0.5) | x - y | x - 2 | 2 - x | 2.5 - x | a - x | c - a | x - n
n - x | torch.sub(x, y, alpha=2) | x.sub(1) | x * y | x * 2 | 2 * x | x * 0.5 | a * x | c * a | s * a
x * n | n * x | torch.mul(x, 3) | x.mul(y) | x / y | x / 2 | 2 / x | 1.5 / x | a / p | c / q | x / n | n / p
torch.div(x, y) | x.div(4) | -x | x.neg() | torch.neg(a) | +x | abs(x) | x.abs() | torch.abs(z)
x.reciprocal() | torch.reciprocal(p) | x.exp() | torch.exp(a) | p.log() | torch.log(q) | x.sin()
torch.sin(s) | x.cos() | torch.cos(a) | x.tanh() | torch.tanh(a) | p.sqrt() | torch.sqrt(q) | z.sqrt()
x.sigmoid() | torch.sigmoid(a * 30) | x.relu() | torch.relu(z) | x.sign() | torch.sign(z)
torch.maximum(x, y) | torch.maximum(a, x) | x.maximum(x.detach()) | torch.maximum(x, x) | torch.max(x, y)
torch.min(x, y) | torch.minimum(x, y) | x ** 2 | x ** 3 | p ** 0.5 | p ** -1 | x ** 1 | x ** 0 | z ** 2
p ** x | q ** x | 2 ** x | 2.5 ** a | torch.pow(x, 2) | torch.pow(p, y) | torch.pow(2, x) | x.pow(3)
z.relu() ** p | x ** n | z ** 0.5 | z ** 1 | torch.where(m, x, y) | torch.where(m, x, 0.0)
torch.where(m, 2.5, y) | torch.where(m, a, x) | x.where(m, y) | torch.where(m, s, y)
torch.where(x > 0, x, y) | x.clamp(-1, 1) | x.clamp(min=0) | x.clamp(max=0.5) | torch.clamp(z, -2, 1)
torch.clamp(a, min=0.25) | x.clamp(y, p) | x.clamp(y) | x.clamp(min=y) | x.clamp(max=p)
torch.clamp(x, min=s) | torch.clamp(x, max=y, min=p) | x @ y | a @ M | a @ x | x @ M | A @ M | A @ x
torch.matmul(a, M) | torch.mm(a, M) | torch.mv(a, x) | torch.dot(x, y) | torch.bmm(A, A.transpose(1, 2))
A @ A.transpose(-1, -2) | M @ M.t() | M.mm(M.T) | a.mv(x) | x.dot(y) | A.bmm(A.transpose(1, 2))
a.matmul(M) | A.unsqueeze(1) @ M | x.sum() | a.sum() | s.sum() | a.sum(0) | a.sum(1, keepdim=True)
a.sum(dim=(0, 1)) | a.sum(-1) | A.sum((0, 2)) | a.sum(()) | torch.sum(a, 1) | torch.sum(a) | n.sum()
e.sum() | a.mean() | a.mean(0) | a.mean(-1, keepdim=True) | torch.mean(a) | torch.mean(A, (0, 1)) | a.max()
tie.max() | tie.min() | torch.max(a) | a.min() | a.max(1) | a.min(0) | tie.max(0) | tie.min(0)
torch.max(a, 0) | torch.max(a, dim=1, keepdim=True) | torch.min(a, -1) | a.max(1).values | a.max(1)[0]
a.argmax() | a.argmax(1) | torch.argmax(a, dim=0, keepdim=True) | tie.argmax() | a.reshape(6)
a.reshape(3, 2) | a.reshape((3, -1)) | a.reshape(-1) | a.T.reshape(6) | torch.reshape(a, (6,))
a.reshape(2, 3) | a.view(6) | a.view(3, 2) | a.view(-1) | a.view_as(q) | a.T | a.t() | torch.t(a) | x.t()
x.T | a.transpose(0, 1) | torch.transpose(A, 0, 2) | A.transpose(-1, 1) | A.permute(2, 0, 1)
torch.permute(A, (1, 2, 0)) | A.permute(-1, 0, 1) | x.expand(2, 3) | c.expand(2, 3) | c.expand(-1, 4)
s.expand(2) | x.unsqueeze(0) | x.unsqueeze(-1) | torch.unsqueeze(a, 1) | c.squeeze(1) | c.squeeze(0)
c.squeeze() | torch.squeeze(c, -1) | a.squeeze() | x[0] | x[-1] | a[1] | a[0, 2] | a[:, 1] | a[1, :]
a[..., 0] | x[1:] | x[:-1] | a[:, 1:] | a[0, ::2] | a[:, None] | a[None] | x[:, None] | a[...] | x[:] | x[i]
a[j] | a[:, i] | a[j, i] | x[m] | a[:, m] | a[a > 0] | x[[0, 2, 0]] | a[[0, 1], [1, 2]] | a[0, i] | a[0, m]
x[n > 0] | A[0, :, 1] | A[:, 0, 1:] | A[1, ..., 0] | x[x > 0] * 2 | x[1:1] | a[j, 1:] | A[:, j] | A[j, :, i]
A[:, j, i] | A[j[:, None], i] | x[torch.tensor(1)] | x[None, i] | a[i[1:], None] | torch.cat([x, y])
torch.cat((x, y, x)) | torch.cat([a, q], 1) | torch.cat([a, q], dim=-1) | torch.cat([x, n])
torch.cat([x, y.detach()]) | torch.stack([x, y]) | torch.stack((x, y), 1) | torch.stack([a, q], dim=-1)
torch.stack([s, s]) | torch.stack([x, n]) | x.clone() | torch.clone(x) | x.detach() | torch.detach(x)
x.detach().clone() | x.contiguous() | a.T.contiguous() | x.to(torch.float32) | x.float() | x.double()
x.half() | x.long() | x.int() | x.bool() | n.double() | n.float() * x.float() | x.to(torch.float64)
x.sort() | a.sort(0) | torch.sort(a, 1) | torch.sort(a, descending=True) | x.sort().values | x.argsort()
torch.argsort(a, 1) | a.sort(-1, True) | x.eq(y) | x == y | x != 0.5 | x < y | x <= 2 | x > 0 | x >= n
torch.ones_like(x) | torch.zeros_like(a) | a.sum_to_size(3) | a.sum_to_size(2, 1) | (x > 0) & m | m | ~m
m ^ m | m & (x > 0) | (m | (x < 0)) | n & 1 | (n | 4) | n ^ 1 | ~n | (x * y).sum() / 3 + s
(x.exp() * y).sum().sqrt() | ((a @ M).tanh() ** 2).mean() | torch.sum(x * x) | x * x | x * x * x
(x + x) * x | x.sin().cos().exp() | x.detach() * x | s * s | s + 1 | s ** 2 | -s | s.exp() | s.item()
x.tolist() | a.shape | a.size() | a.size(1) | a.dim() | a.ndim | a.numel() | len(a) | int(s) | bool(s)
x.is_leaf | x.requires_grad | x.dtype | x.is_floating_point() | n.dtype | a.stride() | a.T.stride()
a[None].stride() | a[:, None].stride() | a[..., None].stride() | a.T[None].stride() | a.T[:, None, :, None].stride()
s[None].stride() | s[None, None].stride() | x.expand(1, 3).stride() | x[::2][None].stride() | a[:, :1].stride()
a.is_contiguous() | a.T.is_contiguous() | a.element_size() | (x > 0).any() | (x > 0).all() | m.all()
m.any() | torch.is_tensor(x) | torch.is_tensor(1) | x.mean().reshape(1, 1) | x.reshape(3, 1) * y | e * 2
e + e | e.exp() | x[1:1].sum() | a[0] * a[1] | (a[0] + s).sum() | x.log() | z.log() | torch.sqrt(x)
x ** 0.5 | z / z | 1 / z | torch.where(z == 0, z, 1 / z) | (z / z).sum() | torch.abs(z).sum()
"""


@pytest.mark.parametrize("text", entries(EXPRESSIONS))
def test_an_expression(text: str) -> None:
    compare(lambda torch: told(torch, text))


def kept(torch: Any, text: str) -> Any:
    """The tensors an expression's node saves, by PyTorch's names, as floats: PyTorch keeps a 2 as int64."""
    node = flat(eval(text, names(torch)))[0].grad_fn
    if hasattr(node, "saved_items"):
        found = {f"_saved_{name.partition('[')[0]}" for name, _, _ in node.saved_items()}
    else:
        found = {name for name in dir(node) if name.startswith("_saved_")}
    saved = {name: getattr(node, name) for name in sorted(found)}
    lists = {name: t if isinstance(t, tuple) else (t,) for name, t in saved.items()}
    return {
        name: [None if t is None else t.detach().double() for t in several]
        for name, several in lists.items()
        if any(isinstance(t, torch.Tensor) for t in several)
    }


@pytest.mark.parametrize("text", [e for e in entries(EXPRESSIONS) if not e.startswith(("x.clamp(", "torch.clamp(x"))])
def test_what_is_saved(text: str) -> None:
    recorded = run(lambda torch: flat(eval(text, names(torch)))[0].grad_fn, workbench)
    if recorded.value is not None:
        compare(kept, text)


def written(torch: Any, text: str) -> Any:
    """Which writes between an expression and its gradient are errors, be the written one a Tensor or a Parameter."""
    told: list[list[str]] = [[], []]
    for kind, answers in enumerate(told):
        given = names(torch)
        tensors = {k: t for k, t in given.items() if isinstance(t, torch.Tensor) and re.search(rf"\b{k}\b", text)}
        if kind:
            tensors = {k: torch.nn.Parameter(t.detach(), t.requires_grad) for k, t in tensors.items()}
        leaves = [t for t in tensors.values() if t.requires_grad]
        if not leaves:
            return None
        for name, t in tensors.items():
            for create_graph in (False, True):
                out = flat(eval(text, given | tensors))[0]
                if not isinstance(out, torch.Tensor) or not out.requires_grad:
                    return None
                with torch.no_grad():
                    t.copy_(t.clone())
                seed = torch.ones_like(out)
                error = raised(torch.autograd.grad, out, leaves, seed, None, create_graph, allow_unused=True)
                answers.append(f"{name}: {error[0] if 'modified by an inplace' in str(error) else error == NO_ERROR}")
    assert told[0] == told[1]
    return told[0]


@pytest.mark.parametrize("text", entries(EXPRESSIONS))
def test_a_write_before_the_gradient_is_noticed(text: str) -> None:
    compare(written, text)


# Where PyTorch's graph has other nodes than the workbench's, values and gradients must still be the same.
OTHER_NODES = """
torch.sum(x, dtype=torch.float32) | x @ A.permute(0, 2, 1) | a @ A.transpose(1, 2) | 0 ** p
(x ** 2).sum() * x | list(x)[1] * list(a)[0] | [row.sum() for row in a][1]
torch.stack([row * row for row in a]) | torch.max(x, dim=0)[0]
"""


def derived(torch: Any, text: str) -> Any:
    """An expression's value and gradients."""
    named = names(torch)
    out = eval(text, named)
    v = torch.arange(1, 1 + out.numel(), dtype=out.dtype).reshape(out.shape)
    grads = torch.autograd.grad(out, [named[k] for k in NUMBERS], v, allow_unused=True)
    return out.detach(), grads


@pytest.mark.parametrize("text", entries(OTHER_NODES))
def test_value_and_gradient(text: str) -> None:
    compare(derived, text)
