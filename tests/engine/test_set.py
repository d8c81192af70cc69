"""`Tensor.set_`: a tensor that stands for other memory, as PyTorch's does."""

from __future__ import annotations

import absent
import pytest
from oracle import torch

import workbench

if torch is None:
    pytest.skip(absent.TORCH, allow_module_level=True)


def asked(engine, program):
    """What a program gives, or its error's kind and sentence."""
    try:
        return program(engine)
    except (RuntimeError, TypeError) as error:
        return type(error).__name__, str(error)


def emptied(engine):
    x = engine.ones(2, 3)
    same = x.set_() is x
    return same, tuple(x.shape), x.numel(), x._version, str(x.dtype)


def shared(engine):
    x, y = engine.ones(4), engine.zeros(2, 2)
    before = x.view(2, 2)
    x.set_(y)
    y.add_(3)
    return tuple(x.shape), x.tolist(), before.tolist(), x._version, y._version


def leaf_unrecorded(engine):
    x = engine.ones(2, requires_grad=True)
    with engine.no_grad():
        x.set_()
    return x.requires_grad, x.is_leaf, tuple(x.shape)


def needed_in_backward(engine):
    x, scale = engine.ones(2, requires_grad=True), engine.ones(2)
    y = x * scale
    scale.set_()
    y.sum().backward()


def pieces_given_up(engine):
    class Halves(engine.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with engine.no_grad():
                first, second = [half.contiguous() for half in x.detach().chunk(2, dim=1)]
                first, kept = first * 2, first
                kept.set_()
                out = engine.cat([first, second], dim=1)
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx, grad):
            (out,) = ctx.saved_tensors
            return grad * out

    x = engine.arange(4.0).view(1, 4).requires_grad_()
    Halves.apply(x * 1).sum().backward()
    return x.grad.tolist()


PROGRAMS = [
    emptied,
    shared,
    leaf_unrecorded,
    needed_in_backward,
    pieces_given_up,
    lambda engine: engine.ones(2, requires_grad=True).set_(),
    lambda engine: engine.ones(2).set_(engine.ones(2, dtype=engine.float64)),
    lambda engine: engine.ones(2).set_(engine.ones(2, dtype=engine.int64)),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_set_is_as_in_pytorch(program):
    assert asked(workbench, program) == asked(torch, program)


def test_a_recorded_tensor_is_refused_at_once_in_the_words_of_pytorchs_backward():
    x = workbench.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="^derivative for set_ is not implemented$"):
        (x * 1).set_()
    with pytest.raises(RuntimeError, match="^derivative for set_ is not implemented$"):
        workbench.ones(2).set_(x)
