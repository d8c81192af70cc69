"""Gradients and inputs in other memory layouts, one input at a time, and what kind of gradient comes back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .case import Case
from .comparing import PASS, NotApplicable, Seen, apart, failed, first_apart, shown, tolerance


def layouts(case: Case) -> Seen:
    """Give the gradient in other memory layouts: PyTorch promises none."""
    leaves, outputs, seeds = case.graph()
    expected = case.gradients(outputs, leaves, seeds)
    for at, seed in enumerate(seeds):
        for how, other in _layouts(case, seed):
            leaves, outputs, _ = case.graph()
            given = [other if i == at else each for i, each in enumerate(seeds)]
            if (differs := first_apart(case, case.gradients(outputs, leaves, given), expected)) is not None:
                name, a, b = differs
                return failed(
                    f"With a {how} gradient of the same values, the gradient of {name} is {shown(case, a)} instead of "
                    f"{shown(case, b)}.",
                    "Read the gradient by its own strides, or call `.contiguous()` on it first.",
                    "backward",
                )
    return PASS


def _layouts(case: Case, seed: Any) -> Iterator[tuple[str, Any]]:
    """Return the same gradient in other layouts."""
    engine = case.engine
    if seed.ndim and seed.numel():
        wide = engine.zeros(*seed.shape, 2, dtype=seed.dtype)
        wide[..., 0] = seed
        yield "sliced", wide[..., 0]
    if seed.ndim > 1 and seed.numel():
        dims = list(range(seed.ndim))[::-1]
        yield "transposed", seed.permute(*dims).contiguous().permute(*dims)


def expanded(case: Case) -> Seen:
    """Give an expanded gradient, as `sum().backward()` does: all its elements share memory."""
    engine = case.engine
    leaves, outputs, _ = case.graph()
    one = [engine.ones((), dtype=each.dtype) for each in outputs]
    expected = case.gradients(outputs, leaves, [engine.ones_like(each) for each in outputs])
    leaves, outputs, _ = case.graph()
    shared = [each.expand(tuple(out.shape)) for each, out in zip(one, outputs, strict=True)]
    if (differs := first_apart(case, case.gradients(outputs, leaves, shared), expected)) is not None:
        name, a, b = differs
        return failed(
            f"With an expanded gradient of ones, the gradient of {name} is {shown(case, a)} instead of "
            f"{shown(case, b)}.",
            "Don't write into the gradient, and don't assume that its memory is contiguous.",
            "backward",
        )
    return PASS


def strided_inputs(case: Case) -> Seen:
    """Give non-contiguous inputs of the same values."""
    engine = case.engine
    leaves = case.leaves()
    outputs = case.run(leaves)
    graded = case.differentiable(outputs)
    expected = case.gradients(graded, leaves, case.seeds(graded))
    wide: list[Any] = []
    for each in case.leaves():
        if case.is_float(each):
            room = engine.zeros(*each.shape, 2, dtype=each.dtype)
            room[..., 0] = each.detach()
            wide.append(room.requires_grad_(each.requires_grad))
        else:
            wide.append(each)
    now = case.called([(each * 1)[..., 0] if case.is_float(each) else each for each in wide])
    graded = case.differentiable(now)
    found = [each[..., 0] for each in case.gradients(graded, wide, case.seeds(graded))]
    pairs = [(f"output {i}", a, b) for i, (a, b) in enumerate(zip(now, outputs, strict=True))]
    pairs += [(f"the gradient of {case.name(p)}", a, b) for p, a, b in zip(case.wanted, found, expected, strict=True)]
    for what, a, b in pairs:
        if apart(case, a, b) > tolerance(case, b):
            return failed(
                f"With inputs of other strides and the same values, {what} is {shown(case, a)} instead of "
                f"{shown(case, b)}.",
                "Read the inputs by their own strides, or call `.contiguous()` on them first.",
                "forward",
            )
    return PASS


def each_alone(case: Case) -> Seen:
    """Ask for the gradient of one input at a time: it must not depend on which others require grad."""
    if len(case.wanted) < 2:
        raise NotApplicable("it has one differentiable input")
    leaves, outputs, seeds = case.graph()
    expected = dict(zip(case.wanted, case.gradients(outputs, leaves, seeds), strict=True))
    for place in case.wanted:
        leaves = case.leaves(wanted=[place])
        outputs = case.differentiable(case.run(leaves))
        (found,) = case.engine.autograd.grad(outputs, [leaves[place]], case.seeds(outputs), allow_unused=True)
        found = case.engine.zeros_like(leaves[place]) if found is None else found
        if apart(case, found, expected[place]) > tolerance(case, found):
            return failed(
                f"If only {case.name(place)} requires grad, its gradient is {shown(case, found)} instead of "
                f"{shown(case, expected[place])}.",
                "Return the gradients in the order of the arguments, and use `ctx.needs_input_grad` only to "
                "leave some out.",
                "backward",
            )
    return PASS


def kinds(case: Case) -> Seen:
    """Look at the shapes and dtypes of the gradients."""
    leaves, outputs, seeds = case.graph()
    found = case.engine.autograd.grad(outputs, [leaves[i] for i in case.wanted], seeds, allow_unused=True)
    for place, grad in zip(case.wanted, found, strict=True):
        like = leaves[place]
        if grad is not None and (tuple(grad.shape), grad.dtype) != (tuple(like.shape), like.dtype):
            return failed(
                f"The gradient of {case.name(place)} is {grad.dtype} of shape {tuple(grad.shape)}; the input is "
                f"{like.dtype} of shape {tuple(like.shape)}.",
                "Return a gradient of the input's own shape and dtype.",
                "backward",
            )
    return PASS
