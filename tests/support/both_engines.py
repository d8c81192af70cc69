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
    torch: Any,
    net: Any,
    x: Any = None,
    y: Any = None,
    lr: float = 0.1,
    rounds: int = 4,
    kind: str = "SGD",
    *,
    loss_of: Callable[[], Any] | None = None,
    given: Any = None,
    begin: Callable[[int, Any], None] | None = None,
    end: Callable[[Any], None] | None = None,
) -> Callable[[], None]:
    """A training as it is written in any tutorial.

    What may differ is what computes the loss (`loss_of`), which parameters the optimiser is `given`, and what comes
    first and last in a round: `begin` has its number and the optimiser, `end` the optimiser.
    """
    optimizer = getattr(torch.optim, kind)(net.parameters() if given is None else given, lr=lr)
    losses = torch.nn.functional

    def run() -> None:
        for at in range(rounds):
            if begin is not None:
                begin(at, optimizer)
            if loss_of is not None:
                loss = loss_of()
            elif y.dtype is torch.int64:
                loss = losses.cross_entropy(net(x), y)
            else:
                loss = losses.mse_loss(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if end is not None:
                end(optimizer)

    return run
