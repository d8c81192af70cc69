"""Hooks that unpack another shape or dtype than was packed (row 22.3)."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import same

OPS = {
    "x * y": lambda torch, x, m, i: x * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True),
    "x * x": lambda torch, x, m, i: x * x,
    "exp": lambda torch, x, m, i: x.exp(),
    "sin": lambda torch, x, m, i: x.sin(),
    "x ** 2": lambda torch, x, m, i: x**2,
    "x[i]": lambda torch, x, m, i: x[i],
    "a row": lambda torch, x, m, i: x * x[:1],
}
UNPACK = {
    "a column": lambda torch, t: t[..., None],
    "longer": lambda torch, t: torch.ones(4, dtype=torch.float64),
    "a number": lambda torch, t: t.max(),
    "float32": lambda torch, t: t.float(),
    "float16": lambda torch, t: t.half(),
    "integers": lambda torch, t: t.long(),
    "a mask": lambda torch, t: t.bool(),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("how", UNPACK)
@pytest.mark.parametrize("op", OPS)
@same
def test_22_3_something_else_is_unpacked(torch, op, how, create_graph):
    x = torch.tensor([0.5, -1.5, 2.0], dtype=torch.float64, requires_grad=True)
    m, i = torch.tensor([True, False, True]), torch.tensor([2, 0, 1])
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: UNPACK[how](torch, t)):
        out = OPS[op](torch, x, m, i)
    (g,) = torch.autograd.grad(out.sum(), x, create_graph=create_graph)
    return [round(v, 6) for v in g.tolist()]


@same
def test_22_3_a_mask_packed_as_another_dtype(torch: Any) -> Any:
    x = torch.tensor([0.5, -1.5, 2.0], dtype=torch.float64, requires_grad=True)
    m = torch.tensor([True, False, True])
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.to(torch.float16), lambda t: t.to(torch.bool)):
        kept = torch.where(m, x, 2 * x) + x.masked_fill(m, 1.0)
    (g,) = torch.autograd.grad(kept.sum(), x)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.long(), lambda t: t):
        out = x[m.to(torch.int32)]
    return g, torch.autograd.grad(out.sum(), x)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("shape", [(5, 4), (4,), (2, 3, 4)])
@same
def test_22_3_a_gradient_that_fits_no_input(torch, shape, create_graph):
    a, m = (torch.ones(*size, dtype=torch.float64, requires_grad=True) for size in ((2, 3), (3, 4)))
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: torch.ones(*shape, dtype=t.dtype)):
        out = torch.mm(a, m) if len(shape) < 3 else a * a
    (g,) = torch.autograd.grad(out.sum(), a, create_graph=create_graph)
    return g.detach()


@same
def test_22_3_a_hook_is_asked_once_for_each_read(torch: Any) -> Any:
    x = torch.tensor([0.5, -1.5, 2.0], dtype=torch.float64, requires_grad=True)
    asked = []

    def unpack(t):
        asked.append(tuple(t.shape))
        return t.float() if len(asked) == 1 else t

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        out = x * x.detach() + x.sin()
    (g,) = torch.autograd.grad(out.sum(), x)
    return asked, [round(v, 5) for v in g.tolist()]


LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy")


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@same
def test_22_3_gradients_of_a_reduced_loss_keep_the_shapes_of_its_inputs(torch, loss, create_graph):
    x = torch.tensor([[0.5, 0.25], [0.75, 0.125]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.25, 0.5], dtype=torch.float64).expand(2, 2).clone()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        out = getattr(torch.nn.functional, loss)(x, y, reduction="mean")
    (g,) = torch.autograd.grad(out, x, create_graph=create_graph)
    again = create_graph and loss not in ("l1_loss", "binary_cross_entropy")  # one has no slope, one is rounded
    return g.tolist(), torch.autograd.grad((g * g).sum(), x)[0] if again else None
