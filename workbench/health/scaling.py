"""Rules about the scale of a loss: a sum where a mean was meant, gradients too small for float16 or clipped scaled."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from ..trace.records import GradChanged, TensorWritten
from ..trace.values import Value
from .finding import Finding, named, place, plural, told
from .loop import large_updates
from .numbers import not_finite
from .training_run import RecordedNode, TrainedParameter, TrainingRun, TrainingStep, is_zero, size_of

_STEPS = 3
_MANY = 16  # numbers of a sum
_NORMAL = 2.0**-14  # the least float16 that has all its digits
_WAYS = {"neg", "view", "squeeze", "reshape", "add", "to_copy"}  # from a loss to where backward starts
_MASKS = {"relu", "threshold", "clamp_min", "clamp", "where", "masked_fill", "dropout"}
_SCALE = 16.0  # of a loss that is scaled for float16
_NEAR = 0.01


def summed_loss(run: TrainingRun) -> Iterator[Finding]:
    """The loss is a sum over many numbers, and its updates are too large."""
    trouble = next(large_updates(run), None) or next(not_finite(run), None)
    backward = next((each for each in run.backwards if not each.inner), None)
    if trouble is None or backward is None:
        return
    for root in backward.roots:
        node, count = _sum_before(run, root.node)
        if node is None:
            continue
        yield Finding(
            "loss is a sum",
            False,
            f"Is the loss meant to be a sum and not a mean? {told(node)} is a sum over {count:,} numbers, so every "
            f"gradient is {count:,} times that of their mean, and the updates are as much larger.",
            'Take the mean (`reduction="mean"`), or a learning rate that is smaller by that factor.',
            node.line,
            node.event,
            (node.id,),
        )
        return


def _sum_before(run: TrainingRun, root: str) -> tuple[RecordedNode | None, int]:
    """The node that sums up the loss, and how many numbers it sums."""
    left = [root]
    while left:
        node = run.nodes.get(left.pop())
        if node is None or not node.outputs or size_of(node.outputs[0]) != 1:
            continue
        name = node.made.operation
        if name.endswith("loss") and any(arg.text == "sum" for arg in node.made.args) and len(node.inputs) > 1:
            count = size_of(node.inputs[1])
        elif name == "sum" and node.inputs:
            count = size_of(node.inputs[0])
        else:
            left += [edge.target for edge in node.made.edges if edge.target and name in _WAYS]
            continue
        if count >= _MANY:
            return node, count
    return None, 0


def underflow(run: TrainingRun) -> Iterator[Finding]:
    """Gradients in float16 become zero, as they are too small for it."""
    lost: dict[object, list[RecordedNode]] = {}
    for node in run.nodes.values():
        came = [grad for grad in node.gradients if grad is not None]
        if came and node.finished and not node.inside and node.made.operation not in _MASKS and _fades(node, came):
            lost.setdefault((node.made.name, node.made.scope, node.line), []).append(node)
    zero = [each for each in run.trained if each.gradients and all(_is_nothing(got.own) for got in each.gradients)]
    for nodes in lost.values():
        ways = {id for node in nodes for id in _behind(run, node)}
        gone = [each for each in zero if each.id in ways]
        if len(nodes) < _STEPS or not gone:
            continue
        node = nodes[0]
        most = max(_largest(grad) for grad in node.gradients if grad is not None)
        yield Finding(
            "underflow",
            True,
            f"Gradients underflow in float16: {told(node)} receives numbers of at most {most:.2g}, near the least that "
            f"float16 has, and sends exact zeros on, in {plural(len(nodes), 'backward')}; so the gradient of "
            f"{named(gone)} is zero.",
            "Scale the loss (`torch.amp.GradScaler`), or compute in bfloat16 or float32.",
            node.line,
            node.finished[0],
            (node.id, *[each.id for each in gone]),
        )
        return


def _fades(node: RecordedNode, came: list[Value]) -> bool:
    """Whether a node is given gradients near the least that float16 has, and sends zeros on."""
    half = all(grad.dtype == "float16" and 0 < _largest(grad) < _NORMAL for grad in came)
    sent = [grad for grad in node.sent if grad is not None]
    return half and any(map(is_zero, sent))


def _largest(value: Value) -> float:
    return max([abs(end) for end in (value.min, value.max) if end is not None], default=math.nan)


def _is_nothing(grad: Value | None) -> bool:
    return grad is not None and is_zero(grad)


def _behind(run: TrainingRun, node: RecordedNode) -> set[str]:
    """All nodes and leaves that a node's gradient goes on to."""
    found: set[str] = set()
    left = [node.id]
    while left:
        at = run.nodes.get(left.pop())
        for edge in at.made.edges if at is not None else ():
            if edge.target is not None and edge.target not in found:
                found.add(edge.target)
                left.append(edge.target)
    return found


def clipped_scaled(run: TrainingRun) -> Iterator[Finding]:
    """Gradients of a loss that was scaled are made smaller before the scale is taken off again."""
    scaled = {event.tensor for event in run.events if isinstance(event, TensorWritten) and "update_scale" in event.name}
    steps: list[tuple[TrainingStep, float, GradChanged]] = []
    for step in run.steps:
        scale = _scale_of(run, step, scaled)
        first = scale and _first_change(run, step)
        if scale and first:
            factor, event = first
            if "unscale" in event.name or abs(factor * scale - 1) < _NEAR or factor >= 1:
                return
            steps.append((step, scale, event))
    if not steps:
        return
    step, scale, event = steps[0]
    yield Finding(
        "clipped while scaled",
        True,
        f"Gradients are clipped while they are still scaled by {scale:,.0f}: {event.name} ({place(event.source)}) "
        f"changes them first, and they are unscaled after that, so that little is left of them, in "
        f"{plural(len(steps), 'step')}.",
        "Call `scaler.unscale_(optimizer)` before the gradients are clipped.",
        event.source,
        step.begin,
        tuple(step.gradients),
    )


def _scale_of(run: TrainingRun, step: TrainingStep, scaled: set[str]) -> float:
    """By which number a scaler has multiplied the loss of a step; 0 if none has."""
    for backward in step.backwards[-1:]:
        for root in backward.roots:
            node = run.nodes.get(root.node)
            given = [arg.tensor for arg in node.made.args if arg.tensor in scaled] if node is not None else []
            if node is not None and node.made.operation == "mul" and given:
                factors = [value for id, value in zip(node.input_ids, node.inputs, strict=True) if id in given]
                return next((value.norm for value in factors if value.norm >= _SCALE), 0.0)
    return 0.0


def _first_change(run: TrainingRun, step: TrainingStep) -> tuple[float, GradChanged] | None:
    """What changes gradients first after the last backward of a step, and by which factor."""
    end = step.backwards[-1].end
    if end is None:
        return None
    first: GradChanged | None = None
    factors: list[float] = []
    for event in run.events[end : step.end]:
        if not isinstance(event, GradChanged) or event.grad is None:
            continue
        if first is None:
            first = event
        if (event.name, event.source) != (first.name, first.source):
            break
        before = _before(run.parameters.get(event.tensor), step)
        if before:
            factors.append(event.grad.norm / before)
    return (median(factors), first) if first is not None and factors else None


def _before(parameter: TrainedParameter | None, step: TrainingStep) -> float:
    """The norm of a gradient as the last backward of a step left it."""
    arrived = [each for each in parameter.gradients if step.begin <= each.event < step.end] if parameter else []
    return arrived[-1].after.norm if arrived and arrived[-1].after is not None else 0.0
