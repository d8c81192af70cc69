"""A closed group says in few lines its shapes, operations, parameters and the bytes held; its details, gradients."""

from __future__ import annotations

import net_samples as nets
import pytest

import workbench as torch
from workbench import nn
from workbench.pictures.scene.metric import GROUP_COLUMNS, columns
from workbench.pictures.views import storyboard


def closed(trace, k=-1, view="graph", **options):
    """The closed groups that are seen after a step, by their titles."""
    board = storyboard(trace, view, **options)
    scene = board.at(k if k >= 0 else len(board.steps) + k)
    return {box.title: box for box in scene.boxes.values() if box.kind == "group"}


def detail(box, heading):
    return [detail.body for detail in box.details if detail.heading == heading]


def test_a_module_that_is_called_again_tells_its_parameters_again_and_they_stand_in_the_first_call():
    layer, x = nn.Linear(3, 3), torch.ones(2, 3)
    with torch.record() as trace:
        layer(layer(x)).sum().backward()
    board = storyboard(trace, depth=9)
    first, second = [id for id, box in board.scene.boxes.items() if box.kind == "group"]
    rows = [lines[1:3] for lines in (box.lines for box in closed(trace, open=[]).values())]
    norms = [f"{float(each.grad.norm()):.3g}" for each in (layer.weight, layer.bias)]
    assert rows == [(f"weight (3, 3), grad norm {norms[0]}", f"bias (3,), grad norm {norms[1]}")] * 2
    leaves = {box.title: box for box in board.scene.boxes.values() if box.kind == "leaf" and box.refers is None}
    assert {box.region for box in leaves.values()} == {first}
    referring = {box.refers: box.region for box in board.scene.boxes.values() if box.refers}
    assert referring == {leaf.id: second for leaf in leaves.values()}


def test_what_repeats_says_how_often():
    assert closed(nets.rnn20(), open=["for x in xs: 20 iterations"])["18 more iterations (2 to 19)"].lines == (
        "(1, 3) → (1, 3)",
        "6 operations × 18, 24 parameters, saved 480 bytes: freed",
    )


@pytest.mark.slow
@pytest.mark.parametrize("program", nets.PROGRAMS)
def test_no_group_needs_more_than_four_lines_at_any_step(program):
    board = storyboard(program(), open=[])
    boxes = [box for k in range(len(board.steps)) for box in board.at(k).boxes.values() if box.kind == "group"]
    assert boxes
    assert all(1 <= len(box.lines) <= 4 for box in boxes)
    assert all(columns(line) <= GROUP_COLUMNS for box in boxes for line in box.lines)
