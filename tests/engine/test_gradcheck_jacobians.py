"""The old functions of gradcheck that give Jacobians one at a time."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from functions import function
from oracle import entries

# A small step makes much of how a matrix product is rounded, which depends on the processor; with 2**-20 none is.
CALLS = """
g.get_numerical_jacobian(lambda i: i[0] * i[1], (x, y))
g.get_numerical_jacobian(lambda i: i[0].sum(), (x, y.detach()))
g.get_numerical_jacobian(lambda i: (i[0] ** 2, i[1]), (x, y), eps=1e-6)
g.get_numerical_jacobian(lambda i: i[0] ** 4, (x,))
g.get_numerical_jacobian(sum, (x,), grad_out=2)
g.get_numerical_jacobian(lambda i: i[0] @ a, (x,), target=a)
g.get_numerical_jacobian(lambda i: i[0] @ a, (x,), [x, a])
g.get_numerical_jacobian_wrt_specific_input(torch.mul, 1, (x, y), (x * y,), 1e-6)
g.get_numerical_jacobian_wrt_specific_input(lambda x: (x ** 2, x.sum()), 0, (x,), (x ** 2, x.sum()), 1e-6)
g.get_numerical_jacobian_wrt_specific_input(torch.mul, 1, (x, y.detach()), (x * y,), 1e-6)
g.get_numerical_jacobian_wrt_specific_input(lambda x: x @ a, 0, (x,), (x @ a,), 2**-20, input=a)
g._get_numerical_jacobian(lambda a, b: (a * b, a.sum()), (x, y)) | g._get_numerical_jacobian(torch.sin, x, None, (x,))
g._get_numerical_jacobian(lambda x: x @ a, (x,), (x @ a,), (x, a), 2**-20)
g.get_analytical_jacobian((x, y), x * y) | g.get_analytical_jacobian((x, y.detach()), (x ** 2).sum())
g.get_analytical_jacobian((x, x), x * y) | g.get_analytical_jacobian((x, y), x * 2)
g.get_analytical_jacobian((a,), x @ a)
g.get_analytical_jacobian((x,), Random.apply(x)) | g.get_analytical_jacobian((x,), Random.apply(x), nondet_tol=1e3)
g.get_analytical_jacobian((x,), x * y, grad_out=2)
"""


@pytest.mark.parametrize("text", entries(CALLS))
def test_a_jacobian(torch: Any, text: str) -> Any:
    count = [0]

    def backward(ctx: Any, g: Any) -> Any:
        count[0] += 1
        return g * count[0]

    Random = function(torch, lambda ctx, x: x * 2, backward, name="Random")
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([0.5, -1.5], [2.0, 3.0]))
    a = torch.tensor([[1.0, 2.0, 0.5], [0.0, -1.0, 4.0]], dtype=torch.float64, requires_grad=True)
    module = importlib.import_module(torch.__name__ + ".autograd.gradcheck")
    return eval(text, {"torch": torch, "g": module, "x": x, "y": y, "a": a, "Random": Random})
