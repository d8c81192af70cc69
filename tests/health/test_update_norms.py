"""How far an optimizer's step moves a weight is recorded where the weight's numbers are not kept."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import each_engine, recorded
from corpus.parts import train

import workbench
from workbench.diagnosis.health.table import table_of
from workbench.diagnosis.health.training_run import TrainingRun

WIDE = 40  # of a layer whose numbers are not kept


def numbers(tensor: Any) -> np.ndarray:
    return np.array(tensor.detach().tolist(), np.float64)


def wide(torch: Any, kind: str, kept: list[np.ndarray], lr: float = 0.01) -> Any:
    """A training of one wide layer that puts down its weight before each step and after the last."""
    net = torch.nn.Linear(WIDE, WIDE)
    x = torch.randn(8, WIDE)

    def loss_of() -> Any:
        kept.append(numbers(net.weight))
        return net(x).square().mean()

    def end(optimizer: Any) -> None:
        if len(kept) == 3:
            kept.append(numbers(net.weight))

    return train(torch, net, lr=lr, rounds=3, kind=kind, loss_of=loss_of, end=end)


@each_engine
@pytest.mark.parametrize("kind", ["SGD", "AdamW", "Adam"])
def test_the_norm_of_each_update_is_that_of_the_difference(engine: str, kind: str, tmp_path: Path) -> None:
    kept: list[np.ndarray] = []
    trace = recorded(engine, lambda torch: wide(torch, kind, kept))
    norms = [float(np.linalg.norm(after - before)) for before, after in zip(kept, kept[1:], strict=False)]
    trace.save(tmp_path / "wide.json")
    for each in (trace, workbench.load(tmp_path / "wide.json")):
        run = TrainingRun(each.events)
        weight = next(each for each in run.trained if each.shape == (WIDE, WIDE))
        assert [update.size for update in weight.updates] == pytest.approx(norms, rel=1e-4)
        assert all(update.is_exact and update.before.values is None for update in weight.updates)
        row = next(row for row in table_of(run).rows if row.kind == "parameter" and row.shape == (WIDE, WIDE))
        told = [cell.ratio for cell in row.cells if cell is not None]
        whole = [norm / np.linalg.norm(before) for norm, before in zip(norms, kept, strict=False)]
        assert told == pytest.approx(whole, rel=1e-4)


@each_engine
def test_of_weights_that_are_kept_the_numbers_tell_it(engine: str) -> None:
    def program(torch: Any) -> Any:
        net = torch.nn.Linear(3, 2)
        return train(torch, net, torch.ones(4, 3), torch.ones(4, 2))

    run = TrainingRun(recorded(engine, program).events)
    updates = [update for each in run.trained for update in each.updates]
    assert updates and all(update.moved is None and update.is_exact and update.size > 0 for update in updates)


@each_engine
def test_what_the_program_writes_itself_is_told_as_far_as_it_is_known(engine: str) -> None:
    def program(torch: Any) -> Any:
        w = torch.nn.Parameter(torch.randn(WIDE, WIDE))

        def run() -> None:
            for _ in range(3):
                w.square().sum().backward()
                with torch.no_grad():
                    w.sub_(w.grad * 0.1)
                w.grad = None

        return run

    (weight,) = TrainingRun(recorded(engine, program).events).trained
    assert len(weight.updates) == 3
    assert all(not update.is_exact and 0 < update.size < math.inf for update in weight.updates)


@pytest.mark.oracle
def test_steps_that_run_the_backward_themselves() -> None:
    def program(torch: Any) -> Any:
        net, x = torch.nn.Linear(WIDE, WIDE), torch.randn(8, WIDE)
        sgd = torch.optim.SGD(net.parameters(), lr=0.01)
        several = torch.optim.LBFGS(net.parameters(), max_iter=4)

        def closure() -> Any:
            net.zero_grad()
            kept.append(numbers(net.weight))
            loss = net(x).square().mean()
            loss.backward()
            return loss

        def run() -> None:
            sgd.step(closure)  # before it there is no gradient
            sgd.step(closure)
            several.step(closure)

        return run

    kept: list[np.ndarray] = []
    run = TrainingRun(recorded("torch", program).events)
    weight = next(each for each in run.trained if each.shape == (WIDE, WIDE))
    norms = [float(np.linalg.norm(after - before)) for before, after in zip(kept, kept[1:], strict=False)]
    assert len(weight.updates) >= 5 and weight.updates[1].is_exact
    for update, norm in zip(weight.updates, norms, strict=False):
        assert update.size == pytest.approx(norm, rel=1e-4) if update.is_exact else update.size < norm
