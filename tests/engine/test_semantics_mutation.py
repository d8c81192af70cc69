"""Semantics of saved tensors that are written or have hooks of their own; each test is named after its row."""

from __future__ import annotations

from typing import Any

import pytest
from functions import saving_four
from oracle import raised

import workbench

WRITES = {
    "through a view": lambda x, y: y[:1].mul_(5),
    "twice": lambda x, y: y.add_(1).mul_(2),
    "by index": lambda x, y: y.__setitem__(0, 7.0),
    "detached": lambda x, y: y.detach().zero_(),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("custom", [True, False])
def test_22_7_writes_into_what_was_saved(torch: Any, write: str, custom: bool) -> Any:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = x * 1
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        out = saving_four(torch).apply(y) if custom else y * y
        WRITES[write](x, y)
        again = y * y
        WRITES[write](x, y)
        (first,) = torch.autograd.grad(out.sum(), x, retain_graph=True)
        again.sum().backward()
    return first, x.grad, y


def test_22_7_backward_outside(torch: Any) -> Any:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = x * 1
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        out, plain = (y * y).sum(), (y + 1).sum()
    return raised(out.backward), raised(plain.backward), x.grad


def test_22_7_nested(torch: Any) -> Any:
    allow = torch.autograd.graph.allow_mutation_on_saved_tensors

    def nest():
        with allow(), allow():
            pass

    what = raised(nest)
    with allow():
        return what


def test_22_7_the_saved_result_of_a_write(torch: Any) -> Any:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = (x * 1).exp_()
        z = y * y
        y.mul_(2)
        z.sum().backward()
    return x.grad


def test_22_8_hooks_on_one_saved_tensor(torch: Any) -> Any:
    seen = []

    def pack(t):
        seen.append("pack")
        return t * 2

    x, y = torch.tensor([2.0], requires_grad=True), torch.tensor([5.0], requires_grad=True)
    out, custom = x * y, saving_four(torch).apply(x)
    raw = out.grad_fn._raw_saved_self
    raw.register_hooks(pack, lambda t: t)
    before = list(seen)
    again = raised(raw.register_hooks, pack, pack)
    custom.grad_fn._raw_saved_tensors[0].register_hooks(pack, lambda t: t)
    none = raised(custom.grad_fn._raw_saved_tensors[1].register_hooks, pack, pack)
    saved = out.grad_fn._saved_self, custom.grad_fn.saved_tensors[0]
    return before, again, none, saved, torch.autograd.grad(out, [x, y])


def test_22_8_registering_after_the_free(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    out, custom = x.exp(), saving_four(torch).apply(x)
    raw = out.grad_fn._raw_saved_result
    (out + custom).backward()
    return raised(raw.register_hooks, id, id), raised(lambda: custom.grad_fn._raw_saved_tensors)


def test_22_8_what_such_hooks_may_return(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    out = x.exp() * x
    written = raised(out.grad_fn._raw_saved_self.register_hooks, lambda t: t.mul_(2), lambda t: t)
    out = x.exp()
    out.grad_fn._raw_saved_result.register_hooks(lambda t: t.tolist(), lambda t: 5)
    return written, raised(out.backward)


SAVED = {
    "x * y": ("self", "other"),
    "x * 3": ("self",),  # `_saved_other` is an int64 tensor in PyTorch; here it has the dtype of the product
    "x * p": ("self", "other"),
    "x / y": ("self", "other"),
    "x.exp()": ("result",),
    "x.sin()": ("self",),
    "x.pow(3)": ("self", "exponent"),
    "x ** y": ("self", "exponent", "result"),
    "x.sum(0)": ("self_sym_sizes", "dim", "keepdim"),
    "x.sum()": ("self_sym_sizes",),
    "x.clamp(1, 3)": ("self", "min", "max"),
    "x.view(2, 1)": ("self_sym_sizes",),
    "x.max(0)[0]": ("indices", "dim", "keepdim", "self_sym_sizes"),
    "x.view(1, 2) @ y.view(2, 1)": ("self", "mat2"),
    "x.relu()": ("result",),
    "x.tanh()": ("result",),
    "x.log()": ("self",),
    "x.mean()": ("self_sym_sizes",),
    "x[0]": ("dim", "index", "self_sym_sizes"),
    "torch.cat([x, y])": ("dim",),
    "x.abs()": ("self",),
    "x.unsqueeze(0)": ("dim",),
    "x.view(1, 2).expand(3, 2)": ("self_sym_sizes",),
}


@pytest.mark.parametrize("text", SAVED)
def test_22_9_what_built_in_nodes_show(torch: Any, text: str) -> Any:
    x, y = torch.tensor([2.0, 0.5], requires_grad=True), torch.tensor([1.0, 3.0], requires_grad=True)
    out = eval(text, {"torch": torch, "x": x, "y": y, "p": torch.tensor([1.0, 4.0])})
    node = out.grad_fn

    def read(name):
        try:
            value = getattr(node, "_saved_" + name)
        except (RuntimeError, AttributeError) as error:
            return type(error).__name__, str(error)
        return value is x, value is y, value

    before = {name: read(name) for name in SAVED[text]}
    out.sum().backward()
    return before, {name: read(name) for name in SAVED[text]}


WRITTEN_VIEWS = {  # PyTorch copies one of those that share memory, and the gradients take the others' new values
    "a, b = y[:1], y[1:]; z = a * b; y.mul_(10)": [3.0, 2.0],
    "v = y[1:]; z = y * y; w = v * v; v.mul_(10); z = z + w.sum()": [4.0, 18.0],
    "a = y[1:]; z = a * y; a.mul_(10)": [3.0, 8.0],
    "a = y[1:]; z = a * a; y.mul_(10); q = a * a; y.mul_(10); z = z + q": [0.0, 606.0],
}


@pytest.mark.parametrize("text", WRITTEN_VIEWS)
def test_saved_views_that_are_written_keep_their_values(text: str) -> None:
    x = workbench.tensor([2.0, 3.0], requires_grad=True)
    known = {"y": x * 1}
    with workbench.autograd.graph.allow_mutation_on_saved_tensors():
        exec(text, known)
        (grad,) = workbench.autograd.grad(known["z"].sum(), x)
    assert grad.tolist() == WRITTEN_VIEWS[text]
