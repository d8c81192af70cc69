"""Semantics of setup_context; each test is named after its row."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from oracle import chain, compare, raised, same


def power(torch: Any, seen: list[Any] | None = None) -> Any:
    """A Function with setup_context and two arguments that have defaults."""

    class Power(torch.autograd.Function):
        @staticmethod
        def forward(x, n=2, scale=1.0):
            return x**n * scale

        @staticmethod
        def setup_context(ctx, inputs, output):
            if seen is not None:
                seen.append((inputs, output))
            x, ctx.n, ctx.scale = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.n * x ** (ctx.n - 1) * ctx.scale, None, None

    return Power


@same
def test_9_1_an_inherited_setup_context_counts(torch: Any) -> Any:
    class Child(power(torch)):
        pass

    x = torch.tensor([2.0, 3.0], requires_grad=True)
    out = Child.apply(x, 3)
    out.sum().backward()
    return out, x.grad


@same
def test_9_1_as_class_methods(torch: Any) -> Any:
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

    x = torch.ones(2, requires_grad=True)
    out = F.apply(x)
    out.sum().backward()
    return out.grad_fn.name_of_class, x.grad


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {}),
        ((3,), {}),
        ((3, 4.0), {}),
        ((), {"n": 3}),
        ((), {"scale": 2.0}),
        ((), {"scale": 3.0, "n": 1}),
    ],
)
def test_9_2_inputs_has_all_parameters(args: Any, kwargs: Any) -> None:
    def program(torch: Any) -> Any:
        seen: list[Any] = []
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        out = power(torch, seen).apply(x, *args, **kwargs)
        out.sum().backward()
        needs = out.grad_fn.needs_input_grad
        return seen[0][0], seen[0][0][0] is x, seen[0][1] is out, needs, out, x.grad, chain(out.grad_fn)

    compare(program)


@same
def test_9_2_a_tensor_by_keyword(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    out = power(torch).apply(scale=2.0, x=x)
    out.sum().backward()
    return out, x.grad, out.grad_fn.needs_input_grad


@pytest.mark.parametrize(
    ("args", "kwargs"), [(0, {}), (4, {}), (1, {"m": 1}), (2, {"n": 1}), (0, {"n": 1}), (3, {"x": 1})]
)
def test_9_3_arguments_that_do_not_bind(args: int, kwargs: Any) -> None:
    def program(torch: Any) -> Any:
        return raised(power(torch).apply, *(torch.ones(1), 2, 3.0, 4)[:args], **kwargs)

    compare(program)


@same
def test_9_4_keyword_only_parameters(torch: Any) -> Any:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(x, *, k=2):
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    x = torch.ones(1)
    return raised(F.apply, x), raised(F.apply, x, k=3)


@pytest.mark.parametrize(
    "forward",
    [
        lambda x: x * 2,
        lambda x: (x * 2,),
        lambda x: (x * 2, x * 3),
        lambda x: x,
        lambda x: x.view(-1),
        lambda x: 5,
    ],
)
def test_9_5_output_is_what_forward_returned(forward: Any) -> None:
    def program(torch: Any) -> Any:
        seen: list[Any] = []

        class F(torch.autograd.Function):
            @staticmethod
            def setup_context(ctx, inputs, output):
                seen.append(output)

            @staticmethod
            def backward(ctx, *g):
                return g[0]

        F.forward = staticmethod(forward)
        x = torch.ones(2, requires_grad=True)
        out = F.apply(x)
        pairs = zip(out, seen[0], strict=True) if isinstance(out, tuple) else [(out, seen[0])]
        return type(seen[0]).__name__, type(out).__name__, [a is b for a, b in pairs], out

    compare(program)


@same
def test_9_6_grad_mode_and_needs_input_grad(torch: Any) -> Any:
    seen = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(x, y):
            seen.append(torch.is_grad_enabled())
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen.append((torch.is_grad_enabled(), ctx.needs_input_grad, output.requires_grad))
            seen.append([i.requires_grad for i in inputs])

    F.apply(torch.ones(1, requires_grad=True), torch.ones(1))
    with torch.no_grad():
        F.apply(torch.ones(1, requires_grad=True), torch.ones(1))
    return seen, torch.is_grad_enabled()


@same
def test_9_7_what_it_returns_is_ignored(torch: Any) -> Any:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            return "nonsense"

    return F.apply(torch.ones(1, requires_grad=True))


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("forward", [lambda x: x, lambda x: (x * 2, x), lambda x: x.view_as(x), lambda x: [x]])
def test_9_8_saving_an_input_that_was_returned(requires_grad: bool, forward: Any) -> None:
    def program(torch: Any) -> Any:
        class F(torch.autograd.Function):
            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(inputs[0])

        F.forward = staticmethod(forward)
        return F.apply(torch.ones(2, requires_grad=requires_grad))

    compare(program)


@same
def test_9_8_saving_a_view_that_was_returned(torch: Any) -> Any:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.view_as(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = torch.tensor([3.0], requires_grad=True)
    out = F.apply(x)
    out.sum().backward()
    return out, x.grad


@same
def test_9_9_forward_takes_ctx_all_the_same(torch: Any) -> Any:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    return raised(F.apply, torch.ones(1))


@same
def test_9_10_saving_what_setup_context_computed(torch: Any) -> Any:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0] ** 2)

        @staticmethod
        def backward(ctx, g):
            return 3 * g * ctx.saved_tensors[0]

    x = torch.tensor([2.0], requires_grad=True)
    (g,) = torch.autograd.grad(F.apply(x), x, create_graph=True)
    return g, raised(torch.autograd.grad, g.sum(), x), F.apply(x).grad_fn.saved_tensors


@same
def test_9_11_the_base_method(torch: Any) -> Any:
    return raised(torch.autograd.Function.setup_context, None, (), None)


@same
def test_9_12_an_omitted_default_is_no_input(torch: Any) -> Any:
    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, n=2):
            ctx.n = n
            return x * n

        @staticmethod
        def backward(ctx, g):
            return (g * ctx.n, None)[: len(ctx.needs_input_grad)]

    x = torch.ones(1, requires_grad=True)
    a, b, c = Old.apply(x), Old.apply(x, 3), power(torch).apply(x)
    return [t.grad_fn.needs_input_grad for t in (a, b, c)], torch.autograd.grad([a, b, c], x)


@pytest.mark.parametrize("which", ["input", "output", "other"])
@pytest.mark.parametrize("mode", ["plain", "dirty", "without gradient", "integers"])
def test_an_input_that_is_returned_as_it_is_and_saved(mode: str, which: str) -> None:
    """Whether that is refused, or else requires grad, is a view, is the input itself, and its version."""

    def program(torch: Any) -> Any:
        def outcome(saves: list[str], needs: bool, several: bool, grad_mode: bool) -> str:
            class F(torch.autograd.Function):
                @staticmethod
                def forward(x, y):
                    if mode == "dirty":
                        x.mul_(2)
                    return (x, y * 2) if several else x

                @staticmethod
                def setup_context(ctx, inputs, output):
                    first = output[0] if several else output
                    if mode == "dirty":
                        ctx.mark_dirty(inputs[0])
                    if mode == "without gradient":
                        ctx.mark_non_differentiable(first)
                    kept = {"input": inputs[0], "output": first, "other": inputs[1]}[which]
                    for direction in saves:
                        getattr(ctx, f"save_for_{direction}")(kept)

                @staticmethod
                def backward(ctx, g, *more):
                    saved.extend(t.sum().item() for t in ctx.saved_tensors)
                    return g, None

            saved: list[float] = []
            x = torch.ones(2, requires_grad=needs)
            x = torch.ones(2, dtype=torch.int64) if mode == "integers" else x * 1 if mode == "dirty" else x
            try:
                with torch.set_grad_enabled(grad_mode):
                    out = F.apply(x, torch.ones(2))
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

    compare(program)


@pytest.mark.parametrize("saves", ["", "save_for_backward", "save_for_forward"])
@pytest.mark.parametrize("mode", ["plain", "dirty"])
def test_an_input_that_is_returned_as_it_is_and_saved_under_a_transform(mode: str, saves: str) -> None:
    def program(torch: Any) -> Any:
        class F(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x.mul_(2) if mode == "dirty" else x

            @staticmethod
            def setup_context(ctx, inputs, output):
                if mode == "dirty":
                    ctx.mark_dirty(*inputs)
                if saves:
                    getattr(ctx, saves)(*inputs)

            @staticmethod
            def backward(ctx, g):
                return g * 3

            @staticmethod
            def jvp(ctx, t):
                return t.mul_(2) if mode == "dirty" else t.view_as(t)

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

    compare(program)
