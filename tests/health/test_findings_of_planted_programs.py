"""The set by which findings are judged: which faults are named in the first three sentences, and nothing false."""

from __future__ import annotations

from typing import Any

import pytest
from planted import BUGS, HEALTHY, Bug, Healthy, run

FIRST = 3  # sentences that somebody reads

# Not found, and what a recording would need for it.
MISSED = {
    "node_without_neighbours": "operations on tensors that take no gradient make no record: who made the infinity of "
    "a constant is not known, nor is the name of a tensor that was computed so",
}


def programs(entries: list[Any]) -> list[Any]:
    """Those of PyTorch have the mark of tests that need it."""
    marks = {"torch": [pytest.mark.oracle], "workbench": []}
    return [pytest.param(entry, id=entry.name, marks=marks[entry.engine]) for entry in entries]


@pytest.mark.parametrize("bug", programs(BUGS))
def test_a_fault_is_named_in_the_first_three_sentences(bug: Bug) -> None:
    trace, _ = run(bug)
    said = [(each.sentence, each.line and each.line.line) for each in trace.findings()[:FIRST]]
    is_found = any(bug.is_named_by(*each) for each in said)
    if bug.name in MISSED:
        assert not is_found, f"now found: take it from the list: {said}"
    else:
        assert is_found, f"{bug.what} is not in {said}"


@pytest.mark.parametrize("healthy", programs(HEALTHY))
def test_nothing_is_certain_in_a_healthy_run(healthy: Healthy) -> None:
    trace, error = run(healthy)
    assert error is None
    assert not [each.sentence for each in trace.findings() if each.certain]


def test_what_is_missed_is_in_the_set() -> None:
    if len(BUGS) > len([bug for bug in BUGS if bug.engine == "workbench"]):  # those of PyTorch are there
        assert {*MISSED} <= {bug.name for bug in BUGS}
