"""A rule about a gradient that is huge once, because of a division by almost nothing, such as the norm of zeros."""

from __future__ import annotations

from collections.abc import Iterator

from ...pictures.trace.values import Value, number
from .backwards import RecordedBackward
from .finding import Finding, describe, named, plural
from .graph import RecordedNode
from .training_run import ArrivedGradient, TrainedParameter, TrainingRun

_ONCE = 1e6  # as a multiple of the gradient's norm in all other backwards
_AT_ONE = 1e6  # by which one node makes it larger
_NOTHING = 1e-5  # what it divides by
_DEAD = 1e-6  # as a multiple of what came to the same node in the backward in which it was large
_DIVIDES = {"div": "other", "reciprocal": "result", "sqrt": "result", "log": "self", "rsqrt": "self"}


def _spike_of(parameter: TrainedParameter) -> ArrivedGradient | None:
    """Return the only gradient that is far larger than all others of a parameter, all of them finite."""
    all = parameter.gradients
    if len(all) < 2 or any(each.own.nonfinite or not each.own.is_known for each in all):
        return None
    *_, second, first = sorted([each.own.norm for each in all])
    if first <= _ONCE * second:
        return None
    return next(each for each in all if each.own.norm == first)


_Spikes = dict[str, list[tuple[TrainedParameter, ArrivedGradient, RecordedBackward]]]


def spikes(run: TrainingRun) -> _Spikes:
    """Return, by the responsible node, parameters whose gradient is far larger once, with it and its backward pass."""
    groups: _Spikes = {}
    for parameter in run.trained:
        spike = _spike_of(parameter)
        backward = None if spike is None else _brought_by(run, spike, parameter.id)
        node = None if backward is None else _enlarging(run, backward, parameter.id)
        divisor = None if node is None else _divisor(node)
        if spike is None or backward is None or node is None or divisor is None or divisor > _NOTHING:
            continue
        if spike is not parameter.gradients[-1]:  # a diverging run ends with it
            groups.setdefault(node.id, []).append((parameter, spike, backward))
    return groups


def explodes_once(run: TrainingRun) -> Iterator[Finding]:
    """Find a gradient that one node makes a million times as large in one backward pass, and in no other."""
    for id, group in spikes(run).items():
        node, (parameter, spike, backward) = run.nodes[id], group[0]
        got, sent = _largest(backward.received[id]), _largest(backward.sent[id])
        later = [each.own.norm for each in parameter.gradients if each.event > spike.event]
        step = run.step_of(spike.event)
        when = f" in step {step.number} of {len(run.steps)}" if step is not None and len(run.steps) > 1 else ""
        passes = plural(len(later), "later backward pass")
        after = f"; in {passes} it is at most {number(max(later))}" if later else ""
        update = next((each for each in parameter.updates if each.event > spike.event), None)
        became = f", which takes the norm of {parameter.words} to {number(update.after.norm)}" if update else ""
        dead = later and max(later) <= _DEAD * got
        by = f", because it divides by {number(_divisor(node) or 0.0)}"
        yield Finding(
            "explodes once",
            True,
            f"The gradient of {named([each for each, *_ in group])} is huge{when or ' once'}"
            f"{', and nearly zero afterward' if dead else ''}: {describe(node)} receives a norm of {number(got)} "
            "and sends "
            f"{number(sent)}{by}. The gradient norm of {parameter.words} is {number(spike.own.norm)}{became}{after}.",
            "Keep the divisor away from 0: start with weights that aren't all 0, skip rows of zeros, or use a larger "
            "`eps` (`F.normalize` has 1e-12). Clipping the gradient norm limits the step.",
            node.line,
            backward.event,
            (id, *[each.id for each, *_ in group]),
        )


def _brought_by(run: TrainingRun, arrived: ArrivedGradient, parameter: str) -> RecordedBackward | None:
    before = [each for each in run.backwards if each.event < arrived.event and parameter in each.received]
    return before[-1] if before else None


def _enlarging(run: TrainingRun, backward: RecordedBackward, parameter: str) -> RecordedNode | None:
    """Return the node on the path to a parameter that enlarges the gradient most, if by enough."""
    factors: dict[str, float] = {}
    for id in run.before(parameter):
        got, sent = _largest(backward.received.get(id, ())), _largest(backward.sent.get(id, ()))
        if id in run.nodes and got > 0:
            factors[id] = sent / got
    most = max(factors, key=lambda id: factors[id], default="")
    return run.nodes[most] if most and factors[most] >= _AT_ONE else None


def _largest(grads: tuple[Value | None, ...]) -> float:
    return max([grad.norm for grad in grads if grad is not None and grad.is_known], default=0.0)


def _divisor(node: RecordedNode) -> float | None:
    """Return the smallest number that a node divides by, if it's known to be positive."""
    value = node.saved.get(_DIVIDES.get(node.made.operation, ""))
    return value.min if value is not None and value.min is not None and value.min > 0 else None
