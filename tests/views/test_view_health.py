"""The view of health: its findings, its table, and what it shows of a large model."""

from __future__ import annotations

import math
import sys
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import workbench
import workbench as torch
from workbench import nn
from workbench.diagnosis.health.table import HealthCell, HealthRow, HealthTable, in_modules, table_of
from workbench.diagnosis.health.training_run import TrainingRun
from workbench.pictures.recording import Trace
from workbench.pictures.scene.layout import LayoutUnavailable
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.views.health import HealthChart, _short, _times
from workbench.pictures.views.health_rows import ShownCells, shown_rows


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
    """The titles of the rows that are seen at first, from the top."""
    return [box.title for box in board.at(0).boxes.values() if box.kind == "name"]


def row_of(board: Storyboard, *path: str) -> str:
    """The id of a row: its title, after those of the modules that it lies in."""
    found: str | None = None
    for title in path:
        rows = [box for box in board.scene.boxes.values() if box.kind == "name" and box.region == found]
        found = next(box.id for box in rows if box.title.partition(" (")[0] == title)
    assert found is not None
    return found


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
    row = row_of(board, "Net", "head", "bias")
    usual = median(step["head.bias"] for step in norms)
    for number, step in enumerate(norms):
        shade, expected = boxes[f"{row}.{number}"].shade, 2 * math.log10(step["head.bias"] / usual)
        assert abs(shade - max(-4.0, min(4.0, expected))) <= 0.5 + 1e-6
        told = board.steps[number].boxes[f"{row}.norm"]["title"]
        assert float(told) == pytest.approx(step["head.bias"], rel=0.05)


def test_what_is_not_finite_is_marked_from_its_step_on() -> None:
    board = trained(6, broken_at=3)[0].show("health").storyboard
    boxes = board.scene.boxes
    assert boxes["found"].title.startswith("1 finding") and "nan" in boxes["f0"].alt
    assert boxes["f0"].goto == 3, "who activates it comes to the step"
    weight = row_of(board, "Net", "head", "weight")
    assert [boxes[f"{weight}.{at}"].state == "error" for at in range(6)] == [False] * 3 + [True] * 3
    assert boxes[f"{weight}.4"].title == "×" and "not finite" in boxes[f"{weight}.4"].alt


def test_a_module_with_too_many_rows_is_closed_and_shows_its_worst() -> None:
    trace = trained(3, blocks=24, broken_at=2)[0]
    board = trace.show("health").storyboard
    rows = rows_of(board)
    assert len(rows) <= 36 and "0 (4)" in rows and "23 (4)" in rows
    closed = row_of(board, "Net", "blocks", "7")
    assert board.scene.boxes[f"{closed}.2"].state == "error" != board.scene.boxes[f"{closed}.1"].state
    assert "the worst of 4 rows" in board.scene.boxes[f"{closed}.bar"].alt
    assert rows_of(trace.show("health", depth=0).storyboard) == ["Net (99)", "pow", "mean", "mul"]
    opened = rows_of(trace.show("health", open=["Net", "Net › blocks", "Net › blocks › 7"]).storyboard)
    assert opened[opened.index("7 (4)") + 1 :][:3] == ["0 (3)", "1", "8 (4)"]


def test_the_worst_of_a_closed_module_is_told_beside_what_is_usual_for_that_row() -> None:
    told = ShownCells("m", "closed", [HealthCell(1e-6), HealthCell(1.0)], [], 1e-6, [1e-6, 1.0])
    assert told.distance(0) == told.distance(1) == 0, "a row of large gradients is no spike beside one of small ones"


def test_closed_rows_leave_no_gap_and_the_worst_goes_when_its_module_opens() -> None:
    trace = trained(3, blocks=12)[0]
    closed, opened = (trace.show("health", open=which).storyboard for which in (["Net"], ["Net", "Net › blocks"]))
    blocks = row_of(closed, "Net", "blocks")
    for board in (closed, opened):
        tops = [board.layout.boxes[id].y for id, box in board.at(0).boxes.items() if box.kind == "name"]
        assert {below - top for top, below in pairwise(tops)} == {19}
    assert f"{blocks}.1" in closed.at(0).boxes and f"{blocks}.1" not in opened.at(0).boxes
    assert opened.layout.height - closed.layout.height == 12 * 19
    story = closed.to_dict()
    assert story["rows"] is True and "levels" not in story and story["opened"] == [row_of(closed, "Net")]
    heights = {box["id"]: box["y"] for box in story["boxes"] if box["kind"] == "name"}
    assert len(set(heights.values())) == len(heights), "a page is told where the rows stand when all are open"


def test_so_many_rows_that_the_innermost_modules_do_not_open() -> None:
    rows = [HealthRow("weight", "parameter", ("m", f"{at}"), (HealthCell(1.0),)) for at in range(30)]
    rows += [HealthRow("bias", "parameter", ("m", f"{at}"), (HealthCell(1.0),)) for at in range(30)]
    shown = shown_rows(in_modules(rows), 40)
    assert [row.title for row in shown[:2]] == ["m (60)", "0 (2)"] and len(shown) == 31
    assert [row.opens for row in shown[:2]] == [True, False]


def test_a_cell_leads_to_the_graph_of_its_step_at_its_layer() -> None:
    trace, norms = trained(5)
    board = trace.show("health").storyboard
    story = board.to_dict()["within"]
    assert [step["when"] for step in story["story"]["steps"]] == [1, 2, 3, 4, 5]
    bias = row_of(board, "Net", "head", "bias")
    boxes = {box["id"]: box for box in story["story"]["boxes"]}
    for number, step in enumerate(norms):
        when, id = story["leads"][f"{bias}.{number}"]
        assert when == number + 1 and "head.bias" in boxes[id]["title"]
        arrow = next(each for each in story["story"]["arrows"] if each["source"] == id)
        changes = [arrow, *(moment["arrows"].get(arrow["id"], {}) for moment in story["story"]["steps"][:when])]
        told = [change["label"] for change in changes if "label" in change]
        assert f"{step['head.bias']:.4g}" in told[-1]
    cells = [id for id, box in board.scene.boxes.items() if box.goto is not None and box.state != "future"]
    assert len(cells) > 20 and set(cells) <= story["leads"].keys()


@pytest.mark.slow
def test_of_a_large_model_the_graphs_of_some_steps_are_kept_and_the_others_are_said_to_be_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.modules[HealthChart.__module__], "NODES", 160)
    weights = [nn.Parameter(torch.ones(2)) for _ in range(10)]
    optimizer = torch.optim.SGD(weights, lr=0.01)
    with workbench.record() as trace:
        for _ in range(12):
            optimizer.zero_grad()
            x = torch.ones(2)
            for weight in weights:
                x = (x * weight).tanh() + x
            x.sum().backward()
            optimizer.step()
    board = trace.show("health").storyboard
    story = board.to_dict()["within"]
    kept = {when for when, _ in story["leads"].values()}
    assert {1, 12} < kept and len(kept) < 12 and "trace.show(step=…)" in story["missing"]


def test_one_backward_has_its_graph_too_and_a_log_has_none(tmp_path: Path) -> None:
    with workbench.record() as trace:
        (torch.ones(2, requires_grad=True) * 2).sum().backward()
    story = trace.show("health").storyboard.to_dict()["within"]
    assert {id.rpartition(".")[2] for id in story["leads"]} == {"bar"} and story["story"]["boxes"]
    assert "within" not in HealthChart(table_of(TrainingRun(trace.events)), []).storyboard().to_dict()


@pytest.mark.slow
def test_a_notebook_keeps_a_small_picture_with_the_graphs_inside() -> None:
    trace = trained(20, blocks=12)[0]
    html = trace.show("health")._repr_mimebundle_()["text/html"]
    assert len(html) < 400_000


def test_where_no_graph_can_be_laid_out_the_table_is_drawn_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise LayoutUnavailable("no Graphviz")

    picture = trained(3)[0].show("health")
    monkeypatch.setattr("workbench.pictures.scene.storyboard.laid_out", fails)
    story = picture.storyboard.to_dict()["within"]
    assert "story" not in story and not story["leads"]
    assert "wb-play" in picture._repr_mimebundle_()["text/html"]


def test_a_step_says_which_rows_are_far_from_what_is_usual() -> None:
    board = trained(6, broken_at=3)[0].show("health").storyboard
    assert "Not finite: Net" in board.steps[3].caption and "more" in board.steps[3].caption
    assert "Not finite" not in board.steps[1].caption
    assert "Net › head › bias, a parameter (1): gradient norm typically" in str(trained(2)[0].show("health"))


def test_zeros_that_nobody_counted_are_unknown() -> None:
    with workbench.record(limit=2) as trace:
        for _ in range(3):
            (torch.randn(30, requires_grad=True).tanh()).sum().backward()
    board = trace.show("health").storyboard
    assert "zeros unknown" in next(box.alt for box in board.scene.boxes.values() if box.goto is not None)
    zeros = [fields["title"] for id, fields in board.steps[0].boxes.items() if id.endswith(".zeros")]
    assert "?" in zeros and "? if unknown" in board.legend


def test_other_pictures_of_a_training_say_in_their_first_line_that_something_is_wrong() -> None:
    broken, healthy = trained(4, broken_at=2)[0], trained(4)[0]
    for view in ("graph", "flow", "memory", "saved"):
        board = broken.show(view).storyboard
        assert board.steps[board.start].caption.startswith('1 finding (not finite): see show("health"). ')
        assert 'show("health")' not in str(healthy.show(view))
    with workbench.record() as trace:
        (torch.zeros(1, requires_grad=True) / 0).sum().backward()
    assert 'show("health")' not in str(trace.show()), "no training: nothing is looked for"


def test_many_steps_share_columns_and_one_step_has_none() -> None:
    board = trained(70)[0].show("health").storyboard
    assert len(board.steps) < 40 and board.steps[0].caption.startswith("Steps 1 to ")
    assert all(x + w <= 560 for x, _, w, _ in (box.place or (0, 0, 0, 0) for box in board.scene.boxes.values()))
    one = trained(1)[0].show("health").storyboard
    assert len(one.steps) == 1 and not any(box.kind == "cell" for box in one.scene.boxes.values())
    assert any(box.kind == "bar" for box in one.scene.boxes.values())


def test_a_name_has_room_for_the_feet_of_its_letters() -> None:
    board = trained(2)[0].show("health").storyboard
    tops = [board.layout.boxes[id].y for id, box in board.at(0).boxes.items() if box.kind == "name"]
    feet, below = 16, 3  # px: from the top of its frame to the feet, and what g and p have below them
    assert all(top + feet + below <= next_top for top, next_top in zip(tops, tops[1:], strict=False))


@pytest.mark.parametrize("norm", [9050.0, 999.9, 0.0123, 7.1e-5, 2.4e12, 0.0, math.nan])
def test_a_norm_fits_its_column(norm: float) -> None:
    assert len(_short(norm)) <= 7


def test_how_many_times_larger_is_said_in_plain_digits() -> None:
    assert [_times(math.log10(times)) for times in (5.71, 188, 12_345, 3e8)] == [
        "5.7 ×",
        "190 ×",
        "12,000 ×",
        "3e+08 ×",
    ]


def test_where_nothing_was_trained_it_says_so() -> None:
    with workbench.record() as trace:
        torch.ones(2) + 1
    assert "Nothing that requires grad was recorded." in str(trace.show("health"))
