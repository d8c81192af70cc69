"""`trace.why` of what the variables of whole programs hold: each has an answer, and healthy ones no false one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import fresh_programs
import pytest

import workbench

MOST = 8  # variables of a program that are asked about
PROGRAMS = [
    each for each in vars(fresh_programs).values() if getattr(each, "__module__", "") == fresh_programs.__name__
]
PROGRAMS = [each for each in PROGRAMS if list(inspect.signature(each).parameters) == ["torch"]]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_every_variable_has_an_answer(program: Callable[[Any], None], capsys: pytest.CaptureFixture[str]) -> None:
    with workbench.record() as trace:
        program(workbench)
    names = {seen.name for event in trace.events for seen in getattr(event, "tensors", ()) if seen.name}
    for number, name in enumerate(sorted(names)[:MOST]):
        why = trace.why(name)
        assert why.sentences and all(each[-1] in ".:" for each in why.sentences), repr(why)
        assert why.verdict != "not finite"
        if number % 4 == 0:
            assert why.sentences[0].partition(":")[0] in str(why.show())
