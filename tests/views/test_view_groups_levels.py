"""Groups where function transforms add levels, tangents and levels: they close and open as those of any graph do."""

from __future__ import annotations

from dataclasses import replace

import pytest
import transform_samples as samples
from boxes import there
from view_names import GRAPHS

import workbench as torch
from workbench.autograd import forward_ad
from workbench.func import grad, jacfwd, jacrev, jvp, vmap
from workbench.pictures.recording import Trace
from workbench.pictures.scene.storyboard import LEGIBLE
from workbench.pictures.scene.text import to_text
from workbench.pictures.trace.forward_records import NodeCreated
from workbench.pictures.views.graph import Graph
from workbench.pictures.views.player_steps import tell


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


def groups(board, k=None):
    return {box.title: box for box in there(board, k).values() if box.kind == "group"}


def names(trace, view="graph"):
    """The ids of all groups there are."""
    return [group.id for group in GRAPHS[view](trace.events).program.groups()]


@pytest.mark.slow
def test_the_storey_of_create_graph_is_a_box():
    x = values(0.1, 0.2).requires_grad_()
    with torch.record() as trace:
        (first,) = torch.autograd.grad(chain(60)(x).sum(), x, create_graph=True)
        first.sum().backward()
    board = trace.show().storyboard
    boxes = board.at(len(board.steps) - 1).boxes.values()
    parts = [box.title for box in boxes if box.kind in ("group", "region") and box.region is None]
    assert parts == ["for _ in range(times): 60 iterations", "grad(….sum(), x, create_graph=True)"]


@pytest.mark.parametrize("name", ["the graph of grad (level 2)", ["second order: recorded at level 1"]])
def test_an_open_part_stands_in_one_frame(name):
    trace = twice(20)
    board = trace.show("graph", open=name).storyboard
    scene = board.at(len(board.steps) - 1)
    regions = {box.id: box.title for box in scene.boxes.values() if box.kind == "region"}
    flat = tell(trace, Graph(trace.events))
    frames = [box.title for box in flat.scene.boxes.values() if box.kind == "region"]
    (title,) = regions.values()
    assert title in {frame.partition(" while ")[0] for frame in frames}
    inside = [box for box in scene.boxes.values() if box.region]
    assert len(inside) > 1 and {box.region for box in inside} == set(regions)


def test_open_says_which_groups_there_are_in_a_transform_too():
    with pytest.raises(ValueError, match="no group named 'layer9'; its groups are 'for _ in range"):
        twice(20).show("graph", open=["layer9"])
    with pytest.raises(ValueError, match="no group named 'a'"):
        samples.batch().show("flow", open=["a"])


def test_what_a_transform_adds_is_open_as_far_as_there_is_room():
    parts = {"the graph of grad (level 2)", "second order: recorded at level 1"}
    board = twice(5).show().storyboard
    opened = {board.scene.boxes[id].title for id in board.opened}
    assert parts <= groups(board).keys() | opened and board.layout.width < 962 / LEGIBLE
    x = values(0.1, 0.2).requires_grad_()
    with torch.record() as trace:
        (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        first.sum().backward()
    assert not groups(trace.show().storyboard)
    every = twice(5).show("graph", open=names(twice(5))).storyboard
    assert parts <= {box.title for box in every.at().boxes.values() if box.kind == "region"}


@pytest.mark.slow
@pytest.mark.parametrize("view", ["graph", "flow"])
@pytest.mark.parametrize("program", [*PROGRAMS, *samples.PROGRAMS], ids=lambda program: program.__name__)
def test_with_every_group_open_nothing_is_lost(program, view):
    trace = program(4) if program in PROGRAMS else program()
    flat = tell(trace, GRAPHS[view](trace.events))
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
@pytest.mark.parametrize(
    "program",
    [
        pytest.param(each, marks=[pytest.mark.scheduled] * (each is samples.many), id=f"{each.__name__} {n}")
        for n, each in enumerate((*PROGRAMS, *samples.PROGRAMS))
    ],
)
def test_every_group_alone_has_all_faces(program):
    trace = program(4) if program in PROGRAMS else program()
    for opened in ([], *([name] for name in names(trace))):
        board = trace.show("graph", open=opened).storyboard
        assert to_text(board) and board.to_dict() and board.stops


def test_an_open_group_shows_tangents_beside_their_values():
    trace = pushed(60)
    stretch = "items 14 to 23"
    board = trace.show("graph", open=[stretch]).storyboard
    scene, places = board.at(len(board.steps) - 1), board.layout.boxes
    (frame,) = [box.id for box in scene.boxes.values() if box.kind == "region" and box.title == stretch]
    beside = [arrow for arrow in scene.arrows.values() if scene.boxes[arrow.source].region == frame]
    beside = [arrow for arrow in beside if arrow.kind == "beside"]
    assert len(beside) == 10 and all(scene.boxes[arrow.target].kind == "tangent" for arrow in beside)
    for arrow in beside:
        one, other = places[arrow.source], places[arrow.target]
        assert one.y + one.h / 2 == pytest.approx(other.y + other.h / 2, abs=0.2)
    around = {box.title for box in scene.boxes.values() if box.kind == "group"}
    assert {"items 4 to 13", "items 24 to 33"} <= around


def test_open_groups_end_where_the_trace_does():
    trace = twice(20)
    board = trace.show("graph", open=names(trace)).storyboard
    flat = tell(trace, Graph(trace.events))
    last = flat.at(len(flat.steps) - 1)
    ended = [box for box in board.at(len(board.steps) - 1).boxes.values() if box.kind == "op"]
    assert len(ended) >= 3 * 20
    for box in ended:
        assert (box.state, box.lines) == (last.boxes[box.id].state, last.boxes[box.id].lines)


def per_sample_gradients(x):
    net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))

    def loss(parameters, row):
        return (torch.func.functional_call(net, parameters, (row,)) ** 2).sum()

    vmap(grad(loss), in_dims=(None, 0))(dict(net.named_parameters()), torch.ones(4, 2))


def second_derivatives(x):
    torch.func.hessian(lambda x: (x[0] ** 2 * x[1]).sin() + x[1] ** 3)(x)


def a_step_that_is_learned(x):
    w = torch.ones(2).requires_grad_()

    def inner(w):
        return ((x * w - 1) ** 2).mean()

    fast = w - 0.1 * grad(inner)(w)
    inner(fast).backward()


@pytest.mark.parametrize("program", [per_sample_gradients, second_derivatives, a_step_that_is_learned])
def test_what_an_engineer_writes_with_transforms_opens_whole_and_readable(program):
    with torch.record() as trace:
        program(torch.tensor([1.0, 2.0]))
    layout = trace.show().storyboard.layout
    assert LEGIBLE * layout.width <= 962 and LEGIBLE * layout.height <= 558  # beside the list of files


def test_a_very_long_one_opens_as_a_few_boxes():
    trace = pushed(300)
    assert sum(isinstance(event, NodeCreated) for event in trace.events) == 0
    board = trace.show().storyboard
    assert len(board.scene.boxes) < 20
    some = trace.show("graph", open=[names(trace)[0]]).storyboard
    assert len(groups(some)) > 1 and len(some.scene.boxes) < 60
