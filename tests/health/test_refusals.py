"""What is said where autograd refuses a backward: the same by the picture of the error, recorded or loaded."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpus
import pytest
from corpus import Entry, chosen, each_engine, engine_named
from functions import function, nothing

import workbench
from workbench.diagnosis.health.refusals import refusal_of
from workbench.diagnosis.health.training_run import TrainingRun


@pytest.mark.parametrize(("engine", "entry"), chosen("refused", faulty=True))
def test_the_picture_of_an_error_says_its_cause(engine: str, entry: Entry, tmp_path: Path) -> None:
    trace = corpus.recorded(engine, entry.program)
    run = trace.kept(TrainingRun)
    refusal = refusal_of(run, run.failures[-1][1])
    assert refusal is not None
    trace.save(tmp_path / "trace.json")
    for each in (trace, workbench.load(tmp_path / "trace.json")):
        told = " ".join(str(each.show("error")).split())
        for said in (refusal.sentence, refusal.advice):
            assert " ".join(said.split()[:8]) in told
        assert refusal.sentence in each.findings()[0].sentence


@pytest.mark.parametrize(("engine", "entry"), chosen("refused", faulty=True))
def test_why_of_a_weight_knows_the_backward_that_was_refused(engine: str, entry: Entry) -> None:
    trace = corpus.recorded(engine, entry.program)
    for state in trace.frame(len(trace.events)).tensors.values():
        if state.name and "weight" in state.name and state.requires_grad:
            assert "No backward pass was recorded" not in str(trace.why(state.name))


def rebound(torch: Any) -> None:
    w = torch.ones(3, requires_grad=True)
    for _ in range(2):
        (w * 2).sum().backward()
        w = w - 0.1 * w.grad


def unused(torch: Any) -> None:
    used, left = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    used(torch.ones(1, 2)).sum().backward()
    with torch.no_grad():
        for parameter in [*used.parameters(), *left.parameters()]:
            parameter.mul_(0.1 * parameter.grad)


def cleared_before_there_is_any(torch: Any) -> None:
    w = torch.ones(3, requires_grad=True)
    w.grad.zero_()


def of_a_constant(torch: Any) -> None:
    x = torch.ones(3)
    (x * torch.ones(3, requires_grad=True)).sum().backward()
    x.grad.norm()


@corpus.each_engine
@pytest.mark.filterwarnings("ignore:The .grad attribute")
@pytest.mark.parametrize(
    ("program", "facts"),
    [
        (rebound, ("w.grad is None", "w is not a leaf", "w -= lr * w.grad")),
        (unused, ("left.weight.grad is None: no backward",)),
        (cleared_before_there_is_any, ("w.grad is None: no backward", "Call backward() before")),
        (of_a_constant, ("x.grad is None: x does not require grad",)),
    ],
)
def test_a_gradient_that_is_none_is_the_cause_where_python_wants_a_tensor(
    engine: str, program: Callable[[Any], None], facts: tuple[str, ...]
) -> None:
    torch = corpus.engine_named(engine)
    record = workbench.record() if engine == "workbench" else workbench.record(torch)
    with pytest.raises((TypeError, AttributeError)) as raised, record as trace:
        program(torch)
    (finding,) = trace.findings()
    said = " ".join(str(workbench.explain(raised.value)).split()).replace("`", "")
    for fact in facts:
        assert fact in str(finding).replace("`", "")
        assert fact in said
    assert finding.rule == "stopped" and finding.line is not None and ".grad" in finding.line.text


def test_python_s_own_error_about_none_is_none_of_autograd_s() -> None:
    torch, nothing = workbench, None
    w = torch.ones(3, requires_grad=True)
    with pytest.raises(TypeError) as raised, workbench.record() as trace:
        (w * 2).sum().backward()
        w.grad + nothing  # type: ignore[operator]
    assert trace.findings() == []
    said = str(workbench.explain(raised.value))
    assert "It isn't an error of autograd" in " ".join(said.split()) and "w.grad + nothing" in said


def more_than_one_number(torch: Any) -> None:
    w = torch.ones(3, requires_grad=True)
    (w * 2).backward()


def one_gradient_for_two_arguments(torch: Any) -> None:
    scale = function(torch, lambda ctx, x, k: x * k, lambda ctx, grad: grad)
    scale.apply(torch.ones(2, requires_grad=True), 3.0).sum().backward()


def of_what_was_not_used(torch: Any) -> None:
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    torch.autograd.grad((a * 2).sum(), b)


def no_rule_for_batches(torch: Any) -> None:
    plain = function(torch, lambda x: x * 2, lambda ctx, grad: grad, setup_context=nothing)
    torch.func.vmap(plain.apply)(torch.ones(2, 3))


@corpus.each_engine
@pytest.mark.parametrize(
    ("program", "says"),
    [
        (more_than_one_number, "(w * 2).backward()`): RuntimeError; more than one element; y.sum().backward()"),
        (
            one_gradient_for_two_arguments,
            "returned 1 gradient, but `forward` has 2 arguments; and `None` where there is none",
        ),
        (
            of_what_was_not_used,
            "torch.autograd.grad((a * 2).sum(), b)`): RuntimeError; no recorded operation that can carry a gradient "
            "used `b`",
        ),
        (no_rule_for_batches, "torch.func.vmap(plain.apply); has no rule for batches; generate_vmap_rule = True"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_finding_says_the_line_the_meaning_and_the_cure_of_an_error(
    engine: str, program: Callable[[Any], None], says: str
) -> None:
    torch = corpus.engine_named(engine)
    recording = workbench.record() if engine == "workbench" else workbench.record(torch)
    with pytest.raises(RuntimeError), recording as trace:
        program(torch)
    (finding,) = trace.findings()
    assert finding.certain and finding.line is not None
    assert [each for each in says.split("; ") if each not in str(finding)] == []


def _ends(x: Any, again: bool) -> Any:
    return x.sin() if again else x.sin().exp()


def _slices(x: Any, again: bool) -> Any:
    return x[: 2 if again else 4].sin().exp()


@each_engine
@pytest.mark.parametrize(("differs", "facts"), [(_ends, ["was saved", "saved 2"]), (_slices, ["(2, 4)", "(4, 4)"])])
def test_a_finding_says_where_a_checkpointed_function_differed(engine: str, differs: Any, facts: list[str]) -> None:
    torch = engine_named(engine)
    x, runs = torch.randn(4, 4, requires_grad=True), []
    checkpoint = importlib.import_module(f"{engine}.utils.checkpoint").checkpoint

    def block(x: Any) -> Any:
        runs.append(x)
        return differs(x, len(runs) > 1)

    traces: list[workbench.Trace] = []

    def fails() -> None:
        with workbench.record(*[torch] * (engine == "torch")) as trace:
            traces.append(trace)
            checkpoint(block, x, use_reentrant=False).sum().backward()

    with pytest.raises(RuntimeError, match=r"torch\.utils\.checkpoint"):
        fails()
    (finding,) = traces[0].findings()
    assert finding.rule == "stopped" and "`block` did something different" in finding.sentence
    assert all(fact in finding.sentence for fact in facts) and "train()" in str(finding)


@each_engine
def test_the_finding_about_a_wrong_hook_says_what_it_may_return(engine: str) -> None:
    torch = engine_named(engine)
    recording = workbench.record() if engine == "workbench" else workbench.record(torch)
    with pytest.raises(RuntimeError, match="size of value"), recording as trace:
        h = torch.ones(3, requires_grad=True) * 2
        h.register_hook(lambda grad: grad.sum())
        h.square().sum().backward()
    (finding,) = trace.findings()
    assert finding.certain and "whose shape differs" in finding.sentence
    assert finding.next_step.startswith("Return `None` to leave the gradient unchanged")
    assert finding.line is not None and "register_hook" in finding.line.text
