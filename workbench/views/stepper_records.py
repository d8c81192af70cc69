"""A step that a stepper took, in the records of a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..stepper.stepper import Stepper
from ..stepper.steps import Step, numbers_of
from ..trace.frame import Frame
from ..trace.records import Failed, GradAccumulated, GradCaptured, NodeFinished, NodeStarted, SavedFreed
from ..trace.schema import Record
from ..trace.values import LIMIT, Value


def records_of(s: Stepper, step: Step, frame: Frame, task: str, id: str) -> Iterator[Record]:
    """What the engine said during the step, by the ids that the frame has for the task and the node's place."""
    node = step.node
    given = tuple(map(value_of, step.incoming))
    yield from [each for each in step.hooked if not each.late]
    for nr, _ in s._task._captures.get(node, ()) if step.captured else ():
        yield GradCaptured(task, id, nr, given[nr] if nr < len(given) else None)
    if step.captured and not step.outgoing and step.error is None:
        return
    yield NodeStarted(task, id, given)
    yield from step.made
    after = [each for each in step.hooked if each.late]
    if step.error is not None:
        yield Failed(task, id, type(step.error).__name__, str(step.error))
    elif step.leaf is not None:
        now = [each.before[0] for each in after if each.hook.kind == "accumulated"]
        yield GradAccumulated(task, id, now[0] if now else value_of(step.leaf.grad))
        yield from after
    else:
        yield from after
        yield NodeFinished(task, id, tuple(map(value_of, step.outgoing)))
        if frame.nodes[id].made.saved and not s._task.keep_graph:
            yield SavedFreed(id)


def value_of(gradient: Any) -> Value | None:
    """A gradient that the engine carries, as a trace tells it."""
    return None if gradient is None else Value.of(numbers_of(gradient), LIMIT)
