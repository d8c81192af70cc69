"""Derivatives beside central differences: first, second, forward, and of a batch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .case import Case
from .comparing import PASS, NotApplicable, Seen, apart, failed, shown, tolerance

STEP = 1e-5  # in float64


def derivative(case: Case) -> Seen:
    """Compare `backward` with central differences, in float64 if it takes that, input by input."""
    leaves, outputs, seeds = case.graph(case.precise())
    found = case.gradients(outputs, leaves, seeds)
    for place, grad in zip(case.wanted, found, strict=True):
        expected = _differences(case, leaves, place, lambda given: _total(case, given, seeds))
        if _misses(case, grad, expected):
            return failed(
                f"The gradient of {case.name(place)} is {shown(case, grad)}, but by differences "
                f"{shown(case, expected)}.",
                "Derive it again, and compare each factor; save what the formula needs.",
                "backward",
            )
    return PASS


def _total(case: Case, given: list[Any], seeds: list[Any]) -> float:
    """Return the sum of all outputs times their seeds."""
    outputs = case.differentiable(case.run(given))
    return sum((out.detach() * seed).sum().item() for out, seed in zip(outputs, seeds, strict=True))


def _differences(case: Case, leaves: list[Any], place: int, value: Callable[[list[Any]], float]) -> Any:
    """Return the slope of a number by each element of an input; nan at a kink, where the sides differ."""
    engine, at = case.engine, leaves[place].detach()
    is_precise = at.dtype == engine.float64
    step = STEP if is_precise else 1e-2
    wanted = [i for i, each in enumerate(leaves) if case.is_tensor(each) and each.requires_grad]

    def moved(by: Any) -> float:
        given = [each.detach().clone() if case.is_tensor(each) else each for each in leaves]
        given[place] = by.reshape(tuple(at.shape))
        return value([each.requires_grad_() if i in wanted else each for i, each in enumerate(given)])

    flat, slopes = at.reshape(-1), []
    middle = moved(flat.clone())
    for i in range(flat.numel()):
        ends = []
        for sign in (1, -1):
            other = flat.clone()
            other[i] += sign * step
            ends.append((moved(other) - middle) * sign / step)
        has_kink = abs(ends[0] - ends[1]) > 0.05 * max(1.0, abs(ends[0]), abs(ends[1])) and is_precise
        slopes.append(float("nan") if has_kink else (ends[0] + ends[1]) / 2)
    return engine.tensor(slopes, dtype=engine.float64).reshape(tuple(at.shape))


def _misses(case: Case, found: Any, expected: Any) -> bool:
    """Return True if a gradient differs from differences, but for kinks."""
    kinks = expected != expected
    found = found.detach().to(case.engine.float64)
    if tuple(found.shape) != tuple(expected.shape):
        return True
    clean = case.engine.where(kinks, case.engine.zeros_like(expected), expected)
    kept = case.engine.where(kinks, case.engine.zeros_like(expected), found)
    return apart(case, kept, clean) > (1e-4 if case.precise() == case.engine.float64 else 5e-2)


def second_derivative(case: Case) -> Seen:
    """Compare the second derivative with differences of the first."""
    engine = case.engine
    if case.precise() != engine.float64:
        raise NotApplicable("it takes no float64")
    if case.is_once_differentiable:
        raise NotApplicable("its `backward` is `once_differentiable`")
    leaves, _, seeds = case.graph(engine.float64)

    def slope_at(given: list[Any], **how: Any) -> Any:
        grads = case.gradients(case.differentiable(case.run(given)), given, seeds, **how)
        return sum((g * w).sum() for g, w in zip(grads, case.seeds(grads, 1), strict=True))

    total = slope_at(leaves, create_graph=True)
    wanted = [leaves[i] for i in case.wanted]
    found: Any = [None] * len(wanted)
    if total.requires_grad:
        found = engine.autograd.grad(total, wanted, allow_unused=True)
    for place, grad in zip(case.wanted, found, strict=True):
        expected = _differences(case, leaves, place, lambda given: slope_at(given).item())
        if _misses(case, engine.zeros_like(expected) if grad is None else grad, expected):
            have = "0, because there is no graph to it" if grad is None else shown(case, grad)
            return failed(
                f"The second derivative by {case.name(place)} is {have}, but by differences {shown(case, expected)}.",
                "Compute in `backward` from saved inputs and outputs only: save an intermediate as an output, or "
                "recompute it. If second derivatives aren't wanted, decorate `backward` with `once_differentiable`.",
                "backward",
            )
    return PASS


def declares_jvp(case: Case) -> Seen:
    """Compare `jvp` with differences, if the Function has one."""
    if case.function is None or not _defines(case, "jvp"):
        raise NotApplicable("it defines no `jvp`")
    engine = case.engine
    leaves = case.leaves(engine.float64)
    primals = [leaves[i].detach() for i in case.wanted]
    tangents = case.seeds(primals, 2)
    forward = engine.autograd.forward_ad
    with forward.dual_level():
        duals = [forward.make_dual(p, t) for p, t in zip(primals, tangents, strict=True)]
        found = [forward.unpack_dual(each).tangent for each in _at(case, duals, engine.float64)]
    moved = [[p + sign * STEP * t for p, t in zip(primals, tangents, strict=True)] for sign in (1, -1)]
    ends = [_at(case, each, engine.float64) for each in moved]
    for at, (tangent, up, down) in enumerate(zip(found, *ends, strict=True)):
        expected = (up - down) / (2 * STEP)
        tangent = engine.zeros_like(expected) if tangent is None else tangent
        if apart(case, tangent, expected) > 1e-4:
            return failed(
                f"The tangent of output {at} is {shown(case, tangent)}, but by differences {shown(case, expected)}.",
                "Derive `jvp` again; it takes the tangents in the order of the arguments of `forward`.",
                "jvp",
            )
    return PASS


def declares_vmap(case: Case) -> Seen:
    """Compare `vmap` with a loop, if the Function supports it."""
    rule = case.function is not None and getattr(case.function, "generate_vmap_rule", False)
    if case.function is None or not (rule or _defines(case, "vmap")):
        raise NotApplicable("it defines no `vmap`, and asks for no generated rule")
    engine, leaves = case.engine, case.leaves(wanted=[])
    batches = [engine.stack([leaves[i], leaves[i] * 0.5, leaves[i] + 0.25]) for i in case.wanted]
    found = engine.func.vmap(lambda *some: _at(case, some))(*batches)
    loop = [_at(case, [each[i] for each in batches]) for i in range(3)]
    for at, out in enumerate(found):
        expected = engine.stack([each[at] for each in loop])
        if apart(case, out, expected) > tolerance(case, out):
            return failed(
                f"Output {at} of a batch is {shown(case, out)}, but sample by sample {shown(case, expected)}.",
                "Move the batch dimension of every batched input, and return the dimension of each output.",
                "vmap",
            )
    return PASS


def _at(case: Case, some: Sequence[Any], dtype: Any = None) -> tuple[Any, ...]:
    """Return the outputs with other values for the wanted inputs."""
    given = case.leaves(dtype, wanted=[])
    for place, each in zip(case.wanted, some, strict=True):
        given[place] = each
    return case.outputs(case.call(*given))


def _defines(case: Case, method: str) -> bool:
    own = inspect.getattr_static(case.function, method, None)
    return own is not inspect.getattr_static(case.engine.autograd.Function, method, None)
