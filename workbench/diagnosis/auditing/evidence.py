"""What a wrong gradient looks like: another factor, another input's, None, of one output only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .case import Case
from .comparing import NotApplicable, apart, both
from .uses import returned_by_backward

_SAME = 1e-3  # relative, of two gradients or two ratios


def wrong_gradient(
    case: Case, place: int, found: Any, expected: Any, differ: Callable[[int, Sequence[Any]], Any]
) -> str:
    """Return what is seen of a gradient that isn't the one by differences, and what kind of mistake it looks like.

    Args:
        case: The case.
        place: The input.
        found: Its gradient by `backward`.
        expected: The same by differences; nan where there is none.
        differ: Returns the differences of an input's gradient for other seeds.
    """
    a, b = both(case, found, expected)
    name, nothing = case.name(place), _is_none(case, place)
    said = f"The gradient of {name} is {a}, but by differences {b}."
    if nothing:
        said = (
            f"`backward` returns None for {name}, but by differences its gradient is {both(case, expected, found)[0]}."
        )
    left = int((expected != expected).sum().item())
    few = f" {left} of {expected.numel()} entries are left out: a kink, or too many." if left else ""
    kinds = [] if nothing else [kind for kind in _kinds(case, place, found, expected, differ) if kind]
    return " ".join([said, *kinds[:2]]) + few


def _is_none(case: Case, place: int) -> bool:
    try:
        returned = returned_by_backward(case, case.wanted)
    except NotApplicable:
        return False
    return place < len(returned) and returned[place] is None


def _kinds(case: Case, place: int, found: Any, expected: Any, differ: Callable[[int, Sequence[Any]], Any]) -> list[str]:
    dtype = case.precise()
    leaves, outputs, seeds = case.graph(dtype)
    at = case.wanted.index(place)
    twice = case.gradients(outputs, leaves, [2 * seed for seed in seeds])[at]
    if not _same(case, twice, 2 * found):
        return ["It isn't proportional to the gradient that arrives."]
    if tuple(found.shape) != tuple(expected.shape):
        return []
    kinds = [_overwritten(case, place), _ratio(case, found, expected)]
    for other in case.wanted:
        if other != place and tuple(case.inputs[other].shape) == tuple(found.shape) and not _is_zero(found):
            if _same(case, found, differ(other, seeds)):
                kinds.insert(0, f"It is that of {case.name(other)}.")
    if len(seeds) > 1:
        wrong = []
        for k in range(len(seeds)):
            only = [seed if i == k else seed * 0 for i, seed in enumerate(seeds)]
            leaves, outputs, _ = case.graph(dtype)
            if not _same(case, case.gradients(outputs, leaves, only)[at], differ(place, only)):
                wrong.append(k)
        if len(wrong) == 1:
            kinds.insert(0, f"Only what comes by output {wrong[0]} is wrong.")
    return kinds


def _overwritten(case: Case, place: int) -> str:
    """Return that `forward` saves an input and writes into it, if it does."""
    kept: list[Any] = []
    given = case.arguments(case.leaves())
    before = given[place].detach().clone()
    with case.engine.autograd.graph.saved_tensors_hooks(lambda each: kept.append(each) or each, lambda each: each):
        case.called(given)
    now = given[place]
    if not apart(case, now, before) or not any(apart(case, each, now) == 0 for each in kept):
        return ""
    return f"`forward` writes into {case.name(place)} and saves it: `backward` reads the new values."


def _known(case: Case, found: Any, expected: Any) -> tuple[list[float], list[float]]:
    """Return both as numbers, where there is a difference."""
    a, b = [each.detach().to(case.engine.float64).reshape(-1).tolist() for each in (found, expected)]
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if y == y]
    return [x for x, _ in pairs], [y for _, y in pairs]


def _is_zero(found: Any) -> bool:
    return not bool((found != 0).any())


def _same(case: Case, found: Any, expected: Any) -> bool:
    if tuple(found.shape) != tuple(expected.shape):
        return False
    a, b = _known(case, found, expected)
    size = max([1e-30, *map(abs, a), *map(abs, b)])
    rough = _SAME if case.precise() is not None else 5e-2
    return bool(a) and all(abs(x - y) <= rough * size for x, y in zip(a, b, strict=True))


def _ratio(case: Case, found: Any, expected: Any) -> str:
    """Return the ratio of all entries, if it's one and the same for at least two of them."""
    a, b = _known(case, found, expected)
    size = max([1e-30, *map(abs, b)])
    ratios = [x / y for x, y in zip(a, b, strict=True) if abs(y) > 1e-2 * size]
    middle = sorted(ratios)[len(ratios) // 2] if ratios else 0.0
    rough = _SAME if case.precise() is not None else 2e-2
    if len(ratios) < 2 or not middle or middle != middle or abs(middle - 1) < rough:
        return ""
    if any(not abs(x - middle * y) <= rough * abs(middle) * size for x, y in zip(a, b, strict=True)):
        return ""
    return f"It is {middle:.3g} times the other."
