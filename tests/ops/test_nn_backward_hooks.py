"""Hooks on a module's backward: what they are given, what they change, the nodes they lie in, what they refuse."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import chain, compare

# What a hook returns, by what it does; `i` and `o` are the gradients of inputs and outputs.
AFTER = {
    "looks": lambda i, o: None,
    "doubles": lambda i, o: tuple([g if g is None else g * 2 for g in i]),
    "gives one too many": lambda i, o: (*i, None),
    "gives no tuple": lambda i, o: i[0] * 2,
    "gives the outputs'": lambda i, o: o,
}
BEFORE = {
    "looks": lambda o: None,
    "triples": lambda o: tuple([g if g is None else g * 3 for g in o]),
    "gives one too many": lambda o: (*o, None),
}


def models(torch: Any) -> dict[str, Any]:
    """Modules of several kinds, each with its arguments."""

    class Several(torch.nn.Module):
        def forward(self, a: Any, number: int) -> Any:
            return a * number, a + 1, "text"

    class List(torch.nn.Module):
        def forward(self, a: Any) -> Any:
            return [a * 2]

    class InPlace(torch.nn.Module):
        def forward(self, a: Any) -> Any:
            return a.mul_(2)

    linear = torch.nn.Linear(2, 1).double()
    linear.load_state_dict({"weight": torch.tensor([[1.0, -2.0]]), "bias": torch.tensor([0.5])})
    x = torch.tensor([[1.0, 2.0], [0.5, -1.0]], dtype=torch.float64, requires_grad=True)
    return {
        "linear": (linear, (x,)),
        "relu": (torch.nn.ReLU(), (x,)),
        "of a constant": (linear, (x.detach(),)),
        "of a constant alone": (torch.nn.ReLU(), (x.detach(),)),
        "several": (Several(), (x, 5)),
        "a list": (List(), (x,)),
        "in place": (InPlace(), (x,)),
        "nothing": (torch.nn.ReLU(), ()),
    }


def shown(torch: Any, model: str, after: Any = None, before: Any = None) -> Any:
    """One call and its backward, with a hook on each side."""
    module, args = models(torch)[model]
    seen = []
    if after is not None:
        module.register_full_backward_hook(lambda m, i, o: (seen.append((type(m).__name__, i, o)), after(i, o))[1])
    if before is not None:
        module.register_full_backward_pre_hook(lambda m, o: (seen.append((type(m).__name__, o)), before(o))[1])
    out = module(*args)
    first = out if isinstance(out, torch.Tensor) else out[0]
    graph = chain(first.grad_fn)
    if first.requires_grad:
        first.sum().backward()
    return seen, graph, out, args[0].grad, [p.grad for p in module.parameters()]


KINDS = ("linear", "relu", "of a constant", "of a constant alone", "several", "a list", "in place", "nothing")


@pytest.mark.parametrize("what", AFTER)
@pytest.mark.parametrize("model", KINDS)
def test_a_hook_after(model: str, what: str) -> None:
    compare(lambda torch: shown(torch, model, after=AFTER[what]))


@pytest.mark.parametrize("what", BEFORE)
@pytest.mark.parametrize("model", KINDS)
def test_a_hook_before(model: str, what: str) -> None:
    compare(lambda torch: shown(torch, model, before=BEFORE[what]))


@pytest.mark.parametrize("model", KINDS)
def test_hooks_on_both_sides(model: str) -> None:
    compare(lambda torch: shown(torch, model, AFTER["doubles"], BEFORE["triples"]))


def test_order_and_removal(torch: Any) -> Any:
    module, (x,) = models(torch)["relu"]
    seen: list[str] = []
    handles = [
        module.register_full_backward_hook(lambda m, i, o: seen.append("one")),
        module.register_full_backward_hook(lambda m, i, o: seen.append("two"), prepend=True),
        module.register_full_backward_pre_hook(lambda m, o: seen.append("before")),
        module.register_full_backward_pre_hook(lambda m, o: seen.append("first"), prepend=True),
    ]
    out = module(x)
    handles[0].remove()  # too late for a call that was made
    out.sum().backward()
    seen.append("again")
    module(x).sum().backward()
    for handle in handles:
        handle.remove()
    return seen, chain(module(x).grad_fn), x.grad


def test_modules_in_modules_and_a_second_derivative(torch: Any) -> Any:
    net = torch.nn.Sequential(torch.nn.Sigmoid(), torch.nn.Tanh()).double()
    seen: list[Any] = []
    for module in (net, *net):
        module.register_full_backward_hook(lambda m, i, o: seen.append((type(m).__name__, i[0].shape)))
    x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    g.sum().backward()
    with torch.no_grad():
        quiet = net(x)
    return seen, x.grad, quiet
