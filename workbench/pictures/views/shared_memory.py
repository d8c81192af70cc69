"""What is the same memory: dotted lines between its boxes, and the words on them."""

from __future__ import annotations

from collections.abc import Iterable

from ..scene.model import Arrow, Detail
from ..trace.facts import Saved
from ..trace.forward_records import NodeCreated, TensorsFound
from ..trace.frame import Frame, Key, NodeState
from ..trace.schema import Record
from .lanes import Lanes

# What operations compute beside their result and save, by the names of what is saved.
_INNER = {
    "native_layer_norm": {"result1": "its own mean", "result2": "its own rstd"},
    "native_batch_norm": {"result1": "its own mean", "result2": "its own rstd"},
}
FEW = 8  # lines: more are drawn only where the step is, as they would cross
# Lines from which on none is drawn, as each takes time at every step. Chips tell what they would.
_MANY = 600


class SharedMemoryArrows:
    """Dotted lines between boxes that show the same memory."""

    def __init__(self, events: Iterable[Record], lanes: Lanes) -> None:
        self._lanes = lanes
        made: dict[str, str] = {}
        count = 0
        for event in events:
            if isinstance(event, NodeCreated | TensorsFound):
                for seen in event.tensors:
                    count += seen.base is not None
                    if seen.node is not None:
                        made[seen.id] = seen.node
            if isinstance(event, NodeCreated):
                for saved in event.saved:
                    if saved.tensor is not None and saved.value is None:
                        count += made.get(saved.tensor) != event.node
        self._all, self._are_drawn = count <= FEW, count <= _MANY
        self.follow = not self._all and self._are_drawn  # they are drawn where the step is

    def of_node(self, frame: Frame, id: str) -> list[Arrow]:
        """Return the lines to what a node saved, and from what its outputs are views of."""
        if not self._are_drawn:
            return []
        node = frame.nodes[id]
        drawn = self._all or frame.focus == Key("node", id)
        lines = []
        for index, saved in enumerate(node.made.saved):
            if saved.tensor is None or saved.version > frame.version(saved.tensor):
                continue  # it becomes its own output by the write that comes next
            if (home := self._home(frame, saved.tensor)) not in (None, id):
                state = "idle" if drawn and node.keeps else "future"
                note = f"the tensor that {node.made.name} saved is {frame.called(saved.tensor)} itself"
                lines.append(Arrow(f"{id}.saved{index}.same", home, f"{id}.saved{index}", "same", "", state, alt=note))
        if (base := base_of(frame, node)) is not None:
            home = self._home(frame, base)
            if home not in (None, id, *(edge.source for _, edge in frame.edges_of(id))):
                state = "idle" if drawn else "future"
                note = f"the result of {node.made.name} is a view of {frame.called(base)}: the same memory"
                lines.append(Arrow(f"{id}.base", home, id, "same", "", state, alt=note))
        return lines

    def of_tensor(self, frame: Frame, id: str) -> list[Arrow]:
        """Return the line to a leaf or constant from the owner of its memory."""
        base = frame.tensors[id].base
        home = None if base is None else self._home(frame, base)
        if base is None or home in (None, id) or not self._all:
            return []
        note = f"{frame.called(id)} shares the memory of {frame.called(base)}"
        return [Arrow(f"{id}.base", home, id, "same", alt=note)]

    def _home(self, frame: Frame, tensor: str) -> str | None:
        """Return the box of a tensor, if one is drawn."""
        state = frame.tensors[tensor]
        if state.node is not None:
            return state.node
        if state.role == "constant" and tensor in self._lanes.named_bases:
            return self._lanes.place(tensor)
        stands = state.role == "leaf" or (state.role == "constant" and self._lanes.place(tensor) == tensor)
        return tensor if stands else None


def whose(frame: Frame, node: str, saved: Saved) -> str:
    """Return which tensor a node saved, if its name doesn't say so."""
    tensor = saved.tensor
    if tensor is None:
        packed = saved.packed
        return "" if packed is None or packed.tensor is None else f"instead of {frame.called(packed.tensor)}"
    if frame.tensors[tensor].node == node:
        return "its own output"
    if frame.variable(tensor) or frame.viewed(tensor):
        return ""
    made = frame.nodes[node].made
    own = saved.name.startswith("result") and not made.custom
    return _INNER.get(made.operation, {}).get(saved.name, "its own") if own else frame.called(tensor)


def base_of(frame: Frame, node: NodeState) -> str | None:
    """Return the tensor that a node's outputs are views of."""
    for id, _ in node.outputs.values():
        if (base := frame.tensors[id].base) is not None:
            return base
    return None


def view_line(frame: Frame, node: NodeState) -> list[str]:
    """Return a line that says what a node's outputs are views of."""
    base = base_of(frame, node)
    return [] if base is None else [f"view{'s' * (len(node.outputs) > 1)} of {frame.called(base)}"]


def shared_line(frame: Frame, tensor: str) -> list[str]:
    """Return a line that says whose memory a leaf or constant shares."""
    base = frame.tensors[tensor].base
    return [] if base is None else [f"shares the memory of {frame.called(base)}"]


def memory_details(frame: Frame, tensor: str) -> list[Detail]:
    """Whose memory a tensor shows, if it is another's."""
    base = frame.tensors[tensor].base
    if base is None:
        return []
    text = f"Shared with {frame.called(base)}: writing into one changes both, and they have one version."
    return [Detail("Memory", "text", text)]
