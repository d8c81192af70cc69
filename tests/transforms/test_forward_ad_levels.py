"""Levels of dual tensors among function transforms: inside grad, around transforms, and where PyTorch refuses them."""

from __future__ import annotations

from typing import Any

import pytest
from functions import square
from oracle import entries


def push(torch: Any, f: Any, x: Any, t: Any) -> Any:
    """The tangent of f(x) along t."""
    ad = torch.autograd.forward_ad
    with ad.dual_level():
        return ad.unpack_dual(f(ad.make_dual(x, t))).tangent


PROGRAMS = entries("""
grad(lambda x: push(f, x, one).sum())(x) | grad(lambda t: (push(f, x, t) ** 2).sum())(x)
grad(lambda y: (push(lambda a: f(a) * y, x, y) * y).sum())(x)
grad(lambda x: push(lambda a: a[0] * a.view(2, 1), x, one).sum())(x)
grad(lambda x: push(lambda a: a.clone().mul_(a).add_(a[0]), x, one).sum())(x)
grad(lambda x: push(lambda a: torch.zeros_like(a).add_(a), x, x).sum())(x)
grad(lambda x: grad(lambda y: push(f, y, x).sum())(x).sum())(x)
grad(lambda x: push(grad(lambda a: f(a).sum()), x, one).sum())(x) | jacrev(lambda x: push(f, x, one))(x)
push(grad(lambda a: f(a).sum()), x, x) | push(grad(lambda a: grad(lambda b: f(b).sum())(a).sum()), x, x)
push(vmap(lambda a: a * a.sin()), x, x) | push(jacrev(f), x, x) | vmap(lambda t: push(f, x, t))(rows)
vmap(lambda x: push(f, x, one))(rows) | jvp(lambda a: push(f, a, one), (x,), (x,))
push(lambda a: jvp(f, (a,), (x,))[1], x, x) | push(jacfwd(f), x, x) | grad(lambda x: push(square, x, one).sum())(x)
grad(lambda t: (push(square, x, t) ** 2).sum())(x) | grad(lambda y: (push(square, x, y) * y).sum())(x)
push(grad(lambda a: square(a).sum()), x, x)
""")


@pytest.mark.parametrize("text", PROGRAMS)
def test_dual_levels_and_transforms(torch, text):
    def f(a):
        return a * a.sin() * a.sum()

    def double(value):
        return torch.tensor(value, dtype=torch.float64)

    func = torch.func
    names = {"x": double([1.0, 2.0]), "one": double([1.0, 1.0]), "rows": double([[1.0, 0.0], [0.0, 1.0]])}
    names |= {name: getattr(func, name) for name in ("grad", "jvp", "vmap", "jacrev", "jacfwd")}
    names |= {"f": f, "square": square(torch).apply, "torch": torch, "push": lambda f, x, t: push(torch, f, x, t)}
    return eval(text, names)
