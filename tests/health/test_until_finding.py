"""Asked after each step of a program, findings say no more than of the whole: nothing of a healthy one."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import pytest
from planted import HEALTHY, Healthy

from workbench.cli.first_steps import TorchSteps, WorkbenchSteps
from workbench.cli.until_finding import UntilFinding

MARKS: dict[str, list[Any]] = {"torch": [pytest.mark.oracle], "workbench": []}


@pytest.mark.parametrize("entry", [pytest.param(entry, id=entry.name, marks=MARKS[entry.engine]) for entry in HEALTHY])
def test_in_no_step_of_a_healthy_training_is_anything_found(entry: Healthy) -> None:
    kind = {"torch": TorchSteps, "workbench": WorkbenchSteps}[entry.engine]
    entry.program.__globals__["torch"].manual_seed(0)
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
