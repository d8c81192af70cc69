"""Larger trainings: a planted fault is named in the first three sentences, and healthy ones are met with silence.

Words of a finding are compared with those that somebody wrote down for each fault who did not know the rules.
"""

from __future__ import annotations

import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import absent
import pytest
from planted import BUGS, HEALTHY, Bug, Entry, Healthy, run

from workbench.cli.first_steps import TorchSteps, WorkbenchSteps
from workbench.cli.until_finding import UntilFinding
from workbench.trace.records import BackwardStarted, NodeCreated

FIRST = 3  # sentences that somebody reads
LONGEST = 1.0  # seconds of one program, not recorded

# Not found, and what a recording would need for it.
MISSED = {
    "node_without_neighbours": "operations on tensors that take no gradient make no record: who made the infinity of "
    "a constant is not known, nor is the name of a tensor that was computed so",
}


def programs(entries: list[Any]) -> list[Any]:
    """Return the entries as parameters; those of PyTorch have the mark of tests that need it."""
    marks = {"torch": [pytest.mark.oracle], "workbench": []}
    return [pytest.param(entry, id=entry.name, marks=marks[entry.engine]) for entry in entries]


def named(name: str) -> Bug:
    return next(bug for bug in BUGS if bug.name == name)


def test_the_set_is_as_large_as_it_was_asked_for() -> None:
    if find_spec("torch") is None:
        pytest.skip(absent.TORCH)
    for entries, of_pytorch, own in ((BUGS, 25, 8), (HEALTHY, 20, 6)):
        engines = [entry.engine for entry in entries]
        assert (engines.count("torch"), engines.count("workbench")) == (of_pytorch, own)
    assert sum(bool(entry.awkward) for entry in HEALTHY) >= 10
    names = [entry.name for entry in [*BUGS, *HEALTHY]]
    assert len(names) == len({*names}) and {*MISSED} <= {*names}


@pytest.mark.parametrize("entry", programs([*BUGS, *HEALTHY]))
def test_a_program_runs_as_it_says_and_only_its_fault_is_found(entry: Entry) -> None:
    trace, error = run(entry)
    lines = [event.source for event in trace.events if isinstance(event, NodeCreated)]
    assert any(line is not None and line.file == Path(entry.path).name for line in lines)
    raises = entry.raises if isinstance(entry, Bug) else None
    if raises is None:
        assert error is None
        assert sum(isinstance(event, BackwardStarted) for event in trace.events) >= 3
    else:
        assert isinstance(error, raises)
    findings = trace.findings()
    if isinstance(entry, Bug):
        said = [(each.sentence, each.line and each.line.line) for each in findings[:FIRST]]
        is_found = any(entry.is_named_by(*each) for each in said)
        assert is_found is not (entry.name in MISSED), f"{entry.what} In: {said}"
    else:
        assert not [each.sentence for each in findings if each.certain]


@pytest.mark.slow
@pytest.mark.parametrize("entry", programs(HEALTHY))
def test_in_no_step_of_a_healthy_training_is_anything_found(entry: Healthy) -> None:
    kind = {"torch": TorchSteps, "workbench": WorkbenchSteps}[entry.engine]
    entry.torch.manual_seed(0)
    train = entry.program() if entry.prepared else entry.program
    search = UntilFinding(2)
    steps = kind(sys._getframe(), 1, None, False, lambda: None, search.took)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            train()
    finally:
        steps.leave()
    assert search.found is None, search.found
    assert steps.steps >= 3


@pytest.mark.slow
@pytest.mark.parametrize("entry", programs([*BUGS, *HEALTHY]))
def test_a_program_is_quick_and_draws_the_same_numbers_each_time(entry: Entry) -> None:
    module = entry.torch
    seconds, states = [], []
    for _ in range(2):
        module.rand(1)
        began = time.thread_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                train = entry.program()
                if entry.prepared:
                    train()
        except Exception:
            assert isinstance(entry, Bug) and entry.raises is not None
        seconds.append(time.thread_time() - began)
        states.append(module.get_rng_state().tolist())
    assert min(seconds) < LONGEST
    assert states[0] == states[1]


@pytest.mark.parametrize("bug", programs(BUGS))
def test_a_fault_is_marked_once_and_named_by_its_own_description_and_by_hardly_another(bug: Bug) -> None:
    lines = Path(bug.path).read_text(encoding="utf-8").splitlines()
    assert [number for number, line in enumerate(lines, 1) if line.endswith(bug.marker)] == [bug.line]
    assert bug.what.endswith(".") and "\n" not in bug.what
    assert bug.is_named_by(bug.what, bug.line)
    others = [other.name for other in BUGS if other is not bug and bug.is_named_by(other.what, other.line)]
    assert len(others) <= 3, others


VAGUE = [
    "The loss is high.",
    "Something is wrong with the gradients of this training.",
    "The gradient of this parameter is unusual.",
    "The optimizer made four steps with a learning rate of 0.05 (lr=0.05).",
    "The gradient of fc1.weight has the shape (16, 3), and its norm is 0.25.",
    "loss.backward() ran 4 times: see the item of step 0 in the list.",
    "Look at the graph of step 2.",
]


@pytest.mark.parametrize("sentence", VAGUE)
def test_what_says_nothing_names_no_fault(sentence: str) -> None:
    assert not any(bug.is_named_by(sentence, bug.line) for bug in BUGS)


@pytest.mark.parametrize(
    ("name", "sentence", "away", "is_named"),
    [
        ("sentence_of_padding_alone", "The first nan is made by Softmax.", None, True),
        ("sentence_of_padding_alone", "The first NaN is made here.", 0, True),
        ("sentence_of_padding_alone", "The first nan is made here.", 1, False),  # in another line
        ("sentence_of_padding_alone", "The softmax is flat.", 0, False),
        ("features_not_scaled", "The gradient of hidden.weight is 0.", None, True),
        ("features_not_scaled", "The gradient of hidden.weight is 0.0, always.", None, True),
        ("features_not_scaled", "The gradient of hidden.weight is 0.5.", None, False),  # another number
        ("features_not_scaled", "The gradient of hidden.weight is 05.", None, False),
        ("fakes_always_detached", "The fake is cut off by detach().", None, True),
        ("fakes_always_detached", "In fakes_always_detached(): `x  # planted: fakes_always_detached`.", None, False),
    ],
)
def test_words_are_enough_only_with_the_place_or_the_line(name, sentence, away, is_named) -> None:
    bug = named(name)
    assert bug.is_named_by(sentence, None if away is None else bug.line + away) is is_named
