"""Semantics of views, and of what may not be written; each test is named after its row in the map."""

from __future__ import annotations

from typing import Any

import pytest
from functions import function
from oracle import chain, raised

import workbench

VIEWS = {
    "of the input": lambda ctx, x: x.view(-1),
    "of a temporary": lambda ctx, x: (x * 2)[:1],
    "the input itself": lambda ctx, x: x,
    "a slice": lambda ctx, x: x[1:],
}


@pytest.mark.parametrize("view", VIEWS)
def test_4_2_a_view_made_in_a_function(torch: Any, view: str) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    out = function(torch, VIEWS[view], lambda ctx, g: g).apply(x * 1)
    facts = (out.grad_fn.name(), out._is_view(), out._base is None)
    return facts, raised(out.add_, 1), raised(out.__setitem__, 0, 5.0), raised(out[:1].mul_, 2)


@pytest.mark.parametrize("view", ["of the input", "the input itself", "a slice"])
def test_4_3_the_base_of_such_a_view_is_written(torch: Any, view: str) -> Any:
    y = torch.tensor([1.0, 2.0], requires_grad=True) * 1
    out = function(torch, VIEWS[view], lambda ctx, g: g).apply(y)
    y.add_(1)
    return out._version, raised(lambda: out.grad_fn), raised(lambda: out * 2), raised(lambda: out.grad_fn)


def test_4_3_another_view_of_the_base_is_written(torch: Any) -> Any:
    y = torch.tensor([1.0, 2.0], requires_grad=True) * 1
    out = function(torch, VIEWS["of the input"], lambda ctx, g: g).apply(y)
    y[:1].add_(1)
    return raised(lambda: out.grad_fn), raised(lambda: out.sum())


def two(torch: Any) -> Any:
    return function(torch, lambda ctx, x: (x.view(-1), x * 2), lambda ctx, a, b: a + 2 * b)


def test_4_4_one_of_several_outputs_is_a_view(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    view, new = two(torch).apply(x * 1)
    refused = raised(view.add_, 1)
    new.mul_(3)
    facts = (chain(new.grad_fn), new._version)
    (view + new).sum().backward()
    return refused, facts, x.grad


def test_4_5_a_custom_view_of_a_plain_tensor(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    out = function(torch, VIEWS["of the input"], lambda ctx, g: g).apply(x)
    out.add_(1)
    facts = (out._base is x, out.grad_fn, x, x._version)
    y = torch.ones(2, requires_grad=True)
    return facts, raised(out.add_, y), raised(out.mul_, y * 2), out.requires_grad, x.requires_grad


def test_4_6_a_cloned_output(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    out = function(torch, lambda ctx, x: x.view(-1).clone(), lambda ctx, g: g).apply(x * 1)
    out.add_(1)
    out[0] = 5.0
    (out * out).sum().backward()
    return out, x.grad, chain(out.grad_fn)


def test_4_7_a_view_made_under_no_grad(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    with torch.no_grad():
        view, leaf_view = y[:1], x[:1]
    facts = (view.requires_grad, view.grad_fn, leaf_view.requires_grad, leaf_view.is_leaf, view._base is y)
    refused = raised(view.add_, 1), raised(leaf_view.add_, 1), raised(view[:1].mul_, 2)
    with torch.no_grad():
        view.add_(1)
        leaf_view.add_(1)
    return facts, refused, x, y, y._version, raised(lambda: view.grad_fn)


def test_4_7_nothing_leads_from_a_view_made_under_no_grad(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.no_grad():
        view = x[:1]
    seen: list[Any] = []
    view.register_hook(seen.append)
    out = view * 3
    return (
        (out, chain(out.grad_fn), out.backward(), x.grad, view.grad, seen),
        raised(view.backward),
        raised(torch.autograd.grad, view * x, view),
        torch.autograd.grad(view * x[:1], [x, view], allow_unused=True),
        raised(torch.autograd.graph.get_gradient_edge, view),
    )


def test_4_7_a_view_of_a_plain_tensor_made_under_no_grad(torch: Any) -> Any:
    y = torch.tensor([1.0, 2.0])
    with torch.no_grad():
        view = y[:1]
    view.add_(1)
    return y, raised(view.add_, torch.ones(1, requires_grad=True)), view.requires_grad, y.requires_grad


def test_4_7_a_view_made_in_inference_mode(torch: Any) -> Any:
    y = torch.tensor([1.0, 2.0], requires_grad=True) * 1
    with torch.inference_mode():
        view = y[:1]
        view.add_(1)
    return raised(view.add_, 1), y, y._version, view.is_inference()


def test_4_7_the_base_is_written_after_such_a_view(torch: Any) -> Any:
    y = torch.tensor([1.0, 2.0], requires_grad=True) * 1
    with torch.no_grad():
        view = y[:1]
    y.add_(1)
    return view, view._version, raised(lambda: view.grad_fn), raised(lambda: view * 2)


PARTS = [lambda x: x.split(2), lambda x: x.unbind(), lambda x: x.chunk(2), lambda x: list(x), lambda x: x.split([1, 3])]


@pytest.mark.parametrize("parts", PARTS)
def test_4_11_parts_of_a_split(torch: Any, parts: Any) -> Any:
    y = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True) * 1
    views = parts(y)
    refused = [raised(v.add_, 1) for v in views]
    with torch.no_grad():
        views[0].add_(1)
    y.detach()[0] = 7.0
    plain = torch.tensor([1.0, 2.0, 3.0, 4.0])
    parts(plain)[0].add_(1)
    return refused, y, plain, raised(lambda: views[0].grad_fn)


@pytest.mark.parametrize("parts", PARTS)
def test_4_11_gradients_of_parts(torch: Any, parts: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    views = parts(x * 1)
    facts = [(v.grad_fn.name(), v.output_nr, v._is_view(), v) for v in views]
    (views[0] * views[0]).sum().backward()
    return facts, x.grad


def test_4_12_detach_shares(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    used = y * y
    d = y.detach()
    facts = (d.requires_grad, d._is_view(), d.is_leaf)
    d.add_(1)
    return facts, y, y._version, d._version, raised(used.sum().backward)


def test_4_12_detach_of_a_leaf(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.detach().zero_()
    return x, x._version


def test_4_13_views_of_what_was_detached(torch: Any) -> Any:
    y = torch.tensor([1.0, 2.0], requires_grad=True) * 1
    view = y[:1]
    y.detach_()
    before = y.grad_fn, y.is_leaf, chain(view.grad_fn), view.requires_grad
    y.mul_(2)
    return before, chain(view.grad_fn), view.requires_grad, view.is_leaf, raised(view.backward)


def test_4_14_a_view_of_a_plain_tensor_requires_grad(torch: Any) -> Any:
    base = torch.zeros(3)
    view = base[:2].requires_grad_()
    facts = (base.requires_grad, view.is_leaf, view.requires_grad, view.grad_fn)
    base.add_(1)
    refused = raised(view.add_, 1)
    (view * 2).sum().backward()
    return facts, refused, view.grad, base, view


def test_4_15_the_base(torch: Any) -> Any:
    x = torch.zeros(2, 3)
    views = [x[0], x[0][1:], x.t(), x.view(-1)[2:], x.detach()[0]]
    return (x._base, [v._base is x for v in views], [v._is_view() for v in views], x.clone()._base, (x * 2)._base)


def test_4_16_a_reshape_that_copies(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    copied, viewed = y.t().reshape(4), y.reshape(4)
    copied.add_(1)
    facts = (copied._is_view(), viewed._is_view(), copied.grad_fn.name(), viewed.grad_fn.name(), y, y._version)
    viewed.mul_(2)
    return facts, y, y._version, copied._version, torch.autograd.grad(y.sum() + copied.sum(), x)


def test_a_view_that_has_left_its_base_s_memory_has_no_gradient_there() -> None:
    import workbench as torch

    base = torch.ones(3, requires_grad=True) * 1
    view = base[:2]
    base.mul_(2)
    view.data = torch.zeros(2)
    words = "^A view's gradient has another dtype than the view, or the view has left its base's memory.$"
    with pytest.raises(RuntimeError, match=words):
        view.sum().backward()


@pytest.mark.parametrize("create_graph", [False, True])
def test_writes_into_a_base_that_does_not_lie_in_rows(torch: Any, create_graph: bool) -> Any:
    told = []
    for part in ((0,), (slice(None), 1), (slice(1, None), slice(None, None, 2))):
        x = torch.arange(1.0, 7.0).reshape(3, 2).t().requires_grad_()
        y = torch.tensor(3.0, requires_grad=True)
        base = x.clone()
        base[part].mul_(y)
        weights = torch.arange(6.0).reshape(2, 3)
        grads = torch.autograd.grad((base * weights).sum(), [x, y], create_graph=create_graph)
        told.append((base.stride(), [g.tolist() for g in grads]))
    return told


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_repeated_view_of_what_was_written_adds_up(torch: Any, times: int) -> Any:
    x = torch.tensor([[1.0], [2.0]], requires_grad=True)
    base = x * 1
    view = base.expand(2, times)
    base.mul_(3)
    return torch.autograd.grad((view * view).sum(), x)[0].tolist()


@pytest.mark.parametrize("of_the_view", [True, False])
def test_a_write_into_a_view_that_has_left_its_base_has_no_gradient_from_elsewhere(of_the_view: bool) -> None:
    x = workbench.ones(4, requires_grad=True)
    base = x.clone()
    view = base[1:3]
    (view if of_the_view else base).data = workbench.ones(5 if of_the_view else 1)
    view.mul_(3.0)
    with pytest.raises(RuntimeError, match="or the view has left its base's memory"):
        view.sum().backward()
