"""The boxes of nodes, of leaves and constants, of outputs, and of what a node saved."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..scene.metric import CHIP_COLUMNS, GROUP_COLUMNS, TEXT_COLUMNS, columns
from ..scene.model import Box, Detail
from ..trace.facts import Cut, is_slot
from ..trace.forward_records import NodeCreated
from ..trace.frame import EdgeState, Frame, NodeState, Place, TensorState
from ..trace.values import Value
from .gray_inputs import is_gray
from .hook_badges import badges, hook_details, packed_details, packed_line
from .shared_memory import memory_details, shared_line, view_line, whose
from .value_display import (
    BOX_COLUMNS,
    FormatCache,
    aside_of,
    behind_head,
    brief_of,
    head_of,
    left_out,
    lines_of,
    norm_of,
    size_of,
    trouble_of,
    value_detail,
    whole,
)

_GRADIENT = 20  # columns of the norm of a gradient behind its parameter, at most
_EXPRESSION = 18  # columns of an expression that names what is saved
_NEEDLESS = "no gradient"  # of a constant
_NARROW = 24  # columns of its shape and numbers on one line: a larger one has them on two
_HEADINGS = {"forward": "Forward", "backward": "Backward"}


def cut_label(cut: Cut) -> str:
    """`detach, line 3`."""
    return cut.word if cut.source is None else f"{cut.word}, line {cut.source.line}"


def cut_said(cut: Cut) -> str:
    """Return a sentence on what ends the gradient path, without its full stop."""
    why = "operations under no_grad aren't recorded" if cut.word == "no_grad" else f"the path ends at {cut.word}"
    why = f"{cut.word} tensors have no gradient" if cut.word.startswith(("int", "uint", "bool")) else why
    at = "" if cut.source is None else f" ({cut.source.file}, line {cut.source.line}: {cut.source.text})"
    return f"no gradient flows back here: {why}{at}"


def node_lines(
    say: FormatCache, frame: Frame, node: NodeState, title: str, called: str, masks: bool = False
) -> tuple[str, ...]:
    """Return what the node is `called`, if the title is different, and its results.

    If it `masks` what a softmax takes, that some of its values aren't finite is no trouble.
    """
    results = [result_of(frame, node, nr) for nr in sorted(node.outputs)]
    entitled = not title.startswith(node.made.name)
    if len(results) == 1:
        ((name, value),) = results
        own = say(_below, value, called) if entitled else say(lines_of, value, name)
        own = [line for line in own if not masks or line != value.trouble]
        return (*own, *view_line(frame, node))
    lines = [called] if entitled else []
    for name, value in results:
        start = f"{name} {value.shape}  " if value.shape else f"{name}  "
        lines.append(start + say(brief_of, value, TEXT_COLUMNS - len(start)))
    return (*lines, *view_line(frame, node))


def brief_lines(say: FormatCache, frame: Frame, node: NodeState, masks: bool = False) -> tuple[str, ...]:
    """Return the shape or number of what a node gives, and what is wrong with it, as `node_lines` says."""
    results = [result_of(frame, node, nr)[1] for nr in sorted(node.outputs)]
    trouble = {} if masks else dict.fromkeys([value.trouble for value in results if value.trouble])
    given = ", ".join([say(aside_of, value) for value in results])  # "" if it was not recorded
    return (*filter(None, [given]), *trouble)


def _below(value: Value, name: str) -> list[str]:
    """Return a value after the name of its node, which needs more room than a variable."""
    return [*_compact(value, name, TEXT_COLUMNS), *trouble_of(value)]


def _compact(value: Value, name: str = "", room: int = BOX_COLUMNS) -> list[str]:
    """Return a value after its name, shape and dtype; an array only if all its numbers fit."""
    head, text = head_of(value, name), whole(value, min(room, BOX_COLUMNS))
    if name and columns(head) > room:  # what kind of value it is has a line of its own, below a long name
        return [name, *_compact(value, "", room)]
    return behind_head(head, text, room) if text else [head]


def _narrow(value: Value, leaf: bool) -> list[str]:
    """Return the value of a tensor without a node: several are in a row, so its numbers are below its shape."""
    head, text = head_of(value), value.brief(BOX_COLUMNS) if leaf else whole(value, BOX_COLUMNS)
    return [*(behind_head(head, text, _NARROW) if text else [head]), *(trouble_of(value) if leaf else ())]


def result_of(frame: Frame, node: NodeState, nr: int) -> tuple[str, Value]:
    """Return an output's name, or what computed it, and its value (from this node, if it was written later)."""
    id, value = node.outputs[nr]
    tensor = frame.tensors[id]
    own = (tensor.node, tensor.output_nr) == (node.made.node, nr)
    return tensor.name or node.made.operation, tensor.value if own else value


def written_details(made: NodeCreated) -> list[Detail]:
    """Return the code of a node, and where it was made."""
    details = [Detail("Node", "text", made.name)]
    details += [Detail(_HEADINGS.get(code.name, code.name), "code", code.text) for code in made.code]
    if made.source is not None:
        line = f"{made.source.file}, line {made.source.line}: {made.source.text}"
        details.append(Detail("Created at", "text", line.removesuffix(": ")))
    if made.scope is not None:
        details.append(Detail("Scope", "text", made.scope))
    return details


def node_details(
    say: FormatCache, frame: Frame, node: NodeState, written: Iterable[Detail], waiting: Iterable[EdgeState]
) -> tuple[Detail, ...]:
    made = node.made
    details = [*_error(node), *written]
    for arg, given in zip(made.args, node.given, strict=True):
        if arg.tensor is None:
            details.append(Detail("Input", "text", arg.text))
        else:
            details.append(say(value_detail, "Input", frame.called(arg.tensor), given))
    details += [say(value_detail, "Output", *result_of(frame, node, nr)) for nr in sorted(node.outputs)]
    details += memory_details(frame, node.outputs[0][0]) if 0 in node.outputs else []
    if node.gone:
        details.append(Detail("Saved", "text", "This node was freed: nothing references it."))
    elif node.freed:
        details.append(Detail("Saved", "text", "Its saved tensors are freed, so this node can't run again."))
    elif not made.saved:
        details.append(Detail("Saved", "text", "Nothing saved: this backward needs no forward tensors."))
    else:
        held = [(saved_name(frame, node, i), held_now(frame, node, i)) for i in range(len(node.saved))]
        details += [say(value_detail, "Saved", *each) for each in held]
    details += hook_details(node)
    for nr, grad in enumerate(node.received):
        detail = say(value_detail, "Gradient in", f"for output {nr}", grad)
        told = f"for output {nr}: {frame.arrived(made.node, nr, grad)}"
        details.append(detail if grad is not None else Detail("Gradient in", "text", told))
    for edge in waiting:
        sender = "outside" if edge.target is None else frame.called(edge.target)
        details.append(say(value_detail, "Gradient waiting", f"from {sender}", edge.grad))
    for _, edge in frame.edges_of(made.node):
        if edge.state != "idle":
            details.append(say(value_detail, "Gradient out", f"to {frame.called(edge.source)}", edge.grad))
    return tuple(details)


def tensor_box(say: FormatCache, frame: Frame, id: str) -> Box:
    tensor = frame.tensors[id]
    leaf = tensor.role == "leaf"
    first, *others = say(_narrow, tensor.value, leaf)
    needless = _NEEDLESS if tensor.cut is None or is_gray(tensor) else f"{_NEEDLESS}: {tensor.cut.word}"
    if not leaf and columns(first) + columns(needless) + 2 <= BOX_COLUMNS:
        first = f"{first}, {needless}"
    elif not leaf:
        others.append(needless)
    lines = [first, *others, *shared_line(frame, id)]
    brief, remarks = [say(aside_of, tensor.value)], badges(frame, id)
    if leaf and tensor.grad is not None:
        wrong = [f"grad: {each}" for each in trouble_of(tensor.grad)]
        lines += [f"grad {say(brief_of, tensor.grad, BOX_COLUMNS - 5)}", *wrong]
        remarks = [*wrong, *remarks]
        if not tensor.grad.shape or "." not in (tensor.name or ""):  # a module has many parameters
            brief = [f"{brief[0]}, grad {say(size_of, tensor.grad)}"]
    lines += badges(frame, id)
    return Box(
        id,
        "leaf" if leaf else "constant",
        tensor.name or ("leaf" if leaf else _view(frame, id) or "constant"),
        tuple(lines),
        tensor.state,
        details=(*_tensor_details(say, tensor, leaf), *memory_details(frame, id)),
        unsaid=left_out(tensor.value),
        brief=(*brief, *(trouble_of(tensor.value) if leaf else ()), *remarks),
    )


def _tensor_details(say: FormatCache, tensor: TensorState, leaf: bool) -> tuple[Detail, ...]:
    name = tensor.name or ""
    details = [*_error(tensor), say(value_detail, "Value", name, tensor.value)]
    if not leaf:
        cut = [] if tensor.cut is None else [Detail("Cut", "text", _sentence(cut_said(tensor.cut)))]
        return (*details, Detail("Grad", "text", "None: this tensor doesn't require grad."), *cut)
    details += hook_details(tensor)
    details += [say(value_detail, "Gradient in", "", grad) for grad in tensor.received]
    if tensor.grad is None:
        why = "it was cleared" if tensor.cleared else "no backward pass has reached it yet"
        return (*details, Detail("Grad", "text", f"None: {why}."))
    return (*details, say(value_detail, "Grad", f"{name}.grad" if name else "grad", tensor.grad))


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def output_id(node: str, nr: int) -> str:
    return f"{node}.out{nr}"


def output_box(say: FormatCache, frame: Frame, id: str, nr: int, unnamed: str = "output") -> Box:
    node, seed = frame.nodes[id], frame.edges.get(f"{id}.seed{nr}")
    known = nr in node.outputs
    details = [say(value_detail, "Value", *result_of(frame, node, nr))] if known else []
    lines: tuple[str, ...] = ()
    if seed is not None:
        details.append(say(value_detail, "Seed", "the gradient that backward starts with", seed.grad))
        lines = ("no seed" if seed.grad is None else f"seed {say(brief_of, seed.grad, BOX_COLUMNS - 5)}",)
    title = (frame.variable(node.outputs[nr][0]) if known else None) or unnamed
    state = "done" if seed is not None else "idle"
    return Box(output_id(id, nr), "output", title, lines, state, details=tuple(details), brief=())


def rows_of(frame: Frame, parameters: Collection[str]) -> list[str]:
    """Return a module's parameters with their gradients' norms, one per line, or all on one if there is always room."""
    rows = [_row_of(frame, id) for id in parameters]
    room = sum(columns(row.partition(", grad norm")[0]) + 2 + _GRADIENT for row in rows) - 2
    return ["; ".join(rows)] if len(rows) > 1 and room <= GROUP_COLUMNS else rows


def _row_of(frame: Frame, id: str) -> str:
    """`weight (16, 3), grad norm 0.3`."""
    tensor = frame.tensors[id]
    norm = f", grad {norm_of(tensor.grad.norm)}" if tensor.grad is not None else ""
    return f"{frame.called(id).rpartition('.')[2]} {tensor.value.shape}{norm}"


def _error(place: Place) -> list[Detail]:
    return [Detail("Error", "text", place.error)] if place.error else []


def saved_name(frame: Frame, node: NodeState, index: int) -> str:
    """`x` where a Function saved the variable x, else `saved[0]`; `self (x)` where an operation saved x."""
    saved = node.made.saved[index]
    variable = frame.variable(saved.tensor) or _view(frame, saved.tensor)
    if node.made.custom:
        return variable or f"saved[{index}]"
    return f"{saved.name} ({variable})" if variable not in (None, saved.name) else saved.name


def _view(frame: Frame, id: str | None) -> str | None:
    """Return the name of a view of a variable: the expression that took it, if it fits, or `view of x`."""
    viewed, node = frame.viewed(id), frame.tensors[id].node if id is not None else None
    told = frame.describe(node) if viewed is not None and node in frame.nodes else ""
    if viewed is not None and id is not None and 0 < columns(frame.tensors[id].taken) <= _EXPRESSION:
        return frame.tensors[id].taken
    return told.strip("`") if told.startswith("`") and told.endswith("`") and columns(told) <= _EXPRESSION else viewed


def held_now(frame: Frame, node: NodeState, index: int) -> Value | None:
    """Return the current value of what is saved: it is the tensor's own memory, which may have been written since.

    Of what is freed it is not followed any more: there it is what was saved.
    """
    saved = node.made.saved[index]
    if saved.tensor is None or not node.keeps or frame.version(saved.tensor) < saved.version:
        return node.saved[index]
    return frame.tensors[saved.tensor].value


def chip(say: FormatCache, frame: Frame, id: str, index: int) -> Box:
    """Return the tag of a saved tensor, as it is attached to the node."""
    node = frame.nodes[id]
    saved, value = node.made.saved[index], held_now(frame, node, index)
    name = saved_name(frame, node, index)
    title = name if name.startswith("saved") else f"saved {name}"
    packed, about = packed_line(saved), packed_details(frame, saved)
    if value is None:  # what a hook made of it is no tensor
        what = f"a hook saved a {saved.packed.kept}" if saved.packed else "not recorded"
        what = "recomputed in backward" if is_slot(saved) else what
        state = "idle" if node.keeps else "freed"
        return Box(f"{id}.saved{index}", "saved", title, (what, *packed), state, holder=id, details=tuple(about))
    first = say(_compact, value, "", CHIP_COLUMNS)
    lines, kind = (*first, *trouble_of(value), *packed), tuple(filter(None, (head_of(value),)))
    state, note = "idle", f"Saved at version {saved.version} for {node.made.name}."
    if node.gone and not node.freed:
        state, lines, note = "freed", kind, "Freed with its node, which nothing references."
    elif node.freed:
        state, lines = "freed", kind
        ran = node.made.name if node.run_by is None else frame.called(node.run_by)
        note = f"Freed after {ran} ran. backward(retain_graph=True) would have kept it."
    elif saved.tensor is not None and frame.stale(id, index):
        state, lines = "error", (*lines, "modified since it was saved")
        now = frame.version(saved.tensor)
        note = f"Saved at version {saved.version}, but modified since: it is at version {now} now."
    details = (say(value_detail, "Value", name, value), *about, Detail("Status", "text", note))
    who, unsaid = whose(frame, id, saved) if node.keeps else "", left_out(value)
    return Box(f"{id}.saved{index}", "saved", title, lines, state, holder=id, details=details, note=who, unsaid=unsaid)
