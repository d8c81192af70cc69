"""A closed group says in four lines its shapes, operations and parameters, bytes kept, and the norms of gradients."""

from __future__ import annotations

import net_samples as nets
import pytest

import workbench as torch
from workbench import nn
from workbench.scene.labels import TEXT_COLUMNS, columns
from workbench.views import storyboard


def closed(trace, k=-1, view="graph", **options):
    """The closed groups that are seen after a step, by their titles."""
    board = storyboard(trace, view, **options)
    scene = board.at(k if k >= 0 else len(board.steps) + k)
    return {box.title: box for box in scene.boxes.values() if box.kind == "group"}


def test_a_module_tells_shapes_operations_parameters_bytes_and_norms():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    x = torch.ones(3, 4, requires_grad=True)
    with torch.record() as trace:
        net(x).sum().backward()
    board = storyboard(trace, open=[])
    group = closed(trace, open=[])["Sequential"]
    before = closed(trace, k=board.start, open=[])["Sequential"]
    assert before.lines[:2] == ("(3, 4) → (3, 2)", "5 operations, 58 parameters")
    assert before.lines[2].startswith("saved ") and len(before.lines) == 3
    assert group.lines[2].endswith(": freed")
    norm = float(torch.ones(3, 2).norm()), float(x.grad.norm())
    assert group.lines[3] == f"gradient in ‖{norm[0]:.3g}‖, out ‖{norm[1]:.3g}‖"
    assert [detail.body for detail in group.details if detail.heading == "Operations"] == ["t 2, addmm 2, relu 1"]


def test_what_repeats_says_how_often():
    assert closed(nets.rnn20(), open=["for x in xs × 20"])["18 more rounds (2 to 19)"].lines[:2] == (
        "(1, 3) → (1, 3)",
        "6 operations × 18",
    )


def test_layers_that_differ_are_no_repetition():
    w = torch.ones(2, requires_grad=True)
    with torch.record() as trace:
        with torch.scope("part"):
            y = (w * 2).exp() * 3
        y.sum().backward()
    assert closed(trace, open=[])["part"].lines[1] == "3 operations"


def test_the_flow_of_a_closed_group_tells_its_norms():
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    with torch.record() as trace:
        with torch.scope("part"):
            y = w * w * 0.5
        y.sum().backward()
    group = closed(trace, view="flow", open=[])["part"]
    assert group.lines[-1] == "gradient in ‖1.41‖, out ‖5‖"


def test_a_gradient_that_is_not_finite_is_told():
    w = torch.tensor([0.0, 4.0], requires_grad=True)
    with torch.record() as trace:
        with torch.scope("part"):
            y = (w * 1.0).sqrt()
        y.sum().backward()
    assert closed(trace, open=[])["part"].lines[-1].startswith("gradient NOT FINITE in ")


@pytest.mark.parametrize("program", nets.PROGRAMS)
def test_no_group_needs_more_than_four_lines_at_any_step(program):
    board = storyboard(program(), open=[])
    boxes = [box for k in range(len(board.steps)) for box in board.at(k).boxes.values() if box.kind == "group"]
    assert boxes
    assert all(1 <= len(box.lines) <= 4 for box in boxes)
    assert all(columns(line) <= TEXT_COLUMNS for box in boxes for line in box.lines)


def test_what_a_generator_computes_has_its_own_words_and_not_those_of_the_call_it_is_in():
    parts = [torch.ones(2, requires_grad=True) for _ in range(3)]
    with torch.record() as trace:
        loss = sum(o.sum() for o in parts)
        loss.backward()
    titles = [box.title for box in trace.show().storyboard.scene.boxes.values() if box.kind == "op"]
    added = "sum(o.sum() for o in parts)"
    assert titles == ["o.sum()", added, "o.sum(), 2nd", f"{added}, 2nd", "o.sum(), 3rd", f"loss = {added}, 3rd"]
