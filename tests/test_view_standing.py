"""How nodes stand in a graph: gone, beside the way from the loss, or inside a write through a view."""

from __future__ import annotations

import pytest
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
    return [(box.state, box.lines[-1]) for box in boxes.values() if box.title == name]


GONE, BESIDE = "gone: nothing holds it any more", "no backward comes here"


def test_a_graph_that_died_is_drawn_as_gone_and_its_saved_tensors_with_it(tmp_path):
    x = leaf(1.0, 2.0)
    with record() as trace:
        for _ in range(3):
            y = (x * x).exp()
        y.sum()
    trace.save(tmp_path / "trace.json")
    for each in (trace, load(tmp_path / "trace.json")):
        boxes = last(each)
        assert of(boxes, "ExpBackward0") == [("over", GONE)] * 2 + [("idle", "[2.718 54.6]")]
        chips = [box.state for box in boxes.values() if box.kind == "saved"]
        assert chips == ["freed"] * 6 + ["idle"] * 3
        frame = each.frame(len(each.events))
        assert [node.gone for node in frame.nodes.values()] == [True] * 4 + [False] * 2 + [True]


def test_what_happens_after_the_recording_is_not_in_it():
    with record() as trace:
        x = leaf(1.0, 2.0)
        y = x * x
    before = str(trace.show())
    del y
    x * x
    assert str(trace.show()) == before and not of_kind(trace, "NodesGone")


def test_nodes_that_no_backward_reaches_are_told_apart():
    with record() as trace:
        x = leaf(1.0, 2.0)
        aside = (x * 3.0).sin()
        loss = (x * x).sum()
        loss.backward()
        later = x.cos()  # its backward may still come
    boxes = last(trace)
    assert aside.requires_grad and later.requires_grad
    assert of(boxes, "SinBackward0") == [("over", BESIDE)]
    assert [state for state, _ in of(boxes, "MulBackward0")] == ["over", "done"]
    assert of(boxes, "CosBackward0")[0][0] == "idle"
    assert BESIDE in str(trace.show()) and BESIDE in str(trace.show("flow"))


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
    boxes = storyboard(trace).at().boxes
    regions = {box.title: box.id for box in boxes.values() if box.kind == "region" and box.title != "late"}
    assert list(regions) == ["CopySlices", "late › CopySlices"]
    inside = {title: [box.title for box in boxes.values() if box.region == id] for title, id in regions.items()}
    assert inside == {"CopySlices": ["MulBackward0", "CopySlices"], "late › CopySlices": ["MulBackward0", "CopySlices"]}
    layout = storyboard(trace).layout
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
            assert [box.title for box in boxes.values() if box.region == region] == [inner, "CopySlices"]
        assert not [box.title for box in boxes.values() if BESIDE in box.lines]
        written = [step.caption for step in storyboard(each).steps if " writes into " in step.caption]
        assert len(written) == len(regions) and all(
            caption.endswith("; z now comes from CopySlices.") for caption in written
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
    assert (box.state, box.lines[-1]) == ("idle", "3 of them gone: nothing holds them") and y.requires_grad
    assert "saved 32 bytes" in box.lines  # x, and the last exponential
