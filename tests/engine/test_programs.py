"""Random programs show the same under the workbench and under PyTorch: values, gradients, versions, graphs, errors.

With PyTorch installed, programs are drawn and run under both; some are kept with what PyTorch showed, and it is those
that are run where it is not installed. Recording runs the kept ones under PyTorch anew; where their file was removed
before, it chooses others from those drawn.
"""

from __future__ import annotations

import re
from typing import Any

import absent
import pytest
import recorded
from hypothesis import HealthCheck, given, settings
from oracle import difference, torch
from program_runs import executed
from programs import programs

import workbench

KEPT = dict(recorded.on_file("programs"))
CHOOSING = recorded.WRITING and not KEPT
LONGEST = 10  # lines of a program that is kept
NAME = re.compile(r"\b[a-z]\d*\b")  # of a tensor

_shown: set[str] = set()


@pytest.mark.skipif(torch is None, reason=absent.TORCH)
@settings(max_examples=400, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_drawn_programs(program: list[str]) -> None:
    for look_often in (True, False):  # looking at a tensor brings its history up to date
        theirs = executed(program, torch, look_often)
        check(program, theirs, look_often)
    if CHOOSING:
        keep(program, theirs)


def test_kept_programs() -> None:
    for text in KEPT:
        if recorded.WRITING:
            KEPT[text] = executed(text.split("\n"), torch, look_often=False)
        check(text.split("\n"), KEPT[text], look_often=False)
    if recorded.WRITING:
        recorded.write({"programs": KEPT}, {"programs"})
    assert KEPT


def check(program: list[str], theirs: list[Any], look_often: bool) -> None:
    """Fail where a program shows something else under the workbench."""
    different = difference(executed(program, workbench, look_often), theirs, "shown")
    assert not different, "\n".join([*program, different])


def keep(program: list[str], shown: list[Any]) -> None:
    """Put down a program and what it showed, if those put down so far have not shown all of it."""
    lines = [each for each in shown[:-1] if isinstance(each[-1], list)]  # the others are what hooks saw
    facts = {NAME.sub("", f"{line.rpartition(': ')[2]} {outcome}") for line, outcome, _ in lines}
    facts |= {node for node, *_ in shown[-1]["graph"]}
    if len(program) <= LONGEST and not facts <= _shown:
        _shown.update(facts)
        KEPT["\n".join(program)] = shown
