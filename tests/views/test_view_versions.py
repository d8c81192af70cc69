"""The versions view: writes, saves and reads of every storage, and the write that a failing read is drawn at."""

from __future__ import annotations

from itertools import combinations

import pytest
from text_programs import recorded
from trace_samples import leaf

import workbench as torch
from workbench import nn
from workbench.pictures.recording import Trace, record
from workbench.pictures.scene.labels import box_fields
from workbench.pictures.views import storyboard


def spoiled() -> Trace:
    with record() as trace:
        x = leaf(0.1, 0.2, 0.3)
        y = x.exp()
        y.mul_(2)  # writes over what exp had saved
        with pytest.raises(RuntimeError):
            y.sum().backward()
    return trace


def board_of(trace):
    return storyboard(trace, "versions")


def marks(board):
    """The marks of each storage: (name, what is written on them)."""
    found = {box.title: [] for box in board.scene.boxes.values() if box.kind == "name"}
    for id, box in board.scene.boxes.items():
        if box.kind == "event":
            owner = board.scene.boxes[f"{id.rpartition('.')[0]}.name"].title
            found[owner].append(box.title)
    return found


def test_no_mark_and_no_word_is_covered():
    board = board_of(spoiled())
    layout, scene = board.layout, board.at()
    (arrow,) = scene.arrows.values()
    points = layout.arrows[arrow.id].points
    one, other = (layout.boxes[end] for end in (arrow.source, arrow.target))
    assert one.y + one.h == points[0][1] < points[-1][1] == other.y  # in the room between writes and reads
    assert points[-1][0] <= other.x + 8  # its head beside the letters
    backward, line = (layout.boxes[id] for id in ("phase1", "line"))
    assert line.y >= backward.y + backward.h - 4


def test_a_long_history_shows_its_ends_and_what_failed():
    with record() as trace:
        x, buffer = leaf(1.0, 2.0), torch.ones(2, dtype=torch.float64)
        first = x * buffer
        for _ in range(200):
            buffer.add_(1)
            x.sin()
        with pytest.raises(RuntimeError):
            first.sum().backward()
    board = board_of(trace)
    (history,) = [told for name, told in marks(board).items() if name == "buffer"]
    assert history[:2] == ["save 0", "write 1"] and history[-1] == "read 0 ×" and len(history) < 50
    assert any(box.title == "…" for box in board.scene.boxes.values()) and board.layout.width < 3000


def test_many_storages_show_those_that_were_written():
    lines = ["t = leaf(1.0, 2.0)", *["t = t.sin()"] * 40, "u = t.exp()", "u.mul_(2)"]
    trace = recorded("\n".join(lines))  # each line of its own
    told = marks(board_of(trace))
    assert told["u"] == ["save 0", "write 1"]
    text = str(trace.show("versions"))
    assert len(told) < 12 and all(marks for marks in told.values())
    assert f"… and {41 - text.count(': (2,) float64')} more storages, none of which was written" in text


def trained(optimizer, steps):
    net, x, y = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), torch.randn(5, 3), torch.randn(5, 1)
    optimizer = optimizer(net.parameters(), lr=0.1)
    with record() as trace:
        for _ in range(steps):
            loss = ((net(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return trace


def eight_rounds():
    Wx, Wh = leaf([[0.5, 0.1], [0.2, 0.3]]), leaf([[0.4, 0.2], [0.1, 0.6]])
    x, h = torch.ones(8, 1, 2, dtype=torch.float64), torch.zeros(1, 2, dtype=torch.float64)
    with record() as trace:
        for t in range(8):
            h = torch.tanh(x[t] @ Wx + h @ Wh)
        h.sum().backward()
    return trace


def many_writes():
    buffer = torch.ones(2, dtype=torch.float64)
    with record() as trace:
        leaf(1.0, 2.0) * buffer
        for _ in range(1500):
            buffer.add_(1)
    return trace


@pytest.mark.parametrize(
    "program",
    [lambda: trained(torch.optim.SGD, 3), lambda: trained(torch.optim.Adam, 100), eight_rounds, many_writes, spoiled],
    ids=["three steps", "a hundred steps", "rounds", "many writes", "spoiled"],
)
def test_a_chart_fits_into_a_window_and_no_mark_lies_over_a_name_or_another_mark(program):
    board = board_of(program())
    layout, boxes = board.layout, board.scene.boxes
    assert layout.width <= 1310 and layout.height <= 494  # a notebook of 1440 × 900, with text of 11 px
    kinds = {
        kind: [layout.boxes[id] for id, box in boxes.items() if box.kind == kind] for kind in ("name", "event", "tick")
    }
    left = max(name.x + name.w for name in kinds["name"])
    assert kinds["event"] and all(mark.x >= left for mark in kinds["event"])
    for one, other in [*combinations(kinds["event"], 2), *combinations(kinds["tick"], 2)]:
        apart = one.x + one.w <= other.x or other.x + other.w <= one.x
        assert apart or one.y + one.h <= other.y or other.y + other.h <= one.y
    assert all(box_fields(box)["title"] == box.title for box in boxes.values() if box.kind in ("event", "tick"))
