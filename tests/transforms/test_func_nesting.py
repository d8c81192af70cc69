"""Transforms inside each other: drawn nestings over drawn programs, compared with PyTorch."""

from __future__ import annotations

from typing import Any

import absent
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import compare, torch

LINES = (
    *("x * x", "x.sin()", "x.tanh()", "x * c", "c - x", "x / (x * x + 2.0)", "x.exp() * 0.1", "x * x.sum()", "x ** 3"),
    *("x.softmax(0)", "x.cumsum(0)", "x.flip(0)", "torch.cat([x[1:], x[:1]])", "torch.stack([x, c]).sum(0) * x"),
    *("torch.where(x > 0, x, x * x)", "m @ x", "x - x.mean()", "x.clamp(-1.0, 1.0)", "torch.maximum(x, c)", "x.relu()"),
    *("(x[:, None] * x).sum(0)", "x.detach() * x", "x.sigmoid()", "torch.outer(x, c).diagonal()", "x.log_softmax(0)"),
    *("x.unsqueeze(0).expand(2, 3).sum(0)", "torch.einsum('i,ij->j', x, m)", "x.abs()"),
)
NESTS = {
    "grad": "func.grad(lambda x: (f(x) * c).sum())",
    "grad_and_value": "lambda x: sum(func.grad_and_value(lambda x: f(x).sum())(x))",
    "vjp": "lambda x: func.vjp(f, x)[1](c)[0]",
    "vjp of what is given": "lambda x: func.vjp(f, x * c)[1](x)[0]",
    "jvp": "lambda x: func.jvp(f, (x,), (c,))[1]",
    "jvp along itself": "lambda x: func.jvp(f, (x * c,), (x,))[1]",
    "value of jvp": "lambda x: func.jvp(f, (x,), (c,))[0]",
    "jacrev": "lambda x: (func.jacrev(f)(x) * m).sum(0)",
    "jacrev in chunks": "lambda x: func.jacrev(f, chunk_size=2)(x) @ c",
    "jacfwd": "lambda x: (func.jacfwd(f)(x) * m).sum(1)",
    "hessian": "lambda x: func.hessian(lambda x: (f(x) * c).sum())(x).sum(0)",
    "vmap": "lambda x: func.vmap(lambda y: f(y * x))(m).sum(0)",
    "vmap of columns": "lambda x: func.vmap(lambda y: f(x + y) + y, in_dims=1, out_dims=1)(m).sum(1)",
    "vmap of rows": "lambda x: func.vmap(f)(x * m)[1]",
    "no_grad": "lambda x: x * quiet(f, x)",
    "plain": "lambda x: f(x * c) + x",
}


def composed(torch: Any, lines: list[str], nests: list[str]) -> Any:
    """The function that the lines compute, one after the other, inside the transforms, the innermost first."""
    func = torch.func
    names = {"torch": torch, "func": func, "c": torch.tensor([0.5, -1.25, 2.0], dtype=torch.float64)}
    numbers = [[1.0, 0.5, -0.25], [0.0, 2.0, 1.5], [-1.0, 0.75, 0.5]]
    names["m"] = torch.tensor(numbers, dtype=torch.float64)

    def quiet(f: Any, x: Any) -> Any:
        with torch.no_grad():
            return f(x)

    def program(x: Any) -> Any:
        for line in lines:
            x = eval(line, names | {"x": x})
        return x

    f = program
    for nest in nests:
        f = eval(NESTS[nest], names | {"f": f, "quiet": quiet})
    return f


def result(torch: Any, lines: list[str], nests: list[str]) -> Any:
    """What the composed function answers, and the gradient that ordinary autograd then finds of it."""
    x = torch.tensor([0.75, -0.5, 1.25], dtype=torch.float64, requires_grad=True)
    out = composed(torch, lines, nests)(x)
    if out.requires_grad:
        (gradient,) = torch.autograd.grad(out.sum(), x, materialize_grads=True)
    else:  # PyTorch's requires grad also where its gradient is zero
        gradient = torch.zeros_like(x)
    return out.detach().to(torch.float32), gradient.detach().to(torch.float32)  # high derivatives lose many digits


@pytest.mark.slow
@pytest.mark.skipif(torch is None, reason=absent.TORCH)
@settings(max_examples=800, deadline=None, derandomize=True, database=None)
@given(
    st.lists(st.sampled_from(LINES), min_size=1, max_size=4),
    st.lists(st.sampled_from(sorted(NESTS)), min_size=1, max_size=4),
)
def test_drawn_nestings(lines: list[str], nests: list[str]) -> None:
    compare(result, lines, nests)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("nest", ["hessian", "vmap of columns", "jvp along itself"])
def test_every_line(line: str, nest: str) -> None:
    compare(result, [line, "x * x"], [nest])
