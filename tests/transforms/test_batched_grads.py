"""autograd.grad with is_grads_batched: every seed has a dimension in front along which backward runs (row 25.9)."""

from __future__ import annotations

from typing import Any

import pytest
from functions import function, saved
from oracle import compare, raised, same

import workbench


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


REFUSED = (
    "torch.ones(2)",
    "torch.tensor(1.0)",
    "None",
    "[None]",
    "3.0",
    "[3.0]",
    "torch.zeros(0, 2)",
    "torch.ones(2, 3)",
)


@pytest.mark.parametrize("seeds", REFUSED)
@same
def test_25_9_seeds_that_are_no_batch(torch, seeds):
    x = leaf(torch, 1.0, 2.0)
    return torch.autograd.grad(x * x, x, eval(seeds, {"torch": torch}), is_grads_batched=True)


@same
def test_25_9_batches(torch: Any) -> Any:
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 1.0, 2.0)
    y = x * x
    eye = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    grad, three = torch.autograd.grad, torch.ones(3, dtype=torch.float64)
    keep = {"is_grads_batched": True, "retain_graph": True}
    return (
        grad(y, x, eye, **keep),
        grad(y.sum(), x, torch.ones(3), **keep),
        grad([y.sum(), x.sum()], x, [three, three], **keep),
        grad(y, (x, w), eye, allow_unused=True, **keep),
        grad(y, (x, w), eye, materialize_grads=True, **keep),
        grad(y, {"a": x}, eye, **keep),
        raised(grad, y, (x, w), eye, **keep),
        raised(grad, [y.sum(), y], x, [three, eye], **keep),
        raised(grad, y.sum(), x, **keep),
        grad(y, y, eye, **keep),
        grad(y, x, eye, is_grads_batched=True),
        raised(grad, y, x, eye, is_grads_batched=True),
    )


@same
def test_25_9_a_batch_has_a_graph_of_its_own(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    seeds = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=torch.float64, requires_grad=True)
    (rows,) = torch.autograd.grad(x * x * x, x, seeds, is_grads_batched=True, create_graph=True)
    return rows.detach(), torch.autograd.grad((rows * rows).sum(), (x, seeds))


def through(torch: Any, backward: Any, create_graph: bool = False) -> Any:
    """The batch of gradients through a Function with this backward."""

    Own = function(torch, lambda ctx, x: x * 2, lambda ctx, g: backward(ctx, g), saves=True)

    x = leaf(torch, 1.0, 2.0)
    seeds = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=torch.float64)
    return torch.autograd.grad(Own.apply(x), x, seeds, is_grads_batched=True, create_graph=create_graph)


@same
def test_25_9_one_backward_sees_a_sample_and_runs_for_all(torch: Any) -> Any:
    seen = []

    def backward(ctx, g):
        seen.append((g.shape, g.dim(), g.requires_grad, torch.is_grad_enabled()))
        return g * ctx.saved_tensors[0]

    def hooked():
        x = leaf(torch, 1.0, 2.0)
        y = x * 2
        y.register_hook(lambda g: seen.append(g.shape))
        y.grad_fn.register_prehook(lambda gs: seen.append(gs[0].shape))
        y.grad_fn.register_hook(lambda outs, gs: seen.append((outs[0].shape, gs[0].shape)))
        return torch.autograd.grad((y * y).sum(), x, torch.ones(3), is_grads_batched=True)

    return through(torch, backward), through(torch, backward, True), hooked(), seen


BACKWARDS = {
    "the same for all": lambda torch: lambda ctx, g: torch.ones(2, dtype=torch.float64),
    "none": lambda torch: lambda ctx, g: None,
    "of another shape": lambda torch: lambda ctx, g: torch.ones(3),
    "summed": lambda torch: lambda ctx, g: g.sum(),
    "in place": lambda torch: lambda ctx, g: g.clone().mul_(2),
    "into zeros": lambda torch: lambda ctx, g: torch.zeros_like(g).add_(g),
    "into new zeros": lambda torch: lambda ctx, g: g.new_zeros(2).add_(g),
    "a number": lambda torch: lambda ctx, g: g * g.sum().item(),
    "a decision": lambda torch: lambda ctx, g: g if g.sum() > 0 else g * 2,
    "a list": lambda torch: lambda ctx, g: g * g.tolist()[0],
    "random": lambda torch: lambda ctx, g: g * torch.rand(2),
}


@pytest.mark.parametrize("name", BACKWARDS)
def test_25_9_what_a_backward_may_do(name: str) -> None:
    compare(lambda torch: through(torch, BACKWARDS[name](torch)))


def inner(torch: Any, how: str) -> Any:
    """A Function that another's backward applies; none of them needs a rule for vmap, and none is asked."""
    if how == "one step":
        Inner = function(torch, lambda ctx, g, x: g * x, saved(lambda h, g, x: (h * x, h * g)), saves=True)

        return Inner

    Inner = function(
        torch,
        lambda g, x: g * x,
        saved(lambda h, g, x: (h * x, h * g)),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )

    if how == "ruled":
        Inner.vmap = staticmethod(lambda info, dims, g, x: 1 / 0)
    Inner.generate_vmap_rule = how == "generated"
    return Inner


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("how", ["one step", "two steps", "ruled", "generated"])
@same
def test_25_9_functions_in_a_backward_need_no_rule(torch, how, create_graph):
    function = inner(torch, how)
    (found,) = through(torch, lambda ctx, g: function.apply(g, ctx.saved_tensors[0]), create_graph)
    return found.detach()


@pytest.mark.parametrize("how", ["one step", "two steps", "ruled", "generated"])
def test_25_9_functions_in_a_backward_have_gradients(how: str) -> None:
    """PyTorch 2.13 loses them without a word; right is what one backward after another gives."""
    torch = workbench

    def rows(batched: bool) -> Any:
        function, x = inner(torch, how), leaf(torch, 1.0, 2.0)
        seeds = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=torch.float64, requires_grad=True)

        Outer = function(
            torch, lambda ctx, x: x * x / 2, lambda ctx, g: function.apply(g, ctx.saved_tensors[0]), saves=True
        )

        out = Outer.apply(x)
        if batched:
            (found,) = torch.autograd.grad(out, x, seeds, is_grads_batched=True, create_graph=True)
        else:
            found = torch.stack([torch.autograd.grad(out, x, s, create_graph=True)[0] for s in seeds.unbind()])
        return [t.tolist() for t in (found, *torch.autograd.grad((found * found).sum(), (x, seeds)))]

    assert rows(True) == rows(False)


@same
def test_a_batch_of_gradients_has_to_be_given(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    return torch.autograd.grad((x * 2).sum(), x, is_grads_batched=True)
