"""Gradients that are cleared, set or written by hand, and the phases of a training step, as pictures tell them."""

from __future__ import annotations

import pytest
from trace_samples import leaf, of_kind

import workbench as torch
from workbench.pictures.recording import load, record
from workbench.pictures.views import storyboard


def cleared(clear):
    """A backward, and what is done to the gradient after it."""
    with record() as trace:
        x = leaf(1.0, 2.0)
        loss = (x * x).sum()
        loss.backward()
        exec(clear)
    return trace


# What is done to a gradient, the step that tells of it, and the numbers that are left.
CHANGES = {
    "x.grad = None": ("`x.grad` is cleared.", None),
    "del x.grad": ("`x.grad` is cleared.", None),
    "x.grad.zero_()": ("`x.grad` is cleared: zero_ makes it [0. 0.].", (0.0, 0.0)),
    "x.grad.data.zero_()": ("`x.grad` is cleared: zero_ makes it [0. 0.].", (0.0, 0.0)),
    "x.grad.detach_().zero_()": ("`x.grad` is cleared: zero_ makes it [0. 0.].", (0.0, 0.0)),
    "x.grad /= 2": ("div_ writes into `x.grad`: now [1. 2.].", (1.0, 2.0)),
    "x.grad[0] = 7.0": ("copy_ writes into `x.grad`: now [7. 4.].", (7.0, 4.0)),
    "x.grad = torch.ones(2, dtype=torch.float64)": ("`x.grad` is set to [1. 1.].", (1.0, 1.0)),
}


@pytest.mark.parametrize("clear", CHANGES)
def test_a_gradient_that_is_cleared_or_written_is_a_step_and_its_leaf_shows_no_other(clear, tmp_path):
    trace, (caption, left) = cleared(clear), CHANGES[clear]
    trace.save(tmp_path / "trace.json")
    for each in (trace, load(tmp_path / "trace.json")):
        board = storyboard(each)
        step = board.steps[-1]
        assert (step.caption, step.phase, step.focus) == (caption, "update", "t1")
        frame = each.frame(len(each.events))
        grad = frame.tensors["t1"].grad
        assert (None if grad is None else grad.values) == left
        (box,) = [box for box in board.at(len(board.steps) - 1).boxes.values() if box.kind == "leaf"]
        assert [line for line in box.lines if line.startswith("grad")] == (
            [] if left is None else [f"grad {grad.text()}"]
        )


def test_zero_grad_is_one_step_for_all_parameters():
    net = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(5)])
    with record() as trace:
        net.zero_grad()  # nothing to clear: no step
        loss = net(torch.ones(1, 2)).sum()
        loss.backward()
        net.zero_grad()
        net.zero_grad()
        loss = net(torch.ones(1, 2)).sum()
        loss.backward()
        net.zero_grad(set_to_none=False)
    steps = storyboard(trace).steps
    captions = [step.caption for step in steps if "cleared" in step.caption]
    names = [f"`net.{n}.{kind}.grad`" for n in range(3) for kind in ("weight", "bias")]
    assert captions == [f"{', '.join(names)} and 4 more are cleared."] * 2
    assert [step.phase for step in steps if "cleared" in step.caption] == ["update"] * 2
    assert len(of_kind(trace, "GradChanged")) == 20


def test_a_hook_that_clears_what_it_has_used_is_told_with_its_leaf():
    with record() as trace:
        x = leaf(1.0, 2.0)

        def use(t):
            t.grad = None

        x.register_post_accumulate_grad_hook(use)
        (x * x).sum().backward()
    assert not of_kind(trace, "GradChanged")
    assert (
        "post-accumulate hook use of `x` changed `x.grad` [2. 4.] to no gradient" in storyboard(trace).steps[-2].caption
    )


def test_a_gradient_of_what_no_graph_has_met_is_no_step():
    with record() as trace:
        x = leaf(1.0, 2.0)
        x.grad = torch.ones(2, dtype=torch.float64)
        x.grad = None
        torch.zeros(2).zero_()
    assert not trace.events


def test_a_gradient_from_before_the_recording_is_known_too():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    with record() as trace:
        loss = (x * 3.0).sum()
        x.grad.zero_()
        loss.backward()
    assert "`x.grad` is cleared: zero_" in storyboard(trace).steps[2].caption
    assert "`x.grad` was [0. 0.] and becomes [3. 3.]" in storyboard(trace).steps[-2].caption


def training(times):
    """A training loop: forward, backward, update."""
    w = leaf(1.0, 2.0)
    with record() as trace:
        with torch.no_grad():
            w *= 2  # before any graph: not heard
        for _ in range(times):
            loss = (w.exp() * w).sum()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
                w[0] = 1.0
            w.grad = None
    return trace


def test_phases_are_right_in_every_iteration():
    trace = training(3)
    once = ["forward"] * 3 + ["backward"] * 6 + ["update"] * 3
    assert [step.phase for step in storyboard(trace).steps] == once * 3 == trace.phases
    assert "36 steps, 9 forward, 18 backward and 9 update; " in str(trace.show(depth=9))
    board = storyboard(training(2), "versions")
    phases = ["forward", "backward", "update"] * 2
    assert [box.title for id, box in board.scene.boxes.items() if id.startswith("phase")] == phases
    assert [step.phase for step in board.steps] == [phase for phase in phases for _ in range(2)]
    turns = [box.alt for id, box in board.scene.boxes.items() if id.startswith("turn")]
    assert turns == [f"{phase} from here on" for phase in phases[1:]]


def test_the_phase_after_a_gap_in_the_chart_of_versions_is_named_again():
    boxes = storyboard(training(3), "versions").scene.boxes
    gap = next(box.place[0] for box in boxes.values() if box.title == "…")
    labels = {box.place[0]: box.title for id, box in boxes.items() if id.startswith("phase")}
    assert [title for x, title in labels.items() if x < gap] == ["forward", "backward", "update", "forward"]
    assert [title for x, title in labels.items() if x > gap] == ["update", "forward", "backward", "update"]


def test_labels_of_short_phases_do_not_cover_each_other():
    with record() as trace:
        w = leaf(2.0)
        for _ in range(3):
            (w * w).backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
    layout = storyboard(trace, "versions").layout
    labels = [box for id, box in layout.boxes.items() if id.startswith("phase")]
    assert len(labels) == 9
    assert all(one.x + one.w <= next.x for one, next in zip(labels, labels[1:], strict=False))


@pytest.mark.parametrize("clear", ["x.grad = None", "del x.grad", "x.grad = None; x.grad = None"])
def test_the_details_of_a_leaf_tell_a_cleared_gradient_from_one_that_never_came(clear, tmp_path):
    trace = cleared(clear)
    trace.save(tmp_path / "trace.json")
    for each in (trace, load(tmp_path / "trace.json")):
        board = storyboard(each)
        first, last = [board.at(step).boxes["t1"].details for step in (0, len(board.steps) - 1)]
        assert [each.body for each in first if each.heading == "Grad"] == ["None: no backward pass has reached it yet."]
        assert [each.body for each in last if each.heading == "Grad"] == ["None: it was cleared."]
