"""Section 8: custom Functions in forward mode; each test is named after its row."""

from __future__ import annotations

import functools
import weakref
from typing import Any

import pytest
from oracle import raised, same

X, T = [1.0, 2.0, 3.0], [1.0, 0.0, 1.0]


def made(torch: Any, forward: Any, jvp: Any, backward: Any = None, setup: Any = None) -> Any:
    methods = {"forward": forward, "jvp": jvp, "backward": backward, "setup_context": setup}
    members = {name: staticmethod(method) for name, method in methods.items() if method is not None}
    return type("F", (torch.autograd.Function,), members)


def pushed(torch: Any, function: Any, *args: Any, **options: Any) -> Any:
    """The outputs of a Function, with tangents, where those of its arguments that have the shape of X are dual."""
    fa = torch.autograd.forward_ad
    t = torch.tensor(T, **options)
    with fa.dual_level():
        duals = [fa.make_dual(a, t) if isinstance(a, torch.Tensor) and a.shape == t.shape else a for a in args]
        out = function.apply(*duals)
        unpacked = [fa.unpack_dual(o) if isinstance(o, torch.Tensor) else o for o in _tuple(out)]
        return [(u.primal.detach(), u.tangent) if isinstance(u, tuple) else u for u in unpacked]


def _tuple(out: Any) -> Any:
    return out if isinstance(out, tuple) else (out,)


def double(ctx: Any, x: Any, *rest: Any) -> Any:
    return x * 2


def in_place(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x.mul_(2))
    return x


def two_of_which_one_is_fixed(ctx: Any, x: Any) -> Any:
    y, z = x * 2, x * 3
    ctx.mark_non_differentiable(z)
    return y, z


RETURNS = {
    "8.6 too few": (lambda ctx, x: (x * 2, x * 3), lambda ctx, g: g * 2),
    "8.6 too many": (double, lambda ctx, g: (g * 2, g)),
    "8.6 with a number": (lambda ctx, x: (x * 2, 5), lambda ctx, g: g * 2),
    "8.6 None for a number": (lambda ctx, x: (x * 2, 5), lambda ctx, g: (g * 2, None)),
    "8.7 a float": (double, lambda ctx, g: 3.0),
    "8.7 a list": (double, lambda ctx, g: [g]),
    "8.8 for a fixed output": (two_of_which_one_is_fixed, lambda ctx, g: (g * 2, g)),
    "8.8 None for it": (two_of_which_one_is_fixed, lambda ctx, g: (g * 2, None)),
    "8.9 another shape": (double, lambda ctx, g: g[:2]),
    "8.9 another dtype": (double, lambda ctx, g: g.double()),
    "8.10 a view, no view": (lambda ctx, x: x.view_as(x), lambda ctx, g: g * 2),
    "8.10 a view, the tangent": (lambda ctx, x: x.view_as(x), lambda ctx, g: g),
    "8.10 a view, its view": (lambda ctx, x: x.view_as(x), lambda ctx, g: g.view_as(g)),
    "8.10 a view, another's": (lambda ctx, x: x.view_as(x), lambda ctx, g: g.clone().view(3)),
    "8.10 the input, the tangent": (lambda ctx, x: x, lambda ctx, g: g),
    "8.10 the input, its view": (lambda ctx, x: x, lambda ctx, g: g.view_as(g)),
    "8.10 the input, another": (lambda ctx, x: x, lambda ctx, g: g * 2),
    "8.11 not in place": (in_place, lambda ctx, g: g * 2),
    "8.11 in place": (in_place, lambda ctx, g: g.mul_(2)),
    "8.11 as it was": (in_place, lambda ctx, g: g),
    "8.11 written, then copied": (in_place, lambda ctx, g: g.mul_(2).clone()),
    "8.11 a copy written": (in_place, lambda ctx, g: g.clone().mul_(2)),
    "8.11 nothing": (in_place, lambda ctx, g: None),
    "8.14 an exception": (double, lambda ctx, g: {}["no such key"]),
}


@pytest.mark.parametrize("row", RETURNS)
@same
def test_what_jvp_returns(torch, row):
    return pushed(torch, made(torch, *RETURNS[row]), torch.tensor(X))


REFUSED = {
    "8.5 a list": (lambda ctx, x: x * 2, lambda ctx, g: [g * 2]),
    "8.5 a list of two": (lambda ctx, x: (x * 2, x * 3), lambda ctx, g: [g * 2, g * 3]),
    "8.5 a list among two": (lambda ctx, x: (x * 2, x * 3), lambda ctx, g: (g * 2, [g], g)),
    "8.5 a number": (lambda ctx, x: x * 2, lambda ctx, g: 3.0),
    "8.5 a dict": (lambda ctx, x: x * 2, lambda ctx, g: {"g": g}),
    "8.5 nothing for a view": (lambda ctx, x: x[1:], lambda ctx, g: None),
    "8.6 a tangent for a number": (lambda ctx, x: (x * 2, 5), lambda ctx, g: (g * 2, g)),
}


@pytest.mark.parametrize("row", REFUSED)
@same
def test_what_jvp_may_not_return(torch, row):
    return pushed(torch, made(torch, *REFUSED[row]), torch.tensor(X))


NOTHING = {
    "None": (lambda x: x * 2, lambda ctx, g: None),
    "None in a tuple": (lambda x: x * 2, lambda ctx, g: (None,)),
    "None for the second": (lambda x: (x * 2, x * 3), lambda ctx, g: (g * 2, None)),
    "integers": (lambda x: x * 2, lambda ctx, g: g.long()),
    "None for a list of two": (lambda x: (x * 2, x * 3), lambda ctx, g: (None, None)),
    "None where there is no gradient": (lambda x: (x * 2, x.long()), lambda ctx, g: (g * 2, None)),
}
WAYS: dict[str, Any] = {
    "duals": lambda torch, f, x: pushed(torch, f, x),
    "jvp": lambda torch, f, x: torch.func.jvp(f.apply, (x,), (x,)),
    "jacfwd": lambda torch, f, x: torch.func.jacfwd(f.apply)(x),
    "jvp of vmap": lambda torch, f, x: torch.func.jvp(torch.func.vmap(f.apply, 0, 0), (x[None],), (x[None],)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("row", NOTHING)
@same
def test_a_jvp_has_a_tangent_for_what_is_differentiable(torch, row, way):
    forward, jvp = NOTHING[row]
    f = made(torch, forward, jvp, setup=lambda ctx, inputs, output: None)
    f.generate_vmap_rule = True
    try:
        return WAYS[way](torch, f, torch.tensor(X))
    except (RuntimeError, NotImplementedError) as error:  # PyTorch's names the line of C++ before its sentence
        return str(error)[-70:]


@same
def test_8_1_jvp_runs_only_where_there_is_a_tangent(torch: Any) -> Any:
    seen = []
    function = made(torch, double, lambda ctx, g: [seen.append("ran"), g * 2][1])
    with torch.autograd.forward_ad.dual_level():
        function.apply(torch.tensor(X))
    return seen, pushed(torch, function, torch.tensor(X)), seen


@same
def test_8_2_without_jvp(torch: Any) -> Any:
    function = made(torch, double, None)
    return function.apply(torch.tensor(X)), raised(lambda: pushed(torch, function, torch.tensor(X)))


@pytest.mark.parametrize("materialize", [True, False])
@same
def test_8_3_and_6_9_arguments(torch, materialize):
    def forward(ctx: Any, x: Any, *rest: Any) -> Any:
        ctx.set_materialize_grads(materialize)
        return x * 2

    seen = []
    function = made(torch, forward, lambda ctx, *g: [seen.append(g), g[0] * 2][1])
    out = pushed(torch, function, torch.tensor(X), torch.ones(2), torch.tensor([1, 2]), 3)
    return out, seen


@same
def test_8_4_saved_tensors_inside_jvp(torch: Any) -> Any:
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(x)
        ctx.save_for_backward(x, x)
        ctx.factor = 3
        return x * 2

    def jvp(ctx: Any, g: Any) -> Any:
        seen.append((ctx.saved_tensors, ctx.needs_input_grad, ctx.factor, torch.is_grad_enabled()))
        del ctx.factor
        return g * 2 * ctx.saved_tensors[0]

    def backward(ctx: Any, g: Any) -> Any:
        seen.append((len(ctx.saved_tensors), hasattr(ctx, "factor")))
        return g * 2

    fa = torch.autograd.forward_ad
    x = torch.tensor(X, requires_grad=True)
    with fa.dual_level():
        out = made(torch, forward, jvp, backward).apply(fa.make_dual(x, torch.tensor(T)))
        tangent = fa.unpack_dual(out).tangent
        (through,) = torch.autograd.grad(tangent.sum(), x, retain_graph=True)
        (plain,) = torch.autograd.grad(out.sum(), x)
    return [s[1:] for s in seen], seen[0][0][0].detach(), tangent, through, plain


@same
def test_8_4_only_saved_for_backward(torch: Any) -> Any:
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    function = made(torch, forward, lambda ctx, g: [seen.append(ctx.saved_tensors), g * 2][1])
    return pushed(torch, function, torch.tensor(X)), seen


@same
def test_8_5_only_tensors_are_saved(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(3)
        return x

    return made(torch, forward, None).apply(torch.tensor(X))


@same
def test_8_11_the_dual_stays_the_same_tensor(torch: Any) -> Any:
    fa = torch.autograd.forward_ad
    with fa.dual_level():
        x = torch.tensor(X)
        dual = fa.make_dual(x, torch.tensor(T))
        out = made(torch, in_place, lambda ctx, g: g.mul_(2)).apply(dual)
        return out is dual, fa.unpack_dual(dual).tangent, x


@same
def test_8_11_an_input_without_tangent_is_given_one(torch: Any) -> Any:
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.mark_dirty(x.mul_(y))
        return x

    fa = torch.autograd.forward_ad
    with fa.dual_level():
        x, dual = torch.tensor(X), fa.make_dual(torch.tensor(X), torch.tensor(T))
        out = made(torch, forward, lambda ctx, g, h: g + h).apply(x, dual)
        return out is x, fa.unpack_dual(x).tangent


@same
def test_8_11_only_an_input_can_be_marked_dirty(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        out = x.clone().mul_(2)
        ctx.mark_dirty(out)
        return out

    fa, function = torch.autograd.forward_ad, made(torch, forward, lambda ctx, g: g * 2)
    with fa.dual_level():
        return raised(function.apply, fa.make_dual(torch.tensor(X), torch.tensor(T)))


@same
def test_8_11_only_an_input_can_be_marked_dirty_where_a_transform_pushes(torch: Any) -> Any:
    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_dirty(output)

    function = made(torch, lambda x: x * 2, lambda ctx, g: g * 2, setup=setup)
    return raised(torch.func.jvp, function.apply, (torch.tensor(X),), (torch.tensor(T),))


@same
def test_8_12_grad_mode_inside_jvp(torch: Any) -> Any:
    seen = []
    function = made(torch, double, lambda ctx, g: [seen.append(torch.is_grad_enabled()), g * 2][1])
    with torch.no_grad():
        pushed(torch, function, torch.tensor(X))
    ((_, tangent),) = pushed(torch, function, torch.tensor(X), requires_grad=True)
    return seen, tangent.requires_grad, tangent.grad_fn.name()


@same
def test_8_with_setup_context(torch: Any) -> Any:
    function = made(
        torch,
        lambda x: x.exp(),
        lambda ctx, g: g * ctx.saved_tensors[1],
        setup=lambda ctx, inputs, output: ctx.save_for_forward(inputs[0], output),
    )
    return pushed(torch, function, torch.tensor(X))


@same
def test_8_4_what_is_saved_for_forward_is_there_until_forward_is_over_and_ctx_has_the_users_own_attributes_alone(
    torch: Any,
) -> Any:
    seen: list[Any] = []

    def note(ctx):
        seen.append((ctx.saved_for_forward, ctx.saved_tensors, dict(ctx.__dict__)))

    def setup(names, ctx, inputs, output):
        ctx.k = 3
        for name in names:
            getattr(ctx, name)(*inputs)
        note(ctx)

    def jvp(ctx, t):
        note(ctx)
        return t * 2

    def backward(ctx, grad):
        note(ctx)
        return grad * 2

    for names in (["save_for_forward"], ["save_for_backward"], ["save_for_forward", "save_for_backward"], []):
        F = made(torch, lambda x: x * 2, jvp, backward, functools.partial(setup, names))
        x = torch.tensor(X, requires_grad=True)
        with torch.autograd.forward_ad.dual_level():
            for given in (x, torch.autograd.forward_ad.make_dual(x, torch.tensor(T))):
                y = F.apply(given)
                note(y.grad_fn)
                y.sum().backward()
        torch.func.jvp(F.apply, (x.detach(),), (torch.tensor(T),))
    return [(forward is None, len(tensors), "".join(own)) for forward, tensors, own in seen]


@same
def test_8_4_what_was_saved_for_forward_is_let_go(torch: Any) -> Any:
    def forward(ctx, x):
        big = x * 5
        kept.append(weakref.ref(big))
        ctx.save_for_forward(big)
        return x * 2

    kept: list[Any] = []
    F = made(torch, forward, lambda ctx, t: t * ctx.saved_tensors[0].sum())
    with torch.autograd.forward_ad.dual_level():
        y = F.apply(torch.autograd.forward_ad.make_dual(torch.tensor(X, requires_grad=True), torch.tensor(T)))
    z = F.apply(torch.tensor(X, requires_grad=True))
    return y.grad_fn is not z.grad_fn, [ref() is None for ref in kept]


def test_a_jvp_that_fails_leaves_what_was_saved_for_backward() -> None:
    import workbench

    held: list[Any] = []

    def forward(ctx, x):
        held.append(ctx)
        ctx.save_for_backward(x)
        return x * 2

    def jvp(ctx, t):
        raise ZeroDivisionError

    F = made(workbench, forward, jvp)
    x = workbench.tensor(X, requires_grad=True)
    with workbench.autograd.forward_ad.dual_level(), pytest.raises(ZeroDivisionError):
        F.apply(workbench.autograd.forward_ad.make_dual(x, workbench.tensor(T)))
    assert [saved.tolist() for saved in held[0].saved_tensors] == [X]
