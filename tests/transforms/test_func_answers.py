"""Section 21: what each transform of torch.func answers and refuses, expression by expression."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, namedtuple
from typing import Any

import pytest
from oracle import entries, plain, raised

import workbench

Pair = namedtuple("Pair", "a b")

GRAD = """
grad(lambda x: (x**3).sum())(x) | grad(lambda x: x)(x) | grad(lambda x: 3)(x) | grad(lambda x: (x.sum(),))(x)
grad(lambda x: None)(x) | grad(lambda x: x.sum(), has_aux=True)(x) | grad(lambda x: [x.sum(), x], has_aux=True)(x)
grad(lambda x: (x.sum(), 3), has_aux=True)(x) | grad(lambda x: (x.sum(), None), has_aux=True)(x)
grad(lambda x: (x.sum(), []), has_aux=True)(x)
grad(lambda x: ((x * x).sum(), (x, [x], {'a': x}, Pair(x, x))), has_aux=True)(x) | grad(lambda x: x.sum())(3.0)
grad(lambda x: x[0].sum())([x, 3.0]) | grad(lambda x: (x[0] ** 2).sum())([x, y])
grad(lambda x: (x['a'] ** 2).sum())({'a': x, 'b': Pair(x, (y,))})
grad(lambda x: (x['a'] ** 2).sum())(OrderedDict(b=x, a=y)) | grad(lambda x: x.sum())(torch.tensor([1, 2]))
grad(lambda x: x.sum().long())(x) | grad(lambda x: torch.tensor(3.0))(x) | grad(lambda x: torch.tensor(3))(x)
grad(lambda x: x.sum(), argnums=1)(x) | grad(lambda x: x.sum(), argnums=-2)(x) | grad(lambda x: x.sum(), argnums='a')(x)
grad(lambda x: x.sum(), argnums=None)(x) | grad(lambda x: x.sum(), argnums=())(x)
grad(lambda x: x.sum(), argnums=[0])(x) | grad(lambda x: x.sum(), argnums=(0, 0))(x)
grad(lambda x: x.sum(), argnums=(0, 1.5))(x) | grad(lambda x, y: x.sum(), argnums=(0, -2))(x, x)
grad(lambda x, y: (x * x * y).sum(), argnums=-1)(x, y) | grad(lambda x, y: (x * x * y).sum(), argnums=(-1, 0))(x, y)
grad(lambda x, y: x.sum(), argnums=(-1, 0))(x, y) | grad(lambda x, y: (x * y).sum(), argnums=(1,))(x, y)
grad(lambda x: x.sum())() | grad(lambda *, a: a.sum())(a=x) | grad(lambda x, *, a: (x * a).sum())(x, a=y)
grad(lambda x, s: x.sum() * s)(x, 2) | grad(lambda x, s: x.sum() * s['k'][0])(x, {'k': (y.sum(), 'word')})
grad_and_value(lambda x: (x * y).sum())(x) | grad_and_value(lambda x: ((x * y).sum(), x * 2), has_aux=True)(x)
grad_and_value(lambda x, y: ((x * y).sum(), {'a': y}), has_aux=True, argnums=(0, 1))(x, y)
"""

VJP = """
vjp(lambda x: None, x) | vjp(lambda x: [], x) | vjp(lambda x: (x, 3), x) | vjp(lambda x: x.long(), x)
vjp(lambda x: x, 3) | vjp(lambda x: (x, x, x), x, has_aux=True) | vjp(lambda x: (x, 3), x, has_aux=True)
vjp(lambda x: (x * 2, {'a': x}), x, has_aux=True)[2] | vjp(lambda x: x * 2, x)[0] | vjp(lambda: x)[1](x)
pull(lambda x, y: {'a': x * y, 'b': [x.sin(), x]}, x, y)({'a': x, 'b': [y, x]})
pull(lambda x, y: {'a': x * y, 'b': [x.sin(), x]}, x, y)({'a': x, 'b': (y, x)})
pull(lambda x, y: {'a': x * y, 'b': [x.sin(), x]}, x, y)({'b': [y, x], 'a': x})
pull(lambda x, y: {'a': x * y, 'b': [x.sin(), x]}, x, y)({'a': x, 'b': [y, 3]})
pull(lambda x, y: {'a': x * y, 'b': [x.sin(), x]}, x, y)({'a': x, 'b': [y, None]})
pull(lambda x, y: {'a': x * y, 'b': [x.sin(), x]}, x, y)(x) | pull(lambda x: [x, (x, Pair(x, x))], x)(x)
pull(lambda x: [x, (x, Pair(x, x))], x)([x, (x, Pair(x, x))]) | pull(lambda x: torch.ones(2), x)(torch.ones(2))
pull(lambda x: (x * 2, torch.ones(2)), x)((y, torch.ones(2))) | pull(lambda x: x, x)(3.0)
pull(lambda d: d['a'] * d['b'][0], {'a': x, 'b': (y,)})(x)
"""

JVP = """
jvp(lambda x: x, x, x) | jvp(lambda x: x, (x,), x) | jvp(lambda x: x, (x,), (x, x)) | jvp(lambda x: x, (x,), [x])
jvp(lambda x: x, (x,), ({'a': x},)) | jvp(lambda x: x, (3,), (x,)) | jvp(lambda x: x, (x,), (3,))
jvp(lambda x: x, (), ()) | jvp(lambda x: 3, (x,), (x,)) | jvp(lambda x: None, (x,), (x,))
jvp(lambda x: (), (x,), (x,)) | jvp(lambda x: (x, 3), (x,), (x,)) | jvp(lambda x: x, (x,), (x[:2],))
jvp(lambda x: x, (x.long(),), (x,)) | jvp(lambda x: x, (x,), (x.long(),)) | jvp(lambda x: torch.ones(2), (x,), (x,))
jvp(lambda x: torch.ones(2), (x,), (x,), strict=True) | jvp(lambda x: x.long(), (x,), (x,))
jvp(lambda x: (x * x, x), (x,), (y,), has_aux=True) | jvp(lambda x: (x, 3), (x,), (x,), has_aux=True)
jvp(lambda x: x, (x,), (x,), has_aux=True) | jvp(lambda d, y: {'a': d['x'] * y, 'b': [y]}, ({'x': x}, y), ({'x': y}, x))
jvp(lambda x: (x * y).sum() * x.exp(), (x,), (y,))
"""

JACOBIANS = """
jacrev(lambda x: x, chunk_size=0) | jacrev(lambda x: x, chunk_size=-1) | jacrev(lambda x: x * x, chunk_size=2)(x)
jacrev(lambda x: (x * x, x.sum()), chunk_size=1)(x)
jacrev(lambda x: {'a': x * x, 'b': (x.sum(), [x * 2])}, chunk_size=3)(x) | jacrev(lambda x: x * x, chunk_size=99)(x)
jacrev(lambda x: 3)(x) | jacrev(lambda x: x)(3) | jacrev(lambda x: x.long())(x) | jacrev(lambda x: x, argnums=2)(x)
jacrev(lambda x: x, argnums='a')(x) | jacrev(lambda x: (x * x, x * 2), has_aux=True)(x) | jacrev(lambda x: x[:0])(x)
FJ(lambda x: {'a': x * x, 'b': (x.sum(), [x * 2])})(x) | FJ(lambda d: d['a'] * 2)({'a': x})
FJ(lambda x, y: x * y, argnums=(0, 1))(x, y) | FJ(lambda x, y: (x * y, x), argnums=(1,))(x, y)
jacrev(lambda x, y: x * y, argnums=-1)(x, y) | jacfwd(lambda x, y: x * y, argnums=(0, None))(x, y)
FJ(lambda x, k: x * k)(x, 3) | FJ(lambda x: torch.ones(2))(x) | FJ(lambda x: x.sum() * 2)(x.sum())
FJ(lambda x: x * x)(A) | FJ(lambda x: (x @ x.t()).sum(0))(A) | jacfwd(lambda x: 3)(x)
jacfwd(lambda x: x, argnums=2)(x) | jacfwd(lambda x: x, argnums=())(x) | jacfwd(lambda x, y: x * y, argnums=None)(x, y)
jacfwd(lambda x: x.long())(x) | jacfwd(lambda x: (x * x, x * 2), has_aux=True)(x)
jacfwd(lambda x: (x * x, {'k': x.sum()}), has_aux=True)(x) | jacfwd(lambda x: x * torch.randn(3))(x)
jacfwd(lambda x: x.sum())(x[:0]) | hessian(lambda x: (x**3).sum())(x)
hessian(lambda x, y: (x * x * y).sum(), argnums=(0, 1))(x, y) | hessian(lambda x, y: (x * x * y).sum(), argnums=1)(x, y)
hessian(lambda d: (d['a'] ** 2 * d['b']).sum())({'a': x, 'b': y}) | hessian(lambda x: x * x)(x)
hessian(lambda x: (x.sum() ** 2, [x.prod()]))(x)
"""

LINEARIZE = """
linearize(lambda x, y: x * y.sin(), x, y)[0] | push(lambda x, y: x * y.sin(), x, y)(y, x)
push(lambda x, y: x * y.sin(), x, y)(x) | push(lambda x, y: x * y.sin(), x, y)((x, x))
push(lambda x, y: x * y.sin(), x, y)(x[:2], x) | push(lambda x, y: x * y.sin(), x, y)(x, x.float())
push(lambda d: {'a': d['x'] * 2, 'b': (d['x'].sum(),)}, {'x': x})({'x': y})
push(lambda d: {'a': d['x'] * 2}, {'x': x})(x) | push(lambda x: (x * x, 3, None), x)(y) | push(lambda x: 3, x)(x)
vmap(push(lambda x: x * x, x))(torch.eye(3, dtype=torch.float64))
"""


def named(torch: Any) -> dict[str, Any]:
    func = torch.func
    x, y = (torch.tensor(v, dtype=torch.float64) for v in ([0.5, -1.5, 2.0], [1.5, 0.25, -3.0]))
    return {name: getattr(func, name) for name in func.__all__ if hasattr(func, name)} | {
        "torch": torch,
        "x": x,
        "y": y,
        "A": torch.stack([x, y]),
        "Pair": Pair,
        "OrderedDict": OrderedDict,
        "pull": lambda f, *primals: func.vjp(f, *primals)[1],
        "linearize": quietly(func.linearize),
        "push": lambda f, *primals: quietly(quietly(func.linearize)(f, *primals)[1]),
    }


def quietly(function: Any) -> Any:
    """What a function answers without the warnings of what PyTorch compiles it with."""

    def quiet(*args: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args)

    return quiet


def texts_of(*tables: str) -> list[str]:
    texts = [text for table in tables for text in entries(table)]
    both = [text.replace("FJ", how) for text in texts if text.startswith("FJ") for how in ("jacrev", "jacfwd")]
    return [text for text in texts if not text.startswith("FJ")] + both


@pytest.mark.parametrize("text", texts_of(GRAD, VJP, JVP, JACOBIANS, LINEARIZE))
def test_answers(torch, text):
    answer = eval(text, named(torch))
    pull = isinstance(answer, tuple) and any(map(callable, answer[-1:]))
    return answer[:-1] if pull else answer


def test_names_and_what_is_wrapped(torch):
    func, part = torch.func, functools.partial(answers)
    made = [t(answers) for t in (func.grad, func.grad_and_value, func.vmap, func.jacrev, func.jacfwd, func.hessian)]
    return [(f.__name__, f.__doc__) for f in made], func.grad(part).__name__, torch.vmap is func.vmap


def answers() -> None:
    """What is wrapped."""


@pytest.mark.parametrize("transform", ["grad", "vjp", "jvp", "vmap", "jacrev", "jacfwd", "hessian", "linearize"])
def test_21_11_exceptions_leave_no_level_behind(torch, transform):
    names = named(torch)
    x, y = names["x"], names["y"]

    def failing(x: Any) -> Any:
        (x * x).sum()
        raise KeyError("on purpose")

    calls = {
        "vjp": lambda: torch.func.vjp(failing, x),
        "jvp": lambda: torch.func.jvp(failing, (x,), (y,)),
        "linearize": lambda: torch.func.linearize(failing, x),
    }
    with torch.no_grad():
        error = raised(calls.get(transform, lambda: getattr(torch.func, transform)(failing)(x)))
        grads = torch.is_grad_enabled()
    x.requires_grad_()
    (x * x).sum().backward()
    return error, grads, x.grad, repr(torch.func.grad(lambda x: print_level(x))(y))


def print_level(x: Any) -> Any:
    assert repr(x).startswith("GradTrackingTensor(lvl=1,")
    return x.sum()


def test_jacfwd_of_an_argument_counted_from_the_end() -> None:
    """PyTorch 2.13 answers zeros."""
    x, y = workbench.tensor([0.5, 2.0]), workbench.tensor([1.5, -3.0])
    for argnums in (-1, (-1, -2)):
        jacobian = workbench.func.jacfwd(lambda x, y: x * x * y, argnums)(x, y)
        assert plain(jacobian) == plain(workbench.func.jacrev(lambda x, y: x * x * y, argnums)(x, y))
