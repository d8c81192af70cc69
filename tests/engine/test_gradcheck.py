"""gradcheck and gradgradcheck beside PyTorch's: outcomes, warnings, whole sentences (rows 28 of the semantic map).

No program shows a number that depends on the random directions of the fast mode: its inputs have one element.
"""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, raised

import workbench


def leaf(torch: Any, *values: float, **options: Any) -> Any:
    return torch.tensor(values, **({"dtype": torch.float64, "requires_grad": True} | options))


def function(torch: Any, backward: Any, forward: Any = lambda x: x * x, materialize: bool = True) -> Any:
    """A function with a backward of its own: backward(inputs, *gradients)."""

    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            ctx.set_materialize_grads(materialize)
            return forward(*inputs)

        @staticmethod
        def backward(ctx, *grads):
            return backward(ctx.saved_tensors, *grads)

    return Own.apply


def counter() -> Any:
    """A function that counts its calls."""
    calls: list[None] = []
    return lambda: calls.append(None) or len(calls)


FUNCTIONS = {
    "right": lambda torch: lambda x: x * x,
    "tuple of two": lambda torch: lambda x: (x * x, x.sum()),
    "list": lambda torch: lambda x: [x * x],
    "nothing": lambda torch: lambda x: (),
    "itself": lambda torch: lambda x: x,
    "constant": lambda torch: lambda x: torch.ones(3),
    "another leaf": lambda torch: lambda x: leaf(torch, 1.0) * 2,
    "detached": lambda torch: lambda x: x.detach() * 2,
    "hardly changing": lambda torch: lambda x: x.detach() * 1e-20 + 1,
    "detached beside": lambda torch: lambda x: (x * x, x.detach()),
    "integers": lambda torch: lambda x: (x * x, (x + 0.5).long()),
    "integers alone": lambda torch: lambda x: (x + 0.5).long(),
    "none": lambda torch: lambda x: None,
    "a number": lambda torch: lambda x: 3.0,
    "nan": lambda torch: lambda x: x * float("nan"),
    "inf": lambda torch: lambda x: x * float("inf"),
    "empty": lambda torch: lambda x: x[:0],
    "raising": lambda torch: lambda x: {}["a"],
    "half": lambda torch: function(torch, lambda saved, g: g * saved[0]),
    "no gradient": lambda torch: function(torch, lambda saved, g: None),
    "not a number": lambda torch: function(torch, lambda saved, g: g * float("nan")),
    "second output": lambda torch: function(torch, lambda s, g, h: g * s[0] * 2 + h * 2, lambda x: (x * x, x * 3)),
    "unmultiplied": lambda torch: function(torch, lambda saved, g: saved[0] * 0 + 2, lambda x: x.sum() * 2),
    "almost": lambda torch: function(torch, lambda saved, g: g * saved[0] * 2.0015),
    "too far": lambda torch: function(torch, lambda saved, g: g * saved[0] * 2.0025),
    "a float32 on the way": lambda torch: function(torch, lambda saved, g: (g * saved[0] * 2).float()),
    "raising in backward": lambda torch: function(torch, lambda saved, g: 1 / 0),
}
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"fast_mode": True},
    {"raise_exception": False},
    {"rtol": 1e-2},
    {"rtol": 0, "atol": 1e-2, "check_undefined_grad": False},
    {"eps": 0.5, "check_grad_dtypes": True, "masked": True},
)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_28_1_outcomes(name: str, options: dict[str, Any]) -> None:
    compare(lambda torch: torch.autograd.gradcheck(FUNCTIONS[name](torch), (leaf(torch, 1.25),), **options))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_28_1_outcomes_for_two_elements(name: str) -> None:
    compare(lambda torch: torch.autograd.gradcheck(FUNCTIONS[name](torch), leaf(torch, 0.75, -2.0)))


def test_28_1_the_input_is_numbered_among_those_that_require_grad(torch: Any) -> Any:
    own = function(torch, lambda saved, g: (g * saved[1], g * saved[0] * 2), lambda a, b: a * b)
    plain = leaf(torch, 1.0, requires_grad=False)
    torch.autograd.gradcheck(lambda n, p, a, b: own(a, b), (3, plain, leaf(torch, 1.0), leaf(torch, 2.0, 3.0)))


@pytest.mark.parametrize("fast_mode", [False, True])
def test_28_2_the_order_of_the_checks(torch: Any, fast_mode: bool) -> Any:
    """What is wrong in several ways shows what is looked at first."""
    count = counter()

    def drifting(factor: float) -> Any:
        return lambda saved, g, h: g * saved[0] * factor + h * 3 + h * count() * 1e-7

    two = lambda x: (x * x, x * 3)  # noqa: E731
    x = leaf(torch, 1.5)
    check = torch.autograd.gradcheck
    return [
        raised(check, function(torch, drifting(1), two), x, fast_mode=fast_mode),
        raised(check, function(torch, drifting(2), two), x, fast_mode=fast_mode, nondet_tol=1e-5),
        raised(check, function(torch, drifting(2), two), x, fast_mode=fast_mode, nondet_tol=1e-9),
        raised(check, function(torch, lambda s, g: g * s[0] + 1), x, fast_mode=fast_mode),
    ]


INPUTS = {
    "list": lambda torch: [leaf(torch, 1.0)],
    "alone": lambda torch: leaf(torch, 1.0),
    "number": lambda torch: 3,
    "without grad": lambda torch: (leaf(torch, 1.0, requires_grad=False),),
    "empty tuple": lambda torch: (),
    "empty": lambda torch: torch.zeros(0, dtype=torch.float64, requires_grad=True),
    "0-d": lambda torch: torch.tensor(2.0, dtype=torch.float64, requires_grad=True),
    "float32": lambda torch: leaf(torch, 1.0, dtype=torch.float32),
    "float16": lambda torch: leaf(torch, 1.0, dtype=torch.float16),
    "expanded": lambda torch: leaf(torch, 1.0, requires_grad=False).expand(3).requires_grad_(),
    "expanded, not leaf": lambda torch: leaf(torch, 1.0).expand(3),
    "expanded by nothing": lambda torch: leaf(torch, 1.0, requires_grad=False).expand(1, 1).requires_grad_(),
    "transposed": lambda torch: torch.ones(2, 3, dtype=torch.float64).t().requires_grad_(),
    "not leaf": lambda torch: leaf(torch, 1.0) * 2,
}


@pytest.mark.parametrize("raise_exception", [True, False])
@pytest.mark.parametrize("name", INPUTS)
def test_28_3_inputs(torch: Any, name: str, raise_exception: bool) -> Any:
    half = function(torch, lambda saved, g: g * saved[0])
    inputs = INPUTS[name](torch)
    return [
        torch.autograd.gradcheck(lambda x: x + x, inputs, raise_exception=False),
        torch.autograd.gradcheck(half, inputs, raise_exception=raise_exception),
    ]


def seeing(grads: Any) -> int:
    """Which gradients are undefined, in binary; which are zero does not count."""
    return sum(2**i for i, g in enumerate(grads) if g is None)


@pytest.mark.parametrize("wrong", [None, 1, 2, 3])
@pytest.mark.parametrize("how", ["RuntimeError", "TypeError", "a number"])
def test_28_5_undefined_gradients(torch: Any, how: str, wrong: int | None) -> Any:
    def backward(saved, *grads):
        undefined = seeing(grads)
        defined = [(g, factor) for g, factor in zip(grads, (saved[0] * 2, 3), strict=True) if g is not None]
        if undefined == wrong and (len(defined) == 0 or not any(g.any() for g, _ in defined)):
            if how == "a number":
                return saved[0] * 0 + 1
            raise (RuntimeError if how == "RuntimeError" else TypeError)("undefined")
        return sum([g * factor for g, factor in defined], saved[0] * 0)

    own = function(torch, backward, lambda x: (x * x, x * 3), materialize=False)
    x = leaf(torch, 1.0, 2.0)
    check = torch.autograd.gradcheck
    return check(own, x, check_undefined_grad=False), raised(check, own, x), check(own, x, raise_exception=False)


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("shape", [(2,), (2, 1), (1,), ()])
def test_28_7_outputs_keep_shape_and_dtype(torch: Any, shape: tuple[int, ...], fast_mode: bool) -> Any:
    def growing(x):
        return x.sum() * torch.ones(2 if x.detach().sum() <= size else 3, dtype=torch.float64)

    def narrowing(x):
        return x.sum() if x.detach().sum() <= size else x.sum().float()

    found = []
    for func in (growing, narrowing):
        x = torch.ones(shape, dtype=torch.float64, requires_grad=True)
        size = float(x.detach().sum())
        found.append(raised(torch.autograd.gradcheck, func, x, fast_mode=fast_mode, eps=1e-5))
    return found


def test_28_7_a_change_on_both_sides_is_told_from_the_first_values() -> None:
    x = leaf(workbench, 1.0)
    with pytest.raises(AssertionError, match=r"shapes torch.Size\(\[1\]\) and torch.Size\(\[2\]\)"):
        workbench.autograd.gradcheck(lambda t: t if t.detach().item() == 1 else workbench.cat([t, t]), x)


def test_28_9_inputs_stay_as_they_were(torch: Any) -> Any:
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    x.grad = torch.tensor([7.0, 8.0], dtype=torch.float64)
    z = y * 2
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        check(lambda x, y, z: x * y * z, (x, y, z))
        check(lambda x, y, z: x * y * z, (x, y, z), fast_mode=True)
    return x, x.grad, x._version, y, y.grad, z, z.retains_grad


@pytest.mark.parametrize("fast_mode", [False, True])
def test_inputs_have_their_values_again_after_an_error(fast_mode: bool) -> None:
    x = leaf(workbench, 1.0, 2.0)

    def failing(t):
        if t.tolist() != [1.0, 2.0]:
            raise KeyError("moved")
        return t * 2

    with pytest.raises(KeyError, match="moved"):
        workbench.autograd.gradcheck(failing, x, fast_mode=fast_mode)
    assert x.tolist() == [1.0, 2.0] and x._version == 0


def test_integers_before_a_result_do_not_disturb() -> None:
    """PyTorch 2.13 raises an IndexError here."""
    assert workbench.autograd.gradcheck(lambda x: (x.long(), x * x), leaf(workbench, 1.5))


def test_the_fast_mode_tells_when_the_slow_one_would_pass() -> None:
    signs = workbench.tensor([(-1.0) ** i for i in range(100)], dtype=workbench.float64)
    own = function(workbench, lambda saved, g: g * (signs + 0.9e-3), lambda x: (x * signs).sum())
    x = workbench.tensor([i / 50 - 1 for i in range(100)], dtype=workbench.float64, requires_grad=True)
    assert workbench.autograd.gradcheck(own, x, atol=1e-7)
    with pytest.raises(workbench.autograd.gradcheck.__globals__["GradcheckError"]) as failed:
        workbench.autograd.gradcheck(own, x, atol=1e-7, fast_mode=True)
    assert "The max per-element difference (slow mode) is: 0.0009" in str(failed.value)
    assert str(failed.value).endswith("to have `gradcheck_fast_mode=False`")


@pytest.mark.parametrize("off", [0.9995, 1.0005, 1.005, 0.99])
def test_28_1_how_much_a_gradient_may_be_off(torch: Any, off: float) -> Any:
    class Off(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2 * off

    x = torch.tensor([0.5, -1.5], dtype=torch.float64, requires_grad=True)
    return [torch.autograd.gradcheck(Off.apply, x, fast_mode=fast, raise_exception=False) for fast in (0, 1)]
