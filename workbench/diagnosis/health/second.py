"""A rule about custom Functions that are differentiated twice: a second derivative that is lost without an error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...pictures.trace.backward_records import BackwardStarted, NodeStarted
from ...pictures.trace.values import code
from .finding import Finding, asked, describe
from .functions import functions_of
from .graph import RecordedNode
from .training_run import TrainingRun

_CALLS = 3
_LEAST = 3  # numbers that have to differ
_DISTINCT = 0.8  # of the numbers: a mask or a step has few different slopes
_SAME = 1e-3
_ONCE = ("Error", "DelayedError")  # the nodes that refuse a second derivative


def second_lost(run: TrainingRun) -> Iterator[Finding]:
    """Find Functions whose gradient has no graph to their inputs, although a later pass differentiates it."""
    creating = {event.task for event in run.events if isinstance(event, BackwardStarted) and event.create_graph}
    if not creating or not any(node.inside and node.started for node in run.nodes.values()):
        return
    for nodes in functions_of(run).values():
        for node in nodes[:_CALLS]:
            if node.made.code and _is_curved(node) and _is_cut_off(run, node, creating):
                yield _finding_of(node)
                break


def _finding_of(node: RecordedNode) -> Finding:
    return Finding(
        "second derivative lost",
        False,
        asked(
            f"The second derivative of {code(node.made.operation)} is lost: with `create_graph=True`, the backward of "
            f"{describe(node)} computes its gradient without a graph to its inputs, and a later backward pass "
            "differentiates such gradients."
        ),
        "Compute in backward with the inputs from `ctx.saved_tensors` and with tensor operations: `.data`, `detach()`, "
        "NumPy and what forward computed in between have no graph there. Or mark backward with `@once_differentiable`: "
        "a second derivative then raises an error.",
        node.line,
        node.finished[0],
        (node.id,),
    )


def _is_cut_off(run: TrainingRun, node: RecordedNode, creating: set[str]) -> bool:
    """Return True if nothing that a node's backward made for a second derivative leads to what it was given."""
    given = {node.id, *[edge.target for edge in node.made.edges]}
    ran = False
    for start, end in zip(node.started, node.finished, strict=False):
        event = run.events[start]
        if not isinstance(event, NodeStarted) or event.task not in creating:
            continue
        made = [each.made for each in run.nodes.values() if start < each.event < end]
        if any(each.operation in _ONCE or each.name in _ONCE for each in made):
            return False
        if given.intersection([edge.target for each in made for edge in each.edges]):
            return False
        ran = True
    return ran


def _is_curved(node: RecordedNode) -> bool:
    """Return True if the values show that a node's gradient depends on its inputs, number by number."""
    if len(node.outputs) != 1 or len(node.gradients) != 1 or not node.sent:
        return False
    came, result = node.gradients[0], node.outputs[0]
    takes = [edge.target is not None for edge in node.made.edges]
    for given, sent, is_taken in zip(node.inputs, node.sent, takes, strict=False):
        if sent is None or came is None or not is_taken:
            continue
        lists = [each.values if not each.nonfinite else None for each in (given, result, came, sent)]
        if None in lists or len({each.shape for each in (given, result, came, sent)}) > 1:
            continue
        x, y, g, d = [[float(number) for number in each or ()] for each in lists]
        if _varies(x, y, g, d, alone=sum(takes) == 1):
            return True
    return False


def _varies(x: Sequence[float], y: Sequence[float], g: Sequence[float], d: Sequence[float], alone: bool) -> bool:
    """Return True if slopes differ from number to number, and not as those of a product with constants do."""
    points = [(a, b, sent / came) for a, b, came, sent in zip(x, y, g, d, strict=True) if came]
    most = max([abs(slope) for _, _, slope in points], default=0.0)
    distinct = {round(slope / most, 3) for _, _, slope in points} if most else set[float]()
    inputs = {a for a, _, _ in points}
    if len(inputs) < _LEAST or len(distinct) < max(_LEAST, _DISTINCT * len(inputs)):
        return False
    return not alone or any(abs(b - slope * a) > _SAME * (abs(b) + abs(slope * a)) for a, b, slope in points)
