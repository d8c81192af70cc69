"""The words of the saved-tensor inspector: what a node saves, and what there is to say of each tensor."""

from __future__ import annotations

from collections import Counter

from ..trace.facts import Attribute, as_kept, is_slot, tensor_of
from ..trace.forward_records import NodeCreated
from ..trace.frame import Frame
from ..trace.values import series
from .hook_badges import AGAIN
from .value_display import COLUMNS, summary_of

_INPUT = (
    "An input stored as an attribute: in-place changes aren't detected, so the gradient can be silently wrong, "
    "and it isn't freed after backward. Use ctx.save_for_backward."
)
_OUTPUT = (
    "An output stored as an attribute: output and node reference each other. That cycle isn't freed after "
    "backward; only the garbage collector can free it. Use ctx.save_for_backward."
)
_OTHER = (
    "A tensor stored as an attribute: it isn't freed after backward, in-place changes aren't detected, "
    "and hooks and checkpoints don't see it. Use ctx.save_for_backward."
)
_ARRAY = "An array stored as an attribute: it is freed only with the whole graph, and changes to it aren't detected."
_PLAIN = "Not a tensor, so an attribute of ctx is the right place for it."


def kept_by(frame: Frame, made: NodeCreated) -> str:
    """Return what a new node saves: `saves x and y`."""
    names = [as_kept(saved, slot_name(frame, made.node, n)) for n, saved in enumerate(made.saved)]
    wrong = [f"ctx.{each.name}" for each in made.attributes if each.tensor is not None]
    on_ctx = (
        f", and stores {series(wrong)} as {'attributes' if wrong[1:] else 'an attribute'}, which is unsafe"
        if wrong
        else ""
    )
    return f"saves {series(list(dict.fromkeys(names))) or 'nothing'}{on_ctx}"


def keep_nothing(count: int) -> str:
    """Return how many nodes save nothing: `2 nodes save nothing`."""
    return f"{count:,} {'nodes save' if count > 1 else 'node saves'} nothing"


def counted_by_kind(made: NodeCreated) -> str:
    """Return how many saved tensors are held, packed, or left to be computed again: `2 saved + 1 slot`."""
    kinds = Counter("slot" if is_slot(each) else "packed" if each.packed else "saved" for each in made.saved)
    kinds["slots"] = kinds.pop("slot") if kinds["slot"] > 1 else 0
    return " + ".join(f"{count} {kind}" for kind, count in kinds.items() if count)


def slot_name(frame: Frame, node: str, n: int) -> str:
    """Return a saved tensor's name in the formula, and its variable: `self (x)`, `saved[0] (x)`."""
    saved = frame.nodes[node].made.saved[n]
    known = tensor_of(saved)
    name = saved.name.replace("saved_tensors", "saved")
    variable = frame.called(known) if known else None
    return f"{name} ({variable})" if variable not in (None, name) else name


def slot_rows(frame: Frame, node: str, n: int, wide: int = COLUMNS) -> list[str]:
    """Return what to say about a saved tensor: who saved it, its versions, its hook, and what isn't drawn of it.

    `wide` is how many columns are.
    """
    state = frame.nodes[node]
    saved, value = state.made.saved[n], state.saved[n]
    rows = []
    if state.made.custom and (line := _saving_line(state.made)):
        rows.append(f"saved by {line}")
    if saved.tensor is not None:
        now = frame.version(saved.tensor)
        since = " and now" if now == saved.version else f", at version {now} now"
        since = " (the write that follows makes it that)" if now < saved.version else since
        rows.append(f"at version {saved.version} when saved{since}")
    elif saved.packed is None:
        rows.append("a number or a private copy")
    if is_slot(saved):
        rows.append(AGAIN)
    elif saved.packed is not None:
        source = saved.packed.source
        where = f" ({source.file}, line {source.line})" if source else ""
        packed = "its result is saved" if value else f"it returned a {saved.packed.kept}, which is saved"
        rows.append(f"packed by the hook {saved.packed.hook}{where}: {packed}")
    if value is not None and value.values is None:
        rows.append(summary_of(value))
    elif value is not None and len(value.shape) > 1 and value.shape[-1] > wide:
        rows.append(f"{wide} of {value.shape[-1]} columns are drawn; the whole table is in the details")
    return rows


def attribute_rows(frame: Frame, made: NodeCreated) -> list[tuple[str, str, bool]]:
    """Return each attribute: what it is, what to say about it, and whether something is wrong."""
    return [_attribute(frame, made, each) for each in made.attributes]


def _attribute(frame: Frame, made: NodeCreated, each: Attribute) -> tuple[str, str, bool]:
    if each.tensor is None:
        if each.value is None:
            return f"ctx.{each.name} = {each.text}", _PLAIN, False
        return f"ctx.{each.name} = an array, {each.value.kind}", _ARRAY, True
    tensor = frame.tensors[each.tensor]
    origin = _OTHER
    if tensor.node == made.node:
        origin = _OUTPUT
    elif any(arg.tensor == each.tensor for arg in made.args):
        origin = _INPUT
    title = f"! ctx.{each.name} = {frame.called(each.tensor)}, {tensor.value.kind}"
    return title, origin, True


def _saving_line(made: NodeCreated) -> str:
    """Return the line of a Function that calls save_for_backward."""
    lines = [line.strip() for code in made.code for line in code.text.splitlines()]
    return next((line for line in lines if "save_for_backward(" in line), "")
