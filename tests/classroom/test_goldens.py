"""The fixture `golden`: figures in a file beside the test, compared, and rewritten only if asked."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import absent
import numpy as np
import pytest
from lab import CHECKOUT

import workbench
import workbench as torch
from workbench.diagnosis.diffing.golden import moved, read, rows_of, written

pytest_plugins = ("pytester",)

TESTS = """
import os
import pytest
import workbench
import {engine} as torch

def net():
    layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    with torch.no_grad():
        for parameter in layers.parameters():
            values = torch.linspace(-1, 1, parameter.numel()).reshape(parameter.shape)
            parameter.copy_(values)
    return layers, torch.linspace(-1, 2, 15).reshape(5, 3)

FACTOR = float(os.environ.get("FACTOR", 1))

def test_a_trace(golden):
    layers, x = net()
    with workbench.record({module}) as trace:
        loss = ((layers(x) * FACTOR) ** 2).mean()
        loss.backward()
    golden(trace)

class TestLosses:
    @pytest.mark.parametrize("factor", [1, 2])
    def test_a_loss(self, golden, factor):
        layers, x = net()
        loss = (layers(x) ** 2).mean() * factor * FACTOR
        golden(loss)
        golden(loss.exp(), name="another one")
        assert layers[0].weight.grad is None
        loss.backward()
"""
ARGUMENTS = ("-p", "pytest_workbench", "-p", "no:cacheprovider")


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess(*ARGUMENTS, *arguments)


@pytest.fixture
def folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tests of the own engine."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(CHECKOUT), str(CHECKOUT / "assets" / "pytest")]))
    monkeypatch.setenv("CI", "1")
    pytester.makepyfile(test_net=TESTS.format(engine="workbench", module=""))
    return pytester.path


@pytest.mark.slow
def test_a_golden_is_written_if_asked_and_compared_otherwise(
    folder: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run(pytester)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        ["No golden test_net.golden/test_a_trace.json yet. To write it, run:", "  pytest *--workbench-golden=update"]
    )
    assert not (folder / "test_net.golden").exists()
    run(pytester, "-n", "2", "--workbench-golden=update").assert_outcomes(passed=3)
    files = {each.name: each.read_bytes() for each in (folder / "test_net.golden").iterdir()}
    assert len(files) == 5 and max(map(len, files.values())) < 4000
    assert str(folder).encode() not in b"".join(files.values())
    run(pytester).assert_outcomes(passed=3)
    run(pytester, "--workbench-golden=update").assert_outcomes(passed=3)
    assert {each.name: each.read_bytes() for each in (folder / "test_net.golden").iterdir()} == files
    monkeypatch.setenv("FACTOR", "1.01")
    result = run(pytester)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "golden test_net.golden/test_a_trace.json: * moved",
            "  first mul: norm * → * (moved by 0.99 %, allowed 0.01 %)",
            "  the gradient of layers.2.bias: norm * → * (moved by 2 %, allowed 0.01 %)",
            "If the change is intended, run:",
            "  pytest *test_a_trace --workbench-golden=update",
        ]
    )
    assert {each.name: each.read_bytes() for each in (folder / "test_net.golden").iterdir()} == files


@pytest.mark.slow
@pytest.mark.oracle
def test_pytorch_and_the_own_engine_have_the_same_golden(folder: Path, pytester: pytest.Pytester) -> None:
    pytest.importorskip("torch", reason=absent.TORCH)
    run(pytester, "--workbench-golden=update").assert_outcomes(passed=3)
    pytester.makepyfile(test_net=TESTS.format(engine="torch", module="torch"))
    run(pytester).assert_outcomes(passed=3)


@pytest.mark.slow
def test_what_is_no_golden_and_no_trace_is_refused(folder: Path, pytester: pytest.Pytester) -> None:
    run(pytester, "--workbench-golden=update").assert_outcomes(passed=3)
    golden = folder / "test_net.golden" / "test_a_trace.json"
    for text in ("", "[]", '{"format": "workbench-golden", "version": 1, "rows": [{"what": 3}]}'):
        golden.write_text(text, "utf-8")
        result = run(pytester, "-k", "trace")
        result.assert_outcomes(failed=1, deselected=2)
        result.stdout.fnmatch_lines("Cannot read the golden test_net.golden/test_a_trace.json: it isn't a golden *")
    pytester.makepyfile(
        test_net="""
        import pytest, workbench as torch
        def test_it(golden):
            loss = torch.ones(2, requires_grad=True).sum()
            loss.backward()
            with pytest.raises(ValueError, match="needs the graph of this loss, but .*before backward"):
                golden(torch.ones(2).sum())
            with pytest.raises(TypeError, match="It got int"):
                golden(3, name="a")
        """
    )
    run(pytester).assert_outcomes(passed=1)
    assert run(pytester, "--workbench-golden=twice").ret != 0


def trace_of(weight: np.ndarray, **options):
    x = torch.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]])
    w = torch.tensor(weight).requires_grad_()
    with workbench.record(**options) as trace:
        ((x @ w).tanh() * torch.arange(6.0).reshape(2, 3)).sum().backward()
    return trace


WEIGHT = np.arange(9, dtype=np.float32).reshape(3, 3) / 10


def test_a_golden_is_the_same_text_each_time_and_read_back() -> None:
    text = written(rows_of(trace_of(WEIGHT)))
    assert text == written(rows_of(trace_of(WEIGHT)))
    rows = read(text)
    assert written(rows) == text and moved(rows, rows_of(trace_of(WEIGHT))) == []
    assert [row["name"] for row in json.loads(text)["rows"]] == ["mm", "tanh", "mul", "sum", "w"]


def test_rounding_moves_nothing_and_a_change_does() -> None:
    golden = rows_of(trace_of(WEIGHT))
    assert moved(golden, rows_of(trace_of(WEIGHT * np.float32(1 + 3e-7)))) == []
    head, *lines = moved(golden, rows_of(trace_of(WEIGHT * np.float32(1.001))))
    assert head == "5 of 5 values moved"
    assert lines[0].startswith("first mm: norm ") and lines[1].startswith("the gradient of w: norm ")


def test_the_same_values_in_another_order_are_found() -> None:
    rows = rows_of(trace_of(WEIGHT))
    other = read(written(rows).replace(f'"mixed": {rows[0].mixed}', f'"mixed": {rows[0].mixed + 1}'))
    other = [type(row)(**{**{name: getattr(row, name) for name in row.__slots__}, "hash": "0"}) for row in other]
    assert "its elements are other ones, or in another order" in moved(rows, other)[1]


def test_operations_that_came_or_went_are_told() -> None:
    golden = rows_of(trace_of(WEIGHT))
    head, *lines = moved(golden, golden[:1] + golden[2:])
    assert head == "no value moved, and 1 operation or gradient came or went" and lines == ["tanh is gone"]
    assert moved(golden[:1], golden[:2])[1:] == ["tanh is new"]


def test_without_values_norms_are_compared_and_what_is_not_finite_is_text() -> None:
    golden = rows_of(trace_of(WEIGHT, limit=1))
    assert golden[0].mixed is None and golden[0].hash == ""
    assert moved(golden, rows_of(trace_of(WEIGHT, limit=1))) == []
    assert moved(golden, rows_of(trace_of(WEIGHT * 2, limit=1)))
    wrong = WEIGHT.copy()
    wrong[0, 0] = math.nan
    rows = rows_of(trace_of(wrong))
    assert json.loads(written(rows))["rows"][0]["norm"] == "nan" and moved(read(written(rows)), rows) == []
    assert moved(golden, rows_of(trace_of(wrong, limit=1)))
