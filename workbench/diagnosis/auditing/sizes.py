"""Inputs of other sizes: a single number, none at all, many rows, and large numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .case import Case
from .comparing import PASS, NotApplicable, Seen, apart, failed, in_a_line, shown, tolerance
from .derivatives import derivative

_MANY = 1 << 14  # elements of an input with many rows
_LARGE = 100.0  # times the given inputs: `exp` of that overflows in float32


def other_sizes(case: Case) -> Seen:
    """Give a single number and an empty tensor; a `forward` that takes them needs a `backward` that does."""
    first = case.inputs[case.wanted[0]]
    leaves, outputs, _ = case.graph()
    tensors = [each for each in (*outputs, *case.inputs) if case.is_tensor(each)]
    is_elementwise = all(tuple(each.shape) == tuple(first.shape) for each in tensors)
    asked: list[tuple[str, Callable[[Any], Any]]] = []
    if first.ndim and first.numel():
        asked.append(("an empty input", lambda each: each[:0]))
        if is_elementwise:
            asked.append(("a 0-d input", lambda each: each.reshape(-1)[0]))
    taken = 0
    for what, made in asked:
        leaves = _changed(case, made)
        try:
            outputs = case.differentiable(case.run(leaves))
            usable = bool(outputs) and all(bool(case.engine.isfinite(each).all()) for each in outputs)
        except Exception:
            continue  # it refuses such inputs
        if not usable:
            continue
        taken += 1
        try:
            case.gradients(outputs, leaves, case.seeds(outputs))
        except Exception as error:
            return (
                "question",
                f"`forward` takes {what}, but `backward` raises {in_a_line(error)} Is it never given any?",
                "Let `backward` take all sizes that `forward` takes, or let `forward` refuse them.",
                "backward",
            )
    if not taken:
        raise NotApplicable("`forward` takes no empty or 0-d inputs")
    return PASS


def _changed(case: Case, made: Callable[[Any], Any]) -> list[Any]:
    """Return leaves with a change to the tensors that have the first dimension of the first differentiable input."""
    first = case.inputs[case.wanted[0]]
    leaves = case.leaves()
    for i, each in enumerate(leaves):
        if case.is_tensor(each) and each.ndim and each.shape[0] == first.shape[0]:
            leaves[i] = made(each.detach()).clone().requires_grad_(each.requires_grad)
    return leaves


def batch_sizes(case: Case) -> Seen:
    """Cut the batch to one row, and to another number than the given one: `backward` follows `forward`."""
    first = case.inputs[case.wanted[0]]
    rows = first.shape[0] if first.ndim else 0
    if rows < 2 or first.ndim < 2:
        raise NotApplicable("it has no rows to leave out")
    if derivative(case)[0] != "pass":
        raise NotApplicable("`derivative` doesn't pass for the given rows")
    taken = 0
    for count in (1, rows - 1 if rows > 2 else 3):
        leaves = _changed(case, lambda each, count=count: case.engine.cat([each, each])[:count])
        smaller = Case(case.target, case.arguments(leaves))
        smaller.resolution = case.resolution  # of more numbers it's told better
        try:
            outputs = smaller.differentiable(smaller.run(smaller.leaves(smaller.precise())))
            usable = bool(outputs) and all(bool(case.engine.isfinite(each).all()) for each in outputs)
        except Exception:
            continue  # it refuses such a batch
        if not usable:
            continue
        taken += 1
        size = "a batch of 1" if count == 1 else f"a batch of {count} instead of {rows}"
        if (seen := _of_batch(smaller, size)) is not None:
            return seen
    if not taken:
        raise NotApplicable("`forward` takes no other number of rows")
    return PASS


def _of_batch(case: Case, size: str) -> Seen | None:
    """Return what is wrong with a batch that `forward` takes."""
    advice = "Take the sizes from the tensors: no `squeeze()` without a dimension, no number of rows that is fixed."
    try:
        leaves, outputs, seeds = case.graph(case.precise())
        grads = case.gradients(outputs, leaves, seeds)
        if case.precise() is None:  # differences are coarse, and few rows may hide it
            return None
        outcome, evidence, _, method = derivative(case)
    except NotApplicable:
        return None
    except Exception as error:
        return failed(f"With {size}, `backward` raises {in_a_line(error)}", advice, "backward")
    if outcome != "fail":
        return None
    seen = f"With {size}: {evidence[0].lower() if evidence[0].isalpha() else evidence[0]}{evidence[1:]}"
    if not all(bool(case.engine.isfinite(each).all()) for each in grads):
        return "question", f"{seen} Is it never given so few?", advice, method
    return failed(seen, advice, method)


def many_rows(case: Case) -> Seen:
    """Repeat the rows of a batch many times: each row has the result and the gradient that it had."""
    first = case.inputs[case.wanted[0]]
    total = sum(each.numel() for each in case.inputs if case.is_tensor(each))
    times = min(_MANY // max(1, total), 1000)
    if first.ndim < 1 or not first.numel() or times < 3 or not case.is_float(first):
        raise NotApplicable("it has no rows to repeat")
    one, two = _of_rows(case, 1), _of_rows(case, 2)
    if one is None or two is None or not _is_by_row(case, one, two, 2):
        raise NotApplicable("its rows aren't independent")
    try:
        many = _of_rows(case, times, is_caught=False)
    except Exception as error:
        return (
            "question",
            f"With {times * first.shape[0]} rows, it raises {in_a_line(error)} Is it never given so many?",
            "Let it take any number of rows.",
            "forward",
        )
    for what, a, b in zip(("an output", "a gradient"), many or (), one, strict=False):
        for large, small in zip(a, b, strict=True):
            expected = _repeated(case, small, times)
            if apart(case, large, expected) > tolerance(case, large):
                tail = large[-small.shape[0] :]
                return failed(
                    f"With {times * first.shape[0]} rows, the last rows of {what} are {shown(case, tail)}; on their "
                    f"own they are {shown(case, small)}.",
                    "Look for a size that is taken for fixed, such as that of a block.",
                    "forward",
                )
    return PASS


_Rows = tuple[list[Any], list[Any]]


def _of_rows(case: Case, times: int, is_caught: bool = True) -> _Rows | None:
    """Return outputs and gradients of the first input's rows, repeated; None if they can't be had."""
    try:
        leaves = _changed(case, lambda each: _repeated(case, each, times))
        outputs = case.differentiable(case.run(leaves))
        seeds = [_repeated(case, each, times) for each in case.seeds(case.graph()[1])]
        grads = case.gradients(outputs, leaves, seeds)
    except Exception:
        if is_caught:
            return None
        raise
    rows = case.inputs[case.wanted[0]].shape[0]
    kept = [g for g, i in zip(grads, case.wanted, strict=True) if g.ndim and case.inputs[i].shape[0] == rows]
    return [each.detach() for each in outputs], kept


def _is_by_row(case: Case, one: _Rows, several: _Rows, times: int) -> bool:
    for small, large in zip((*one[0], *one[1]), (*several[0], *several[1]), strict=False):
        if not small.ndim or apart(case, large, _repeated(case, small, times)) > tolerance(case, large):
            return False
    return bool(one[0]) and len(one[0]) == len(several[0]) and len(one[1]) == len(several[1])


def _repeated(case: Case, each: Any, times: int) -> Any:
    return case.engine.cat([each] * times) if each.ndim else each


def large_numbers(case: Case) -> Seen:
    """Give inputs a hundred times as large: a gradient of nan for a result that isn't nan divides two infinities."""
    leaves = case.leaves()
    for i in case.wanted:
        leaves[i] = (leaves[i].detach() * _LARGE).requires_grad_(True)
    try:
        outputs = case.differentiable(case.run(leaves))
        grads = case.gradients(outputs, leaves, case.seeds(outputs))
    except Exception as error:
        raise NotApplicable("it refuses larger inputs") from error
    if any(bool(each.isnan().any()) for each in outputs):
        raise NotApplicable("its result for larger inputs is nan")
    for place, grad in zip(case.wanted, grads, strict=True):
        lost = int(grad.isnan().sum().item())
        if lost:
            ends = "infinite" if any(bool(each.isinf().any()) for each in outputs) else "finite"
            return (
                "question",
                f"For inputs 100 times as large, the result is {ends} and the gradient of {case.name(place)} is nan in "
                f"{lost} of {grad.numel()} entries. Is it never given such inputs?",
                "Subtract the largest before `exp`, or rewrite the quotient so that neither part overflows.",
                "backward",
            )
    return PASS
