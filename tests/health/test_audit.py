"""An audit of a Function: each fault is named by its check, a correct Function passes all."""

from __future__ import annotations

import importlib
import importlib.util
import re
from typing import Any

import absent
import pytest
from correct_functions import correct_functions
from lab import CHECKOUT

import workbench
from workbench.diagnosis.auditing.checks import CHECKS

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


def kept_signs(torch: Any) -> Any:
    last: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        last[:] = [x > 0]
        return x * last[0]

    return function(torch, forward, lambda ctx, grad: grad * last[0])


def workspace(torch: Any) -> Any:
    buffers: dict[Any, Any] = {}

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        buffer = buffers.setdefault((x.dtype, *x.shape), torch.zeros(x.shape, dtype=x.dtype))
        return buffer.copy_(x * x).detach()

    return function(torch, forward, lambda ctx, grad: 2 * grad * ctx.saved_tensors[0])


def seeding(torch: Any) -> Any:
    def backward(ctx: Any, grad: Any) -> Any:
        torch.manual_seed(0)
        return grad * 2

    return function(torch, lambda ctx, x: x * 2, backward)


def nan_at_zero(torch: Any) -> Any:
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * (x - 0.5) / (x - 0.5).abs()

    return function(torch, saving(lambda x: [x], lambda x, _: (x - 0.5).abs()), backward)


def chosen_wrong(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        values, places = x.topk(1, -1)
        ctx.save_for_backward(places)
        return values

    def backward(ctx: Any, grad: Any) -> Any:
        (places,) = ctx.saved_tensors
        return torch.zeros(2, 3, dtype=grad.dtype).scatter(-1, places, 3 * grad)

    return function(torch, forward, backward)


def all_marked(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_non_differentiable(out := x * 2)
        return out

    return function(torch, forward, lambda ctx, grad: grad * 2)


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
    kept_signs: "two calls at once",
    workspace: "two calls at once",
    seeding: "random state",
    nan_at_zero: "derivative",
    chosen_wrong: "derivative",
    all_marked: "forward and backward run",
}


@pytest.mark.parametrize("make", FAULTS, ids=lambda make: make.__name__)
def test_a_fault_is_named(torch: Any, make: Any) -> None:
    found = workbench.audit(make(torch), matrix(torch))
    named = {each.name: each for each in found.failures}
    assert FAULTS[make] in named and not found.ok, found
    assert named[FAULTS[make]].evidence and "test_audit.py, line " in named[FAULTS[make]].line
    assert f"✗ {FAULTS[make]}" in str(found)


def square_in_place(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x.mul_(x)

    return function(torch, forward, lambda ctx, grad: 2 * grad * ctx.saved_tensors[0])


def wrong_inside(torch: Any) -> Any:
    square = saving(lambda x: [x], lambda x, _: x * x)
    inner = function(torch, square, lambda ctx, grad: grad * ctx.saved_tensors[0])
    cube = saving(lambda x: [x], lambda x, _: x * x * x)
    return function(torch, cube, lambda ctx, grad: 3 * grad * inner.apply(*ctx.saved_tensors))


def unused_output(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    return function(torch, forward, lambda ctx, a, b: a * 2 + b * 3)


def refusing_strides(torch: Any) -> Any:
    def backward(ctx: Any, grad: Any) -> Any:
        if not grad.is_contiguous():
            raise RuntimeError("view size is not compatible")
        return grad * 2

    return function(torch, lambda ctx, x: x * 2, backward)


CAUSES = {
    square_in_place: "`forward` writes into `x` and saves it",
    wrong_inside: "`backward` applies `Mine`",
    unused_output: "If an output is unused, it raises",
    refusing_strides: "With a gradient that isn't contiguous, it raises",
}


@pytest.mark.parametrize("make", CAUSES, ids=lambda make: make.__name__)
def test_a_failure_says_the_cause(torch: Any, make: Any) -> None:
    found = workbench.audit(make(torch), matrix(torch))
    assert CAUSES[make] in " ".join([text for each in found.failures for text in (each.evidence, each.advice)]), found


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

    class Scaled(torch.autograd.Function):
        forward = staticmethod(lambda ctx, a: a.clone())
        backward = staticmethod(lambda ctx, grad: grad * 3)
        jvp = staticmethod(lambda ctx, tangent: tangent * 3)

    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, a: Any) -> Any:
            self.calls += 1
            return a * self.calls.clone()

    return {
        "two outputs and a generated rule": (Both, x),
        "a jvp": (Cube, x),
        "once": (Once, x),
        "one number": (Cube, torch.tensor(2.0, requires_grad=True)),
        "a module": (nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.3)), x),
        "a module with buffers": (nn.BatchNorm1d(3), x),
        "a function": (torch.nn.functional.softmax, x, -1),
        "a view": (lambda a: a.t(), x),
        "a module whose buffers count": (Counting(), x),
        "a stopped gradient": (lambda a: a * a.detach(), x),
        "a scaled gradient and its jvp": (Scaled, x),
        "a parameter among the outputs": (lambda a: (a * 2, weight), x),
    }


def correct(torch: Any) -> dict[str, tuple[Any, ...]]:
    return plain(torch) | declaring(torch) | correct_functions(torch)


@pytest.mark.parametrize("name", correct(workbench))
def test_what_is_right_passes(torch: Any, name: str) -> None:
    target, *inputs = correct(torch)[name]
    found = workbench.audit(target, *inputs)
    assert found.ok, found
    assert len([each for each in found.checks if each.outcome == "pass"]) >= 10
    workbench.audit.assert_ok(target, *inputs)


# What is asked about, of Functions that are right.
ASKED = {
    "straight-through": "derivative",
    "a sign, clipped": "derivative",
    "a sign with a scale": "derivative",
    "gradient reversal": "derivative",
    "a clipped gradient": "derivative",
    "a clamp, passed through": "derivative",
    "a spike": "derivative",
    "a learned step": "derivative",
    "a scaled gradient and its jvp": "jvp",
    "a jvp": "jvp",
    "a stopped gradient": "second derivative",
    "a buffer": "inputs written in place",
    "contiguous inputs only": "inputs of any layout",
    "NumPy's random numbers": "under a checkpoint",
    "a generator's random numbers": "under a checkpoint",
}


@pytest.mark.parametrize("name", ASKED)
def test_what_may_be_intended_is_asked(torch: Any, name: str) -> None:
    target, *inputs = correct(torch)[name]
    (check,) = workbench.audit(target, *inputs, checks=[ASKED[name]]).checks
    assert check.outcome == "question" and check.advice and ".py, line " in check.line, check


PAGE = CHECKOUT / "assets" / "docs" / "reference" / "audit.md"
OTHER_OUTCOMES = {
    "large numbers": "question",
    "shapes and dtypes": "note",
    "only what is needed": "note",
    "inputs written later": "question",
    "empty and 0-d inputs": "question",
}


def test_the_page_has_an_example_for_each_check(torch: Any) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```$", text, flags=re.M | re.S)
    names: dict[str, Any] = {"torch": torch}
    exec(compile(program, str(PAGE), "exec"), names)
    assert [*names["examples"]] == [*CHECKS] == re.findall(r"^\| `([^`]+)` \|", text, flags=re.M)
    for name, (target, *inputs) in names["examples"].items():
        (check,) = workbench.audit(target, *inputs, checks=[name]).checks
        expected = OTHER_OUTCOMES.get(name, "fail")
        if name == "under autocast" and torch is workbench:
            expected = "not applicable"
        assert check.outcome == expected and check.evidence, check


def test_without_a_run_no_check_is_applicable(torch: Any) -> None:
    def backward(ctx: Any, grad: Any) -> Any:
        return grad.missing

    first, *rest = workbench.audit(function(torch, lambda ctx, x: x * 2, backward), matrix(torch)).checks
    assert first.outcome == "fail" and "AttributeError" in first.evidence
    line = backward.__code__.co_firstlineno + 1
    assert first.line == f"test_audit.py, line {line}"
    assert {(each.outcome, each.evidence) for each in rest} == {("not applicable", "it doesn't run")}
    few = function(torch, lambda ctx, x, y: x * y, lambda ctx, grad: grad)
    first = workbench.audit(few, matrix(torch), matrix(torch)).checks[0]
    assert "incorrect number of gradients" in first.evidence and "one value for each argument" in first.advice
    idle = function(torch, lambda ctx, x: (ctx.mark_non_differentiable(y := x > 0), y)[1], lambda ctx, grad: None)
    found = workbench.audit(idle, matrix(torch))
    assert not found.ok and not found.failures  # nothing was checked
    assert {each.outcome for each in found.checks} == {"not applicable"}
    marked = function(torch, lambda ctx, x: (ctx.mark_non_differentiable(y := x * 2), y)[1], lambda ctx, grad: None)
    assert not workbench.audit(marked, matrix(torch)).failures  # it's meant, if `backward` only returns None


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
    assert (told["title"], told["ok"]) == ("Mine", False)
    assert [each["outcome"] for each in told["checks"]] == ["pass", "fail", "not applicable"]
    with pytest.raises(AssertionError, match="✗ second derivative"):
        workbench.audit.assert_ok(lost_second(torch), matrix(torch))


def test_a_notebook_shows_a_table_of_escaped_text(torch: Any) -> None:
    def backward(ctx: Any, grad: Any) -> Any:
        raise KeyError("<script>alert(1)</script>")

    hostile = function(torch, lambda ctx, x: x * 2, backward)
    hostile.__name__ = "<img src=x onerror=alert(1)>"
    html = workbench.audit(hostile, matrix(torch))._repr_html_()
    assert "<script" not in html and "<img" not in html and "&lt;script&gt;" in html and "&lt;img" in html
    html = workbench.audit(lost_second(torch), matrix(torch))._repr_html_()
    assert html.count("<tr>") == len(CHECKS) + 2 and 'title="fail">✗<' in html and "<code>vmap</code>" in html


def test_a_wrong_derivative_is_drawn(torch: Any) -> None:
    found = workbench.audit(wrong_factor(torch), torch.tensor([0.5, 2.0], requires_grad=True), checks=["derivative"])
    text, html = str(found.picture), found._repr_html_()
    assert text.startswith("Check of Mine") and "2 of 4 wrong" in text
    assert html.count("<img ") == 1 and "2 of 4 wrong" in html
    large = workbench.audit(wrong_factor(torch), torch.ones(200, requires_grad=True), checks=["derivative"])
    assert large.checks[0].outcome != "pass" and large.picture is None
    right = workbench.audit(wrong_factor(torch), matrix(torch), checks=["backward twice"])
    assert right.ok and right.picture is None


def test_a_recording_audits_each_function_that_ran(torch: Any) -> None:
    bad, good = wrong_factor(torch), read_twice(torch)
    x, before = matrix(torch), torch.autograd.Function.apply
    with workbench.record(torch, audit=True) as trace:
        for _ in range(2):
            (bad.apply(x) + good.apply(x)).sum().backward()
        bad.apply(x[0])
    assert torch.autograd.Function.apply == before
    assert [(each.title, each.failures[0].name) for each in trace.audit()] == [
        ("Mine(float32[2,3])", "derivative"),
        ("Mine(float32[2,3])", "saved tensors read once"),
        ("Mine(float32[3])", "derivative"),
    ]
    with workbench.record(torch) as plain:
        bad.apply(x)
    with pytest.raises(ValueError, match=r"record with `record\(audit=True\)`"):
        plain.audit()


def test_what_it_cannot_audit(torch: Any) -> None:
    with pytest.raises(ValueError, match="needs an input that requires grad"):
        workbench.audit(wrong_factor(torch), torch.ones(2))
    with pytest.raises(TypeError, match="takes a Function, a function or a module, but got int"):
        workbench.audit(3, matrix(torch))
    with pytest.raises(ValueError, match="no check 'speed'; its checks are 'derivative', "):
        workbench.audit(wrong_factor(torch), matrix(torch), checks=["speed"])


def test_an_error_of_the_function_is_a_failure(torch: Any) -> None:
    def backward(ctx: Any, grad: Any) -> Any:
        raise KeyError("weight")

    found = workbench.audit(function(torch, lambda ctx, x: x * 2, backward), matrix(torch))
    assert "KeyError: 'weight'" in found.failures[0].evidence and found.failures[0].line
