"""What writes through views hold in memory for the backward: each thing once, by the node that runs."""

from __future__ import annotations

from test_view_memory import captions

import workbench as torch
from workbench import record


def test_a_write_through_a_view_leaves_nothing_behind():
    with record() as trace:
        w = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
        h = w * 1.0
        h[0].mul_(10)
        h.sum().backward()
    told = captions(trace)
    assert told[-1].endswith(" 0 bytes kept.") and not any("before the recording" in each for each in told)


def test_what_a_write_through_a_view_kept_is_taken_over_by_the_node_that_runs_it():
    with record() as trace:
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x * 1
        y[1:].mul_(2)
        (y * x).sum().backward()
    lines = str(trace.show("memory")).splitlines()
    held = [line.removesuffix(": other").partition(" keeps 8 bytes ") for line in lines if line.endswith(": other")]
    assert [(name, until) for name, _, until in held] == [
        ("MulBackward0", "until it has run"),
        ("MulBackward0", "until CopySlices takes it over"),
        ("CopySlices", "until it has run"),
    ]
