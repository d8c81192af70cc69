"""Section 20: what vmap asks of custom Functions; each test is named after its row."""

from __future__ import annotations

from typing import Any

import pytest
from functions import doubling, wide
from oracle import compare, entries, raised

TRANSFORMS = entries("""
vmap(f)(rows) | grad(lambda x: f(x).sum())(x) | jvp(f, (x,), (x,)) | vjp(f, x) | jacrev(f)(x) | jacfwd(f)(x)
vmap(lambda x: f(torch.ones(3)) + x)(rows) | grad(lambda x: (f(torch.ones(3)) * x).sum())(x)
vmap(grad(lambda x: f(x).sum()))(rows) | hessian(lambda x: f(x).sum())(x) | vmap(vjp(f, x)[1])(rows)
""")
ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
KINDS: dict[str, Any] = {
    "one step": lambda torch: type(
        "Double",
        (torch.autograd.Function,),
        {"forward": staticmethod(lambda ctx, x: x * 2), "backward": staticmethod(lambda ctx, g: g * 2)},
    ),
    "no rule": lambda torch: doubling(torch),
    "both rules": lambda torch: doubling(torch, generate_vmap_rule=True, vmap=lambda info, dims, x: (x * 2, 0)),
    "a rule": lambda torch: doubling(torch, vmap=lambda info, dims, x: (x * 2, dims[0])),
    "generated": lambda torch: doubling(torch, generate_vmap_rule=True),
    "with jvp": lambda torch: doubling(torch, generate_vmap_rule=True, jvp=lambda ctx, t: t * 2),
}


@pytest.mark.parametrize("text", TRANSFORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_20_1_to_20_3_what_a_transform_asks_for(torch, kind, text):
    names = {name: getattr(torch.func, name) for name in ("grad", "vjp", "jvp", "vmap", "jacrev", "jacfwd")}
    names |= {"hessian": torch.func.hessian, "x": wide(torch, [1.0, 2.0, 3.0]), "torch": torch}
    names |= {"rows": wide(torch, ROWS), "f": KINDS[kind](torch).apply}
    found = eval(text, names)
    return found[0] if text.startswith("vjp") else found


def test_20_9_the_default_rule(torch: Any) -> Any:
    return doubling(torch).vmap(None, None)


@pytest.mark.parametrize("randomness", ["error", "different", "same"])
def test_20_4_what_a_rule_is_told(torch, randomness):
    told = []

    def rule(info, in_dims, *args):
        shapes = [getattr(a, "shape", a) for a in args]
        told.append((info.batch_size, info.randomness, in_dims, shapes, type(info).__name__))
        return args[0] * 2, in_dims[0]

    function = doubling(torch, forward=lambda x, y, n, s: x * 2, vmap=rule).apply
    rows, x = wide(torch, ROWS), wide(torch, [1.0, 2.0, 3.0])
    vmap = torch.func.vmap
    found = [
        vmap(lambda r: function(r, x, 2, None), randomness=randomness)(rows),
        vmap(lambda r: function(r, x, 2.5, "s"), randomness=randomness)(rows),
        vmap(lambda r: function(r, r, (x, 2), [tuple(r.shape)]), randomness=randomness)(rows),
        vmap(vmap(lambda r: function(r, x[0], 2, None), randomness=randomness), randomness=randomness)(rows),
    ]
    return found, told


RESULTS = entries("""
(x * 2, 0) | (x.t() * 2, 1) | (x.t() * 2, -1) | (x[0], None) | (x, None) | ((x, x), (0, None)) | x * 2 | [x, 0]
(x, x, 0) | (x, x, 0, 0) | (x,) | (x, (0, 0)) | ((x, x), (0,)) | ((x, x), 0) | ((x, x[0]), (0, None))
([x, x], [0, 0]) | ((x, x), [0, 0]) | None | 1 / 0
""")


@pytest.mark.parametrize("text", RESULTS)
def test_20_5_what_a_rule_returns(torch, text):
    rule = eval(f"lambda info, dims, x: {text}")
    try:
        return torch.func.vmap(doubling(torch, vmap=rule).apply)(wide(torch, ROWS))
    except RuntimeError as error:
        return str(error).replace("workbench.autograd.tensor.Tensor", "torch.Tensor")


BATCHED = entries("""
vmap(lambda r: f(x) + r)(rows) | vmap(lambda r: f(x), out_dims=None)(rows) | grad(lambda r: f(r).sum())(x)
vmap(vmap(f))(rows) | vmap(lambda r: vmap(lambda s: f(s) + r)(x))(rows)
""")


@pytest.mark.parametrize("text", BATCHED)
def test_20_6_a_rule_is_for_batches(torch, text):
    asked: list[Any] = []
    f = doubling(torch, vmap=lambda info, in_dims, x: asked.append(in_dims) or (x * 2, 0)).apply
    names = {"f": f, "rows": wide(torch, [[1.0, 2.0], [3.0, 4.0]]), "x": wide(torch, [1.0, 2.0])}
    return eval(text, names | {"vmap": torch.func.vmap, "grad": torch.func.grad}), asked


def told_of(torch: Any, thing: Any) -> Any:
    """What a rule is given, in terms that both sides share."""
    if isinstance(thing, torch.Tensor):
        return repr(thing).split("(")[0], tuple(thing.shape), float(thing.reshape(-1)[1:3].sum()), thing.is_contiguous()
    if isinstance(thing, dict):
        return {key: told_of(torch, each) for key, each in thing.items()}
    return [told_of(torch, each) for each in thing] if isinstance(thing, (list, tuple)) else thing


ARGUMENTS = entries("""
f(x) | f(x.exp()) | f(x > 3) | f(x + 1) | f(x.sum(0)) | f(f(x)) | f(x, [x, x[0], 3]) | f(x, [torch.ones(2), (x, None)])
f(x, {'a': x, 'b': 1}) | f(torch.ones(2), [x]) | f(torch.ones(2), {'a': torch.ones(2)}) + x
f(x.mul_(2)) | f(x.detach()) | f(x ** 2) | f(1 - x) | f(x.new_zeros(2, 2)) | f(x[0]) | f(x.clamp(0, 3).neg())
vmap(f, in_dims=1)(x) | vmap(f)(x) | vmap(lambda x: f(x.sin()), in_dims=-1)(x)
""")


@pytest.mark.parametrize("in_dims", [0, 1, -1])
@pytest.mark.parametrize("text", ARGUMENTS)
def test_20_4_a_rule_is_given_the_batch_as_it_lies(torch, text, in_dims):
    told = []

    def rule(info, in_dims, *args):
        told.append((info.batch_size, in_dims, told_of(torch, args)))
        return args[0] * 2, in_dims[0]

    names = {"torch": torch, "vmap": torch.func.vmap}
    names["f"] = doubling(torch, forward=lambda x, *more: x * 2, vmap=rule).apply
    x = torch.arange(24.0).reshape(2, 3, 4)
    found = torch.func.vmap(lambda x: eval(text, names | {"x": x}), in_dims=in_dims)(x)
    return found.sum(), tuple(found.shape), told


def test_20_4_a_rule_is_given_the_very_tensor(torch: Any) -> Any:
    x, seen = wide(torch, ROWS), []

    def rule(info, in_dims, y):
        seen.append(y is x)
        return y * 2, in_dims[0]

    f = doubling(torch, vmap=rule).apply
    vmap = torch.func.vmap
    vmap(f)(x), vmap(f, in_dims=1)(x), vmap(f, in_dims=-1)(x), vmap(lambda y: f(y * 1), in_dims=1)(x)
    return seen, vmap(lambda y: y, in_dims=1, out_dims=1)(x) is x, vmap(lambda y: y, in_dims=1)(x) is x


@pytest.mark.parametrize("out_dims", [0, 1, 2, -1])
def test_20_5_the_out_dims_of_a_rule_are_where_the_batch_is(torch, out_dims):
    def told(info, in_dims, x):
        seen.append((in_dims, tuple(x.shape)))
        return x, in_dims[0]

    seen = []
    moved = doubling(torch, vmap=lambda info, dims, x: (x.movedim(dims[0], out_dims) * 2, out_dims)).apply
    second = doubling(torch, vmap=told).apply

    def f(x: Any) -> Any:
        y = moved(x)
        seen.append(repr(y).split("\n")[0])
        return second(y)

    x = torch.arange(24.0).reshape(2, 3, 4)
    return torch.func.vmap(f, in_dims=1)(x).shape, torch.func.vmap(f, in_dims=1, out_dims=1)(x), seen


TREES = entries("""
({'a': x}, {'b': 0}) | ([x, x], (0, 0)) | ((x, (x, x)), (0, (0,))) | ({'a': x, 'b': [x, 3]}, {'a': 0, 'b': [0, None]})
({'a': x, 'b': x}, 0) | ([x, [x]], [0, [0]])
""")


@pytest.mark.parametrize("text", TREES)
def test_20_5_a_rule_may_return_a_tree(torch, text):
    f = doubling(torch, vmap=lambda info, dims, x: eval(text, {"x": x * 2})).apply
    rows, seen = wide(torch, [[1.0, 2.0], [3.0, 4.0]]), []

    def look(x: Any) -> Any:
        seen.append(told_of(torch, f(x)))
        return x

    torch.func.vmap(look)(rows)
    return seen


SIGNATURES = ["x, *, k", "x, *, k=2", "x, k=2"]
RULES: dict[str, Any] = {
    "generated": {"generate_vmap_rule": True},
    "a rule": {"vmap": lambda info, dims, x, **k: (x * 2, 0)},
    "none": {},
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("signature", SIGNATURES)
def test_20_4_what_is_given_by_name(signature: str, rule: str) -> None:
    def program(torch: Any) -> Any:
        forward = eval(f"lambda {signature}: x * 2")
        f = doubling(torch, forward=forward, backward=lambda ctx, g: (g * 2, None), **RULES[rule]).apply
        func, one, seen = torch.func, torch.ones(2), []
        for given in ({}, {"k": 3}, {"k": one}, {"k": [one]}):
            seen += [
                raised(f, one, **given),
                raised(func.grad(lambda x, given=given: f(x, **given).sum()), one),
                raised(func.jvp, lambda x, given=given: f(x.detach(), **given), (one,), (one,)),
                raised(func.vmap(lambda x, given=given: f(x, **given)), torch.ones(3, 2)),
                raised(func.vmap(lambda x, given=given: f(one, **given) + x), torch.ones(3, 2)),
            ]
        return [each if isinstance(each, str) else (each[0], alike(each[1])[:90]) for each in seen]

    def alike(said: str) -> str:
        """An error of `inspect.Signature.bind`, which says what kind of argument is missing from 3.12 on."""
        return said.replace("missing a required keyword-only argument", "missing a required argument")

    compare(program)


LARGER = {
    "in front": (lambda x: x * 2, lambda ctx, g: g.expand(5, 3) * 2),
    "along one dimension": (lambda x: x[:, :1].sum(0, keepdim=True), lambda ctx, g: g.expand(2, 3) * 1),
    "of two inputs": (lambda x, y: x * y, lambda ctx, g: (g.expand(2, 4, 3) * 1, g.expand(4, 4, 3) * 1)),
    "the batch's own size": (lambda x: x * 2, lambda ctx, g: g.expand(2, 3) * torch_rows(g)),
}


def torch_rows(g: Any) -> Any:
    """Two rows that differ."""
    return g.new_zeros(2, 1) + g.new_zeros(2, 1).cumsum(0) + g.new_ones(2, 1).cumsum(0)


@pytest.mark.parametrize("name", LARGER)
def test_20_7_a_gradient_larger_than_its_input_is_summed(torch, name):
    forward, backward = LARGER[name]
    f = doubling(torch, forward=forward, backward=backward, generate_vmap_rule=True).apply
    several = name == "of two inputs"
    shape = (2, 2, 1) if name == "along one dimension" else (2, 4, 3) if several else (2, 3)
    x, y = torch.arange(24.0)[: 4 if shape[-1] == 1 else 24 if several else 6].reshape(shape), torch.ones(3)
    given, dims, which = ((x, y), (0, None), (0, 1)) if several else ((x,), (0,), (0,))
    func = torch.func
    return [
        func.vmap(func.grad(lambda *a: f(*a).sum(), argnums=which), in_dims=dims)(*given),
        func.grad(lambda *a: func.vmap(f, in_dims=dims)(*a).sum(), argnums=which)(*given),
        func.vmap(func.grad(lambda x: f(x, *given[1:]).sum()), in_dims=-1)(x.movedim(0, -1)),
    ]


def test_20_7_a_generated_rule_sees_lists_and_where_the_batch_is(torch: Any) -> Any:
    seen = []

    def forward(x, rest):
        seen.append((repr(x).split("\n")[0], repr(rest[0]).split("\n")[0], rest[1]))
        return inner(x) * rest[0]

    def rule(info, in_dims, x):
        seen.append(in_dims)
        return x * 1, in_dims[0]

    inner = doubling(torch, forward=lambda x: x * 1, vmap=rule).apply
    f = doubling(torch, forward=forward, backward=lambda ctx, g: (g * 2, None), generate_vmap_rule=True).apply
    func, x = torch.func, wide(torch, ROWS)
    return [
        func.vmap(lambda x: f(x, [x, 3]), in_dims=1)(x),
        func.vmap(lambda x: f(x[0], [torch.ones(3), 3]))(x),
        func.vmap(func.grad(lambda x: f(x, [x.detach(), 3]).sum()))(x),
        func.grad(lambda x: func.vmap(lambda x: f(x, [x, 3]))(x).sum())(x),
    ], seen
