"""The view of health: its findings, its table, and what it shows of a large model."""

from __future__ import annotations

import math
import os
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import workbench
import workbench as torch
from workbench import nn
from workbench.health.table import HealthTable, table_of
from workbench.health.training_run import TrainingRun
from workbench.recording import Trace
from workbench.scene.storyboard import Storyboard
from workbench.views.health import _short


class Net(nn.Module):
    def __init__(self, blocks: int = 1) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(blocks)])
        self.head = nn.Linear(4, 1)

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def trained(steps: int = 4, blocks: int = 1, broken_at: int | None = None) -> tuple[Trace, list[dict[str, float]]]:
    """A recorded training, and of each step the norms of the gradients by the names of the parameters."""
    torch.manual_seed(0)
    net = Net(blocks)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    norms: list[dict[str, float]] = []
    with workbench.record() as trace:
        for step in range(steps):
            x = torch.randn(16, 4)
            loss = (net(x) ** 2).mean()
            if step == broken_at:
                loss = loss * math.nan
            optimizer.zero_grad()
            loss.backward()
            norms.append({name: float((each.grad**2).sum()) ** 0.5 for name, each in net.named_parameters()})
            optimizer.step()
    return trace, norms


def rows_of(board: Storyboard) -> list[str]:
    """The titles of the rows, from the top."""
    return [box.title for box in board.scene.boxes.values() if box.kind == "name"]


def test_the_numbers_are_those_of_the_training() -> None:
    trace, norms = trained(5)
    table: HealthTable = table_of(TrainingRun(trace.events))
    assert table.steps == [1, 2, 3, 4, 5]
    parameters = [row for row in table.rows if row.kind == "parameter"]
    names = [".".join([*row.path[1:], row.name]) for row in parameters]
    assert names == ["blocks.0.0.weight", "blocks.0.0.bias", "head.weight", "head.bias"]
    for name, row in zip(names, parameters, strict=True):
        for cell, step in zip(row.cells, norms, strict=True):
            assert cell is not None and cell.norm == pytest.approx(step[name], rel=1e-5)
            assert cell.update == pytest.approx(0.1 * step[name], rel=1e-4), "exact, as all numbers were kept"
    outputs = [row.path for row in table.rows if row.kind == "output"]
    assert outputs[:3] == [("Net", "blocks", "0", "0"), ("Net", "blocks", "0", "1"), ("Net", "head")]


def test_a_healthy_training_has_no_findings_and_its_cells_tell_larger_from_smaller() -> None:
    trace, norms = trained(6)
    board = trace.show("health").storyboard
    boxes = board.scene.boxes
    assert boxes["found"].title == "No findings"
    assert len(board.steps) == 6 and board.steps[0].caption.startswith("Step 1: the loss is ")
    at = rows_of(board).index("head") + 2  # its weight and its bias stand below it
    assert rows_of(board)[at] == "bias"
    usual = median(step["head.bias"] for step in norms)
    for number, step in enumerate(norms):
        shade, expected = boxes[f"r{at}.{number}"].shade, 2 * math.log10(step["head.bias"] / usual)
        assert abs(shade - max(-4.0, min(4.0, expected))) <= 0.5 + 1e-6
        told = board.steps[number].boxes[f"r{at}.norm"]["title"]
        assert float(told) == pytest.approx(step["head.bias"], rel=0.05)


def test_what_is_not_finite_is_marked_from_its_step_on() -> None:
    board = trained(6, broken_at=3)[0].show("health").storyboard
    boxes = board.scene.boxes
    assert boxes["found"].title.startswith("1 finding") and "nan" in boxes["f0"].alt
    assert boxes["f0"].goto == 3, "who activates it comes to the step"
    weight = f"r{rows_of(board).index('weight')}"
    assert [boxes[f"{weight}.{at}"].state == "error" for at in range(6)] == [False] * 3 + [True] * 3
    assert boxes[f"{weight}.4"].title == "×" and "not finite" in boxes[f"{weight}.4"].alt


def test_a_module_with_too_many_rows_is_closed_and_shows_its_worst() -> None:
    trace = trained(3, blocks=24, broken_at=2)[0]
    board = trace.show("health").storyboard
    rows = rows_of(board)
    assert len(rows) <= 34 and "0 (4)" in rows and "23 (4)" in rows
    closed = f"r{rows.index('7 (4)')}"
    assert board.scene.boxes[f"{closed}.2"].state == "error" != board.scene.boxes[f"{closed}.1"].state
    assert any("worst is shown" in each.heading for each in board.scene.boxes[closed].details)
    assert rows_of(trace.show("health", depth=0).storyboard) == ["Net (99)", "pow", "mean", "mul"]
    opened = rows_of(trace.show("health", open=["Net", "Net › blocks", "Net › blocks › 7"]).storyboard)
    assert "7 (4)" not in opened and "6 (4)" in opened and opened[opened.index("7") + 1 :][:2] == ["0 (3)", "1"]


def test_many_steps_share_columns_and_one_step_has_none() -> None:
    board = trained(70)[0].show("health").storyboard
    assert len(board.steps) < 40 and board.steps[0].caption.startswith("Steps 1 to ")
    assert all(x + w <= 560 for x, _, w, _ in (box.place or (0, 0, 0, 0) for box in board.scene.boxes.values()))
    one = trained(1)[0].show("health").storyboard
    assert len(one.steps) == 1 and not any(box.kind == "cell" for box in one.scene.boxes.values())
    assert any(box.kind == "bar" for box in one.scene.boxes.values())


def test_a_name_has_room_for_the_feet_of_its_letters() -> None:
    board = trained(2)[0].show("health").storyboard
    tops = [box.place[1] for box in board.scene.boxes.values() if box.kind == "name" and box.place]
    feet, below = 16, 3  # px: from the top of its frame to the feet, and what g and p have below them
    assert all(top + feet + below <= next_top for top, next_top in zip(tops, tops[1:], strict=False))


@pytest.mark.parametrize("norm", [9050.0, 999.9, 0.0123, 7.1e-5, 2.4e12, 0.0, math.nan])
def test_a_norm_fits_its_column(norm: float) -> None:
    assert len(_short(norm)) <= 7


def test_where_nothing_was_trained_it_says_so() -> None:
    with workbench.record() as trace:
        torch.ones(2) + 1
    assert "Nothing was recorded that takes a gradient." in str(trace.show("health"))


def test_it_is_the_same_from_a_file(tmp_path: Path) -> None:
    trace = trained(3, broken_at=1)[0]
    trace.save(tmp_path / "t.json")
    loaded = workbench.load(os.fspath(tmp_path / "t.json"))
    assert str(loaded.show("health")) == str(trace.show("health"))


def test_an_option_that_it_has_not_is_refused() -> None:
    with pytest.raises(TypeError, match="'step'"):
        trained(1)[0].show("health", step=1)
