"""An audit of a Function: each fault is named by its check, a correct Function passes all."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import absent
import pytest

import workbench

ENGINES = ["workbench", pytest.param("torch", marks=pytest.mark.oracle)]


@pytest.fixture(params=ENGINES)
def torch(request: pytest.FixtureRequest) -> Any:
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(absent.TORCH)
    return importlib.import_module(request.param)


def function(torch: Any, forward: Any, backward: Any, **more: Any) -> Any:
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward), **more}
    return type("Mine", (torch.autograd.Function,), methods)


def matrix(torch: Any) -> Any:
    return torch.tensor([[0.5, -1.2, 2.0], [1.5, 0.3, -0.7]], requires_grad=True)


def saving(*make: Any) -> Any:
    """A forward that saves what the first function makes of its inputs, and returns what the second does."""

    def forward(ctx: Any, *inputs: Any) -> Any:
        kept = make[0](*inputs)
        ctx.save_for_backward(*kept)
        return make[1](*inputs, *kept) if len(make) > 1 else kept[0]

    return forward


def written_gradient(torch: Any) -> Any:
    return function(torch, lambda ctx, x: x * 10, lambda ctx, grad: grad.mul_(10))


def written_result(torch: Any) -> Any:
    return function(torch, saving(lambda x: [x.exp()]), lambda ctx, grad: ctx.saved_tensors[0].mul_(grad))


def written_behind(torch: Any) -> Any:
    def backward(ctx: Any, grad: Any) -> Any:
        (result,) = ctx.saved_tensors
        result.data.mul_(grad)
        return result.clone()

    return function(torch, saving(lambda x: [x.exp()]), backward)


def lost_second(torch: Any) -> Any:
    forward = saving(lambda x: [2 * x], lambda x, m: m * m)
    return function(torch, forward, lambda ctx, grad: 4 * grad * ctx.saved_tensors[0])


def read_twice(torch: Any) -> Any:
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * (ctx.saved_tensors[0] + ctx.saved_tensors[0])

    return function(torch, saving(lambda x: [x], lambda x, _: x * x), backward)


def unmarked(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        return x.clone()

    return function(torch, forward, lambda ctx, grad: grad * 2)


def kept_result(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.result = x.exp()
        return ctx.result

    return function(torch, forward, lambda ctx, grad: grad * ctx.result)


def wrong_factor(torch: Any) -> Any:
    return function(torch, saving(lambda x: [x], lambda x, _: x * x), lambda ctx, grad: grad * ctx.saved_tensors[0])


def only_in_float32(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        if x.dtype != torch.float32:
            raise RuntimeError("float32 only")
        ctx.save_for_backward(x)
        return x.tanh()

    return function(torch, forward, lambda ctx, grad: grad * ctx.saved_tensors[0])


def of_some_state(torch: Any) -> Any:
    calls: list[int] = []

    def forward(ctx: Any, x: Any) -> Any:
        calls.append(1)
        ctx.factor = len(calls)
        return x * ctx.factor

    return function(torch, forward, lambda ctx, grad: grad * ctx.factor)


FAULTS = {
    wrong_factor: "derivative",
    only_in_float32: "derivative",
    written_gradient: "gradient isn't written",
    written_result: "saved tensors aren't written",
    written_behind: "saved tensors aren't written",
    lost_second: "second derivative",
    read_twice: "saved tensors read once",
    unmarked: "inputs written in place",
    kept_result: "memory goes",
    of_some_state: "same result again",
}


@pytest.mark.parametrize("make", FAULTS, ids=lambda make: make.__name__)
def test_a_fault_is_named(torch: Any, make: Any) -> None:
    found = workbench.audit(make(torch), matrix(torch))
    named = {each.name: each for each in found.failures}
    assert FAULTS[make] in named and not found.ok, found
    assert named[FAULTS[make]].evidence and "test_audit.py, line " in named[FAULTS[make]].line
    assert f"✗ {FAULTS[make]}" in str(found)


def plain(torch: Any) -> dict[str, tuple[Any, ...]]:
    """Functions that are right, with inputs."""
    x = matrix(torch)

    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, weight: Any, bias: Any = None) -> Any:
            ctx.save_for_backward(a, weight, bias)
            out = a.mm(weight.t())
            return out if bias is None else out + bias

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            a, weight, bias = ctx.saved_tensors
            wanted = ctx.needs_input_grad
            return (
                grad.mm(weight) if wanted[0] else None,
                grad.t().mm(a) if wanted[1] else None,
                grad.sum(0) if bias is not None and wanted[2] else None,
            )

    class InPlace(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.mark_dirty(a)
            return a.mul_(3)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 3

    class Sorted(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            values, places = a.sort(0)
            ctx.mark_non_differentiable(places)
            ctx.save_for_backward(places)
            return values, places

        @staticmethod
        def backward(ctx: Any, grad: Any, _: Any) -> Any:
            (places,) = ctx.saved_tensors
            return torch.zeros_like(grad).scatter(0, places, grad)

    class Dropped(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, p: float) -> Any:
            mask = (torch.rand(a.shape) > p).to(a.dtype) / (1 - p)
            ctx.save_for_backward(mask)
            return a * mask

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (mask,) = ctx.saved_tensors
            return grad * mask, None

    relu = function(
        torch,
        saving(lambda a: [a], lambda a, _: a.clamp(min=0)),
        lambda ctx, grad: grad * (ctx.saved_tensors[0] > 0),
    )
    leaf = lambda *shape: torch.ones(*shape).cumsum(0).requires_grad_()  # noqa: E731
    return {
        "linear": (Linear, leaf(3, 4), leaf(2, 4), leaf(2)),
        "linear without bias": (Linear, leaf(3, 4), leaf(2, 4)),
        "in place": (InPlace, x),
        "sorted": (Sorted, torch.tensor([2.0, 0.5, 1.0], requires_grad=True)),
        "dropped": (Dropped, x, 0.5),
        "at a kink": (relu, torch.tensor([0.0, 1.0, -1.0], requires_grad=True)),
        "empty": (relu, torch.zeros(0, requires_grad=True)),
    }


def declaring(torch: Any) -> dict[str, tuple[Any, ...]]:
    """Functions that declare more, modules and plain functions."""
    nn, x = torch.nn, matrix(torch)
    weight = torch.ones(2, requires_grad=True)

    class Both(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(a: Any) -> Any:
            return a.sin(), a.cos()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*output)

        @staticmethod
        def backward(ctx: Any, of_sin: Any, of_cos: Any) -> Any:
            sin, cos = ctx.saved_tensors
            return of_sin * cos - of_cos * sin

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_backward(a)
            ctx.save_for_forward(a)
            return a**3

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (a,) = ctx.saved_tensors
            return 3 * a**2 * grad

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            (a,) = ctx.saved_tensors
            return 3 * a**2 * tangent

    class Once(torch.autograd.Function):
        forward = staticmethod(saving(lambda a: [2 * a], lambda a, m: m * m))

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, grad: Any) -> Any:
            (m,) = ctx.saved_tensors
            return 4 * grad * m

    return {
        "two outputs and a generated rule": (Both, x),
        "a jvp": (Cube, x),
        "once": (Once, x),
        "one number": (Cube, torch.tensor(2.0, requires_grad=True)),
        "a module": (nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.3)), x),
        "a module with buffers": (nn.BatchNorm1d(3), x),
        "a function": (torch.nn.functional.softmax, x, -1),
        "a view": (lambda a: a.t(), x),
        "a parameter among the outputs": (lambda a: (a * 2, weight), x),
    }


def correct(torch: Any) -> dict[str, tuple[Any, ...]]:
    return plain(torch) | declaring(torch)


@pytest.mark.parametrize("name", correct(workbench))
def test_what_is_right_passes(torch: Any, name: str) -> None:
    target, *inputs = correct(torch)[name]
    found = workbench.audit(target, *inputs)
    assert found.ok, found
    assert len([each for each in found.checks if each.outcome == "pass"]) >= 10
    workbench.audit.assert_ok(target, *inputs)


def test_nothing_changes_outside(torch: Any) -> None:
    x, model = matrix(torch), torch.nn.BatchNorm1d(3)
    torch.manual_seed(5)
    expected = torch.rand(3).tolist()
    before = [each.tolist() for each in (x, model.running_mean)]
    torch.manual_seed(5)
    workbench.audit(model, x)
    assert torch.rand(3).tolist() == expected and x.grad is None
    assert [each.tolist() for each in (x, model.running_mean)] == before


def test_the_data_of_an_audit(torch: Any) -> None:
    found = workbench.audit(lost_second(torch), matrix(torch), checks=["derivative", "second derivative", "vmap"])
    told = found.to_dict()
    assert (told["version"], told["title"], told["ok"]) == (1, "Mine", False)
    assert [each["outcome"] for each in told["checks"]] == ["pass", "fail", "not applicable"]
    with pytest.raises(AssertionError, match="✗ second derivative"):
        workbench.audit.assert_ok(lost_second(torch), matrix(torch))


def test_what_it_cannot_audit(torch: Any) -> None:
    with pytest.raises(ValueError, match="needs an input that requires grad"):
        workbench.audit(wrong_factor(torch), torch.ones(2))
    with pytest.raises(ValueError, match="no check 'speed'; its checks are 'derivative', "):
        workbench.audit(wrong_factor(torch), matrix(torch), checks=["speed"])


def test_an_error_of_the_function_is_a_failure(torch: Any) -> None:
    def backward(ctx: Any, grad: Any) -> Any:
        raise KeyError("weight")

    found = workbench.audit(function(torch, lambda ctx, x: x * 2, backward), matrix(torch))
    assert "KeyError: 'weight'" in found.failures[0].evidence and found.failures[0].line
