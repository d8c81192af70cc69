"""Causes behind findings: where numbers became huge, what ran under no_grad, names with a common start."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from os.path import commonprefix

from ...pictures.trace.facts import Cut
from ...pictures.trace.tensor_records import TensorWritten
from ...pictures.trace.values import Value
from .finding import Finding, asked, describe, place, plural
from .graph import RecordedNode
from .training_run import TrainingRun, TrainingStep

# The words for cuts by which gradients were off: how something was computed, and what to do if that is not meant.
_SWITCHED_OFF = {
    "no_grad": (
        "this input was computed from trainable weights under `no_grad` ({}), so these weights get no gradient from it",
        "Remove `no_grad`",
    ),
    "checkpoint": (
        "a checkpoint with `use_reentrant=True` ({}) computed this input. None of the checkpoint's own inputs requires "
        "a gradient, so PyTorch gives none to the trainable weights inside it",
        "Call `checkpoint` with `use_reentrant=False`",
    ),
}
_HUGE = 1e10  # numbers that something has let grow
_STEPS = 3
_SCALE = 16.0  # of a loss that is scaled for float16


def grown(run: TrainingRun, node: RecordedNode) -> str:
    """Return ` to 4.97e+35 in exp (…)`, with the node before this one; "" if no number is huge."""
    before = [run.nodes[id] for id in run.reached([node.id]) if id in run.nodes and id != node.id]
    huge = [each for each in before if _largest(each.outputs) > _HUGE and _largest(each.inputs) <= _HUGE]
    first = min(huge, key=lambda each: each.event, default=None)
    return f" to {_largest(first.outputs):.3g} in {describe(first)}" if first is not None else ""


def _largest(values: Sequence[Value]) -> float:
    ends = [abs(end) for value in values for end in (value.min, value.max) if end is not None]
    return max(ends, default=0.0)


def without_gradients(run: TrainingRun) -> Iterator[Finding]:
    """Find trained layers that get, in each step, what weights computed under `no_grad`."""
    found: dict[object, list[tuple[RecordedNode, Cut]]] = {}
    given: dict[object, set[tuple[str | None, int]]] = {}
    written: dict[str, list[int]] = {}
    for at, event in enumerate(run.events):
        if isinstance(event, TensorWritten):
            written.setdefault(event.tensor, []).append(at)
    for node in run.nodes.values():
        if node.inside or not node.made.scope or not _has_weight(run, node):
            continue
        for arg in node.made.args:
            seen = run.tensors.get(arg.tensor or "")
            cut = seen.cut if seen is not None and "float" in seen.value.dtype and not seen.requires_grad else None
            if cut is not None and cut.word in _SWITCHED_OFF and _is_behind_unused(run, cut):
                same = node.made.name, node.made.scope, node.line, cut.source
                found.setdefault(same, []).append((node, cut))
                given.setdefault(same, set()).add((arg.tensor, bisect(written.get(arg.tensor or "", []), node.event)))
    began = [each.event for each in run.backwards]
    for same, all in found.items():
        steps = len({bisect(began, node.event) for node, _ in all})
        node, cut = all[0]
        # Features may be computed once, before the loop, and weights that train elsewhere are known after some steps:
        # but a checkpoint runs its part again only for gradients.
        if cut.word != "checkpoint" and (len(given[same]) == 1 or steps < _STEPS):
            continue
        if not run.is_training:
            continue
        how, leave = _SWITCHED_OFF[cut.word]
        yield Finding(
            "under no_grad",
            False,
            asked(
                f"The gradient stops at the input of {describe(node)}. In {plural(steps, 'step')}, "
                f"{how.format(place(cut.source))}."
            ),
            f"{leave}. If it's intentional, freeze these weights with `requires_grad_(False)`.",
            cut.source or node.line,
            node.event,
            (node.id,),
        )
        return


def _is_behind_unused(run: TrainingRun, cut: Cut) -> bool:
    """Return True if no operation on the weights upstream of a cut was recorded."""
    parameter = run.parameters.get(cut.node or "")
    return cut.node is None or (parameter is not None and not parameter.used)


def _has_weight(run: TrainingRun, node: RecordedNode) -> bool:
    """Return True if a node applies a weight that is updated, possibly transposed."""
    targets = [edge.target for edge in node.made.edges]
    targets += [edge.target for id in targets if id in run.nodes for edge in run.nodes[id].made.edges]
    weights = [run.parameters[id] for id in targets if id in run.parameters]
    return any(each.updates and len(each.shape) > 1 for each in weights)


def alike(names: Iterable[str], trained: Iterable[str]) -> str:
    """Return a sentence about numbered layers whose names start like that of another layer that isn't trained either.

    `blocks.10` and `blocks.11` start with `blocks.1`: freezing by the start of a name freezes all three.
    """
    parts = [re.match(r"(.*?\.)(\d\d+)\.", name) for name in names]
    matched = [part for part in parts if part is not None]
    if not matched or len(matched) < len(parts) or len({part[1] for part in matched}) > 1:
        return ""
    numbers = [part[2] for part in matched]
    begin = commonprefix(numbers)
    begin = begin[:-1] if begin in numbers else begin
    prefix = matched[0][1] + begin
    if not begin or any(name.startswith(prefix) for name in trained):
        return ""
    return f" Their names start with `{prefix}`, which doesn't train either: they may have been frozen by that prefix."


def scales(run: TrainingRun) -> set[str]:
    """Return the tensors that loss scalers use: the factors of the loss."""
    return {event.tensor for event in run.events if isinstance(event, TensorWritten) and "update_scale" in event.name}


def scale_of(run: TrainingRun, step: TrainingStep, scaled: set[str]) -> float:
    """Return the factor by which a scaler multiplied the loss of a step; 0 if none did."""
    for backward in step.backwards[-1:] if scaled else ():
        for root in backward.roots:
            node = run.nodes.get(root.node)
            given = [arg.tensor for arg in node.made.args if arg.tensor in scaled] if node is not None else []
            if node is not None and node.made.operation == "mul" and given:
                factors = [value for id, value in zip(node.input_ids, node.inputs, strict=True) if id in given]
                return next((value.norm for value in factors if value.norm >= _SCALE), 0.0)
    return 0.0
