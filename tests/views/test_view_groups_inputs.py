"""What enters a closed group from outside stands outside of it, with an arrow; its parameters stay inside."""

from __future__ import annotations

import net_samples as nets
import pytest
from text_programs import recorded
from work_done import counted

import workbench as torch
from workbench import nn
from workbench.scene import label_places, obstacles, reading
from workbench.views import storyboard


def entering(board):
    """By the title of each closed group that is seen: the titles of the data that an arrow brings into it."""
    scene = board.at(len(board.steps) - 1)
    found = {box.title: [] for box in scene.boxes.values() if box.kind == "group"}
    for arrow in scene.arrows.values():
        upper, lower = scene.boxes[arrow.source], scene.boxes[arrow.target]
        if lower.kind == "group" and upper.kind == "constant":
            found[lower.title].append(upper.title)
    return found


LINEAR = "net(x).sum().backward()"
# A program, the groups that are open, and what an arrow brings into each closed one.
ENTERING = [
    (LINEAR.replace("x", "torch.randn(5, 4)"), [], {"net › Sequential": ["constant"]}),
    (LINEAR, [], {"net › Sequential": ["x"]}),
    (
        "with torch.scope('noisy'):\n    y = layer(x) * torch.full((5, 3), 0.5)\ny.sum().backward()",
        [],
        {"noisy": ["x"]},
    ),
]


@pytest.mark.parametrize(("program", "opened", "given"), ENTERING)
def test_what_enters_a_closed_group_stands_outside_of_it(program, opened, given):
    layer = nn.Linear(4, 3)
    trace = recorded(program, layer=layer, net=nn.Sequential(layer, nn.ReLU(), nn.Linear(3, 2)), x=torch.randn(5, 4))
    assert entering(storyboard(trace, open=opened)) == given


def test_the_input_of_attention_goes_into_each_layer_that_reads_it():
    board = storyboard(nets.attention(), open=["Attention"])
    assert [box.title for box in board.scene.boxes.values() if box.kind == "constant"] == ["x"]
    assert [title for title, given in entering(board).items() if given] == [
        "for layer in (self.q, self.k, self.v): 3 rounds"
    ]


def test_a_part_of_data_has_a_box_of_its_own():
    trace = recorded("(w * x[0]).sum().backward()", x=torch.ones(2, 3), w=torch.ones(3, requires_grad=True))
    (box,) = [box for box in storyboard(trace).scene.boxes.values() if box.kind == "constant"]
    assert box.title == "x[0]" and "shares the memory of x" in box.lines and "(3,)" in " ".join(box.lines)


def test_two_results_of_one_operation_are_told_apart_where_a_call_takes_both():
    trace = recorded("(x * 2 + x * 3).sum().backward()", x=torch.ones(2, requires_grad=True))
    captions = [step.caption for step in trace.show().storyboard.steps]
    assert any(each.startswith("add(`x * 2`, `x * 3`) gives") for each in captions)


def test_the_inputs_of_a_recurrent_net_are_one_box_with_one_arrow_while_its_cell_is_closed():
    board = storyboard(nets.rnn20(), open=["Recurrent"])
    assert entering(board)["for x in xs: 20 rounds"] == ["x[0] to x[19]"]
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


def test_data_that_were_reshaped_show_what_is_written_into_them():
    x = torch.ones(2, 3)
    w = torch.ones(6, requires_grad=True)
    with torch.record() as trace:
        y = w * x.reshape(6)
        x.mul_(7.0)
        with torch.no_grad():
            y.sum()
    board = storyboard(trace)
    titles = {box.title: box for box in board.at(len(board.steps) - 1).boxes.values() if box.kind == "constant"}
    assert "7" in " ".join(titles["x"].lines)


def test_a_part_of_a_variable_has_the_words_that_took_it():
    X, w = torch.ones(6, 3), torch.ones(3, 1, requires_grad=True)
    with torch.record() as trace:
        for a in (0, 2):
            b = a + 2
            (X[a:b] @ w).sum().backward()
            torch.mul(X[0], w).sum().backward()
            (torch.ones(3) @ w).sum().backward()
    boxes = storyboard(trace, depth=9).scene.boxes.values()
    told = {box.title for box in boxes if box.kind == "constant"}
    assert {"X[a:b]", "X[0]"} <= told and not any("view of" in title for title in told)
    assert any(box.kind == "saved" and box.title == "saved self (X[a:b])" for box in boxes)


def test_very_many_leaves_of_one_operation_are_one_box_with_it_until_it_opens():
    many = [torch.randn(2, requires_grad=True) for _ in range(100)]
    with torch.record() as trace:
        total = torch.stack(many).sum()
        total.backward()
    board = trace.show().storyboard
    assert board.layout.width < 800
    assert "torch.stack(many) (group, done): → (100, 2), 1 operation, 100 leaves" in str(trace.show())
    captions = [step.caption for step in board.steps]
    assert captions[0].startswith("stack((many[0], many[1], many[2], …, many[99]), 0) gives")
    assert any(each.endswith("to many[1], [1. 1.] to many[2] and gradients to 97 more.") for each in captions)
    opened = trace.show(open=["torch.stack(many)"]).storyboard
    assert len(opened.opened) == 1
    leaves = [box for box in opened.at().boxes.values() if box.kind == "leaf"]
    assert len(leaves) == 100


@pytest.mark.parametrize("combine", [torch.stack, torch.cat])
def test_what_has_no_room_is_not_laid_out_and_no_way_is_looked_for_among_very_many_arrows(monkeypatch, combine):
    done = counted(monkeypatch, (reading, "placed"), (obstacles.Obstacles, "way"), (label_places.LabelPlaces, "_near"))
    many = [torch.randn(2, requires_grad=True) for _ in range(110)]
    with torch.record() as trace:
        combine(many).sum().backward()
    board = trace.show().storyboard
    assert max(done.values()) <= 10
    assert board.layout.width < 800
    board.to_dict()  # as a page gets it, which can open the group
    assert done["placed"] <= 4 and done["way"] <= 20 and done["_near"] <= 10


def test_one_node_and_its_leaves_are_one_step_of_their_group_while_it_is_closed():
    many = [torch.ones(2, requires_grad=True) for _ in range(300)]
    with torch.record() as trace:
        (torch.stack(many) * 2).sum().backward()
    assert "StackBackward0 runs, and 300 leaves inside." in str(trace.show("flow"))


def test_the_input_of_a_closed_module_is_told_where_nobody_gave_it_a_name():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.last = nn.Conv2d(1, 3, 3), nn.Linear(12, 4)

        def forward(self, x):
            return self.last(torch.flatten(self.conv(x).relu(), 1)).tanh()

    net = Net()
    with torch.record() as trace:
        net(torch.randn(2, 1, 4, 4)).sum().backward()
    assert "Net (group, done): (2, 1, 4, 4) → (2, 4), " in str(trace.show(open=[]))


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
