"""The view of health says which rows its findings are about: they are open, have their number, and can be come to."""

from __future__ import annotations

import math
from typing import Any

import pytest
from test_view_health import row_of, rows_of, trained

import workbench
import workbench as torch
from workbench import nn
from workbench.diagnosis.health.finding import Finding
from workbench.diagnosis.health.log import LOAD, WatchLog
from workbench.diagnosis.health.table import HealthCell, HealthRow, HealthTable
from workbench.pictures.recording import Trace
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.views.health import health_of_log


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.act = nn.ReLU()

    def forward(self, x: Any) -> Any:
        return x + self.act(self.fc(x))


class Deep(nn.Module):
    def __init__(self, blocks: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(blocks)])

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return x


def with_a_dead_block(dead: int, blocks: int = 20, steps: int = 3) -> Trace:
    """A training of many blocks, of one of which nothing passes the ReLU."""
    torch.manual_seed(0)
    net = Deep(blocks)
    with torch.no_grad():
        net.blocks[dead].fc.bias.fill_(-1000.0)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    with workbench.record() as trace:
        for _ in range(steps):
            loss = (net(torch.randn(16, 4)) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return trace


@pytest.fixture(scope="module")
def dead() -> Storyboard:
    return with_a_dead_block(13).show("health").storyboard


def test_the_rows_of_a_finding_are_open_and_have_its_number(dead: Storyboard) -> None:
    boxes = dead.at(0).boxes
    assert "blocks/13/act" in boxes["f0"].alt and boxes["f0.mark"].title == "1"
    act = row_of(dead, "Deep", "blocks", "13", "act")
    assert act in boxes, "its block is open"
    assert boxes["f0"].refers == act and boxes[f"{act}.found0"].title == "1"
    assert boxes[f"{act}.found0"].refers == "f0", "and back"
    rows = rows_of(dead)
    assert rows[rows.index("13 (5)") + 1 :][:2] == ["fc (3)", "act"] and rows[rows.index("12 (5)") + 1] == "13 (5)"
    assert [id for id in boxes if id.endswith(".found0")] == [f"{act}.found0"], "it is said once"
    assert "click a number for its finding" in dead.legend


def test_a_closed_module_has_the_numbers_of_the_rows_in_it() -> None:
    board = with_a_dead_block(13).show("health", open=["Deep", "Deep › blocks"]).storyboard
    boxes, block = board.at(0).boxes, row_of(board, "Deep", "blocks", "13")
    assert rows_of(board)[2:4] == ["0 (5)", "1 (5)"] and row_of(board, "Deep", "blocks", "13", "act") not in boxes
    assert [id for id in boxes if id.endswith(".found0")] == [f"{block}.found0"]
    opened = with_a_dead_block(13).show("health", open=["Deep", "Deep › blocks", "Deep › blocks › 13"]).storyboard
    assert f"{block}.found0" not in opened.at(0).boxes


def test_what_to_look_at_next_stands_below_its_sentence(dead: Storyboard) -> None:
    box = dead.scene.boxes["f0"]
    told = next(line for line in box.lines if line.startswith("→ "))
    assert box.details[0].body.startswith(told[2:])
    assert box.place is not None and box.place[3] == 20 + 16 * len(box.lines)


def test_a_zero_reads_as_zero_and_none_as_none(dead: Storyboard) -> None:
    boxes = dead.scene.boxes
    weight = row_of(dead, "Deep", "blocks", "13", "fc", "weight")
    assert boxes[f"{weight}.zero"].title == "0" and boxes[f"{weight}.0"].title == "0"
    alive = row_of(dead, "Deep", "blocks", "12", "fc", "weight")
    assert f"{alive}.zero" not in boxes and not boxes[f"{alive}.0"].title
    used, unused = nn.Linear(2, 2), nn.Linear(2, 2)
    optimizer = torch.optim.SGD([*used.parameters(), *unused.parameters()], lr=0.1)
    with workbench.record() as trace:
        for _ in range(2):
            optimizer.zero_grad()
            with torch.no_grad():
                unused(torch.ones(1, 2))
            used(torch.ones(1, 2)).sum().backward()
            optimizer.step()
    board = trace.show("health").storyboard
    none = row_of(board, "unused", "weight")
    assert f"{none}.bar" not in board.scene.boxes and f"{none}.zero" not in board.scene.boxes
    assert board.steps[0].boxes[f"{none}.norm"]["title"] == "none"


def test_a_question_has_a_lighter_number_and_a_finding_without_a_row_has_none() -> None:
    table = HealthTable([1], [HealthRow("weight", "parameter", ("fc",), (HealthCell(1.0, 1.0, 0.1),))])
    asked = Finding("watch", False, "Step 1: fc.weight stands still.", LOAD, None, 0)
    other = Finding("watch", True, "Step 1: the learning rate is 0.", LOAD, None, 0)
    boxes = health_of_log(WatchLog(table, (other, asked))).scene.boxes
    assert boxes["f0"].refers is None and boxes["f1"].refers == row_of(
        health_of_log(WatchLog(table, (asked,))), "fc", "weight"
    )
    assert boxes["f0.mark"].shade > boxes["f1.mark"].shade > 0
    assert [id for id in boxes if ".found" in id and boxes[id].instead is None] == [f"{boxes['f1'].refers}.found1"]


def test_a_file_of_watch_names_its_rows_whole() -> None:
    cells = (HealthCell(math.nan, 1.0, 0.1, nonfinite="gradient"),)
    rows = [HealthRow("weight", "parameter", path, cells) for path in (("fc",), ("fc2",), ("net", "fc"), ("0",))]
    table = HealthTable([1], rows)

    def about(sentence: str) -> list[str]:
        boxes = health_of_log(WatchLog(table, (Finding("watch", True, sentence, LOAD, None, 0),))).scene.boxes
        marked = {id.partition(".")[0] for id in boxes if ".found" in id and boxes[id].instead is None}
        return [boxes[boxes[id].region or id].title for id in sorted(marked)]

    assert about("Step 1: the norm of the gradient of fc.weight is nan.") == ["fc (1)"]
    assert about("Step 1: the norm of the gradient of 0.weight is nan.") == ["0 (1)"]
    assert about("Step 10: the norm of all gradients is 10.0.") == []


def test_bars_of_closed_modules_can_be_compared() -> None:
    board = trained(3, blocks=24)[0].show("health").storyboard
    widths = [board.scene.boxes[f"{row_of(board, 'Net', 'blocks', f'{n}')}.bar"].place[2] for n in range(24)]
    assert all(abs(one - other) < 15 for one, other in zip(widths, widths[1:], strict=False)), "no block stands out"


def test_a_long_name_has_the_room_that_few_steps_leave() -> None:
    class Long(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.position_embeddings = nn.Linear(2, 1)

        def forward(self, x: Any) -> Any:
            return self.position_embeddings(x)

    def named(steps: int) -> tuple[str, float]:
        net = Long()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with workbench.record() as trace:
            for _ in range(steps):
                optimizer.zero_grad()
                net(torch.ones(1, 2)).sum().backward()
                optimizer.step()
        board = trace.show("health").storyboard
        ends = [box.place[0] + box.place[2] for box in board.scene.boxes.values() if box.place]
        return next(title for title in rows_of(board) if title.startswith("position")), max(ends)

    assert named(2)[0] == "position_embeddings (3)"
    title, end = named(30)
    assert title.endswith("…") and end <= 560, "many steps take it"
