"""How a Function is called: setup_context, keyword arguments, vjp and once_differentiable (rows 9 to 11 and 17)."""

from __future__ import annotations

import functools
import inspect
import itertools
from typing import Any

import pytest
from functions import function, leaf, nothing
from oracle import chain, entries, raised


def power(torch: Any, seen: list[Any] | None = None) -> Any:
    """A Function with setup_context and two arguments that have defaults."""

    def setup_context(ctx, inputs, output):
        if seen is not None:
            seen.append((inputs, output))
        x, ctx.n, ctx.scale = inputs
        ctx.save_for_backward(x)

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.n * x ** (ctx.n - 1) * ctx.scale, None, None

    return function(torch, lambda x, n=2, scale=1.0: x**n * scale, backward, name="Power", setup_context=setup_context)


def test_9_1_an_inherited_setup_context_counts(torch):
    x = leaf(torch)
    out = type("Child", (power(torch),), {}).apply(x, 3)
    out.sum().backward()
    return out, x.grad


def test_9_1_as_class_methods(torch):
    class F(torch.autograd.Function):
        @classmethod
        def forward(cls, x):
            return x * 2

        @classmethod
        def setup_context(cls, ctx, inputs, output):
            ctx.name_of_class = cls.__name__

        @classmethod
        def backward(cls, ctx, g):
            return g * 2

    x = leaf(torch)
    out = F.apply(x)
    out.sum().backward()
    return out.grad_fn.name_of_class, x.grad


GIVEN = [(3,), {}], [(3, 4.0), {}], [(), {"n": 3}], [(), {"scale": 2.0}], [(), {"scale": 3.0, "n": 1}], [(), {}]


@pytest.mark.parametrize(("args", "kwargs"), GIVEN)
def test_9_2_inputs_has_all_parameters(torch, args, kwargs):
    seen: list[Any] = []
    x = leaf(torch)
    out = power(torch, seen).apply(x, *args, **kwargs)
    out.sum().backward()
    needs = out.grad_fn.needs_input_grad
    return seen[0][0], seen[0][0][0] is x, seen[0][1] is out, needs, out, x.grad, chain(out.grad_fn)


def test_9_2_a_tensor_by_keyword(torch):
    x = leaf(torch)
    out = power(torch).apply(scale=2.0, x=x)
    out.sum().backward()
    return out, x.grad, out.grad_fn.needs_input_grad


def test_9_12_an_omitted_default_is_no_input(torch):
    def forward(ctx, x, n=2):
        ctx.n = n
        return x * n

    old, x = function(torch, forward, lambda ctx, g: (g * ctx.n, None)[: len(ctx.needs_input_grad)]).apply, leaf(torch)
    a, b, c = old(x), old(x, 3), power(torch).apply(x)
    return [t.grad_fn.needs_input_grad for t in (a, b, c)], torch.autograd.grad([a.sum(), b.sum(), c.sum()], x)


def add(torch: Any) -> Any:
    """A Function in the combined style, with defaults."""

    def forward(ctx, x, y=None, k=1):
        ctx.k = k
        return x * 2 if y is None else x * 2 + y * k

    return function(torch, forward, lambda ctx, g: (g * 2, g * ctx.k, None)[: len(ctx.needs_input_grad)])


def test_10_1_arguments_by_keyword(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 1.0)
    outs = [add(torch).apply(x, y=y), add(torch).apply(x, y, k=5), add(torch).apply(k=3, y=y, x=x)]
    facts = [(o, o.grad_fn.needs_input_grad, chain(o.grad_fn)) for o in outs]
    return facts, [torch.autograd.grad(o, [x, y]) for o in outs]


CALLS = """
P() | P(x, 2, 3.0, 4) | P(x, m=1) | P(x, 2, n=1) | P(n=1) | P(x, 2, 3.0, x=1) | A(x, k=2) | A(y=1, k=2) | A(x, x=1)
A(x, q=1) | A(k=2) | A(x, one, y=2) | A() | F(lambda ctx, x: x * 2, setup_context=nothing).apply(one)
F(lambda x, *, k=2: x * k, setup_context=nothing).apply(one)
F(lambda x, *, k=2: x * k, setup_context=nothing).apply(one, k=3) | F(lambda ctx, x, *, k=1: x * k).apply(one)
F(lambda ctx, x, *, k=1: x * k).apply(one, k=2) | F(lambda ctx, x, **rest: x * 2).apply(one)
F(lambda ctx, x, **rest: x * 2).apply(one, k=2) | F(lambda ctx, *xs: xs[0] * 2).apply(one) | F().apply(one)
F(lambda ctx, *xs: xs[0] * 2).apply(one, k=2) | F(setup_context=nothing).apply(one) | F().forward()
Base.setup_context(None, (), None) | Base.forward(None) | Twice.apply(x) | Twice.apply(x).backward()
Twice.apply(x).grad_fn.apply(one) | Twice.backward(None) | Both.apply(x).backward() | Both.apply(x).grad_fn.apply(one)
type("Child", (Both,), {}).apply(x).backward() | type("Child", (Both,), {}).apply(x).grad_fn.apply(one)
"""


@pytest.mark.parametrize("text", entries(CALLS))
def test_9_to_11_calls(torch: Any, text: str) -> Any:
    known = {"P": power(torch).apply, "A": add(torch).apply, "F": functools.partial(function, torch)}
    known |= {"x": leaf(torch, 1.0), "one": torch.ones(1), "nothing": nothing, "Base": torch.autograd.Function}
    both = {"backward": lambda ctx, g: g * 2, "vjp": lambda ctx, g: g * 2}
    return eval(text, known | {"Twice": twice(torch), "Both": twice(torch, **both)})


def twice(torch: Any, **members: Any) -> Any:
    """A Function that doubles, with these members."""
    return function(torch, lambda ctx, x: x * 2, **members)


def test_11_1_two_names_for_one_method(torch):
    F, x = twice(torch, vjp=lambda ctx, g: g * 2), leaf(torch, 1.0)
    F.apply(x).backward()
    return torch.autograd.Function.vjp is torch.autograd.Function.backward, F.vjp is F.backward, x.grad


def test_11_5_backward_is_looked_up_when_it_is_needed(torch):
    F, x = twice(torch), leaf(torch, 1.0)
    out = F.apply(x)
    F.backward = staticmethod(lambda ctx, g: g * 2)
    out.backward(retain_graph=True)
    F.backward = staticmethod(lambda ctx, g: g * 100)
    out.backward()
    return x.grad


def square(torch: Any, seen: list[Any] | None = None) -> Any:
    """A Function whose backward can be taken once."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_backward(x)
            return x * x * k

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            """The slope."""
            (x,) = ctx.saved_tensors
            result = 2 * g * x
            if seen is not None:
                seen.append((torch.is_grad_enabled(), g.requires_grad, result))
            return result, None

    return Square


def test_17_1_inside(torch):
    seen: list[Any] = []
    x, g = leaf(torch, 1.0), leaf(torch, 1.0)
    out = square(torch, seen).apply(x, 1)
    out.backward(retain_graph=True)
    return seen, torch.autograd.grad(out, x, g, create_graph=True), seen, torch.is_grad_enabled()


def test_17_2_no_incoming_gradient_requires_grad(torch):
    x = leaf(torch, 1.0)
    (g,) = torch.autograd.grad(square(torch).apply(x, 1), x, create_graph=True)
    return g, raised(g.backward)


def test_17_3_and_17_4_an_incoming_gradient_requires_grad(torch):
    x = leaf(torch, 2.0)
    (g,) = torch.autograd.grad(square(torch).apply(x, 1) ** 2, x, create_graph=True)
    used = torch.autograd.grad(g, x, allow_unused=True, retain_graph=True)
    seen = g, chain(g.grad_fn), g.grad_fn.name(), g.output_nr, used
    return seen, raised(torch.autograd.grad, g, x, retain_graph=True), raised(g.backward)


def test_17_5_none_among_the_results(torch):
    backward = torch.autograd.function.once_differentiable(lambda ctx, g: (None, g * 2))
    x, y = leaf(torch, 1.0), leaf(torch, 1.0)
    out = function(torch, lambda ctx, x, y: x * y, backward).apply(x, y) ** 2
    gx, gy = torch.autograd.grad(out, [x, y], create_graph=True, allow_unused=True)
    return gx, gy, gy.output_nr, chain(gy.grad_fn)


def test_17_6_its_name_and_vjp(torch):
    def vjp(ctx, g):
        return g * 2

    F, x = twice(torch, vjp=torch.autograd.function.once_differentiable(vjp)), leaf(torch, 1.0)
    F.apply(x).backward()
    backward = square(torch).backward
    return x.grad, F.vjp.__name__, backward.__name__, backward.__doc__, str(inspect.signature(backward))


def test_17_7_gradgradcheck(torch):
    def f(x):
        return square(torch).apply(x, 1)

    x = leaf(torch, dtype="float64")
    kind, message = raised(torch.autograd.gradgradcheck, f, (x,))
    return torch.autograd.gradcheck(f, (x,)), kind, message.splitlines()[0]


@pytest.mark.parametrize("which", ["input", "output", "other"])
@pytest.mark.parametrize("mode", ["plain", "dirty", "without gradient", "integers"])
def test_an_input_that_is_returned_as_it_is_and_saved(torch, mode, which):
    """Whether that is refused, or else requires grad, is a view, is the input itself, and its version."""

    def outcome(saves: list[str], needs: bool, several: bool, grad_mode: bool) -> str:
        def forward(x, y):
            x = x.mul_(2) if mode == "dirty" else x
            return (x, y * 2) if several else x

        def setup_context(ctx, inputs, output):
            first = output[0] if several else output
            if mode == "dirty":
                ctx.mark_dirty(inputs[0])
            if mode == "without gradient":
                ctx.mark_non_differentiable(first)
            for direction in saves:
                getattr(ctx, f"save_for_{direction}")({"input": inputs[0], "output": first, "other": inputs[1]}[which])

        def backward(ctx, g, *more):
            saved.extend(t.sum().item() for t in ctx.saved_tensors)
            return g, None

        saved: list[float] = []
        x = torch.ones(2, requires_grad=needs)
        x = torch.ones(2, dtype=torch.int64) if mode == "integers" else x * 1 if mode == "dirty" else x
        try:
            with torch.set_grad_enabled(grad_mode):
                out = function(torch, forward, backward, setup_context=setup_context).apply(x, torch.ones(2))
        except RuntimeError as error:
            refusals.add(str(error))
            return "no"
        out = out[0] if several else out
        if out.requires_grad:
            out.sum().backward()
        facts = (out.requires_grad, out._is_view(), out is x)
        return "".join(str(int(fact)) for fact in facts) + f"{out._version} {saved}"

    refusals: set[str] = set()
    directions = ["backward"], ["forward"], ["backward", "forward"]
    cases = itertools.product(directions, [False, True], [False, True], [False, True])
    return [outcome(*case) for case in cases], sorted(refusals)


@pytest.mark.parametrize("saves", ["", "save_for_backward", "save_for_forward"])
@pytest.mark.parametrize("mode", ["plain", "dirty"])
def test_an_input_that_is_returned_as_it_is_and_saved_under_a_transform(torch, mode, saves):
    def setup_context(ctx, inputs, output):
        if mode == "dirty":
            ctx.mark_dirty(*inputs)
        if saves:
            getattr(ctx, saves)(*inputs)

    F = function(
        torch,
        lambda x: x.mul_(2) if mode == "dirty" else x,
        lambda ctx, g: g * 3,
        setup_context=setup_context,
        jvp=lambda ctx, t: t.mul_(2) if mode == "dirty" else t.view_as(t),
    )

    def f(x: Any) -> Any:
        return F.apply(x * 1).sum()

    seen: list[Any] = []
    x, forward_ad = torch.ones(2), torch.autograd.forward_ad
    with forward_ad.dual_level():
        dual = raised(lambda: seen.append(forward_ad.unpack_dual(f(forward_ad.make_dual(x, x * 3))).tangent))
        return [dual] + [
            raised(lambda: seen.append(torch.func.grad(f)(x))),
            raised(lambda: seen.append(torch.func.jvp(f, (x,), (x,)))),
            seen,
        ]
