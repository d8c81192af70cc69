"""The user's hooks in a stepper's picture: where they are, and what each made of a gradient, forwards and back."""

from __future__ import annotations

import pytest
from boxes import details
from test_view_hooks import double, look
from trace_samples import leaf

import workbench as torch
from workbench.views.stepper_picture import Stage


def stepped(*set_up):
    """A stepper of (x * w).sum() at its end, its stage, and what was said at each step."""
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * w
    for each in set_up:
        each(x, w, y)
    s = torch.step(y.sum())
    stage, told = Stage(s), []
    while not s.done:
        s.step()
        stage.follow(s)
        told.append(stage.sentence)
    return s, stage, told


def test_a_stepper_has_badges_and_says_what_hooks_did():
    def clip(tensor):
        tensor.grad = tensor.grad.clamp(max=1.0)

    s, stage, told = stepped(
        lambda x, w, y: y.register_hook(double),
        lambda x, w, y: y.grad_fn.register_hook(lambda ins, outs: (ins[0] * 5, ins[1])),
        lambda x, w, y: x.register_post_accumulate_grad_hook(clip),
    )
    assert {"↪ hook: double", "↪ post-hook: <lambda>"} <= set(stage.scene.boxes[stage.ids[s.steps[1].node]].lines)
    assert told[1].startswith(
        "hook double on y made [1. 1.] into [2. 2.]; MulBackward0 receives the gradient [2. 2.]; "
    )
    assert "post-hook <lambda> of MulBackward0 made [6. 8.] and [2. 4.] into [30. 40.] and [2. 4.]; it sends" in told[1]
    at = next(sentence for sentence in told if sentence.startswith("x receives"))
    assert "x.grad becomes [30. 40.]; post-accumulate hook clip of x made x's grad [30. 40.] into [1. 1.]" in at


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
    assert stage.sentence.count("hook look of x saw") == 1


def test_a_step_back_takes_back_what_a_hook_is_said_to_have_done():
    s, stage, _ = stepped(lambda x, w, y: y.register_hook(double))
    node = s.steps[1].node
    assert details(stage.scene.boxes[stage.ids[node]], "What a hook did")
    s.back(s.position - 1)
    stage.follow(s)
    box = stage.scene.boxes[stage.ids[node]]
    assert not details(box, "What a hook did") and "↪ hook: double" in box.lines
