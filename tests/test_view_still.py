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
    for name, title in (("graph", "Graph of y and p"), ("flow", "Gradient flow of y and p")):
        board = trace.show(name).storyboard
        assert board.title == title and board.steps[board.still].caption.startswith("sum(the result of pow) gives p = ")
        assert {box.title for box in board.at().boxes.values() if box.kind == "output"} == {"y", "p"}
        assert all(box.state != "future" for box in board.at().boxes.values())
        assert (board.still, board.start) == (8, 1)  # a player shows how it came to be
        assert "the graph is shown after step 9:" in repr(trace.show(name))
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
