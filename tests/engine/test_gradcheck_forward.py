"""gradcheck's checks of forward mode and of batches beside PyTorch's (rows 28 of the semantic map).

No program shows a number that depends on random directions: inputs have one element, or the message is cut.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from oracle import compare

import workbench


def leaf(torch: Any, *values: float, **options: Any) -> Any:
    return torch.tensor(values, **({"dtype": torch.float64, "requires_grad": True} | options))


def function(torch: Any, jvp: Any, backward: Any = None, forward: Any = lambda x: x * x) -> Any:
    """A function with a jvp of its own, jvp(inputs, *tangents), by default a right one beside a right backward."""

    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)
            return forward(*inputs)

        @staticmethod
        def backward(ctx, *grads):
            saved = ctx.saved_tensors
            return grads[0] * saved[0] * 2 if backward is None else backward(saved, *grads)

    if jvp is not None:
        Own.jvp = staticmethod(lambda ctx, *tangents: jvp(ctx.saved_tensors, *tangents))
    return Own.apply


def undefined(factor: float) -> Any:
    """A jvp that is right for tangents and something else where there is none."""

    def make(torch: Any) -> Any:
        class Own(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                ctx.set_materialize_grads(False)
                ctx.save_for_forward(x, y)
                ctx.save_for_backward(x, y)
                return x * y

            @staticmethod
            def backward(ctx, g):
                x, y = ctx.saved_tensors
                return (None, None) if g is None else (g * y, g * x)

            @staticmethod
            def jvp(ctx, t, s):
                x, y = ctx.saved_tensors
                return (x * factor if t is None else t * y) + (y * factor if s is None else s * x)

        return lambda x: Own.apply(x, x * 2)

    return make


FUNCTIONS = {
    "right": lambda torch: lambda x: x * x,
    "tuple of two": lambda torch: lambda x: (x * x, x.sum()),
    "list": lambda torch: lambda x: [x * x],
    "nothing": lambda torch: lambda x: (),
    "itself": lambda torch: lambda x: x,
    "view": lambda torch: lambda x: x.view(1, -1),
    "in place": lambda torch: lambda x: x.clone().mul_(x),
    "constant": lambda torch: lambda x: torch.ones(3),
    "detached": lambda torch: lambda x: x.detach() * 2,
    "detached beside": lambda torch: lambda x: (x * x, x.detach() * 0),
    "integers": lambda torch: lambda x: (x * x, (x + 0.5).long()),
    "nan": lambda torch: lambda x: x * float("nan"),
    "empty": lambda torch: lambda x: x[:0],
    "raising": lambda torch: lambda x: {}["a"],
    "own": lambda torch: function(torch, lambda saved, t: t * saved[0] * 2),
    "half": lambda torch: function(torch, lambda saved, t: t * saved[0]),
    "almost": lambda torch: function(torch, lambda saved, t: t * saved[0] * 2.0015),
    "no jvp": lambda torch: function(torch, None),
    "another shape": lambda torch: function(torch, lambda saved, t: torch.ones(3, dtype=torch.float64)),
    "raising in jvp": lambda torch: function(torch, lambda saved, t: 1 / 0),
    "wrong backward": lambda torch: function(torch, lambda saved, t: t * saved[0] * 2, lambda saved, g: g * saved[0]),
    "second output": lambda torch: function(
        torch, lambda s, t: (t * s[0] * 2, t * 2), lambda s, g, h: g * s[0] * 2 + h * 3, lambda x: (x * x, x * 3)
    ),
    "undefined": undefined(0),
    "undefined is not zero": undefined(1),
}
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"fast_mode": True},
    {"check_backward_ad": False},
    {"check_backward_ad": False, "fast_mode": True},
    {"raise_exception": False},
    {"check_undefined_grad": False, "check_batched_forward_grad": True},
    {"check_batched_forward_grad": True, "check_batched_grad": True, "check_grad_dtypes": True},
)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_28_6_outcomes(name: str, options: dict[str, Any]) -> None:
    def program(torch: Any) -> Any:
        return torch.autograd.gradcheck(FUNCTIONS[name](torch), leaf(torch, 1.25), check_forward_ad=True, **options)

    if name != "detached" or "fast_mode" not in options or "check_backward_ad" not in options:
        compare(program)


def test_an_output_without_history_that_changes_is_told_of() -> None:
    """PyTorch 2.13 raises an IndexError here."""
    with pytest.raises(workbench.autograd.gradcheck.__globals__["GradcheckError"], match="forward mode mismatch"):
        workbench.autograd.gradcheck(
            lambda x: x.detach() * 2,
            leaf(workbench, 1.25),
            check_forward_ad=True,
            check_backward_ad=False,
            fast_mode=True,
        )


def test_outputs_without_history_do_not_disturb() -> None:
    """PyTorch 2.13 compares the wrong outputs here."""
    assert workbench.autograd.gradcheck(lambda x: (x.detach(), x * x), leaf(workbench, 1.5), check_forward_ad=True)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_28_6_outcomes_for_two_elements(name: str) -> None:
    def program(torch: Any) -> Any:
        return torch.autograd.gradcheck(FUNCTIONS[name](torch), leaf(torch, 0.75, -2.0), check_forward_ad=True)

    if name != "undefined is not zero":  # which tells of random tangents
        compare(program)


def test_28_6_several_inputs(torch: Any) -> Any:
    check, plain = torch.autograd.gradcheck, leaf(torch, 1.0, requires_grad=False)
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    right = lambda n, p, x, y: (x * y * n, (y * p).sum(), x.sin())  # noqa: E731
    options = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
    return check(right, (3, plain, x, y), **options), check(right, (3, plain, x, y), fast_mode=True, **options)


def test_28_6_the_input_is_numbered_among_those_that_require_grad(torch: Any) -> Any:
    backward = lambda saved, g: (g * saved[1], g * saved[0])  # noqa: E731
    own = function(torch, lambda s, t, u: t * s[1] + u * s[0] * 2, backward, lambda a, b: a * b)
    plain = leaf(torch, 1.0, requires_grad=False)
    inputs = (3, plain, leaf(torch, 1.0), leaf(torch, 2.0, 3.0))
    torch.autograd.gradcheck(lambda n, p, a, b: own(a, b), inputs, check_forward_ad=True)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_28_2_the_order_of_the_checks(torch: Any, fast_mode: bool) -> Any:
    """What is wrong in several ways shows what is looked at first."""
    x = leaf(torch, 1.5)
    number = lambda saved, g: g * saved[0] * 2 + g.sum().item() * 0  # noqa: E731
    wrong = lambda saved, g: g * saved[0] * 2 + 1  # noqa: E731
    found = []
    for jvp, backward in (
        (lambda saved, t: t * saved[0], number),
        (lambda saved, t: t * saved[0] * 2 + t.sum().item() * 0, number),
        (lambda saved, t: t * saved[0] * 2, number),
        (lambda saved, t: t * saved[0] * 2, wrong),
    ):
        for options in (
            {"check_batched_grad": True, "check_batched_forward_grad": True},
            {"check_batched_grad": True},
            {},
        ):
            own = function(torch, jvp, backward)
            try:
                check = torch.autograd.gradcheck
                found.append(check(own, x, check_forward_ad=True, fast_mode=fast_mode, **options))
            except RuntimeError as error:
                found.append(error)
    return found


@pytest.mark.parametrize("option", ["check_batched_grad", "check_batched_forward_grad"])
def test_28_2_batches_that_differ(option: str) -> None:
    """A backward and jvp that are wrong in the batch alone, which runs last; the message up to the random numbers."""

    def attempt(torch: Any, last: int) -> tuple[str, int]:
        calls: list[Any] = []

        def counted(saved, t):
            calls.append(t)
            return t * saved[0] * (3 if len(calls) == last else 2)

        own = function(torch, counted, counted)
        options = {option: True, "check_forward_ad": True, "check_undefined_grad": False}
        try:
            torch.autograd.gradcheck(own, leaf(torch, 1.5), nondet_tol=10.0, **options)
        except RuntimeError as error:
            return " ".join(re.sub(r"-?\d+\.\d+", " # ", str(error)).split()), len(calls)
        return "", len(calls)

    def program(torch: Any) -> Any:
        total = attempt(torch, -1)[1]
        tries = [attempt(torch, last)[0] for last in range(1, total + 1)]
        return sorted({text for text in tries if text.startswith("For output")})

    compare(program)


def test_28_9_inputs_stay_as_they_were(torch: Any) -> Any:
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    x.grad = torch.tensor([7.0, 8.0], dtype=torch.float64)
    options = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
    for fast_mode in (False, True):
        torch.autograd.gradcheck(lambda x, y: x * y, (x, y), fast_mode=fast_mode, **options)
    again = torch.autograd.gradgradcheck(lambda x, y: x * y, (x, y), check_fwd_over_rev=True, check_batched_grad=True)
    inside = torch.autograd.forward_ad.unpack_dual(x).tangent is None
    return again, x, x.grad, x._version, y, y.grad, inside


def second(torch: Any, factor: float, jvp: bool = True) -> Any:
    """A cube whose backward is a Function with its own jvp, wrong by a factor, or without one."""

    class Backward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, g):
            ctx.save_for_backward(x, g)
            ctx.save_for_forward(x, g)
            return 2 * x * g

        @staticmethod
        def backward(ctx, h):
            x, g = ctx.saved_tensors
            return 2 * g * h, 2 * x * h

    def push(ctx, t, s):
        x, g = ctx.saved_tensors
        return 2 * t * g * factor + 2 * x * s

    if jvp:
        Backward.jvp = staticmethod(push)
    return function(torch, lambda s, t: 2 * s[0] * t, lambda s, g: Backward.apply(s[0], g))


SECOND = {
    "cube": lambda torch: lambda x: x * x * x,
    "linear": lambda torch: lambda x: x * 2,
    "two": lambda torch: lambda x: (x * x * x, x.sum()),
    "sines": lambda torch: lambda x: x.sin() * x.exp(),
    "integers": lambda torch: lambda x: (x * x, (x + 0.5).long()),
    "right": lambda torch: second(torch, 1),
    "wrong": lambda torch: second(torch, 2),
    "without jvp": lambda torch: second(torch, 1, jvp=False),
}
SECOND_OPTIONS: tuple[dict[str, Any], ...] = (
    {"check_fwd_over_rev": True},
    {"check_fwd_over_rev": True, "fast_mode": True},
    {"check_fwd_over_rev": True, "check_rev_over_rev": False, "check_undefined_grad": False},
    {"check_fwd_over_rev": True, "check_rev_over_rev": False, "check_undefined_grad": False, "fast_mode": True},
    {"check_batched_grad": True},
    {"check_batched_grad": True, "check_fwd_over_rev": True, "raise_exception": False},
)


@pytest.mark.parametrize("options", SECOND_OPTIONS, ids=str)
@pytest.mark.parametrize("name", SECOND)
def test_28_8_forward_over_reverse(torch: Any, name: str, options: dict[str, Any]) -> Any:
    seeds = [leaf(torch, 1.5)]
    if name == "two":
        seeds.append(torch.tensor(0.5, dtype=torch.float64, requires_grad=True))
    return torch.autograd.gradgradcheck(SECOND[name](torch), leaf(torch, 1.25), seeds, **options)
