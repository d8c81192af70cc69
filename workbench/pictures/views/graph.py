"""The current graph: nodes with what they saved, leaves with their gradients, and what travels.

A saved tensor is a tag attached to its node's box. Hooks are badges. Dotted lines join boxes with the same memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import Any

from ..scene.metric import cut
from ..scene.model import Arrow, ArrowSum, ArrowTone, Box, Detail
from ..trace.backward_records import BackwardFinished, BackwardStarted, NodeFinished, NodeStarted
from ..trace.facts import Cut
from ..trace.forward_records import LevelEntered, NodeCreated, OperationRan, TangentPushed, TensorsFound
from ..trace.frame import EdgeState, Frame, Key
from ..trace.memory_records import SavedFreed
from ..trace.schema import Record
from ..trace.tensor_records import TensorShown
from ..trace.timeline import Timeline
from ..trace.values import Value, series
from .families import family_of
from .gray_inputs import is_gray, left_out_inputs, masked
from .hook_badges import badges
from .lanes import Lanes
from .node_boxes import (
    brief_lines,
    chip,
    cut_label,
    cut_said,
    node_details,
    node_lines,
    output_box,
    output_id,
    result_of,
    tensor_box,
    written_details,
)
from .node_status import NodeStatus
from .player_steps import last_backward
from .program_tree import program_tree
from .shared_memory import SharedMemoryArrows
from .slopes import Slope, Slopes
from .value_display import (
    FormatCache,
    fact,
    label_of,
    left_out,
    short_label_of,
    size_of,
    with_more,
)

LEGEND = "Boxes are operations, with their saved tensors beside them; values flow down, gradients flow back up."
_CUTS = " A double bar marks where the gradient path is cut."
_PASSES = " A circled number says which backward pass a gradient is of."
_MOST_MARKS = 20  # passes that there are circled numbers for
_MOST_TOLD = 4  # passes whose lines the legend has
_LINE = 60  # columns of such a line

_TINY = 1e-7  # the norm of a gradient below which it is remarkable
_HUGE = 1e5  # and above which it is

Drawing = tuple[list[Box], list[Arrow]]


class Graph:
    """Draw the frames of one trace; an output has a box if a backward pass starts there or it is shown."""

    legend = LEGEND
    shared_legend = LEGEND  # where boxes refer to a tensor that stands elsewhere
    shows_gradients = False  # its story is the gradients on their way
    label = staticmethod(label_of)  # a gradient on an arrow

    def __init__(self, events: Iterable[Record]) -> None:
        events, whole = built(events), events
        self._say = FormatCache()
        self._drawn: dict[str, Callable[[Frame, str], Drawing]] = {
            "node": self._draw_node,
            "tensor": self._draw_tensor,
            "edge": self._draw_edge,
            "operation": lambda frame, id: self.lanes.operation(frame, id),
            "tangent": lambda frame, id: self.lanes.tangent(frame, id),
            "focus": lambda frame, id: ([], self._shared_memory.of_node(frame, id)),
            "levels": lambda frame, id: (self.lanes.levels(frame), []),
        }
        self._written: dict[str, tuple[NodeCreated, list[Detail]]] = {}  # by node, the details on its code
        self.lanes = Lanes(events, self._say)
        self._shared_memory = SharedMemoryArrows(events, self.lanes)
        self.follows = self._shared_memory.follow  # whether anything is drawn again where the step is
        self._status = NodeStatus(events)
        self.transformed = not {LevelEntered, OperationRan, TangentPushed}.isdisjoint(map(type, events))
        # Which part of the picture a node is in follows from what was running when it was made.
        # What a Function of the user's runs in its backward is a part of its own.
        custom = any(isinstance(event, NodeCreated) and event.custom for event in events)
        self.program = program_tree(
            whole if custom or self.transformed else events, self.lanes if self.transformed else None
        )
        self._several: set[str] = set()  # nodes of more than one output
        self._twice: set[tuple[str, str]] = set()  # of two boxes that several edges join: (source, target)
        for event in events:
            if isinstance(event, NodeCreated):
                self._note_edges(event)
        self.slopes = Slopes(_gave_values([event for event in events if isinstance(event, NodeCreated)]))
        self.hidden = set() if self.transformed else left_out_inputs(events) - {*self.lanes.named_bases}
        self._masked = masked(events)
        more = _CUTS if any([self.lanes.is_cut(event) for event in events]) else ""
        self.outputs: dict[str, list[int]] = {}
        self._marks: dict[str, str] = {}  # of several backward passes, each one's number
        self._passes = ""  # what the legend says about them
        self.names = list(dict.fromkeys(name for name in self._note_ends(events) if name is not None))
        self.title = self.title_of(self.names)
        more += self._passes
        self.legend, self.shared_legend = self.legend + more, self.shared_legend + more

    def title_of(self, names: Sequence[str]) -> str:
        """Return the title of a picture of what these variables hold."""
        return f"Graph of {series(names)}" if names else "Autograd graph"

    def _note_edges(self, made: NodeCreated) -> None:
        """Note which nodes have several outputs, and which are joined to another by several edges."""
        if made.output_count > 1:
            self._several.add(made.node)
        sources: set[str] = set()
        for edge in made.edges:
            if edge.target is None:
                continue
            if edge.target in sources:
                self._twice.add((edge.target, made.node))
            if edge.output_nr:
                self._several.add(edge.target)
            sources.add(edge.target)

    def _note_ends(self, events: Iterable[Record]) -> list[str | None]:
        """Note the outputs that a backward pass starts at or that are shown, and the variables that hold them."""
        named: dict[tuple[str, int], str | None] = {}  # (node or leaf, output) -> variable
        maker: dict[str, tuple[str, int]] = {}
        ends: dict[tuple[str, int], None] = {}
        inner: set[tuple[str, int]] = set()  # of backward passes that another one runs
        running, passes = 0, list[BackwardStarted]()
        for event in events:
            if isinstance(event, NodeCreated | TensorsFound):
                for seen in event.tensors:
                    maker[seen.id] = place = (seen.node or seen.id, seen.output_nr)
                    named[place] = seen.name
            elif isinstance(event, BackwardFinished):
                running -= running > 0
            elif isinstance(event, BackwardStarted):
                inner |= {(root.node, root.output_nr) for root in event.roots if running}
                passes += [event] * (not running)
                running += 1
                ends |= dict.fromkeys((root.node, root.output_nr) for root in event.roots)
            elif isinstance(event, TensorShown):
                ends[maker[event.tensor]] = None
        if 1 < len(passes) <= _MOST_MARKS and not self.transformed:
            self._marks = {event.task: f"{chr(ord('①') + n)} " for n, event in enumerate(passes)}
            told = [
                f" {self._marks[event.task].strip()}: "
                f"{', '.join(filter(None, [f'line {event.source.line}', cut(event.source.text, _LINE)]))}."
                for event in passes
                if event.source is not None
            ]
            self._passes = "".join([_PASSES, *(told if len(told) <= _MOST_TOLD else ())])
        self._several |= {node for node, nr in (*maker.values(), *ends) if nr}
        for node, nr in ends:
            self.outputs.setdefault(node, []).append(nr)
        return [named.get(end) for end in ends if end not in inner]

    def draw(self, frame: Frame, keys: Iterable[Key]) -> Drawing:
        """Return the boxes and arrows of the frame's `keys`, as they are now."""
        boxes: list[Box] = []
        arrows: list[Arrow] = []
        for key in keys:
            drawn = self._drawn[key.kind](frame, key.id)
            boxes += drawn[0]
            arrows += drawn[1]
        return boxes, [arrow for arrow in arrows if not {arrow.source, arrow.target} & self.hidden]

    def _draw_node(self, frame: Frame, id: str) -> Drawing:
        boxes = [*self._node(frame, id), *[chip(self._say, frame, id, at) for at in range(len(frame.nodes[id].saved))]]
        arrows = self._shared_memory.of_node(frame, id)
        for nr in self.outputs.get(id, ()):
            boxes.append(self._output(frame, id, nr))
            arrows.append(self._seeding(frame, id, nr))
        return self._with_handed(frame, id, boxes, arrows)

    def _draw_tensor(self, frame: Frame, id: str) -> Drawing:
        role = frame.tensors[id].role
        if id in self.hidden:
            return [], []
        if role == "leaf" or (role == "constant" and self.lanes.place(id) == id):
            return self._with_handed(frame, id, self._tensor(frame, id), self._shared_memory.of_tensor(frame, id))
        return self.lanes.input(frame, id) if id in self.lanes.data else [], []

    def _with_handed(self, frame: Frame, id: str, boxes: list[Box], arrows: list[Arrow]) -> Drawing:
        """Add the boxes of this place's gradients that the program got."""
        if id not in frame.handed:
            return boxes, arrows
        more = self.lanes.handed.drawn(self._say, frame, id)
        return [*boxes, *more[0]], [*arrows, *more[1]]

    def _draw_edge(self, frame: Frame, id: str) -> Drawing:
        edge = frame.edges[id]
        if edge.target is None:
            if edge.source not in frame.nodes:
                return [], []
            nr = edge.output_nr
            return [self._output(frame, edge.source, nr)], [self._seeding(frame, edge.source, nr)]
        if not (self.leads(edge) and self.shows(frame, edge)):
            return [], []
        source = self.source(edge)
        return self.lanes.input(frame, source), [self._arrow(frame, id, source, edge.target, edge)]

    def remarks(self, frame: Frame) -> list[str]:
        """Return nothing, as the events' texts are complete."""
        return []

    def lost(self, frame: Frame, keys: Iterable[str]) -> list[str]:
        """Say nothing of what became of the gradients that these edges brought."""
        return []

    def of_leaves(self, frame: Frame, ids: Collection[str]) -> list[str]:
        """Say nothing of the leaves in a closed group."""
        return []

    def focus(self, frame: Frame) -> str | None:
        """Return the box that the last event was about."""
        if frame.focus is None:
            return None
        kind, id = frame.focus
        if kind in ("operation", "tangent"):
            return self.lanes.shown(frame, frame.focus)
        if kind == "edge":
            edge = frame.edges[id]
            return output_id(edge.source, edge.output_nr) if edge.source in frame.nodes else edge.source
        return frame.tensors[id].node if kind == "tensor" and frame.tensors[id].role is None else id

    def opens(self, trace: Timeline) -> int | None:
        """Return the stop that a picture opens at: where the last backward pass ends or fails. None is the last.

        If a transform returns a tangent, it is where that is there.
        """
        stop, given = last_backward(trace), self.lanes.handed.stop(trace)
        return stop if stop is None or given is None else max(stop, given)

    def source(self, edge: EdgeState) -> str:
        """Return the box that an edge starts from."""
        return edge.source if edge.differentiable else self.lanes.place(edge.source)

    def leads(self, edge: EdgeState) -> bool:
        """Return True if an edge has an arrow: a cut inside its node's box is marked at its user."""
        if (edge.target if edge.kind == "cut" else edge.source) in self.hidden:
            return False
        return edge.kind != "cut" or self.lanes.place(edge.target or "") == edge.target

    def shows(self, frame: Frame, edge: EdgeState) -> bool:
        """Return True if an edge is part of the story."""
        return True

    def _cut(self, frame: Frame, edge: EdgeState) -> Cut | None:
        """Return where a gradient path ends, if that is on this edge."""
        within = not edge.differentiable and self.lanes.place(edge.source) != edge.source
        tensor = frame.tensors.get((edge.target or "") if edge.kind == "cut" else edge.source if within else "")
        return None if tensor is None else tensor.cut

    def mark(self, task: str) -> str:
        """Return the circled number of a backward pass, if there are several; passes that a pass runs have none."""
        return self._marks.get(task, "")

    def _node(self, frame: Frame, id: str) -> list[Box]:
        node = frame.nodes[id]
        output = node.outputs[0][0] if 0 in node.outputs else ""
        region = self.lanes.region(frame, node, output, "recorded")
        waiting = frame.arrivals(id) if node.state in ("pending", "ready") else []
        gone = [found for key, edge in frame.edges_of(id) if edge.state != "idle" and (found := self._sent(frame, key))]
        if id not in self._written or self._written[id][0] is not node.made:
            self._written[id] = node.made, written_details(node.made)
        own = node_details(self._say, frame, node, self._written[id][1], waiting)
        details = (*own, *gone, *self.lanes.level_details(frame, output))
        title = self.program.titles.get(id, node.made.name)
        name = self.program.node_names.get(id, node.made.name)
        masked = id in self._masked
        lines = (*node_lines(self._say, frame, node, title, name, masked), *badges(frame, id))
        brief = (*brief_lines(self._say, frame, node, masked), *badges(frame, id))
        if node.tangent_of is not None:
            lines = (f"the tangent of {frame.called(node.tangent_of)}", *lines)
        kind = "function" if node.made.custom else "op"
        region = region or self._status.region(frame, id)
        inside, state, why = region.id if region else None, *self._status.state(node)
        unsaid = left_out(*[result_of(frame, node, nr)[1] for nr in sorted(node.outputs)])
        box = Box(id, kind, title, (*lines, *why), state, region=inside, details=details, unsaid=unsaid)
        box.brief = brief if state == "over" else (*brief, *why)
        box.family = "" if node.made.custom else family_of(node.made.name)
        return [region, box] if region else [box]

    def _sent(self, frame: Frame, key: str) -> Detail | None:
        """Return how a gradient that has gone along an edge came about."""
        found = self.slopes(frame, key)
        to = frame.called(frame.edges[key].source)  # which stays as it is, whatever joins the graph later
        return None if found is None else Detail("Local slope", "text", f"to {to}: {found.sentence}")

    def _tensor(self, frame: Frame, id: str) -> list[Box]:
        box, region = tensor_box(self._say, frame, id), self.lanes.level_region(frame, id)
        box.details += tuple(self.lanes.level_details(frame, id))
        box.region = region.id if region else None
        return [region, box] if region else [box]

    def _output(self, frame: Frame, id: str, nr: int) -> Box:
        """Return the box of an output; one of several has its expression as its title if no variable holds it."""
        title = self.program.titles.get(id, "") if len(self.outputs) > 1 and "`" in frame.describe(id) else ""
        # The name of an operation alone, `div`, is no expression.
        return output_box(self._say, frame, id, nr, "output" if not title or title.isidentifier() else title)

    def _seeding(self, frame: Frame, id: str, nr: int) -> Arrow:
        key = f"{id}.seed{nr}"
        return self._arrow(frame, key, id, output_id(id, nr), frame.edges.get(key) or EdgeState(id, None, nr, "seed"))

    def _arrow(self, frame: Frame, id: str, source: str, target: str, edge: EdgeState) -> Arrow:
        label, note, brief, short, mark = self.which(edge), [], None, None, self.mark(edge.task)
        if label:
            maker = frame.called(edge.source)
            note = [f"output_nr {edge.output_nr} of {maker}"]
            note += [f"whose gradient is its input_nr {edge.output_nr}"] * edge.differentiable
        if (edge.source, target) in self._twice and edge.differentiable:
            note.append(f"next_functions[{id.rpartition('.')[2]}] of {frame.called(target)}")
        if edge.state != "idle":
            found = self.slopes(frame, id) if edge.state == "flowing" else None
            which = f"\nfor {label}" if label else ""
            label, brief = _with_slope(mark + self._say(self.label, edge.grad), found, which, mark)
            if edge.grad is not None and edge.grad.shape and not self.shows_gradients:
                short = mark + self._say(short_label_of, edge.grad) + which, None
        kind = "edge" if edge.differentiable else "constant"
        if edge.kind == "cut" and is_gray(frame.tensors[target]):
            label, short = "", None
        elif (cut := self._cut(frame, edge)) is not None:
            kind, label, brief, short = "cut", cut_label(cut), None, None
            note = [cut_said(cut)]
        together = self.together(frame, id, edge) if edge.differentiable else None
        arrow = Arrow(id, source, target, kind, label, edge.state, note=", ".join(note), together=together, brief=brief)
        arrow.short = short
        if edge.state != "idle":
            arrow.norm = fact(edge.grad.norm) if edge.grad is not None else 0.0
            arrow.tone = remark_on(edge.grad)
        return arrow

    def together(self, frame: Frame, key: str, edge: EdgeState) -> ArrowSum | None:
        """Return how much came where this edge, the last of several, brought a gradient, and how one arrow shows it."""
        last = [*islice(frame.came_to(edge.source), 2)]
        if edge.state == "idle" or edge.lost or len(last) < 2 or last[0] != key:
            return None
        count = sum(1 for _ in frame.came_to(edge.source))
        total = arrived(frame, edge.source)
        if total is None:
            return count, "", *self.looks(None), None
        return count, self.mark(edge.task) + size_of(total), *self.looks(total), fact(total.norm)

    def looks(self, grad: Value | None) -> tuple[int, ArrowTone]:
        """Return the width of a gradient's arrow, and its tone."""
        return 0, remark_on(grad)

    def which(self, edge: EdgeState) -> str:
        """Return which output of a node an edge comes from, if it has more than one."""
        return f"output {edge.output_nr}" if edge.source in self._several else ""


def _with_slope(grad: str, found: Slope | None, which: str, mark: str) -> tuple[str, str | None]:
    """Return a gradient with how it came about, and without that, if it is known."""
    if found is None:
        return grad + which, None
    return (mark + found.label if found.product else with_more(grad, found.label)) + which, grad + which


def remark_on(grad: Value | None) -> ArrowTone:
    """Return the tone of a gradient that is remarkable: not finite, zero, tiny or huge."""
    if grad is None or not grad.is_known:
        return ""
    if grad.nonfinite:
        return "bad"
    return "" if _TINY <= grad.norm <= _HUGE else "odd"


def arrived(frame: Frame, id: str) -> Value | None:
    """Return all that reached a node's only output, or a leaf, in its last backward pass; None if it is unknown."""
    received = frame.place(id).received
    return received[0] if len(received) == 1 else None


def _gave_values(made: Iterable[NodeCreated]) -> set[str]:
    """Return the nodes that gave an expression its value: of a call that goes on in several modules, the last."""
    last: dict[int, str] = {}  # expression -> node
    before: tuple[Any, int] | None = None
    for event in made:
        if not event.path or event.path[-1].kind != "expression":
            before = None
            continue
        *around, own = event.path
        call = own.title, event.source, [part.key for part in around if part.kind != "scope"]
        if before is not None and before[0] == call and before[1] != own.key:
            last.pop(before[1], None)
        last[own.key], before = event.node, (call, own.key)
    return {*last.values()}


def built(events: Iterable[Record]) -> list[Record]:
    """Return the events that build a graph or happen to it, without running nodes, which are most events, and often."""
    running = {NodeStarted, NodeFinished, SavedFreed}
    return [event for event in events if type(event) not in running]
