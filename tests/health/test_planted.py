"""Larger training runs under PyTorch: one of the first three findings names the planted fault.

The programs come from the comparison with other tools. For each fault, their author listed words that name it, without
knowing the rules. A finding must contain one of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import absent
import pytest
from oracle import torch

from workbench.pictures.trace.backward_records import BackwardStarted
from workbench.pictures.trace.forward_records import NodeCreated

if torch is None:
    pytest.skip(absent.TORCH, allow_module_level=True)

# Behind tests/support, which has another `programs`.
sys.path.append(str(Path(__file__).parents[2] / "assets" / "gallery" / "beside"))
import faults  # noqa: E402

BUGS, HEALTHY = faults.sets()  # which adds the folder of the programs
from planted_entries import Bug, Entry, run  # noqa: E402

FIRST = 3  # findings that a reader is sure to read


@pytest.mark.parametrize("entry", [*BUGS, *HEALTHY], ids=lambda entry: entry.name)
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
        assert any(entry.is_named_by(*each) for each in said), f"{entry.what} In: {said}"
    else:
        assert not [each.sentence for each in findings if each.certain]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
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
