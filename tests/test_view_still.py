"""A picture that cannot play shows a moment that has all that its title names."""

from __future__ import annotations

import trace_samples as samples
import transform_samples as transformed
from trace_samples import leaf

import workbench as torch
from workbench.recording import record


def test_a_graph_that_a_backward_adds_to_is_shown_where_all_of_it_is_there():
    with record() as trace:
        x = leaf(1.0, 2.0)
        y = (x**3).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        p = (g**2).sum()
        p.backward()
    said = {"graph": "sum(the result of pow) gives p = ", "flow": "The backward pass is over."}
    for name, title, still in (("graph", "Graph of y and p", 8), ("flow", "Gradient flow of y and p", -1)):
        board = trace.show(name).storyboard
        still %= len(board.steps)
        assert board.title == title and board.steps[board.still].caption.startswith(said[name])
        assert {box.title for box in board.at().boxes.values() if box.kind == "output"} == {"y", "p"}
        assert all(box.state != "future" for box in board.at().boxes.values())
        assert (board.still, board.start) == (still, 1)  # a player shows how it came to be
        assert f"the graph is shown after step {still + 1}:" in repr(trace.show(name))
        assert ">p</text>" in trace.show(name).to_svg()


def test_it_is_the_end_of_that_backward_if_nothing_is_computed_with_what_it_gave():
    board = samples.double_backward().show().storyboard
    assert board.steps[board.still].caption == "The backward pass is over."
    assert board.steps[board.still + 1].caption.startswith("Backward starts at g ")


def test_it_is_before_the_first_backward_if_no_backward_adds_to_the_graph():
    for trace in (samples.twice(), samples.descent(), transformed.per_sample()):
        board = trace.show().storyboard
        assert board.still == board.start == [step.phase for step in board.steps].index("backward") - 1


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
    assert board.steps[board.still].caption.startswith("outer: 2 operations join the graph")
    assert board.steps[board.still + 1].caption.startswith("Backward starts at p ")


def test_the_flow_is_shown_where_the_last_backward_has_brought_its_gradients():
    for trace in (samples.twice(), samples.descent()):
        board = trace.show("flow").storyboard
        ends = [k for k, step in enumerate(board.steps) if step.caption == "The backward pass is over."]
        assert board.still == ends[-1] > board.start
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
