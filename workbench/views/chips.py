"""What a node has saved, hanging on its box: which tensor, its value, what a hook made of it and what becomes of it."""

from __future__ import annotations

from ..scene.metric import CHIP_COLUMNS
from ..scene.model import Box, Detail
from ..trace.frame import Frame, NodeState
from ..trace.records import is_slot
from ..trace.values import Value
from .hook_badges import packed_details, packed_line
from .relations import whose
from .value_text import Sayings, head_of, left_out, lines_of, value_detail


def saved_name(frame: Frame, node: NodeState, index: int) -> str:
    """`x` where a Function saved the variable x, else `saved[0]`; `self (x)` where an operation saved x."""
    saved = node.made.saved[index]
    variable = frame.variable(saved.tensor) or frame.viewed(saved.tensor)
    if node.made.custom:
        return variable or f"saved[{index}]"
    return f"{saved.name} ({variable})" if variable not in (None, saved.name) else saved.name


def held_now(frame: Frame, node: NodeState, index: int) -> Value | None:
    """What is saved as it is now: it is the tensor's own memory, which somebody may have written since.

    Of what is freed it is not followed any more: there it is what was saved.
    """
    saved = node.made.saved[index]
    tensor = None if saved.tensor is None or not node.keeps else frame.tensors[saved.tensor]
    return node.saved[index] if tensor is None or frame.version(saved.tensor) < saved.version else tensor.value


def chip(say: Sayings, frame: Frame, id: str, index: int) -> Box:
    """What a node saved, as it hangs on the node."""
    node = frame.nodes[id]
    saved, value = node.made.saved[index], held_now(frame, node, index)
    name = saved_name(frame, node, index)
    title = name if name.startswith("saved") else f"saved {name}"
    packed, about = packed_line(saved), packed_details(frame, saved)
    if value is None:  # what a hook made of it is no tensor
        what = f"a hook keeps a {saved.packed.kept}" if saved.packed else "not recorded"
        what = "a slot, to be computed again" if is_slot(saved) else what
        state = "idle" if node.keeps else "freed"
        return Box(f"{id}.saved{index}", "saved", title, (what, *packed), state, holder=id, details=tuple(about))
    lines, kind = (*say(lines_of, value, "", CHIP_COLUMNS, False), *packed), tuple(filter(None, (head_of(value),)))
    state, note = "idle", f"Kept at version {saved.version} for the backward of {node.made.name}."
    if node.gone and not node.freed:
        state, lines, note = "freed", kind, "Gone with its node, which nothing holds any more."
    elif node.freed:
        state, lines = "freed", kind
        ran = node.made.name if node.run_by is None else frame.called(node.run_by)
        note = f"Freed when {ran} had run: backward(retain_graph=True) would have kept it."
    elif frame.stale(id, index):
        state, lines = "error", (*lines, "written since it was saved")
        now = frame.version(saved.tensor)
        note = f"Kept at version {saved.version}, but written since: it is at version {now} now."
    details = (say(value_detail, "Value", name, value), *about, Detail("What becomes of it", "text", note))
    who, unsaid = whose(frame, id, saved) if node.keeps else "", left_out(value)
    return Box(f"{id}.saved{index}", "saved", title, lines, state, holder=id, details=details, note=who, unsaid=unsaid)
