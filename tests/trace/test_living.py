"""A recording that is drawn as it grows: what the browser is sent, and what is left where there is none."""

from __future__ import annotations

from typing import Any

import pytest
from boxes import name_of

import workbench as torch
from workbench import live_recording
from workbench.events import listeners
from workbench.pictures.scene.model import Scene
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.trace.timeline import Ending
from workbench.pictures.views import storyboard
from workbench.pictures.widgets.live import Growing


def end_of(trace: torch.Trace) -> Storyboard:
    board = storyboard(Ending(trace.events))
    return Storyboard(board.at(0), title=board.title)


def test_a_growing_graph_sends_what_is_new() -> None:
    growing, sent = Growing(Storyboard(Scene())), []
    growing.send = sent.append
    w = torch.tensor(1.0, requires_grad=True)
    with torch.record() as trace:
        y = w * 2
        growing.follow(end_of(trace))
        z = y.sin()
        growing.follow(end_of(trace))
        z.backward()
        growing.follow(end_of(trace))
    assert [len(news["picture"]["boxes"]) >= 1 for news in sent] == [True] * 3
    assert any("title" in fields for fields in sent[1]["picture"]["boxes"].values())
    whole = growing.get_state()["shown"]["picture"]
    titles = {box["title"]: box["state"] for box in whole["boxes"] if box["kind"] == "op"}
    assert titles == {"y = w * 2": "done", "z = y.sin()": "done"}


class Display:
    """A notebook's display, and the pictures that a painter puts there: each is drawn, however soon it comes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pictures: list[Storyboard] = []
        self.final: Any = None
        monkeypatch.setattr(live_recording, "PAUSE", 0)
        monkeypatch.setattr(live_recording, "SHARE", 0)
        monkeypatch.setattr(
            live_recording, "_painter_for", lambda recorder: live_recording._Painter(recorder, self, self)
        )

    def __call__(self, growing: Any, display_id: bool) -> Display:
        return self

    def follow(self, board: Storyboard) -> None:
        self.pictures.append(board)

    def update(self, picture: Any) -> None:
        self.final = picture

    def close(self) -> None:
        pass

    def titles(self, nth: int) -> list[str]:
        """What is seen in one of the pictures, without what is saved."""
        boxes = self.pictures[nth].scene.boxes.values()
        return [name_of(box) for box in boxes if box.state != "future" and box.kind != "saved"]


def test_each_round_of_a_training_loop_stands_where_the_last_one_did(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Display(monkeypatch)
    x, w = torch.tensor([1.0, 2.0]), torch.tensor(0.5, requires_grad=True)
    ends = []
    with torch.live() as trace:
        for _ in range(4):
            loss = ((w * x - 1.0) ** 2).sum()
            w.grad = None
            loss.backward()
            ends.append(len(shown.pictures) - 1)
            with torch.no_grad():
                w -= 0.1 * w.grad
    nodes = ["MulBackward0", "SubBackward0", "PowBackward0", "SumBackward0"]
    for end in ends:
        assert [title for title in shown.titles(end) if title.endswith("0")] == nodes
    first = shown.pictures[ends[0]]
    for later in shown.pictures[ends[0] + 1 :]:
        assert later.layout is first.layout and later.scene.boxes.keys() == first.scene.boxes.keys()
    begins = shown.titles(ends[1] + 2)  # after the update, which is a line of the round before
    assert "MulBackward0" in begins and "SumBackward0" not in begins
    assert len(trace.events) > 60 and shown.final.storyboard.title == trace.show().storyboard.title


@pytest.mark.slow
def test_a_network_is_laid_out_in_the_first_round_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Display(monkeypatch)
    torch.manual_seed(0)
    x, y = torch.randn(20, 3), torch.randn(20, 1)
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    ends = []
    with torch.live():
        for _ in range(3):
            loss = ((net(x) - y) ** 2).mean()
            net.zero_grad()
            loss.backward()
            ends.append(len(shown.pictures) - 1)
            with torch.no_grad():
                for parameter in net.parameters():
                    parameter -= 0.1 * parameter.grad
    assert len({id(picture.layout) for picture in shown.pictures[ends[0] :]}) == 1
    assert len({id(picture.layout) for picture in shown.pictures[: ends[0]]}) <= 9  # one for each node that joined


def test_a_graph_that_is_kept_stays_in_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Display(monkeypatch)
    w = torch.tensor(0.5, requires_grad=True)
    with torch.live():
        (slope,) = torch.autograd.grad(w.sin(), w, create_graph=True)
        (slope * 3).backward()
    assert "SinBackward0" in shown.titles(-1) and "CosBackward0" in shown.titles(-1)


def test_a_carried_state_grows_in_one_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Display(monkeypatch)
    h = w = torch.tensor(0.5, requires_grad=True)
    with torch.live():
        for _ in range(5):
            h = h * w
    assert shown.titles(-1).count("MulBackward0") == 5


def test_outside_a_notebook_live_only_records() -> None:
    w = torch.tensor(1.0, requires_grad=True)
    with torch.live() as trace:
        (w * 2).backward()
    with torch.record() as other:
        (w * 2).backward()
    assert repr(trace.show()).splitlines()[1:3] == repr(other.show()).splitlines()[1:3]
    assert listeners == []
