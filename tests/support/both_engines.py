"""Programs that run with the workbench and with PyTorch alike: `@each_engine` makes a test for each."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import absent
import pytest

import workbench

each_engine = pytest.mark.parametrize("engine", ["workbench", pytest.param("torch", marks=pytest.mark.oracle)])


def recorded(engine: str, program: Callable[[Any], Any], seed: int = 0) -> workbench.recording.Trace:
    """The trace of a program, which is given the engine and returns what is to be recorded."""
    try:
        torch = importlib.import_module(engine)
    except ImportError:
        pytest.skip(absent.TORCH)
    torch.manual_seed(seed)
    run = program(torch)
    with workbench.record() if engine == "workbench" else workbench.record(torch) as trace:
        run()
    return trace
