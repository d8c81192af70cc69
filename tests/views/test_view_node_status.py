"""How nodes stand in a graph: gone, beside the way from the loss, or inside a write through a view."""

from __future__ import annotations

import re
from contextlib import nullcontext

import pytest
from boxes import name_of
from trace_samples import leaf, of_kind

import workbench as torch
from workbench.recording import load, record
from workbench.views import storyboard


def last(trace, view="graph", **options):
    """The picture at the last step."""
    board = storyboard(trace, view, **options)
    return board.at(len(board.steps) - 1).boxes


def of(boxes, name):
    """The boxes of the nodes of this name, by state and the line that says why."""
    return [(box.state, box.lines[-1]) for box in boxes.values() if name_of(box) == name]


GONE, BESIDE = "gone: nothing holds it any more", "no backward comes here"


def test_a_graph_that_died_is_drawn_as_gone_and_its_saved_tensors_with_it(tmp_path):
    x = leaf(1.0, 2.0)
    with record() as trace:
        for _ in range(3):
            y = (x * x).exp()
        y.sum()
    trace.save(tmp_path / "trace.json")
    for each in (trace, load(tmp_path / "trace.json")):
        boxes = last(each, depth=2)
        assert of(boxes, "ExpBackward0") == [("over", GONE)] * 2 + [("idle", "[2.718 54.6]")]
        chips = [box.state for box in boxes.values() if box.kind == "saved"]
        assert chips == ["freed"] * 6 + ["idle"] * 3
        frame = each.frame(len(each.events))
        assert [node.gone for node in frame.nodes.values()] == [True] * 4 + [False] * 2 + [True]


def twice(scopes):
    x = leaf(1.0, 2.0)
    with record() as trace:
        for _ in range(2):
            with torch.scope("part") if scopes else nullcontext():
                y = (x * x).sum()
        del y
    return trace


@pytest.mark.parametrize("view", ["graph", "flow"])
def test_what_dies_after_the_last_drawn_event_is_one_more_step(view, tmp_path):
    trace = twice(scopes=False)
    trace.save(tmp_path / "trace.json")
    for each in (trace, load(tmp_path / "trace.json")):
        board = storyboard(each, view)
        assert board.steps[-1].caption == "4 nodes are gone, as nothing holds them any more."
        assert (board.steps[-1].phase, len(board.steps), board.start, board.still) == ("forward", 5, 3, 3)
        boxes = last(each, view, depth=2)
        assert of(boxes, "MulBackward0") + of(boxes, "SumBackward0") == [("over", GONE)] * 4
        assert each.phases == ["forward"] * len(each.steps) and each.steps[-1] == len(each.events)
        assert "4 nodes are gone" in str(each.show(view))


def test_what_dies_in_the_end_is_told_of_closed_groups_and_of_what_they_hold():
    board = storyboard(twice(scopes=True), open=[])
    (box,) = [box for box in board.at(len(board.steps) - 1).boxes.values() if box.kind == "group"]
    assert (box.state, box.lines[-1]) == ("over", "gone: nothing holds them")
    assert board.start == len(board.steps) - 2
    boxes = last(twice(scopes=True), depth=2)  # where it is open
    assert of(boxes, "MulBackward0") + of(boxes, "SumBackward0") == [("over", GONE)] * 4


def test_a_retained_graph_that_dies_in_the_end_has_one_more_step_of_the_backward():
    x = leaf(1.0, 2.0)
    with record() as trace:
        y = (x * x).sum()
        y.backward(retain_graph=True)
        del y
    board = storyboard(trace)
    assert board.steps[-1].phase == "backward" and board.start == board.still == len(board.steps) - 2
    assert board.steps[board.start].caption == "The backward pass is over."
    assert [box.state for box in last(trace).values() if box.kind == "saved"] == ["freed"] * 2
    board = storyboard(trace, "saved")
    assert (board.steps[-1].caption, board.start) == ("MulBackward0 is gone, as nothing holds it any more.", 2)


def test_the_list_of_saved_tensors_and_a_comparison_end_with_what_is_gone():
    x = leaf(1.0, 2.0)
    x.grad = torch.ones(2, dtype=torch.float64)
    with record() as trace:
        y = (x * x).sum()
        del y
        x.grad = None  # one more step, of which the list of what is saved says nothing
    with record() as other:
        y = (x * x).sum()
        del y
    for each in (trace, other):
        board = storyboard(each, "saved")
        assert board.steps[-1].caption == "MulBackward0 is gone, as nothing holds it any more."
        assert board.start == len(board.steps) - 2
        boxes = last(each, "saved").values()
        assert [box.title for box in boxes if box.kind == "line" and "Mul" in box.title] == ["→ MulBackward0 · 2 gone"]
        assert {box.title for box in boxes if box.kind == "frame"} == {"self (x) (gone)", "other (x) (gone)"}
    boxes = storyboard(trace, "compare", against=other).at().boxes
    assert [(box.state, box.lines[-1]) for box in boxes.values() if box.title == "x * x"] == [("over", GONE)] * 2
    assert "saved" not in {box.kind for box in boxes.values()}


def test_what_dies_after_it_ran_and_was_freed_is_no_step():
    x = leaf(1.0, 2.0)
    with record() as trace:
        y = x * 2
        y[:1].mul_(x[:1])
        loss = y.sum()
        loss.backward()
        del y, loss
    assert of_kind(trace, "NodesGone")
    assert storyboard(trace).steps[-1].caption == "The backward pass is over."
    assert "gone" not in storyboard(trace, "saved").steps[-1].caption


def test_nodes_that_no_backward_reaches_are_told_apart():
    with record() as trace:
        x = leaf(1.0, 2.0)
        aside = (x * 3.0).sin()
        loss = (x * x).sum()
        loss.backward()
        later = x.cos()  # its backward may still come
    boxes, before = last(trace), str(trace.show())
    assert aside.requires_grad and later.requires_grad
    assert of(boxes, "SinBackward0") == [("over", BESIDE)]
    assert [state for state, _ in of(boxes, "MulBackward0")] == ["over", "done"]
    assert of(boxes, "CosBackward0")[0][0] == "idle"
    assert BESIDE in before and BESIDE in str(trace.show("flow"))
    del aside, later
    x * x
    assert str(trace.show()) == before and not of_kind(trace, "NodesGone")  # what comes later is not in it


def test_what_a_second_backward_reaches_and_what_a_backward_computes_is_not_beside():
    with record() as trace:
        x = leaf(1.0, 2.0)
        one, two = (x * x).sum(), x.exp().sum()
        one.backward()
        two.backward()
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        assert g.requires_grad
    assert BESIDE not in str(trace.show())


def test_what_lies_inside_copyslices_lies_inside_its_box():
    with record() as trace:
        x = leaf(1.0, 2.0, 3.0)
        y = x * 2.0
        y[0].mul_(5.0)
        with torch.scope("late"):
            y[1:].mul_(x[1:])
        loss = y.sum()
        loss.backward()
    boxes = storyboard(trace, depth=1).at().boxes
    regions = {box.title: box.id for box in boxes.values() if box.kind == "region" and box.title != "late"}
    assert list(regions) == ["CopySlices", "late › CopySlices"]
    inside = {title: [name_of(box) for box in boxes.values() if box.region == id] for title, id in regions.items()}
    assert inside == {"CopySlices": ["MulBackward0", "CopySlices"], "late › CopySlices": ["MulBackward0", "CopySlices"]}
    layout = storyboard(trace, depth=1).layout
    for region in regions.values():
        frame = layout.boxes[region]
        for box in (layout.boxes[box.id] for box in boxes.values() if box.region == region):
            assert frame.x <= box.x and box.x + box.w <= frame.x + frame.w
            assert frame.y <= box.y and box.y + box.h <= frame.y + frame.h


@pytest.mark.parametrize("begin", ["torch.zeros(3)", "x.sum() * torch.zeros(3)"])
@pytest.mark.parametrize(
    ("write", "inner"),
    [
        ("z[:2].mul_(x)", "MulBackward0"),
        ("v = z[:2]; v.mul_(x)", "MulBackward0"),
        ("z[:2].add_(x)", "AddBackward0"),
        ("z[:2][:1].mul_(x[:1])", "MulBackward0"),
        ("z[0] = x.sum()", "CopyBackwards"),
        ("v = z[:2]; v.mul_(x); v.mul_(x)", "MulBackward0"),
    ],
)
def test_what_lies_inside_copyslices_does_so_whether_or_not_the_base_required_grad(begin, write, inner, tmp_path):
    names = {"torch": torch, "x": leaf(1.0, 2.0)}
    with record() as trace:
        exec(f"z = {begin}\n{write}\nl = z.sum()\nl.backward()", names)
    trace.save(tmp_path / "trace.json")
    for each in (trace, load(tmp_path / "trace.json")):
        boxes = last(each)
        regions = [box.id for box in boxes.values() if box.kind == "region"]
        assert len(regions) == write.count("_(") + write.count("= x.sum")
        for region in regions:
            assert [name_of(box) for box in boxes.values() if box.region == region] == [inner, "CopySlices"]
        assert not [box.title for box in boxes.values() if BESIDE in box.lines]
        written = [step.caption for step in storyboard(each).steps if " writes into " in step.caption]
        assert len(written) == len(regions) and all(
            re.search(r"; z now comes from CopySlices(, 2nd)?\.$", caption) for caption in written
        )


def test_a_closed_group_says_what_of_it_is_gone():
    with record() as trace:
        x = leaf(1.0, 2.0)
        for _ in range(2):
            with torch.scope("part"):
                y = (x * x).exp().sin()
        y.sum()
    boxes = last(trace, open=[])
    (box,) = [box for box in boxes.values() if box.kind == "group"]
    assert box.lines[1:] == ("6 operations, 3 gone, saved 32 bytes",)  # x, and the last exponential
    assert box.state == "idle" and y.requires_grad
