"""What a box says of a value: its title and one line where that fits; what the line leaves out is not lost."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as torch
from workbench.recording import record
from workbench.scene.labels import box_fields
from workbench.views import storyboard
from workbench.views.stepper_picture import Stage


def number(value):
    return torch.tensor(value, requires_grad=True)


def polynomial():
    with record() as trace:
        w, b, x = number(3.0), number(0.5), torch.tensor(2.0)
        loss = ((w * x + b) - 7) ** 2
        loss.backward()
    return trace


def told(trace, view="graph", at=None):
    board = storyboard(trace, view)
    scene = board.at(len(board.steps) - 1) if at is None else board.at(at)
    return {box.title: box for box in scene.boxes.values()}


def test_a_number_has_one_line_without_shape_and_dtype():
    lines = {title: box.lines for title, box in told(polynomial()).items()}
    assert lines == {
        "w": ("3.0", "grad -2.0"),
        "x": ("2.0, no gradient",),
        "w * x": ("MulBackward0  6.0",),
        "saved other (x)": (),  # freed
        "b": ("0.5", "grad -1.0"),
        "w * x + b": ("AddBackward0  6.5",),
        "(w * x + b) - 7": ("SubBackward0  -0.5",),
        "loss = ((w * x + b) - 7) ** 2": ("PowBackward0  0.25",),
        "saved self": (),
        "loss": ("seed 1.0",),
    }
    assert [box.lines for title, box in told(polynomial(), at=3).items() if "saved" in title] == [("2.0",), ("-0.5",)]


@pytest.mark.parametrize("view", ["graph", "flow"])
def test_shape_and_dtype_are_told_to_who_hovers_or_cannot_see_and_to_who_clicks(view):
    boxes = told(polynomial(), view, at=3)
    for title, box in boxes.items():
        if box.kind != "output":
            assert "; () float32; " in box_fields(box)["alt"], title
        values = [detail.body for detail in box.details if detail.kind == "value"]
        assert values and all((each["shape"], each["dtype"]) == ([], "float32") for each in values), title


def test_shapes_and_dtypes_that_are_not_the_usual_ones_are_on_the_line():
    with record() as trace:
        x = torch.tensor([1.0, 3.0], requires_grad=True)
        c, d = torch.tensor([4, 5]), torch.tensor(2, dtype=torch.int64)
        y = (x * c).double() * d
    lines = {title: box.lines for title, box in told(trace).items()}
    assert (lines["x"], lines["c"], lines["d"]) == (
        ("(2,)  [1. 3.]",),
        ("(2,) int64  [4 5], no gradient",),
        ("int64  2, no gradient",),
    )
    assert lines["(x * c).double()"] == ("ToCopyBackward0 (2,) float64  [4. 15.]",)
    assert lines["saved other (c)"] == ("(2,) int64  [4 5]",) and lines["saved other (d)"] == ("int64  2",)
    assert y.dtype == torch.float64


def test_what_a_node_made_has_its_shape_and_its_numbers_where_they_have_room():
    with record() as trace:
        x = torch.tensor(np.linspace(-1.23456, 1.61234, 40, dtype=np.float32).reshape(5, 8), requires_grad=True)
        (x.exp() * torch.ones(5, 8)).sum().backward()
    boxes = told(trace)
    assert boxes["x"].lines[:2] == ("(5, 8)", "from -1.23 to 1.61")
    assert boxes["x.exp()"].lines == ("ExpBackward0 (5, 8)",)
    (saved,) = told(trace, at=1)["saved result"].lines
    assert saved == "(5, 8)"
    alt = {title: box_fields(box)["alt"] for title, box in boxes.items()}
    assert "; (5, 8) float32; ExpBackward0 (5, 8); " in alt["x.exp()"] and "; (5, 8) float32; " in alt["x"]
    (whole,) = [each.body["text"] for each in boxes["x.exp()"].details if each.heading == "Output"]
    assert whole.count("0.291") == whole.count("5.015") == 1 and len(whole) > 200


def test_a_box_says_the_least_and_the_largest_of_many_and_a_click_the_mean():
    with record(limit=0) as trace:
        torch.tensor(np.linspace(-1, 3, 200).reshape(20, 10), requires_grad=True).sum()
    leaf = told(trace)["leaf"]
    assert leaf.lines == ("(20, 10) float64", "from -1 to 3")
    assert [each.body["text"] for each in leaf.details if each.heading == "Value"] == ["from -1 to 3, mean 1"]


def test_a_constant_says_on_its_first_line_that_it_needs_no_gradient():
    with record() as trace:
        x, c = torch.ones(5, 8, requires_grad=True), torch.tensor(np.arange(40.0, dtype=np.float32).reshape(5, 8))
        x * c
    assert told(trace)["c"].lines == ("(5, 8), no gradient",)


def test_the_stepper_tells_values_as_the_graph_does():
    w, x = number(3.0), torch.tensor(2.0)
    s = torch.step(w * x)
    lines = {box.title: box.lines for box in Stage(s).scene.boxes.values()}
    assert lines["w"] == ("3.0", "no gradient yet") and lines["saved other (x)"] == ("2.0",)
