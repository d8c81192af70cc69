"""Two traces compared: each kind of difference is found once, said in a sentence and marked on both sides."""

from __future__ import annotations

import pytest
from golden_programs import PAIRS, run
from made_functions import function
from trace_samples import Halved

import workbench as torch
from workbench.pictures.views.graph import Graph
from workbench.pictures.views.grouped_graph import planned


def told(first, second):
    """The sentences about what differs."""
    return [step.caption for step in torch.compare(first, second).storyboard.steps[1:]]


def test_rounding_is_no_difference():
    assert told(run(lambda x: x * 3), run(lambda x: x * 3, 1.0, 2.0 + 4e-7)) == []
    assert len(told(run(lambda x: x * 3), run(lambda x: x * 3, 1.0, 2.0001))) == 3


FACTS = {
    "another operation with another gradient": {"MulBackward0": 3, "x.grad": 1},
    "other values": {"x ": 1, "ExpBackward0": 2, "SumBackward0": 1, "x.grad": 1},
    "only the second has one more": {"Only the second has ReluBackward0": 1},
    "what is saved is still there": {"MulBackward0": 1},
    "a checkpoint": {"ExpBackward0": 1},
    "a reentrant checkpoint": {"Only the second has": 2},
}


@pytest.mark.parametrize("name", FACTS)
def test_each_difference_is_said_once_and_of_what_it_is(name):
    sentences = told(*PAIRS[name]())
    counts = {what: sum(what in each.partition(",")[0] for each in sentences) for what in FACTS[name]}
    assert counts == FACTS[name] and len(sentences) == sum(counts.values()), sentences


def test_what_only_the_first_has_is_told_alone():
    assert told(*PAIRS["only the second has one more"]()[::-1]) == ["Only the first has ReluBackward0."]


def test_other_shapes_and_dtypes_are_values_too():
    (first, *_) = told(run(lambda x: x), run(lambda x: x, 1.0, 2.0, 3.0))
    assert first.endswith("is (2,) float32: [1. 2.], in the second (3,) float32: [1. 2. 3.].")


def test_how_often_and_in_which_order_nodes_run():
    def one(x):
        left, right = x.exp(), x.sin()
        return left + right

    def other(x):
        right, left = x.sin(), x.exp()
        return left + right

    (order,) = told(run(one), run(other))
    assert order in ("SinBackward0 runs 3rd, in the second 4th.", "ExpBackward0 runs 4th, in the second 3rd.")

    def twice(x):
        y = x * 3
        y.sum().backward(retain_graph=True)
        return y

    changed = told(run(lambda x: x * 3), run(twice))
    assert "MulBackward0 runs once, in the second twice." in changed


def test_a_failure_differs_from_none():
    def broken(x):
        y = x.exp()
        y.add_(1)
        return y

    x = torch.tensor([1.0], requires_grad=True)
    with torch.record() as fine:
        x.exp().sum().backward()
    with torch.record() as wrong, pytest.raises(RuntimeError):
        broken(x).sum().backward()
    assert any("fails with RuntimeError: one of the variables" in each for each in told(fine, wrong))


def test_both_sides_are_marked_with_a_word_when_a_step_comes_to_them():
    board = torch.compare(run(lambda x: x * x), run(Halved.apply)).storyboard
    marked = [[id for id, box in board.at(k).boxes.items() if box.state == "differs"] for k in range(len(board.steps))]
    whole = ["a.t1", "a.n1", "b.t1", "b.n1"]
    assert marked == [whole, ["a.n1", "b.n1"], ["a.n1", "b.n1"], ["a.n1", "b.n1"], whole]
    assert board.at(0).boxes == board.at(len(board.steps) - 1).boxes
    assert board.at(1).boxes["a.n1"].lines[-1] == "≠ operation"
    assert board.at().boxes["a.n1"].lines[-1] == "≠ operation, sources, saved"
    assert board.steps[1].focus == "a.n1"
    assert "(differs" in repr(torch.compare(run(lambda x: x * x), run(Halved.apply)))


def test_both_graphs_stand_in_a_frame_of_their_own():
    board = torch.compare(run(lambda x: x * x), run(lambda x: x * x)).storyboard
    regions = {box.id: box.title for box in board.scene.boxes.values() if box.kind == "region"}
    assert regions == {"a": "First: Graph of loss", "b": "Second: Graph of loss"}
    places = board.layout.boxes
    assert places["a"].x + places["a"].w <= places["b"].x


def test_it_opens_with_all_differences_marked_and_what_is_saved_told_in_words():
    picture = torch.compare(run(lambda x: x.exp()), run(lambda x: x.exp(), 1.0, 0.0))
    board = picture.storyboard
    assert (board.start, board.steps[0].focus) == (0, None)
    assert board.steps[0].caption == "Two traces side by side, in their final state: 5 differences."
    assert [id for id, box in board.at(0).boxes.items() if box.state == "differs"] == [
        f"{side}.{id}" for side in "ab" for id in ("t1", "n1", "n2")
    ]
    assert not [box for box in board.scene.boxes.values() if box.kind == "saved"]


def trained_once(activation, layers=2):
    torch.manual_seed(0)
    middle = [part for _ in range(layers - 1) for part in (torch.nn.Linear(8, 8), activation())]
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), activation(), *middle, torch.nn.Linear(8, 1))
    x = torch.ones(5, 4)
    with torch.record() as trace:
        loss = (net(x) ** 2).mean()
        loss.backward()
    return trace


@pytest.mark.parametrize("layers", [2, 12])
def test_both_programs_are_in_sight_their_groups_open_as_deep_as_there_is_room(layers):
    board = torch.compare(trained_once(torch.nn.Tanh, layers), trained_once(torch.nn.ReLU, layers)).storyboard
    assert board.layout.width <= 1640  # at 0.6 of its size it fits 986 px
    scene = board.at(0)
    marked = {id.partition(".")[0] for id, box in scene.boxes.items() if box.state == "differs"}
    assert marked == {"a", "b"}
    titles = [box.title for box in scene.boxes.values()]
    assert "First: Graph of loss" in titles and "Second: Graph of loss" in titles
    if layers == 2:  # the layers are boxes, and what differs in them is said there
        assert len([box for box in scene.boxes.values() if box.kind in ("op", "group") and "≠" in box.lines[-1]]) >= 10
    for step in board.steps[1:]:  # what only one has lies in a box, too
        assert step.focus in scene.boxes


def trainings(net, *data, steps):
    """Two recordings of a net that learns, at different rates."""
    for rate in (0.1, 0.2):
        torch.manual_seed(0)
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=rate)
        x, y = data
        with torch.record() as trace:
            for _ in range(steps):
                optimizer.zero_grad()
                loss = ((model(x) - y) ** 2).mean()
                loss.backward()
                optimizer.step()
        yield trace


def small():
    return torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


def deep():
    block = [each for _ in range(30) for each in (torch.nn.Linear(4, 4), torch.nn.Tanh())]
    return torch.nn.Sequential(torch.nn.Sequential(*block), torch.nn.Linear(4, 1))


@pytest.mark.parametrize("net", [small, pytest.param(deep, marks=pytest.mark.slow)])
def test_of_two_trainings_both_are_in_sight_in_groups_that_fit(net):
    board = torch.compare(*trainings(net, torch.ones(8, 4), torch.zeros(8, 1), steps=3)).storyboard
    assert "The picture shows step 2" in board.steps[0].caption
    assert board.layout.width <= 1720 and board.layout.height <= 1000 and len(board.scene.boxes) < 40
    assert {id.partition(".")[0] for id, box in board.at(0).boxes.items() if box.state == "differs"} == {"a", "b"}
    for step in board.steps[1:]:
        assert step.focus is None or step.focus in board.scene.boxes


def test_empty_traces():
    with torch.record() as nothing:
        pass
    assert repr(torch.compare(nothing, nothing)).splitlines() == [
        "Two traces: no difference",
        "Two traces side by side, in their final state: no difference. The first and the second have nothing in it.",
    ]
    one_sided = torch.compare(run(lambda x: x * x), nothing)
    assert one_sided.storyboard.steps[1].caption == "Only the first has x."
    assert one_sided.to_svg()


def test_only_traces_can_be_compared():
    with pytest.raises(TypeError, match=r"compare\(\) expected two traces from record\(\) or load\(\), but got int"):
        torch.compare(run(lambda x: x), 3)


def test_hostile_names_are_shown_harmlessly(tmp_path):
    bad = function("</script><b>\u202e", lambda x: x * 2, lambda grad: grad)
    picture = torch.compare(run(lambda x: x * x), run(bad.apply))
    picture.save(tmp_path / "bad.html")
    assert "</script><b>" not in (tmp_path / "bad.html").read_text() and "\u202e" not in repr(picture)


def test_a_trace_is_compared_by_its_own_show_too():
    first, second = run(lambda x: x * x), run(Halved.apply)
    picture = first.show("compare", against=second)
    assert picture.storyboard.to_dict() == torch.compare(first, second).storyboard.to_dict()
    with pytest.raises(TypeError, match=r"Pass the other one: show\('compare', against=other\)\.$"):
        first.show("compare")
    with pytest.raises(TypeError, match="Expected a trace from record"):
        first.show("compare", against=3)
    with pytest.raises(TypeError, match="View 'compare' has no option 'open'. Options: 'against', "):
        first.show("compare", open=[])


def test_of_two_trainings_the_first_step_that_differs_is_drawn():
    def trained(clears):
        w, x = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, -1.0])
        for _ in range(4):
            if clears:
                w.grad = None
            ((w * x) ** 2).sum().backward()
            with torch.no_grad():
                w -= 0.01 * w.grad

    with torch.record() as cleared:
        trained(True)
    with torch.record() as kept:
        trained(False)
    board = torch.compare(kept, cleared).storyboard
    assert "The picture shows step 3, the first step in which a box differs." in board.steps[0].caption
    titles = [box.title for id, box in board.at(0).boxes.items() if id.startswith("a.") and box.kind == "op"]
    assert titles == ["w * x", "(w * x) ** 2", "((w * x) ** 2).sum()"]
    differing = [box.title for box in board.at(len(board.steps) - 1).boxes.values() if box.state == "differs"]
    assert {"w", *titles} <= {*differing}


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_the_end_of_a_story_is_drawn_as_its_last_step_is(depth):
    trace = trained_once(torch.nn.Tanh, 4).snapshot()
    boards = []
    for told in (True, False):
        view = Graph(trace.events)
        plan = planned(trace.events, view, depth=depth)
        board = plan.tell(trace, view) if told else None
        boards.append(plan.ended(trace, view) if board is None else board.at(len(board.steps) - 1))
    story, end = boards
    assert story.boxes == end.boxes
    ways = [sorted((each.source, each.target, each.state, each.weight) for each in s.arrows.values()) for s in boards]
    assert ways[0] == ways[1] and len(end.arrows) == len(story.arrows)
