"""A rule about custom Functions: a `backward` that isn't the derivative, judged by recorded values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from ...pictures.trace.values import Value, code, format_value
from .equals import Equal, equal_of
from .finding import Finding, asked, describe, listed
from .graph import RecordedNode
from .training_run import TrainingRun

_POINTS = 24  # that slopes need
_GAP = 0.05  # between two of them, as a share of the whole range
_LEAST_GAP = 1e-4
_SMOOTH = 0.2  # by which one slope may differ from the next
_MOST = 0.85  # of slopes that must be so
_WRONG = 0.1  # by which the backward may differ, as a share of the largest slope
_OFTEN = 0.3  # of places where it differs more
_FLAT = 0.05
_CALLS = 3
_PAIRS = 3  # of calls, one after the other, that each must differ
_SMALL = 0.1  # of what a call was given, that may be another in the next
_SEEN = 1e-3  # of what a call gave, that must be: less is rounding
_APART = 0.3  # by which what backward says of that may differ, as a share of the larger
_AIMED = 0.05  # of the most that both may be: less is chance


@dataclass(frozen=True, slots=True)
class _Slope:
    """Two neighboring inputs: how much forward rises between them, and what backward says."""

    at: float
    rise: float
    said: float
    step: float  # between what backward says at both


def not_the_derivative(run: TrainingRun) -> Iterator[Finding]:
    """Find Functions whose backward differs from the change of their results, within one call or between calls."""
    for nodes in functions_of(run).values():
        if _are_apart(pairs := _pairs(nodes)):
            yield _pairs_finding(nodes[0], pairs)
            continue
        for node in nodes[:_CALLS]:
            slopes = _slopes(node)
            if slopes and _differs(node, slopes):
                yield _finding_of(node, slopes)
                break
        else:
            if (unlike := _unlike(nodes)) is not None:
                yield _equal_finding(*unlike)


def compared(run: TrainingRun) -> str:
    """Describe which Functions' backward was compared, with a formula or with their results, and which wasn't."""
    functions = {name: nodes for name, nodes in functions_of(run).items() if nodes[0].made.code}  # no library's
    whole = [
        name
        for name, nodes in functions.items()
        if _are_apart(_pairs(nodes)) or any(_are_smooth(_slopes(node)) for node in nodes[:_CALLS])
    ]
    equal = {name: each for name, nodes in functions.items() if name not in whole and (each := equal_of(nodes[0]))}
    left = [name for name in functions if name not in (*whole, *equal)]
    said = [f"The backward of {listed(whole)} was compared with differences of the recorded results"] * bool(whole)
    said += [f"The backward of `{name}` was compared with that of `{each.text}`" for name, each in equal.items()]
    if left:
        said.append(
            f"The backward of {listed(left)} was not compared with differences, which needs {_POINTS} numbers with "
            "separate results, a result that equals a common formula, such as a product, or steps in which the inputs "
            f"change little. Check it with `torch.autograd.gradcheck({left[0]}.apply, inputs)`"
        )
    return ". ".join(said)


def functions_of(run: TrainingRun) -> dict[str, list[RecordedNode]]:
    """Return the nodes of each Function whose backward ran, except those that run a backward pass of their own.

    A checkpoint does: its backward reaches weights, which aren't its inputs and change before the next step.
    """
    functions: dict[str, list[RecordedNode]] = {}
    inner = [each.event for each in run.backwards if each.inner]
    for node in run.nodes.values():
        if node.made.custom and node.finished and not node.inside:
            ran = zip(node.started, node.finished, strict=False)
            if any(begun < event < end for begun, end in ran for event in inner):
                continue
            functions.setdefault(node.made.operation, []).append(node)
    return functions


class _Pair(NamedTuple):
    """Two calls: the change of the results in the direction of the gradient, and what backward says."""

    rise: float
    said: float
    most: float  # that the first can be


def _pairs(nodes: Sequence[RecordedNode]) -> list[_Pair]:
    """Return calls of a Function of several inputs, or of another shape, with nearly the inputs of the step before.

    The gradient is the mean of both calls', so only terms of third order in the change are omitted.
    """
    found: list[_Pair] = []
    for one, other in pairwise(nodes):
        if (one.line, one.made.scope) != (other.line, other.made.scope) or _texts(one) != _texts(other):
            return []  # it is called in several places
        lists = [_lists(node) for node in (one, other)]
        if not all(lists):
            return []
        (given, results, came, sent), (then_given, then_results, then_came, then_sent) = lists
        moves = [_minus(a, b) for a, b in zip(then_given, given, strict=True)]
        if any(x == y for x in given for y in results) or any(x == y for x in sent for y in came):
            return []  # passed on, or straight through
        if any(any(move) and not grad for move, grad in zip(moves, sent, strict=True)):
            return []  # an input whose gradient wasn't requested
        rises = [_minus(a, b) for a, b in zip(then_results, results, strict=True)]
        middle = [[(a + b) / 2 for a, b in zip(*each, strict=True)] for each in zip(came, then_came, strict=True)]
        near = math.hypot(*map(_norm, moves)) <= _SMALL * math.hypot(*map(_norm, given))
        if not near or math.hypot(*map(_norm, rises)) < _SEEN * math.hypot(*map(_norm, results)):
            continue
        said = [
            sum((a + b) / 2 * step for a, b, step in zip(*each, strict=True))
            for each in zip(sent, then_sent, moves, strict=True)
            if each[0]
        ]
        rise = sum(a * b for each in zip(middle, rises, strict=True) for a, b in zip(*each, strict=True))
        found.append(_Pair(rise, sum(said), math.hypot(*map(_norm, middle)) * math.hypot(*map(_norm, rises))))
    return found


def _slopes(node: RecordedNode) -> list[_Slope]:
    """Return slopes from each input to the next larger one; none if the values aren't known or have another shape."""
    if len(node.inputs) != 1 or len(node.outputs) != 1 or len(node.gradients) != 1 or not node.sent:
        return []
    values = [node.inputs[0], node.outputs[0], node.gradients[0], node.sent[0]]
    known = [value.values for value in values if value is not None and not value.nonfinite]
    lists = [each for each in known if each is not None]
    if len(lists) < len(values) or len({value.shape for value in values if value is not None}) > 1:
        return []
    received = [abs(number) for number in lists[2]]
    least = median(received) / 1000
    points = sorted([(x, y, d / g) for x, y, g, d in zip(*lists, strict=True) if abs(g) > least])
    if len(points) < _POINTS:
        return []
    whole = points[-1][0] - points[0][0]
    kept = points[:1]
    for point in points[1:]:
        if point[0] - kept[-1][0] > _LEAST_GAP * whole:
            kept.append(point)
    return [
        _Slope((x + to) / 2, (up - y) / (to - x), (d + next_d) / 2, abs(next_d - d))
        for (x, y, d), (to, up, next_d) in pairwise(kept)
        if to - x <= _GAP * whole
    ]


def _lists(node: RecordedNode) -> list[list[Sequence[float]]]:
    """Return the numbers that a call got and gave, and those of backward; a missing gradient is empty.

    Return nothing if some aren't known, or if each number has its own result: then slopes are more precise.
    """
    if len(node.inputs) != len(node.sent) or not node.outputs or len(node.gradients) != len(node.outputs):
        return []
    if len(node.inputs) == 1 and node.inputs[0].shape == node.outputs[0].shape:
        return []
    groups = [node.inputs, node.outputs, node.gradients, node.sent]
    lists = [
        [() if value is None else value.values if not value.nonfinite else None for value in group] for group in groups
    ]
    known = [[each for each in group if each is not None] for group in lists]
    fits = all(not got or len(got) == len(gave) for got, gave in zip(known[2], known[1], strict=False))
    whole = all(len(a) == len(b) for a, b in zip(known, lists, strict=True)) and all(known[2])
    return [[*group] for group in known] if whole and fits else []


def _texts(node: RecordedNode) -> list[str]:
    return [arg.text for arg in node.made.args if arg.tensor is None]


def _minus(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [a - b for a, b in zip(one, other, strict=True)]


def _norm(values: Sequence[float]) -> float:
    return math.hypot(*values)


def _are_apart(pairs: Sequence[_Pair]) -> bool:
    """Return True if the numbers of each pair differ by far more than the change of the inputs explains."""
    larger = [max(abs(pair.rise), abs(pair.said)) for pair in pairs]
    return len(pairs) >= _PAIRS and all(
        abs(pair.rise - pair.said) > _APART * most and most > _AIMED * pair.most
        for pair, most in zip(pairs, larger, strict=True)
    )


def _pairs_finding(node: RecordedNode, pairs: Sequence[_Pair]) -> Finding:
    name, first = node.made.operation, pairs[0]
    return Finding(
        "not the derivative",
        False,
        asked(
            f"The backward of `{name}` doesn't match its derivative. According to the gradients that {describe(node)} "
            f"sends back, its result should change by {first.said:.3g} between two calls (measured along the incoming "
            f"gradient), but it changed by {first.rise:.3g}. All {len(pairs)} pairs of calls that were compared show "
            "such a mismatch."
        ),
        "Look for a transpose, a sign, or the order of the returned gradients. Check it in float64: "
        f"`torch.autograd.gradcheck({name}.apply, inputs)`.",
        node.line,
        node.finished[0],
        (node.id,),
    )


def _unlike(nodes: Sequence[RecordedNode]) -> tuple[RecordedNode, Equal] | None:
    """Return the first call if in all calls the gradients differ from those of the formula of the result."""
    equal = [(node, equal_of(node)) for node in nodes[:_CALLS]]
    if all(each is not None and each.wrong for _, each in equal) and (first := equal[0][1]) is not None:
        return nodes[0], first
    return None


def _equal_finding(node: RecordedNode, equal: Equal) -> Finding:
    name, wrong = node.made.operation, listed(equal.wrong)
    sent = " and ".join(
        [f"{format_value(Value.of(each))} to {code(to)}" for to, each in zip(equal.wrong, equal.sent, strict=True)]
    )
    expected = " and ".join([format_value(Value.of(each)) for each in equal.expected])
    return Finding(
        "not the derivative",
        False,
        asked(
            f"The backward of `{name}` doesn't match its derivative: the result of {describe(node)} equals "
            f"`{equal.text}`, "
            f"but the gradient of {wrong} is not that of this formula. `backward` sent {sent}, and the formula gives "
            f"{expected}."
        ),
        "Look for a missing incoming gradient, a transpose, a sign, a factor, or the order of the returned gradients. "
        f"Check it in float64: `torch.autograd.gradcheck({name}.apply, inputs)`.",
        node.line,
        node.finished[0],
        (node.id,),
    )


def _differs(node: RecordedNode, slopes: Sequence[_Slope]) -> bool:
    """Return True if both are smooth, as derivatives are, and differ; a step may have a surrogate on purpose."""
    if not _are_smooth(slopes):
        return False
    most = max(max(abs(each.rise), abs(each.said)) for each in slopes)
    flat = median([abs(each.rise) for each in slopes]) <= _FLAT * most
    same = all(abs(each.rise - 1) < _WRONG for each in slopes)  # what is only passed on, with another gradient
    passes = all(abs(each.said - 1) < _WRONG for each in slopes)  # straight through
    if flat or same or passes:
        return False
    wrong = [abs(each.rise - each.said) > _WRONG * most for each in slopes]
    return sum(wrong) >= _OFTEN * len(wrong)


def _are_smooth(slopes: Sequence[_Slope]) -> bool:
    """Return True if there are enough, and both change little between neighbors: each number has its own result."""
    if len(slopes) < _POINTS:
        return False
    most = max(max(abs(each.rise), abs(each.said)) for each in slopes)
    smooth = [
        abs(one.rise - other.rise) <= _SMOOTH * most and one.step <= _SMOOTH * most for one, other in pairwise(slopes)
    ]
    return sum(smooth) >= _MOST * len(smooth)


def _finding_of(node: RecordedNode, slopes: Sequence[_Slope]) -> Finding:
    worst = max(slopes, key=lambda each: abs(each.rise - each.said))
    name = node.made.operation
    factors = [each.rise / each.said for each in slopes if each.said]
    factor = median(factors) if factors else 0.0
    near = sum(abs(each / factor - 1) < _WRONG for each in factors) >= _MOST * len(slopes) if factor else False
    by = f": backward is off by a factor of {factor:.3g}" if near else ""
    return Finding(
        "not the derivative",
        False,
        asked(
            f"The backward of `{name}` doesn't match its derivative. At an input of {worst.at:.3g}, {describe(node)} "
            f"multiplies the gradient by {worst.said:.3g}, but the recorded results have a slope of "
            f"{worst.rise:.3g}{by}."
        ),
        f"Check it in float64: `torch.autograd.gradcheck({name}.apply, inputs)`.",
        node.line,
        node.finished[0],
        (node.id,),
    )
