"""What a box says of a value: its title and one line where that fits; what the line leaves out is not lost."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as torch
from workbench.pictures.recording import record
from workbench.pictures.scene.labels import box_fields
from workbench.pictures.views import storyboard
from workbench.pictures.views.stepper_picture import Stage


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


@pytest.mark.parametrize("view", ["graph", "flow"])
def test_shape_and_dtype_are_told_to_who_hovers_or_cannot_see_and_to_who_clicks(view):
    boxes = told(polynomial(), view, at=3)
    for title, box in boxes.items():
        if box.kind != "output":
            assert "; () float32; " in box_fields(box)["alt"], title
        values = [detail.body for detail in box.details if detail.kind == "value"]
        assert values and all((each["shape"], each["dtype"]) == ([], "float32") for each in values), title


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


def test_the_stepper_tells_values_as_the_graph_does():
    w, x = number(3.0), torch.tensor(2.0)
    s = torch.step(w * x)
    lines = {box.title: box.lines for box in Stage(s).scene.boxes.values()}
    assert lines["w"] == ("3.0",) and lines["saved other (x)"] == ("2.0",)
