"""Rules about the scale of a loss: a sum instead of a mean, float16 gradients too small or clipped while scaled."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..trace.records import GradChanged
from ..trace.values import Value
from .causes import scale_of, scales
from .finding import Finding, asked, named, place, plural, told
from .graph import RecordedNode
from .infinities import not_finite
from .loop import large_updates
from .measures import is_zero, size_of
from .training_run import TrainedParameter, TrainingRun, TrainingStep

_STEPS = 3
_MANY = 16  # numbers of a sum
_NORMAL = 2.0**-14  # the least float16 that has all its digits
_WAYS = {"neg", "view", "squeeze", "reshape", "add", "to_copy"}  # from a loss to where backward starts
_MASKS = {"relu", "threshold", "clamp_min", "clamp", "where", "masked_fill", "dropout"}
_SHRUNK = 1 / 64  # more than a mean over some processes or batches makes of a gradient


def summed_loss(run: TrainingRun) -> Iterator[Finding]:
    """Find a loss that is a sum over many numbers, with updates that are too large."""
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
            asked(
                f"The loss is a sum, not a mean: {told(node)} adds {count:,} values, so gradients and updates are "
                f"{count:,} times larger than those of their mean."
            ),
            f'Take the mean (`reduction="mean"`), or divide the learning rate by {count:,}.',
            node.line,
            node.event,
            (node.id,),
        )
        return


def _sum_before(run: TrainingRun, root: str) -> tuple[RecordedNode | None, int]:
    """Return the node that sums the loss, and how many numbers it sums."""
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
    """Find float16 gradients that become zero because they are too small."""
    lost: dict[object, list[RecordedNode]] = {}
    for node in run.nodes.values():
        came = [grad for grad in node.gradients if grad is not None]
        if came and node.finished and not node.inside and node.made.operation not in _MASKS and _fades(node, came):
            lost.setdefault((node.made.name, node.made.scope, node.line), []).append(node)
    zero = [each for each in run.trained if each.gradients and all(is_zero(got.own) for got in each.gradients)]
    for nodes in lost.values():
        ways = run.reached([node.id for node in nodes])
        gone = [each for each in zero if each.id in ways]
        if len(nodes) < _STEPS or not gone:
            continue
        node = nodes[0]
        most = max(_largest(grad) for grad in node.gradients if grad is not None)
        yield Finding(
            "underflow",
            True,
            f"Gradients underflow in float16: in {plural(len(nodes), 'backward pass')} {told(node)} received values of "
            f"at most {most:.2g}, close to float16's minimum, and passed on exact zeros, so {named(gone)} "
            f"{'gets' if len(gone) == 1 else 'get'} none.",
            "Scale the loss (`torch.amp.GradScaler`), or use bfloat16 or float32.",
            node.line,
            node.finished[0],
            (node.id, *[each.id for each in gone]),
        )
        return


def _fades(node: RecordedNode, came: list[Value]) -> bool:
    """Return True if a node gets gradients near the smallest number of float16, and sends zeros."""
    half = all(grad.dtype == "float16" and 0 < _largest(grad) < _NORMAL for grad in came)
    sent = [grad for grad in node.sent if grad is not None]
    return half and any(map(is_zero, sent))


def _largest(value: Value) -> float:
    return max([abs(end) for end in (value.min, value.max) if end is not None], default=math.nan)


def clipped_scaled(run: TrainingRun) -> Iterator[Finding]:
    """Find gradients of a scaled loss that are clipped before they are unscaled."""
    found: list[tuple[TrainingStep, float, GradChanged]] = []
    scaled = scales(run)
    for step in run.steps:
        scale = scale_of(run, step, scaled)
        if scale and (event := _shrunk_first(run, step)) is not None:
            found.append((step, scale, event))
    if not found:
        return
    step, scale, event = found[0]
    yield Finding(
        "clipped while scaled",
        True,
        f"Gradients are clipped before they're unscaled: in {plural(len(found), 'step')} {event.name} "
        f"({place(event.source)}) clips them while they're multiplied by {scale:,.0f}, so almost nothing is left.",
        "Call `scaler.unscale_(optimizer)` before clipping the gradients.",
        event.source,
        step.begin,
        tuple(step.gradients),
    )


def _shrunk_first(run: TrainingRun, step: TrainingStep) -> GradChanged | None:
    """Return what made a gradient much smaller after a step's last backward pass and before it was unscaled."""
    end = step.backwards[-1].end
    shrunk: GradChanged | None = None
    for event in run.events[end : step.end] if end is not None else ():
        if not isinstance(event, GradChanged) or event.grad is None:
            continue
        if "unscale" in event.name:
            return shrunk
        if event.grad.norm < _SHRUNK * _before(run.parameters.get(event.tensor), step):
            shrunk = shrunk or event
    return None


def _before(parameter: TrainedParameter | None, step: TrainingStep) -> float:
    """Return the norm of a gradient after the last backward pass of a step."""
    arrived = reversed(parameter.gradients if parameter is not None else [])
    last = next((each for each in arrived if each.event < step.end), None)
    return last.after.norm if last is not None and last.event >= step.begin and last.after is not None else 0.0
