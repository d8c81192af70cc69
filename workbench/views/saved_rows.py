"""What a node keeps for backward, in words: each saved tensor, and what lies on `ctx` and what is wrong with it."""

from __future__ import annotations

from collections import Counter

from ..trace.frame import Frame
from ..trace.records import NodeCreated, as_kept, is_slot, tensor_of
from ..trace.schema import Attribute
from ..trace.values import series
from .hook_badges import AGAIN
from .tables import COLUMNS, summary_of

_INPUT = (
    "An input as an attribute: nobody checks whether it was written since, so that the gradient may be wrong "
    "without an error, and it is not freed after backward. Use ctx.save_for_backward."
)
_OUTPUT = (
    "An output as an attribute: it holds this node, which holds it. That circle is not freed after backward, "
    "and when the graph goes only the garbage collector finds it. Use ctx.save_for_backward."
)
_OTHER = (
    "A tensor as an attribute: it is not freed after backward, nobody checks whether it was written since, "
    "and no hook or checkpoint sees it. Use ctx.save_for_backward."
)
_ARRAY = "An array as an attribute: it is kept until the whole graph goes, and nobody notices if it is written."
_PLAIN = "This is the right place for it: it is no tensor."


def kept_by(frame: Frame, made: NodeCreated) -> str:
    """What a new node keeps: `keeps x and y`."""
    names = [as_kept(saved, slot_name(frame, made.node, n)) for n, saved in enumerate(made.saved)]
    wrong = [f"ctx.{each.name}" for each in made.attributes if each.tensor is not None]
    on_ctx = f", and has {series(wrong)} as an attribute, which is unsafe" if wrong else ""
    return f"keeps {series(list(dict.fromkeys(names))) or 'nothing'}{on_ctx}"


def counted_by_kind(made: NodeCreated) -> str:
    """How many saved tensors are kept, packed, or left to be computed again: `2 kept + 1 slot`."""
    kinds = Counter("slot" if is_slot(each) else "packed" if each.packed else "kept" for each in made.saved)
    kinds["slots"] = kinds.pop("slot") if kinds["slot"] > 1 else 0
    return " + ".join(f"{count} {kind}" for kind, count in kinds.items() if count)


def slot_name(frame: Frame, node: str, n: int) -> str:
    """A saved tensor by the formula's name and the variable's: `self (x)`, `saved[0] (x)`."""
    saved = frame.nodes[node].made.saved[n]
    known = tensor_of(saved)
    name = saved.name.replace("saved_tensors", "saved")
    variable = frame.called(known) if known else None
    return f"{name} ({variable})" if variable not in (None, name) else name


def slot_rows(frame: Frame, node: str, n: int, wide: int = COLUMNS) -> list[str]:
    """What is to be said of a saved tensor: who saved it, its versions, its hook, and what is not drawn of it.

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
        since = ", which the write to come makes it" if now < saved.version else since
        rows.append(f"at version {saved.version} when saved{since}")
    elif saved.packed is None:
        rows.append("a number or a copy that nobody else can write")
    if is_slot(saved):
        rows.append(AGAIN)
    elif saved.packed is not None:
        source = saved.packed.source
        where = f" ({source.file}, line {source.line})" if source else ""
        kept = "what it returned is kept" if value else f"it returned a {saved.packed.kept}, which is kept"
        rows.append(f"packed by the hook {saved.packed.hook}{where}: {kept}")
    if value is not None and value.values is None:
        rows.append(summary_of(value))
    elif value is not None and len(value.shape) > 1 and value.shape[-1] > wide:
        rows.append(f"{wide} of {value.shape[-1]} columns are drawn; the whole table is in the details")
    return rows


def attribute_rows(frame: Frame, made: NodeCreated) -> list[tuple[str, str, bool]]:
    """Each attribute: what it is, what is to be said of it, and whether something is wrong."""
    return [_attribute(frame, made, each) for each in made.attributes]


def _attribute(frame: Frame, made: NodeCreated, each: Attribute) -> tuple[str, str, bool]:
    if each.tensor is None:
        if each.value is None:
            return f"ctx.{each.name} = {each.text}", _PLAIN, False
        return f"ctx.{each.name} = an array, {each.value.kind}", _ARRAY, True
    tensor = frame.tensors[each.tensor]
    said = _OTHER
    if tensor.node == made.node:
        said = _OUTPUT
    elif any(arg.tensor == each.tensor for arg in made.args):
        said = _INPUT
    title = f"! ctx.{each.name} = {frame.called(each.tensor)}, {tensor.value.kind}"
    return title, said, True


def _saving_line(made: NodeCreated) -> str:
    """The line of a Function that calls save_for_backward."""
    lines = [line.strip() for code in made.code for line in code.text.splitlines()]
    return next((line for line in lines if "save_for_backward(" in line), "")
