"""The graph as it stands: nodes with what they saved, leaves with their gradients, and what travels.

A saved tensor hangs on its node's box as a chip. Hooks are badges. Dotted lines join what is the same memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..scene.labels import CHIP_COLUMNS, GROUP_COLUMNS, TEXT_COLUMNS, columns, cut
from ..scene.model import WITHIN, Arrow, ArrowTone, Box, BoxState, Detail
from ..trace.call_records import Hook, LevelEntered, OperationRan, TangentPushed
from ..trace.frame import EdgeState, Frame, NodeState, Place, TensorState
from ..trace.records import (
    BackwardFinished,
    BackwardStarted,
    Failed,
    NodeCreated,
    NodeFinished,
    NodeStarted,
    SavedFreed,
    TensorsFound,
    TensorShown,
    is_slot,
)
from ..trace.schema import Cut, Record, Saved
from ..trace.timeline import Timeline
from ..trace.values import Value, number, series
from .groups import Lanes, program_tree
from .player_steps import last_backward
from .slopes import Slopes
from .value_display import (
    BOX_COLUMNS,
    Sayings,
    behind_head,
    brief_of,
    head_of,
    label_of,
    left_out,
    lines_of,
    trouble_of,
    value_detail,
    whole,
    with_more,
)

LEGEND = (
    "Boxes are operations, beside them what they saved; values go down the arrows, in backward gradients climb them."
)
_GRADIENT = 11  # columns of the norm of a gradient behind its parameter, at most
_CUTS = " At a double stroke the way of a gradient is cut: none comes back."
_EXPRESSION = 18  # columns of an expression that names what is saved
_NEEDLESS = "no gradient"  # of a constant
_NARROW = 24  # columns of its shape and numbers on one line: a larger one has them on two
_HEADINGS = {"forward": "Forward", "backward": "Backward"}


class Graph:
    """Draws the frames of one trace; an output has a box if a backward starts there or it is shown."""

    legend = LEGEND
    shared_legend = LEGEND  # where boxes refer to a tensor that stands elsewhere
    shows_gradients = False  # its story is the gradients on their way
    label = staticmethod(label_of)  # a gradient on an arrow

    def __init__(self, events: Iterable[Record]) -> None:
        events, whole = built(events), events
        self._say = Sayings()
        self._written: dict[str, tuple[NodeCreated, list[Detail]]] = {}  # by node, what is told of its code
        self.lanes = Lanes(events, self._say)
        self._relations = Relations(events, self.lanes)
        self.follows = self._relations.follow  # whether anything is drawn again where the step is
        self._standing = Standing(events)
        self._outputs: dict[str, list[int]] = {}
        named: dict[tuple[str, int], str | None] = {}  # (node or leaf, output) -> variable
        maker: dict[str, tuple[str, int]] = {}
        ends: dict[tuple[str, int], None] = {}
        self._several: set[str] = set()  # nodes of more than one output
        self._twice: set[tuple[str, str]] = set()  # of two boxes that several edges join: (source, target)
        last: dict[int, str] = {}  # expression -> the node that gave it its value
        self.transformed = not {LevelEntered, OperationRan, TangentPushed}.isdisjoint(map(type, events))
        # Which part of the picture a node stands in follows from what was running when it was made.
        self.program = program_tree(whole, self.lanes) if self.transformed else program_tree(events)
        for event in events:
            if isinstance(event, NodeCreated | TensorsFound):
                for seen in event.tensors:
                    maker[seen.id] = place = (seen.node or seen.id, seen.output_nr)
                    named[place] = seen.name
            if isinstance(event, NodeCreated):
                if event.path and event.path[-1].kind == "expression":
                    last[event.path[-1].key] = event.node
                if event.output_count > 1:
                    self._several.add(event.node)
                sources: set[str] = set()
                for edge in event.edges:
                    if edge.target is not None:
                        if edge.target in sources:
                            self._twice.add((edge.target, event.node))
                        if edge.output_nr:
                            self._several.add(edge.target)
                        sources.add(edge.target)
            elif isinstance(event, BackwardStarted):
                ends |= dict.fromkeys((root.node, root.output_nr) for root in event.roots)
            elif isinstance(event, TensorShown):
                ends[maker[event.tensor]] = None
        if not self.shows_gradients and any([self.lanes.is_cut(event) for event in events]):
            self.legend, self.shared_legend = self.legend + _CUTS, self.shared_legend + _CUTS
        self._several |= {node for node, nr in (*maker.values(), *ends) if nr}
        self.slopes = Slopes({*last.values()})
        for node, nr in ends:
            self._outputs.setdefault(node, []).append(nr)
        names = list(dict.fromkeys(name for end in ends if (name := named.get(end)) is not None))
        self.title = f"Graph of {series(names)}" if names else "Autograd graph"

    def draw(self, frame: Frame, keys: Iterable[str]) -> tuple[list[Box], list[Arrow]]:
        """The boxes and arrows that the frame's `keys` concern, as they are now."""
        boxes: list[Box] = []
        arrows: list[Arrow] = []
        for key in keys:
            if key in frame.nodes:
                boxes += self._node(frame, key)
                boxes += [chip(self._say, frame, key, index) for index in range(len(frame.nodes[key].saved))]
                arrows += self._relations.of_node(frame, key)
                for nr in self._outputs.get(key, ()):
                    boxes.append(_output(self._say, frame, key, nr))
                    arrows.append(self._seeding(frame, key, nr))
            elif key in frame.tensors:
                role = frame.tensors[key].role
                if role == "leaf" or (role == "constant" and self.lanes.place(key) == key):
                    boxes += self._tensor(frame, key)
                    arrows += self._relations.of_tensor(frame, key)
                elif key in self.lanes.data:
                    boxes += self.lanes.input(frame, key)
            elif key.endswith(".focus"):
                arrows += self._relations.of_node(frame, key.removesuffix(".focus"))
            elif key == "levels":
                boxes += self.lanes.levels(frame)
            elif key in frame.operations or key.endswith(".tangent"):
                draw = self.lanes.operation if key in frame.operations else self.lanes.tangent
                drawn = draw(frame, key.removesuffix(".tangent"))
                boxes, arrows = boxes + drawn[0], arrows + drawn[1]
            elif (edge := frame.edges[key]).target is not None:
                if not self.leads(key, edge):
                    continue
                source = self.source(edge)
                boxes += self.lanes.input(frame, source)
                arrows.append(self._arrow(frame, key, source, edge.target, edge))
            elif edge.source in frame.nodes:
                boxes.append(_output(self._say, frame, edge.source, edge.output_nr))
                arrows.append(self._seeding(frame, edge.source, edge.output_nr))
        return boxes, arrows

    def remarks(self, frame: Frame) -> list[str]:
        """Nothing to add: the events say it all."""
        return []

    def lost(self, frame: Frame, keys: Iterable[str]) -> list[str]:
        """Nothing is said of what became of the gradients that these edges brought."""
        return []

    def of_leaves(self, frame: Frame, ids: Collection[str]) -> list[str]:
        """Nothing is said of the leaves in a closed group."""
        return []

    def focus(self, frame: Frame) -> str | None:
        """The box that the last event was about."""
        key = frame.focus
        if key is not None and (key in frame.operations or key.endswith(".tangent")):
            tensor = key.removesuffix(".tangent")
            return self.lanes.shown(frame, tensor)
        if key in frame.edges:
            edge = frame.edges[key]
            return _output_id(edge.source, edge.output_nr) if edge.source in frame.nodes else edge.source
        if key in frame.tensors and frame.tensors[key].role is None:
            return frame.tensors[key].node
        return key

    def opens(self, trace: Timeline) -> int | None:
        """The stop that a picture opens at: where the last backward is over, or fails; None is the last one."""
        return last_backward(trace)

    def source(self, edge: EdgeState) -> str:
        """The box that an edge leads from."""
        return edge.source if edge.differentiable else self.lanes.place(edge.source)

    def leads(self, key: str, edge: EdgeState) -> bool:
        """Whether an edge has an arrow: the cut of what stands in its node's box is marked at what uses it."""
        return not key.endswith(".cut") or self.lanes.place(edge.target or "") == edge.target

    def _cut(self, frame: Frame, key: str, edge: EdgeState) -> Cut | None:
        """Where the way of a gradient ends, if that is on this edge."""
        within = not edge.differentiable and self.lanes.place(edge.source) != edge.source
        tensor = frame.tensors.get((edge.target or "") if key.endswith(".cut") else edge.source if within else "")
        return None if tensor is None else tensor.cut

    def has_output(self, id: str) -> bool:
        """Whether an output of a node has a box."""
        return id in self._outputs

    def _node(self, frame: Frame, id: str) -> list[Box]:
        node = frame.nodes[id]
        output = node.outputs[0][0] if 0 in node.outputs else ""
        region = self.lanes.region(frame, node, output, "recorded")
        waiting = frame.arrivals(id) if node.state in ("pending", "ready") else []
        gone = [found for key, edge in frame.edges_of(id) if edge.state != "idle" and (found := self._sent(frame, key))]
        if id not in self._written or self._written[id][0] is not node.made:
            self._written[id] = node.made, _written_details(node.made)
        own = _node_details(self._say, frame, node, self._written[id][1], waiting)
        details = (*own, *gone, *self.lanes.level_details(frame, output))
        title = self.program.titles.get(id, node.made.name)
        name = self.program.node_names.get(id, node.made.name)
        lines = (*_node_lines(self._say, frame, node, title, name), *badges(frame, id))
        if node.tangent_of is not None:
            lines = (f"the tangent of {frame.called(node.tangent_of)}", *lines)
        kind = "function" if node.made.custom else "op"
        region = region or self._standing.region(frame, id)
        inside, state, why = region.id if region else None, *self._standing.state(node)
        unsaid = left_out(*[_result(frame, node, nr)[1] for nr in sorted(node.outputs)])
        box = Box(id, kind, title, (*lines, *why), state, region=inside, details=details, unsaid=unsaid)
        return [region, box] if region else [box]

    def _sent(self, frame: Frame, key: str) -> Detail | None:
        """How a gradient that has gone along an edge came about."""
        found = self.slopes(frame, key)
        to = frame.called(frame.edges[key].source)  # which stays as it is, whatever joins the graph later
        return None if found is None else Detail("Local slope", "text", f"to {to}: {found.sentence}")

    def _tensor(self, frame: Frame, id: str) -> list[Box]:
        box, region = _tensor(self._say, frame, id), self.lanes.level_region(frame, id)
        box.details += tuple(self.lanes.level_details(frame, id))
        box.region = region.id if region else None
        return [region, box] if region else [box]

    def _seeding(self, frame: Frame, id: str, nr: int) -> Arrow:
        key = f"{id}.seed{nr}"
        return self._arrow(frame, key, id, _output_id(id, nr), frame.edges.get(key) or EdgeState(id, None, nr))

    def _arrow(self, frame: Frame, id: str, source: str, target: str, edge: EdgeState) -> Arrow:
        label, note, brief = self.which(edge), [], None
        if label:
            maker = frame.called(edge.source)
            note = [f"output_nr {edge.output_nr} of {maker}"]
            note += [f"whose gradient is its input_nr {edge.output_nr}"] * edge.differentiable
        if (edge.source, target) in self._twice and edge.differentiable:
            note.append(f"next_functions[{id.rpartition('.')[2]}] of {frame.called(target)}")
        if edge.state != "idle":
            grad = self._say(self.label, edge.grad)
            found = self.slopes(frame, id) if edge.state == "flowing" else None
            which = f"\nfor {label}" if label else ""
            brief = None if found is None else grad + which
            grad = grad if found is None else found.label if found.product else with_more(grad, found.label)
            label = grad + which
        kind = "edge" if edge.differentiable else "constant"
        if (cut := self._cut(frame, id, edge)) is not None:
            kind, label, brief = "cut", cut_label(cut), None
            note = [cut_said(cut)]
        together = self._together(frame, id, edge) if edge.differentiable else None
        return Arrow(id, source, target, kind, label, edge.state, note=", ".join(note), together=together, brief=brief)

    def _together(self, frame: Frame, key: str, edge: EdgeState) -> tuple[str, int, ArrowTone] | None:
        """What one arrow tells of all that came to where this edge, the last of several, brought a gradient."""
        came = frame.came_to(edge.source)
        if edge.state == "idle" or edge.lost or len(came) < 2 or came[-1] != key:
            return None
        total = arrived(frame, edge.source)
        if total is None:
            return "", *self.looks(None)
        return total.text() if not total.shape else f"‖{number(total.norm)}‖", *self.looks(total)

    def looks(self, grad: Value | None) -> tuple[int, ArrowTone]:
        """How broad the arrow of a gradient is, and its tone."""
        return 0, ""

    def which(self, edge: EdgeState) -> str:
        """Which output of a node an edge comes from, if it has more than one."""
        return f"output {edge.output_nr}" if edge.source in self._several else ""


def cut_label(cut: Cut) -> str:
    """`detach, line 3`."""
    return cut.word if cut.source is None else f"{cut.word}, line {cut.source.line}"


def cut_said(cut: Cut) -> str:
    """A sentence on what ends the way of a gradient, without its full stop."""
    why = "in no_grad no operation is recorded" if cut.word == "no_grad" else f"{cut.word} ends its way"
    why = f"{cut.word} numbers have none" if cut.word.startswith(("int", "uint", "bool")) else why
    at = "" if cut.source is None else f" ({cut.source.file}, line {cut.source.line}: {cut.source.text})"
    return f"no gradient flows back here: {why}{at}"


def arrived(frame: Frame, id: str) -> Value | None:
    """All that came to the only output of a node, or to a leaf, in its last backward; None if that is not known yet."""
    received = frame.place(id).received
    return received[0] if len(received) == 1 else None


def _node_lines(say: Sayings, frame: Frame, node: NodeState, title: str, called: str) -> tuple[str, ...]:
    """What the node is `called`, if the title is another, and its results."""
    results = [_result(frame, node, nr) for nr in sorted(node.outputs)]
    entitled = not title.startswith(node.made.name)
    if len(results) == 1:
        ((name, value),) = results
        own = say(_below, value, called) if entitled else say(lines_of, value, name)
        return (*own, *view_line(frame, node))
    lines = [called] if entitled else []
    for name, value in results:
        start = f"{name} {value.shape}  " if value.shape else f"{name}  "
        lines.append(start + say(brief_of, value, TEXT_COLUMNS - len(start)))
    return (*lines, *view_line(frame, node))


def _below(value: Value, name: str) -> list[str]:
    """A value behind the name of its node, which takes more room than a variable."""
    return [*_compact(value, name, TEXT_COLUMNS), *trouble_of(value)]


def _compact(value: Value, name: str = "", room: int = BOX_COLUMNS) -> list[str]:
    """A value behind its name, shape and dtype; of an array only if all numbers have room."""
    head, text = head_of(value, name), whole(value, min(room, BOX_COLUMNS))
    return behind_head(head, text, room) if text else [head]


def _narrow(value: Value, leaf: bool) -> list[str]:
    """The value of a tensor that no node made: several stand in a row, so its numbers stand below its shape."""
    head, text = head_of(value), value.brief(BOX_COLUMNS) if leaf else whole(value, BOX_COLUMNS)
    return [*(behind_head(head, text, _NARROW) if text else [head]), *(trouble_of(value) if leaf else ())]


def _result(frame: Frame, node: NodeState, nr: int) -> tuple[str, Value]:
    """An output's name, or what computed it, and its value (as this node made it, if others wrote it)."""
    id, value = node.outputs[nr]
    tensor = frame.tensors[id]
    own = (tensor.node, tensor.output_nr) == (node.made.node, nr)
    return tensor.name or node.made.operation, tensor.value if own else value


def _written_details(made: NodeCreated) -> list[Detail]:
    """The code of a node, and where it was made."""
    details = [Detail(_HEADINGS.get(code.name, code.name), "code", code.text) for code in made.code]
    if made.source is not None:
        line = f"{made.source.file}, line {made.source.line}: {made.source.text}"
        details.append(Detail("Made at", "text", line.removesuffix(": ")))
    if made.scope is not None:
        details.append(Detail("Scope", "text", made.scope))
    return details


def _node_details(
    say: Sayings, frame: Frame, node: NodeState, written: Iterable[Detail], waiting: Iterable[EdgeState]
) -> tuple[Detail, ...]:
    made = node.made
    details = [*_error(node), *written]
    for arg, given in zip(made.args, node.given, strict=True):
        if arg.tensor is None:
            details.append(Detail("Input", "text", arg.text))
        else:
            details.append(say(value_detail, "Input", frame.called(arg.tensor), given))
    details += [say(value_detail, "Output", *_result(frame, node, nr)) for nr in sorted(node.outputs)]
    details += memory_details(frame, node.outputs[0][0]) if 0 in node.outputs else []
    if node.gone:
        details.append(Detail("Saved", "text", "Nothing any more: this node is gone, as nothing holds it."))
    elif node.freed:
        details.append(Detail("Saved", "text", "What was saved is freed: this node cannot run again."))
    elif not made.saved:
        details.append(Detail("Saved", "text", "Nothing: the backward needs no tensor of the forward."))
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


def _tensor(say: Sayings, frame: Frame, id: str) -> Box:
    tensor = frame.tensors[id]
    leaf = tensor.role == "leaf"
    first, *others = say(_narrow, tensor.value, leaf)
    needless = _NEEDLESS if tensor.cut is None else f"{_NEEDLESS}: {tensor.cut.word}"
    if not leaf and columns(first) + columns(needless) + 2 <= BOX_COLUMNS:
        first = f"{first}, {needless}"
    elif not leaf:
        others.append(needless)
    lines = [first, *others, *shared_line(frame, id)]
    if leaf and tensor.grad is not None:
        lines += [f"grad {say(brief_of, tensor.grad, BOX_COLUMNS - 5)}", *trouble_of(tensor.grad)]
    lines += badges(frame, id)
    return Box(
        id,
        "leaf" if leaf else "constant",
        tensor.name or ("leaf" if leaf else _view(frame, id) or "constant"),
        tuple(lines),
        tensor.state,
        details=(*_tensor_details(say, tensor, leaf), *memory_details(frame, id)),
        unsaid=left_out(tensor.value),
    )


def _tensor_details(say: Sayings, tensor: TensorState, leaf: bool) -> tuple[Detail, ...]:
    name = tensor.name or ""
    details = [*_error(tensor), say(value_detail, "Value", name, tensor.value)]
    if not leaf:
        cut = [] if tensor.cut is None else [Detail("Cut", "text", _sentence(cut_said(tensor.cut)))]
        return (*details, Detail("Grad", "text", "None is computed: it does not require grad."), *cut)
    details += hook_details(tensor)
    details += [say(value_detail, "Gradient in", "", grad) for grad in tensor.received]
    if tensor.grad is None:
        why = "it was cleared" if tensor.cleared else "no backward has added to it yet"
        return (*details, Detail("Grad", "text", f"None: {why}."))
    return (*details, say(value_detail, "Grad", f"{name}.grad" if name else "grad", tensor.grad))


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _output_id(node: str, nr: int) -> str:
    return f"{node}.out{nr}"


def _output(say: Sayings, frame: Frame, id: str, nr: int) -> Box:
    node, seed = frame.nodes[id], frame.edges.get(f"{id}.seed{nr}")
    known = nr in node.outputs
    details = [say(value_detail, "Value", *_result(frame, node, nr))] if known else []
    lines: tuple[str, ...] = ()
    if seed is not None:
        details.append(say(value_detail, "Seed", "the gradient backward starts with", seed.grad))
        lines = ("no seed" if seed.grad is None else f"seed {say(brief_of, seed.grad, BOX_COLUMNS - 5)}",)
    title = (frame.variable(node.outputs[nr][0]) if known else None) or "output"
    state = "done" if seed is not None else "idle"
    return Box(_output_id(id, nr), "output", title, lines, state, details=tuple(details))


def rows_of(frame: Frame, parameters: Collection[str]) -> list[str]:
    """The parameters of a module, with the norms of their gradients, each on a line; on one if there is always room."""
    rows = [_row_of(frame, id) for id in parameters]
    room = sum(columns(row.partition(" ‖")[0]) + 2 + _GRADIENT for row in rows) - 2
    return [", ".join(rows)] if len(rows) > 1 and room <= GROUP_COLUMNS else rows


def _row_of(frame: Frame, id: str) -> str:
    """`weight (16, 3) ‖0.3‖`."""
    tensor = frame.tensors[id]
    norm = f" ‖{tensor.grad.norm:.3g}‖" if tensor.grad is not None else ""
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
    """What a view of a variable is called: the expression that took it, if a line has room, or `view of x`."""
    viewed, node = frame.viewed(id), frame.tensors[id].node if id is not None else None
    told = frame.told(node) if viewed is not None and node in frame.nodes else ""
    if viewed is not None and id is not None and 0 < columns(frame.tensors[id].taken) <= _EXPRESSION:
        return frame.tensors[id].taken
    return told.strip("`") if told.startswith("`") and told.endswith("`") and columns(told) <= _EXPRESSION else viewed


def held_now(frame: Frame, node: NodeState, index: int) -> Value | None:
    """What is saved as it is now: it is the tensor's own memory, which somebody may have written since.

    Of what is freed it is not followed any more: there it is what was saved.
    """
    saved = node.made.saved[index]
    if saved.tensor is None or not node.keeps or frame.version(saved.tensor) < saved.version:
        return node.saved[index]
    return frame.tensors[saved.tensor].value


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
    first = say(_compact, value, "", CHIP_COLUMNS)
    lines, kind = (*first, *trouble_of(value), *packed), tuple(filter(None, (head_of(value),)))
    state, note = "idle", f"Kept at version {saved.version} for the backward of {node.made.name}."
    if node.gone and not node.freed:
        state, lines, note = "freed", kind, "Gone with its node, which nothing holds any more."
    elif node.freed:
        state, lines = "freed", kind
        ran = node.made.name if node.run_by is None else frame.called(node.run_by)
        note = f"Freed when {ran} had run: backward(retain_graph=True) would have kept it."
    elif saved.tensor is not None and frame.stale(id, index):
        state, lines = "error", (*lines, "written since it was saved")
        now = frame.version(saved.tensor)
        note = f"Kept at version {saved.version}, but written since: it is at version {now} now."
    details = (say(value_detail, "Value", name, value), *about, Detail("What becomes of it", "text", note))
    who, unsaid = whose(frame, id, saved) if node.keeps else "", left_out(value)
    return Box(f"{id}.saved{index}", "saved", title, lines, state, holder=id, details=details, note=who, unsaid=unsaid)


SIGN = "↪"  # before the name of a hook
AGAIN = "not kept: a checkpoint will compute it again from its arguments"
_BADGES = {
    "tensor": "hook",
    "retained": "retains its grad",
    "before": "pre-hook",
    "after": "post-hook",
    "accumulated": "after accumulating",
}


def badges(frame: Frame, id: str) -> list[str]:
    """A line for each kind of hook at a node or leaf, and for each output that has some."""
    place = frame.place(id)
    several = len({hook.output_nr for hook in place.hooks if hook.kind in ("tensor", "retained")}) > 1
    several |= len(getattr(place, "outputs", ())) > 1
    lines: dict[str, list[str]] = {}
    for hook in place.hooks:
        on = f" on {frame.output(id, hook.output_nr)}" if several and hook.kind == "tensor" else ""
        if hook.kind == "retained":
            whose = f"{frame.output(id, hook.output_nr)} " if several else ""
            lines.setdefault(whose + _BADGES[hook.kind], [])
        else:
            lines.setdefault(_BADGES.get(hook.kind, hook.kind) + on, []).append(hook.name)
    texts = [f"{SIGN} {head}: {', '.join(names)}" if names else f"{SIGN} {head}" for head, names in lines.items()]
    return [cut(text, TEXT_COLUMNS) for text in texts]


def hook_details(place: Place) -> list[Detail]:
    """Each hook with the line it is defined in, and what hooks did in this backward."""
    return [
        *[Detail("Hook", "text", _defined(hook)) for hook in place.hooks],
        *[Detail("What a hook did", "text", f"{text}.") for text in place.hooked],
    ]


def _defined(hook: Hook) -> str:
    line = hook.source
    if line is None:
        return hook.title
    return f"{hook.title}, {line.file}, line {line.line}: {line.text}".removesuffix(": ")


def packed_line(saved: Saved) -> list[str]:
    """A line on what is saved, where a hook made something else of it."""
    return [] if saved.packed is None or is_slot(saved) else [f"{SIGN} packed by {saved.packed.hook}"]


def packed_details(frame: Frame, saved: Saved) -> list[Detail]:
    """Which hook packed it, where it is defined, and what it made of what."""
    packed = saved.packed
    if packed is None:
        return []
    if is_slot(saved):
        return [Detail("Checkpoint", "text", f"{AGAIN[:1].upper()}{AGAIN[1:]}.")]
    line = packed.source
    at = "" if line is None else f", {line.file}, line {line.line}: {line.text}".removesuffix(": ")
    of = "" if packed.tensor is None else f" in place of {frame.called(packed.tensor)}"
    return [Detail("Hook", "text", f"pack hook {packed.hook}{at}; it keeps a {packed.kept}{of}.")]


# What operations compute beside their result and save, by the names of what is saved.
_INNER = {
    "native_layer_norm": {"result1": "its own mean", "result2": "its own rstd"},
    "native_batch_norm": {"result1": "its own mean", "result2": "its own rstd"},
}
FEW = 8  # lines: more are drawn only where the step is, as they would cross
_MANY = 600  # lines: of so large a graph none is drawn, as each takes time at every step; chips say what they are


def built(events: Iterable[Record]) -> list[Record]:
    """What a graph is made of and what happens to it, without the nodes that run: most of all events, and often."""
    running = {NodeStarted, NodeFinished, SavedFreed}
    return [event for event in events if type(event) not in running]


class Relations:
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
        """The lines to what a node saved, and from what its outputs are views of."""
        if not self._are_drawn:
            return []
        node = frame.nodes[id]
        drawn = self._all or frame.focus == id
        lines = []
        for index, saved in enumerate(node.made.saved):
            if saved.tensor is None or saved.version > frame.version(saved.tensor):
                continue  # it becomes its own output by the write that comes next
            if (home := self._home(frame, saved.tensor)) not in (None, id):
                state = "idle" if drawn and node.keeps else "future"
                note = f"what {node.made.name} saved is {frame.called(saved.tensor)} itself"
                lines.append(Arrow(f"{id}.saved{index}.same", home, f"{id}.saved{index}", "same", "", state, alt=note))
        if (base := base_of(frame, node)) is not None:
            home = self._home(frame, base)
            if home not in (None, id, *(edge.source for _, edge in frame.edges_of(id))):
                state = "idle" if drawn else "future"
                note = f"what {node.made.name} gives is a view of {frame.called(base)}: the same memory"
                lines.append(Arrow(f"{id}.base", home, id, "same", "", state, alt=note))
        return lines

    def of_tensor(self, frame: Frame, id: str) -> list[Arrow]:
        """The line to a leaf or constant from what it shares the memory of."""
        base = frame.tensors[id].base
        home = None if base is None else self._home(frame, base)
        if base is None or home in (None, id) or not self._all:
            return []
        note = f"{frame.called(id)} shares the memory of {frame.called(base)}"
        return [Arrow(f"{id}.base", home, id, "same", alt=note)]

    def _home(self, frame: Frame, tensor: str) -> str | None:
        """The box that stands for a tensor, if one is drawn."""
        state = frame.tensors[tensor]
        if state.node is not None:
            return state.node
        if state.role == "constant" and tensor in self._lanes.wholes:
            return self._lanes.place(tensor)
        stands = state.role == "leaf" or (state.role == "constant" and self._lanes.place(tensor) == tensor)
        return tensor if stands else None


def whose(frame: Frame, node: str, saved: Saved) -> str:
    """Which tensor a node saved, where its name does not say so."""
    tensor = saved.tensor
    if tensor is None:
        packed = saved.packed
        return "" if packed is None or packed.tensor is None else f"in place of {frame.called(packed.tensor)}"
    if frame.tensors[tensor].node == node:
        return "its own output"
    if frame.variable(tensor) or frame.viewed(tensor):
        return ""
    made = frame.nodes[node].made
    own = saved.name.startswith("result") and not made.custom
    return _INNER.get(made.operation, {}).get(saved.name, "its own") if own else frame.called(tensor)


def base_of(frame: Frame, node: NodeState) -> str | None:
    """The tensor that a node's outputs are views of."""
    for id, _ in node.outputs.values():
        if (base := frame.tensors[id].base) is not None:
            return base
    return None


def view_line(frame: Frame, node: NodeState) -> list[str]:
    """A line that says what a node's outputs are views of."""
    base = base_of(frame, node)
    return [] if base is None else [f"view{'s' * (len(node.outputs) > 1)} of {frame.called(base)}"]


def shared_line(frame: Frame, tensor: str) -> list[str]:
    """A line that says whose memory a leaf or constant shares."""
    base = frame.tensors[tensor].base
    return [] if base is None else [f"shares the memory of {frame.called(base)}"]


def memory_details(frame: Frame, tensor: str) -> list[Detail]:
    """Whose memory a tensor shows, if it is another's."""
    base = frame.tensors[tensor].base
    if base is None:
        return []
    text = f"That of {frame.called(base)}: a write into one is a write into both, and they have one version."
    return [Detail("Memory", "text", text)]


GONE, BESIDE = "gone: nothing holds it any more", "no backward comes here"
_RUNS = "It runs the node of the operation that wrote through the view, on the gradient of what was written."


class Standing:
    """What is known of a trace's nodes before it is told."""

    def __init__(self, events: Iterable[Record]) -> None:
        self._runs: dict[str, str] = {}  # the node of an operation that wrote through a view -> the one that runs it
        self._beside: set[str] = set()  # nodes that no backward reaches, although one began after they were made
        edges: dict[str, list[str]] = {}
        waiting: set[str] = set()
        going = 0
        for event in events:
            if isinstance(event, NodeCreated):
                edges[event.node] = [edge.target for edge in event.edges if edge.target is not None]
                if event.runs is not None:
                    self._runs[event.runs] = event.node
                    edges[event.node].append(event.runs)
                if not going and event.pushing is None and not any([seen.level for seen in event.tensors]):
                    waiting.add(event.node)
            elif isinstance(event, BackwardStarted):
                reached = [root.node for root in event.roots]
                while reached:
                    node = reached.pop()
                    reached += edges.pop(node, ())
                    waiting.discard(node)
                    self._beside.discard(node)
                self._beside |= waiting
                waiting = set()
                going += 1
            elif isinstance(event, BackwardFinished) or (isinstance(event, Failed) and event.task is not None):
                going -= 1

    def region(self, frame: Frame, id: str) -> Box | None:
        """The box of the node that runs another, around both."""
        outer = self._runs.get(id, id if frame.nodes[id].made.runs is not None else None)
        if outer is None:
            return None
        scope = frame.nodes[id].made.scope
        title = WITHIN.join([*(scope.split("/") if scope else ()), "CopySlices"])
        state: BoxState = "idle" if outer in frame.nodes else "future"
        return Box(f"{outer}.runs", "region", title, state=state, details=(Detail("What it is", "text", _RUNS),))

    def state(self, node: NodeState) -> tuple[BoxState, tuple[str, ...]]:
        """How a node is drawn, and a line that says why, if it takes no part."""
        calm = node.state in ("idle", "done")
        if node.gone and calm:
            return "over", (GONE,)
        if node.made.node in self._beside and calm:
            return "over", (BESIDE,)
        return node.state, ()
