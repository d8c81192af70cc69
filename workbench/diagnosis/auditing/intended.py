"""Gradients that aren't the derivative on purpose: straight-through, reversed, scaled. They are asked about."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import CodeType
from typing import Any

from .case import Case
from .comparing import apart

_ROUNDS = {"bernoulli", "ceil", "fake_quantize_per_tensor_affine", "floor", "heaviside", "int8", "multinomial"}
_ROUNDS |= {"quantize_per_tensor", "round", "rint", "sign", "sgn", "trunc"}
_SELECTS = {"argmax", "argmin", "one_hot", "topk"}  # these hide a derivative only where it's 0
_CLAMPS = {"clamp", "clamp_", "clip", "hardtanh"}
_CUTS = {"detach", "no_grad", "stop_gradient"}


def intended(case: Case, place: int, found: Any, expected: Any, seed: Any) -> str | None:
    """Return why a gradient that isn't the derivative may be so on purpose; None if nothing speaks for it.

    Args:
        case: The case.
        place: The input whose gradient differs.
        found: That gradient.
        expected: The derivative, by differences; nan where there is a kink.
        seed: The gradient of the only output; None if there are several.
    """
    leaves = case.leaves(case.precise())
    outputs = case.differentiable(case.run(leaves))
    for each in (place, *case.wanted):
        if any(apart(case, out, leaves[each]) == 0 for out in outputs):
            return f"`forward` returns the values of {case.name(each)}"
    if _is_flat(case):
        return "`forward` is constant around each of several points"
    names = {name for each in case.code_of() if each.__name__ != "backward" for name in _names(each)}
    if rounds := sorted(names & _ROUNDS):
        return f"`forward` uses `{rounds[0]}`"
    if (selects := sorted(names & _SELECTS)) and tuple(found.shape) == tuple(expected.shape):
        gap = (found.detach().to(case.engine.float64) - expected).abs()
        agrees = gap <= 1e-3 * expected.abs().clamp(min=1.0)
        if bool((agrees | (expected.abs() < 1e-6) | (expected != expected)).all()):
            return f"`forward` uses `{selects[0]}`"
    if case.function is None and (cuts := sorted(names & _CUTS)):
        return f"it uses `{cuts[0]}`"
    if names & _CLAMPS and seed is not None and tuple(seed.shape) == tuple(found.shape):
        found, seed = found.detach().to(case.engine.float64), seed.detach().to(case.engine.float64)
        through = (expected == 0) & (found == seed)
        agrees = (found - expected).abs() <= 1e-3 * expected.abs().clamp(min=1.0)
        if bool((through | agrees | (expected != expected)).all()):
            return "`forward` clamps, and the gradient passes straight through"
    return None


def _is_flat(case: Case) -> bool:
    """Return True if the outputs don't change with the differentiable inputs, wherever these are."""
    for shift in (0.0, 0.377, 1.913, -2.629):
        here, near = [_at(case, shift, more) for more in (0.0, 1e-6)]
        if here is None or near is None:
            return False
        if any(apart(case, a, b) > 0 for a, b in zip(here, near, strict=True)):
            return False
    return True


def _at(case: Case, shift: float, more: float) -> list[Any] | None:
    """Return the outputs after each entry moved by its own amount: a softmax doesn't change under a common one."""
    leaves = case.leaves(case.precise())
    for place in case.wanted:
        at = leaves[place].detach()
        ways = case.numbers(at, 0.9 + place), case.numbers(at, 2.3 + place)
        leaves[place] = (at + ways[0] * shift + ways[1] * more).requires_grad_()
    try:
        return case.differentiable(case.run(leaves))
    except Exception:
        return None


def _names(function: Any) -> Iterator[str]:
    """Return the names that a function uses, and those of the functions that it calls by a global name."""
    yield from _of_code(function.__code__)
    try:
        known = inspect.getclosurevars(function)
    except (TypeError, ValueError):
        return
    for each in (*known.globals.values(), *known.nonlocals.values()):
        if inspect.isfunction(each):
            yield from _of_code(each.__code__)


def _of_code(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _of_code(each)
