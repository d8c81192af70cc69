"""The stepper's picture of a graph with parts: closed ones are one box, which tells what runs inside."""

from __future__ import annotations

import re

import workbench as torch
from workbench.pictures.stepper import Stepper
from workbench.pictures.views.stepper_picture import Stage


def network() -> Stepper:
    """A backward through two layers in their scopes."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    return torch.step(((net(torch.ones(5, 4)) - 1) ** 2).mean())


def loop(rounds: int) -> Stepper:
    h, w = torch.ones(3), torch.ones(3, requires_grad=True)
    for _ in range(rounds):
        with torch.scope("cell"):
            h = (h * w).tanh() + 1
    return torch.step(h.sum())


def test_parts_are_boxes_that_open_and_the_backward_is_told_on_those_that_are_closed():
    s = network()
    stage = Stage(s)
    part = next(id for id, box in stage.scene.boxes.items() if box.title == "Sequential")

    def told() -> tuple[str, tuple[str, ...]]:
        box = stage.board().with_open(()).at().boxes[part]
        return box.state, box.lines

    def gradient() -> str:
        box = stage.board().with_open(()).at().boxes[part]
        return "".join([detail.body for detail in box.details if detail.heading == "Gradient"])

    groups = {box.title for box in stage.scene.boxes.values() if box.kind == "group"}
    assert {"Sequential", "0 › Linear", "2 › Linear"} <= groups
    assert told() == ("idle", ("5 operations, 49 parameters, saved 272 bytes",))
    stage.follow(s.run("addmm"))
    assert told()[0] == "ready" and gradient() == "in norm 1.41"
    stage.follow(s.step())
    assert told()[0] == "running"
    stage.follow(s.run())
    assert told() == ("done", ("5 operations, 49 parameters, saved 272 bytes: freed",)) and "out norm" not in gradient()
    layer = next(box for box in stage.board().at().boxes.values() if box.title == "0 › Linear")
    assert [float(norm) for norm in re.findall(r"grad norm ([\d.]+)", "\n".join(layer.lines))] == [
        2.01,
        1.01,
    ]  # weight and bias
    stage.follow(s.back(len(s.steps)))
    assert told() == ("idle", ("5 operations, 49 parameters, saved 272 bytes",))


def test_a_long_loop_opens_on_one_screen_and_what_is_open_stays_open():
    s = loop(60)
    stage = Stage(s)
    board = stage.board()
    assert board.layout.width <= 1200 and board.layout.height <= 1200 and len(board.at().boxes) <= 40
    stage.follow(s.run())
    assert stage.board().to_dict()["opened"] == board.to_dict()["opened"]
