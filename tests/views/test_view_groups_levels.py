"""Groups where function transforms add levels, tangents and storeys: they close and open as those of any graph do."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import transform_samples as samples

import workbench as torch
from workbench.autograd import forward_ad
from workbench.func import grad, jacfwd, jacrev, jvp, vmap
from workbench.recording import Trace
from workbench.scene.text import graph_lines, to_text
from workbench.trace.call_records import LevelEntered, OperationRan, TangentPushed
from workbench.trace.records import NodeCreated
from workbench.views import VIEWS
from workbench.views.groups import grouped
from workbench.views.player_steps import tell


def values(*numbers: float):
    return torch.tensor(list(numbers), dtype=torch.float64)


def chain(times: int):
    """`mul, add, sin` so many times."""

    def f(x):
        for _ in range(times):
            x = (x * 1.01 + 0.1).sin()
        return x

    return f


def net(layers: int):
    def loss(w, x):
        for n in range(layers):
            with torch.scope(f"layer{n}"):
                x = (x * w).tanh() + x
        return x.sum()

    return loss


def pushed(times: int) -> Trace:
    with torch.record() as trace:
        jvp(chain(times), (values(0.1, 0.2),), (values(1.0, 2.0),))
    return trace


def pushed_through_a_gradient(times: int) -> Trace:
    with torch.record() as trace:
        jvp(grad(lambda x: chain(times)(x).sum()), (values(0.1, 0.2),), (values(1.0, 2.0),))
    return trace


def twice(times: int) -> Trace:
    with torch.record() as trace:
        grad(lambda x: grad(lambda y: chain(times)(y).sum())(x).sum())(values(0.1, 0.2))
    return trace


def per_sample(layers: int) -> Trace:
    with torch.record() as trace:
        vmap(grad(net(layers)), in_dims=(None, 0))(values(0.5, 0.6), values(1.0, 2.0, 3.0, 4.0).reshape(2, 2))
    return trace


def batch(times: int) -> Trace:
    with torch.record() as trace:
        vmap(chain(times))(values(1.0, 2.0))
    return trace


def forward_over_reverse(times: int) -> Trace:
    with torch.record() as trace:
        jacfwd(jacrev(chain(times)))(values(0.1, 0.2))
    return trace


def duals(times: int) -> Trace:
    x = values(1.0, 2.0).requires_grad_()
    with torch.record() as trace, forward_ad.dual_level():
        dual = chain(times)(forward_ad.make_dual(x, values(1.0, 1.0)))
        forward_ad.unpack_dual(dual).tangent.sum().backward()
    return trace


PROGRAMS = (pushed, pushed_through_a_gradient, twice, per_sample, batch, forward_over_reverse, duals)


def there(board, k=None):
    return {id: box for id, box in board.at(k).boxes.items() if box.state != "future"}


def groups(board, k=None):
    return {box.title: box for box in there(board, k).values() if box.kind == "group"}


def captions(board):
    """What is told of each step that is seen."""
    return [caption for _, _, caption in board.stops]


def names(trace, view="graph"):
    """The ids of all groups there are."""
    events = trace.events
    transformed = any(isinstance(event, LevelEntered | OperationRan | TangentPushed) for event in events)
    drawn = VIEWS[view](events)
    return [group.id for group in (grouped(events, drawn.lanes) if transformed else drawn.program).groups()]


def test_a_long_jvp_is_one_box_with_its_tangents():
    board = pushed(60).show().storyboard
    assert captions(board) == [
        "jvp (level 1) begins.",
        "Inside jvp (level 1): mul, add, sin × 60: 180 operations run, 180 tangents are pushed forward: "
        "mul 60, add 60, sin 60; it keeps nothing for backward.",
        "jvp (level 1) is over.",
    ]
    assert graph_lines(board.at()) == [
        "Levels: jvp (level 1), over",
        "mul, add, sin × 60 (group): 180 operations, 180 tangents",
        "└─ x (input): (2,) float64  [0.1 0.2]",
        "   └╌ tangent of x: (2,) float64  [1. 2.]  ‖2.24‖",
    ]
    arrows = [(arrow.kind, arrow.source, arrow.target) for arrow in board.at().arrows.values()]
    (group,) = [id for id, box in board.scene.boxes.items() if box.kind == "group"]
    (x,) = [id for id, box in board.scene.boxes.items() if box.kind == "input"]
    assert arrows == [("edge", x, group), ("tangent", f"{x}.tangent", group), ("beside", x, f"{x}.tangent")]


def test_a_batch_is_one_box_too():
    (group,) = groups(batch(60).show().storyboard).values()
    assert group.lines == ("180 operations",)
    assert [each.body for each in group.details if each.heading == "Operations"] == ["mul 60, add 60, sin 60"]


def test_each_level_and_each_storey_is_a_box():
    board = twice(60).show().storyboard
    last = len(board.steps) - 1
    gone = "gone: nothing holds them"
    assert {title: box.lines for title, box in groups(board, last).items()} == {
        "mul, add, sin × 60": ("(2,) → (2,)", "180 operations, saved 1.406 KiB: freed", gone),
        "the graph of grad (level 2)": ("→ 1.536", "181 operations, 1 leaf, saved 1.406 KiB: freed", gone),
        "second order: recorded at level 1": ("(2,) → (2,)", "3 operations × 60, saved 3.258 KiB: freed", gone),
    }
    assert len(there(board, last)) == 10  # and the levels, x, two sums, two outputs
    told = captions(board)
    # Both levels record the same function, by turns: one step.
    assert told[2].startswith(
        "Inside grad (level 1) › grad (level 2): mul, add, sin × 60: 180 operations join the graph"
    )
    assert "the graph of grad (level 2): 180 operations join the graph" in told[2]
    ran = "second order: recorded at level 1 while the backward of level 2 ran runs backward"
    assert any(ran in caption and "to mul, add, sin × 60" in caption for caption in told)


@pytest.mark.slow
def test_the_storey_of_create_graph_is_a_box():
    x = values(0.1, 0.2).requires_grad_()
    with torch.record() as trace:
        (first,) = torch.autograd.grad(chain(60)(x).sum(), x, create_graph=True)
        first.sum().backward()
    board = trace.show().storyboard
    boxes = board.at(len(board.steps) - 1).boxes.values()
    parts = [box.title for box in boxes if box.kind in ("group", "region") and box.region is None]
    assert parts == ["for _ in range(times) × 60", "grad(…, x, create_graph=True)"]


def test_a_tangent_that_was_recorded_is_in_the_box_of_the_tangents():
    board = duals(60).show().storyboard
    scene = board.at()
    title = {id: box.title for id, box in scene.boxes.items()}
    assert {"mul, add, sin × 60", "tangents of dual tensors"} <= groups(board).keys()
    beside = {(title[arrow.source], title[arrow.target]) for arrow in scene.arrows.values() if arrow.kind == "beside"}
    assert ("mul, add, sin × 60", "tangents of dual tensors") in beside


def test_scopes_are_boxes_inside_levels():
    trace = per_sample(60)
    board = trace.show().storyboard
    assert "layer0 to layer59 × 60" in groups(board)
    opened = trace.show("graph", open=["layer3"]).storyboard
    (frame,) = [id for id, box in opened.at().boxes.items() if box.kind == "region" and box.title == "layer3"]
    assert [box.title for box in opened.at().boxes.values() if box.region == frame and box.kind == "op"] == [
        "x * w",
        "(x * w).tanh()",
        "x = (x * w).tanh() + x",
    ]


@pytest.mark.parametrize("name", ["the graph of grad (level 2)", ["second order: recorded at level 1"]])
def test_an_open_part_stands_in_one_frame(name):
    trace = twice(20)
    board = trace.show("graph", open=name).storyboard
    scene = board.at(len(board.steps) - 1)
    regions = {box.id: box.title for box in scene.boxes.values() if box.kind == "region"}
    flat = tell(trace, VIEWS["graph"](trace.events))
    frames = [box.title for box in flat.scene.boxes.values() if box.kind == "region"]
    (title,) = regions.values()
    assert title in {frame.partition(" while ")[0] for frame in frames}
    inside = [box for box in scene.boxes.values() if box.region]
    assert len(inside) > 1 and {box.region for box in inside} == set(regions)


def test_open_says_which_groups_there_are_in_a_transform_too():
    with pytest.raises(ValueError, match="no group named 'layer9'; there are 'mul, add, sin', 'the graph of grad"):
        twice(20).show("graph", open=["layer9"])
    with pytest.raises(ValueError, match="no group named 'a'"):
        samples.batch().show("flow", open=["a"])


def test_a_small_transform_is_as_it_was_until_it_is_asked_to_close():
    trace = twice(5)
    assert trace.show().storyboard.to_dict() == tell(trace, VIEWS["graph"](trace.events)).to_dict()
    assert "the graph of grad (level 2)" in groups(trace.show("graph", open=[]).storyboard)


@pytest.mark.parametrize("view", ["graph", "flow"])
@pytest.mark.parametrize("program", [*PROGRAMS, *samples.PROGRAMS], ids=lambda program: program.__name__)
def test_with_every_group_open_nothing_is_lost(program, view):
    trace = program(4) if program in PROGRAMS else program()
    flat = tell(trace, VIEWS[view](trace.events))
    board = trace.show(view, open=names(trace, view)).storyboard
    assert len(board.steps) == len(flat.steps)
    one, other = (each.at(len(each.steps) - 1) for each in (flat, board))

    def drawn(scene):
        boxes = {
            id: (box.title, box.lines, box.state)
            for id, box in scene.boxes.items()
            if box.kind != "region" and box.refers is None
        }
        arrows = {id: arrow for id, arrow in scene.arrows.items() if arrow.kind != "same"}
        owner = {id: box.refers or id for id, box in scene.boxes.items()}
        return boxes, {id: replace(arrow, source=owner[arrow.source]) for id, arrow in arrows.items()}

    assert drawn(one) == drawn(other)


@pytest.mark.slow
@pytest.mark.parametrize("program", [*PROGRAMS, *samples.PROGRAMS], ids=lambda program: program.__name__)
def test_every_group_alone_has_all_faces(program):
    trace = program(4) if program in PROGRAMS else program()
    for opened in ([], *([name] for name in names(trace))):
        board = trace.show("graph", open=opened).storyboard
        assert to_text(board) and board.to_dict() and board.stops


def test_an_open_group_shows_tangents_beside_their_values():
    board = pushed(60).show("graph", open=["g3"]).storyboard
    scene, places = board.at(len(board.steps) - 1), board.layout.boxes
    assert [box.title for box in scene.boxes.values() if box.kind == "region"][1] == "repeats 11 to 20"
    beside = [arrow for arrow in scene.arrows.values() if arrow.kind == "beside" and arrow.source != "t1"]
    assert len(beside) == 30 and all(scene.boxes[arrow.target].kind == "tangent" for arrow in beside)
    for arrow in beside:
        one, other = places[arrow.source], places[arrow.target]
        assert one.y + one.h / 2 == pytest.approx(other.y + other.h / 2, abs=0.2)
    around = {box.title for box in scene.boxes.values() if box.kind == "group"}
    assert {"repeats 1 to 10", "repeats 21 to 30"} <= around


def test_open_groups_end_where_the_trace_does():
    trace = twice(60)
    board = trace.show("graph", open=names(trace)).storyboard
    flat = tell(trace, VIEWS["graph"](trace.events))
    last = flat.at(len(flat.steps) - 1)
    ended = [box for box in board.at(len(board.steps) - 1).boxes.values() if box.kind == "op"]
    assert len(ended) >= 3 * 60
    for box in ended:
        assert (box.state, box.lines) == (last.boxes[box.id].state, last.boxes[box.id].lines)


def test_a_saved_transform_is_grouped_alike():
    trace = pushed_through_a_gradient(60)
    again = Trace.from_dict(json.loads(trace.to_json()))
    assert again.show().storyboard.to_dict() == trace.show().storyboard.to_dict()


def test_a_very_long_one_opens_as_a_few_boxes():
    trace = pushed(700)
    assert sum(isinstance(event, NodeCreated) for event in trace.events) == 0
    board = trace.show().storyboard
    assert len(board.scene.boxes) < 10  # what function transforms add opens by name alone
    some = trace.show("graph", open=[names(trace)[0]]).storyboard
    assert len(groups(some)) > 1 and len(some.scene.boxes) < 40
