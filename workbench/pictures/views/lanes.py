"""What function transforms add to a graph: operations without a node, tangents next to values, levels, regions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property

from ..scene.metric import TITLE_COLUMNS
from ..scene.model import Arrow, Box, Detail
from ..trace.backward_records import BackwardFinished, BackwardStarted, Failed
from ..trace.call_records import above
from ..trace.facts import TensorSeen
from ..trace.forward_records import LevelEntered, NodeCreated, OperationRan, TangentPushed, TensorsFound
from ..trace.frame import Frame, Key, NodeState, OperationState
from ..trace.schema import Record
from .expressions import UNKNOWN, fitted_text
from .gray_inputs import is_gray
from .handed_out import HandedOut
from .items import Item
from .titles import title_of
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
    value_detail,
)
from .written import computes, transforms, tree_of

_TANGENT = ".tangent"  # behind a tensor's id


def tangent_box(tensor: str) -> str:
    """Return the box of a tensor's tangent."""
    return f"{tensor}{_TANGENT}"


def tangent_in(box: str) -> str | None:
    """Return the tensor whose tangent a box shows, if it shows one."""
    return box.removesuffix(_TANGENT) if box.endswith(_TANGENT) else None


_MANY = 3  # parts of one tensor that are alike: a loop's
_ORDERS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}
_SEEING = NodeCreated | TensorsFound | OperationRan | TangentPushed  # records with tensors


def named_bases(seen: Iterable[TensorSeen]) -> dict[str, str]:
    """Return, for data that a program reshaped without a name, the variable with the whole: view -> tensor.

    So for parts of it as a loop takes them, of which the last may still have a name.
    """
    known = {each.id: each for each in seen}
    views = [each for each in known.values() if each.base in known and each.level is None]
    alike = Counter((each.base, each.value.shape) for each in views)
    found = {}
    for view in views:
        base = known[view.base or ""]
        if base.name is None or any(each.requires_grad or each.node for each in (view, base)):
            continue
        reshaped = view.name is None and math.prod(view.value.shape) == math.prod(base.value.shape)
        if reshaped or alike[view.base, view.value.shape] >= _MANY:
            found[view.id] = base.id
    return found


def _written(events: Iterable[Record], known: Mapping[str, TensorSeen]) -> dict[str, Item]:
    """Return the program text of nodes and operations that compute an expression, or of all that belong to one.

    What a backward pass ran has the text of the line that called for it, and no text of its own.
    """
    items: dict[str, Item] = {}
    runs: list[tuple[object, list[str]]] = []  # of one expression at one level
    going: list[str] = []
    for event in events:
        if isinstance(event, BackwardStarted):
            going.append(event.task)
        elif isinstance(event, BackwardFinished | Failed) and event.task in going:
            going.remove(event.task)
        elif isinstance(event, NodeCreated | OperationRan):
            id, item, place = _computed(event)
            seen = known.get(item.node)
            if not item.text or transforms(tree_of(item.text)):
                continue
            item.variable = seen.name or "" if seen is not None else ""
            if not going or computes(tree_of(item.text), item.operation):
                items[id] = item
            key = item.text, place, seen and seen.level
            if not runs or runs[-1][0] != key:
                runs.append((key, []))
            runs[-1][1].append(id)
    for _, several in runs:
        for id in several if len(several) > 1 else ():
            if id in items and not computes(tree_of(items[id].text), items[id].operation):
                del items[id]
    own = frozenset([(item.text, UNKNOWN) for item in items.values()])
    for item in items.values():
        item.inner, item.title = own, fitted_text(item.text, own, TITLE_COLUMNS)
    return items


def _computed(event: NodeCreated | OperationRan) -> tuple[str, Item, object]:
    """Return a node or operation, its expression with the only tensor it gives, and what distinguishes it."""
    if isinstance(event, OperationRan):
        output = event.outputs[0] if len(event.outputs) == 1 else ""
        return event.op, Item("", "", node=output, operation=event.name, text=event.text), event.source
    outputs = [seen.id for seen in event.tensors if seen.node == event.node]
    output = outputs[0] if len(outputs) == 1 else ""
    part = event.path[-1] if event.path and event.path[-1].kind == "expression" else None
    text = part.title if part is not None else ""
    return event.node, Item("", "", node=output, operation=event.operation, text=text), part and part.key


class Lanes:
    """Where things at several levels are drawn: each operation once, in the box of its node if it has one."""

    def __init__(self, events: Iterable[Record], say: FormatCache) -> None:
        events = list(events)
        self._say = say
        self._above = above(events)
        self._maker: dict[str, str] = {}  # tensor -> node or operation
        self._seen: dict[str, TensorSeen] = {}
        self._leaf_above: dict[str, str] = {}
        for event in events:
            if isinstance(event, _SEEING):
                for seen in event.tensors:
                    self._seen[seen.id] = seen
                    if seen.node is not None:
                        self._maker[seen.id] = seen.node
                    elif seen.requires_grad and seen.below is not None:
                        self._leaf_above.setdefault(seen.below, seen.id)
            if isinstance(event, OperationRan):
                self._maker.update(dict.fromkeys(event.outputs, event.op))
        self.named_bases = named_bases(self._seen.values())
        self.data = {*self.named_bases.values()}  # what is drawn although no operation was given just this tensor
        number = {event.level: event.number for event in events if isinstance(event, LevelEntered)}
        levels = [self._seen[id].level for id, made in self._maker.items() if made.startswith("n")]
        recorded = {0 if level is None else number.get(level, 0) for level in levels}
        # Several levels may have a graph of the same function: the lowest stands free, the others are framed.
        self._framed = {level for level, n in number.items() if recorded and n > min(recorded)}
        self._outputs = {event.op: event.outputs for event in events if isinstance(event, OperationRan)}
        self._events = events
        self.handed = HandedOut(events)

    @cached_property
    def _written(self) -> dict[str, Item]:
        return _written(self._events, self._seen)

    @cached_property
    def titles(self) -> dict[str, str]:
        """Return the program's text on the boxes of nodes and operations; that of a transform with its result."""
        return self._results | {id: title_of(item) for id, item in self._written.items()}

    @property
    def _results(self) -> dict[str, str]:
        """Return what the program calls the results of transforms: `H = hessian(f)(x)`."""
        found: dict[str, str] = {}
        for event in self._events:
            if isinstance(event, NodeCreated | OperationRan):
                id, item, _ = _computed(event)
                seen = self._seen.get(item.node)
                if seen is not None and seen.name and seen.level is None and transforms(tree_of(item.text)):
                    found[id] = fitted_text(f"{seen.name} = {item.text}", frozenset(), TITLE_COLUMNS)
        return found

    def is_cut(self, event: Record) -> bool:
        """Return True if a node receives a tensor downstream of a cut, whose other side the trace knows."""
        given = [self._seen.get(arg.tensor or "") for arg in event.args] if isinstance(event, NodeCreated) else []
        cuts = [seen.cut for seen in given if seen is not None and seen.cut is not None and not is_gray(seen)]
        return any([cut.node is not None for cut in cuts])

    def place(self, id: str) -> str:
        """Return the box that a tensor is in: that of what made it, or its own."""
        while id in self._seen:
            if id in self._maker:
                return self._highest(self._maker[id])
            seen = self._seen[id]
            if seen.requires_grad:
                return id
            if id in self._leaf_above:
                return self._leaf_above[id]
            if seen.below is None and id not in self.named_bases:
                return id
            id = seen.below or self.named_bases[id]
        return id

    def _highest(self, made: str) -> str:
        """Return the node, or else the operation at the highest level, that shows this operation."""
        while made in self._outputs:
            higher = next((self._above[output] for output in self._outputs[made] if output in self._above), None)
            if higher is None:
                break
            made = higher
        return made

    def places(self, events: Iterable[Record]) -> dict[str, Box | None]:
        """Return nodes and operations with a box, in order, and the region of the picture around each."""
        frame = Frame()
        found: dict[str, Box | None] = {}
        for event in events:
            event.apply(frame)
            if isinstance(event, NodeCreated):
                node = frame.nodes[event.node]
                output = node.outputs[0][0] if 0 in node.outputs else ""
                found[event.node] = self.region(frame, node, output, "recorded")
            elif isinstance(event, OperationRan) and self._highest(event.op) == event.op:
                state = frame.operations[event.op]
                found[event.op] = self.region(frame, state, event.outputs[0], "computed")
        return found

    def framed(self, id: str) -> bool:
        """Return True if a leaf is in the region of the picture with what its level recorded."""
        return id in self._seen and self._seen[id].level in self._framed

    def operation(self, frame: Frame, id: str) -> tuple[list[Box], list[Arrow]]:
        """Return an operation without a node and what it was computed from."""
        if self._highest(id) != id:
            return [], []
        state = frame.operations[id]
        made = state.made
        region = self.region(frame, state, made.outputs[0], "computed")
        boxes = [region] if region else []
        ways = self.ways(frame, Key("operation", id))
        boxes += [box for way in ways for box in self.input(frame, way.source)]
        details = [Detail(code.name.capitalize(), "code", code.text) for code in made.code]
        if made.source is not None:
            line = f"{made.source.file}, line {made.source.line}: {made.source.text}"
            details.append(Detail("Created at", "text", line))
        title = self.titles.get(id, made.name)
        lines: list[str] = []
        for output in made.outputs:
            tensor = frame.tensors[output]
            lines += self._say(lines_of, tensor.value, made.name if title != made.name else tensor.name or "")
            details.append(self._say(value_detail, "Output", tensor.name or made.name, tensor.value))
        details += self.level_details(frame, made.outputs[0])
        details.append(Detail("Graph", "text", "It has no node: its level doesn't record a graph."))
        kind = "function" if made.custom else "plain"
        box = Box(id, kind, title, tuple(lines), region=region.id if region else None, details=tuple(details))
        box.unsaid = left_out(*[frame.tensors[output].value for output in made.outputs])
        return [*boxes, box], ways

    def ways(self, frame: Frame, key: Key) -> list[Arrow]:
        """Return the arrows to an operation without a node, or to a tangent."""
        id = key.id
        if key.kind == "operation":
            if self._highest(id) != id:
                return []
            args = enumerate(frame.operations[id].made.args)
            return [Arrow(f"{id}.{nr}", self.place(arg.tensor), id) for nr, arg in args if arg.tensor is not None]
        tangent, pushed = frame.tangents[id]
        own = self.place(id)
        if tangent.node is not None:
            return [Arrow(f"{id}.beside", own, tangent.node, "beside")]
        box = tangent_box(id)
        ways = [Arrow(f"{id}.beside", own, box, "beside")]
        for index, operand in enumerate(pushed.operands if pushed else ()):
            node = frame.tangents[operand.tensor][0].node
            ways.append(Arrow(f"{box}.{index}", node or tangent_box(operand.tensor), box, "tangent"))
        return ways + self.handed.beside(id, own)

    def input(self, frame: Frame, id: str) -> list[Box]:
        """Return the box of a place that nothing else draws: an input of a transform, or a constant."""
        if (handed := self.handed.tangent(self._say, frame, id)) is not None:
            return [handed]
        if id not in frame.tensors or frame.tensors[id].role is not None:
            return []
        tensor = frame.tensors[id]
        lines = tuple(self._say(lines_of, tensor.value))
        details = (self._say(value_detail, "Value", tensor.name or "", tensor.value), *self.level_details(frame, id))
        kind = "constant" if tensor.level is None else "input"
        name = frame.variable(id) or frame.viewed(id) or kind
        brief = (self._say(aside_of, tensor.value),)
        return [Box(id, kind, name, lines, details=details, unsaid=left_out(tensor.value), brief=brief)]

    def tangent(self, frame: Frame, id: str) -> tuple[list[Box], list[Arrow]]:
        """Return the tangents of one operation's results, next to the box of its values, and what they come from."""
        tangent, pushed = frame.tangents[id]
        own = self.place(id)
        arrows = self.ways(frame, Key("tangent", id))
        if tangent.node is not None:
            return [], arrows
        what = frame.variable(id) or (pushed.name if pushed else "input")
        if id in self._maker and (item := self._written.get(self._maker[id])) is not None and not item.variable:
            what = fitted_text(item.text, item.inner, TITLE_COLUMNS - len("tangent of "))
        details = [Detail(code.name.capitalize(), "code", code.text) for code in pushed.code] if pushed else []
        details.append(self._say(value_detail, "Tangent", f"of {what}", tangent.value))
        details += self.level_details(frame, id, tangent=True)
        formula = [code.text for code in pushed.code if code.name == "tangent"] if pushed else []
        norm = norm_of(tangent.value.norm)
        text = self._say(brief_of, tangent.value, BOX_COLUMNS - len(norm) - 2)
        text = f"{text}  {norm}" if tangent.value.shape else text
        lines = (*formula, *behind_head(head_of(tangent.value), text))
        region = self._region_of(frame, own)
        box = Box(tangent_box(id), "tangent", f"tangent of {what}", lines, region=region, details=tuple(details))
        box.unsaid = left_out(tangent.value)
        boxes = [*self.input(frame, own), box, *[each for way in arrows for each in self.input(frame, way.target)]]
        for operand in pushed.operands if pushed else ():
            if frame.tangents[operand.tensor][1] is None:  # it was given
                more = self.tangent(frame, operand.tensor)
                boxes, arrows = [*more[0], *boxes], [*more[1], *arrows]
        return boxes, arrows

    def _region_of(self, frame: Frame, place: str) -> str | None:
        if place in frame.nodes:
            region = self.region(frame, frame.nodes[place], frame.nodes[place].outputs[0][0], "")
        elif place in frame.operations:
            region = self.region(frame, frame.operations[place], frame.operations[place].made.outputs[0], "")
        else:
            return None
        return region.id if region else None

    def region(self, frame: Frame, state: NodeState | OperationState, output: str, verb: str) -> Box | None:
        """Return the region of the picture that holds a node or operation, if it has its own heading."""
        level = self._seen[output].level if output in self._seen else None
        pushing = getattr(state.made, "pushing", None)
        if pushing is not None:
            of = "dual tensors" if pushing == "dual" else frame.levels[pushing].title
            about = "These nodes compute tangents. A backward pass can differentiate them."
            return Box(f"r.{pushing}", "region", f"tangents of {of}", details=(Detail("What it is", "text", about),))
        if state.during is None:
            return self.level_region(frame, output) if isinstance(state, NodeState) else None
        task, order = state.during
        word = _ORDERS.get(order, f"{order}th")
        ran = frame.tasks[task]
        ran = "backward" if ran is None else f"the backward of level {frame.levels[ran].number}"
        where = f"at level {frame.levels[level].number} " if self._framed and level is not None else ""
        title = f"{word} order: {verb} {where}while {ran} ran"
        about = "These operations compute a derivative. A backward pass through them differentiates once more."
        return Box(f"r.{task}.{level}", "region", title, details=(Detail("What it is", "text", about),))

    def level_region(self, frame: Frame, id: str) -> Box | None:
        """Return the region with what a tensor's level recorded, if several levels did."""
        level = self._seen[id].level if id in self._seen else None
        if level not in self._framed:
            return None
        about = "Each level that differentiates records its own graph. This is the graph of this level."
        title = f"the graph of {frame.levels[level].title}"
        return Box(f"r.{level}", "region", title, details=(Detail("What it is", "text", about),))

    def shown(self, frame: Frame, key: Key) -> str:
        """Return the box of an operation without a node, or of a tensor's tangent."""
        if key.kind == "operation":
            return self._highest(key.id)
        return frame.tangents[key.id][0].node or tangent_box(key.id)

    def levels(self, frame: Frame) -> list[Box]:
        """Return the strip of labels: the levels in force, and earlier ones, dashed."""
        boxes = []
        for depth, id in enumerate(frame.strip):
            level = frame.levels[id]
            over = id not in frame.stack
            title = f"{'› ' if depth else ''}{level.title}{', ended' if over else ''}"
            about = {
                "grad": "It records the operations of its function and runs a backward pass through them.",
                "jvp": "It pushes tangents forward along with the values.",
                "vmap": f"It runs each operation once for all {level.size} samples.",
            }.get(level.transform, "")
            details = (Detail("What it does", "text", about),)
            boxes.append(Box(f"level{depth + 1}", "level", title, state="over" if over else "idle", details=details))
        return boxes

    def level_details(self, frame: Frame, id: str, tangent: bool = False) -> list[Detail]:
        """Return which level a tensor belongs to, and how many samples it has."""
        seen = self._seen.get(id)
        if seen is None or seen.level is None:
            return []
        text = f"{frame.levels[seen.level].title}; its tangent is one level below." if tangent else ""
        details = [Detail("Level", "text", text or frame.levels[seen.level].title)]
        if seen.value.batch:
            details.append(Detail("Batch", "text", f"{seen.value.kind}; one operation computes them all."))
        return details
