"""An arrow that stands for several tells what they brought together, or no number."""

from __future__ import annotations

import random
import re
from typing import Any

import nested_programs
import numpy as np
import pytest
from program_seeds import seeds

import workbench as torch
from workbench.autograd.scopes import scope
from workbench.pictures.recording import Trace, record
from workbench.pictures.scene.labels import arrow_fields
from workbench.pictures.scene.sizes import label_size
from workbench.pictures.views import grouped_graph

NUMBER = re.compile(r"norm ([^\s,]+)")


def array(value: Any) -> Any:
    return np.array(value.values).reshape(value.shape)


def sums_are_true(seed: int, patch: pytest.MonkeyPatch) -> int:
    """Check every arrow that stands for several, with random groups open; how many of them told a number."""
    trace, _, there = nested_programs.recorded(seed, torch, scope, record, trains=False)
    choose = random.Random(seed)
    frame = trace.frame(len(trace.events))
    named = {name: each for name, each in there.items() if isinstance(each, torch.Tensor)}
    for tensor in frame.tensors.values():
        if tensor.role == "leaf" and tensor.name in named and tensor.grad is not None:
            total = sum([array(edge.grad) for edge in frame.arrivals(tensor.id)])
            assert np.allclose(total, named[tensor.name].grad.numpy(), rtol=1e-4, atol=1e-6)
    told = 0
    for view in ("graph", "flow"):
        for inside in (grouped_graph._INSIDES, 0):
            patch.setattr(grouped_graph, "_INSIDES", inside)
            board = trace.show(view, depth=choose.randrange(3)).storyboard
            groups = [id for id, box in board.scene.boxes.items() if box.kind == "group"]
            for each in (board, board.with_open(choose.sample(groups, len(groups) // 2))):
                seen = each.at(len(each.steps) - 1)
                for id, members in each.folding.members.items():
                    edges = [frame.edges[key] for key in members if key in frame.edges]
                    moved = [edge for edge in edges if edge.state != "idle" and edge.grad is not None]
                    if len(moved) < 2 or len(edges) < len(members) or seen.arrows[id].kind != "edge":
                        continue
                    label = seen.arrows[id].label
                    numbers = NUMBER.findall(label.partition("here ")[2] if "sum of " in label else label)
                    assert len(numbers) <= 1
                    if numbers:
                        by_value: dict[tuple[str, int], list[Any]] = {}
                        for edge in moved:
                            by_value.setdefault((edge.source, edge.output_nr), []).append(array(edge.grad))
                        assert len(by_value) == 1, "gradients for different values do not add up"
                        total = np.linalg.norm(sum(*by_value.values()))
                        assert float(numbers[0]) == pytest.approx(total, rel=6e-3, abs=1e-6), (seed, id)
                        told += 1
        patch.undo()
    return told


@pytest.mark.slow
def test_what_folded_arrows_tell_is_the_sum_of_what_they_stand_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum([sums_are_true(seed, monkeypatch) for seed in (3, 7)]) > 2


@pytest.mark.parametrize("seed", seeds(20, apart=200))
def test_what_folded_arrows_of_many_programs_tell_is_their_sum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sums_are_true(seed, monkeypatch)


def arrows_of_closed(trace: Trace, view: str) -> list[str]:
    """The first lines at the arrows that several gradients went along, all groups closed."""
    board = trace.show(view, open=[]).storyboard
    scene = board.at(len(board.steps) - 1)
    several = [id for id, members in board.folding.members.items() if len(members) > 1]
    return [scene.arrows[id].label.partition("\n")[0] for id in several if scene.arrows[id].kind == "edge"]


@pytest.mark.parametrize("view", ["graph", "flow"])
@pytest.mark.parametrize("inside", [300, 0])
def test_gradients_for_two_values_or_of_two_passes_are_counted(
    view: str, inside: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouped_graph, "_INSIDES", inside)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with record() as two_values:
        with scope("first"):
            a, b = x.sin(), x.cos()
        with scope("second"):
            c = (a * b).exp()
        c.sum().backward()
    with record() as two_passes:
        y = x * 2
        with scope("part"):
            one, two = y.exp() * 3, y.sin().exp()
        (grad,) = torch.autograd.grad(one.sum(), y, retain_graph=True, create_graph=True)
        (two.sum() + 0 * grad.detach().sum()).backward()
    with record() as one_pass:
        y = x * 2
        with scope("part"):
            both = y.exp() * 3 + y.sin()
        both.sum().backward()
    assert "2 gradients" in arrows_of_closed(two_values, view)
    assert "; receives 2 gradients" in str(two_values.show(view, open=[]))
    assert not any("norm " in label for label in arrows_of_closed(two_passes, view))
    assert any("norm " in label for label in arrows_of_closed(one_pass, view))


def rnn() -> tuple[Any, dict[str, Any]]:
    torch.manual_seed(0)
    weights = {"Wxh": torch.randn(3, 4) / 2, "Whh": torch.randn(4, 4) / 5, "b": torch.zeros(4)}
    Wxh, Whh, b = [each.requires_grad_() for each in weights.values()]
    xs = torch.randn(20, 3)
    with record() as trace:
        h = torch.zeros(4)
        for t in range(20):
            h = torch.tanh(xs[t] @ Wxh + h @ Whh + b)
        (h**2).sum().backward()
    return trace, weights


@pytest.mark.slow
@pytest.mark.parametrize("view", ["graph", "flow"])
@pytest.mark.parametrize("inside", [300, 0])
def test_the_arrow_into_a_weight_of_a_closed_loop_tells_its_whole_gradient(
    view: str, inside: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, weights = rnn()
    monkeypatch.setattr(grouped_graph, "_INSIDES", inside)
    board = trace.show(view, depth=0).storyboard
    scene = board.at(len(board.steps) - 1)
    for name, weight in weights.items():
        (box,) = [box for box in scene.boxes.values() if box.kind == "leaf" and box.title == name]
        (arrow,) = [arrow for arrow in scene.arrows.values() if arrow.source == box.id]
        (number,) = NUMBER.findall(arrow.label)
        assert float(number) == pytest.approx(float(weight.grad.norm()), rel=6e-3)
        assert "VANISHING" not in arrow.label and arrow.tone in ("", "mixed")


def test_the_legend_says_where_the_rest_of_a_gradient_is_if_boxes_refer_to_its_leaf() -> None:
    trace, _ = rnn()
    shown = trace.show("flow", depth=1)
    elsewhere = "its other uses"
    assert "uses Wxh, Whh, b" in str(shown) and elsewhere in shown.storyboard.legend
    w = torch.ones(2, requires_grad=True)
    with record() as trace:
        (w * 2 + w).sum().backward()
    assert elsewhere not in trace.show("flow").storyboard.legend


@pytest.mark.parametrize("seed", [1, 2])
def test_a_place_is_kept_for_all_that_an_arrow_tells(seed: int) -> None:
    trace, _, _ = nested_programs.recorded(seed, torch, scope, record, trains=False)
    for depth in range(3):
        board = trace.show(depth=depth).storyboard
        kept = {id: (way.label.w, way.label.h) for id, way in board.layout.arrows.items()}
        for k in range(len(board.steps)):
            scene = board.at(k, drawn=True)
            for id, arrow in scene.arrows.items():
                wide, high = label_size(arrow_fields(arrow, scene, board.density)["label"])
                assert wide <= kept[id][0] and high <= kept[id][1], (arrow, kept[id])


def test_a_place_is_kept_for_the_number_of_the_second_arrow_from_a_value() -> None:
    """The first leads to what nothing used, and never tells a number; while the group is closed it stands for both."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with record() as trace:
        y = x * 2
        with scope("part"):
            y.norm()
            z = y.exp()
        z.sum().backward()
    board = trace.show(open=[]).storyboard
    ((id, arrow),) = [(id, each) for id, each in board.at().arrows.items() if each.target in board.folding.groups]
    assert "norm " in arrow.label and board.layout.arrows[id].label.w >= label_size(arrow.label)[0]


@pytest.mark.parametrize("view", ["graph", "flow"])
@pytest.mark.parametrize("inside", [pytest.param(300, marks=pytest.mark.slow), 0])
def test_the_arrow_into_a_weight_of_an_open_loop_tells_its_whole_gradient_too(
    view: str, inside: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, weights = rnn()
    monkeypatch.setattr(grouped_graph, "_INSIDES", inside)
    board = trace.show(view, open=["for t in range(20)"]).storyboard
    scene = board.at(len(board.steps) - 1)
    for name, weight in weights.items():
        (box,) = [box for box in scene.boxes.values() if box.kind == "leaf" and box.title == name and not box.refers]
        (arrow,) = [arrow for arrow in scene.arrows.values() if arrow.source == box.id]
        assert scene.boxes[arrow.target].title.startswith("for t in range(20)")
        assert float(NUMBER.findall(arrow.label)[0]) == pytest.approx(float(weight.grad.norm()), rel=6e-3)


@pytest.mark.parametrize("view", ["graph", "flow"])
def test_a_closed_group_and_its_arrow_count_the_same(view: str) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with record() as trace:
        with scope("first"):
            a, b = x.sin(), x.cos()
        with scope("second"):
            c = (a * b * a).exp()
        c.sum().backward()
    board = trace.show(view, open=[]).storyboard
    scene = board.at(len(board.steps) - 1)
    (group,) = [box for box in scene.boxes.values() if box.title == "second"]
    (told,) = [detail.body for detail in group.details if detail.heading == "Gradient"]
    assert "out 2 gradients" in told
    assert "2 gradients" in [arrow.label.split("\n")[0] for arrow in scene.arrows.values()]
