"""What is said where autograd refuses a backward: the same by the picture of the error, recorded or loaded."""

from __future__ import annotations

from pathlib import Path

import corpus
import pytest
from corpus import Entry, chosen

import workbench
from workbench.health.refusals import refusal_of
from workbench.health.training_run import TrainingRun


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
            assert "No backward was recorded" not in str(trace.why(state.name))
