"""Writes in place and other things that reach into a tensor, inside function transforms."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare

X = [1.0, 2.0, 3.0]


def on_a_copy(torch: Any, x: Any) -> Any:
    y = x.clone()
    y.mul_(2)
    y[0] = 5 * x[1]
    return (y**2).sum()


def through_a_view(torch: Any, x: Any) -> Any:
    y = x * 2
    y[1:].mul_(3)
    return (y**2).sum()


def into_a_new_tensor(torch: Any, x: Any) -> Any:
    y = torch.zeros(3)
    y[1] = x[0]
    z = torch.zeros_like(x)
    z.copy_(x)
    return (y * z).sum() + (y * y).sum()


def of_the_input(torch: Any, x: Any) -> Any:
    x.mul_(2)
    return (x**2).sum()


def of_a_captured_tensor(torch: Any, x: Any) -> Any:
    CAPTURED[torch].add_(x)
    return x.sum()


def of_a_captured_tensor_by_a_number(torch: Any, x: Any) -> Any:
    CAPTURED[torch].add_(1.0)
    return x.sum()


def of_a_saved_tensor(torch: Any, x: Any) -> Any:
    x = x.clone()
    y = x.sin()
    x.add_(1)
    return y.sum()


def detached(torch: Any, x: Any) -> Any:
    return (x.detach() * x).sum()


def data(torch: Any, x: Any) -> Any:
    return (x.data * x).sum()


def item(torch: Any, x: Any) -> Any:
    return x[0].item() * x.sum()


def numpy(torch: Any, x: Any) -> Any:
    return torch.tensor(x.numpy()).sum()


def asking_for_gradients(torch: Any, x: Any) -> Any:
    return (torch.ones(3).requires_grad_() * x).sum()


def running_backward(torch: Any, x: Any) -> Any:
    (x * x).sum().backward()
    return x.sum()


def differentiating(torch: Any, x: Any) -> Any:
    y = x * x * x
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return g.sum()


CAPTURED: dict[Any, Any] = {}
PROGRAMS = [
    on_a_copy,
    through_a_view,
    into_a_new_tensor,
    of_the_input,
    of_a_captured_tensor,
    of_a_captured_tensor_by_a_number,
    of_a_saved_tensor,
    detached,
    data,
    item,
    numpy,
    asking_for_gradients,
    running_backward,
    differentiating,
]
TRANSFORMS = {
    "grad": lambda f, func, torch, x: func.grad(f)(x),
    "grad of grad": lambda f, func, torch, x: func.grad(lambda x: (func.grad(f)(x) * x).sum())(x),
    "jvp": lambda f, func, torch, x: func.jvp(f, (x,), (torch.ones(3),)),
    "vmap of grad": lambda f, func, torch, x: func.vmap(func.grad(f))(torch.stack([x, x + 1])),
    "grad of vmap": lambda f, func, torch, x: func.grad(lambda x: func.vmap(f)(x).sum())(torch.stack([x, x + 1])),
}
# Where PyTorch's answer is no rule: it refuses what has an answer, or names the fallback it happened to take.
UNCOMPARED = {
    ("jvp", differentiating),
    ("jvp", item),
    ("vmap of grad", item),
    ("grad of vmap", item),
    ("grad of vmap", into_a_new_tensor),
    ("grad of vmap", of_a_saved_tensor),
}


COMPARED = [(program, how) for program in PROGRAMS for how in TRANSFORMS if (how, program) not in UNCOMPARED]


@pytest.mark.parametrize(("program", "how"), COMPARED, ids=[f"{program.__name__}-{how}" for program, how in COMPARED])
def test_inside_a_transform(program: Any, how: str) -> None:
    def transformed(torch: Any, program: Any, how: str) -> Any:
        CAPTURED[torch] = torch.zeros(3)
        x = torch.tensor(X)
        error = out = None
        try:
            out = TRANSFORMS[how](lambda x: program(torch, x), torch.func, torch, x)
        except RuntimeError as refusal:
            error = refusal
        return out, error, x, CAPTURED[torch], torch.is_grad_enabled()

    compare(transformed, program, how)
