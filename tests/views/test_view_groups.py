"""Scopes in a trace, and graphs whose parts are collapsed into boxes that open."""

from __future__ import annotations

import json
import re

import pytest
from boxes import there

import workbench as torch
from workbench.pictures.recording import Trace
from workbench.pictures.trace.forward_records import NodeCreated
from workbench.pictures.views import grouped_graph


def two_layers():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    with torch.record() as trace:
        with torch.scope("layer1"):
            h = (x * w).sin()
            with torch.scope("norm"):
                h = h - 0.5
        with torch.scope("layer2"):
            out = h.exp()
        loss = out.sum()
        loss.backward()
    return trace


def scopes(trace):
    return [event.scope for event in trace.events if isinstance(event, NodeCreated)]


def test_a_trace_knows_the_scope_of_each_node() -> None:
    assert scopes(two_layers()) == ["layer1", "layer1", "layer1/norm", "layer2", None]


def test_scopes_are_saved_and_older_files_without_them_load() -> None:
    trace = two_layers()
    data = json.loads(trace.to_json())
    assert scopes(Trace.from_dict(data)) == scopes(trace)
    for event in data["events"]:
        event.pop("scope", None)
    assert set(scopes(Trace.from_dict(data))) == {None}


def test_what_was_there_before_anybody_listened_has_its_scope() -> None:
    x = torch.tensor([1.0], requires_grad=True)
    with torch.scope("early"):
        y = x * 2.0
    with torch.record() as trace:
        y.backward()
    assert scopes(trace) == ["early"]


def chain(times: int):
    """`mul, add, sin` many times over, and a backward through all of it."""
    x = torch.tensor([0.5, 0.25], requires_grad=True)
    with torch.record() as trace:
        y = x
        for _ in range(times):
            y = (y * 1.01 + 0.1).sin()
        total = y.sum()
        total.backward()
    return trace


def layers(count: int, each: int, names: str = "layer{}"):
    x = torch.tensor([[1.0, 2.0]])
    text = "".join(
        f"with torch.scope({names.format(number + 1)!r}):\n"
        "    weight = torch.tensor([[0.1, 0.2], [0.3, 0.4]], requires_grad=True)\n"
        "    h = h @ weight\n"
        f"    for _ in range({each}):\n"
        "        h = (h * 0.9).tanh()\n"
        for number in range(count)
    )
    with torch.record() as trace:
        exec(f"{text}total = h.sum()\ntotal.backward()", {"torch": torch, "h": x})
    return trace


def captions(board):
    """What is told of each step that is seen."""
    return [caption for _, _, caption in board.stops]


def after(board, stop):
    """What is there after a step that is seen."""
    return there(board, board.stops[stop][1])


def after_forward(board):
    """The last step before the first backward."""
    return next(k for k, step in enumerate(board.steps) if step.phase != "forward") - 1


def gradient(box):
    """What a closed group tells of the gradients that came in and went out."""
    return "".join([detail.body for detail in box.details if detail.heading == "Gradient"])


def test_open_says_which_groups_there_are() -> None:
    with pytest.raises(ValueError, match="no group named 'layer9'; its groups are 'layer1', 'loop', 'iteration 1'"):
        layers(3, 30).show("graph", open=["layer9"])
    with pytest.raises(ValueError, match="no group named 'a'"):
        chain(2).show("graph", open=["a"])


def test_an_empty_open_closes_a_small_graph_too() -> None:
    board = two_layers().show("graph", open=[]).storyboard
    assert [box.title for box in there(board).values() if box.kind == "group"] == ["layer1"]
    assert not [box for box in there(board).values() if box.region is not None]
    inside = {box.title for box in board.scene.boxes.values() if box.region == "g1" and box.kind == "op"}
    assert inside == {"x * w", "(x * w).sin()", "h = norm"}


@pytest.mark.slow
def test_edges_between_groups_that_stay_closed_are_one_arrow_with_their_number() -> None:
    with torch.record() as trace:
        x = torch.tensor([0.5, 0.25], requires_grad=True)
        with torch.scope("first"):
            first = [x]
            for _ in range(1500):
                first.append(first[-1] * 1.01)
        with torch.scope("second"):
            total = first[-1]
            for each in reversed(first[1:-1]):
                total = total + each
        total.sum().backward()
    board = trace.show("graph", open=[]).storyboard
    arrows = board.at(len(board.steps) - 1).arrows.values()
    inner = trace.show("graph", open=["first", "second"]).storyboard
    assert all(arrow.state == "done" for arrow in arrows if arrow.kind == "edge") and len(inner.scene.boxes) > 20
    assert not any([arrow.label for arrow in inner.at(after_forward(inner)).arrows.values()])  # no gradient yet
    inside = [arrow.label for arrow in inner.at(len(inner.steps) - 1).arrows.values()]
    assert any("norm " in label for label in inside)  # of those that brought all gradients of a value


def test_a_caption_counts_what_joined_in_its_step_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    w = torch.ones(2, requires_grad=True)
    with torch.record() as trace:
        with torch.scope("block"):
            (w * 2 * 3).sum().backward()
            k = (w + 1).exp()
            k.sum().backward()
            (k.detach() * w).tanh()
    for inside in (grouped_graph._INSIDES, 0):
        monkeypatch.setattr(grouped_graph, "_INSIDES", inside)
        board = trace.show("graph", depth=0).storyboard
        captions = [told for runs in board.runs.values() for *_, told in runs] + [step.caption for step in board.steps]
        joined = [re.findall(r"(\d+) operations? joins? the graph: ([^;]*)", told) for told in captions]
        assert sum(map(len, joined)) >= 3
        for told in joined:
            for count, kinds in told:
                assert int(count) == sum(int(kind.split()[-1]) for kind in kinds.split(", "))
