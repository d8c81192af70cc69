"""Edges of the operations beside PyTorch's: what is noticed when it was written, layout of memory, what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from expressions import POSITIVE, TALL
from oracle import chain, entries, names, raised

import workbench


def test_a_clone_that_lies_otherwise_is_viewed_and_reshaped(torch: Any) -> Any:
    a = torch.arange(6.0).reshape(2, 3).requires_grad_()
    b = a.t().clone()
    c, d = b.contiguous(), b.reshape(6)
    chain = b.grad_fn, c.grad_fn, d.grad_fn, d.grad_fn.next_functions[0][0], c.is_contiguous(), d._base
    (c * d.view(3, 2)).sum().backward()
    return chain, b, c, d, a.grad, a.grad.stride(), raised(b.view, 6)


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
def test_a_gradient_of_another_shape(torch: Any, op: str, gradient: str) -> Any:
    named = names(torch)
    leaves = [v for v in named.values() if isinstance(v, torch.Tensor) and v.requires_grad]
    seen = []
    for register in ("register_prehook", "register_hook"):
        h = eval(op, named)
        getattr(h.grad_fn, register)(lambda gs, *rest: (eval(gradient, named | {"gs": gs}).double(),))
        seen.append(raised(h.sum().backward))
    return seen, [leaf.grad for leaf in leaves], raised(h.backward, eval(gradient, named | {"gs": [named["x"]]}))


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


UNKNOWN = """
torch.max(x, 0, bad=1) | torch.min(x, bad=1) | x.argmax(0, bad=1) | x.std(bad=1) | x.amax(0, bad=1)
x.new_ones(2, bad=1) | torch.tril(x, bad=1) | torch.atleast_2d(x, bad=1) | torch.remainder(x, 2, bad=1)
"""


@pytest.mark.parametrize("text", entries(UNKNOWN))
def test_an_unknown_argument_is_told_of_under_the_functions_public_name(text: str) -> None:
    name = text.partition("(")[0].rpartition(".")[2]
    with pytest.raises(TypeError, match=rf"^(Tensor\.)?{name}\(\) got an unexpected keyword argument 'bad'"):
        eval(text, {"torch": workbench, "x": workbench.ones(2, 2)})


def test_the_argument_is_named_where_pytorch_lists_signatures() -> None:
    a = workbench.ones(2, 3)
    for call, said in {
        lambda: a.sum("rows"): "sum(): argument 'dim' (position 1) must be tuple of ints, not str",
        lambda: a.sum(a): "sum(): argument 'dim' (position 1) must be tuple of ints, not Tensor",
        lambda: workbench.sum(a, 1.5): "sum(): argument 'dim' (position 2) must be tuple of ints, not float",
        lambda: a.sum(("a", 0)): "sum(): argument 'dim' (position 1) must be tuple of ints, but found element of type "
        "str at pos 0",
        lambda: a.max("a"): "max(): argument 'dim' (position 1) must be int, not str",
        lambda: workbench.min(a, True): "min(): argument 'dim' (position 2) must be int, not bool",
        lambda: workbench.nn.Softmax("a")(a): "softmax(): argument 'dim' (position 2) must be int, not str",
    }.items():
        assert raised(call) == ("TypeError", said)


def test_the_shape_of_data_changed_after_forward(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    y, once = x * x, x * 2
    x.data = torch.ones(5)
    refused = raised(y.sum().backward), x.grad
    c = torch.ones(3, requires_grad=True)
    (c * 2).sum().backward()
    c.grad.data = torch.ones(4)
    return refused, once.shape, raised((c * 2).sum().backward), raised((c * c).sum().backward), c.grad


def test_a_hook_that_fails_in_numpy_keeps_its_own_error(torch: Any) -> Any:

    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: np.ones(3) + np.ones(2))
    return raised(y.sum().backward), x.grad


def test_what_is_looked_up_in_columns_lies_row_by_row(torch: Any) -> Any:
    a, c = torch.arange(6.0, requires_grad=True), torch.arange(24.0).reshape(2, 3, 4)
    columns = (a.reshape(2, 3) * 2)[:, [0, 2, 1]]
    columns.view(6)[:2].sum().backward()
    found = [c[:, [0, 1]], c[..., [0, 1]], c[:, [0, 1], [0, 1]], c[:, None, [0, 1]], c[[0, 1], :, [0, 1]]]
    return columns, columns.stride(), a.grad, [(each, each.stride()) for each in found]


SHAPES = [(2,), (2, 2), (1, 2, 2), (3, 2, 2), (4, 1, 2, 2), (3, 1, 2), (3, 2, 1), (0, 2), (3, 0, 2), (0,)]


@pytest.mark.parametrize("left, right", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("shapes", list(itertools.product(SHAPES, SHAPES)), ids=str)
def test_every_kind_of_matrix_product(torch: Any, shapes: Any, left: bool, right: bool) -> Any:
    """One product where PyTorch computes one, a batch where it computes a batch; and what it says of sizes."""
    a, b = (torch.ones(shape).cumsum(0).requires_grad_(on) for shape, on in zip(shapes, (left, right), strict=True))
    out = a @ b
    out.sum().backward()
    return chain(out.grad_fn), out.sum(), a.grad is None or a.grad.sum(), b.grad is None or b.grad.sum()


def test_a_product_with_what_is_not_in_order(torch: Any) -> Any:
    batch = torch.ones(3, 4, 2).cumsum(0)
    one = torch.ones(2, 2, requires_grad=True)
    turned = [batch.transpose(0, 1), batch[:, ::2], batch.mT.contiguous().mT]
    found = [(t.requires_grad_() @ one.detach(), t @ one) for t in turned]
    return [(chain(a.grad_fn), chain(b.grad_fn), (a - b).abs().max().item()) for a, b in found]


# Targets and the classes' weights: the weights of all that counts may be 0.
WEIGHED = """
[0, 0], [0, 0, 0] | [0, 2], [0, 0, 0] | [0, 0], [0, 1, 2] | [-100, 0], [0, 1, 2] | [-100, -100], [0, 0, 0]
[0, 1], [0, 1, 2] | [-100, -100], None | [0, 2], [1, 0, -1] | [0, 1], [1, -1, 0]
"""


@pytest.mark.parametrize("loss", ["nll_loss", "cross_entropy"])
@pytest.mark.parametrize("text", entries(WEIGHED))
def test_weights_that_sum_to_0(torch: Any, text: str, loss: str) -> Any:
    target, weight = eval(text)
    weight = None if weight is None else torch.tensor([float(w) for w in weight])
    rows = torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, -1.0]], requires_grad=True)
    images = rows.detach().t()[None, :, :, None].contiguous().requires_grad_()
    seen = []
    for x, t in ((rows, torch.tensor(target)), (images, torch.tensor(target)[None, :, None])):
        for reduction in ("mean", "sum"):
            out = getattr(torch.nn.functional, loss)(x, t, weight, reduction=reduction)
            seen += [out.item(), torch.autograd.grad(out, x)[0].tolist()]
    return seen


@pytest.mark.parametrize("join", ["cat", "stack"])
def test_what_a_hook_sees_of_integers_that_were_joined(torch: Any, join: str) -> Any:
    x, seen = torch.ones(2, requires_grad=True), []
    others = torch.tensor([1, 2]), torch.tensor([True, False]), torch.ones(2, dtype=torch.float64)
    joined = getattr(torch, join)([x, *others])
    joined.grad_fn.register_hook(lambda grads, _: seen.extend(grads))
    joined.sum().backward()
    return seen, x.grad


def test_a_result_that_was_written_to_is_refused_by_its_own_backward(torch: Any) -> Any:
    u, s, vh = torch.linalg.svd(torch.tensor(TALL, requires_grad=True), False)
    u.data.mul_(1)
    loss = (u.square() * s).sum()
    with torch.no_grad():
        vh.mul_(2)
    loss.backward()


def test_hooks_see_what_a_decomposition_saves(torch: Any) -> Any:
    seen: list[Any] = []
    a = torch.tensor(POSITIVE[0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(tuple(t.shape)) or t, lambda t: t):
        values, vectors = torch.linalg.eigh(a)
    (grad,) = torch.autograd.grad((values * values).sum() + vectors.square()[0, 0], a)
    return seen, grad, values.grad_fn._saved_eigenvalues.shape
