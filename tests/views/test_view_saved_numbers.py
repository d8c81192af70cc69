"""The numbers of the saved-tensor inspector: each one whole, and how to have those of a large array."""

from __future__ import annotations

import numpy as np
import pytest
from trace_samples import leaf

import workbench as torch
from workbench.pictures.recording import record
from workbench.pictures.trace.values import Value
from workbench.pictures.views import storyboard
from workbench.pictures.views.value_display import exact


def cells(array, k=0):
    """What a click on each number of a tensor shows, after step k."""
    with record() as trace:
        x = torch.tensor(array, requires_grad=True)
        x.sin()
    boxes = storyboard(trace, "saved").at(k).boxes.values()
    return [(box.title, [(each.heading, each.body) for each in box.details]) for box in boxes if box.kind == "cell"]


@pytest.mark.parametrize(
    ("array", "index", "said"),
    [
        (np.array(0.1 + 0.2), 0, "0.30000000000000004"),
        (np.array([1.0, 1 / 3]), 1, "[1] = 0.3333333333333333"),
        (np.linspace(0, 1, 12), 9, "[9] = 0.8181818181818182"),
        (np.array([[1.0, -2.0], [1e-7, np.inf]]), 2, "[1, 0] = 1e-07"),
        (np.array([[1.0, -2.0], [1e-7, np.nan]]), 3, "[1, 1] = nan"),
        (np.full((2, 2, 2), np.float32(1 / 3)), 5, "[1, 0, 1] = 0.33333334"),
        (np.full(3, np.float16(1 / 3)), 2, "[2] = 0.3333"),
    ],
)
def test_a_click_on_a_number_says_whose_it_is_where_it_lies_and_all_its_digits(array, index, said):
    assert cells(array)[index][1] == [("self (x)", said)]


def test_a_number_of_a_table_with_more_columns_than_are_drawn_has_its_own_index():
    found = cells(np.arange(60.0).reshape(3, 20))
    assert all(body.endswith(f"= {float(title)}") for title, [(_, body)] in found) and len(found) == 24
    assert found[8] == ("20", [("self (x)", "[1, 0] = 20.0")])


def test_whole_numbers_and_truths_are_said_as_they_are():
    assert exact(Value.of(np.array([[2**40 + 1]])), 0) == "[0, 0] = 1099511627777"
    assert exact(Value.of(np.array([True])), 0) == "[0] = True"


def test_where_there_is_only_a_summary_it_says_how_to_record_all():
    with record() as trace:
        leaf(*np.linspace(-1, 1, 1200)).sin()
    slot = storyboard(trace, "saved").at(0).boxes["slot0"]
    for said in (" ".join(slot.lines), slot.details[-1].body):
        assert said.startswith(("(1200,) float64", "1,200 values")) and "record(limit=1200) records them all" in said


def test_the_page_of_many_nodes_and_steps_stays_small():
    with record() as trace:
        x = torch.tensor([0.5, 0.25], requires_grad=True)
        for _ in range(33):
            x = (x * 1.01 + 0.1).sin()
        total = x.sum()
        for _ in range(9):
            total.backward(retain_graph=True)
    picture = trace.show("saved")
    assert len(picture.storyboard.steps) == 1001 and len(picture.to_html().encode()) < 400_000
