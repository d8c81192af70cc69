"""The graph view on programs of every kind, and that its deltas add up."""

from __future__ import annotations

from dataclasses import asdict

import pytest
import trace_samples as samples
from boxes import box_named as box
from boxes import details, last, name_of
from trace_samples import Square, graph_of, leaf

import workbench as torch
from workbench.pictures.recording import record, show
from workbench.pictures.scene.text import to_text
from workbench.pictures.trace.frame import Frame, Key
from workbench.pictures.views import storyboard
from workbench.pictures.views.graph import Graph


@pytest.fixture(scope="module")
def line():
    return storyboard(samples.square_line())


# Other programs.


def test_an_error_is_an_error_in_the_picture():
    board = storyboard(samples.written())
    end = last(board)
    write = [step.caption for step in board.steps if step.caption.startswith("add_")]
    saved = "`z = y * y` saved it before that."
    assert write == [f"add_ writes into `y`: now [3. 5.], version 1; but {saved}"]
    assert [name_of(each) for each in end.boxes.values() if each.state == "error"] == [
        "MulBackward0",
        "saved other (y)",
        "saved self (y)",
    ]
    assert end.boxes["n2.saved0"].lines[-1] == "modified since it was saved"
    # A picture opens at the error: what it saved is out of date, and the node alone fails.
    text = to_text(board)
    assert text.count("saved other (y) (out of date): ") == 1 == text.count("(failed here)")
    assert board.steps[-1].caption.startswith(
        "`z = y * y` (MulBackward0) fails with RuntimeError: one of the variables needed for gradient computation has "
    )
    assert board.steps[-1].focus == "n2"
    assert details(end.boxes["n2"], "Error")[0].startswith("RuntimeError: one of the variables")


def test_an_arrow_has_no_hook_at_its_end():
    with record() as trace:
        x = leaf(2.0)
        z = x * x * x
        w = torch.cat([x.reshape(1), x.reshape(1), x.reshape(1)])
        end = z + w.sum()
        end.backward()
    board = storyboard(trace)
    (into,) = [each.id for each in board.scene.boxes.values() if each.title == "z = x * x * x"]
    (end,) = [each.id for each in board.scene.boxes.values() if each.title == "end = z + w.sum()"]
    ways = [each for each in board.scene.arrows.values() if (each.source, each.target) == (into, end)]
    ways += [each for each in board.scene.arrows.values() if each.target == into and each.source == "t1"]
    assert len(ways) == 2
    for way in ways:
        levels = [y for _, y in board.layout.arrows[way.id].points]
        assert levels == sorted(levels)


# The graph of one tensor.


def test_a_tensors_graph_is_a_still_picture():
    x = leaf(1.0, 2.0)
    h = Square.apply(x)
    loss = (h * 3).sum()
    board = storyboard(graph_of(loss))
    scene = board.at()
    assert len(board.steps) == 1 and board.title == "Graph of loss"
    assert board.steps[0].caption == "The graph of `loss` = 15.0, from the leaves down."
    titles = [name_of(each) for each in scene.boxes.values()]
    assert titles[:3] == ["x", "SquareBackward", "saved x"] and titles[-1] == "loss"
    assert [each.title for each in scene.boxes.values() if each.kind in ("op", "function")] == [
        "h = Square.apply(x)",
        "h * 3",
        "loss = (h * 3).sum()",
    ]
    assert box(scene, "SquareBackward").lines == ("SquareBackward (2,) float64  [1. 4.]",)
    assert {each.state for each in [*scene.boxes.values(), *scene.arrows.values()]} == {"idle"}


def test_a_freed_graph_is_shown_without_what_it_had_saved():
    x = leaf(1.0, 2.0)
    loss = Square.apply(x).sum()
    loss.backward()
    scene = storyboard(graph_of(loss)).at()
    assert [name_of(each) for each in scene.boxes.values()] == ["x", "SquareBackward", "SumBackward0", "loss"]
    assert box(scene, "x").lines[-1] == "grad [2. 4.]"


def test_only_tensors_can_be_shown():
    with pytest.raises(TypeError, match=r"show\(\) draws the graph of a Tensor, but got int\."):
        show(3)


# Every step, of every program.


def written_when_it_is_over():
    """Inputs, saved tensors and views of what is written when the backward has run."""
    w, c = samples.leaf(1.0, 2.0), torch.tensor([1.0, 3.0], dtype=torch.float64)

    def step():
        loss = ((w + 1).exp() * w.view(2, 1).t() * c).sum()
        loss.backward()
        with torch.no_grad():
            w.sub_(0.1)
            c.add_(1)

    with record() as trace:
        step()
        step()
    return trace


@pytest.mark.parametrize("program", (*samples.PROGRAMS, written_when_it_is_over), ids=lambda program: program.__name__)
def test_the_deltas_add_up_to_the_whole_frame(program):
    trace = program()
    board = storyboard(trace, depth=9)
    view, groups = Graph(trace.events), board.opened
    for k, stop in enumerate(trace.steps):
        frame = Frame(view.program.told_as)
        for event in trace.events[:stop]:
            event.apply(frame)
        known = {"tensor": frame.tensors, "node": frame.nodes, "edge": frame.edges}
        boxes, arrows = view.draw(frame, [Key(kind, id) for kind, ids in known.items() for id in ids])
        scene = board.at(k)
        for drawn, shown in ((boxes, scene.boxes), (arrows, scene.arrows)):
            expected = {
                each.id: asdict(each) | {"kind": shown[each.id].kind} for each in drawn if each.state != "future"
            }
            there = {id: asdict(each) for id, each in shown.items() if each.state != "future" and id not in groups}
            for each in (*there.values(), *expected.values()):
                each.pop("region", None)  # groups are around them
            assert there == expected


def test_a_step_holds_only_what_changed(line):
    step = line.steps[6]
    assert step.boxes.keys() == {"n2", "n3", "n4"}
    assert step.boxes["n2"].keys() == {"state", "details"} and step.boxes["n2"]["state"] == "ready"
    waiting = step.boxes["n2"]["details"][-1]
    assert (waiting.heading, waiting.body["text"]) == ("Gradient waiting", "[1. 1. 1.]")
    assert step.arrows == {  # how a gradient came about is said while its node runs
        "n4.0": {"state": "done", "label": "[1. 1. 1.]  norm 1.73", "brief": None},
        "n3.0": {
            "state": "flowing",
            "label": "[1. 1. 1.]  norm 1.73\ngrad, unchanged",
            "norm": 1.73205,
            "brief": "[1. 1. 1.]  norm 1.73",
            "short": ("norm 1.73", None),
        },
    }
