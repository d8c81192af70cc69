"""The graph view: what a beginner reads in the boxes, on the arrows and under the picture, step by step."""

from __future__ import annotations

import pytest
import trace_samples as samples
from boxes import box_named as box
from boxes import details, name_of
from trace_samples import graph_of, leaf

import workbench as torch
from workbench.pictures.recording import record
from workbench.pictures.views import storyboard

# The picture before backward.


@pytest.fixture(scope="module")
def line():
    return storyboard(samples.square_line())


def test_a_picture_opens_at_the_end_of_the_backward(line):
    assert line.title == "Graph of loss"
    assert line.start == line.still == len(line.steps) - 1
    assert line.steps[line.start].caption == "Backward pass finished." and line.steps[line.start].focus is None
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


def test_nothing_is_there_before_the_first_step_and_things_appear_with_their_line(line):
    assert {each.state for each in line.scene.boxes.values()} == {"future"}
    assert {each.state for each in line.scene.arrows.values()} == {"future"}
    first = line.at(0)
    assert [id for id, each in first.boxes.items() if each.state == "idle"] == ["t1", "n1", "n1.saved0"]
    assert line.steps[0].cursor["text"] == "y = Square.apply(x)"
    assert line.steps[0].focus == "n1"


# The backward.


def test_the_step_is_about_the_box_that_runs(line):
    running = [[id for id, each in line.at(k).boxes.items() if each.state == "running"] for k in range(4, 12)]
    assert running == [[], ["n4"], ["n3"], ["n2"], ["t3"], ["n1"], ["t1"], []]
    assert [step.focus for step in line.steps[4:]] == ["n4.out0", "n4", "n3", "n2", "t3", "n1", "t1", None]


# What a click shows.


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
