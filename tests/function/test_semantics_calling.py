"""Semantics of keyword arguments, vjp and once_differentiable; each test is named after its row."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from oracle import chain, compare, raised, same


def add(torch: Any) -> Any:
    """A Function in the combined style, with defaults."""

    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y=None, k=1):
            ctx.k = k
            return x * 2 if y is None else x * 2 + y * k

        @staticmethod
        def backward(ctx, g):
            return (g * 2, g * ctx.k, None)[: len(ctx.needs_input_grad)]

    return Add


@same
def test_10_1_arguments_by_keyword(torch: Any) -> Any:
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    outs = [add(torch).apply(x, y=y), add(torch).apply(x, y, k=5), add(torch).apply(k=3, y=y, x=x)]
    facts = [(o, o.grad_fn.needs_input_grad, chain(o.grad_fn)) for o in outs]
    return facts, [torch.autograd.grad(o, [x, y]) for o in outs]


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        (1, {"k": 2}),
        (0, {"y": 1, "k": 2}),
        (1, {"x": 1}),
        (1, {"q": 1}),
        (0, {"k": 2}),
        (2, {"y": 2}),
        (0, {}),
    ],
)
def test_10_2_and_10_3_arguments_that_do_not_bind(args: int, kwargs: Any) -> None:
    def program(torch: Any) -> Any:
        given = torch.ones(1, requires_grad=True), torch.ones(1)
        return raised(add(torch).apply, *given[:args], **kwargs)

    compare(program)


@pytest.mark.parametrize("kwargs", [{}, {"k": 2}])
@pytest.mark.parametrize(
    "forward", [lambda ctx, x, *, k=1: x * k, lambda ctx, x, **rest: x * 2, lambda ctx, *xs: xs[0] * 2]
)
def test_10_3_keyword_only_and_starred_parameters(forward: Any, kwargs: Any) -> None:
    def program(torch: Any) -> Any:
        F = type("F", (torch.autograd.Function,), {"forward": staticmethod(forward)})
        return raised(F.apply, torch.ones(1), **kwargs)

    compare(program)


@same
def test_11_1_two_names_for_one_method(torch: Any) -> Any:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, g):
            return g * 2

    x = torch.ones(1, requires_grad=True)
    F.apply(x).backward()
    return torch.autograd.Function.vjp is torch.autograd.Function.backward, F.vjp is F.backward, x.grad


def both(torch: Any) -> Any:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def vjp(ctx, g):
            return g * 2

    return F


@pytest.mark.parametrize("inherited", [True, False])
def test_11_2_both_overridden(inherited: bool) -> None:
    def program(torch: Any) -> Any:
        F = type("Child", (both(torch),), {}) if inherited else both(torch)
        out = F.apply(torch.ones(1, requires_grad=True))
        return raised(out.backward), raised(out.grad_fn.apply, torch.ones(1))

    compare(program)


@same
def test_11_3_neither(torch: Any) -> Any:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    out = F.apply(torch.ones(1, requires_grad=True))
    return out, raised(out.backward), raised(out.grad_fn.apply, torch.ones(1)), raised(F.backward, None)


@same
def test_11_4_no_forward(torch: Any) -> Any:
    class F(torch.autograd.Function):
        pass

    class G(torch.autograd.Function):
        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    x = torch.ones(1)
    return (
        raised(F.apply, x),
        raised(G.apply, x),
        raised(F.forward),
        raised(torch.autograd.Function.forward, None),
    )


@same
def test_11_5_backward_is_looked_up_when_it_is_needed(torch: Any) -> Any:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    x = torch.ones(1, requires_grad=True)
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


@same
def test_17_1_inside(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.ones(1, requires_grad=True)
    out = square(torch, seen).apply(x, 1)
    out.backward(retain_graph=True)
    g = torch.ones(1, requires_grad=True)
    return seen, torch.autograd.grad(out, x, g, create_graph=True), seen, torch.is_grad_enabled()


@same
def test_17_2_no_incoming_gradient_requires_grad(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    (g,) = torch.autograd.grad(square(torch).apply(x, 1), x, create_graph=True)
    return g, raised(g.backward)


@same
def test_17_3_an_incoming_gradient_requires_grad(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    (g,) = torch.autograd.grad(square(torch).apply(x, 1) ** 2, x, create_graph=True)
    return g, chain(g.grad_fn), g.grad_fn.name(), g.output_nr, raised(g.backward)


@same
def test_17_4_what_the_error_node_leads_to(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    (g,) = torch.autograd.grad(square(torch).apply(x, 1) ** 2, x, create_graph=True)
    used = torch.autograd.grad(g, x, allow_unused=True, retain_graph=True)
    return used, raised(torch.autograd.grad, g, x)


@same
def test_17_5_none_among_the_results(torch: Any) -> Any:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return None, g * 2

    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    gx, gy = torch.autograd.grad(F.apply(x, y) ** 2, [x, y], create_graph=True, allow_unused=True)
    return gx, gy, gy.output_nr, chain(gy.grad_fn)


@same
def test_17_6_its_name_and_vjp(torch: Any) -> Any:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @torch.autograd.function.once_differentiable
        def vjp(ctx, g):
            return g * 2

    x = torch.ones(1, requires_grad=True)
    F.apply(x).backward()
    backward = square(torch).backward
    return x.grad, F.vjp.__name__, backward.__name__, backward.__doc__, str(inspect.signature(backward))


@same
def test_17_7_gradgradcheck(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)

    def f(x):
        return square(torch).apply(x, 1)

    check = torch.autograd.gradcheck(f, (x,))
    kind, message = raised(torch.autograd.gradgradcheck, f, (x,))[1]
    return check, kind, message.splitlines()[0]
