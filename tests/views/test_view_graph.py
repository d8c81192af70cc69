"""The graph view: what a beginner reads in the boxes, on the arrows and under the picture, step by step."""

from __future__ import annotations

import pytest
import trace_samples as samples
from boxes import before_backward, details, last, name_of
from boxes import box_named as box
from trace_samples import graph_of, leaf

import workbench as torch
from workbench.recording import record
from workbench.views import storyboard

# The picture before backward.


@pytest.fixture(scope="module")
def line():
    return storyboard(samples.square_line())


def test_a_picture_opens_at_the_end_of_the_backward(line):
    assert line.title == "Graph of loss"
    assert line.start == line.still == len(line.steps) - 1
    assert line.steps[line.start].caption == "The backward pass is over." and line.steps[line.start].focus is None
    scene = line.at()
    assert {each.state for each in scene.boxes.values() if each.kind != "saved"} == {"done", "idle"}
    assert {each.state for each in scene.boxes.values() if each.kind == "saved"} == {"freed"}
    assert [each.title for each in scene.boxes.values() if each.state == "idle"] == ["b"]
    assert all(each.label for each in scene.arrows.values() if each.kind == "edge")


def test_without_a_backward_it_opens_at_its_end():
    with record() as trace:
        y = leaf(2.0).exp().sin()
    board = storyboard(trace)
    assert board.start == board.still == len(board.steps) - 1 == 1
    assert {each.state for each in board.at().boxes.values()} == {"idle"} and y.requires_grad


def test_each_box_says_what_it_is(line):
    boxes = [(each.kind, each.title, each.lines, each.holder) for each in before_backward(line).boxes.values()]
    assert boxes == [
        ("leaf", "x", ("(3,) float64  [1. 2. 3.]",), None),
        ("function", "y = Square.apply(x)", ("SquareBackward (3,) float64", "[1. 4. 9.]"), None),
        ("saved", "saved x", ("(3,) float64  [1. 2. 3.]",), "n1"),
        ("leaf", "w", ("(3,) float64  [2. 2. 2.]",), None),
        ("op", "y * w", ("MulBackward0 (3,) float64  [2. 8. 18.]",), None),
        ("saved", "saved other (w)", ("(3,) float64  [2. 2. 2.]",), "n2"),
        ("saved", "saved self (y)", ("(3,) float64  [1. 4. 9.]",), "n2"),
        ("constant", "b", ("(3,) float64  [1. 1. 1.]", "no gradient"), None),
        ("op", "z = y * w + b", ("AddBackward0 (3,) float64  [3. 9. 19.]",), None),
        ("op", "loss = z.sum()", ("SumBackward0 float64  31.0",), None),
        ("output", "loss", (), None),
    ]


def test_arrows_lead_from_what_made_a_value_to_what_used_it_in_the_order_of_arguments(line):
    scene = before_backward(line)
    arrows = [
        (name_of(scene.boxes[each.source]), name_of(scene.boxes[each.target]), each.kind, each.label)
        for each in scene.arrows.values()
        if each.kind != "same"
    ]
    assert arrows == [
        ("x", "SquareBackward", "edge", ""),
        ("SquareBackward", "MulBackward0", "edge", ""),
        ("w", "MulBackward0", "edge", ""),
        ("MulBackward0", "AddBackward0", "edge", ""),
        ("b", "AddBackward0", "constant", ""),
        ("SumBackward0", "loss", "edge", ""),
        ("AddBackward0", "SumBackward0", "edge", ""),
    ]


def test_nothing_is_there_before_the_first_step_and_things_appear_with_their_line(line):
    assert {each.state for each in line.scene.boxes.values()} == {"future"}
    assert {each.state for each in line.scene.arrows.values()} == {"future"}
    first = line.at(0)
    assert [id for id, each in first.boxes.items() if each.state == "idle"] == ["t1", "n1", "n1.saved0"]
    assert line.steps[0].cursor["text"] == "y = Square.apply(x)"
    assert line.steps[0].focus == "n1"


# The backward.


def test_the_gradient_travels_the_edges(line):
    seen = [
        [(each.state, each.label) for each in line.at(k).arrows.values() if each.state not in ("idle", "future")]
        for k in range(len(line.steps))
    ]
    seed, ones = "1.0", "[1. 1. 1.]  ‖1.73‖"
    to_square, to_w = "[2. 2. 2.]  ‖3.46‖", "[1. 4. 9.]  ‖9.9‖"
    assert seen[:4] == [[]] * 4
    assert seen[4] == [("flowing", seed)]
    assert seen[5] == [("done", seed), ("flowing", f"{ones}\ngrad, repeated to (3,)")]
    assert seen[6] == [("flowing", f"{ones}\ngrad, unchanged"), ("done", seed), ("done", ones)]
    to_square += "\ngrad × w, elementwise"
    to_w += "\ngrad × y, elementwise"
    assert seen[7] == [("flowing", to_square), ("flowing", to_w), ("done", ones), ("done", seed), ("done", ones)]
    assert {state for state, _ in seen[11]} == {"done"} and len(seen[11]) == 6


def test_saved_tensors_are_freed_when_their_node_has_run(line):
    freed = [[id for id, each in line.at(k).boxes.items() if each.state == "freed"] for k in range(len(line.steps))]
    assert freed[6:10] == [[], ["n2.saved0", "n2.saved1"], ["n2.saved0", "n2.saved1"], [
        "n1.saved0", "n2.saved0", "n2.saved1"
    ]]  # fmt: skip
    assert last(line).boxes["n1.saved0"].lines == ("(3,) float64",)


def test_leaves_fill_up(line):
    lines = [line.at(k).boxes["t1"].lines for k in range(len(line.steps))]
    assert lines[9] == ("(3,) float64  [1. 2. 3.]",)
    assert lines[10] == ("(3,) float64  [1. 2. 3.]", "grad [4. 8. 12.]")
    assert box(last(line), "loss").lines == ("seed 1.0",)


def test_the_step_is_about_the_box_that_runs(line):
    running = [[id for id, each in line.at(k).boxes.items() if each.state == "running"] for k in range(4, 12)]
    assert running == [[], ["n4"], ["n3"], ["n2"], ["t3"], ["n1"], ["t1"], []]
    assert [step.focus for step in line.steps[4:]] == ["n4.out0", "n4", "n3", "n2", "t3", "n1", "t1", None]


# What a click shows.


def test_a_functions_details_hold_its_source_and_what_came_and_went(line):
    square = last(line).boxes["n1"]
    assert "ctx.save_for_backward(x)" in details(square, "Forward")[0]
    assert "return 2 * x * grad_output" in details(square, "Backward")[0]
    assert details(square, "Made at") == [f"trace_samples.py, line {line.steps[0].cursor['line']}: y = Square.apply(x)"]
    (given,) = details(square, "Input")
    assert given == {"name": "x", "shape": [3], "dtype": "float64", "text": "[1. 2. 3.]", "norm": 3.742}
    assert details(square, "Gradient in")[0]["text"] == "[2. 2. 2.]"
    assert details(square, "Gradient out")[0]["text"] == "[4. 8. 12.]"
    assert details(square, "Saved") == ["What was saved is freed: this node cannot run again."]
    before = before_backward(line).boxes["n1"]
    assert details(before, "Saved")[0]["name"] == "x"
    assert details(before, "Gradient out") == []


def test_an_operations_details_hold_its_formulas(line):
    mul = line.at().boxes["n2"]
    assert details(mul, "Backward") == ["self: grad * other\nother: grad * self"]
    assert [body["name"] for body in details(mul, "Input")] == ["y", "w"]


def test_an_operations_details_hold_a_number_as_it_was_given():
    with record() as trace:
        leaf(1.0).pow(2.5)
    power = last(storyboard(trace)).boxes["n1"]
    assert details(power, "Input")[1:] == ["2.5"]


def test_a_setup_context_is_shown_where_there_is_one():
    class Cube(torch.Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * grad

    x = leaf(2.0)
    shown = box(storyboard(graph_of(Cube.apply(x))).at(), "CubeBackward")
    assert [detail.heading for detail in shown.details if detail.kind == "code"] == [
        "Forward",
        "setup_context",
        "Backward",
    ]


def test_a_function_without_source_is_shown_without_it():
    names = {"Function": torch.Function}
    exec(
        "class Bare(Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x): return x.clone()\n"
        "    @staticmethod\n"
        "    def backward(ctx, grad): return grad\n",
        names,
    )
    x = leaf(2.0)
    shown = box(storyboard(graph_of(names["Bare"].apply(x))).at(), "BareBackward")
    assert [detail.kind for detail in shown.details if detail.kind == "code"] == []


# What waits at a node that several backwards reach.


def waiting_at(board, title):
    """What has arrived at a node while it waits, step by step, without repetitions."""
    told = []
    for k in range(len(board.steps)):
        found = [each for each in board.at(k).boxes.values() if name_of(each) == title]
        told += [said for each in found if (said := [b["text"] for b in details(each, "Gradient waiting")])]
    return [now for before, now in zip([None, *told], told, strict=False) if now != before]


def test_what_waits_is_what_this_backward_brought():
    x = leaf([1.0, 2.0])
    with torch.record() as trace:
        y = x.exp()
        (y * 3).sum().backward(retain_graph=True)
        ((y * 4).sum() + (y * 5).sum()).backward()
    assert waiting_at(storyboard(trace), "ExpBackward0") == [["[3. 3.]"], ["[5. 5.]"], ["[5. 5.]", "[4. 4.]"]]


def test_what_waits_is_told_of_the_backward_that_still_brings_something():
    x = leaf(1.0)
    with torch.record() as trace:
        y = x.exp()

        def again(grad):
            third.backward(retain_graph=True)

        first, second, third = y * 2, y * 3, y * 7
        first.register_hook(again)
        (first + second).backward(retain_graph=True)
    assert waiting_at(storyboard(trace), "ExpBackward0") == [["3.0"], ["7.0"], ["3.0", "2.0"]]
