"""Which inputs of a graph are gray: masks and indices, which never have gradients; and what a softmax masks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..trace.facts import TensorSeen
from ..trace.forward_records import NodeCreated
from ..trace.frame import TensorState
from ..trace.schema import Record

_MANY = 3  # tensors without a name, computed from one value: a loop
_FLOATING = ("float", "complex", "bfloat")


def is_gray(tensor: TensorSeen | TensorState) -> bool:
    """Return True if a tensor is of a dtype that has no gradients: a gradient path isn't cut there."""
    return not tensor.value.dtype.startswith(_FLOATING)


def left_out_inputs(events: Iterable[Record]) -> set[str]:
    """Return the integers and booleans without a name, which have no boxes; but a single one that nothing computed.

    In a loop only those of the last iteration still have a name: they are like the others.
    """
    known = {seen.id: seen for event in events for seen in getattr(event, "tensors", ())}
    gray = {id: seen for id, seen in known.items() if seen.node is None and is_gray(seen)}
    unnamed = {id: seen for id, seen in gray.items() if seen.name is None}
    given = [id for id, seen in unnamed.items() if seen.cut is None and seen.value.dtype != "bool"]
    alike = Counter(seen.cut.node for seen in unnamed.values() if seen.cut is not None)
    again = {id for id, seen in gray.items() if seen.cut is not None and alike[seen.cut.node] >= _MANY}
    return ({*unnamed} - ({*given} if len(given) == 1 else set())) | again


def masked(events: Iterable[Record]) -> set[str]:
    """Return the nodes whose values of -inf a softmax turns into zeros."""
    nodes = [event for event in events if type(event) is NodeCreated]
    found: set[str] = set()
    if not any("softmax" in name.lower() for name in {event.name for event in nodes}):
        return found
    made: dict[str, NodeCreated] = {}  # tensor -> the node that it is a result of
    for event in nodes:
        made |= {seen.id: event for seen in event.tensors if seen.node == event.node}
        ready = [event] if "softmax" in event.operation and _is_finite(event) else []
        while ready:
            above = [made[arg.tensor] for arg in ready.pop().args if arg.tensor in made]
            broken = [each for each in above if each.node not in found and not _is_finite(each)]
            found |= {each.node for each in broken}
            ready += broken
    return found


def _is_finite(made: NodeCreated) -> bool:
    return not any(seen.value.nonfinite for seen in made.tensors if seen.node == made.node)
