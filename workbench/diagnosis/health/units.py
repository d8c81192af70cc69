"""A rule about the units of a layer: equal ones with equal gradients stay equal."""

from __future__ import annotations

from collections.abc import Iterator

from ...pictures.trace.values import Value, code
from .finding import Finding, named, place, plural
from .training_run import TrainedParameter, TrainingRun

_UNITS = 4
_STEPS = 3
_NEAR = 1e-5  # as a multiple of the largest number: sums of equal numbers in another order
_MATRIX = 2


def equal_units(run: TrainingRun) -> Iterator[Finding]:
    """Find weights whose rows start equal and get equal gradients: one unit, many times."""
    found = [(each, steps) for each in run.trained if (steps := _steps_alike(run, each))]
    if not found:
        return
    parameters = [parameter for parameter, _ in found]
    first, steps = found[0]
    node = run.nodes[first.used[0]] if first.used else None
    which = f"of {code(first.scope or 'a layer')} ({place(node.line)}) " if node is not None else ""
    yield Finding(
        "equal units",
        True,
        f"All {first.shape[0]} units {which}are identical and stay that way: the rows of {named(parameters)} start "
        f"with the same values, and got the same gradients in {plural(steps, 'backward pass')}.",
        "Initialize weights randomly, for example with `nn.init.kaiming_uniform_(weight)`; biases may start at 0.",
        node.line if node is not None else None,
        first.gradients[0].event,
        tuple([each.id for each in parameters]),
    )


def _steps_alike(run: TrainingRun, parameter: TrainedParameter) -> int:
    """Return in how many backward passes a weight's rows got equal gradients; 0 unless in all and from the start."""
    if len(parameter.shape) < _MATRIX or parameter.shape[0] < _UNITS or not _is_alike(parameter.seen.value):
        return 0
    asked = parameter
    if any(got.own is not None and got.own.values is None for got in parameter.gradients):
        rows = parameter.shape[:1]  # of a large weight the bias beside it tells
        beside = [each for each in run.trained if each.shape == rows and each.scope == parameter.scope]
        if len(beside) != 1:
            return 0
        asked = beside[0]
    grads = [got.own for got in asked.gradients if got.own is not None]
    alike = all(grad.norm > 0 and not grad.nonfinite and _is_alike(grad) for grad in grads)
    return len(grads) if alike and len(grads) >= _STEPS else 0


def _is_alike(value: Value) -> bool:
    """Return True if all rows of a value have the same numbers."""
    if value.min is None or value.max is None or value.nonfinite:
        return False
    most = max(abs(value.min), abs(value.max)) * _NEAR
    if value.max - value.min <= most:
        return True
    if value.values is None or len(value.shape) < _MATRIX:
        return False
    count = len(value.values) // value.shape[0]
    first = value.values[:count]
    return all(abs(number - first[at % count]) <= most for at, number in enumerate(value.values[count:]))
