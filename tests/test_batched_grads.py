"""autograd.grad with is_grads_batched: every seed has a dimension in front along which backward runs (row 25.9)."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, raised, same


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
def test_25_9_seeds_that_are_no_batch(seeds: str) -> None:
    def program(torch: Any) -> Any:
        x = leaf(torch, 1.0, 2.0)
        return torch.autograd.grad(x * x, x, eval(seeds, {"torch": torch}), is_grads_batched=True)

    compare(program)


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
