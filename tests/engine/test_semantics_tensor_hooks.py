"""Semantics of hooks on tensors; each test is named after its row in the map."""

from __future__ import annotations

from typing import Any

import pytest
from functions import function, two
from oracle import raised, warned


@pytest.mark.parametrize("create_graph", [True, False])
def test_23_7_a_tensor_hook(torch: Any, create_graph: bool) -> Any:
    seen: list[Any] = []

    def hook(g):
        seen.append((g, torch.is_grad_enabled()))
        return g * 10

    x = torch.tensor([2.0], requires_grad=True)
    y = x * 1
    y.register_hook(hook)
    out = y * y + y.exp() + y * 3
    (g,) = torch.autograd.grad(out, x, create_graph=create_graph)
    return seen, g, g.requires_grad


def test_23_7_called_with_none(torch: Any) -> Any:
    seen: list[Any] = []
    Stop = function(torch, lambda ctx, x: x * 2, lambda ctx, g: None, name="Stop")
    x = torch.tensor([2.0], requires_grad=True)
    y = x.exp()
    y.register_hook(lambda g: seen.append(("y", g)))
    x.register_hook(lambda g: seen.append(("x", g)))
    y.retain_grad()
    Stop.apply(y).backward()
    return seen, x.grad, y.grad


def test_23_7_an_answer_to_none(torch: Any) -> Any:
    Stop = function(torch, lambda ctx, x: x * 2, lambda ctx, g: None, name="Stop")
    x = torch.tensor([2.0], requires_grad=True)
    y = x * 3
    y.register_hook(lambda g: torch.ones(1))
    return raised(Stop.apply(y).backward), x.grad


@pytest.mark.parametrize("leaf", [True, False])
@pytest.mark.parametrize("returned", ["text", 5, "shape", "dtype", "expanded", "tuple"])
def test_23_8_what_tensor_hooks_may_return(torch: Any, returned: Any, leaf: bool) -> Any:
    x = torch.ones(2, requires_grad=True)
    t = x if leaf else x * 1

    def named(g):
        special = {"shape": g.sum(), "dtype": g.double(), "expanded": g.expand(3, 2), "tuple": (g,)}
        return special.get(returned, returned)

    t.register_hook(named)
    first = raised((t * 2).sum().backward), x.grad
    t = x * 1
    t.register_hook(lambda g: named(g))
    return first, raised((t * 2).sum().backward)


@pytest.mark.parametrize("view", [True, False])
def test_23_9_a_write_after_registering(torch: Any, view: bool) -> Any:
    seen: list[Any] = []
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = x * 3
    y.register_hook(lambda g: seen.append(("old", g)))
    y.retain_grad()
    (y[:1] if view else y).mul_(5)
    y.register_hook(lambda g: seen.append(("new", g)))
    (y * y).sum().backward()
    return seen, y.grad, x.grad, y.retains_grad


def test_23_9_hooks_on_a_view_whose_base_is_written(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    base = x * 3
    view = base[:1]
    view.register_hook(lambda g: seen.append(("old", g)))
    used = view * 2
    base.mul_(5)
    # Without this line PyTorch puts the second hook where the first one is: it has not made the new grad_fn yet.
    view.grad_fn  # noqa: B018
    view.register_hook(lambda g: seen.append(("new", g)))
    (used.sum() + (view * 7).sum() + base.sum()).backward()
    return seen, x.grad


def test_23_10_retain_grad(torch: Any) -> Any:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = x * 3
    facts = [y.retains_grad, x.retains_grad]
    y.retain_grad()
    y.retain_grad()
    x.retain_grad()
    facts += [y.retains_grad, x.retains_grad]
    y.register_hook(lambda g: g * 10)
    y.sum().backward(retain_graph=True)
    first, once = y.grad, y.grad.clone()
    y.sum().backward()
    return facts, once, y.grad, first is y.grad, first, raised(torch.ones(1).retain_grad)


def test_23_10_retain_grad_with_create_graph(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    y = x * x
    y.retain_grad()
    (y * y).backward(create_graph=True)
    return y.grad, torch.autograd.grad(y.grad, x)


def test_23_10_several_outputs(torch: Any) -> Any:
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    a, b = two(torch).apply(x, y)
    a.retain_grad()
    b.retain_grad()
    (a * 5).backward()
    return a.grad, b.grad


def test_23_10_a_view_whose_base_was_written(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y, plain = x * 1, torch.zeros(2)
    view, leaf = y[:1], plain[:1]
    with torch.no_grad():
        y.mul_(2)
    plain.mul_(x)
    view.retain_grad()
    leaf.retain_grad()  # nobody has asked yet what it came from
    facts = view.retains_grad, leaf.retains_grad
    (view * leaf).sum().backward()
    one = y.unbind()[0]
    with torch.no_grad():
        late = y[0]
    y.mul_(2)
    return facts, view.grad, [(raised(t.retain_grad), t.retains_grad) for t in (late, one)]


def test_23_11_the_gradient_of_a_non_leaf(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    told = warned(lambda: y.grad), warned(lambda: x.grad), warned(lambda: y.detach().grad)
    y.retain_grad()
    return told, warned(lambda: y.grad)


def test_23_12_after_accumulation(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.ones(1, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p: seen.append((p is x, p.grad.clone(), torch.is_grad_enabled())))
    (x * 2).backward()
    (x * 3).backward(inputs=[x])
    torch.autograd.grad(x * 5, x)
    handle = x.register_post_accumulate_grad_hook(lambda p: p.grad)
    wrong = raised((x * 2).backward)
    handle.remove()
    (x * x).backward(create_graph=True)
    return seen, wrong, raised((x * 2).register_post_accumulate_grad_hook, id), x.grad


def test_23_12_what_a_hook_after_accumulation_returns(torch: Any) -> Any:
    def after(*hooks: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        for hook in hooks:
            x.register_post_accumulate_grad_hook(hook)
        return raised((x * 2).sum().backward), x.grad

    seen: list[Any] = []
    return (
        after(lambda p: p),
        after(lambda p: 1),
        after(lambda p: torch.ones(3)),
        after(lambda p: p.grad.double()),
        after(lambda p: p.grad * 5, lambda p: seen.append(p.tolist())),
        seen,
    )


def test_23_12_letting_the_gradient_go(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)

    def step(p):
        with torch.no_grad():
            p -= p.grad
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 1.5).backward()
    return x, x.grad, x._version


def test_23_12_when_there_was_nothing_to_accumulate(torch: Any) -> Any:
    Stop = function(torch, lambda ctx, x: x * 2, lambda ctx, g: None, name="Stop")
    seen: list[Any] = []
    x = torch.ones(1, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad))
    Stop.apply(x).backward()
    y = x * 2
    x.requires_grad_(False)
    y.backward()
    return seen, x.grad
