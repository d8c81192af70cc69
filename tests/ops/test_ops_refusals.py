"""Edges of the operations beside PyTorch's: what is noticed when it was written, layout of memory, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle import compare, entries, names, raised, same

import workbench

# A tensor by name in the second column is written after the op; `out` is the result.
WRITTEN = """
p ** y; out | p ** y.detach(); out | p ** n; out | p.detach() ** y; out | p ** 2; out | p ** 2; p | 2 ** x; out
x * y; out | x * 2; x | x / y; out | a @ M; M | torch.addmm(c, a, M); a | torch.addmm(c, a, M); M
torch.nn.functional.linear(a, q, x[:2]); a | torch.nn.functional.linear(a, q, x[:2]); q | torch.maximum(x, y); out
torch.where(x > 0, x, y); out | a.max(); out | x.clamp(y, p); p | a.cumprod(1); out | torch.logsumexp(a, 1); out
torch.softmax(a, 1); out | a.norm(); out | a.std(); out | a.prod(); out | x.sign(); x
"""


@pytest.mark.parametrize("text", entries(WRITTEN))
def test_a_write_after_saving(text: str) -> None:
    op, written = text.split("; ")

    def program(torch: Any) -> Any:
        leaves = names(torch)
        named = {k: v * 1 if isinstance(v, torch.Tensor) and v.requires_grad else v for k, v in leaves.items()}
        named["out"] = eval(op, named)
        with torch.no_grad():
            named[written].zero_()
        named["out"].sum().backward()
        return [leaf.grad for leaf in leaves.values() if isinstance(leaf, torch.Tensor)]

    compare(program)


IN_PLACE = """
leaky_relu(b, 0.1, inplace=True) | leaky_relu(b, inplace=True) | leaky_relu(b, 0.0, inplace=True)
leaky_relu(b, -0.1, inplace=True) | elu(b, inplace=True) | elu(b, 1.5, inplace=True) | elu(b, -1.5, inplace=True)
elu(b, 0.0, True) | relu(b, True)
"""


@pytest.mark.parametrize("text", entries(IN_PLACE))
def test_activations_in_place(text: str) -> None:
    def program(torch: Any) -> Any:
        named = names(torch)
        x, b = named["x"], named["x"] * 1
        out = eval(text, {"b": b, **vars(torch.nn.functional)})
        node = out.grad_fn
        saved = node.name(), node._saved_result, [getattr(node, f"_saved_{n}", None) for n in ("alpha", "self")]
        (g,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        again = torch.autograd.grad(g.sum(), x, allow_unused=True)
        with torch.no_grad():
            out.zero_()
        return out is b, saved, g.detach(), again, raised(out.sum().backward)

    compare(program)


@same
def test_activations_in_place_without_a_graph(torch: Any) -> Any:
    x, F = torch.tensor([-1.0, 2.0]), torch.nn.functional
    integers = torch.tensor([-1, 2])
    return F.leaky_relu(x.clone(), -0.5, True), F.elu(x.clone(), -0.5, True), raised(F.elu, integers, 1.0, True)


MADE = """
torch.ones() | torch.zeros() | torch.empty() | torch.ones(size=(2,)) | torch.zeros(size=(2, 3))
x.new_zeros(size=(2,)) | torch.ones(-1) | torch.zeros(2, -3) | torch.empty(2, -3) | torch.randn(-1)
torch.full((-1,), 2.0) | x.new_ones(-1) | torch.ones(True) | torch.ones(2.0) | torch.ones("a") | torch.ones(None)
torch.ones((2, "a")) | torch.ones(2, "a") | torch.ones((2.0,)) | torch.ones([True, 3]) | torch.ones(2, True)
torch.ones((2,), (3,)) | torch.ones(2, size=(3,)) | torch.ones(torch.tensor(2)) | torch.ones(torch.tensor([2, 3]))
torch.ones(np.int64(2), 3) | torch.ones(size=3) | torch.ones([torch.tensor(2), 3]) | torch.ones(range(3))
torch.rand(2.0) | torch.rand(size=(2, 3)).shape | torch.rand(2, dtype=torch.int64) | torch.randn(2, dtype=torch.bool)
torch.rand_like(n) | torch.randint(0, 5) | torch.randint(5, 2) | torch.randint(0, 5, (-2,))
torch.randint(3.0, (2,)).shape | torch.randint(0, 1, (2,)) | torch.randint(1, (2,)) | torch.randint(1, 1, (2,))
torch.randperm(-1) | torch.randperm(3.0) | torch.randperm(1) | torch.full(2, 1.5) | torch.full([2], 1)
torch.full((2,), "a") | torch.full((2,), None) | torch.full("ab", 1) | torch.full((2.0,), 1) | torch.full(None, 1)
torch.full((2,), x[0]) | torch.full((2,), x[0].detach()) | torch.full((2,), x) | torch.full((2,), np.float32(2.5))
torch.full((2,), True) | torch.full((2,), 300, dtype=torch.uint8) | torch.full((2,), -1, dtype=torch.uint8)
torch.full_like(n, 3.7) | torch.full((2,), 1e10, dtype=torch.int32) | torch.full((2,), 1e5, dtype=torch.float16)
torch.full_like(n, "a") | torch.full((2,), float("nan"), dtype=torch.int64) | torch.full((2,), float("inf"))
torch.full((2,), 2, dtype=torch.bool) | torch.full_like(n, 300, dtype=torch.uint8)
torch.tensor([300], dtype=torch.uint8) | torch.tensor([-1], dtype=torch.uint8)
torch.tensor([1e10], dtype=torch.int32) | torch.tensor([2.5], dtype=torch.int64)
torch.tensor(1e6, dtype=torch.float16) | torch.tensor(np.array([300]), dtype=torch.uint8)
torch.tensor([float("nan")], dtype=torch.bool) | torch.eye(2.0) | torch.eye("a") | torch.eye(-1) | torch.eye(2, -1)
torch.eye(True) | torch.eye(torch.tensor(2)) | torch.eye(n=2, m=3) | torch.linspace(0, 1, torch.tensor(3))
torch.linspace(0, 1, -1) | torch.linspace(s.detach(), 2, 3) | torch.arange(end=3) | torch.arange(start=1, end=3)
torch.arange(0, 5, 2.5) | torch.arange(1, 3, step=0.5) | torch.arange(1, end=3) | torch.arange("a")
torch.arange(None) | torch.arange(torch.tensor(3)) | torch.arange(np.int64(3)) | torch.arange(True)
torch.arange(float("inf")) | torch.arange(float("nan")) | torch.arange(2.5, dtype=torch.int64)
torch.arange(-2.5, 2.5, dtype=torch.int64) | torch.arange(0.5, 5, 1, dtype=torch.int32)
torch.arange(5, dtype=torch.bool) | torch.arange(10, 0, -3) | torch.arange(0, 3, 0) | torch.arange(3, 0)
torch.arange(0, -0.0) | torch.arange(n)
"""


@pytest.mark.parametrize("text", entries(MADE))
def test_making_tensors(text: str) -> None:
    compare(lambda torch: eval(text, names(torch)))


ANSWERS = """
torch.maximum(x, 1) | torch.minimum(1, x) | torch.maximum(x, np.float64(3)) | torch.maximum(x, None)
torch.maximum(input=x, other=y) | torch.maximum(x, n) | torch.maximum(m, m) | torch.maximum(e, e)
torch.max(x, other=y) | torch.max(input=x) | torch.max(a, dim=0) | torch.tensor([]).max(0) | torch.tensor([]).min(0)
torch.tensor([]).max() | torch.tensor([]).argmax() | torch.tensor([]).argmin(0) | torch.zeros(2, 0).max(1)
torch.zeros(2, 0).max(0) | torch.zeros(2, 0).min(1) | torch.zeros(2, 0).argmax(0) | torch.abs(m) | m.abs()
torch.abs(n) | torch.sign(m) | m.relu() | n.relu() | -m | +m | torch.where(m) | torch.where(n) | torch.where(a > 0)
torch.where(torch.tensor(True)) | torch.where(n > 5) | torch.where(condition=m, input=x, other=y)
torch.where(m.to(torch.uint8), x, y) | torch.where(n, x, y) | x.where(condition=m, other=y) | torch.where(m, n, 2.5)
torch.where(torch.ones(4) > 0, x, y) | torch.where(torch.ones(4, 1, 2) > 0, x, 0.5)
torch.where(m, True, 2) | 2 ** torch.tensor([-1]) | torch.tensor([2]) ** -1 | torch.tensor([2]) ** torch.tensor([-1])
n ** -2 | m ** -1 | torch.pow(2, torch.tensor([-1, 3]))
torch.tensor([-1, 1, 0, 2, -1]) ** torch.tensor([-1, -1, -1, -2, -2]) | n ** n | torch.tensor([-1]).pow(-3)
(-1) ** torch.tensor([-3, -2]) | n.int() ** torch.tensor(-1) | n ** -1.0 | m ** m | m ** 2
torch.pow(input=x, exponent=2) | torch.add(input=x, other=y, alpha=2) | torch.sub(input=x, other=y)
torch.exp(input=x) | torch.mul(input=x, other=y) | torch.sum(input=x) | torch.matmul(input=a, other=M)
torch.clamp(input=x, min=0) | x.add(y, alpha="a") | n.add(n, alpha=0.5) | n.add(1, alpha=0.5) | n.add(x, alpha=0.5)
m.add(m, alpha=True) | m.add(m, alpha=2) | n.sub(n, alpha=2.5) | n.sub(n, alpha=2) | x & y | m & 1.5 | m & m | n
n ^ 1 | x.sum(None) | x.sum(dim=None, keepdim=True) | x.mean(None) | x.mean(None, True) | torch.eq(x, 0.5)
torch.ne(x, y) | torch.gt(a, 0) | torch.lt(x, y) | torch.ge(x, 2) | torch.le(n, 2)
"""


@pytest.mark.parametrize("text", entries(ANSWERS))
def test_answers(text: str) -> None:
    compare(lambda torch: eval(text, names(torch)))


@same
def test_what_is_no_condition_and_no_limit(torch: Any) -> Any:
    x, m = torch.ones(2), torch.tensor([True, False])
    calls = [(torch.where, True, x, x), (torch.where, m, x), (torch.where, m, "a", x), (torch.clamp, x, "a")]
    calls += [(torch.clamp, x, x, 1), (torch.clamp, x, 0, x), (torch.pow, x, "a"), (torch.pow, 2, 3), (x.maximum, 1)]
    return [raised(*call)[0] for call in calls]


LAYOUT = """
a.t().clone() | A.permute(2, 0, 1).clone() | A[:, :, ::2].transpose(0, 1).clone() | x.expand(2, 3).clone() | a.t() * 2
a.expand(2, 2, 3).clone() | a.t().contiguous() | a.t().exp() | a.t() + a.t() | a.t() + x[:2] | -a.t() | a.t().relu()
a.t() ** 2 | a.t().erf() | a.t().float() | a.t() > 0 | a.t().clamp(0, 1) | a.t().masked_fill(a.t() > 0, 1.0)
1 / a.t() | torch.where(a.t() > 0, a.t(), 0.0) | A.permute(2, 0, 1) * 2 | A.permute(2, 0, 1) + a[0][:, None, None]
a.t().flip(0) | a.t().cumsum(0) | a.t().cumprod(1) | a.t().softmax(0) | a.t().log_softmax(1) | a.t().roll(1, 0)
a.t().tril() | A.permute(2, 0, 1).sum(1) | A.permute(2, 0, 1).sum(1, keepdim=True) | A.permute(2, 0, 1).mean(1)
A.permute(2, 0, 1).amax(1) | A.permute(2, 0, 1).max(1) | A.permute(2, 0, 1).prod(1) | A.permute(2, 0, 1).norm(3, 1)
A.permute(2, 0, 1).var(1) | A.permute(2, 0, 1).std(1, keepdim=True) | A.permute(2, 0, 1).logsumexp(1)
A.permute(2, 0, 1).argmax(1) | torch.cat([a.t(), a.t()]) | torch.stack([a.t(), a.t()], 1) | a.t() @ a
torch.nn.functional.layer_norm(a.t(), (2,)) | torch.nn.functional.batch_norm(a.t(), None, None, training=True)
torch.zeros_like(a.t()) | torch.ones_like(A.permute(2, 0, 1), dtype=torch.int64) | torch.full_like(a.t(), 2)
torch.zeros_like(x.expand(2, 3)) | a.t().reshape(2, 3) | torch.zeros(0, 3) | torch.zeros(3, 0, 2).sum(0)
torch.zeros(0) | torch.autograd.grad((a.t() * 2).sum(), a)[0] | torch.autograd.grad((a @ M).sum(), M)[0]
"""


@pytest.mark.parametrize("text", entries(LAYOUT))
def test_how_a_result_lies_in_memory(text: str) -> None:
    def program(torch: Any) -> Any:
        out = eval(text, names(torch))
        outs = out if isinstance(out, tuple) else (out,)
        return [(t, t.stride(), t.is_contiguous()) for t in outs], raised(lambda: outs[0].view(-1))

    compare(program)


@same
def test_a_clone_that_lies_otherwise_is_viewed_and_reshaped(torch: Any) -> Any:
    a = torch.arange(6.0).reshape(2, 3).requires_grad_()
    b = a.t().clone()
    c, d = b.contiguous(), b.reshape(6)
    chain = b.grad_fn, c.grad_fn, d.grad_fn, d.grad_fn.next_functions[0][0], c.is_contiguous(), d._base
    (c * d.view(3, 2)).sum().backward()
    return chain, b, c, d, a.grad, a.grad.stride(), raised(b.view, 6)


@same
def test_the_gradient_of_a_factor_lies_as_the_factor_does(torch: Any) -> Any:
    row = torch.arange(2.0, requires_grad=True)
    seen = []
    for a in (torch.arange(6.0).reshape(3, 2), torch.arange(6.0).reshape(2, 3).t(), torch.arange(3.0).expand(2, 3).t()):
        for b in (torch.arange(4.0).reshape(2, 2), torch.arange(4.0).reshape(2, 2).t(), torch.ones(4, 2)[::2]):
            factors = a.detach().requires_grad_(), b.detach().requires_grad_()
            for out in (factors[0] @ factors[1], torch.addmm(row, *factors, alpha=2), row + factors[0].mm(factors[1])):
                grads = torch.autograd.grad((out * out).sum(), factors)
                seen.append([(grad, grad.stride()) for grad in grads])
    return seen


GRADIENTS = {
    "x * 1": ["torch.ones(2)", "torch.ones(2, 3)", "torch.ones(())", "gs[0][:2]"],
    "x.exp()": ["torch.ones(2)", "torch.ones(2, 3)", "torch.ones(())"],
    "x * y": ["torch.ones(2)"],
    "a.sum(0)": ["torch.ones(2)"],
    "a.reshape(6)": ["torch.ones(2)"],
    "a.t()": ["torch.ones(2)"],
    "a @ M": ["torch.ones(2)", "torch.ones(3, 3)"],
    "x[:2]": ["torch.ones(3)"],
    "torch.cat([x, y])": ["torch.ones(3)"],
}


@pytest.mark.parametrize(("op", "gradient"), [(op, g) for op, gradients in GRADIENTS.items() for g in gradients])
def test_a_gradient_of_another_shape(op: str, gradient: str) -> None:
    def program(torch: Any) -> Any:
        named = names(torch)
        leaves = [v for v in named.values() if isinstance(v, torch.Tensor) and v.requires_grad]
        seen = []
        for register in ("register_prehook", "register_hook"):
            h = eval(op, named)
            getattr(h.grad_fn, register)(lambda gs, *rest: (eval(gradient, named | {"gs": gs}).double(),))
            seen.append(raised(h.sum().backward))
        return seen, [leaf.grad for leaf in leaves], raised(h.backward, eval(gradient, named | {"gs": [named["x"]]}))

    compare(program)


@same
def test_hooks_on_what_was_freed(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True) * 1
    seen = []
    for y, name in ((x.sin(), "self"), (x.exp(), "result"), (x * x, "other"), (x.softmax(0), "result")):
        before = getattr(y.grad_fn, f"_raw_saved_{name}")
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        for handle in (before, getattr(y.grad_fn, f"_raw_saved_{name}")):
            seen.append(raised(handle.register_hooks, lambda t: t, lambda t: t))
        seen.append(raised(getattr, y.grad_fn, f"_saved_{name}"))
    return seen


KINDS = """
torch.dot(m, m) | torch.mm(a > 0, M > 0) | torch.mv(a > 0, m) | torch.bmm(A > 0, A.transpose(1, 2) > 0) | m @ m
torch.addmm(c > 0, a > 0, M > 0) | m.clamp(True) | m.clamp(False, True) | m.clamp(max=False) | m.clamp(0)
m.sort(descending=True) | m.argsort(descending=True) | n.to(torch.uint8).sort(descending=True)
torch.tensor([-(2**63), 5]).sort(descending=True) | n.to(torch.uint8).topk(2) | n.cumsum(0, dtype=torch.int32)
n.cumprod(0, dtype=torch.uint8) | x.cumsum(0, dtype=torch.float32) | x.norm(dtype=torch.float32)
x.norm(2, 0, dtype=torch.int64) | x.float().norm(dtype=torch.float64) | e.norm(float("inf")) | e.norm(-float("inf"))
e.norm(float("inf"), 0) | e.norm(-1) | torch.ones(0, 2).norm(float("inf"), 1) | True - x | x - True | m - 1
n.to(torch.uint8) + -1 | n.to(torch.uint8) * -1 | n.to(torch.uint8) - 3 | torch.where(m, n.to(torch.uint8), -1)
torch.nn.functional.nll_loss(n[None], i[:1])
"""


@pytest.mark.parametrize("text", entries(KINDS))
def test_kinds_of_numbers(text: str) -> None:
    compare(lambda torch: eval(text, names(torch)))


ARGUMENTS = """
c.squeeze((0, 1)) | c.squeeze((1,)) | c.squeeze(()) | c.squeeze(dim=(-1, 0)) | c.squeeze((1, 1)) | c.squeeze((2,))
torch.squeeze(c, (0, 1)) | s.squeeze((0,)) | e.reshape(-1, 0) | e.view(0, -1) | e.reshape(-1) | e.view(-1, 3)
x.view_as(1) | torch.nn.functional.linear(a, 1) | torch.nn.functional.linear(1, a) | n.clone().fill_(float("nan"))
n.clone().fill_(1e30) | n.clone().fill_(2.7) | n.to(torch.uint8).fill_(-1) | n.to(torch.uint8).fill_(300)
x.clone().fill_(True) | x.clone().copy_(1) | n.clone().copy_(2.5) | a.size(2) | a.size(-3) | s.size(0) | a.size(-1)
torch.nn.functional.gelu(x, "tanh") | a.tril(1.0) | a.triu("a") | a.triu(diagonal=-1)
torch.nn.functional.batch_norm(x, None, None, training=True)
torch.nn.functional.cross_entropy(a, j, label_smoothing=2.0)
"""


@pytest.mark.parametrize("text", entries(ARGUMENTS))
def test_arguments(text: str) -> None:
    compare(lambda torch: eval(text, names(torch)))


@same
def test_a_dimension_is_kept_only_where_one_is_named(torch: Any) -> Any:
    x = torch.ones(2)
    return raised(torch.sum, x, keepdim=True)[0], raised(torch.mean, x, keepdim=True)[0], x.sum(0, True)


NO_TENSOR = """
torch.exp(2) | torch.dot(x, 2) | torch.mm(a, None) | torch.mv(2, x) | torch.bmm(A, "s") | torch.maximum(x, 2)
torch.minimum(None, x) | torch.addmm(None, a, M) | torch.cat([x, 2]) | torch.stack([x, None]) | torch.softmax(2, 0)
torch.nn.functional.linear(x, 2) | torch.nn.functional.linear(2, a) | torch.cumsum(None, 0) | torch.mul(None, x)
torch.mul(x, "s") | torch.add(x, None) | torch.div("s", x) | torch.sum(None) | torch.matmul(x, 2) | torch.unbind(2)
torch.matmul(None, x) | torch.permute(2, (0,)) | torch.reshape(None, (2,)) | torch.diagonal(2) | torch.tril(None)
torch.sort(2) | torch.topk(None, 1) | torch.prod(2) | torch.logsumexp(2, 0) | torch.roll(2, 1) | torch.flip(None, (0,))
torch.nn.functional.elu(2) | torch.nn.functional.gelu(2) | x.index_add(0, i, 2) | x.view_as(None)
torch.addmm(a, a, 3) | torch.nn.functional.linear(a, q, 3) | torch.nn.functional.layer_norm(3, (3,))
torch.nn.functional.layer_norm(a, (3,), 3) | torch.nn.functional.layer_norm(a, (3,), None, 3) | torch.outer(x, 3)
x.outer(3) | torch.nn.functional.nll_loss(a, 3) | torch.nn.functional.nll_loss(3, i) | x.expand_as(3) | x.type_as(3)
torch.nn.functional.dropout(3) | torch.nn.functional.cross_entropy(a, 3) | x.reshape_as(3)
torch.einsum("ij->i", 3)
"""


@pytest.mark.parametrize("text", entries(NO_TENSOR))
def test_what_is_no_tensor(text: str) -> None:
    compare(lambda torch: eval(text, names(torch)))


UNKNOWN = """
torch.max(x, 0, bad=1) | torch.min(x, bad=1) | x.argmax(0, bad=1) | x.std(bad=1) | x.amax(0, bad=1)
x.new_ones(2, bad=1) | torch.tril(x, bad=1) | torch.atleast_2d(x, bad=1) | torch.remainder(x, 2, bad=1)
"""


@pytest.mark.parametrize("text", entries(UNKNOWN))
def test_an_unknown_argument_is_told_of_under_the_functions_public_name(text: str) -> None:
    name = text.partition("(")[0].rpartition(".")[2]
    with pytest.raises(TypeError, match=rf"^(Tensor\.)?{name}\(\) got an unexpected keyword argument 'bad'"):
        eval(text, {"torch": workbench, "x": workbench.ones(2, 2)})


# A method does not count its own tensor, and a refusal says the name that was called. `i` is an index.
COUNTED = """
x.add(None) | torch.add(x, None) | x.add_(None) | x.mul("a") | torch.mul(x, "a") | x.mul_([1]) | x.sub(None)
x.div("a") | x.sub_(None) | x.div_(None) | x.mm(None) | torch.mm(x, None)
x.matmul(None) | torch.matmul(x, None) | x.dot(None)
x.bmm("a") | x.mv(None) | x.maximum(2) | torch.maximum(x, 2) | torch.maximum(2, x) | x.minimum(None) | x.equal(3)
torch.equal(x, 3) | x.isclose(None) | x.allclose("a") | torch.allclose(x, "a") | x.logical_and(None)
torch.logical_or(x, None) | x.masked_select(None) | torch.masked_select(x, None) | x.addmm(1, x) | torch.addmm(x, 1, x)
x.index_select(0, None) | torch.index_select(x, 0, None) | x.index_add(0, i, None) | x.index_add_(0, i, None)
x.index_add(0, 1, x) | torch.index_add(x, 0, i, None) | x.gather(0, None) | torch.gather(x, 0, None)
x.scatter_add(0, i, None) | torch.scatter_add(x, 0, i, 2) | x.scatter_add_(0, None, torch.ones(2)) | x.expand_as(None)
x.reshape_as("a") | x.view_as(None) | torch.ger(x, 3) | x.ger(3) | torch.concat(3)
x.reshape("a") | torch.reshape(x, "a") | x.permute("a") | torch.permute(x, "a") | x.flip(None) | torch.flip(x, None)
x.expand("a") | x.repeat("a") | x.sum_to_size("a") | x.new_zeros("a") | torch.zeros("a") | m.tril("a")
torch.tril(m, "a") | x.index_put_(3, x)
torch.index_put(x, 3, x) | x.index_put_((i,), 3) | torch.index_put(x, (i,), 3) | x.type_as(None)
torch.concatenate((x, 3)) | torch.row_stack(3) | torch.negative(3)
torch.square(x).mul(None) | (lambda t: t.add(None))(x) | torch.func.grad(lambda t: t.mul(None))(x)
torch.vmap(lambda t: torch.mul(t, None))(x) | torch.nn.functional.linear(x, None) | torch.exp("a") | torch.absolute("a")
"""


@pytest.mark.parametrize("text", entries(COUNTED))
def test_the_position_of_a_wrong_argument(text: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0])
        return eval(text, {"torch": torch, "x": x, "i": torch.tensor([0]), "m": x[None]})

    compare(program)


# `two`, `part` and `wanted` are tensors of no dimensions, of which the last requires grad; `one` has a dimension.
NUMBERS_GIVEN = """
torch.add(x, 2, y) | torch.sub(x, 2, y) | torch.add(x, 2.5, y) | torch.add(x, two, y) | torch.add(x, part, y)
torch.add(x, wanted, y) | torch.add(2, 2, y) | torch.add(i, 2.5, y) | torch.add(i, 2.5, i) | x.add(2, y)
x.add_(2, y) | x.sub(2, y) | x.sub_(2, y) | (x.add_(2, y), x._version) | torch.add(wanted, 2, y) | torch.add(x, 2, 3)
torch.add(x, y, 2) | torch.add(x, y, y) | torch.add(x, True, y) | torch.add(x, y, alpha=True) | x.add(True, y)
torch.add(x > 0, y > 0, alpha=True) | torch.add(x, 2, y, out=y) | torch.add(x, 2, y, alpha=3) | torch.add(x, "a", y)
torch.add(x, None, y) | torch.add(x, y, alpha=part) | torch.add(x, y, alpha=wanted) | torch.add(x, y, alpha=one)
torch.add(x, y, alpha="a") | x.add_(y, alpha=part) | x.add(y, alpha=None) | x.sub(y, alpha=np.float32(2))
x.to(True) | x.to(False) | x.to(1.5) | x.to(True, True) | x.to(1.5, False, True) | x.to(None) | x.to(x, True)
F.leaky_relu(x, part) | F.leaky_relu(x, wanted) | F.leaky_relu(x, one) | F.leaky_relu(x, "a") | F.leaky_relu(x, None)
F.leaky_relu(x, two, True) | F.leaky_relu(x, one, True) | F.softplus(x, part) | F.softplus(x, part, part)
F.softplus(x, 2, "a") | F.softplus(x, None) | F.elu(x, part) | F.elu(x, x) | F.elu(x, one) | F.elu(x, "a", True)
F.elu(x, part, True) | F.elu(wanted, part).grad_fn._saved_alpha | torch.nn.LeakyReLU(part)(x) | torch.nn.ELU(two)(x)
F.leaky_relu(wanted, part).grad_fn._saved_negative_slope | torch.split(x, one) | torch.split(x, two) | x.split(one)
torch.split(x, part) | torch.split(x, torch.tensor([1.5])) | torch.split(x, torch.tensor(True)) | torch.split(x, wanted)
torch.split(x, torch.tensor([[-1]])) | x.split(i) | F.layer_norm(x, (3,), eps=part) | F.layer_norm(x, (3,), eps="a")
F.huber_loss(x, y, delta=part) | F.huber_loss(x, y, delta="a") | F.huber_loss(x, y, delta=wanted) | x.norm(part)
F.smooth_l1_loss(x, y, beta=part) | F.smooth_l1_loss(x, y, beta="a") | F.smooth_l1_loss(x, y, beta=None)
F.batch_norm(x[:, None], None, None, training=True, eps=part) | torch.isclose(x, y, "a") | torch.isclose(x, y, part)
torch.index_add(x, 0, i, y, alpha=part) | torch.index_add(x, 0, i, y, alpha=wanted) | x.norm(2, 0, 1) | x.norm(one)
torch.addmm(x[None], x[None], x[:, None], beta=part, alpha=two) | torch.norm(x, 2, 0, 1) | F.normalize(x, part, 0)
x.sum((0, 1.5)) | x.mean((0, "a")) | torch.amax(x, (0, None)) | x.roll(1, 1.5) | x.roll(1.5, 1) | x.roll(two)
x.roll((1, 1.5), (0, 1)) | x.roll("a") | x.roll(1, []) | x.unflatten(0, (3, 1.5)) | x.unflatten(0, "a")
x.movedim((0, 0), (1, 1.5)) | x.movedim(two * 0, two * 0)
"""


@pytest.mark.parametrize("text", entries(NUMBERS_GIVEN))
def test_tensors_and_other_things_in_place_of_numbers(text: str) -> None:
    def program(torch: Any) -> Any:
        named = {"x": torch.tensor([0.5, -1.0, 2.0]), "y": torch.tensor([1.0, 2.0, 3.0]), "i": torch.tensor([0, 2, 1])}
        named |= {"two": torch.tensor(2), "part": torch.tensor(0.3), "wanted": torch.tensor(0.3, requires_grad=True)}
        named |= {"one": torch.tensor([2]), "torch": torch, "F": torch.nn.functional, "np": np}
        return eval(text, named)

    compare(program)


METHODS = "sum exp clone mm abs prod squeeze neg".split()


@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_what_is_no_tensor(name: str) -> None:
    compare(lambda torch: getattr(torch.Tensor, name)(5, *[torch.ones(2, 2)] * (name == "mm")))


WRONG = """
x.argmax("a") | torch.argmin(a, "a") | a.argmax(n) | a.argmax(True) | torch.argmax(a, 1.5) | a.cumsum("a")
torch.cumprod(a, True) | a.amax("a") | torch.amin(a, x) | a.logsumexp(x) | a.transpose("a", 1) | a.transpose(0, 1.0)
torch.transpose(a, 0, "a") | a.unsqueeze("a") | a.unsqueeze(1.0) | a.flatten("a") | a.flatten(0, True) | a.unbind("a")
a.unbind(1.0) | a.gather("a", n) | a.chunk("a") | a.chunk(2.0) | a.chunk(True) | a.chunk(2, "a") | a.topk("a")
a.topk(1.5) | a.topk(1, "a") | a.split("a") | a.split(1.5) | a.split(None) | a.split([1, "a"]) | a.split(n)
torch.split(a, torch.tensor(1)) | a.sum(torch.tensor(1)) | a.amax(torch.tensor(1)) | a.argmax(np.int64(1))
a.sum(np.int64(1)) | a.softmax("a") | torch.softmax(a, 1.5) | a.log_softmax(True) | a.select("a", 0)
torch.allclose(x, torch.ones(2)) | torch.isclose(x, torch.ones(2)) | torch.logical_and(x, torch.ones(2))
torch.logical_or(a, torch.ones(2)) | torch.logical_xor(x, torch.ones(4)) | torch.einsum("ij") | torch.einsum(a)
torch.nn.functional.binary_cross_entropy_with_logits(x, y, torch.ones(2))
torch.nn.functional.binary_cross_entropy_with_logits(x, y, pos_weight=torch.ones(2))
torch.nn.functional.embedding(n, x) | torch.nn.functional.embedding(n, torch.tensor(1.0))
torch.tensor([True, False]).clamp(torch.tensor(2.0)) | n.clamp(min=torch.tensor([0.5, 0.5, 0.5]))
a.sum(0, None) | a.sum(0, torch.ones(2)) | torch.sum(a, 0, 1) | a.mean((0, 1), None) | a.mean(0, (0, 1))
a.argmin(1, 1) | a.prod(0, None) | a.median(0, None) | torch.norm(a, 2, 0, 1) | a.max(0, None)
torch.logsumexp(a, 0, None) | a.amax(0, 1)
torch.nn.functional.layer_norm(a, [torch.ones(2), torch.ones(2)]) | torch.nn.functional.layer_norm(a, [3, "a"])
x.clamp(torch.tensor(0.5), 1) | x.clamp(0, torch.tensor(0.5)) | a.roll(-1, None) | x.detach().copy_(y, True)
torch.randint(5, (2.0,))
"""


@pytest.mark.parametrize("text", entries(WRONG))
def test_a_wrong_argument_is_named(text: str) -> None:
    compare(lambda torch: eval(text, names(torch)))


@same
def test_which_errors_arguments_of_several_signatures_raise(torch: Any) -> Any:
    a, rows = torch.arange(6.0).reshape(2, 3), torch.tensor([[0, 1, 1]])
    calls = [(t, given) for t in (a.sum, a.mean, a.max, a.sort, a.squeeze, a.std, a.all) for given in ("a", 1.5, a)]
    del calls[8]  # a.max(a) is the larger of both
    values = [(a.masked_fill, a > 0, "a"), (a.scatter, 0, rows, "a")]
    return [raised(*call)[0] for call in (*calls, *values)]


def test_the_argument_is_named_where_pytorch_lists_signatures() -> None:
    a = workbench.ones(2, 3)
    for call, said in {
        lambda: a.sum("rows"): "sum(): argument 'dim' (position 1) must be tuple of ints, not str",
        lambda: workbench.sum(a, 1.5): "sum(): argument 'dim' (position 2) must be tuple of ints, not float",
        lambda: a.sum(("a", 0)): "sum(): argument 'dim' (position 1) must be tuple of ints, but found element of type "
        "str at pos 0",
        lambda: a.max("a"): "max(): argument 'dim' (position 1) must be int, not str",
        lambda: workbench.min(a, True): "min(): argument 'dim' (position 2) must be int, not bool",
        lambda: workbench.nn.Softmax("a")(a): "softmax(): argument 'dim' (position 2) must be int, not str",
    }.items():
        assert raised(call) == ("TypeError", said)


@same
def test_the_shape_of_data_changed_after_forward(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    y, once = x * x, x * 2
    x.data = torch.ones(5)
    refused = raised(y.sum().backward), x.grad
    c = torch.ones(3, requires_grad=True)
    (c * 2).sum().backward()
    c.grad.data = torch.ones(4)
    return refused, once.shape, raised((c * 2).sum().backward), raised((c * c).sum().backward), c.grad


@same
def test_a_hook_that_fails_in_numpy_keeps_its_own_error(torch: Any) -> Any:
    import numpy as np

    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: np.ones(3) + np.ones(2))
    return raised(y.sum().backward), x.grad


@same
def test_what_is_looked_up_in_columns_lies_row_by_row(torch: Any) -> Any:
    a, c = torch.arange(6.0, requires_grad=True), torch.arange(24.0).reshape(2, 3, 4)
    columns = (a.reshape(2, 3) * 2)[:, [0, 2, 1]]
    columns.view(6)[:2].sum().backward()
    found = [c[:, [0, 1]], c[..., [0, 1]], c[:, [0, 1], [0, 1]], c[:, None, [0, 1]], c[[0, 1], :, [0, 1]]]
    return columns, columns.stride(), a.grad, [(each, each.stride()) for each in found]
