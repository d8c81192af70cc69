"""A stepper of a graph that an earlier backward has freed is refused where it is made, and of no other."""

from __future__ import annotations

from functools import partial

import pytest
from trace_samples import Square, leaf

import workbench as torch
from workbench import errors


class Idle(torch.Function):
    """It keeps something that it never reads."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return grad


def passed_on(ctx, grad):
    return grad


class Partly(torch.Function):
    """Its backward is no function that Python wrote code for: nobody can tell what it reads."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    backward = staticmethod(partial(passed_on))


def written(x):
    y = x * 1.0
    y[0].mul_(2.0)
    return y


READS = (lambda x: x * x, torch.exp, Square.apply, written)
DOES_NOT = (lambda x: x + x, Idle.apply, Partly.apply)


@pytest.mark.parametrize("function", READS)
def test_a_freed_graph_is_refused_at_once(function):
    loss = function(leaf(1.0, 2.0)).sum()
    loss.backward()
    with pytest.raises(RuntimeError) as caught:
        torch.step(loss)
    assert str(caught.value) == errors.SECOND_BACKWARD
    assert "already ran in an earlier backward pass" in str(caught.value.explain())
    with pytest.raises(RuntimeError) as plain:
        loss.backward()
    assert str(plain.value) == errors.SECOND_BACKWARD


@pytest.mark.parametrize("function", DOES_NOT)
def test_what_backward_would_do_again_the_stepper_does(function):
    x = leaf(1.0, 2.0)
    loss = function(x).sum()
    loss.backward()
    torch.step(loss).run()
    want = x.grad.tolist()
    x.grad = None
    loss.backward()
    loss.backward()
    assert x.grad.tolist() == want


@pytest.mark.parametrize("function", READS)
def test_a_graph_that_was_kept_is_not_refused(function):
    loss = function(leaf(1.0, 2.0)).sum()
    loss.backward(retain_graph=True)
    assert torch.step(loss).run().done


def test_what_is_freed_beside_the_way_to_the_inputs_is_no_hindrance():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    one, two = (x + 1).sum(), (w * w).sum()
    two.backward()
    assert torch.step(one + two, inputs=x).run().grads[x].tolist() == [1.0, 1.0]
