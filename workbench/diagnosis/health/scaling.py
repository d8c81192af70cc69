"""Rules about the scale of a loss: a sum, a scale that stays in the gradients, float16 underflow, clipping."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...pictures.trace.backward_records import GradChanged
from ...pictures.trace.values import Value, code
from .causes import scale_of, scales
from .finding import Finding, asked, describe, named, place, plural
from .graph import RecordedNode
from .infinities import not_finite
from .loop import diverges, large_updates
from .measures import is_same, is_zero, size_of
from .training_run import TrainedParameter, TrainingRun, TrainingStep, Update

_STEPS = 3
_MANY = 16  # numbers of a sum
_NORMAL = 2.0**-14  # the least float16 that has all its digits
_WAYS = {"neg", "view", "squeeze", "reshape", "add", "to_copy"}  # from a loss to where backward starts
_SUM = "2"  # the number of the reduction
_REDUCED_AT = {"nll_loss": 3, "nll_loss2d": 3, "binary_cross_entropy": 3, "binary_cross_entropy_with_logits": 4}
_MASKS = {"relu", "threshold", "clamp_min", "clamp", "where", "masked_fill", "dropout"}
_SCALED = 64.0  # the least factor of a loss that is taken for a scale
_SHRUNK = 1 / 64  # more than a mean over some processes or batches makes of a gradient


def _trouble(run: TrainingRun) -> Finding | None:
    """Return a finding that a loss which is too large would explain."""
    return next(large_updates(run), None) or next(not_finite(run), None) or next(diverges(run), None)


def summed_loss(run: TrainingRun) -> Iterator[Finding]:
    """Find a loss that is a sum over many numbers, with updates that are too large."""
    trouble = _trouble(run)
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
                f"The loss is a sum, not a mean: {describe(node)} adds {count:,} values, so gradients and updates are "
                f"{count:,} times larger than those of their mean."
            ),
            f'Take the mean (`reduction="mean"`), or divide the learning rate by {count:,}.',
            node.line,
            node.event,
            (node.id,),
        )
        return


def scaled_loss(run: TrainingRun) -> Iterator[Finding]:
    """Find a loss that is multiplied by a large number, and steps by gradients that nothing divides by it."""
    if _trouble(run) is None:
        return
    for step in run.steps:
        roots = [_scaled(run, root.node) for each in step.backwards for root in each.roots]
        node, factor = next((each for each in roots if each[1]), (None, 0.0))
        changed = [(run.parameters[id], update) for id, update in step.updates.items()]
        stepped = [parameter for parameter, update in changed if _is_by_what_came(parameter, update)]
        if node is None or not stepped:
            continue
        update = step.updates[stepped[0].id]
        yield Finding(
            "scaled loss",
            False,
            asked(
                f"The loss is multiplied by {factor:,.0f} before the backward pass ({place(node.line)}), and "
                f"{code(update.optimizer or 'the update')} ({place(update.source)}) steps with gradients that still "
                f"contain this factor: nothing divides the gradients of {named(stepped)} by it."
            ),
            "Divide the gradients by it before the step: "
            "`for p in model.parameters(): p.grad /= scale`, or use `torch.amp.GradScaler`.",
            node.line,
            node.event,
            (node.id, *[each.id for each in stepped]),
        )
        return


def _scaled(run: TrainingRun, root: str) -> tuple[RecordedNode | None, float]:
    """Return the product that a backward pass starts at, and its large constant factor; 0 if there is none."""
    node = run.nodes.get(root)
    if node is None or node.made.operation != "mul" or not node.outputs or size_of(node.outputs[0]) != 1:
        return None, 0.0
    constants = [_number(arg.text) for arg in node.made.args if arg.tensor is None]
    ids = [run.places.get(id, id) for id in node.input_ids]
    given = [(id in run.nodes, value) for id, value in zip(ids, node.inputs, strict=False)]
    constants += [value.norm for computed, value in given if not computed and size_of(value) == 1]
    loss = next((value.norm for computed, value in given if computed), 0.0)
    if loss and any(_SCALED <= each < math.inf for each in constants):  # their text is rounded
        return node, node.outputs[0].norm / loss
    return None, 0.0


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _is_by_what_came(parameter: TrainedParameter, update: Update) -> bool:
    """Return True if an update used a gradient as the backward pass had left it."""
    came = parameter.gradients[update.arrived - 1] if 0 < update.arrived <= len(parameter.gradients) else None
    if came is None or came.after is None or update.grad is None:
        return False
    return not is_zero(update.grad) and is_same(came.after, update.grad)


def _sum_before(run: TrainingRun, root: str) -> tuple[RecordedNode | None, int]:
    """Return the node that sums the loss, and how many numbers it sums."""
    left = [root]
    while left:
        node = run.nodes.get(left.pop())
        if node is None or not node.outputs or size_of(node.outputs[0]) != 1:
            continue
        name = node.made.operation
        if _is_summed(node) and len(node.inputs) > 1:
            count = size_of(node.inputs[1])
        elif name == "sum" and node.inputs:
            count = size_of(node.inputs[0])
        else:
            left += [edge.target for edge in node.made.edges if edge.target and name in _WAYS]
            continue
        if count >= _MANY:
            return node, count
    return None, 0


def _is_summed(node: RecordedNode) -> bool:
    """Return True if a node is a loss that its reduction sums: PyTorch shows "sum", and the engine its number."""
    name, args = node.made.operation, node.made.args
    if not name.endswith("loss") and name not in _REDUCED_AT:
        return False
    at = _REDUCED_AT.get(name, 2)
    return any(arg.text == "sum" for arg in args) or (len(args) > at and args[at].text == _SUM)


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
            f"Gradients underflow in float16: in {plural(len(nodes), 'backward pass')} {describe(node)} received "
            "values of "
            f"at most {most:.2g}, close to float16's minimum, and passed on exact zeros, so {named(gone)} "
            f"{'gets' if len(gone) == 1 else 'get'} none.",
            "Scale the loss (`torch.amp.GradScaler`), or use `bfloat16` or `float32`.",
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
        f"Gradients are clipped before they're unscaled: in {plural(len(found), 'step')} {code(event.name)} "
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
