"""Whatever can be recorded can be saved and loaded again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from made_functions import function, raising
from trace_samples import leaf

import workbench as torch
from workbench.autograd.scopes import scope
from workbench.pictures.recording import load, record

LONG = 2_000_000  # characters


def named(length: int) -> None:
    with scope("n" * length):
        (leaf() * 2).sum().backward()


def nested_scopes() -> None:
    with ExitStack() as stack:
        for n in range(1_100):
            stack.enter_context(scope(f"s{n}"))
        (leaf() * 2).sum().backward()


def nested_modules() -> None:
    class Nested(torch.nn.Module):
        def __init__(self, depth: int) -> None:
            super().__init__()
            self.inner = Nested(depth - 1) if depth else torch.nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return self.inner(x) * 2

    Nested(120)(torch.ones(2)).sum().backward()


def named_modules() -> None:
    net = torch.nn.Sequential()
    for name in ("k" * 3_000, "0" * 3_000):
        net.add_module(name, torch.nn.Linear(2, 2))
    net(torch.ones(2)).sum().backward()


def named_class() -> None:
    members = {"forward": staticmethod(lambda ctx, x: x * 2), "backward": staticmethod(lambda ctx, g: g * 2)}
    type("F" * 30_000, (torch.autograd.Function,), members).apply(leaf()).sum().backward()


def many_inputs() -> None:
    w = leaf()
    torch.stack([w] * 10_001).sum().backward()


def long_error() -> None:
    with suppress(ValueError):
        function("Failing", lambda x: x * 2, raising(ValueError("e" * LONG))).apply(leaf()).sum().backward()


PROGRAMS: dict[str, Callable[[], None]] = {
    "a long scope": lambda: named(2_000),
    "a very long scope": lambda: named(LONG),
    "nested scopes": nested_scopes,
    "nested modules": nested_modules,
    "named modules": named_modules,
    "a named class": named_class,
    "many inputs": many_inputs,
    "a long error": long_error,
}


@pytest.mark.parametrize(
    "program", [pytest.param(name, marks=[pytest.mark.slow] * (name == "many inputs")) for name in PROGRAMS]
)
def test_whatever_is_recorded_can_be_loaded_and_is_saved_again_as_it_was(program: str, tmp_path: Path) -> None:
    with record() as trace:
        PROGRAMS[program]()
    trace.save(tmp_path / "trace.json")
    loaded = load(tmp_path / "trace.json")
    assert len(loaded.events) == len(trace.events) > 1
    assert loaded.to_json() == trace.to_json()
