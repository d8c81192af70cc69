"""A stepper as a picture: the graph of its backward pass, what waits where, and where it is.

A step that a stepper took, in the records of a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..autograd.node import AccumulateGrad, Node
from ..autograd.scopes import scope_of
from ..events import tag
from ..scene.displays import display_of, displays
from ..scene.labels import (
    BEHIND_COLUMNS,
    LABEL_COLUMNS,
    TEXT_COLUMNS,
    arrow_fields,
    box_fields,
    clean,
    columns,
    cut,
    native,
)
from ..scene.layout import Layout, LayoutUnavailable
from ..scene.model import Arrow, Box, Detail, Scene, StoryStep
from ..scene.picture import img
from ..scene.storyboard import Storyboard
from ..stepper.stepper import Stepper
from ..stepper.steps import Step, Waiting, counted, differing, numbers_of, operation_of, other_branch, ran_of, recorded
from ..trace.frame import Frame, Key
from ..trace.records import (
    BackwardFinished,
    BackwardStarted,
    Failed,
    GradAccumulated,
    GradCaptured,
    NodeCreated,
    NodeFinished,
    NodeStarted,
    SavedFreed,
    TensorsFound,
)
from ..trace.schema import Record
from ..trace.values import LIMIT, Value, said, series
from .folded_graph import DrawCache, FoldedGraph
from .graph import Graph
from .grouped_graph import planned
from .value_display import line_of

_WIDE = -1.235e-05  # no number is longer with 4 significant digits, but for those with an exponent of three
_FEW = 12  # boxes of a graph whose groups are all open at first
_ROOM = 30  # columns that what waits at a place takes, as a rule
_LEAST = len("got 0.0")
_THROUGH = f"gradient in {_WIDE}, out {_WIDE}"  # a group tells
_MANY = 6  # values of an array that is wider than any box, whatever they are

_Marks = dict[str, dict[int, str]]  # by place and output
Changes = dict[str, dict[str, dict[str, Any]]]  # "boxes" and "arrows": by id the fields as shown that are new


class _Waits(Graph):
    """The graph, each of the backward's own places with the gradient that waits there."""

    label = staticmethod(line_of)  # every place has room for the longest of them

    def __init__(self, events: Collection[Record], places: Collection[str]) -> None:
        super().__init__(events)
        self._places = places
        found = [event for event in events if isinstance(event, NodeCreated | TensorsFound)]
        values = [seen.value for event in found for seen in event.tensors]
        values += [
            kept.value for event in found if isinstance(event, NodeCreated) for kept in event.saved if kept.value
        ]
        self.is_of_numbers = not any(value.shape for value in values)  # no box needs much room
        self.lines: dict[str, str] = {}  # by place
        self.changed: _Marks = {}  # by place and output, what the reader made of a gradient
        self.beside: dict[str, str] = {}  # by place, what another branch has there

    def _node(self, frame: Frame, id: str) -> list[Box]:
        return self._with_line(frame, super()._node(frame, id))

    def _tensor(self, frame: Frame, id: str) -> list[Box]:
        drawn = super()._tensor(frame, id)
        return self._with_line(frame, drawn) if frame.tensors[id].role == "leaf" else drawn

    def _with_line(self, frame: Frame, drawn: list[Box]) -> list[Box]:
        box = drawn[-1]
        if box.id not in self._places:  # it was recorded while the backward ran
            return drawn
        marks = self.changed.get(box.id, {})
        box.details += tuple(Detail("Changed", "text", f"The gradient for output {nr} {marks[nr]}.") for nr in marks)
        if box.id in self.lines:
            line = self.lines[box.id]
        elif box.kind == "leaf" and frame.tensors[box.id].grad is not None:
            line = ""
            if box.id in self.beside:
                together = f"{box.lines[-1]}, {self.beside[box.id]}"
                box.lines = (*box.lines[:-1], cut(together, _ROOM))
        else:
            received = frame.place(box.id).received
            room = (TEXT_COLUMNS - 4) // max(1, len(received)) - 2
            got = [_short(each, room) if each else frame.arrived(box.id, nr, each) for nr, each in enumerate(received)]
            line = f"got {', '.join(got)}" if received else "no gradient yet"
            if box.id in self.beside:
                line = _of_both(line, self.beside[box.id])
        if line and box.id in self.program.node_names:  # a name that sentences use stays where it can
            box.lines = _with_last(box, line, TEXT_COLUMNS) if self.is_of_numbers else (*box.lines, line)
        elif line:
            box.lines = _with_last(box, line, _ROOM)
        return drawn


class Stage:
    """The picture of one stepper, which it follows; it must not keep the stepper alive."""

    def __init__(self, s: Stepper) -> None:
        self._events = list(s._graph.records())
        graph = s._graph
        known = [(graph.id_of(_serial(node)), node) for node in s._task._waiting]
        self.nodes = {id: node for id, node in known if id is not None}
        self.ids = {node: id for id, node in self.nodes.items()}
        self._view = _Waits(self._events, self.nodes)
        self._plan = planned(self._events, self._view)
        self.title = self._view.title
        self._start = next(event for event in self._events if isinstance(event, BackwardStarted))
        self._taken: list[Step] = []
        self._made: list[Record] = []  # what joined the graph in these steps
        self._finished = False
        self._branch = s.branch
        self._edits: dict[Any, Any] = {}
        self._beside: tuple[Any, dict[str, Any]] = (None, {})
        self.scene = Scene(self.title)
        self._begin()
        self.sentence = f"{self._start.sentence(self._frame)}."
        self._redraw(self._frame.touched)
        # Told of all that changes, whoever made it follow; where the graph is another, of the whole picture.
        self.audience: list[Callable[[Changes], None]] = []
        self._place()
        self.follow(s)

    def board(self) -> Storyboard:
        """Return the current state, as a still picture whose boxes keep their places."""
        scene = Scene(self.title, dict(self.scene.boxes), dict(self.scene.arrows))
        board = Storyboard(scene, opened=self._widest.opened)
        board.stand_as_in(self._widest)
        return board

    @property
    def layout(self) -> Layout:
        """Return all places."""
        return self._widest.layout

    def _place(self) -> None:
        """Give everything its place, with as many groups open as there is room for."""
        opened = None if self._plan is None else self._plan.opened
        board = Storyboard(self.scene, [longest := self._longest_texts(), self._longest_rows(longest)], opened=opened)
        # What runs is seen in a graph of a few boxes, of which a reader scrolls to the next.
        few = len(self.scene.boxes) <= _FEW
        self._widest = board if self._plan is None or few else self._plan.fitting(board)

    def follow(self, s: Stepper) -> None:
        """Bring the picture up to where the stepper is, and tell what changed by that."""
        steps, before = s.steps, self._taken
        self._frame.touched = {}
        made = [record for step in steps for record in step.made]
        grown = [id(record) for record in made] != [id(record) for record in self._made]
        if grown:
            lines, there, self._made = self._view.lines, self._view.beside, made
            self._view = _Waits([*self._events, *made], self.nodes)
            self._view.lines, self._view.beside = lines, there
            self._plan = planned([*self._events, *made], self._view)
            self.scene = Scene(self.title)
        if grown or self._finished or before != steps[: len(before)]:
            self._begin()
            kept = 0
        else:
            kept = len(before)
        clauses: list[str] = []
        for step in steps[kept:]:
            clauses = self._play(s, step)
        self._taken = steps
        self._finished = s.done
        if s.done:
            over = BackwardFinished(self._start.task)
            over.apply(self._frame)
            clauses.append("the backward pass has finished")
        self._say(s, before, clauses)
        changes = self._redraw({**self._frame.touched, **self._wait(s)})
        if grown:
            self._place()
            changes = story_of(self.board())
        for each in self.audience:
            each(changes)

    def called(self, node: Node) -> str:
        """Return the title of a node's box, or a leaf's name."""
        return self._frame.called(self.ids[node])

    def _begin(self) -> None:
        self._frame, self._cut = self._begun(self._view)
        self._changed: dict[Any, tuple[Any, Any]] = {}

    def _begun(self, view: _Waits) -> tuple[Frame, FoldedGraph | None]:
        """Return the graph before the first step, and what draws its groups."""
        frame, plan = Frame(view.program.told_as), self._plan
        for event in self._events:
            event.apply(frame)
        return frame, None if plan is None else FoldedGraph(view, DrawCache(view), plan.links, plan.told)

    def beside(self, s: Stepper) -> dict[str, Any]:
        """Return the graph on the other branch: its name, and each box and arrow as shown there, in the same places."""
        other = other_branch(s)
        if other is None:
            return {}
        known = [*other.steps, *self.scene.boxes]
        if self._beside[0] != known:
            view = _Waits([*self._events, *self._made], self.nodes)
            frame, cut = self._begun(view)
            for step in other.steps:
                for record in records_of(s, step, frame, self._start.task, self.ids[step.node]):
                    record.apply(frame)
            if all(step.error is None for step in other.steps) and len(other.steps) == len(s._to_run()):
                BackwardFinished(self._start.task).apply(frame)
            edits = {place: (step.replaced[place], new) for step in other.steps for place, new in step.edits.items()}
            view.changed, brief = self._marks(edits)
            view.lines = {each: ", ".join(marks.values()) for each, marks in brief.items()}
            boxes, arrows = (cut or view).draw(frame, list(frame.touched))
            scene = Scene(self.title, {box.id: box for box in boxes}, {arrow.id: arrow for arrow in arrows})
            gone = {"state": "future"}  # what only joins the graph on this branch
            told = {
                "boxes": {id: _fields(scene.boxes[id]) if id in scene.boxes else gone for id in self.scene.boxes},
                "arrows": {
                    id: arrow_fields(scene.arrows[id], scene) if id in scene.arrows else gone
                    for id in self.scene.arrows
                },
            }
            self._beside = known, told
        return {"name": other.name, **self._beside[1]}

    def _play(self, s: Stepper, step: Step) -> list[str]:
        """Take one step; what happened."""
        self._changed |= {place: (step.replaced[place], new) for place, new in step.edits.items()}
        clauses, joined = [], []
        for record in records_of(s, step, self._frame, self._start.task, self.ids[step.node]):
            record.apply(self._frame)
            if isinstance(record, NodeCreated):
                joined.append(record.name)
            elif clause := record.sentence(self._frame):
                clauses.append(clause)
        return clauses + ([f"its operations join the graph as {series(joined)}"] if joined else [])

    def _wait(self, s: Stepper) -> dict[Key, None]:
        """Note what waits where; return the places where something else waits than before."""
        changed, brief = self._marks({**self._changed, **s._edits})
        waits: dict[str, list[str]] = {}
        for each in s.pending:
            id = self.ids[each.node]
            mark = brief.get(id, {}).get(each.input_nr)
            line = [] if (each.node, each.input_nr) in s._edits else [_line(each)]
            waits.setdefault(id, []).append("; ".join(line + ([mark] if mark else [])))
        for id, marks in brief.items():
            waits.setdefault(id, list(marks.values()))  # it has run
        before, self._view.changed = {**self._view.beside, **self._view.lines}, changed
        self._view.lines = lines = {id: ", ".join(parts) for id, parts in waits.items()}
        self._view.beside = there = self._there(s)
        now = {**there, **lines}
        return {self._frame.key(id): None for id in {**before, **now} if before.get(id) != now.get(id)}

    def _marks(self, edits: Mapping[Any, tuple[Any, Any]]) -> tuple[_Marks, _Marks]:
        """Return what each edit changed, by place and output: in words, and short enough for a line."""
        changed: _Marks = {}
        brief: _Marks = {}
        for (node, nr), (old, new) in edits.items():
            told = f"changed to {_short(new)}, was {_short(old)}"
            changed.setdefault(self.ids[node], {})[nr] = told
            room = TEXT_COLUMNS if numbers_of(new).shape else _ROOM
            fits = len(told) <= room
            brief.setdefault(self.ids[node], {})[nr] = told if fits else f"changed to {_short(new, room - 11)}"
        return changed, brief

    def _there(self, s: Stepper) -> dict[str, str]:
        """Return where a gradient differs from the other branch, and what that one has there, in words."""
        other, found = other_branch(s), differing(s, self.called)
        told: dict[str, list[str]] = {}
        for each in found:
            told.setdefault(self.ids[each.node], []).append(_short(each.second, (TEXT_COLUMNS - 18) // 2))
        return {id: f"{', '.join(values)} on {other.name}" for id, values in told.items()} if other is not None else {}

    def _say(self, s: Stepper, before: list[Step], clauses: list[str]) -> None:
        edits, self._edits = self._edits, {place: new for place, (_, new) in s._edits.items()}
        branch, self._branch = self._branch, s.branch
        count = s.position - len(before) if before == s.steps[: len(before)] else 0
        if count:
            told = "; ".join(clauses)
            if s.error is not None and count > 1:
                told = f"{counted(count - 1, 'node')} ran; {told}"
            elif count > 1:
                told = f"{count} nodes ran; the last: {told}"
            self.sentence = told if told.endswith((".", "!", "?")) else f"{told}."
        elif before != s.steps:
            waits = f": {self._frame.told(self.ids[s.current])} has not run yet" if s.current is not None else ""
            begins = "Back to where" if branch is s.branch else f"This is {s.branch.name} now, where"
            self.sentence = f"{begins} {len(ran_of(s))} of {len(s._to_run())} nodes have run{waits}."
        elif new := [place for place, value in self._edits.items() if edits.get(place) is not value]:
            node, nr = new[-1]
            self.sentence = (
                f"The gradient waiting at {self._frame.told(self.ids[node])} is now {_short(self._edits[node, nr])}."
            )
        if branch is not s.branch and (count or before == s.steps):
            self.sentence += f" This is {s.branch.name} now."
        if s.reason is not None and count:
            self.sentence += f" Stopped: {s.reason}."

    def _redraw(self, keys: Iterable[Key]) -> Changes:
        if self._cut is not None:
            self._cut.forget()
        boxes, arrows = (self._cut or self._view).draw(self._frame, list(keys))
        scene = self.scene
        return {
            "boxes": _renewed(scene.boxes, boxes, _fields),
            "arrows": _renewed(scene.arrows, arrows, lambda arrow: arrow_fields(arrow, scene)),
        }

    def _longest_texts(self) -> StoryStep:
        """Return every box and arrow with the longest text it may get, so that nothing moves later."""
        shapes: dict[tuple[str, int], tuple[int, ...]] = {}
        for id, state in self._frame.tensors.items():
            shapes[state.node or id, state.output_nr] = state.value.shape
        widest = max([_longest(shape) for shape in shapes.values()], key=lambda value: len(line_of(value)))
        boxes, arrows = {}, {}
        for id, box in self.scene.boxes.items():
            if id in self.nodes:
                value = _longest(shapes[id, 0]) if (id, 0) in shapes else widest
                text = value.text(line=TEXT_COLUMNS - 11)
                wide = value.shape or (self._view.is_of_numbers and id in self._view.program.node_names)
                line = cut(f"changed to {text}, was {text}", TEXT_COLUMNS if wide else _ROOM)
                twice = box.kind == "leaf" and value.shape
                boxes[id] = {"lines": (*box.lines[:-1], line, *([line] if twice else []))}
            elif box.kind == "group":
                told = any(line.startswith("gradient ") for line in box.lines)
                boxes[id] = {"lines": box.lines if told else (*box.lines, _THROUGH)}
            elif box.kind == "saved":
                boxes[id] = {"state": "freed"}
        for id in self.scene.arrows:
            edge = self._frame.edges.get(id)
            known = shapes.get((edge.source, edge.output_nr)) if edge is not None else None
            label, slope = line_of(widest if known is None else _longest(known)), "×" * LABEL_COLUMNS
            if known is not None:
                label = f"{label}\n{slope}" if known else slope  # a single number is part of the slope's line
            arrows[id] = {"label": label}
        return StoryStep("", boxes=boxes, arrows=arrows)

    def _longest_rows(self, longest: StoryStep) -> StoryStep:
        """Return the boxes whose longest text is below the title, each with the longest text after it.

        That may take more width.
        """
        boxes = {}
        for id, fields in longest.boxes.items():
            room = BEHIND_COLUMNS - columns(self.scene.boxes[id].title)
            if len(lines := fields.get("lines", ())) == 1 and _LEAST <= room < columns(lines[0]):
                boxes[id] = {"lines": ("×" * room,)}
        return StoryStep("", boxes=boxes)


_stages: WeakKeyDictionary[Stepper, Stage] = WeakKeyDictionary()


def shown(stepper: Stepper) -> dict[str, Any]:
    """Return a stepper for a notebook: live with the widget packages, else an image, and always its text."""
    text = repr(stepper)
    try:
        stage = _stages.get(stepper)
        if stage is None:
            stage = _stages[stepper] = Stage(stepper)
        stage.follow(stepper)
        still = img(stage.board())
    except LayoutUnavailable as problem:
        return {"text/plain": f"{text}\n\n{problem}"}
    view_of = display_of(Stage)
    return {"text/plain": text, "text/html": still} if view_of is None else view_of(stage, stepper).faces(text, still)


displays[Stepper] = shown


def story_of(board: Storyboard) -> dict[str, Any]:
    """Return a still picture as the player gets it, each box with its own details: boxes come and change one by one."""
    story = board.to_dict()
    for each in story["boxes"]:
        each["details"] = _details(board.scene.boxes[each["id"]])
    return story


def places_of(s: Stepper) -> tuple[list[str], list[str]]:
    """Return the operations and leaves, and the scopes, at which a run can stop."""
    nodes = s._to_run()
    scopes = {scope_of(node) for node in nodes} - {None}
    names = sorted({operation_of(node) for node in nodes}) + sorted(s._leaf_names.values())
    return list(dict.fromkeys(names)), sorted(map(str, scopes))


def _details(box: Box) -> list[dict[str, Any]]:
    return [{"heading": clean(each.heading), "kind": each.kind, "body": native(each.body)} for each in box.details]


def _fields(box: Box) -> dict[str, Any]:
    return box_fields(box) | {"details": _details(box)}


def _serial(node: Node) -> int:
    return tag(node.variable) if type(node) is AccumulateGrad else tag(node)


def _longest(shape: tuple[int, ...]) -> Value:
    size = int(np.prod(shape))
    return Value.of(np.full(shape if size <= LIMIT else LIMIT + 1, _WIDE))


def _line(waiting: Waiting) -> str:
    """Return what waits at a place, as text in a box."""
    if waiting.grad is None:
        return "no gradient"
    if waiting.missing:
        return f"so far {_short(waiting.grad, TEXT_COLUMNS - 19)}, {waiting.missing} to come"
    return f"waits: {_short(waiting.grad, TEXT_COLUMNS - 7)}"


def _of_both(line: str, there: str) -> str:
    """Return what a place got, and what it got on another branch, in the room of a line."""
    told = f"{line}, {there}"
    return told if columns(told) <= _ROOM else cut(told.removeprefix("got "), TEXT_COLUMNS)


def _with_last(box: Box, line: str, room: int) -> tuple[str, ...]:
    """Return a box's lines with one more, after the number before it, or instead of the first if that is too long."""
    *before, last = box.lines or ("",)
    if not last or columns(last) > room // 2 + 1 or len(before) != (box.kind == "leaf"):
        return (*box.lines, line)
    together = f"{last} · {line}"
    return (*before, together) if columns(together) <= room else (*box.lines, line)[1:]


def _short(gradient: Any, room: int | None = None) -> str:
    """Return a gradient in words; with `room`, only as many of its values as fit into the columns."""
    value = gradient if isinstance(gradient, Value) else recorded(gradient)
    told = said(value)
    return told if value is None or room is None or len(told) <= room else value.text(line=room)


def _renewed(there: dict[str, Any], drawn: Iterable[Box | Arrow], fields: Callable[[Any], dict[str, Any]]) -> Any:
    """Put what was drawn in the place of what was there; by id the fields, as shown, that this changed."""
    changes = {}
    for thing in drawn:
        old = there.get(thing.id)
        if old == thing:
            continue
        there[thing.id] = thing
        now = fields(thing)
        was = fields(old) if old is not None else {}
        if different := {name: value for name, value in now.items() if was.get(name) != value}:
            changes[thing.id] = different
    return changes


def records_of(s: Stepper, step: Step, frame: Frame, task: str, id: str) -> Iterator[Record]:
    """Return the engine's events during the step, with the frame's ids for the task and the node's place."""
    node = step.node
    given = tuple(map(recorded, step.incoming))
    yield from [each for each in step.hooked if not each.late]
    for nr, _ in s._task._captures.get(node, ()) if step.captured else ():
        yield GradCaptured(task, id, nr, given[nr] if nr < len(given) else None)
    if step.captured and not step.outgoing and step.error is None:
        return
    yield NodeStarted(task, id, given)
    yield from step.made
    after = [each for each in step.hooked if each.late]
    if step.error is not None:
        yield Failed(task, id, type(step.error).__name__, str(step.error))
    elif step.leaf is not None:
        now = [each.before[0] for each in after if each.hook.kind == "accumulated"]
        yield GradAccumulated(task, id, now[0] if now else step.left)
        yield from after
    else:
        yield from after
        yield NodeFinished(task, id, tuple(map(recorded, step.outgoing)))
        if frame.nodes[id].made.saved and not s._task.keep_graph:
            yield SavedFreed(id)
