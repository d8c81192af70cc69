"""A stepped backward that records what it computes: what joins the graph joins the picture, until it is taken back."""

from __future__ import annotations

import pytest
from boxes import name_of
from stepped import Browser

import workbench as torch
from workbench.pictures.scene.model import Box
from workbench.pictures.views.stepper_picture import Stage

SECOND = "second order: recorded while backward ran"


def program() -> tuple[torch.Tensor, torch.Tensor]:
    a = torch.tensor(2.0, requires_grad=True)
    return a, (a**3).sin()


def level(boxes: dict[str, Box]) -> list[str]:
    """The nodes in the frame of the second order."""
    regions = [box.id for box in boxes.values() if box.kind == "region" and box.title == SECOND]
    return [name_of(box) for box in boxes.values() if box.region in regions]


@pytest.mark.filterwarnings("ignore:Using backward")
def test_nodes_that_the_backward_records_appear_as_in_a_trace() -> None:
    a, y = program()
    s = torch.step(y, create_graph=True)
    stage = Stage(s)
    assert level(stage.scene.boxes) == []
    s.step()
    stage.follow(s)
    assert level(stage.scene.boxes) == ["CosBackward0", "MulBackward0"]
    assert stage.sentence == (
        "`y = sin(a ** …)` (SinBackward0) receives the gradient 1.0; it sends -0.1455 to `a ** …`; its operations join "
        "the graph as `cos` and `mul`."
    )
    s.run()
    stage.follow(s)
    with torch.record() as trace:
        a, y = program()
        y.backward(create_graph=True)
    board = trace.show().storyboard
    assert level(stage.scene.boxes) == level(board.at(len(board.steps) - 1).boxes)
    assert stage.layout.boxes.keys() <= stage.scene.boxes.keys()
    hidden = [stage.scene.boxes[id] for id in stage.board().drawn_scene.boxes.keys() - stage.layout.boxes.keys()]
    homes = [stage.scene.boxes[box.holder] if box.holder else box for box in hidden]
    assert all(box.region in stage.scene.boxes for box in homes), "what has no place lies in a closed group"
    titles = {box.title: box for box in stage.scene.boxes.values()}
    assert titles["a"].lines[-1] == "grad -1.746" and titles["cos"].lines == ("CosBackward0  -0.1455",)


def test_the_gradient_of_the_gradient_is_still_right() -> None:
    a, y = program()
    s = torch.step(y, inputs=[a], create_graph=True)
    Stage(s).follow(s.step().back().run())
    (second,) = torch.autograd.grad(s.grads[a], a)
    b, z = program()
    (first,) = torch.autograd.grad(z, b, create_graph=True)
    assert second.item() == torch.autograd.grad(first, b)[0].item()


@pytest.mark.parametrize("recorded", [True, False])
def test_a_browser_is_sent_another_graph_whole_and_else_what_is_new(recorded: bool) -> None:
    _, y = program()
    s = torch.step(y, create_graph=recorded)
    browser = Browser(s)
    browser.ask("step")
    browser.ask("back")
    browser.heard.clear()  # what the texts of a step need was made room for when they came first
    browser.ask("step")
    (news,) = browser.heard
    assert isinstance(news["picture"]["boxes"], list) == recorded
    shown = {box["title"]: box for box in browser.boxes.values()}
    assert ("cos" in shown) == recorded
    assert all("x" in box for box in shown.values())
    browser.ask("back")
    assert "cos" not in {box["title"] for box in browser.boxes.values()}
