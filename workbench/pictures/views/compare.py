"""The final graphs of two traces, side by side, with one step per difference: values, structure, saved, order.

Both graphs are visible: all of their nodes if these fit side by side into a window, else as many levels of groups as
fit. For training runs, the step where the two diverge is drawn. Saved tensors are compared in words.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..scene.layout import LayoutUnavailable
from ..scene.metric import TEXT_COLUMNS, cut
from ..scene.model import Arrow, Box, Scene, StoryStep, paths
from ..scene.picture import Picture
from ..scene.storyboard import Storyboard
from ..trace.differences import Differences, TraceDifference
from ..trace.forward_records import NodeCreated, OperationRan
from ..trace.frame import Frame
from ..trace.rounds import rounds_of
from ..trace.timeline import Timeline
from .graph import Graph
from .grouped_graph import planned
from .node_status import GONE
from .player_steps import starts_of

LEGEND = "Two recordings in their final state, side by side; boxes marked ≠ differ, and their text says how."
_ROOM = 1500, 930  # px that a notebook's window has at the smallest scale at which a picture can be read
_UNMARKED = 0.85  # of its height, for boxes that get a line more where they differ
_SMALL = 40  # boxes of a graph that may fit into half of the room
_LONG = 100  # boxes of a training step that is still drawn completely
_DEEPEST = 4  # levels of groups that are tried
_SHORT = 18  # columns of a box's lines where all nodes are drawn and have no room otherwise
_CLASS = re.compile(r"\w+Backward\d*|CopySlices")
_MOST = 200  # differences shown
_LARGEST = 3_000  # boxes and arrows that are drawn of a trace
_READ = 10_000  # nodes, arrows and saved tensors of a trace, most of them in closed groups


def compare(first: Timeline, second: Timeline) -> Picture:
    """Return a picture of two traces side by side, with one step per difference.

    The picture shows both graphs at the end of their recordings. Boxes that differ are marked, and labeled with what
    differs: values, gradients, inputs, saved tensors or order.

    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> with workbench.record() as first:
        ...     y = (x * x).sum()
        >>> with workbench.record() as second:
        ...     y = (x * 3.0).sum()
        >>> picture = workbench.compare(first, second)
        >>> print(str(picture).splitlines()[0])
        Two traces: 4 differences

    Args:
        first: A trace, from `record()` or `load()`; it is drawn on the left.
        second: The trace to compare with, drawn on the right. Either trace may come from PyTorch.

    Raises:
        TypeError: if an argument isn't a trace.
        ValueError: if the graphs are too large to draw.
    """
    for trace in (first, second):
        if not isinstance(trace, Timeline):
            raise TypeError(f"compare() expected two traces from record() or load(), but got {type(trace).__name__}.")
    return Picture(compared(first.snapshot(), second.snapshot()))


@dataclass(frozen=True, slots=True)
class _Side:
    """One trace's graph as it ended, and the box of each of its nodes and tensors."""

    scene: Scene
    stands: Callable[[str], str]

    def alone(self, nodes: Collection[str]) -> _Side:
        """Return the side with only the boxes of these nodes, and what arrows join to them."""
        return replace(self, scene=_with_alone(self.scene, {self.stands(node) for node in nodes}))

    def cut(self) -> _Side:
        """Return the side with short lines."""
        return replace(self, scene=_cut(self.scene))


def compared(
    first: Timeline, against: Timeline, told: Iterable[TraceDifference] | None = None, head: str = ""
) -> Storyboard:
    """Return a comparison's storyboard, which opens with all differences marked; ValueError if a graph is too large.

    The differences are those `told` below a `head`; by default all that there are.
    """
    for trace in (first, against):
        parts = _parts_of(trace)
        if parts > _READ or (parts > _LARGEST and not Graph(trace.events).program.groups()):
            raise _too_large(trace, _READ if parts > _READ else _LARGEST)
    found = list(Differences(first, against) if told is None else told)
    name, alone = _first_step(first, against, [(each.first, each.second) for each in found])
    sides = {side: _whole(trace) for side, trace in (("a", first), ("b", against))}
    if name:
        sides = {side: each.alone(alone[side]) for side, each in sides.items()}
    if not _fit(sides):
        is_long = not name or any(len(each.scene.boxes) > _LONG for each in sides.values())
        short = {side: each.cut() for side, each in sides.items()}
        sides = _in_groups({"a": first, "b": against}, alone if name else None) if is_long else short
    for each, trace in zip(sides.values(), (first, against), strict=True):
        if len(each.scene.boxes) + len(each.scene.arrows) > _LARGEST:
            raise _too_large(trace, _LARGEST)
    boxes: dict[str, Box] = {}
    arrows: dict[str, Arrow] = {}
    for (side, each), word in zip(sides.items(), ("First", "Second"), strict=True):
        _place(side, word, each.scene, boxes, arrows)
    empty = [word for side, word in (("a", "first"), ("b", "second")) if side not in boxes]
    count = "no difference" if not found else "1 difference" if len(found) == 1 else f"{len(found)} differences"
    have = "have" if len(empty) > 1 else "has"
    nothing = f" The {' and the '.join(empty)} {have} nothing in it." if empty else ""
    more = f" The first {_MOST} are shown." if len(found) > _MOST else ""
    only = f" The picture shows {name}, the first step in which a box differs." if name else ""
    said = f"Two traces side by side, in their final state: {count}.{nothing}{only}{more}"
    steps = _steps(head or said, found[:_MOST], sides, boxes)
    board = Storyboard(Scene(f"Two traces: {count}", boxes, arrows), steps, start=0, legend=LEGEND)
    return board.with_density("columns")  # two are side by side


def _parts_of(trace: Timeline) -> int:
    """Return the number of a trace's nodes, arrows, saved tensors and roots of its backward passes."""
    made = _made_in(trace)
    edges = sum(len(event.edges) + len(event.saved) for event in made if isinstance(event, NodeCreated))
    return len(made) + edges + len(starts_of(trace.events))


def _made_in(trace: Timeline) -> list[NodeCreated | OperationRan]:
    return [event for event in trace.events if isinstance(event, NodeCreated | OperationRan)]


def _too_large(trace: Timeline, most: int) -> ValueError:
    return ValueError(
        f"This trace is too large to draw next to another: its {len(_made_in(trace)):,} operations have "
        f"{_parts_of(trace):,} arrows, saved tensors and boxes, but at most {most:,} can be drawn."
    )


def _in_groups(traces: Mapping[str, Timeline], alone: Mapping[str, set[str]] | None) -> dict[str, _Side]:
    """Return both sides with as many levels of groups open as fit; in a training run, those of the nodes `alone`."""
    sides: dict[str, _Side] = {}
    for depth in range(_DEEPEST + 1):
        deeper = {side: _down_to(depth, trace) for side, trace in traces.items()}
        if alone is not None:
            deeper = {side: each.alone(alone[side]) for side, each in deeper.items()}
        fitted = _fitted(deeper, tall=depth == 1)
        if depth and fitted is None:
            break
        sides = fitted or deeper
    return sides


def _fitted(sides: dict[str, _Side], tall: bool = False) -> dict[str, _Side] | None:
    """Return both as they are or with short lines, if they fit like that."""
    if _fit(sides, tall):
        return sides
    short = {side: each.cut() for side, each in sides.items()}
    return short if _fit(short, tall) else None


def _steps(
    said: str, found: Iterable[TraceDifference], sides: dict[str, _Side], boxes: dict[str, Box]
) -> list[StoryStep]:
    """Yield the step that gives the number of differences, with all marked, then one step for each."""
    whole = StoryStep(said, "comparing")
    steps = [whole]
    kinds: dict[str, dict[str, None]] = {}
    for each in found:
        step = StoryStep(f"{each.sentence}.", "comparing")
        for side, place in (("a", each.first), ("b", each.second)):
            if place is not None and (id := f"{side}.{sides[side].stands(place)}") in boxes:
                kinds.setdefault(id, {})[each.kind] = None
                whole.boxes[id] = step.boxes[id] = _marked(boxes[id], kinds[id])
                step.focus = step.focus or id
        steps.append(step)
    for id in kinds:
        own = boxes[id]
        steps[1].boxes.setdefault(id, {"state": own.state, "lines": own.lines, "brief": own.brief})
    return steps


def _marked(box: Box, kinds: Collection[str]) -> dict[str, Any]:
    """Return how a box is drawn in which these things differ."""
    unlike = ", ".join(kind for kind in kinds if kind != "only here")
    marks = textwrap.wrap(f"≠ {unlike}", TEXT_COLUMNS) if unlike else []
    marks = ["only here"] * ("only here" in kinds) + marks
    brief = None if box.brief is None else (*(box.brief or ("",)), *marks)
    return {"state": "differs", "lines": (*box.lines, *marks), "brief": brief}


def _fit(sides: dict[str, _Side], tall: bool = False) -> bool:
    """Return True if both fit side by side; what is `tall` may continue below the window."""
    scenes = [each.scene for each in sides.values() if each.scene.boxes]
    if any(len(scene.boxes) > _SMALL for scene in scenes):
        return False
    try:
        layouts = [Storyboard(scene).with_density("columns").layout for scene in scenes]
    except LayoutUnavailable:  # it can still be told in words
        return True
    wide, high = sum(layout.width for layout in layouts), max([layout.height for layout in layouts], default=0)
    return wide <= _ROOM[0] and (tall or high <= _UNMARKED * _ROOM[1])


def _place(side: str, word: str, scene: Scene, boxes: dict[str, Box], arrows: dict[str, Arrow]) -> None:
    """Put a scene into a region of its own."""
    if scene.boxes:
        boxes[side] = Box(side, "region", f"{word}: {scene.title}")
    for id, box in scene.boxes.items():
        inside = side if box.region is None else f"{side}.{box.region}"
        inside = None if box.kind == "tangent" else inside
        boxes[f"{side}.{id}"] = replace(box, id=f"{side}.{id}", region=inside)
    for id, arrow in scene.arrows.items():
        ends = {"source": f"{side}.{arrow.source}", "target": f"{side}.{arrow.target}"}
        arrows[f"{side}.{id}"] = replace(arrow, id=f"{side}.{id}", **ends)


def _bare(scene: Scene) -> Scene:
    """Return a scene without saved tensors and without gradients on arrows, which would hide what differs.

    A box says once what its operation is: in its title.
    """
    boxes = {id: box for id, box in scene.boxes.items() if box.kind not in ("level", "saved")}
    boxes = {id: box if box.region in boxes else replace(box, region=None) for id, box in boxes.items()}
    for id, box in boxes.items():
        first, _, rest = box.lines[0].partition(" ") if box.lines else ("", "", "")
        named = _CLASS.fullmatch(first) or box.title.lower().startswith(first.replace("_", ""))
        if box.kind in ("op", "function") and first and named:
            boxes[id] = replace(box, lines=(*[rest.strip()] * bool(rest), *box.lines[1:]))
    arrows = {id: replace(arrow, label="") for id, arrow in scene.arrows.items()}
    ends = {id: {arrow.source, arrow.target} for id, arrow in arrows.items()}
    return Scene(scene.title, boxes, {id: arrow for id, arrow in arrows.items() if ends[id] <= boxes.keys()})


def _cut(scene: Scene) -> Scene:
    """Return a scene with short lines: a shape without its value, and nothing that is freed; details have the rest."""
    boxes: dict[str, Box] = {}
    for id, box in scene.boxes.items():
        lines = [line.partition("  ")[0] if line.startswith("(") else line for line in box.lines if line != GONE]
        boxes[id] = replace(box, lines=tuple(cut(line, _SHORT) for line in lines))
    return Scene(scene.title, boxes, scene.arrows)


def _whole(trace: Timeline) -> _Side:
    """Return all nodes of a trace's graph after its last event."""
    view = Graph(trace.events)
    frame = Frame(view.program.told_as)
    for event in trace.events:
        event.apply(frame)
    boxes, arrows = view.draw(frame, frame.touched)
    scene = Scene(view.title, {box.id: box for box in boxes}, {arrow.id: arrow for arrow in arrows})
    return _Side(_bare(scene), lambda id: id)


def _down_to(depth: int, trace: Timeline) -> _Side:
    """Return a trace's graph after its last event, with this many levels of groups open."""
    view = Graph(trace.events)
    plan = planned(trace.events, view, depth=depth)
    if plan is None:
        return _whole(trace)
    scene = _bare(plan.ended(trace, view))

    def stands(id: str) -> str:
        around = plan.links.place(id)
        while id not in scene.boxes and around is not None:
            id, around = around.id, around.parent
        return id

    return _Side(scene, stands)


def _first_step(
    first: Timeline, second: Timeline, places: Iterable[tuple[str | None, str | None]]
) -> tuple[str, dict[str, set[str]]]:
    """Return the name of the first training step in which an operation differs, and its nodes on each side; or ""."""
    names: dict[int, str] = {0: ""}
    steps: dict[str, dict[int, set[str]]] = {"a": {}, "b": {}}
    for side, trace in (("a", first), ("b", second)):
        for each in rounds_of(trace.events):
            made = [event.node for event in trace.events[each.begin : each.end] if isinstance(event, NodeCreated)]
            steps[side].setdefault(each.number, set()).update(made)
            names.setdefault(each.number, each.name)
    numbers = [
        number
        for pair in places
        for side, place in zip("ab", pair, strict=True)
        for number, made in steps[side].items()
        if number and place in made
    ]
    number = min(numbers, default=0)
    return names[number], {side: made.get(number, set()) for side, made in steps.items()}


def _with_alone(scene: Scene, nodes: Collection[str]) -> Scene:
    """Return a scene with these nodes, and what arrows join to them."""
    joined = [arrow for arrow in scene.arrows.values() if arrow.source in nodes or arrow.target in nodes]
    ends = {end for arrow in joined for end in (arrow.source, arrow.target)}
    kept = {*ends, *nodes}
    around = {region for id, path in paths(scene).items() if id in kept for region in path}
    boxes = {id: box for id, box in scene.boxes.items() if id in kept | around}
    arrows = {arrow.id: arrow for arrow in scene.arrows.values() if {arrow.source, arrow.target} <= boxes.keys()}
    return Scene(scene.title, boxes, arrows)
