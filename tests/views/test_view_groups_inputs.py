"""What enters a closed group from outside stands outside of it, with an arrow; its parameters stay inside."""

from __future__ import annotations

import net_samples as nets
import pytest
from work_done import counted

import workbench as torch
from workbench.pictures.scene import label_places, obstacles, siblings
from workbench.pictures.views import storyboard


def entering(board):
    """By the title of each closed group that is seen: the titles of the data that an arrow brings into it."""
    scene = board.at(len(board.steps) - 1)
    found = {box.title: [] for box in scene.boxes.values() if box.kind == "group"}
    for arrow in scene.arrows.values():
        upper, lower = scene.boxes[arrow.source], scene.boxes[arrow.target]
        if lower.kind == "group" and upper.kind == "constant":
            found[lower.title].append(upper.title)
    return found


def test_the_input_of_attention_goes_into_each_layer_that_reads_it():
    board = storyboard(nets.attention(), open=["Attention"])
    assert [box.title for box in board.scene.boxes.values() if box.kind == "constant"] == ["x"]
    assert [title for title, given in entering(board).items() if given] == [
        "for layer in (self.q, self.k, self.v): 3 iterations"
    ]


def test_the_inputs_of_a_recurrent_net_are_one_box_with_one_arrow_while_its_cell_is_closed():
    board = storyboard(nets.rnn20(), open=["Recurrent"])
    assert entering(board)["for x in xs: 20 iterations"] == ["x[0] to x[19]"]
    (box,) = [box for box in board.scene.boxes.values() if box.title == "x[0] to x[19]"]
    assert box.lines[0] == "20 tensors" and "(1, 3)" in box.lines[1] and box.region is None
    x7 = next(box for box in board.scene.boxes.values() if box.title == "x[7]")
    assert x7.region is not None
    assert [arrow.source for arrow in board.scene.arrows.values() if arrow.target == x7.id] == [box.id]


def test_batches_of_one_name_are_one_box_too():
    w = torch.tensor(2.0, requires_grad=True)

    def step(k):
        batch = torch.tensor(float(k))
        with torch.scope("step"):
            loss = (w * batch - 1.0) ** 2
        loss.backward()

    with torch.record() as trace:
        list(map(step, range(14)))  # no loop, whose steps would be a film
    board = storyboard(trace, open=[])
    (box,) = [box for box in board.scene.boxes.values() if box.title == "batch" and "14 tensors" in box.lines]
    assert {titles[0] for titles in entering(board).values()} == {"batch"}
    assert box.region is None


def test_very_many_leaves_of_one_operation_are_one_box_with_it_until_it_opens():
    many = [torch.randn(2, requires_grad=True) for _ in range(100)]
    with torch.record() as trace:
        total = torch.stack(many).sum()
        total.backward()
    board = trace.show().storyboard
    assert board.layout.width < 800
    assert "torch.stack(many) (group, done): → (100, 2), 1 operation, 100 leaves" in str(trace.show())
    captions = [step.caption for step in board.steps]
    assert any(each.endswith("to `many[1]`, [1. 1.] to `many[2]` and gradients to 97 more.") for each in captions)
    opened = trace.show(open=["torch.stack(many)"]).storyboard
    assert len(opened.opened) == 1
    leaves = [box for box in opened.at().boxes.values() if box.kind == "leaf"]
    assert len(leaves) == 100


@pytest.mark.parametrize("combine", [torch.stack, torch.cat])
def test_what_has_no_room_is_not_laid_out_and_no_way_is_looked_for_among_very_many_arrows(monkeypatch, combine):
    done = counted(monkeypatch, (siblings, "placed"), (obstacles.Obstacles, "way"), (label_places.LabelPlaces, "_near"))
    many = [torch.randn(2, requires_grad=True) for _ in range(110)]
    with torch.record() as trace:
        combine(many).sum().backward()
    board = trace.show().storyboard
    assert max(done.values()) <= 10
    assert board.layout.width < 800
    board.to_dict()  # as a page gets it, which can open the group
    # Once as it stands and once as it can be opened, at each density.
    assert done["placed"] <= 16 and done["way"] <= 60 and done["_near"] <= 30


def test_what_repeats_once_each_is_counted_alone():
    def power(x, n):
        if n == 0:
            return torch.ones(())
        half = power(x, n // 2)
        return half * half * x if n % 2 else half * half

    with torch.record() as trace:
        x = torch.tensor(1.5, requires_grad=True)
        power(x, 13).backward()
    shown = str(trace.show(open=[]))
    assert "operations, saved" in shown and "1 operation ×" not in shown
