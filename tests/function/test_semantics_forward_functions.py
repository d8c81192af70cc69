"""Section 8: custom Functions in forward mode; each test is named after its row."""

from __future__ import annotations

import weakref
from typing import Any

import pytest
from functions import function, nothing, saved
from oracle import raised

X, T = [1.0, 2.0, 3.0], [1.0, 0.0, 1.0]


def dual(torch: Any, **options: Any) -> Any:
    """X with the tangent T."""
    return torch.autograd.forward_ad.make_dual(torch.tensor(X, **options), torch.tensor(T, **options))


def pushed(torch: Any, made: Any, *args: Any, **options: Any) -> Any:
    """The outputs of a Function, with tangents, of X with the tangent T and what else is given."""
    fa = torch.autograd.forward_ad
    with fa.dual_level():
        out = made.apply(dual(torch, **options), *args)
        outputs = out if isinstance(out, tuple) else (out,)
        unpacked = [fa.unpack_dual(o) if isinstance(o, torch.Tensor) else o for o in outputs]
        return [(u.primal.detach(), u.tangent) if isinstance(u, tuple) else u for u in unpacked]


RETURNS = """
8.5 a list; x * 2; [g * 2]
8.5 a list of two; (x * 2, x * 3); [g * 2, g * 3]
8.5 a list among two; (x * 2, x * 3); (g * 2, [g], g)
8.5 a dict; x * 2; {"g": g}
8.5 nothing for a view; x[1:]; None
8.6 too few; (x * 2, x * 3); g * 2
8.6 too many; x * 2; (g * 2, g)
8.6 with a number; (x * 2, 5); g * 2
8.6 None for a number; (x * 2, 5); (g * 2, None)
8.6 a tangent for a number; (x * 2, 5); (g * 2, g)
8.7 a float; x * 2; 3.0
8.7 a list of it; x * 2; [g]
8.8 for a fixed output; ctx.mark_non_differentiable(y := x * 3) or (x * 2, y); (g * 2, g)
8.8 None for it; ctx.mark_non_differentiable(y := x * 3) or (x * 2, y); (g * 2, None)
8.9 another shape; x * 2; g[:2]
8.9 another dtype; x * 2; g.double()
8.10 a view, no view; x.view_as(x); g * 2
8.10 a view, the tangent; x.view_as(x); g
8.10 a view, its view; x.view_as(x); g.view_as(g)
8.10 a view, another's; x.view_as(x); g.clone().view(3)
8.10 the input, the tangent; x; g
8.10 the input, its view; x; g.view_as(g)
8.10 the input, another; x; g * 2
8.11 not in place; ctx.mark_dirty(x.mul_(2)) or x; g * 2
8.11 in place; ctx.mark_dirty(x.mul_(2)) or x; g.mul_(2)
8.11 as it was; ctx.mark_dirty(x.mul_(2)) or x; g
8.11 written, then copied; ctx.mark_dirty(x.mul_(2)) or x; g.mul_(2).clone()
8.11 a copy written; ctx.mark_dirty(x.mul_(2)) or x; g.clone().mul_(2)
8.11 nothing; ctx.mark_dirty(x.mul_(2)) or x; None
8.11 no input; ctx.mark_dirty(y := x.clone().mul_(2)) or y; g * 2
8.14 an exception; x * 2; {}["no such key"]
"""


@pytest.mark.parametrize("row", RETURNS.strip().splitlines())
def test_what_jvp_returns(torch, row):
    _, forward, jvp = row.split("; ")
    return pushed(torch, function(torch, eval(f"lambda ctx, x: {forward}"), jvp=eval(f"lambda ctx, g: {jvp}")))


NOTHING = {
    "None": (lambda x: x * 2, lambda ctx, g: None),
    "None in a tuple": (lambda x: x * 2, lambda ctx, g: (None,)),
    "None for the second": (lambda x: (x * 2, x * 3), lambda ctx, g: (g * 2, None)),
    "integers": (lambda x: x * 2, lambda ctx, g: g.long()),
    "None for a list of two": (lambda x: (x * 2, x * 3), lambda ctx, g: (None, None)),
    "None where there is no gradient": (lambda x: (x * 2, x.long()), lambda ctx, g: (g * 2, None)),
}
WAYS: dict[str, Any] = {
    "duals": lambda torch, f, x: pushed(torch, f),
    "jvp": lambda torch, f, x: torch.func.jvp(f.apply, (x,), (x,)),
    "jacfwd": lambda torch, f, x: torch.func.jacfwd(f.apply)(x),
    "jvp of vmap": lambda torch, f, x: torch.func.jvp(torch.func.vmap(f.apply, 0, 0), (x[None],), (x[None],)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("row", NOTHING)
def test_a_jvp_has_a_tangent_for_what_is_differentiable(torch, row, way):
    forward, jvp = NOTHING[row]
    f = function(torch, forward, jvp=jvp, setup_context=nothing, generate_vmap_rule=True)
    try:
        return WAYS[way](torch, f, torch.tensor(X))
    except (RuntimeError, NotImplementedError) as error:  # PyTorch's names the line of C++ before its sentence
        return str(error)[-70:]


def doubled(torch: Any, jvp: Any, **options: Any) -> Any:
    """x * 2 of any number of inputs, with this jvp."""
    return function(torch, lambda ctx, x, *rest: x * 2, jvp=jvp, **options)


def test_8_1_jvp_runs_only_where_there_is_a_tangent(torch):
    seen: list[Any] = []
    made = doubled(torch, lambda ctx, g: seen.append("ran") or g * 2)
    with torch.autograd.forward_ad.dual_level():
        made.apply(torch.tensor(X))
    before = list(seen)
    return before, pushed(torch, made), seen


def test_8_2_without_jvp(torch):
    made = doubled(torch, None)
    return made.apply(torch.tensor(X)), raised(pushed, torch, made)


@pytest.mark.parametrize("materialize", [True, False])
def test_8_3_and_6_9_arguments(torch, materialize):
    def forward(ctx, x, *rest):
        ctx.set_materialize_grads(materialize)
        return x * 2

    seen: list[Any] = []
    made = function(torch, forward, jvp=lambda ctx, *g: seen.append(g) or g[0] * 2)
    return pushed(torch, made, torch.ones(2), torch.tensor([1, 2]), 3), seen


def test_8_4_saved_tensors_inside_jvp(torch):
    def forward(ctx, x):
        ctx.save_for_forward(x)
        ctx.save_for_backward(x, x)
        ctx.factor = 3
        return x * 2

    def jvp(ctx, g):
        seen.append((ctx.saved_tensors, ctx.needs_input_grad, ctx.factor, torch.is_grad_enabled()))
        del ctx.factor
        return g * 2 * ctx.saved_tensors[0]

    def backward(ctx, g):
        seen.append((len(ctx.saved_tensors), hasattr(ctx, "factor")))
        return g * 2

    seen: list[Any] = []
    fa, x = torch.autograd.forward_ad, torch.tensor(X, requires_grad=True)
    with fa.dual_level():
        out = function(torch, forward, backward, jvp=jvp).apply(fa.make_dual(x, torch.tensor(T)))
        tangent = fa.unpack_dual(out).tangent
        (through,) = torch.autograd.grad(tangent.sum(), x, retain_graph=True)
        (plain,) = torch.autograd.grad(out.sum(), x)
    return [s[1:] for s in seen], seen[0][0][0].detach(), tangent, through, plain


def test_8_4_only_saved_for_backward(torch):
    seen: list[Any] = []
    return pushed(torch, doubled(torch, lambda ctx, g: seen.append(ctx.saved_tensors) or g * 2, saves=True)), seen


def test_8_5_only_tensors_are_saved(torch):
    return function(torch, lambda ctx, x: ctx.save_for_forward(3) or x).apply(torch.tensor(X))


def test_8_11_the_dual_stays_the_same_tensor(torch):
    made = function(torch, lambda ctx, x: ctx.mark_dirty(x.mul_(2)) or x, jvp=lambda ctx, g: g.mul_(2))
    with torch.autograd.forward_ad.dual_level():
        x = torch.tensor(X)
        given = torch.autograd.forward_ad.make_dual(x, torch.tensor(T))
        return made.apply(given) is given, torch.autograd.forward_ad.unpack_dual(given).tangent, x


def test_8_11_an_input_without_tangent_is_given_one(torch):
    made = function(torch, lambda ctx, x, y: ctx.mark_dirty(x.mul_(y)) or x, jvp=lambda ctx, g, h: g + h)
    with torch.autograd.forward_ad.dual_level():
        x = torch.tensor(X)
        return made.apply(x, dual(torch)) is x, torch.autograd.forward_ad.unpack_dual(x).tangent


def test_8_11_only_an_input_can_be_marked_dirty_where_a_transform_pushes(torch):
    setup = {"setup_context": lambda ctx, inputs, output: ctx.mark_dirty(output)}
    made = function(torch, lambda x: x * 2, jvp=lambda ctx, g: g * 2, **setup)
    return raised(torch.func.jvp, made.apply, (torch.tensor(X),), (torch.tensor(T),))


def test_8_12_grad_mode_inside_jvp(torch):
    seen: list[Any] = []
    made = doubled(torch, lambda ctx, g: seen.append(torch.is_grad_enabled()) or g * 2)
    with torch.no_grad():
        pushed(torch, made)
    ((_, tangent),) = pushed(torch, made, requires_grad=True)
    return seen, tangent.requires_grad, tangent.grad_fn.name()


def test_8_4_with_setup_context(torch):
    setup = {"setup_context": lambda ctx, inputs, output: ctx.save_for_forward(inputs[0], output)}
    return pushed(torch, function(torch, lambda x: x.exp(), jvp=saved(lambda g, x, out: g * out), **setup))


@pytest.mark.parametrize("names", ["", "save_for_forward", "save_for_backward", "save_for_forward save_for_backward"])
def test_8_4_what_is_saved_for_forward_is_there_until_forward_is_over(torch, names):
    """Meanwhile ctx has the user's own attributes alone."""

    def note(ctx, *grads):
        seen.append((ctx.saved_for_forward is None, len(ctx.saved_tensors), "".join(ctx.__dict__)))
        return grads and grads[0] * 2

    def setup_context(ctx, inputs, output):
        ctx.k = 3
        for name in names.split():
            getattr(ctx, name)(*inputs)
        note(ctx)

    seen: list[Any] = []
    made = function(torch, lambda x: x * 2, note, jvp=note, setup_context=setup_context)
    fa, x = torch.autograd.forward_ad, torch.tensor(X, requires_grad=True)
    with fa.dual_level():
        for given in (x, fa.make_dual(x, torch.tensor(T))):
            y = made.apply(given)
            note(y.grad_fn)
            y.sum().backward()
    torch.func.jvp(made.apply, (x.detach(),), (torch.tensor(T),))
    return seen


def test_8_4_what_was_saved_for_forward_is_let_go(torch):
    def forward(ctx, x):
        big = x * 5
        kept.append(weakref.ref(big))
        ctx.save_for_forward(big)
        return x * 2

    kept: list[Any] = []
    made, x = function(torch, forward, jvp=saved(lambda t, big: t * big.sum())), torch.tensor(X, requires_grad=True)
    with torch.autograd.forward_ad.dual_level():
        y = made.apply(torch.autograd.forward_ad.make_dual(x, torch.tensor(T)))
    return y.grad_fn is not made.apply(x).grad_fn, [ref() is None for ref in kept]


def test_a_jvp_that_fails_leaves_what_was_saved_for_backward() -> None:
    import workbench

    def jvp(ctx, t):
        held.append(ctx)
        raise ZeroDivisionError

    held: list[Any] = []
    with workbench.autograd.forward_ad.dual_level(), pytest.raises(ZeroDivisionError):
        doubled(workbench, jvp, saves=lambda x, out: (x,)).apply(dual(workbench, requires_grad=True))
    assert [saved.tolist() for saved in held[0].saved_tensors] == [X]
