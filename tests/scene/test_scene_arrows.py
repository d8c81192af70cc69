"""Arrows as a reader follows them: smooth, down, apart from each other, and through no box, label or heading."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterator

import pytest
from arrows import measured
from hypothesis import given, settings
from lab import CHECKOUT
from test_scene_folding import openings, scenes

import workbench
import workbench as torch
from workbench.pictures.scene.model import Scene
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.views import storyboard

GALLERY = runpy.run_path(str(CHECKOUT / "assets" / "gallery" / "draw.py"))


def rnn_by_hand() -> None:
    wx, wh, b = (torch.ones(*shape, requires_grad=True) for shape in ((3, 4), (4, 4), (4,)))
    x, h = torch.ones(3, 1, 3), torch.zeros(1, 4)
    for t in range(3):
        h = torch.tanh(x[t] @ wx + h @ wh + b)
    (h**2).sum().backward()


def lstm_by_hand() -> None:
    wi, wf, wg, wo = (torch.ones(7, 4, requires_grad=True) for _ in range(4))
    x, h, c = torch.ones(3, 1, 3), torch.zeros(1, 4), torch.zeros(1, 4)
    for t in range(3):
        z = torch.cat([x[t], h], 1)
        c = torch.sigmoid(z @ wf) * c + torch.sigmoid(z @ wi) * torch.tanh(z @ wg)
        h = torch.sigmoid(z @ wo) * torch.tanh(c)
    h.sum().backward()


def explored() -> None:
    x, w = torch.tensor(2.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    (((x * w - 7.0) ** 2 + x.sin() * w) * x).backward()


def sums_of_one() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x**2 + 3 * x).sum().backward()


PROGRAMS: dict[str, Callable[[], None]] = {
    **{name: GALLERY[name] for name in ("mlp", "residual", "attention", "training", "double", "function", "error")},
    **{each.__name__: each for each in (rnn_by_hand, lstm_by_hand, explored, sums_of_one)},
}
# What is not zero in a program's pictures, of the graph and its flow, as it opens and with all open: at most so much.
# A loop by hand opens with its rounds, each of which takes every weight; with all open, each line is a frame. Siblings
# in program order, and boxes and labels close together, cost some of it.
MOST: dict[str, dict[str, int]] = {
    "mlp": {"corners": 3, "level": 210, "beside": 16, "struck": 30},
    "residual": {"corners": 4, "level": 190, "beside": 110, "sways": 1},
    "attention": {"corners": 16, "level": 260, "beside": 30, "sways": 2},
    "double": {"corners": 4, "level": 70, "sways": 2},
    "rnn_by_hand": {"corners": 26, "level": 210, "beside": 1600, "struck": 170, "sways": 15},
    "lstm_by_hand": {"corners": 62, "beside": 4200, "struck": 290, "sways": 28},
    "explored": {"corners": 3, "beside": 40, "struck": 64, "sways": 2},
}
NEVER = ("climbs", "boxes", "headings")


def pictures(program: Callable[[], None]) -> Iterator[Storyboard]:
    torch.manual_seed(0)
    with workbench.record() as trace:
        program()
    for view in ("graph", "flow"):
        for depth in (None, 9):
            yield storyboard(trace, view, depth=depth)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_arrows_are_smooth_and_apart(name: str) -> None:
    found = [measured(board.at(len(board.steps) - 1), board.layout) for board in pictures(PROGRAMS[name])]
    most = {kind: max(each[kind] for each in found) for kind in found[0]}
    assert {kind: amount for kind, amount in most.items() if amount > MOST.get(name, {}).get(kind, 0)} == {}


@pytest.mark.slow
@settings(max_examples=40)
@given(scenes())
def test_arrows_lead_through_no_box_and_no_heading(scene: Scene) -> None:
    for opened in openings(scene):
        board = Storyboard(scene, opened=opened)
        found = measured(board.at(-1), board.layout)
        assert {kind: found[kind] for kind in NEVER if found[kind]} == {}
