"""Run the tests of Ctrl-C in a process of their own: an interrupt would also meet what other tests have left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from oracle import torch as pytorch  # noqa: F401  some of them compare with PyTorch

FILE = Path(__file__).with_name("interrupts_alone.py")


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param("sweep_finds or deep_backward", id="few", marks=pytest.mark.slow),
        pytest.param("", id="all", marks=pytest.mark.scheduled),
    ],
)
def test_an_interrupt_leaves_nothing_switched_on(chosen: str) -> None:
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", str(FILE), "-n0", "-q", "-m", "", "-k", chosen, "-p", "no:cacheprovider"]
    seen = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert seen.returncode == 0, seen.stdout[-10_000:] + seen.stderr
