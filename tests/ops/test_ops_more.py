"""Further operations beside PyTorch's: values, graph, what is saved, gradients, and the sentences of refusal."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from op_samples import arguments, each_sample, has_a_tie, leaves, slopes, weighted, weights
from oracle import NUMBERS, compare, entries, names, run
from test_ops_torch import flat, kept, told

import workbench as w
from workbench.ops.core.registry import SEVERAL, TENSORS

EXPRESSIONS = """
p.rsqrt() | torch.rsqrt(q) | x.square() | torch.square(a) | p.log1p() | torch.log1p(q) | x.expm1() | x.tan()
(x / 4).asin() | (x / 4).acos() | x.atan() | x.sinh() | x.cosh() | x.erf() | torch.erf(a) | s.erf() | n.erf()
n.rsqrt() | m.erf() | n.expm1() | n.tan() | m.square() | n.square() | x.floor() | x.ceil() | x.round() | x.trunc()
n.floor() | n.ceil() | n.round() | n.trunc() | (x * 1.234).round(decimals=2) | (x * 10).round(decimals=-1)
torch.round(a, decimals=1) | (z * 0.5).round() | e.erf() | a.T.erf() | a.T.rsqrt() | x.cumsum(0) | a.cumsum(1)
a.cumsum(-2) | s.cumsum(0) | n.cumsum(0) | m.cumsum(0) | e.cumsum(0) | a.T.cumsum(1) | torch.cumsum(A, dim=1)
x.cumprod(0) | a.cumprod(1) | z.cumprod(0) | s.cumprod(0) | n.cumprod(0) | (a * z).cumprod(1) | (a * z).cumprod(0)
torch.cumprod(A, dim=2) | x.prod() | a.prod() | z.prod() | (z * x * z).prod() | s.prod() | n.prod() | e.prod()
m.prod() | a.prod(0) | a.prod(1, keepdim=True) | (a * z).prod(1) | (a * z).prod(0) | (a * z).prod() | torch.prod(a, 1)
torch.prod(a) | a.T.prod(1) | s.prod(0) | a.var() | a.std() | a.var(1) | a.std(0) | a.var(1, unbiased=False)
a.std(0, False) | a.var(False) | a.var(1, False, True) | a.var(dim=1, correction=0) | a.var((0, 1), correction=1.5)
a.std(correction=0, keepdim=True) | torch.var(a, 1, keepdim=True) | torch.std(A, dim=(0, 2)) | a.std(0, correction=2)
s.var() | s.std() | x[:1].var() | x[:1].std(unbiased=False) | e.var() | (x * 0).std() | (a * 0).std(1) | a.T.var(0)
a.var(0, correction=2) | a.var(correction=6) | x.norm() | a.norm() | torch.norm(a) | a.norm(1) | a.norm(2, 1)
a.norm(dim=1) | a.norm(float('inf')) | a.norm(-float('inf'), 1) | a.norm(3, 0) | a.norm(1.5, 1, True) | a.norm(0.5)
a.norm(0) | a.norm(p=1, dim=1, keepdim=True) | a.norm('fro', (0, 1)) | torch.norm(x, p=2)
torch.norm(a, 'fro', dim=0) | (x * 0).norm() | (x * 0).norm(3) | (x * 0).norm(1) | z.norm(3) | z.norm(0.5)
z.norm(1.5) | s.norm() | e.norm() | tie.norm(float('inf')) | (z * 0).norm(float('inf')) | a.T.norm(3, 1) | a.amax()
a.amax(1) | a.amin((0, 1)) | a.amin(dim=1, keepdim=True) | tie.amax() | tie.amin(0) | torch.amax(a, 0)
torch.amin(a, dim=(0, 1)) | s.amax() | n.amax() | m.amin() | a.topk(2) | a.topk(2, 0) | a.topk(1, 1, False)
torch.topk(a, 2, dim=1, largest=True, sorted=True) | s.topk(1) | n.topk(2) | tie.topk(1).values | a.T.topk(2)
x.flip(0) | a.flip(0, 1) | a.flip((1,)) | torch.flip(a, [0]) | s.flip(0) | a.flip(()) | a.flip(-1) | n.flip(0)
a.roll(1) | a.roll((1, 2), (0, 1)) | a.roll(-1, dims=-1) | torch.roll(a, shifts=1, dims=0) | s.roll(1)
A.roll((1, 1), (0, 0)) | x.repeat(2) | x.repeat((2, 2)) | a.repeat(2, 1) | a.repeat(0, 2) | s.repeat(3)
a.repeat(2, 1, 2) | n.repeat(2) | s.repeat(()) | a.tril() | a.triu(1) | a.triu(diagonal=-1) | torch.tril(A)
torch.triu(A, 1) | (a > 0).tril() | a.narrow(1, 1, 2) | a.narrow(1, -2, 2) | torch.narrow(a, 0, 1, 1) | a.select(1, 0)
torch.select(a, 0, 1) | a.narrow(1, 1, 0) | a.diagonal() | a.diagonal(1) | a.diagonal(-1) | a.diagonal(-5)
A.diagonal(0, 1, 2) | torch.diagonal(A, 1, 2, 0) | a.T.diagonal() | n.reshape(3, 1).diagonal() | a.split(1)
a.split(2, 1) | a.split([1, 2], 1) | a.split((1, 0, 2), -1) | torch.split(a, 1, dim=1) | torch.split(a, [1, 1])
x.split(5) | e.split(2) | n.split(2) | a.chunk(2) | a.chunk(2, 1) | a.chunk(5, -1) | torch.chunk(x, 2) | e.chunk(2)
a.unbind() | a.unbind(1) | torch.unbind(A, dim=-1) | e.unbind() | n.unbind() | a.split(1)[1] | a.split(2, 1)[1] * 2
a.split([1, 2], 1)[0] | a.chunk(2)[0] | a.unbind()[1] | a.unbind(1)[2] + 1 | list(x)[1] | list(a)[0] * x
[r.sum() for r in a][1] | torch.stack([r * r for r in a]) | a.split(1)[0] + a.split(1)[1] | x.split(2)[0].sum() * x
torch.cat(a.T.split(2)) | torch.stack(a.unbind(1)) | a.chunk(3, 1)[1].unbind()[0] | x.clone().split(1)[2]
next(iter(a)) | sum(list(x)) | a.split(1)[0]._base | a.split(1)[0]._is_view() | a.unbind()[1].output_nr
a.split(2, 1)[1].shape | [o.output_nr for o in a.split(1)] | a.split(1)[1].grad_fn is a.split(1)[0].grad_fn
a.split(2, 1)[1].grad_fn._saved_split_size | a.split([1, 2], 1)[1].grad_fn._saved_split_sizes
a.diagonal(1).grad_fn._saved_offset | a.split(1)[0].grad_fn._saved_dim | a.unbind(1)[0].grad_fn._saved_dim
a.split(1)[1].grad_fn._saved_self_sym_sizes | a.mT | x.gather(0, i)
a.gather(1, torch.tensor([[0, 1, 0], [1, 0, 2]])) | a.gather(0, torch.tensor([[0, 1]]))
torch.gather(a, 1, torch.tensor([[0], [1]])) | a.gather(0, torch.tensor([[0, 1], [1, 1], [0, 0]]))
s.gather(0, torch.tensor(0)) | n.gather(0, i) | a.T.gather(0, torch.tensor([[2, 1]])) | x.gather(0, i.int())
a.gather(1, torch.zeros(2, 0, dtype=torch.int64)) | s.gather(0, i * 0) | a.scatter(1, torch.tensor([[0, 1]]), q)
a.scatter(1, torch.tensor([[0, 1]]), 5) | torch.scatter(a, 1, torch.tensor([[0], [1]]), src=q)
torch.scatter(a, 1, torch.tensor([[0], [1]]), value=3) | s.scatter(0, torch.tensor(0), 2.)
a.scatter(1, torch.tensor([[0, 1, 2], [2, 1, 0]]), q) | x.scatter(0, torch.tensor([1]), s.reshape(1))
a.scatter(-1, torch.tensor([[0], [2]]), 1.5) | n.scatter(0, torch.tensor([0]), 2.5)
a.scatter_add(1, torch.tensor([[0, 0, 1], [1, 2, 2]]), q)
torch.scatter_add(a, 1, torch.tensor([[0, 0, 1], [1, 2, 2]]), src=q) | s.scatter_add(0, torch.tensor(0), s * 2)
x.scatter_add(0, i, y) | a.scatter_add(0, torch.tensor([[0, 0, 1]]), x.unsqueeze(0)) | x.masked_fill(m, 1)
a.masked_fill(m, 2.5) | x.masked_fill(m, s) | a.masked_fill(m, s) | c.masked_fill(m, s) | c.masked_fill(m, 1)
n.masked_fill(m, 2) | n.masked_fill(m, 1.5) | torch.masked_fill(x, x > 0, 0) | s.masked_fill(m, 2)
n.masked_fill(m, s.detach()) | m.masked_fill(m, False) | x.masked_fill(m, torch.tensor(3.0))
x.float().masked_fill(m, s) | x.masked_select(m) | a.masked_select(m) | x.masked_select(a > 0)
torch.masked_select(a, a > 0) | c.masked_select(m) | n.masked_select(m) | s.masked_select(m) | s.masked_select(s > 0)
a.T.masked_select(a.T > 0)
(lambda b: (b.mul_(x), torch.autograd.grad(b.sum(), x)))(torch.ones(3, dtype=torch.float64) * 2)
(lambda b: (b.add_(y, alpha=2), torch.autograd.grad(b.sum(), y)))(x.clone())
(lambda b: (b.clamp_(min=0), b.grad_fn, b._version))(x.clone()) | x.clone().square_() | p.clone().log_()
x.clone().sin_() | x.clone().sigmoid_() | x.clone().abs_() | x.clone().floor_() | x.clone().round_(decimals=1)
x.clone().tan_() | p.clone().rsqrt_() | x.clone().expm1_() | x.clone().erf_() | x.clone().cosh_() | x.clone().neg_()
p.clone().reciprocal_() | x.clone().sign_() | x.clone().cumsum_(0) | x.clone().cumprod_(0) | a.clone().tril_()
a.clone().triu_(1) | x.clone().masked_fill_(m, 2.) | x.clone().masked_fill_(m, s)
x.clone().scatter_(0, torch.tensor([0]), x[:1]) | x.clone().scatter_(0, torch.tensor([0]), 3)
x.clone().scatter_add_(0, i, y) | torch.exp_(x.clone()) | torch.relu_(x.clone()) | torch.clamp_(x.clone(), 0, 1)
torch.fill_(x.clone(), 2) | torch.zero_(x.clone()) | x.clone().clamp_(-1, 1)
x.clone().index_put_((torch.tensor([0]),), s) | x.clone().index_put_((i,), y, accumulate=True)
torch.index_put(x, (torch.tensor([0, 1]),), y[:2]) | x.index_put((i,), y, True)
a.index_put((torch.tensor([0, 1]), torch.tensor([2, 1])), x[:2]) | x.clone().pow_(2) | x.clone().pow_(y.detach())
p.clone().pow_(y) | torch.index_put_(x.clone(), (torch.tensor([0]),), s) | x.clone().sub_(y, alpha=3)
x.clone().div_(2) | x.clone().mul_(x)
(lambda b: (b[0].masked_fill_(m, 5), b, torch.autograd.grad(b.sum(), a)))(a.clone())
(lambda b: (b.diagonal().sigmoid_(), torch.autograd.grad((b * a).sum(), a)))(a.clone())
"""


@pytest.mark.parametrize("text", entries(EXPRESSIONS))
def test_an_expression(text: str) -> None:
    compare(told, text)


# PyTorch saves the source of index_add as well, for its shape.
SAVED = [e for e in entries(EXPRESSIONS) if "grad(" not in e and "index_add" not in e]


@pytest.mark.parametrize("text", SAVED)
def test_what_is_saved(text: str) -> None:
    recorded = run(lambda torch: flat(eval(text, names(torch)))[0].grad_fn, w)
    if recorded.value is not None:
        compare(kept, text)


ANSWERS = """
a.narrow(1,1,3) | a.narrow(1,5,1) | a.narrow(2,0,1) | a.narrow(1,0,-1) | s.narrow(0,0,1) | a.select(1,3)
a.select(2,0) | s.select(0,0) | a.diagonal(0,1,1) | x.diagonal() | a.split(0) | a.split(-1) | a.split((1,1),1)
a.split((1,-1),1) | s.split(1) | a.split(1, 2) | a.chunk(0) | s.chunk(1) | a.unbind(2) | s.unbind() | list(s)
x.clone().split(1)[0].add_(1) | x.clone().unbind()[0].mul_(2) | x.clone().split([1,2])[0].mul_(2)
x.clone().chunk(2)[0].add_(1) | list(x.clone())[1].add_(1) | x.detach().split(1)[0].add_(1) | x.split(1)[0].add_(1)
(lambda b: (lambda v: (b.mul_(2), v[0].grad_fn))(b.split(1)))(x.clone())
(lambda b: (lambda v: (b.mul_(2), v[0].grad_fn))(b.diagonal()))(a.clone())
(lambda b: (b.diagonal().mul_(2), b.grad_fn, torch.autograd.grad(b.sum(), a)))(a.clone())
(lambda b: (b.narrow(1,0,2).mul_(2), b.select(0,1).exp_(), b.grad_fn, torch.autograd.grad(b.sum(), a)))(a.clone())
(lambda b: (b.detach().split(1)[0].add_(1), b, b._version))(a.clone()) | a.gather(1, n)
a.gather(0, torch.tensor([[0,1,1],[2,0,0]])) | a.gather(1, torch.tensor([[0,3]]))
a.gather(1, torch.tensor([[0,1.]])) | a.gather(1, torch.tensor([[0,-1]])) | a.gather(2, torch.tensor([[0,1]]))
a.gather(1, torch.zeros(3,1,dtype=torch.int64)) | a.scatter(1, torch.tensor([[0,3]]), 5)
a.scatter(1, torch.tensor([[0,1,2]]), torch.ones(1,2).double()) | a.scatter(1, torch.tensor([[0,1]]), torch.ones(1,2))
a.scatter(1, n, 5) | a.scatter(1, torch.tensor([[0.]]), 5) | a.scatter(1, torch.tensor([[0]]), torch.ones(1).double())
a.scatter(0, torch.tensor([[0,1,1,0]]), 5) | a.scatter_add(1, torch.tensor([[0,0,1,1]]), torch.ones(2,2).double())
a.scatter_add(1, n, x) | a.scatter_add(1, torch.tensor([[0,9]]), torch.ones(2,2).double())
a.scatter(1, torch.tensor([[0],[1]]), s) | a.scatter_add(1, torch.tensor([[0],[0],[0]]), torch.ones(3,3).double())
torch.autograd.grad(a.scatter_add(1, torch.tensor([[0]]), q).sum(), q)
torch.autograd.grad(a.scatter(1, torch.tensor([[0]]), q).sum(), q) | x.masked_fill(n, 2)
x.masked_fill(m, torch.ones(2)) | a.masked_fill(torch.tensor([True,False]),1) | x.masked_select(n)
a.masked_select(torch.tensor([True,False])) | x.masked_fill(torch.tensor([True,False]),1)
a.scatter(1,torch.empty(0,2,dtype=torch.int64),2.) | n.sqrt_() | n.clone().masked_fill_(m, 2.5)
x[:1].detach().clone().masked_fill_(m,3) | x.detach().clone().masked_fill_(a>0,3) | n.clone().floor_() | x.sigmoid_()
x[0:1].sigmoid_() | n.rsqrt_() | n.cumsum_(0) | n.clone().mul_(2.5)
(lambda b: (b.exp(), b.mul_(2), torch.autograd.grad(b.sum(), x)))(x.clone())
(lambda b: (lambda r: (b.mul_(2), torch.autograd.grad(r.sum(), x)))(b.sin()))(x.clone())
(lambda b: (lambda r: (b.mul_(2), torch.autograd.grad(r.sum(), x)))(b.tan()))(x.clone())
(lambda b: (lambda r: (r.mul_(2), torch.autograd.grad(r.sum(), x)))(b.tan()))(x.clone())
x.clone().scatter_(0, torch.tensor([5]), 3) | a.clone().add_(A) | x.clone().masked_fill_(n, 2) | a.all() | a.all(1)
a.any(1,keepdim=True) | a.any(dim=(0,1)) | torch.all(a>0,dim=0) | torch.any(a>0) | n.any()
torch.tensor([2],dtype=torch.uint8).all() | torch.tensor([2],dtype=torch.uint8).all(0) | e.all() | e.any() | a.all(2)
torch.logical_and(x,n) | torch.logical_or(m,m) | x.logical_not() | m.logical_xor(x>0) | torch.logical_and(m,True)
x.isnan() | torch.isnan(n) | torch.isinf(x/0) | x.isinf() | torch.isfinite(x) | n.isfinite() | m.isnan()
torch.equal(x,x) | torch.equal(x,a) | torch.equal(x,x.double()) | x.equal(x.clone()) | torch.equal(n,n.float())
torch.allclose(x,x+1e-9) | torch.allclose(x,x+1) | torch.allclose(x,a) | torch.allclose(x,x.double())
torch.allclose(n,n) | torch.allclose(x,n) | x.allclose(x,rtol=0,atol=1) | torch.allclose(x/0,x/0)
torch.allclose(x*float('nan'),x*float('nan'),equal_nan=True) | torch.isclose(x,x+1e-9) | a.nonzero() | n.nonzero()
torch.nonzero(m) | a.nonzero(as_tuple=True) | torch.nonzero(a>0,as_tuple=True) | s.nonzero()
s.nonzero(as_tuple=True) | e.nonzero() | a.argmin() | a.argmin(1) | torch.argmin(a,dim=0,keepdim=True) | m.argmin()
e.argmin() | e.argmin(0) | torch.zeros(0,2).argmin(1) | torch.zeros(0,2).argmin(0) | a.argmin(3) | s.argmin(0)
torch.zeros(2,0).argmax(1) | torch.equal(x,2) | torch.allclose(x,2) | torch.logical_and(x,2) | torch.isnan(2.) | a.mT
x.mT | s.mT | x.tril() | x.triu(1) | a.flip((0, 0)) | a.flip(2) | a.roll((1, 2), 0) | a.roll(1, (0, 1)) | s.roll(1, 0)
a.repeat(2) | x.repeat(-1) | a.cumsum(2) | n.var() | n.norm() | e.amax() | e.amax(0) | a.amax((0, 0))
torch.topk(a, 5) | m.topk(1) | m.floor() | n.round(decimals=1) | m.ceil() | e.argmin() | m.argmax()
"""


@pytest.mark.parametrize("text", entries(ANSWERS))
def test_an_answer_or_a_refusal(text: str) -> None:
    compare(lambda torch: eval(text, names(torch)))


def narrow(torch: Any, text: str, kind: str) -> Any:
    """An expression over narrower floats: its value and its gradients, with their dtypes."""
    named = names(torch)
    for name in NUMBERS:
        named[name] = named[name].detach().to(getattr(torch, kind)).requires_grad_()
    outs = [o for o in flat(eval(text, named)) if isinstance(o, torch.Tensor)]
    total = sum(o.double().sum() for o in outs if o.requires_grad)
    grads = torch.autograd.grad(total, [named[n] for n in NUMBERS], allow_unused=True) if outs[0].requires_grad else []
    return [(o.dtype, o.shape) for o in outs], [g if g is None else g.dtype for g in grads]


@pytest.mark.parametrize("kind", ["float32", "float16"])
@pytest.mark.parametrize(
    "text", [e for e in SAVED if "double" not in e and "float64" not in e and "_saved" not in e][::3]
)
def test_narrow_floats_stay_narrow(text: str, kind: str) -> None:
    compare(narrow, text, kind)


def test_erf_is_right_to_the_last_digits() -> None:
    x = np.concatenate([np.linspace(-7, 7, 20001), np.logspace(-300, 1, 2000), [0.0, math.inf, -math.inf]])
    ours, exact = w.erf(w.from_numpy(x)).numpy(), np.array([math.erf(v) for v in x])
    np.testing.assert_allclose(ours, exact, rtol=1e-15, atol=0)
    assert math.isnan(w.erf(w.tensor(math.nan)).item())
    assert np.signbit(w.erf(w.tensor(-0.0)).item())


def parts(op: Any, args: list[Any]) -> Any:
    """One number made of all but one of an op's outputs: the last one's gradient is missing."""
    outs = TENSORS[op.name](*args)
    return sum(weighted(o, weights(o, seed=i)) for i, o in enumerate(outs[:-1]))


@each_sample(SEVERAL.values(), skipping=has_a_tie)
def test_the_gradient_of_several_outputs_is_the_slope(op: Any, text: str) -> None:
    args = arguments(op, text)
    for t in leaves(args):
        (on_arrays,) = w.autograd.grad(parts(op, args), t, materialize_grads=True)
        half_square = parts(op, args) ** 2 / 2
        (on_tensors,) = w.autograd.grad(half_square, t, create_graph=True, materialize_grads=True)
        expected = slopes(lambda: parts(op, args).item(), t)
        np.testing.assert_allclose(on_arrays.numpy(), expected, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(on_tensors.detach().numpy(), expected * parts(op, args).item(), rtol=1e-5, atol=1e-7)
        assert on_tensors.requires_grad or not expected.any()


def test_several_outputs_share_one_node() -> None:
    x = w.ones(4, requires_grad=True)
    first, second = x.split(2)
    assert first.grad_fn is second.grad_fn
    assert (first.output_nr, second.output_nr) == (0, 1)
    assert first._base is x


def test_gradients_that_never_arrive_stay_away() -> None:
    class Nothing(w.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> None:
            return None

    x = w.ones(4, requires_grad=True)
    sum(Nothing.apply(part).sum() for part in x.split(2)).backward()
    assert x.grad is None


def test_a_node_says_what_the_abbreviations_in_its_formula_stand_for() -> None:
    told_by = w.nn.functional.gelu(w.ones(2, requires_grad=True)).grad_fn.backward_text.splitlines()
    assert told_by[0].startswith("self: grad * (gelu_slope(self)")
    assert "normal_pdf(x) = exp(-0.5 * x * x) / (2 * pi) ** 0.5" in told_by
    assert len(told_by) == len(set(told_by))


def test_a_pair_of_values_and_indices_is_copied_as_one() -> None:
    pair = w.tensor([[1.0, 3.0], [4.0, 2.0]]).max(1)
    for again in (copy.copy(pair), copy.deepcopy(pair)):
        assert type(again) is type(pair)
        assert again.values.tolist() == [3.0, 4.0] and again.indices.tolist() == [1, 0]
