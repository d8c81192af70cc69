"""How nodes stand in a graph: gone, beside the way from the loss, or inside a write through a view."""

from __future__ import annotations

import re

import pytest
from boxes import name_of
from trace_samples import leaf

import workbench as torch
from workbench.pictures.recording import load, record
from workbench.pictures.views import storyboard


def last(trace, view="graph", **options):
    """The picture at the last step."""
    board = storyboard(trace, view, **options)
    return board.at(len(board.steps) - 1).boxes


def of(boxes, name):
    """The boxes of the nodes of this name, by state and the line that says why."""
    return [(box.state, box.lines[-1]) for box in boxes.values() if name_of(box) == name]


GONE, BESIDE = "freed: no references left", "not reached by backward"


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
        assert board.steps[-1].caption == "MulBackward0 was freed: nothing references it."
        assert board.start == len(board.steps) - 2
        boxes = last(each, "saved").values()
        assert [box.title for box in boxes if box.kind == "line" and "Mul" in box.title] == ["→ MulBackward0 · 2 freed"]
        assert {box.title for box in boxes if box.kind == "frame"} == {"self (x) (freed)", "other (x) (freed)"}
    boxes = storyboard(trace, "compare", against=other).at().boxes
    assert [(box.state, box.lines[-1]) for box in boxes.values() if box.title == "x * x"] == [("over", GONE)] * 2
    assert "saved" not in {box.kind for box in boxes.values()}


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
            re.search(r"; `z` now comes from CopySlices(, 2nd)?\.$", caption) for caption in written
        )
