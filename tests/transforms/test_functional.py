"""autograd.functional beside PyTorch's: results, histories, and every refusal (rows 29 of the semantic map)."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from functions import attempt, function, saved, wide
from oracle import entries, raised

import workbench

NAMES = ("jacobian", "hessian", "vjp", "jvp", "hvp", "vhp")
PRODUCTS = NAMES[2:]
OPTIONS: tuple[dict[str, bool], ...] = (
    {},
    {"create_graph": True},
    {"strict": True},
    {"strict": True, "create_graph": True},
)
# Functions of one tensor of two elements, and of two such tensors.
ONE = entries("""
x * x | (x * x * x).sum() | (x * x, x.sum()) | (x.sum(), x.sum()) | ((x * x).sum(),) | (x * x).sum().reshape(1) | x
x * 3 | (x * 3).sum() | x.detach() * 2 | x.detach().sum() | one | one.sum() | (x * x, one) | other.sum() | x[:0]
x.long() | x.long().sum() | 3 | [x * x] | (x * x, 3) | None | {"a": x}
""")
TWO = entries("""
x * y | x * x | (x * y).sum() | (x * x * x).sum() | (x * y, x.sum()) | (x * x * x * y).sum() | (x + y).sum()
(x * x * x).sum() + y.sum() | (x * x).sum() * y.detach().sum() | (x.detach() * y.detach(), x)
""")


def of_text(torch: Any, text: str, names: str) -> Any:
    """A function whose body is an expression."""
    known = {"torch": torch, "one": wide(torch, [1.0, 1.0]), "other": wide(torch, [1.0, 2.0], requires_grad=True)}
    return eval(f"lambda {names}: {text}", known)


VECTORS = {
    "none": lambda torch: (),
    "vector": lambda torch: (wide(torch, [3.0, 4.0]),),
    "number": lambda torch: (wide(torch, 5.0),),
    "pair": lambda torch: ((wide(torch, [3.0, 4.0]), wide(torch, 5.0)),),
    "vectors": lambda torch: ((wide(torch, [3.0, 4.0]), wide(torch, [1.0, 2.0])),),
}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_29_2_one_input(torch, name, options):
    transform = getattr(torch.autograd.functional, name)
    found = []
    for text in ONE:
        for v, make in VECTORS.items() if name in PRODUCTS else [("none", VECTORS["none"])]:
            for grad in (False, True):
                func, x = of_text(torch, text, "x"), wide(torch, [1.0, 2.0], grad)
                found.append((text, v, grad, attempt(transform, func, x, *make(torch), **options)))
    return found


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_29_2_two_inputs(torch, name, options):
    transform = getattr(torch.autograd.functional, name)
    found = []
    for text in TWO:
        for v, make in VECTORS.items():
            inputs = wide(torch, [1.0, 2.0], requires_grad=True), wide(torch, [3.0, 4.0])
            vs = make(torch) if name in PRODUCTS else ()
            found.append((text, v, attempt(transform, of_text(torch, text, "x, y"), inputs, *vs, **options)))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_29_1_what_inputs_may_be(torch, name):
    transform, x = getattr(torch.autograd.functional, name), wide(torch, [1.0])
    wrong = ([x], 3, (x, 3), "a", None, (x, None), {"a": x})
    whole = torch.ones(2, dtype=torch.int64)
    found = [raised(transform, lambda *xs: xs, inputs) for inputs in wrong]
    found += [raised(transform, lambda *xs: xs[0].sum(), inputs) for inputs in (whole, (x, whole))]
    return found, attempt(transform, lambda *xs: xs[0].sum(), (x,)), attempt(transform, lambda x: x * x * x, x)


STRATEGIES: tuple[dict[str, Any], ...] = (
    {"strategy": "sideways"},
    {"strategy": "forward-mode"},
    {"strategy": "forward-mode", "create_graph": True},
    {"strategy": "forward-mode", "strict": True},
    {"strategy": "forward-mode", "strict": True, "vectorize": True},
    {"strategy": "forward-mode", "vectorize": True},
    {"vectorize": True},
    {"vectorize": True, "strict": True},
    {"vectorize": True, "create_graph": True},
)


@pytest.mark.parametrize("options", STRATEGIES, ids=str)
def test_29_3_strategies(torch, options):
    jacobian, hessian = torch.autograd.functional.jacobian, torch.autograd.functional.hessian
    x, outer = wide(torch, [1.0, 2.0]), dict(options)
    if "strategy" in outer:
        outer["outer_jacobian_strategy"] = outer.pop("strategy")
    with warnings.catch_warnings():  # PyTorch's own, of its compiler
        warnings.simplefilter("ignore")
        found = [attempt(jacobian, of_text(torch, text, "x"), x, **options) for text in ("x * x", "(x * x).sum()")]
        found.append(attempt(jacobian, lambda x: (x * x, (x * x).sum()), x, **options))
        found.append(attempt(hessian, lambda x: x * x, x, **outer))
        if outer != {"outer_jacobian_strategy": "forward-mode", "vectorize": True}:  # PyTorch's has a history then
            found.append(attempt(hessian, lambda x: (x * x * x).sum(), x, **outer))
    return found


def test_29_3_forward_over_reverse_gives_the_same_hessian() -> None:
    x = wide(workbench, [1.0, 2.0])
    options = {"outer_jacobian_strategy": "forward-mode", "vectorize": True}
    found = workbench.autograd.functional.hessian(lambda x: (x * x * x).sum(), x, **options)
    assert found.tolist() == [[6.0, 0.0], [0.0, 12.0]] and not found.requires_grad


@pytest.mark.parametrize("name", PRODUCTS)
def test_29_4_what_v_may_be(torch, name):
    transform, x = getattr(torch.autograd.functional, name), wide(torch, [1.0, 2.0])
    one = [x, (x,), [x], 3, (x, x), (3,), "a", (), torch.ones(2), torch.ones(2, dtype=torch.int64), torch.ones(3)]
    one += [wide(torch, 1.0), wide(torch, [1.0]), wide(torch, [[1.0, 2.0]])]
    two = [x, (x,), (x, x), (x, wide(torch, [1.0])), (x, 3), (x, x, x), (wide(torch, [1.0]), x)]
    return [
        [attempt(transform, of_text(torch, text, "x"), x, v) for text in ("(x * x).sum()", "x * x") for v in one],
        [attempt(transform, lambda x: (x * x, x.sum()), x, v) for v in one],
        [attempt(transform, lambda x, y: (x * y).sum(), (x, x), v) for v in two],
        [attempt(transform, lambda x: (x * x).sum(), (x,), v) for v in two],
        [attempt(transform, lambda x, y: (x * y, x), (x, x), v) for v in two],
    ]


def test_29_6_jvp_needs_no_forward_rule(torch: Any) -> Any:
    Cube = function(torch, lambda ctx, x: x * x * x, saved(lambda g, x: g * 3 * x * x), saves=True)
    x, v = wide(torch, [1.0, 2.0]), wide(torch, [3.0, 4.0])
    functional = torch.autograd.functional
    return functional.jvp(Cube.apply, x, v), functional.hvp(lambda x: Cube.apply(x).sum(), x, v)


def test_shapes_of_results(torch: Any) -> Any:
    functional = torch.autograd.functional
    a, b = wide(torch, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), wide(torch, 2.0)
    empty = torch.zeros(0, dtype=torch.float64)
    return [
        functional.jacobian(lambda a: a.sum(0) * a.sum(), a),
        functional.jacobian(lambda a, b: (a * b, b), (a, b)),
        functional.jacobian(lambda a: a.t(), a),
        functional.jacobian(lambda b: b * b, b),
        functional.jacobian(lambda e: e.sum(), empty),
        raised(functional.jacobian, lambda e: e * 2, empty),
        functional.hessian(lambda a, b: (a * a * a * b).sum(), (a, b)),
        functional.hessian(lambda b: (b * b * b).reshape(1, 1), b),
        functional.vjp(lambda b: b * b, b),
        functional.jvp(lambda b: b * b, b),
        functional.hvp(lambda b: b * b * b, b),
        functional.vhp(lambda b: b * b * b, b),
    ]


def test_results_take_the_dtype_of_what_they_belong_to(torch: Any) -> Any:
    functional, x = torch.autograd.functional, torch.ones(2)
    return [
        functional.jacobian(lambda x: x.double() * 2, x),
        functional.jvp(lambda x: x.double(), x, wide(torch, [1.0, 2.0])),
        functional.vjp(lambda x: x.double(), x, torch.ones(2)),
        functional.vjp(lambda x: x, wide(torch, [1.0, 2.0]), torch.ones(2)),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_create_graph_reaches_inputs_and_vectors(torch, name):
    x, v = wide(torch, [1.0, 2.0], requires_grad=True), wide(torch, [3.0, 4.0], requires_grad=True)
    power = (lambda x: x * x * x) if name in ("jacobian", "vjp", "jvp") else (lambda x: (x * x * x * x).sum())
    vs = (v,) if name in PRODUCTS else ()
    found = getattr(torch.autograd.functional, name)(power, x, *vs, create_graph=True)
    total = sum(f.sum() for f in found) if name in PRODUCTS else found.sum()
    return found, torch.autograd.grad(total, (x, *vs))


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_what_the_function_sees_and_what_stays(torch, name, create_graph):
    calls = []

    def cubes(t):
        node = None if t.grad_fn is None else t.grad_fn.name()
        calls.append((t is x, t.requires_grad, t.is_leaf, torch.is_grad_enabled(), node))
        return (t * t * t).sum()

    x = wide(torch, [1.0, 2.0], requires_grad=True)
    x.grad = wide(torch, [7.0, 8.0])
    vs = (wide(torch, [3.0, 4.0]),) if name in PRODUCTS[1:] else ()
    transform = getattr(torch.autograd.functional, name)
    found = [transform(cubes, x, *vs, create_graph=create_graph)]
    with torch.no_grad():
        found += [transform(cubes, x, *vs, create_graph=create_graph), torch.is_grad_enabled()]
    return found, calls, x, x.grad, x._version
