"""Section 20: what vmap asks of custom Functions; each test is named after its row."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries, same


def double(torch: Any, value: Any) -> Any:
    return torch.tensor(value, dtype=torch.float64)


def plain(torch: Any, **members: Any) -> Any:
    """A Function that doubles, with setup_context, and what else is given."""
    made = {
        "forward": staticmethod(lambda x: x * 2),
        "setup_context": staticmethod(lambda ctx, inputs, output: None),
        "backward": staticmethod(lambda ctx, g: g * 2),
    }
    members = {k: v if isinstance(v, bool) else staticmethod(v) for k, v in members.items()}
    return type("Double", (torch.autograd.Function,), made | members)


TRANSFORMS = entries("""
vmap(f)(rows) | grad(lambda x: f(x).sum())(x) | jvp(f, (x,), (x,)) | vjp(f, x) | jacrev(f)(x) | jacfwd(f)(x)
vmap(lambda x: f(torch.ones(3)) + x)(rows) | grad(lambda x: (f(torch.ones(3)) * x).sum())(x)
vmap(grad(lambda x: f(x).sum()))(rows) | hessian(lambda x: f(x).sum())(x) | vmap(vjp(f, x)[1])(rows)
""")
KINDS: dict[str, Any] = {
    "one step": lambda torch: type(
        "Double",
        (torch.autograd.Function,),
        {"forward": staticmethod(lambda ctx, x: x * 2), "backward": staticmethod(lambda ctx, g: g * 2)},
    ),
    "no rule": lambda torch: plain(torch),
    "both rules": lambda torch: plain(torch, generate_vmap_rule=True, vmap=lambda info, dims, x: (x * 2, 0)),
    "a rule": lambda torch: plain(torch, vmap=lambda info, dims, x: (x * 2, dims[0])),
    "generated": lambda torch: plain(torch, generate_vmap_rule=True),
    "with jvp": lambda torch: plain(torch, generate_vmap_rule=True, jvp=lambda ctx, t: t * 2),
}


@pytest.mark.parametrize("text", TRANSFORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_20_1_to_20_3_what_a_transform_asks_for(kind: str, text: str) -> None:
    def program(torch: Any) -> Any:
        names = {name: getattr(torch.func, name) for name in ("grad", "vjp", "jvp", "vmap", "jacrev", "jacfwd")}
        names |= {"hessian": torch.func.hessian, "x": double(torch, [1.0, 2.0, 3.0]), "torch": torch}
        names |= {"rows": double(torch, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), "f": KINDS[kind](torch).apply}
        found = eval(text, names)
        return found[0] if text.startswith("vjp") else found

    compare(program)


@same
def test_20_9_the_default_rule(torch: Any) -> Any:
    return plain(torch).vmap(None, None)


@pytest.mark.parametrize("randomness", ["error", "different", "same"])
def test_20_4_what_a_rule_is_told(randomness: str) -> None:
    def program(torch: Any) -> Any:
        told = []

        def rule(info, in_dims, *args):
            shapes = [getattr(a, "shape", a) for a in args]
            told.append((info.batch_size, info.randomness, in_dims, shapes, type(info).__name__))
            return args[0] * 2, in_dims[0]

        function = plain(torch, forward=lambda x, y, n, s: x * 2, vmap=rule).apply
        rows, x = double(torch, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), double(torch, [1.0, 2.0, 3.0])
        vmap = torch.func.vmap
        found = [
            vmap(lambda r: function(r, x, 2, None), randomness=randomness)(rows),
            vmap(lambda r: function(r, x, 2.5, "s"), randomness=randomness)(rows),
            vmap(lambda r: function(r, r, (x, 2), [tuple(r.shape)]), randomness=randomness)(rows),
            vmap(vmap(lambda r: function(r, x[0], 2, None), randomness=randomness), randomness=randomness)(rows),
        ]
        return found, told

    compare(program)


RESULTS: dict[str, Any] = {
    "a pair": lambda info, dims, x: (x * 2, 0),
    "moved": lambda info, dims, x: (x.t() * 2, 1),
    "from the end": lambda info, dims, x: (x.t() * 2, -1),
    "not batched": lambda info, dims, x: (x[0], None),
    "the input": lambda info, dims, x: (x, None),
    "the input twice": lambda info, dims, x: ((x, x), (0, None)),
    "a tensor": lambda info, dims, x: x * 2,
    "a list": lambda info, dims, x: [x, 0],
    "three": lambda info, dims, x: (x, x, 0),
    "four": lambda info, dims, x: (x, x, 0, 0),
    "one": lambda info, dims, x: (x,),
    "too many dims": lambda info, dims, x: (x, (0, 0)),
    "too few dims": lambda info, dims, x: ((x, x), (0,)),
    "a dim for all": lambda info, dims, x: ((x, x), 0),
    "two": lambda info, dims, x: ((x, x[0]), (0, None)),
    "two in a list": lambda info, dims, x: ([x, x], [0, 0]),
    "a list of dims": lambda info, dims, x: ((x, x), [0, 0]),
    "none": lambda info, dims, x: None,
    "raising": lambda info, dims, x: 1 / 0,
}


@pytest.mark.parametrize("name", RESULTS)
def test_20_5_what_a_rule_returns(name: str) -> None:
    def program(torch: Any) -> Any:
        rows = double(torch, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        try:
            return torch.func.vmap(plain(torch, vmap=RESULTS[name]).apply)(rows)
        except RuntimeError as error:
            return str(error).replace("workbench.autograd.tensor.Tensor", "torch.Tensor")

    compare(program)


@same
def test_20_6_a_rule_is_for_batches(torch: Any) -> Any:
    asked = []

    def rule(info, in_dims, x):
        asked.append(in_dims)
        return x * 2, 0

    f = plain(torch, vmap=rule).apply
    rows, x = double(torch, [[1.0, 2.0], [3.0, 4.0]]), double(torch, [1.0, 2.0])
    found = [
        torch.func.vmap(lambda r: f(x) + r)(rows),
        torch.func.vmap(lambda r: f(x), out_dims=None)(rows),
        torch.func.grad(lambda r: f(r).sum())(x),
        torch.func.vmap(torch.func.vmap(f))(rows),
        torch.func.vmap(lambda r: torch.func.vmap(lambda s: f(s) + r)(x))(rows),
    ]
    return found, asked
