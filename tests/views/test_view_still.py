"""A picture that cannot play shows a moment that has all that its title names."""

from __future__ import annotations

import numpy as np
import pytest
import trace_samples as samples
import transform_samples as transformed
from trace_samples import leaf

import workbench as torch
from workbench.pictures.recording import record


def test_a_graph_that_a_backward_adds_to_is_shown_where_all_of_it_is_there():
    with record() as trace:
        x = leaf(1.0, 2.0)
        y = (x**3).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        p = (g**2).sum()
        p.backward()
    for name, title in (("graph", "Graph of y and p"), ("flow", "Gradient flow of y and p")):
        board = trace.show(name).storyboard
        end = len(board.steps) - 1
        assert board.title == title and board.steps[end].caption == "Backward pass finished."
        assert {box.title for box in board.at().boxes.values() if box.kind == "output"} == {"y", "p"}
        assert all(box.state != "future" for box in board.at().boxes.values())
        assert board.still == board.start == end
        assert f"the graph is shown after step {end + 1}:" in repr(trace.show(name))
        assert ">p</text>" in trace.show(name).to_svg()


def test_it_is_the_end_of_the_last_backward_whatever_comes_after_it():
    for trace in (samples.double_backward(), samples.twice(), samples.descent(), transformed.per_sample()):
        board = trace.show().storyboard
        ends = [k for k, step in enumerate(board.steps) if step.caption.endswith("Backward pass finished.")]
        assert board.still == board.start == ends[-1]
        assert all(step.phase != "backward" for step in board.steps[ends[-1] + 1 :])
    assert ends[-1] < len(board.steps) - 1  # levels of transforms end after it


def test_a_closed_group_has_the_moment_in_one_of_its_steps():
    with record() as trace:
        x = leaf(1.0, 2.0)
        with torch.scope("inner"):
            y = (x**3).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        with torch.scope("outer"):
            p = (g**2).sum()
        p.backward()
    board = trace.show(open=[]).storyboard
    (moment,) = [n for n, (first, last, _) in enumerate(board.stops) if first <= board.still <= last]
    assert moment == len(board.stops) - 1 and board.stops[moment][2] == "Backward pass finished."
    assert [box.state for box in board.at().boxes.values() if box.kind == "group"] == ["done"] * 2


def test_the_flow_is_shown_where_the_last_backward_has_brought_its_gradients():
    for trace in (samples.twice(), samples.descent()):
        board = trace.show("flow").storyboard
        ends = [k for k, step in enumerate(board.steps) if step.caption == "Backward pass finished."]
        assert board.still == ends[-1] == board.start
        scene = board.at()
        climbed = [arrow for arrow in scene.arrows.values() if arrow.kind == "edge" and arrow.label]
        assert climbed and all(arrow.weight for arrow in climbed)
    with record() as trace:
        leaf(1.0).exp()
    assert trace.show("flow").storyboard.still == 0  # there is no backward


def test_memory_shows_what_is_still_to_come_and_what_has_been():
    with record() as trace:
        x = leaf(1.0, 2.0, 3.0)
        y = (x.exp() * x).sum()
        y.backward()
    board = trace.show("memory").storyboard
    curve = [id for id, box in board.scene.boxes.items() if box.kind == "bar" and "." not in id]
    for k in range(len(board.steps)):
        states = [board.at(k).boxes[id].state for id in curve]
        assert states == ["idle"] * k + ["running"] + ["coming"] * (len(curve) - k - 1)
    begun = [sum(box.state != "coming" for id, box in board.at(k).boxes.items() if "." in id) for k in range(3)]
    assert begun == sorted(begun) and begun[0] < begun[-1]
    assert {box.state for box in board.at(board.still).boxes.values()} >= {"idle", "running", "coming"}


def test_versions_are_shown_as_a_whole_with_nothing_running():
    with record() as trace:
        x = leaf(1.0, 2.0)
        (x * x.exp()).sum().backward()
    board = trace.show("versions").storyboard
    assert {box.state for box in board.at().boxes.values()} == {"idle"}
    assert "running" in {box.state for box in board.at(len(board.steps) - 1).boxes.values()}


class Scaled(torch.Function):
    @staticmethod
    def forward(ctx, x, times):
        for _ in range(times):
            x = x * 2
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        wrong = grad * x
        return wrong, None


def test_a_function_is_shown_with_what_each_line_did_when_it_first_ran():
    with record(lines=True) as trace:
        x = leaf(1.0, 2.0)
        for k in range(2):
            (Scaled.apply(x, 2) * (k + 1)).sum().backward()
    board = trace.show("function").storyboard
    lines = board.at().boxes
    done = {
        lines[id.removesuffix(".done")].title.split("\u00a0\u00a0", 2)[-1].strip("\u00a0"): box.title
        for id, box in lines.items()
        if id.endswith(".done")
    }
    assert {code.replace("\u00a0", " "): text for code, text in done.items()} == {
        "def forward(ctx, x, times):": "x = [1. 2.], times = 2",
        "for _ in range(times):": "_ = 1",
        "x = x * 2": "x = [4. 8.]",
        "ctx.save_for_backward(x)": "ctx has saved x",
        "return x": "returns [4. 8.]",
        "def backward(ctx, grad):": "grad = [1. 1.]",
        "(x,) = ctx.saved_tensors": "x = [4. 8.]",
        "wrong = grad * x": "wrong = [4. 8.]",
        "return wrong, None": "returns [4. 8.] and None",
    }
    assert "steps, " in repr(trace.show("function")) and "shown after step" not in repr(trace.show("function"))
    assert board.at(0).boxes.keys() != lines.keys()


@pytest.mark.filterwarnings("ignore:Using backward")
def test_the_memory_that_a_gradient_is_copied_into_is_shown_as_zeros():
    x = leaf(2.0, 3.0)
    np.full(2, 7.0, x.detach().numpy().dtype)  # memory of this size is used anew
    with record() as trace:
        (x**3).sum().backward(create_graph=True)
        (x.grad * x).sum().backward()
    boxes = trace.show().storyboard.scene.boxes.values()
    assert any("[0. 0.]" in line for box in boxes if box.kind == "constant" for line in box.lines)
