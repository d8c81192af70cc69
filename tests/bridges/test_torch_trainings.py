"""Forty small trainings have the same gradients and parameters bit by bit, recorded, watched or stepped."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from oracle import torch
from torch_trainings import TRAININGS

import workbench

# A stepper runs one backward: it is refused where that gives the memory away that it needs to run again.
STEPS = 2


def bits(thing: Any) -> Any:
    """A gradient or a parameter as its bytes."""
    if thing is None:
        return None
    plain = (thing.to_dense() if thing.is_sparse else thing).detach()
    return (
        plain.dtype,
        tuple(plain.shape),
        torch.view_as_real(plain).numpy().tobytes() if plain.is_complex() else (plain.numpy().tobytes()),
    )


def backward(loss: Any) -> None:
    loss.backward()


def stepped(loss: Any) -> None:
    workbench.step(loss).run()


@contextmanager
def nothing(made: Any) -> Iterator[None]:
    yield


def after(name: str, around: Any = nothing, run: Any = backward) -> list[Any]:
    """The parameters and gradients of a training after its steps."""
    torch.manual_seed(0)
    made = TRAININGS[name]()
    with around(made):
        for _ in range(STEPS):
            made.step(run)
    return [(bits(each), bits(each.grad)) for each in made.model.parameters()]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(action="ignore"):
        yield


def test_there_are_forty() -> None:
    assert len(TRAININGS) >= 40


@pytest.mark.parametrize("name", TRAININGS)
def test_a_training_does_not_notice_that_it_is_looked_at(name: str) -> None:
    plain = after(name)
    assert after(name, lambda made: workbench.record(torch)) == plain
    assert after(name, lambda made: workbench.watch(made.model, made.optimizer, every=1)) == plain
    assert after(name, run=stepped) == plain
    assert after(name) == plain
