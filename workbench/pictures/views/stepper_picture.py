"""A stepper as a picture: the graph of its backward pass, what waits where, and where it is.

A step that a stepper took, in the records of a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...autograd.node import AccumulateGrad, Node
from ...autograd.scopes import scope_of
from ...events import tag
from ..scene.displays import display_of, displays
from ..scene.labels import arrow_fields, box_fields, native
from ..scene.layout import Layout, LayoutUnavailable
from ..scene.metric import TEXT_COLUMNS, clean, columns
from ..scene.model import Arrow, Box, Density, Detail, Scene, StoryStep
from ..scene.picture import img
from ..scene.storyboard import Storyboard
from ..stepper.stepper import Stepper
from ..stepper.steps import Step, Waiting, counted, operation_of, other_branch, ran_of, recorded
from ..trace.backward_records import (
    BackwardFinished,
    BackwardStarted,
    Failed,
    GradAccumulated,
    GradCaptured,
    NodeFinished,
    NodeStarted,
)
from ..trace.forward_records import NodeCreated
from ..trace.frame import Frame, Key
from ..trace.memory_records import SavedFreed
from ..trace.schema import Record
from ..trace.values import LIMIT, Value, format_value, series
from .folded_graph import DrawCache, FoldedGraph
from .graph import Graph
from .grouped_graph import planned
from .player_steps import THROUGH, has_room
from .value_display import BOX_COLUMNS, brief_of, label_of

_SAVED = "Rerun the cell to step."  # below the picture where no kernel has the stepper
_USUAL = -0.1235  # as long as most gradients are
_PRODUCT = "-25.2 × -4.0 = 100.8"  # a number on its way
_RULE = "grad × result, summed to one number"  # below an array, in words
_Marks = dict[str, dict[int, tuple[str, str]]]  # by place and output: in words, and as a line of a box
Changes = dict[str, dict[str, dict[str, Any]]]  # "boxes" and "arrows": by id the fields as shown that are new


class _Edited(Graph):
    """The graph, in which places say how the reader changed the gradient that waits there."""

    def __init__(self, events: Collection[Record]) -> None:
        super().__init__(events)
        self.changed: _Marks = {}  # by place and output

    def _node(self, frame: Frame, id: str) -> list[Box]:
        return self._marked(super()._node(frame, id))

    def _tensor(self, frame: Frame, id: str) -> list[Box]:
        return self._marked(super()._tensor(frame, id))

    def _marked(self, drawn: list[Box]) -> list[Box]:
        box = drawn[-1]
        for nr, (told, line) in self.changed.get(box.id, {}).items():
            box.lines = (*box.lines, line)
            box.details += (Detail("Changed", "text", f"The gradient for output {nr} {told}."),)
        return drawn


class Stage:
    """The picture of one stepper, which it follows; it must not keep the stepper alive."""

    def __init__(self, s: Stepper) -> None:
        self._events = list(s._graph.records())
        graph = s._graph
        known = [(graph.id_of(_serial(node)), node) for node in s._task._waiting]
        self.nodes = {id: node for id, node in known if id is not None}
        self.ids = {node: id for id, node in self.nodes.items()}
        self._view = _Edited(self._events)
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
        # Told of all that changes, whoever made it follow; where the graph is another, of the whole picture.
        self.audience: list[Callable[[Changes], None]] = []
        self._board: Storyboard | None = None  # as soon as all is placed
        self._redraw(self._frame.touched)
        self._room = [self._usual()]  # texts that there is room for; where more is needed, everything is placed again
        self._board = self._placed()
        self.follow(s)

    def board(self) -> Storyboard:
        """Return the current state, as a still picture whose boxes keep their places."""
        scene = Scene(self.title, dict(self.scene.boxes), dict(self.scene.arrows))
        board = Storyboard(scene, opened=self._widest.opened)
        board.take_layout_of(self._widest)
        return board

    @property
    def _widest(self) -> Storyboard:
        """Return the picture with room for all that has been shown."""
        assert self._board is not None
        return self._board

    @property
    def layout(self) -> Layout:
        """Return all places."""
        return self._widest.layout

    def _placed(self) -> Storyboard:
        """Return everything in its place, with as many groups open as there is room for at first."""
        board = Storyboard(self.scene, self._room)
        if self._plan is None:
            return board
        return self._plan.fitting(board.with_open(self._plan.opened))

    def _usual(self) -> StoryStep:
        """Return gradients of a usual length everywhere, for which room is kept."""
        tensors = self._frame.tensors
        shapes = {(state.node or id, state.output_nr): state.value.shape for id, state in tensors.items()}
        boxes, arrows = {}, {}
        for id, box in self.scene.boxes.items():
            tensor = tensors.get(id.partition("@")[0])  # a leaf may be drawn in several groups
            if box.kind == "leaf" and tensor is not None and tensor.grad is None:
                grad = f"grad {brief_of(_gradient(tensor.value.shape), BOX_COLUMNS - 5)}"
                boxes[id] = {"lines": (*box.lines, grad)}
                boxes[id] |= {"brief": (f"{box.brief[0]}, {grad}", *box.brief[1:])} if box.brief else {}
            elif box.kind == "group" and not any(line.startswith("gradient ") for line in box.lines):
                boxes[id] = {"lines": (*box.lines, THROUGH)}
            elif box.kind == "saved":
                boxes[id] = {"state": "freed"}
        largest = max(shapes.values(), default=())  # () in a program of numbers
        for id, edge in self._frame.edges.items():
            if id in self.scene.arrows and not self.scene.arrows[id].label:
                shape = shapes.get((edge.source, edge.output_nr), largest)  # unknown if no tensor is left
                label = label_of(_gradient(shape))
                arrows[id] = {
                    "label": f"{label}\n{_RULE}" if largest else _PRODUCT,
                    "short": (label if largest else _PRODUCT, None),
                }
        return StoryStep("", boxes=boxes, arrows=arrows)

    def follow(self, s: Stepper) -> None:
        """Bring the picture up to where the stepper is, and tell what changed by that."""
        steps, before = s.steps, self._taken
        self._frame.touched = {}
        made = [record for step in steps for record in step.made]
        grown = [id(record) for record in made] != [id(record) for record in self._made]
        if grown:
            self._made = made
            self._view = _Edited([*self._events, *made])
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
        changes, places = self._redraw({**self._frame.touched, **self._mark(s)}), self._widest
        if grown:
            self._room = [self._usual()]
            self._board = self._placed()
        elif not has_room(self.scene, self._widest, changes["boxes"], changes["arrows"]):
            boxes, arrows = ([getattr(self.scene, part)[id] for id in changes[part]] for part in ("boxes", "arrows"))
            lines = {box.id: {"lines": box.lines, "brief": box.brief, "state": box.state} for box in boxes}
            labels = {each.id: {"label": each.label, "brief": each.brief, "short": each.short} for each in arrows}
            self._room.append(StoryStep("", boxes=lines, arrows=labels))
            board = Storyboard(self.scene, self._room, opened=self._widest.opened)
            self._board = board.with_density(self._widest.density)
        if places is not self._widest:
            changes = story_of(self.board())
        for each in self.audience:
            each(changes)

    def called(self, node: Node) -> str:
        """Return the title of a node's box, or a leaf's name."""
        return self._frame.called(self.ids[node])

    def _begin(self) -> None:
        self._frame, self._cut = self._begun(self._view)
        self._changed: dict[Any, tuple[Any, Any]] = {}

    def _begun(self, view: _Edited) -> tuple[Frame, FoldedGraph | None]:
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
            view = _Edited([*self._events, *self._made])
            frame, cut = self._begun(view)
            for step in other.steps:
                for record in records_of(s, step, frame, self._start.task, self.ids[step.node]):
                    record.apply(frame)
            if all(step.error is None for step in other.steps) and len(other.steps) == len(s._to_run()):
                BackwardFinished(self._start.task).apply(frame)
            edits = {place: (step.replaced[place], new) for step in other.steps for place, new in step.edits.items()}
            view.changed = self._marks(edits)
            boxes, arrows = (cut or view).draw(frame, list(frame.touched))
            scene = Scene(self.title, {box.id: box for box in boxes}, {arrow.id: arrow for arrow in arrows})
            gone = {"state": "future"}  # what only joins the graph on this branch
            drawn, density = self._widest.drawn_scene, self._widest.density
            told = {
                "boxes": {id: _fields(scene.boxes[id], density) if id in scene.boxes else gone for id in drawn.boxes},
                "arrows": {
                    id: arrow_fields(scene.arrows[id], scene, density) if id in scene.arrows else gone
                    for id in drawn.arrows
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
                joined.append(self._frame.describe(record.node))
            elif clause := record.sentence(self._frame):
                clauses.append(clause)
        return clauses + ([f"its operations join the graph as {series(joined)}"] if joined else [])

    def _mark(self, s: Stepper) -> dict[Key, None]:
        """Note which gradients the reader changed; return the places of which that is news."""
        before, now = self._view.changed, self._marks({**self._changed, **s._edits})
        self._view.changed = now
        return {self._frame.key(id): None for id in {**before, **now} if before.get(id) != now.get(id)}

    def _marks(self, edits: Mapping[Any, tuple[Any, Any]]) -> _Marks:
        """Return what each edit changed."""
        changed: _Marks = {}
        for (node, nr), (old, new) in edits.items():
            told = f"changed to {_short(new)}, was {_short(old)}"
            line = told if columns(told) <= TEXT_COLUMNS else f"changed to {_short(new, TEXT_COLUMNS - 11)}"
            changed.setdefault(self.ids[node], {})[nr] = told, line
        return changed

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
            waits = f": {self._frame.describe(self.ids[s.current])} has not run yet" if s.current is not None else ""
            begins = "Back to where" if branch is s.branch else f"This is {s.branch.name} now, where"
            self.sentence = f"{begins} {len(ran_of(s))} of {len(s._to_run())} nodes have run{waits}."
        elif new := [place for place, value in self._edits.items() if edits.get(place) is not value]:
            node, nr = new[-1]
            place, grad = self._frame.describe(self.ids[node]), _short(self._edits[node, nr])
            self.sentence = f"The gradient waiting at {place} is now {grad}."
        if branch is not s.branch and (count or before == s.steps):
            self.sentence += f" This is {s.branch.name} now."
        if s.reason is not None and count:
            self.sentence += f" Stopped: {s.reason}."

    def _redraw(self, keys: Iterable[Key]) -> Changes:
        if self._cut is not None:
            self._cut.forget()
        boxes, arrows = (self._cut or self._view).draw(self._frame, list(keys))
        scene = self.scene
        density: Density = "full" if self._board is None else self._widest.density
        found = {
            "boxes": _renewed(scene.boxes, boxes, lambda box: _fields(box, density)),
            "arrows": _renewed(scene.arrows, arrows, lambda arrow: arrow_fields(arrow, scene, density)),
        }
        if self._board is None:
            return found
        drawn = self._widest.drawn_scene
        there = {"boxes": drawn.boxes, "arrows": drawn.arrows}
        return {part: {id: new for id, new in found[part].items() if id in there[part]} for part in found}


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
    if view_of is None:
        return {"text/plain": text, "text/html": still}
    return view_of(stage, stepper).faces(text, f"{still}<p>{_SAVED}</p>")


displays[Stepper] = shown


def story_of(board: Storyboard) -> dict[str, Any]:
    """Return a still picture as the player gets it, each box with its own details: boxes come and change one by one."""
    story = board.to_dict(small=False)  # a picture that is followed is drawn in one form
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


def _fields(box: Box, density: Density) -> dict[str, Any]:
    return box_fields(box, density) | {"details": _details(box)}


def _serial(node: Node) -> int:
    return tag(node.variable) if type(node) is AccumulateGrad else tag(node)


def _gradient(shape: tuple[int, ...]) -> Value:
    """Return a gradient of this shape, as long as most are."""
    size = int(np.prod(shape))
    return Value.of(np.full(shape if size <= LIMIT else LIMIT + 1, _USUAL))


def waiting_line(waiting: Waiting) -> str:
    """Return what waits at a place, in words."""
    if waiting.grad is None:
        return "no gradient"
    if waiting.missing:
        return f"has {_short(waiting.grad, TEXT_COLUMNS)} so far, {waiting.missing} to come"
    return f"waits: {_short(waiting.grad, TEXT_COLUMNS)}"


def _short(gradient: Any, room: int | None = None) -> str:
    """Return a gradient in words; with `room`, only as many of its values as fit into the columns."""
    value = gradient if isinstance(gradient, Value) else recorded(gradient)
    told = format_value(value)
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
