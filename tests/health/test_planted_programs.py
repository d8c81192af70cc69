"""The set by which findings are judged: every program runs, ends as it says, and has its fault where it says."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import absent
import pytest
from planted import BUGS, HEALTHY, Bug, Entry, run

from workbench.trace.records import BackwardStarted, NodeCreated

LONGEST = 1.0  # seconds of one program, not recorded


def programs(entries: list[Any]) -> list[Any]:
    """Those of PyTorch have the mark of tests that need it."""
    marks = {"torch": [pytest.mark.oracle], "workbench": []}
    return [pytest.param(entry, id=entry.name, marks=marks[entry.engine]) for entry in entries]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small programs are faster on one, above all where others compute beside them."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def seconds_of(entry: Entry) -> float:
    """What this thread computes for a program."""
    began = time.thread_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            train = entry.program()
            if entry.prepared:
                train()
    except Exception:
        assert isinstance(entry, Bug) and entry.raises is not None
    return time.thread_time() - began


def test_the_set_is_as_large_as_it_was_asked_for() -> None:
    if find_spec("torch") is None:
        pytest.skip(absent.TORCH)
    for entries, of_pytorch, own in ((BUGS, 25, 15), (HEALTHY, 20, 10)):
        engines = [entry.engine for entry in entries]
        assert (engines.count("torch"), engines.count("workbench")) == (of_pytorch, own)
    assert sum(bool(entry.awkward) for entry in HEALTHY) >= 10


def test_each_name_is_there_once() -> None:
    names = [entry.name for entry in [*BUGS, *HEALTHY]]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("entry", programs([*BUGS, *HEALTHY]))
def test_a_program_runs_as_it_says(entry: Entry) -> None:
    trace, error = run(entry)
    steps = sum(isinstance(event, BackwardStarted) for event in trace.events)
    raises = entry.raises if isinstance(entry, Bug) else None
    if raises is None:
        assert error is None
        assert steps >= 3
    else:
        assert isinstance(error, raises)
    lines = [event.source for event in trace.events if isinstance(event, NodeCreated)]
    assert any(line is not None and line.file == Path(entry.path).name for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("entry", programs([*BUGS, *HEALTHY]))
def test_a_program_is_quick_and_draws_the_same_numbers_each_time(entry: Entry) -> None:
    module = entry.program.__globals__["torch"]
    seconds, states = [], []
    for _ in range(2):
        module.rand(1)
        seconds.append(seconds_of(entry))
        states.append(module.get_rng_state().tolist())
    assert min(seconds) < LONGEST
    assert states[0] == states[1]


@pytest.mark.parametrize("bug", programs(BUGS))
def test_the_marker_of_a_fault_stands_in_its_file_once(bug: Bug) -> None:
    lines = Path(bug.path).read_text(encoding="utf-8").splitlines()
    assert [number for number, line in enumerate(lines, 1) if line.endswith(bug.marker)] == [bug.line]


@pytest.mark.parametrize("bug", programs(BUGS))
def test_a_fault_is_named_by_its_own_description_and_by_hardly_another(bug: Bug) -> None:
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


def test_words_are_enough_only_with_the_place_or_the_line() -> None:
    bug = next(bug for bug in BUGS if bug.name == "sentence_of_padding_alone")
    assert bug.is_named_by("The first nan is made by Softmax.")
    assert bug.is_named_by("The first NaN is made here.", bug.line)
    assert not bug.is_named_by("The first nan is made here.", bug.line + 1)
    assert not bug.is_named_by("The softmax is flat.", bug.line)


def test_a_number_is_not_found_in_another() -> None:
    bug = next(bug for bug in BUGS if bug.name == "features_not_scaled")
    assert bug.is_named_by("The gradient of hidden.weight is 0.")
    assert bug.is_named_by("The gradient of hidden.weight is 0.0, always.")
    assert not bug.is_named_by("The gradient of hidden.weight is 0.5.")
    assert not bug.is_named_by("The gradient of hidden.weight is 05.")


def test_the_line_or_the_function_that_a_finding_quotes_does_not_count() -> None:
    bug = next(bug for bug in BUGS if bug.name == "equal_from_the_start")
    assert bug.is_named_by("All units of the layer get the same gradient.")
    assert not bug.is_named_by(f"In {bug.name}(): `nn.init.constant_(module.weight, 0.1)  {bug.marker}`.")
