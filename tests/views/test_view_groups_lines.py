"""A closed group says in few lines its shapes, operations, parameters and the bytes kept; its details, gradients."""

from __future__ import annotations

import net_samples as nets
import pytest
from text_programs import recorded

import workbench as torch
from workbench import nn
from workbench.scene.labels import GROUP_COLUMNS, columns
from workbench.views import storyboard


def closed(trace, k=-1, view="graph", **options):
    """The closed groups that are seen after a step, by their titles."""
    board = storyboard(trace, view, **options)
    scene = board.at(k if k >= 0 else len(board.steps) + k)
    return {box.title: box for box in scene.boxes.values() if box.kind == "group"}


def after_forward(board):
    """The last step before the first backward."""
    return next(k for k, step in enumerate(board.steps) if step.phase != "forward") - 1


def detail(box, heading):
    return [detail.body for detail in box.details if detail.heading == heading]


def test_a_module_tells_shapes_operations_parameters_bytes_and_norms():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    x = torch.ones(3, 4, requires_grad=True)
    with torch.record() as trace:
        net(x).sum().backward()
    board = storyboard(trace, open=[])
    group = closed(trace, open=[])["net › Sequential"]
    before = closed(trace, k=after_forward(board), open=[])["net › Sequential"]
    assert before.lines == ("(3, 4) → (3, 2)", "5 operations, 58 parameters, saved 336 bytes")
    assert group.lines == (before.lines[0], f"{before.lines[1]}: freed")
    assert detail(before, "Kept for backward") == ["saved 5 tensors, 336 bytes"] and not detail(before, "Gradient")
    norm = float(torch.ones(3, 2).norm()), float(x.grad.norm())
    assert detail(group, "Gradient") == [f"in ‖{norm[0]:.3g}‖, out ‖{norm[1]:.3g}‖"]
    assert detail(group, "Operations") == ["t 2, addmm 2, relu 1"]


def test_a_module_of_one_operation_tells_its_parameters_with_the_norms_of_their_gradients():
    layer, x = nn.Linear(4, 8), torch.ones(3, 4)
    with torch.record() as trace:
        layer(x).sum().backward()
    board = storyboard(trace, open=[])
    (before,), (after,) = (closed(trace, k=k, open=[]).values() for k in (after_forward(board), board.start))
    norms = [f"{float(each.grad.norm()):.3g}" for each in (layer.weight, layer.bias)]
    assert before.title == after.title == "layer › Linear"
    assert before.lines == ("(3, 4) → (3, 8)", "weight (8, 4), bias (8,)", "saved 1 tensor, 48 bytes")
    assert after.lines == (
        "(3, 4) → (3, 8)",
        f"weight (8, 4) ‖{norms[0]}‖, bias (8,) ‖{norms[1]}‖",
        "saved 1 tensor, 48 bytes: freed",
    )


def test_parameters_that_have_no_room_on_one_line_have_a_line_each():
    layer, x = nn.Conv2d(256, 1024, (3, 13)), torch.ones(1, 256, 3, 13)
    with torch.record() as trace:
        layer(x).sum().backward()
    (box,) = closed(trace, open=[]).values()
    norms = [f"{float(each.grad.norm()):.3g}" for each in (layer.weight, layer.bias)]
    assert box.lines[1:3] == (f"weight (1024, 256, 3, 13) ‖{norms[0]}‖", f"bias (1024,) ‖{norms[1]}‖")


def test_a_module_that_is_called_again_tells_its_parameters_again_and_they_stand_in_the_first_call():
    layer, x = nn.Linear(3, 3), torch.ones(2, 3)
    with torch.record() as trace:
        layer(layer(x)).sum().backward()
    board = storyboard(trace, depth=9)
    first, second = [id for id, box in board.scene.boxes.items() if box.kind == "group"]
    rows = [lines[1] for lines in (box.lines for box in closed(trace, open=[]).values())]
    norms = [f"{float(each.grad.norm()):.3g}" for each in (layer.weight, layer.bias)]
    assert rows == [f"weight (3, 3) ‖{norms[0]}‖, bias (3,) ‖{norms[1]}‖"] * 2
    leaves = {box.title: box for box in board.scene.boxes.values() if box.kind == "leaf" and box.refers is None}
    assert {box.region for box in leaves.values()} == {first}
    referring = {box.refers: box.region for box in board.scene.boxes.values() if box.refers}
    assert referring == {leaf.id: second for leaf in leaves.values()}


def test_what_repeats_says_how_often():
    assert closed(nets.rnn20(), open=["for x in xs: 20 rounds"])["18 more rounds (2 to 19)"].lines == (
        "(1, 3) → (1, 3)",
        "6 operations × 18, 24 parameters, saved 480 bytes: freed",
    )


LOSS = "with torch.scope('net'):\n    out = x @ torch.ones(3, 1, requires_grad=True)\nwith torch.scope('part'):\n"
LOSS += "    y = ((out - 0.0) ** 2).mean()\ny.backward()"
# What a scope computes, which of its lines, and how that begins: layers that differ are no repetition.
LINES = [
    ("with torch.scope('part'):\n    y = (w * 2).exp() * 3\ny.sum().backward()", 1, "3 operations, saved 24 bytes: fr"),
    ("with torch.scope('part'):\n    y = (z * 1.0).sqrt()\ny.sum().backward()", -1, "gradient NOT FINITE in "),
    (LOSS, 0, "(2, 1) → 9.0"),
]


@pytest.mark.parametrize(("program", "line", "said"), LINES)
def test_a_closed_scope_says_what_is_in_it(program, line, said):
    names = {"w": torch.ones(2, requires_grad=True), "z": torch.tensor([0.0, 4.0], requires_grad=True)}
    boxes = storyboard(recorded(program, x=torch.ones(2, 3), **names), open=[]).at().boxes.values()
    (box,) = [box for box in boxes if box.title == "part"]
    assert box.lines[line].startswith(said)


def test_the_flow_of_a_closed_group_tells_its_norms_at_its_arrows_and_in_its_details():
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    with torch.record() as trace:
        with torch.scope("part"):
            y = w * w * 0.5
        y.sum().backward()
    group = closed(trace, view="flow", open=[])["part"]
    assert detail(group, "Gradient") == ["in ‖1.41‖, out ‖5‖"]
    scene = storyboard(trace, "flow", open=[]).at()
    ways = {(arrow.source == group.id, arrow.target == group.id): arrow.label for arrow in scene.arrows.values()}
    assert "‖1.414‖" in ways[True, False] and "‖5‖" in ways[False, True]


@pytest.mark.slow
@pytest.mark.parametrize("program", nets.PROGRAMS)
def test_no_group_needs_more_than_four_lines_at_any_step(program):
    board = storyboard(program(), open=[])
    boxes = [box for k in range(len(board.steps)) for box in board.at(k).boxes.values() if box.kind == "group"]
    assert boxes
    assert all(1 <= len(box.lines) <= 4 for box in boxes)
    assert all(columns(line) <= GROUP_COLUMNS for box in boxes for line in box.lines)


def test_what_a_generator_computes_has_its_own_words_and_not_those_of_the_call_it_is_in():
    parts = [torch.ones(2, requires_grad=True) for _ in range(3)]
    with torch.record() as trace:
        loss = sum(o.sum() for o in parts)
        loss.backward()
    titles = [box.title for box in trace.show().storyboard.scene.boxes.values() if box.kind == "op"]
    added = "sum(o.sum() for o in parts)"
    last = "loss = sum(… for o in parts), 3rd"
    assert titles == ["o.sum()", added, "o.sum(), 2nd", f"{added}, 2nd", "o.sum(), 3rd", last]
