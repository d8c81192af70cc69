"""Forward mode through every operation of the registry: the tangents of each way, and against reverse mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_samples import DIFFERENTIABLE, arguments, each_sample, has_a_tie, leaves, replaced, samples_of, weights

import workbench as w
from workbench.autograd import forward_ad as fwAD
from workbench.autograd.backward import gradients
from workbench.autograd.forward_ad import set_tangent, tangent_of
from workbench.autograd.levels import entered, lift, value_below, without_finished_levels
from workbench.autograd.tensor import Tensor
from workbench.ops.core import jvp
from workbench.ops.core.registry import SEVERAL, TENSORS

OPS = [*DIFFERENTIABLE, *SEVERAL.values()]
WITHOUT_RESULT = ("mean_all", "mean_all_as", "max_all", "min_all", "median_all")  # of no elements
EMPTY = {
    op.name: [text.replace("3", "0") for text in ("r(3)", "r(3), r(3)", "r(3), 2.5") if text in samples_of(op)]
    for op in OPS
    if op.name not in WITHOUT_RESULT
}


def outputs(op: Any, args: list[Any]) -> list[Tensor]:
    """What an op returns, as a list."""
    out = TENSORS[op.name](*args)
    return list(out) if op.several else [out]


def directions(inputs: list[Tensor], seed: int = 3) -> list[Tensor]:
    """A tangent for each input."""
    return [weights(t, seed + i) for i, t in enumerate(inputs)]


def duals(op: Any, args: list[Any], inputs: list[Tensor], along: list[Tensor | None]) -> list[Tensor | None]:
    """The outputs' tangents, by dual tensors."""
    new = [t if v is None else fwAD.make_dual(t, v) for t, v in zip(inputs, along, strict=True)]
    return [fwAD.unpack_dual(out).tangent for out in outputs(op, replaced(args, new))]


def pushed(op: Any, args: list[Any], inputs: list[Tensor], along: list[Tensor]) -> list[Tensor]:
    """The same by a level."""
    with entered("jvp") as level:
        lifted = [lift(t, level) for t in inputs]
        for t, v in zip(lifted, along, strict=True):
            set_tangent(t, v)
        return [tangent_of(without_finished_levels(out, level)) for out in outputs(op, replaced(args, lifted))]


def array(t: Tensor | None) -> Any:
    """A tangent as an array; None is zero."""
    return 0 if t is None else t.detach().numpy()


@each_sample(OPS, more=EMPTY)
def test_a_level_pushes_what_duals_push(op: Any, text: str) -> None:
    args = arguments(op, text)
    inputs = leaves(args)
    along = directions(inputs)
    with fwAD.dual_level():
        by_duals = duals(op, args, inputs, along)
    for out, one, other in zip(outputs(op, args), by_duals, pushed(op, args, inputs, along), strict=True):
        assert one.shape == other.shape == out.shape
        assert one.dtype is other.dtype is out.dtype
        np.testing.assert_array_equal(one.detach().numpy(), other.detach().numpy())


@each_sample(OPS, more=EMPTY)
def test_forward_and_reverse_agree(op: Any, text: str) -> None:
    args = arguments(op, text)
    inputs = leaves(args)
    outs = outputs(op, args)
    v = [weights(out) for out in outs]
    grads = w.autograd.grad(outs, inputs, v, allow_unused=True)
    for moves in range(1, 2 ** len(inputs)):  # each set of inputs that may have tangents
        along = [u if moves >> i & 1 else None for i, u in enumerate(directions(inputs))]
        with fwAD.dual_level():
            found = duals(op, args, inputs, along)
        forward = sum((array(t) * u.numpy()).sum() for t, u in zip(found, v, strict=True))
        reverse = sum((array(g) * u.numpy()).sum() for g, u in zip(grads, along, strict=True) if u is not None)
        np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@each_sample(OPS, skipping=has_a_tie, more=EMPTY)
def test_forward_over_reverse_and_reverse_over_forward_agree(op: Any, text: str) -> None:
    args = arguments(op, text)
    inputs = leaves(args)
    along = directions(inputs)
    v = [weights(out) for out in outputs(op, args)]

    def number(outs: list[Tensor]) -> Tensor:
        return sum((out.sin() * u).sum() for out, u in zip(outs, v, strict=True))

    def gradient(of: Tensor, by: list[Tensor]) -> list[Any]:
        return [array(g) for g in w.autograd.grad(of, by, allow_unused=True)]

    with fwAD.dual_level():  # the tangents of gradients
        new = [fwAD.make_dual(t, u) for t, u in zip(inputs, along, strict=True)]
        grads = w.autograd.grad(number(outputs(op, replaced(args, new))), new, allow_unused=True)
        by_duals = [0 if g is None else array(fwAD.unpack_dual(g).tangent) for g in grads]
    with entered("jvp") as forward:
        lifted = [lift(t.detach(), forward) for t in inputs]
        for t, u in zip(lifted, along, strict=True):
            set_tangent(t, u)
        with entered("grad") as reverse:
            new = [lift(t, reverse, True) for t in lifted]
            out = number(outputs(op, replaced(args, new)))
            grads = gradients([out], new, [w.ones_like(out)], True, False)
            grads = [None if g is None else without_finished_levels(value_below(g, reverse), forward) for g in grads]
        by_levels = [0 if g is None else array(tangent_of(g)) for g in grads]
    with fwAD.dual_level():  # the gradients of tangents
        new = [fwAD.make_dual(t, u) for t, u in zip(inputs, along, strict=True)]
        total = fwAD.unpack_dual(number(outputs(op, replaced(args, new)))).tangent
    reverse = gradient(total, inputs) if total.requires_grad else [0] * len(inputs)
    for one, two, three in zip(by_duals, by_levels, reverse, strict=True):
        np.testing.assert_allclose(one, three, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(two, three, rtol=1e-9, atol=1e-10)


@each_sample(OPS, more=EMPTY)
def test_duals_that_nobody_records_have_the_tangents_of_the_general_way(
    op: Any, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = arguments(op, text)
    inputs, alone = [t.detach() for t in leaves(args)], jvp.push_duals_alone
    for moves in range(1, 2 ** len(inputs)):
        along = [v if moves >> i & 1 else None for i, v in enumerate(directions(inputs))]
        found = []
        for way in (alone, lambda op, args: None):
            monkeypatch.setattr(jvp, "push_duals_alone", way)
            with fwAD.dual_level():
                new = [t if v is None else fwAD.make_dual(t, v) for t, v in zip(inputs, along, strict=True)]
                outs = outputs(op, replaced(args, new))
                again = [out * 1.0 if out.is_floating_point() else out for out in outs]
                tangents = [fwAD.unpack_dual(out).tangent for out in (*outs, *again)]
                found.append([facts(t) for t in (*outs, *tangents)])
            assert all(tangent_of(out) is None for out in outs)
        for one, other in zip(*found, strict=True):
            assert one[1:] == other[1:]
            np.testing.assert_allclose(one[0], other[0], rtol=1e-12, atol=1e-15)  # sums may be taken in another order


def facts(t: Tensor | None) -> Any:
    """What a tensor holds, how it lies in memory, and whether it is a view."""
    return (0, None) if t is None else (t.tolist(), t.dtype, t.stride(), t._is_view(), t.requires_grad)
