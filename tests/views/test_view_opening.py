"""Which groups are open at first, and what a closed one tells at each moment of all that it holds."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from functools import cache

import net_samples
import pytest

import workbench as torch
from workbench.recording import record
from workbench.scene.layout import LayoutUnavailable, drawn_level
from workbench.scene.model import paths
from workbench.scene.storyboard import Storyboard
from workbench.views import VIEWS
from workbench.views.player_steps import tell

_COUNT = r"^([\d,]+) operations?(?: × ([\d,]+))?(?!.* gone)"
_URGENT = ("error", "running", "ready", "pending")  # of what is inside, the first of these is told


def scopes():
    """Scopes in scopes, a value used twice in one, an output in the middle of one, and a backward through it twice."""
    x = torch.tensor([0.5, 0.25], requires_grad=True)
    with record() as trace:
        y = x
        for n in range(3):
            with torch.scope(f"layer{n}"):
                h = (y * x).exp()
                with torch.scope("inner"):
                    y = (h * h).sin() + h.detach()
                y = y * 0.5
        loss = y.sum()
        loss.backward(retain_graph=True)
        loss.backward()
        del loss, y, h
    return trace


def chain():
    x = torch.tensor([0.5, 0.25], requires_grad=True)
    with record() as trace:
        y = x
        for _ in range(60):
            y = (y * 1.01 + 0.1).sin()
        y.sum().backward()
    return trace


PROGRAMS = {program.__name__: program for program in (*net_samples.PROGRAMS, scopes, chain)}


@cache
def told(name: str):
    torch.manual_seed(0)
    trace = PROGRAMS[name]()
    return trace, trace.show().storyboard


@pytest.mark.parametrize("name", [program.__name__ for program in net_samples.PROGRAMS])
def test_about_25_boxes_are_seen_at_first(name):
    _, board = told(name)
    boxes = [box for box in board.at().boxes.values() if box.kind != "saved" and box.state != "future"]
    assert 5 <= len(boxes) <= 40
    assert 25 < len([box for box in board.scene.boxes.values() if box.kind in ("op", "leaf")]) or name == "mlp"


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_much_is_open_at_first_as_a_screen_has_room_for(name):
    _, board = told(name)
    first = [group for group in board.opened if not paths(board.scene)[group]]
    assert (board.layout.width <= 1310 and board.layout.height <= 1100) or board.opened == set(first)
    for group in board.opened:
        assert board.opened.issuperset(paths(board.scene)[group])


def test_what_repeats_is_closed_at_first_and_what_is_equal_opens_together():
    x = torch.tensor([1.0], requires_grad=True)
    with record() as trace:
        y = x
        for n in range(3):
            with torch.scope(f"part{n}"):
                y = y.sin().exp()
        y.backward()
    board = trace.show().storyboard
    assert board.opened == board.folding.groups and len(board.opened) == 4  # the loop, and what is in it
    closed = [box.title for box in told("chain")[1].at().boxes.values() if box.kind == "group"]
    assert closed == ["58 more rounds (2 to 59)"]


def test_groups_are_open_down_to_a_depth():
    trace, whole = told("two_blocks")
    depths = {group: len(path) for group, path in paths(whole.scene).items() if group in whole.folding.groups}
    for depth in range(max(depths.values()) + 2):
        board = trace.show(depth=depth).storyboard
        titles = sorted(whole.scene.boxes[group].title for group, around in depths.items() if around < depth)
        assert sorted(board.scene.boxes[group].title for group in board.opened) == titles


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_that_a_closed_group_makes_one_step_is_told_in_one_sentence(name):
    _, board = told(name)
    around, several = paths(board.scene), 0
    for group in board.folding.groups:
        closed = Storyboard(board.scene, board.steps, opened=around[group], runs=board.runs)
        for first, last, caption in closed.stops:
            place = board.steps[last].place
            if first < last and place is not None and closed.folding.stands[place] == group:
                several += 1
                assert (first, last, caption) in board.runs[group]
                title = board.scene.boxes[group].title.rpartition(": ")[2]
                assert caption.removeprefix("`").startswith(title) or "/" in caption
    assert several or name == "mlp"


def test_a_run_tells_what_joined_and_what_came_and_went():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with record() as trace:
        with torch.scope("outer"):
            with torch.scope("inner"):
                y = (x * 2.0).exp()
            z = (y * 3.0).sum()
        z.backward()
    board = trace.show().storyboard
    ids = {box.title: id for id, box in board.scene.boxes.items()}
    inner, outer = ids["inner"], ids["outer"]
    assert [(first, last) for first, last, _ in board.runs[outer]] == [(0, 3), (5, 8)]
    forward, backward = (caption for _, _, caption in board.runs[inner])
    assert forward == ("outer/inner: 2 operations join the graph: mul 1, exp 1; it keeps 16 bytes for backward.")
    assert backward == (
        "outer/inner runs backward: it receives the gradient [3. 3.]; 2 nodes run, ExpBackward0 first, "
        "`x * 2.0` last; it sends [44.33 327.6] to x."
    )
    assert [caption for _, _, caption in trace.show("graph", open=["outer"]).storyboard.stops][:1] == [forward]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_closed_group_tells_at_every_step_of_all_that_it_holds(name):
    trace, board = told(name)
    flat = tell(trace, VIEWS["graph"](trace.events))
    assert len(flat.steps) == len(board.steps), "every group is told"
    around = paths(board.scene)
    holds = {group: [id for id, path in around.items() if group in path] for group in board.folding.groups}
    closed = {group: Storyboard(board.scene, board.steps, opened=around[group]) for group in holds}
    for k in range(0, len(board.steps), max(1, len(board.steps) // 12)):
        whole = flat.at(k)
        for group, inside in holds.items():
            box = closed[group].at(k).boxes[group]
            nodes = [whole.boxes[id] for id in inside if id in whole.boxes and whole.boxes[id].kind == "op"]
            nodes = [node for node in nodes if node.state != "future"]
            if not nodes:
                assert box.state == "future"
                continue
            states = [node.state for node in nodes]
            other = "over" if set(states) == {"over"} else "done" if "done" in states else "idle"
            assert box.state == next((state for state in _URGENT if state in states), other), (k, box.title)
            ((count, times),) = [found[0] for each in box.lines if (found := re.findall(_COUNT, each))]
            assert int(count.replace(",", "")) * int(times.replace(",", "") or 1) == len(nodes)
            ids = {node.id for node in nodes}
            edges = [each for each in whole.arrows.values() if each.kind == "edge"]
            crossing = [each for each in edges if each.state in ("flowing", "done")]
            came = [each for each in crossing if each.source in ids and each.target not in ids]
            gone = [each for each in crossing if each.target in ids and each.source not in ids]
            outside = [each for each in gone if each.source not in inside]
            for way, arrows in (("in", came), ("out", outside)):
                (said,) = [each for each in box.lines if each.startswith("gradient ")] or [""]
                found = re.search(rf"\b{way} ‖?([^‖,]+?)‖?(?: in ([\d,]+))?(?:,|$)", said)
                assert bool(found) == bool(arrows)
                # Gradients for one value add up: what they give is not told by their norms.
                if arrows and (found[2] or len({each.source for each in arrows}) == len(arrows)):
                    total = math.hypot(*(norm(arrow.label) for arrow in arrows))
                    assert math.isclose(abs(float(found[1])), total, rel_tol=0.02, abs_tol=1e-9)


def norm(label):
    """The norm that stands at an arrow; one number is its own, and a slope may stand before it or below."""
    norms = re.findall(r"‖([^‖]+)‖", label) or re.findall(r"-?[\d.]+(?:e[-+]\d+)?", label.partition("\n")[0])
    return float(norms[-1])


def test_where_nothing_can_be_laid_out_a_picture_is_told_in_words_all_the_same(monkeypatch):
    def missing(dot):
        raise LayoutUnavailable("Graphviz is missing")

    trace, _ = told("two_blocks")
    drawn_level.cache_clear()
    monkeypatch.setattr("workbench.scene.layout.placed", missing)
    assert "Sequential" in str(trace.show())


def test_a_layer_opens_where_its_parameters_have_room():
    net = torch.nn.Linear(2, 1)
    with record() as trace:
        net(torch.ones(1, 2)).sum().backward()
    board = trace.show().storyboard
    (group,) = board.opened
    assert board.scene.boxes[group].title == "Linear"
    assert {"net.weight", "net.bias"} <= {box.title for box in board.scene.boxes.values() if box.region == group}


def test_layers_that_would_not_fit_stay_closed():
    net = torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in range(5)])
    with record() as trace:
        net(torch.ones(1, 3)).sum().backward()
    board = trace.show().storyboard
    assert not [id for id in board.opened if "Linear" in board.scene.boxes[id].title]
    assert board.layout.height <= 1100


def test_flow_opens_and_stands_where_the_backward_has_ended():
    x = torch.tensor(2.0, requires_grad=True)
    with record() as trace:
        (x * x).backward()
    board = trace.show("flow").storyboard
    assert board.start == board.still == len(board.steps) - 1
    assert all(arrow.state == "done" for arrow in board.at(board.start).arrows.values() if arrow.kind == "edge")


def test_a_double_backward_opens_with_both_storeys_there():
    x = torch.tensor(2.0, requires_grad=True)
    with record() as trace:
        y = x**3
        (slope,) = torch.autograd.grad(y, x, create_graph=True)
        slope.backward()
    board = trace.show().storyboard
    there = [box for box in board.at(board.start).boxes.values() if box.state != "future"]
    assert sum(box.kind == "op" for box in there) == 4 and any(box.kind == "region" for box in there)
    assert all(box.state not in ("freed", "over") for box in there)


def test_a_label_stands_below_the_heading_of_its_frame():
    x = torch.tensor(2.0, requires_grad=True)
    with record() as trace:
        y = x**3
        (slope,) = torch.autograd.grad(y, x, create_graph=True)
        slope.backward()
    board = trace.show().storyboard
    (frame,) = [id for id, box in board.scene.boxes.items() if box.kind == "region"]
    place, (wide, high) = board.layout.boxes[frame], board.sizes[0][frame]
    for label in [way.label for way in board.layout.arrows.values() if way.label.w]:
        beside = label.x > place.x + wide or label.x + label.w < place.x
        assert beside or label.y >= place.y + high or label.y + label.h <= place.y


def opening_calls(nodes, path):
    """How many functions are called until a trace from a file has its picture."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with record() as trace:
        y = x
        for _ in range(nodes // 2):
            y = y * 0.9999
            y = y.tanh()
        y.sum().backward()
    path.write_text(trace.to_json())
    read, calls = torch.load(path), Counter()
    sys.setprofile(lambda frame, what, called: calls.update([what]))
    try:
        assert read.show("graph", depth=0).storyboard.steps
    finally:
        sys.setprofile(None)
    return calls["call"] + calls["c_call"]


@pytest.mark.slow
def test_a_node_that_is_not_drawn_takes_few_calls_until_its_picture_is_there(tmp_path):
    """The time of an opening depends on the machine, the calls do not: of 100,000 nodes nearly all are not drawn."""
    path = tmp_path / "large.json"
    opening_calls(100, path)  # what is done once is done
    each = (opening_calls(2_000, path) - opening_calls(1_000, path)) / 1_000
    assert each < 400
