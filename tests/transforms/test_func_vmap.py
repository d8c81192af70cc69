"""Rows 21.10 and 20's of vmap itself: where batches are, what is refused, and random numbers."""

from __future__ import annotations

import functools
from collections import OrderedDict, namedtuple
from typing import Any

import pytest
from oracle import entries, raised

import workbench

Pair = namedtuple("Pair", "a b")

IN_DIMS = """
vmap(fn)() | vmap(fn, in_dims='a')(a) | vmap(fn, in_dims=[0])(a) | vmap(fn, in_dims=None)(a)
vmap(fn, in_dims=(0, 0))(a) | vmap(fn, in_dims=(0,))(a, a) | vmap(fn, in_dims=(None,))(a) | vmap(fn, in_dims=('a',))(a)
vmap(fn, in_dims=(0, 1.0))(a, a) | vmap(fn)(3) | vmap(fn)(torch.tensor(1.0)) | vmap(fn)(a, x) | vmap(fn, in_dims=2)(a)
vmap(fn, in_dims=-3)(a) | vmap(fn, in_dims=-1)(a) | vmap(lambda x, y: x * y, in_dims=(0, None))(a, 3)
vmap(lambda x, y: x * y, in_dims=(1, 0))(a, x) | vmap(lambda x, y: x * y, in_dims=(None, 0))(a, x)
vmap(lambda x, y: x * y, in_dims=(-1, None))(a, torch.ones(2))
vmap(lambda x, y: x - y, in_dims=(0, -1))(A, A.permute(1, 2, 0)) | vmap(lambda x, y: x.mul(y), in_dims=(1, 1))(A, a)
vmap(fn, in_dims=({'a': 0},))({'a': a}) | vmap(fn, in_dims=({'b': 0},))({'a': a})
vmap(fn, in_dims=(0,))({'a': a, 'b': [a]})
vmap(lambda d: d['a'] * d['b'], in_dims=({'a': 0, 'b': None},))({'a': a, 'b': x})
vmap(fn, in_dims=([0, None],))([a, a]) | vmap(fn, in_dims=((0, None),))([a, a])
vmap(fn, in_dims=({'a': 0, 'b': (0, None)},))([a, a]) | vmap(fn, in_dims=(Pair(0, 0),))([a, a])
vmap(lambda p: p.a + p.b, in_dims=(Pair(0, None),))(Pair(a, x)) | vmap(fn)(Pair(a, a)) | vmap(fn)(OrderedDict(a=a))
vmap(lambda x, y=3, *, k: x * k)(a, k=2) | vmap(lambda x, *, k: x * k)(a, k=x) | vmap(functools.partial(fn))()
vmap(functools.partial(functools.partial(fn), y=1))() | vmap(Called())() | vmap(Called())(a)
vmap(functools.partial(Called()))()
"""

OUT_DIMS = """
vmap(lambda x: 3)(a) | vmap(lambda x: 3, out_dims=None)(a) | vmap(lambda x: None)(a) | vmap(lambda x: 's')(a)
vmap(lambda x: ())(a) | vmap(lambda x: x, out_dims=None)(a) | vmap(lambda x: vmap(lambda y: x, out_dims=None)(x))(a)
vmap(lambda x: (x, 3))(a) | vmap(lambda x: (x, 3), out_dims=(0, None))(a)
vmap(lambda x: (x, 3), out_dims=(0, None, 0))(a) | vmap(lambda x: x, out_dims=(0, 0))(a)
vmap(lambda x: x, out_dims=(1,))(a) | vmap(lambda x: x, out_dims=())(a) | vmap(lambda x: x, out_dims=1)(a)
vmap(lambda x: x, out_dims=2)(a) | vmap(lambda x: x, out_dims=-1)(a) | vmap(lambda x: x, out_dims=-2)(a)
vmap(lambda x: x, out_dims=-3)(a) | vmap(lambda x: x, out_dims='a')(a) | vmap(lambda x: x, out_dims=1.5)(a)
vmap(lambda x: x, out_dims=[0])(a) | vmap(lambda x: x, out_dims={'a': 0})(a)
vmap(lambda x: {'a': x}, out_dims={'a': 1})(a) | vmap(lambda x: {'a': x}, out_dims={'b': 1})(a)
vmap(lambda x: x.sum(), out_dims=1)(a) | vmap(lambda x: x.sum(), out_dims=-1)(a) | vmap(lambda x: torch.ones(2))(a)
vmap(lambda x: torch.ones(4), out_dims=None)(a) | vmap(lambda x: x.t(), out_dims=2)(A)
vmap(lambda x: [x, (x, {'b': x})])(a) | vmap(lambda x: [x, (x, {'b': x})], out_dims=1)(a)
vmap(lambda x: (x, x), out_dims=(0, (0, 0)))(a) | vmap(lambda x: ((x, x), x), out_dims=(1, 0))(a)
vmap(lambda x: Pair(x, x), out_dims=(1, 0))(a) | vmap(lambda x: Pair(x, x), out_dims=Pair(1, 0))(a)
vmap(lambda x: (x, x), out_dims=[0, 0])(a) | vmap(lambda x: [x, x], out_dims=(0, 1))(a)
"""

CHUNKS = """
vmap(fn, chunk_size=0) | vmap(fn, chunk_size=-1) | vmap(fn, chunk_size=1.5)(a) | vmap(fn, chunk_size=1)(a)
vmap(fn, chunk_size=4)(a) | vmap(fn, chunk_size=2, in_dims=1)(a) | vmap(fn, chunk_size=2, in_dims=1, out_dims=1)(a)
vmap(lambda x, y: (x, y), in_dims=(1, None), chunk_size=2)(a, x)
vmap(lambda x: (x.sum(), x), chunk_size=2, out_dims=(0, 1))(torch.ones(5, 2))
vmap(lambda x: {'s': x.sum()}, chunk_size=3)(torch.ones(7, 2)) | vmap(lambda x: 3, chunk_size=1, out_dims=None)(a)
vmap(lambda x: (x, 3), chunk_size=1, out_dims=(0, None))(a) | vmap(lambda x: x.sum(), chunk_size=2)(a[:0])
vmap(lambda x: x.sum())(a[:0]) | vmap(fn, randomness='x')
"""

NESTED = """
vmap(vmap(lambda x: x * 2), in_dims=1, out_dims=2)(A)
vmap(vmap(lambda x, y: x @ y, in_dims=(None, 0)), in_dims=(0, None))(A, A.transpose(1, 2))
vmap(vmap(lambda x, y: x * y, in_dims=(0, None)), in_dims=(None, 0))(x, x) | vmap(lambda x: vmap(lambda y: x + y)(x))(a)
vmap(lambda x: vmap(lambda y: x.sum() * y, out_dims=1)(A))(a)
vmap(vmap(vmap(lambda x, y, z: x + y * z, (0, None, None)), (None, 0, None)), (None, None, 0))(x, x, x)
"""


def fn(x: Any, y: Any = None) -> Any:
    return x


class Called:
    def __call__(self, x: Any) -> Any:
        return 3

    def __repr__(self) -> str:
        return "Called()"


@pytest.mark.parametrize("text", entries(IN_DIMS + OUT_DIMS + CHUNKS + NESTED))
def test_21_10_answers(torch, text):
    names = {"fn": fn, "Called": Called, "Pair": Pair, "functools": functools, "OrderedDict": OrderedDict}
    names |= {"torch": torch, "vmap": torch.vmap, "x": torch.tensor([1.0, 2.0, 3.0])}
    return eval(text, names | {"a": torch.arange(6.0).reshape(2, 3), "A": torch.arange(24.0).reshape(2, 3, 4)})


DRAWS = """
torch.randn(2) | torch.rand(3) | torch.randint(0, 9, (2,)) | torch.randperm(5) | torch.randn_like(x)
torch.rand_like(x) | torch.randn_like(plain) | torch.nn.functional.dropout(x) | torch.nn.functional.dropout(plain)
torch.nn.functional.dropout(x, training=False) | torch.nn.functional.dropout(x, 0.0)
torch.nn.functional.dropout(x, 1.0)
"""


@pytest.mark.parametrize("text", entries(DRAWS))
def test_which_random_numbers_are_alike(torch, text):
    torch.manual_seed(1)
    plain = torch.ones(40)
    seen = []
    for randomness in ("error", "different", "same"):
        for x in (torch.ones(4, 40), torch.ones(1, 40)):
            try:
                out = torch.vmap(lambda x: eval(text, {"torch": torch, "x": x, "plain": plain}), 0, 0, randomness)(x)
                seen.append((randomness, tuple(out.shape), bool((out == out[:1]).all())))
            except RuntimeError as error:
                seen.append(str(error))
    return seen


def test_random_numbers_under_nested_transforms(torch):
    vmap, grad = torch.func.vmap, torch.func.grad
    torch.manual_seed(0)
    x, seen = torch.ones(3, 4, 50), []

    def alike(t: Any) -> Any:
        return [bool((t == t.narrow(d, 0, 1)).all()) for d in range(t.ndim - 1)]

    for inner in ("different", "same", "error"):
        for outer in ("different", "same", "error"):
            nested = vmap(vmap(lambda x: torch.randn(50), randomness=inner), randomness=outer)
            try:
                seen.append(alike(nested(x)))
            except RuntimeError as error:
                seen.append(str(error))
    seen.append(alike(vmap(grad(lambda x: (x * torch.randn(50)).sum()), randomness="different")(x[0])))
    seen.append(alike(grad(lambda x: vmap(lambda y: (y * torch.rand(50)).sum(), randomness="same")(x).sum())(x[0])))
    return seen


def test_chunks_draw_the_same_numbers(torch):
    x = torch.ones(4, 2)

    def draw(randomness: str) -> Any:
        out = torch.vmap(lambda x: torch.rand(30), randomness=randomness, chunk_size=2)(x)
        return bool((out[0] == out[2]).all()), bool((out[0] == out[1]).all())

    return draw("same"), draw("different")


LOOKS = """
x.sum().item() | bool(x.sum() > 0) | float(x.sum()) | int(x.sum()) | f"{x.sum()}" | f"{x.sum():.2f}" | x.tolist()
x.numpy() | np.asarray(x) | x.data | len(x) | x.shape | x.requires_grad | x.is_leaf | [3][x.sum().long()]
"""


@pytest.mark.parametrize("text", entries(LOOKS))
@pytest.mark.parametrize("how", ["vmap", "grad", "jvp"])
def test_looking_at_a_lifted_tensor(torch, text, how):
    import numpy as np

    seen = []

    def f(x: Any) -> Any:
        def look() -> Any:
            value = eval(text, {"x": x, "np": np})
            seen.append("tensor" if isinstance(value, torch.Tensor) else value)

        seen.append(raised(look))
        return x.sum()

    calls = {
        "vmap": lambda: torch.func.vmap(f)(torch.zeros(2, 3)),
        "grad": lambda: torch.func.grad(f)(torch.zeros(3)),
        "jvp": lambda: torch.func.jvp(f, (torch.zeros(3),), (torch.ones(3),)),
    }
    return calls[how](), seen


PRINTED = entries("""
grad(f)(x) | jvp(f, (x,), (x,)) | vmap(f)(x[None]) | grad(lambda x: grad(f)(x).sum())(x) | vmap(grad(f))(x[None])
grad(lambda x: vmap(f)(x[None]).sum())(x) | vmap(vmap(f))(x[None, None]) | jvp(vmap(f), (x[None],), (x[None],))
""")
PLACED = entries("""
vmap(vmap(f, in_dims=1), in_dims=1)(x) | vmap(grad(lambda x: f(x).sum()), in_dims=2)(x)
grad(lambda x: vmap(f, in_dims=2)(x).sum())(x) | jvp(vmap(f, in_dims=1), (x,), (x,))
vmap(lambda x: jvp(f, (x,), (x,)), in_dims=1)(x) | hessian(lambda x: f(x).sum())(x[0, 0])
""")


@pytest.mark.parametrize("text", PLACED)
def test_printing_where_the_batch_is(torch, text):
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.extend([repr(x), repr(x.square()), str(x * 1)])
        return x.square()

    eval(text, vars(torch.func) | {"f": f, "x": torch.arange(8.0).reshape(2, 2, 2)})
    return seen[:3], [text.split("\n")[:2] for text in seen]


@pytest.mark.parametrize("text", PRINTED)
def test_printing_a_lifted_tensor(torch, text):
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.extend([x, repr(x), repr(x * 2), str(x.sum())])
        return x.sum()

    eval(text, vars(torch.func) | {"f": f, "x": torch.tensor([1.0, 2.5, 3.0])})
    return seen[1:], repr(seen[0]) if text == "grad(f)(x)" else None


def test_an_output_that_is_the_same_for_all_samples_is_repeated_anywhere() -> None:
    """PyTorch 2.13 repeats it in front, wherever it shall go."""
    batch, one = workbench.ones(2, 3), workbench.arange(4.0)
    assert workbench.vmap(lambda x: one, out_dims=1)(batch).tolist() == [[n, n] for n in range(4)]
    assert workbench.vmap(lambda x: one, out_dims=-2)(batch).tolist() == [[0, 1, 2, 3]] * 2


@pytest.mark.parametrize("text", ["t.sin()", "t * a", "(t @ a.T).sum(0)", "grad(lambda u: u.exp().sum())(t)", "a * 2"])
def test_what_a_batch_of_no_samples_makes_is_part_of_the_graph(torch, text):
    a = torch.ones(2, 3, requires_grad=True)
    batch = torch.zeros(0, 2, 3, requires_grad=True)
    out = torch.vmap(lambda t: eval(text, {"t": t, "a": a, "grad": torch.func.grad}))(batch)
    out.sum().backward()
    return out.detach(), batch.grad, a.grad


def test_the_package_loads_on_first_use() -> None:
    assert workbench.vmap is workbench.func.vmap and "vmap" in workbench.__all__ and "func" in workbench.__all__
