"""Gradients and inputs in other memory layouts, one input at a time, and what kind of gradient comes back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .case import Case
from .comparing import PASS, NotApplicable, Seen, apart, both, failed, first_apart, in_a_line, tolerance


def layouts(case: Case) -> Seen:
    """Give the gradient in other memory layouts: PyTorch promises none."""
    leaves, outputs, seeds = case.graph()
    expected = case.gradients(outputs, leaves, seeds)
    for at, seed in enumerate(seeds):
        for how, other in _layouts(case, seed):
            leaves, outputs, _ = case.graph()
            given = [other if i == at else each for i, each in enumerate(seeds)]
            if (differs := first_apart(case, case.gradients_of(outputs, leaves, given), expected)) is not None:
                name, a, b = differs
                return failed(
                    f"With a {how} gradient of the same values, the gradient of {name} is {a} instead of {b}.",
                    "Read the gradient by its own strides, or call `.contiguous()` on it first.",
                    "backward",
                )
    return PASS


def _layouts(case: Case, seed: Any) -> Iterator[tuple[str, Any]]:
    """Return the same gradient in other layouts."""
    engine = case.engine
    if seed.ndim and seed.numel():
        wide = engine.zeros(*seed.shape, 2, dtype=seed.dtype, device=seed.device)
        wide[..., 0] = seed
        yield "sliced", wide[..., 0]
    if seed.ndim > 1 and seed.numel():
        dims = list(range(seed.ndim))[::-1]
        yield "transposed", seed.permute(*dims).contiguous().permute(*dims)


def expanded(case: Case) -> Seen:
    """Give an expanded gradient, as `sum().backward()` does: all its elements share memory."""
    engine = case.engine
    leaves, outputs, _ = case.graph()
    one = [engine.ones((), dtype=each.dtype, device=each.device) for each in outputs]
    expected = case.gradients(outputs, leaves, [engine.ones_like(each) for each in outputs])
    leaves, outputs, _ = case.graph()
    shared = [each.expand(tuple(out.shape)) for each, out in zip(one, outputs, strict=True)]
    if (differs := first_apart(case, case.gradients_of(outputs, leaves, shared), expected)) is not None:
        name, a, b = differs
        return failed(
            f"With an expanded gradient of ones, the gradient of {name} is {a} instead of {b}.",
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
    gaps: list[Any] = [(..., 0, slice(None)) if i in case.complex else (..., 0) for i in range(len(leaves))]
    for each, gap in zip(case.leaves(), gaps, strict=True):
        if case.is_float(each):
            room = engine.stack([each.detach(), engine.zeros_like(each)], -2 if len(gap) > 2 else -1)
            wide.append(room.requires_grad_(each.requires_grad))
        else:
            wide.append(each)
    given = [(each * 1)[gap] if case.is_float(each) else each for each, gap in zip(wide, gaps, strict=True)]
    try:
        now = case.called([engine.view_as_complex(t) if i in case.complex else t for i, t in enumerate(given)])
    except Exception as error:
        return (
            "question",
            f"`forward` takes no non-contiguous inputs: it raises {in_a_line(error)} Is it never given any?",
            "Call `.contiguous()` on what needs it.",
            "forward",
        )
    graded = case.differentiable(now)
    grads = zip(case.gradients(graded, wide, case.seeds(graded)), case.wanted, strict=True)
    found = [grad[gaps[i]] for grad, i in grads]
    pairs = [(f"output {i}", a, b) for i, (a, b) in enumerate(zip(now, outputs, strict=True))]
    pairs += [(f"the gradient of {case.name(p)}", a, b) for p, a, b in zip(case.wanted, found, expected, strict=True)]
    for what, a, b in pairs:
        if apart(case, a, b) > tolerance(case, b):
            a, b = both(case, a, b)
            return failed(
                f"With inputs of other strides and the same values, {what} is {a} instead of {b}.",
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
            a, b = both(case, found, expected[place])
            return failed(
                f"If only {case.name(place)} requires grad, its gradient is {a} instead of {b}.",
                "Return the gradients in the order of the arguments, and use `ctx.needs_input_grad` only to "
                "leave some out.",
                "backward",
            )
    return PASS
