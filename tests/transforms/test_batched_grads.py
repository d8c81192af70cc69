"""autograd.grad with is_grads_batched: every seed has a dimension in front along which backward runs (row 25.9)."""

from __future__ import annotations

from typing import Any

import pytest
from functions import function, save_inputs, saved, wide
from oracle import entries, raised

import workbench

SEEDS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


@pytest.mark.parametrize(
    "seeds",
    entries("torch.ones(2) | torch.tensor(1.0) | None | [None] | 3.0 | [3.0] | torch.zeros(0, 2) | torch.ones(2, 3)"),
)
def test_25_9_seeds_that_are_no_batch(torch, seeds):
    x = wide(torch, [1.0, 2.0], True)
    return torch.autograd.grad(x * x, x, eval(seeds, {"torch": torch}), is_grads_batched=True)


BATCHES = entries("""
grad(y, x, eye) | grad(y.sum(), x, torch.ones(3)) | grad([y.sum(), x.sum()], x, [three, three]) | grad(y, {"a": x}, eye)
grad(y, (x, w), eye, allow_unused=True) | grad(y, (x, w), eye, materialize_grads=True) | grad(y, (x, w), eye)
grad([y.sum(), y], x, [three, eye]) | grad(y.sum(), x) | grad(y, y, eye) | grad(y, x, eye, retain_graph=True)
[grad(y, x, eye), raised(grad, y, x, eye)] | [grad(y, x, eye, retain_graph=True), grad(y, x, eye)]
""")


@pytest.mark.parametrize("text", BATCHES)
def test_25_9_batches(torch, text):
    def grad(*args, **options):
        return torch.autograd.grad(*args, is_grads_batched=True, **options)

    x, w = wide(torch, [1.0, 2.0], True), wide(torch, [1.0, 2.0], True)
    names = {"torch": torch, "grad": grad, "raised": raised, "x": x, "w": w, "y": x * x}
    return eval(text, names | {"eye": torch.eye(2, dtype=torch.float64), "three": torch.ones(3, dtype=torch.float64)})


def test_25_9_a_batch_has_a_graph_of_its_own(torch):
    x, seeds = wide(torch, [1.0, 2.0], True), wide(torch, SEEDS, True)
    (rows,) = torch.autograd.grad(x * x * x, x, seeds, is_grads_batched=True, create_graph=True)
    return rows.detach(), torch.autograd.grad((rows * rows).sum(), (x, seeds))


def through(torch: Any, backward: Any, create_graph: bool = False) -> Any:
    """The batch of gradients through a Function with this backward."""
    x = wide(torch, [1.0, 2.0], True)
    out = function(torch, lambda ctx, x: x * 2, backward, saves=True).apply(x)
    return torch.autograd.grad(out, x, wide(torch, SEEDS), is_grads_batched=True, create_graph=create_graph)


def test_25_9_one_backward_sees_a_sample_and_runs_for_all(torch):
    def backward(ctx, g):
        seen.append((g.shape, g.dim(), g.requires_grad, torch.is_grad_enabled()))
        return g * ctx.saved_tensors[0]

    seen: list[Any] = []
    x = wide(torch, [1.0, 2.0], True)
    y = x * 2
    y.register_hook(lambda g: seen.append(g.shape))
    y.grad_fn.register_prehook(lambda gs: seen.append(gs[0].shape))
    y.grad_fn.register_hook(lambda outs, gs: seen.append((outs[0].shape, gs[0].shape)))
    hooked = torch.autograd.grad((y * y).sum(), x, torch.ones(3), is_grads_batched=True)
    return through(torch, backward), through(torch, backward, True), hooked, seen


BACKWARDS = entries("""
torch.ones(2, dtype=torch.float64) | None | torch.ones(3) | g.sum() | g.clone().mul_(2) | torch.zeros_like(g).add_(g)
g.new_zeros(2).add_(g) | g * g.sum().item() | g if g.sum() > 0 else g * 2 | g * g.tolist()[0] | g * torch.rand(2)
""")


@pytest.mark.parametrize("text", BACKWARDS)
def test_25_9_what_a_backward_may_do(torch, text):
    return through(torch, lambda ctx, g: eval(text, {"torch": torch, "g": g}))


def inner(torch: Any, how: str) -> Any:
    """A Function that another's backward applies; none of them needs a rule for vmap, and none is asked."""
    slope = saved(lambda h, g, x: (h * x, h * g))
    if how == "one step":
        return function(torch, lambda ctx, g, x: g * x, slope, saves=True).apply
    rule = {"ruled": {"vmap": lambda info, dims, g, x: 1 / 0}, "generated": {"generate_vmap_rule": True}}
    return function(torch, lambda g, x: g * x, slope, setup_context=save_inputs, **rule.get(how, {})).apply


HOW = ["one step", "two steps", "ruled", "generated"]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("how", HOW)
def test_25_9_functions_in_a_backward_need_no_rule(torch, how, create_graph):
    return through(torch, saved(inner(torch, how)), create_graph)[0].detach()


@pytest.mark.parametrize("how", HOW)
def test_25_9_functions_in_a_backward_have_gradients(how: str) -> None:
    """PyTorch 2.13 loses them without a word; right is what one backward after another gives."""
    torch = workbench

    def rows(batched: bool) -> Any:
        x, seeds = wide(torch, [1.0, 2.0], True), wide(torch, SEEDS, True)
        out = function(torch, lambda ctx, x: x * x / 2, saved(inner(torch, how)), saves=True).apply(x)
        if batched:
            (found,) = torch.autograd.grad(out, x, seeds, is_grads_batched=True, create_graph=True)
        else:
            found = torch.stack([torch.autograd.grad(out, x, s, create_graph=True)[0] for s in seeds.unbind()])
        return [t.tolist() for t in (found, *torch.autograd.grad((found * found).sum(), (x, seeds)))]

    assert rows(True) == rows(False)
