"""What is found in programs with a planted fault: its rule, line, names and numbers; and nothing in healthy ones.

The whole sentences are kept in golden/: `WORKBENCH_WRITE_GOLDEN=1 pytest tests/health/test_findings.py` writes them.
"""

from __future__ import annotations

import inspect
import linecache
import math
import re
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import corpus
import pytest
from corpus import ANY, ENTRIES, QUESTIONS, ROOT, Entry, chosen, each_engine, recorded
from corpus.loop import loop
from corpus.numbers import activation
from golden import check_golden

import workbench
from workbench.cli.first_steps import TorchSteps, WorkbenchSteps
from workbench.cli.until_finding import UntilFinding
from workbench.diagnosis.health.findings import Findings
from workbench.diagnosis.health.training_run import TrainingRun

THEMES = ("behind", "layers", "loop", "numbers", "parameters", "not_finite", "refused")
PLACE = re.compile(r"(\w+\.py):(\d+) `([^`…]+)")
FILES = {path.name: str(path) for path in corpus.files()}


def check_places(text: str) -> None:
    """Check that each line that a text names reads as it says."""
    for file, line, code in PLACE.findall(text):
        assert linecache.getline(FILES[file], int(line)).strip().startswith(code.strip()), (file, line, code)


@cache
def found(engine: str, entry: Entry) -> tuple[Findings, str]:
    """Return the findings of a program, and all that is said of it."""
    trace = corpus.recorded(engine, entry.program)
    findings = trace.findings()
    return findings, "\n".join(map(str, [*findings, *([trace.why(entry.why)] if entry.why else [])]))


@pytest.mark.parametrize(("engine", "entry"), chosen(*THEMES, faulty=True))
def test_a_fault_is_found(engine: str, entry: Entry) -> None:
    findings, text = found(engine, entry)
    rules = [each.rule for each in findings]
    first = findings[rules.index(entry.rule)]
    assert first.certain is not entry.asks
    others = [each for each in findings if each is not first]
    if entry.beside == QUESTIONS:
        assert rules.count(entry.rule) == 1 and not any(each.certain for each in others)
    elif entry.beside != ANY:
        assert [each.rule for each in others] == [*entry.beside]
    assert entry.at in (first.line.text if first.line is not None else "")
    plain = text.replace("`", "")
    assert [fact for fact in entry.facts if fact.replace("ROOT", ROOT[engine]).replace("`", "") not in plain] == []
    assert not entry.without or entry.without not in text
    check_places(text)


@pytest.mark.parametrize("theme", THEMES)
def test_what_is_found_is_worded_as_it_was(theme: str) -> None:
    entries = [each for each in ENTRIES if each.rule and {theme} <= each.tags and "workbench" in each.engines]
    texts = {each.name: found("workbench", each)[1] for each in entries if "slow" not in each.tags}
    check_golden(Path(__file__).parent / "golden" / f"{theme}.txt", texts)


@pytest.mark.parametrize(("engine", "entry"), chosen(*THEMES, "models", "practice", "habits", faulty=False))
def test_nothing_is_found_in_a_healthy_program(engine: str, entry: Entry) -> None:
    findings = corpus.recorded(engine, entry.program).findings()
    if entry.unless:
        findings = [each for each in findings if each.rule == entry.unless or entry.unless == "certain" == each.certain]
    assert [str(each) for each in findings] == []


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "entry"), chosen("practice", faulty=False))
def test_in_no_step_of_a_healthy_training_is_anything_found(engine: str, entry: Entry) -> None:
    kind = {"torch": TorchSteps, "workbench": WorkbenchSteps}[engine]
    torch = corpus.engine_named(engine)
    torch.manual_seed(0)
    search = UntilFinding(2)
    steps = kind(sys._getframe(), 1, None, False, lambda: None, search.took)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            entry.program(torch)()
    finally:
        steps.leave()
    assert search.found is None, search.found
    assert steps.steps >= 2 or "torch.optim" not in inspect.getsource(inspect.unwrap(entry.program))


def test_healthy_programs_are_a_test_set_of_their_own() -> None:
    healthy = [each for each in ENTRIES if not each.rule and not each.unless]
    assert len(healthy) >= 150 and sum(each.engines == corpus.ENGINES for each in healthy) >= 140


@each_engine
def test_findings_print_as_text_and_are_data(engine: str, tmp_path: Path) -> None:
    trace = corpus.recorded(engine, lambda torch: loop(torch, "never"))
    findings = trace.findings()
    assert str(findings).startswith(f"1. {findings[0].sentence}") and repr(findings) == str(findings)
    norms = [float(each) for each in findings[0].sentence.rpartition(" was ")[2].rstrip(".").split(", ")]
    assert len(norms) == 4 and norms == sorted(norms)  # of the gradients that are not cleared
    [data] = findings.to_list()
    assert data["rule"] == "gradients not cleared" and data["file"] == "loop.py"
    assert trace.frame(data["event"] + 1).tensors.keys() >= {*data["ids"]}
    trace.save(tmp_path / "trace.json")
    assert workbench.load(tmp_path / "trace.json").findings() == findings
    empty = str(corpus.recorded(engine, loop).findings())
    assert empty.startswith("No findings in 4 backward passes, 4 parameters, ") and "non-finite, cut, " in empty
    assert len(empty) < 180 and "\n" not in empty


def test_of_the_last_events_of_a_long_training_no_false_thing_is_said() -> None:
    run = loop(workbench, rounds=20)
    with workbench.record(last=150) as trace:
        run()
    assert not trace.findings()


@each_engine
def test_values_of_a_function_are_kept_up_to_512(engine: str) -> None:
    run = TrainingRun(corpus.recorded(engine, lambda torch: activation(torch, "right", 64)).events)
    nodes = [node for node in run.nodes.values() if node.made.custom]
    assert nodes
    for node in nodes:
        assert all(len(each.values) == 512 for each in (*node.inputs, *node.outputs, *node.gradients, *node.sent))
    assert all(update.names for each in run.trained for update in each.updates)


@each_engine
def test_it_is_said_which_backward_was_compared_with_differences(engine: str) -> None:
    def program(torch):
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return 3 * x * x * grad

        class Product(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                return x @ w

            @staticmethod
            def backward(ctx, grad):
                x, w = ctx.saved_tensors
                return grad @ w, x.t() @ grad  # w is not transposed

        class Rows(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.cumsum(0)

            @staticmethod
            def backward(ctx, grad):
                return grad.flip(0).cumsum(0).flip(0)

        x, w = torch.randn(12, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
        return lambda: Rows.apply(Product.apply(Cube.apply(x), w)).sum().backward()

    found = corpus.recorded(engine, program).findings()
    assert "backward of `Cube` was compared" in found.functions
    assert "backward of `Product` was compared with that of `x @ w`" in found.functions
    assert "backward of `Rows` was not compared" in found.functions and "gradcheck(Rows.apply" in found.functions
    assert [each.rule for each in found] == ["not the derivative"] and "the gradient of `x` is not" in str(found[0])


COUNTS = {
    "log": ([0.0, -1.0, 1.0], r"The first nan or inf .*: 2 of 3 values"),
    "log of zeros": ([0.0, 0.0, 1.0], r"The first inf .*: 2 of 3 values"),
    "log of negative numbers": ([-1.0, -2.0, 1.0], r"The first nan comes .*: 2 of 3 values"),
    "div": ([0.0, -1.0, 1.0], r"The first nan or inf .*: 3 of 3 values"),
    "sqrt": ([0.0, 4.0, 1.0], "1 of 3 values"),
    "mul": ([1.0, math.nan, math.inf], "2 of 3 values are nan or inf"),
    "mul of nan": ([1.0, math.nan, 2.0], "1 of 3 values is nan;"),
}


@each_engine
@pytest.mark.parametrize("name", COUNTS)
def test_a_finding_counts_what_is_nan_and_what_is_infinite(engine: str, name: str) -> None:
    """Of several values each is called what it is: two zeros of a quotient and one nan aren't three nan."""
    values, count = COUNTS[name]

    def program(torch: Any) -> Any:
        function = {"div": lambda x: x / 0, "mul": lambda x: x * 3}.get(name.split()[0])
        x = torch.tensor(values, requires_grad=True)
        function = function or getattr(torch, name.split()[0])
        return lambda: function(x).sum().backward()

    (finding,) = recorded(engine, program).findings()
    assert finding.certain
    assert re.search(count, finding.sentence)
