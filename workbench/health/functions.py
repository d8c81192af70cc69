"""A rule about custom Functions: a backward that is not the derivative, by the values that were recorded of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from .finding import Finding, listed, told
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


@dataclass(frozen=True, slots=True)
class _Slope:
    """Between two inputs that lie near each other: how forward rises, and what backward says."""

    at: float
    rise: float
    said: float
    step: float  # between what backward says at both


def not_the_derivative(run: TrainingRun) -> Iterator[Finding]:
    """A Function that treats each number by itself, whose backward differs from how its results rise."""
    for nodes in _functions(run).values():
        for node in nodes[:_CALLS]:
            slopes = _slopes(node)
            if slopes and _differs(node, slopes):
                yield _told(node, slopes)
                break


def compared(run: TrainingRun) -> str:
    """Say which Functions' backwards were compared with how their results rise, and which were not."""
    functions = {name: nodes for name, nodes in _functions(run).items() if nodes[0].made.code}  # no library's
    whole = [name for name, nodes in functions.items() if any(len(_slopes(node)) >= _POINTS for node in nodes[:_CALLS])]
    left = [name for name in functions if name not in whole]
    said = [f"The backward of {listed(whole)} was compared with how the recorded results rise"] * bool(whole)
    if left:
        said.append(
            f"The backward of {listed(left)} was not compared with differences, as {_POINTS} numbers that each have a "
            f"result of their own would allow: `torch.autograd.gradcheck({left[0]}.apply, inputs)` does that"
        )
    return ". ".join(said)


def _functions(run: TrainingRun) -> dict[str, list[RecordedNode]]:
    """The nodes of each Function whose backward ran."""
    functions: dict[str, list[RecordedNode]] = {}
    for node in run.nodes.values():
        if node.made.custom and node.finished and not node.inside:
            functions.setdefault(node.made.operation, []).append(node)
    return functions


def _slopes(node: RecordedNode) -> list[_Slope]:
    """Slopes from each input to the next larger one; none where the values are not known or of another shape."""
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


def _differs(node: RecordedNode, slopes: Sequence[_Slope]) -> bool:
    """Whether both are smooth, as of a derivative, and differ; not where another gradient is meant for a step."""
    if len(slopes) < _POINTS:
        return False
    most = max(max(abs(each.rise), abs(each.said)) for each in slopes)
    flat = median([abs(each.rise) for each in slopes]) <= _FLAT * most
    same = all(abs(each.rise - 1) < _WRONG for each in slopes)  # what is only passed on, with another gradient
    passes = all(abs(each.said - 1) < _WRONG for each in slopes)  # straight through
    if flat or same or passes:
        return False
    smooth = [
        abs(one.rise - other.rise) <= _SMOOTH * most and one.step <= _SMOOTH * most for one, other in pairwise(slopes)
    ]
    wrong = [abs(each.rise - each.said) > _WRONG * most for each in slopes]
    return sum(smooth) >= _MOST * len(smooth) and sum(wrong) >= _OFTEN * len(wrong)


def _told(node: RecordedNode, slopes: Sequence[_Slope]) -> Finding:
    worst = max(slopes, key=lambda each: abs(each.rise - each.said))
    name = node.made.operation
    factors = [each.rise / each.said for each in slopes if each.said]
    factor = median(factors) if factors else 0.0
    near = sum(abs(each / factor - 1) < _WRONG for each in factors) >= _MOST * len(slopes) if factor else False
    by = f", a factor of {factor:.3g}" if near else ""
    return Finding(
        "not the derivative",
        False,
        f"Is the backward of {name} meant to be something else than its derivative? They differ: at an input of "
        f"{worst.at:.3g} {told(node)} passes on {worst.said:.3g} times the gradient, while its recorded results "
        f"rise by {worst.rise:.3g} times the input{by}.",
        f"Check it in float64: `torch.autograd.gradcheck({name}.apply, inputs)`.",
        node.line,
        node.finished[0],
        (node.id,),
    )
