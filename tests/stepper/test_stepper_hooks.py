"""The user's hooks in a stepper's picture: where they are, and what each made of a gradient, forwards and back."""

from __future__ import annotations

import pytest
from test_view_hooks import look
from trace_samples import leaf

import workbench as torch
from workbench.pictures.views.stepper_picture import Stage


def test_a_hook_that_failed_in_a_stepper_leaves_nothing_behind():
    calls = []

    def second_time(tensor):
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("once")

    x = leaf(1.0, 2.0)
    x.register_post_accumulate_grad_hook(look)
    x.register_post_accumulate_grad_hook(second_time)
    s = torch.step((x * 2).sum())
    with pytest.raises(ValueError, match="once"):
        s.run()
    s.back()
    s.run()
    stage = Stage(s)
    assert stage.sentence.count("hook look of `x` saw") == 1
