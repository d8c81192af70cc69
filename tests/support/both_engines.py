"""Programs that run with the workbench and with PyTorch alike: `@each_engine` makes a test for each."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import absent
import pytest

import workbench
from workbench.health.findings import Findings
from workbench.trace.source import without_comment

each_engine = pytest.mark.parametrize("engine", ["workbench", pytest.param("torch", marks=pytest.mark.oracle)])

# What calls of the outermost module `net = nn.Sequential(...)` have as the beginning of their scope.
ROOT = {"workbench": "Sequential", "torch": "net"}


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


def found(engine: str, program: Callable[[Any], Any]) -> Findings:
    """The findings of a program."""
    return recorded(engine, program).findings()


def where(program: Callable[..., Any], text: str) -> str:
    """The place of the first line of a program that has this text, as findings tell it."""
    lines, first = inspect.getsourcelines(program)
    at = next(number for number, line in enumerate(lines) if text in line)
    return f"{Path(inspect.getfile(program)).name}:{first + at} `{without_comment(lines[at]).strip()[:20]}"


def train(
    torch: Any, net: Any, x: Any, y: Any, lr: float = 0.1, rounds: int = 4, kind: str = "SGD"
) -> Callable[[], None]:
    """A training as it is written in any tutorial."""
    optimizer = getattr(torch.optim, kind)(net.parameters(), lr=lr)
    loss_of = torch.nn.functional.cross_entropy if y.dtype is torch.int64 else torch.nn.functional.mse_loss

    def run() -> None:
        for _ in range(rounds):
            loss = loss_of(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return run
