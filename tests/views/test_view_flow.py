"""The flow view: how broad arrows are, which signs they bear, where gradients add up and where one is summed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from boxes import name_of

import workbench as torch
from workbench.scene.images import to_svg
from workbench.scene.text import to_dot
from workbench.utils.checkpoint import checkpoint
from workbench.views import storyboard


def told(function, *numbers):
    """The flow of a function's gradient, and the scene after its last step."""
    leaves = [torch.tensor(each, requires_grad=True) for each in numbers]
    with torch.record() as trace:
        function(*leaves).backward()
    board = storyboard(trace, "flow")
    return board, board.at(len(board.steps) - 1)


def lines_of(board, kind="leaf", start="arrived"):
    """What stands in boxes of a kind about arriving gradients, step by step, without repetitions."""
    found = []
    for k in range(len(board.steps)):
        for box in board.at(k).boxes.values():
            said = [line for line in box.lines if line.startswith((start, "(", "+", "=")) and "float" not in line]
            if box.kind == kind and said and (not found or found[-1] != said):
                found.append(said)
    return found


def test_a_fork_adds_as_gradients_arrive():
    board, _ = told(lambda a: a * a + 3 * a, 2.0)
    assert lines_of(board) == [["arrived 3.0", "(2 still to come)"], ["arrived 3.0 + 2.0 + 2.0 = 7.0"]]
    assert [step.caption.rpartition("; ")[2] for step in board.steps[5:7]] == [
        "at leaves[0] arrived 3.0 (2 still to come).",
        "at leaves[0] arrived 3.0 + 2.0 + 2.0 = 7.0.",
    ]


def weighted(*factors):
    """Several sums of one array, each multiplied by a factor."""
    return lambda a: sum([(a * factor).sum() for factor in factors])


ROW, MANY = [1.0, 2.0, 3.0], np.ones((40, 40)).tolist()
# What a leaf says at last of the gradients that came.
ARRIVED = [
    (lambda a: a - 3 * a, 2.0, ["arrived 1.0 − 3.0 = -2.0"]),
    (lambda a: a + a + a + a + a + a, 2.0, ["+ 2 more", "= 6.0"]),
    (
        lambda a: (a * 1.5).sum() + (a * 2.25).sum(),
        ROW,
        ["arrived", "[2.25 2.25 2.25]", "+ [1.5 1.5 1.5]", "= [3.75 3.75 3.75]"],
    ),
    (
        lambda a: sum([(a * n).sum() for n in (1.0, 2.0, 3.25, 4.0)]),
        ROW,
        ["+ [3.25 3.25 3.25]", "+ 2 more", "= [10.25 10.25 10.25]"],
    ),
    (lambda a: (a * 3.0).sum() + (a * 4.0).sum(), MANY, ["arrived 2 gradients:", "‖160‖ and ‖120‖"]),
    (
        lambda a: sum([(a * n).sum() for n in (1.0, 2.0, 3.0, 4.0)]),
        MANY,
        ["arrived 4 gradients:", "‖160‖, ‖120‖ and 2 more"],
    ),
]


@pytest.mark.parametrize(("function", "value", "said"), ARRIVED)
def test_a_leaf_adds_up_what_arrived(function, value, said):
    _, scene = told(function, value)
    (leaf,) = [box for box in scene.boxes.values() if box.kind == "leaf"]
    assert list(leaf.lines[-len(said) :]) == said


# The breadth and the tone of arrows, by the first line of their labels.
LOOKS = [
    (
        lambda a: (a * torch.tensor([1.0, -1.0])).sum() * -1000.0,
        [1.0, 2.0],
        {"1.0": (1, "plus"), "-1000.0": (4, "minus"), "[-1000. -1000.]": (4, "minus"), "[-1000. 1000.]": (4, "mixed")},
    ),
    (lambda a: (a * 1.5e308).sum(), [1.0, 2.0], {"1.0": (4, "plus"), "[inf inf]": (4, "bad")}),
    (lambda a: a.relu() * 2, -1.0, {"1.0": (3, "plus"), "2.0": (4, "plus"), "0.0": (1, "faint")}),
]


@pytest.mark.parametrize(("function", "value", "looks"), LOOKS)
def test_breadth_follows_the_norm_and_color_the_sign(function, value, looks):
    _, scene = told(function, value)
    assert not any(box.kind == "saved" for box in scene.boxes.values()) and all(a.label for a in scene.arrows.values())
    found = {arrow.label.split("\n")[0]: (arrow.weight, arrow.tone) for arrow in scene.arrows.values() if arrow.weight}
    assert {label: found.get(label) for label in looks} == looks, found
    assert ("0.0\nzero" in [arrow.label for arrow in scene.arrows.values()]) == ("0.0" in looks)


def test_a_node_with_two_outputs_adds_for_each():
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.record() as trace:
        one, two = (2 * a).unbind()
        (one * 3 + two * 4 + two * 5).backward()
    board = storyboard(trace, "flow")
    (box,) = [box for box in board.at(len(board.steps) - 1).boxes.values() if name_of(box) == "UnbindBackward0"]
    assert box.lines[-1] == "output 1 5.0 + 4.0 = 9.0"


def test_broadcasting_says_both_shapes():
    rows = torch.ones(4, 3)
    board, scene = told(lambda bias: (rows + bias).sum(), [0.0, 0.0, 0.0])
    (label,) = [arrow.label for arrow in scene.arrows.values() if "summed" in arrow.label]
    assert label == "[4. 4. 4.]\n‖6.928‖ all +\n(4, 3) summed to (3,)"
    assert "the gradient for leaves[0] is (4, 3) summed to (3,), as the value was repeated" in board.steps[4].caption


@pytest.mark.parametrize(
    "function",
    [
        lambda a: torch.cat([a, a * 2]).sum(),
        lambda a: torch.stack([a, a]).sum(),
        lambda a: (a.reshape(1, 2) * torch.ones(1, 2)).sum(),
        lambda a: (a.reshape(2, 1) @ torch.ones(1, 3)).sum(),
        lambda a: a.sum(),
    ],
)
def test_what_is_no_sum_of_repeated_values_is_not_said_to_be_one(function):
    _, scene = told(function, [1.0, 2.0])
    assert not any("summed" in arrow.label for arrow in scene.arrows.values())


def test_every_label_of_an_array_says_its_signs():
    _, scene = told(lambda a: (a * torch.tensor([0.0, 1.0, 2.0])).sum() + (a * -1).sum() * 3, [1.0, 2.0, 3.0])
    signs = {line.split("‖ ")[1] for arrow in scene.arrows.values() for line in arrow.label.split("\n") if "‖" in line}
    assert signs == {"all +", "+ and 0", "all −"}
    _, scene = told(lambda a: sum((a * torch.tensor(by)).sum() for by in ([-1.0, 0.0], [-1.0, 2.0])), [1.0, 2.0])
    signs = {line.split("‖ ")[1] for arrow in scene.arrows.values() for line in arrow.label.split("\n") if "‖" in line}
    assert signs == {"− and 0", "+ and −", "all +"}  # the last of the gradients into both sums


def test_a_gradient_that_vanishes_and_one_that_is_not_finite_have_a_word_and_a_look():
    _, scene = told(lambda a, b: a.sqrt() + (b * 1e-9).sigmoid(), 0.0, 1.0)
    odd = {arrow.label: (arrow.weight, arrow.tone) for arrow in scene.arrows.values() if "\n" in arrow.label}
    assert odd == {"inf\nNOT FINITE": (4, "bad"), "2.5e-10\nVANISHING": (1, "faint")}
    warned = [box.lines[-1] for box in scene.boxes.values() if box.kind == "leaf"]
    assert warned == ["gradient NOT FINITE", "gradient VANISHING"]


def test_a_second_backward_starts_afresh():
    a = torch.tensor(2.0, requires_grad=True)
    with torch.record() as trace:
        y = a * a
        y.backward(retain_graph=True)
        y.backward()
    board = storyboard(trace, "flow")
    assert board.title == "Gradient flow of y"
    sums = [[line for line in board.at(k).boxes["t1"].lines if "=" in line] for k in range(len(board.steps))]
    once = ["arrived 2.0 + 2.0 = 4.0"]
    assert sums == [[], [], once, once, once, [], once, once, once]


def test_all_faces_have_the_breadths(tmp_path):
    board, _ = told(lambda a, b: a.sqrt() - b, 0.0, 1.0)
    k = len(board.steps) - 1
    svg = to_svg(board, k)
    assert "wb-weight-4 wb-tone-bad" in svg and "wb-tone-minus" in svg
    assert "penwidth=6.5" in to_dot(board, k)
    arrows = board.to_dict()["arrows"]
    assert all(arrow["weight"] == 0 and arrow["tone"] == "" for arrow in arrows)
    assert any(change.get("tone") == "bad" for step in board.to_dict()["steps"] for change in step["arrows"].values())


def test_values_too_many_to_keep_are_still_drawn():
    with torch.record(limit=2) as trace:
        a = torch.tensor([1.0, 2.0, math.inf], requires_grad=True)
        (a * a + a).sum().backward()
    board = storyboard(trace, "flow")
    (leaf,) = [box for box in board.at(len(board.steps) - 1).boxes.values() if box.kind == "leaf"]
    assert "gradient NOT FINITE" in leaf.lines


def arrivals(trace):
    """What captions say of what has arrived."""
    captions = [step.caption for step in storyboard(trace, "flow").steps]
    return [caption.partition("at w arrived ")[2] for caption in captions if "at w arrived" in caption]


def test_what_came_in_an_earlier_backward_through_another_graph_is_not_added():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.record() as trace:
        for k in range(3):
            ((w * 3).sum() + (w * (4 + k)).sum()).backward()
            w.grad = None
    assert arrivals(trace) == [
        "[4. 4.] (1 still to come).",
        "[4. 4.] + [3. 3.] = [7. 7.].",
        "[5. 5.] (1 still to come).",
        "[5. 5.] + [3. 3.] = [8. 8.].",
        "[6. 6.] (1 still to come).",
        "[6. 6.] + [3. 3.] = [9. 9.].",
    ]
    board = storyboard(trace, "flow")
    (w_box,) = [box for box in board.at(len(board.steps) - 1).boxes.values() if box.kind == "leaf"]
    assert w_box.lines[-1] == "arrived [6. 6.] + [3. 3.] = [9. 9.]"


def test_a_backward_inside_a_backward_adds_its_own():
    w = torch.tensor(2.0, requires_grad=True)
    with torch.record() as trace:
        part = checkpoint(lambda x: (x * w).exp() * w, w * 0.0, use_reentrant=True)
        (part + w * 5).backward()
    assert arrivals(trace) == [
        "5.0 (1 still to come).",
        "1.0 (1 still to come).",
        "1.0 + 0.0 = 1.0.",
        "5.0 + 0.0 = 5.0.",
    ]


def test_the_flow_of_a_small_network_opens_layer_by_layer_in_a_window():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    with torch.record() as trace:
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
    board = trace.show("flow").storyboard
    seen = {box.title: box for box in board.at().boxes.values()}
    assert len(seen) <= 25 and board.layout.width <= 962 / 0.6 and board.layout.height <= 558 / 0.6
    assert {"net › Sequential", "0 › Linear", "1 › Tanh", "2 › Linear", "net(x) - y"} <= seen.keys()
    assert not {"x", "y"} & seen.keys()
    for title, layer, shapes in (
        ("0 › Linear", net[0], "(16, 4) → (16, 8)"),
        ("2 › Linear", net[2], "(16, 8) → (16, 1)"),
    ):
        rows = [f"{name} {tuple(p.shape)} ‖{p.grad.norm().item():.3g}‖" for name, p in layer.named_parameters()]
        assert seen[title].lines == (shapes, ", ".join(rows))
    closed = trace.show("flow", depth=0).storyboard.at().boxes.values()
    (whole,) = [box for box in closed if box.title == "net › Sequential"]
    norms = [math.hypot(*[p.grad.norm().item() for p in layer.parameters()]) for layer in (net[0], net[2])]
    assert whole.lines == (
        f"49 parameters, grad ‖{math.hypot(*norms):.3g}‖",
        f"net.0 ‖{norms[0]:.3g}‖, net.2 ‖{norms[1]:.3g}‖",
    )


@pytest.mark.parametrize("depth", [None, 5])
def test_data_in_a_long_row_have_no_box_where_gradients_flow(depth):
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    xs = [torch.tensor([float(i), 1.0, 2.0]) for i in range(20)]
    with torch.record() as trace:
        sum((w * x).sum() for x in xs).backward()
    board = trace.show("flow", depth=depth).storyboard
    assert board.layout.boxes and not any(box.kind == "constant" for box in board.at().boxes.values())
    assert any(box.id == "row.xs" for box in trace.show().storyboard.at().boxes.values())


def words_of(trace, name):
    """What stands out about the gradient of a leaf, on its box and on the arrow from it."""
    board = trace.show("flow", depth=9).storyboard
    scene = board.at(len(board.steps) - 1)
    (box,) = [each for each in scene.boxes.values() if each.title == name]
    (arrow,) = [each for each in scene.arrows.values() if each.source == box.id]
    return box.lines[-1], arrow.label.split("\n")[-1]


def test_a_bias_before_a_norm_has_a_gradient_that_is_zero_but_for_rounding():
    torch.manual_seed(0)
    first, norm, second = torch.nn.Linear(4, 5), torch.nn.BatchNorm1d(5), torch.nn.Linear(5, 2)
    with torch.record() as trace:
        (second(norm(first(torch.randn(8, 4)))) ** 2).mean().backward()
    assert words_of(trace, "first.bias") == ("gradient zero but for rounding", "zero but for rounding")
    assert 0 < float(first.bias.grad.norm()) < 1e-6


def test_a_gradient_that_a_small_factor_made_small_vanishes():
    bias = torch.zeros(5, requires_grad=True)
    with torch.record() as trace:
        ((torch.ones(8, 5) + bias) * 1e-7).sum().backward()
    assert words_of(trace, "bias") == ("gradient VANISHING", "VANISHING")
