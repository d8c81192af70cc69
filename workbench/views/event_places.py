"""Where in the picture the events of a stop happen, and what they reach."""

from __future__ import annotations

from collections.abc import Sequence

from ..trace.frame import Frame
from ..trace.records import BackwardStarted, Failed, GradCaptured, NodeCreated, NodeFinished, NodeStarted, TensorWritten
from ..trace.schema import Record
from ..trace.transform_records import OperationRan, TangentPushed
from .transform_lanes import TANGENT, Lanes


def place_of(part: Sequence[Record], lanes: Lanes) -> str | None:
    """Where the events of a stop happen, if they may be told together with those of the same group."""
    if any(isinstance(event, Failed | GradCaptured | BackwardStarted) for event in part):
        return next((event.node for event in part if isinstance(event, NodeStarted)), None)
    for event in part:
        if isinstance(event, NodeCreated | NodeStarted | TensorWritten) and not event.quiet and event.node is not None:
            return event.node
        if isinstance(event, OperationRan):
            return lanes.place(event.outputs[0])
        if isinstance(event, TangentPushed):
            return lanes.place(event.outputs[0].tensor)
    return None


def reached_by(part: Sequence[Record], edges: dict[str, list[str | None]], lanes: Lanes) -> list[str]:
    """What the events of a stop use, or send a gradient to."""
    reached: list[str] = []
    for event in part:
        if isinstance(event, BackwardStarted):
            reached += [root.node for root in event.roots]
        elif isinstance(event, NodeFinished | NodeCreated):
            reached += [id for id in edges.get(event.node, ()) if id in edges]  # a leaf has steps of its own
        elif isinstance(event, OperationRan):
            given = [lanes.place(arg.tensor) for arg in event.args if arg.tensor is not None]
            reached += [id for id in (lanes.place(event.outputs[0]), *given) if id[0] in "no"]
        elif isinstance(event, TangentPushed):
            given = [lanes.place(each.tensor) for each in (*event.outputs, *event.operands)]
            reached += [id for id in given if id[0] in "no"]
        elif isinstance(event, GradCaptured) or (isinstance(event, Failed) and event.node is not None):
            reached.append(event.node or "")
    return reached


def ends_of(frame: Frame, key: str, lanes: Lanes) -> tuple[str, ...]:
    """The places that what has changed is drawn at."""
    if key in frame.operations:
        made = frame.operations[key].made
        return (key, *[lanes.place(arg.tensor) for arg in made.args if arg.tensor is not None])
    if key.endswith(TANGENT):
        pushed = frame.tangents[key.removesuffix(TANGENT)][1]
        operands = [operand.tensor for operand in pushed.operands] if pushed else []
        return tuple([lanes.place(id) for id in (key.removesuffix(TANGENT), *operands)])
    edge = frame.edges.get(key)
    if edge is None:
        return (key.removesuffix(".focus"),)
    source = edge.source if edge.differentiable else lanes.place(edge.source)
    return (source,) if edge.target is None else (source, edge.target)
