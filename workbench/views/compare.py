"""Two traces side by side, and where they differ."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from ..scene.model import Arrow, Box, Scene, Step
from ..scene.picture import Picture
from ..scene.storyboard import Storyboard
from ..trace.call_records import OperationRan
from ..trace.diff import Differences
from ..trace.records import NodeCreated
from ..trace.rounds import rounds_of
from ..trace.timeline import Timeline
from .graph import Graph
from .player_steps import tell

LEGEND = "Two recordings as they ended, side by side; a box marked ≠ differs, and its line says in what."
_MOST = 200  # differences shown
_LARGEST = 3_000  # nodes, arrows and saved tensors of a trace


def compare(first: Timeline, second: Timeline) -> Picture:
    """The graphs of two traces as they ended, and, one step each, what differs: values, structure, saved, order."""
    for trace in (first, second):
        if not isinstance(trace, Timeline):
            raise TypeError(f"compare() takes two traces, as record() gives them, but got {type(trace).__name__}.")
    return Picture(compared(first, second))


def compared(first: Timeline, against: Timeline) -> Storyboard:
    """The storyboard of a comparison; of graphs that are too large a ValueError, as all of both is drawn."""
    for trace in (first, against):
        made = [event for event in trace.events if isinstance(event, NodeCreated | OperationRan)]
        edges = sum(len(event.edges) + len(event.saved) for event in made if isinstance(event, NodeCreated))
        if (parts := len(made) + edges) > _LARGEST:
            told = f"its {len(made):,} operations have {parts:,} arrows, saved tensors and boxes, and at most"
            raise ValueError(f"This trace is too large to be drawn beside another: {told} {_LARGEST:,} are drawn.")
    boxes: dict[str, Box] = {}
    arrows: dict[str, Arrow] = {}
    empty: list[str] = []
    found = list(Differences(first, against))
    name, alone = _first_step(first, against, [(each.first, each.second) for each in found])
    for side, word, trace in (("a", "First", first), ("b", "Second", against)):
        board = tell(trace, Graph(trace.events))
        scene = board.at(len(board.steps) - 1)
        scene = _with_alone(scene, alone[side]) if name else scene
        if scene.boxes:
            boxes[side] = Box(side, "region", f"{word}: {board.title}")
        else:
            empty.append(word.lower())
        for box in scene.boxes.values():
            if box.kind not in ("level", "region"):
                held = None if box.holder is None else f"{side}.{box.holder}"
                inside = side if box.holder is None and box.kind != "tangent" else None
                boxes[f"{side}.{box.id}"] = replace(box, id=f"{side}.{box.id}", holder=held, region=inside)
        for arrow in scene.arrows.values():
            ends = {"source": f"{side}.{arrow.source}", "target": f"{side}.{arrow.target}"}
            # Gradients are told of where they arrive: on arrows they would hide what differs.
            arrows[f"{side}.{arrow.id}"] = replace(arrow, id=f"{side}.{arrow.id}", label="", **ends)
    count = "no difference" if not found else "1 difference" if len(found) == 1 else f"{len(found)} differences"
    have = "have" if len(empty) > 1 else "has"
    nothing = f" The {' and the '.join(empty)} {have} nothing in it." if empty else ""
    more = f" The first {_MOST} are shown." if len(found) > _MOST else ""
    only = f" Of the training, {name} is drawn: the first in which a box differs." if name else ""
    steps = [Step(f"Two traces side by side, as they ended: {count}.{nothing}{only}{more}", "comparing")]
    marks: dict[str, dict[str, None]] = {}
    for each in found[:_MOST]:
        step = Step(f"{each.sentence}.", "comparing")
        for side, place in (("a", each.first), ("b", each.second)):
            if (id := f"{side}.{place}") in boxes:
                mark = each.kind if each.kind == "only here" else f"≠ {each.kind}"
                marks[id] = {**marks.get(id, {}), mark: None}
                step.boxes[id] = {"state": "differs", "lines": (*boxes[id].lines, *marks[id])}
                step.focus = step.focus or id
        steps.append(step)
    return Storyboard(Scene(f"Two traces: {count}", boxes, arrows), steps, legend=LEGEND)


def _first_step(
    first: Timeline, second: Timeline, places: Iterable[tuple[str | None, str | None]]
) -> tuple[str, dict[str, set[str]]]:
    """The name of the training's first step in which an operation differs, and its nodes on each side; "" of none."""
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
    """A scene with these nodes, what they still keep, and what arrows join to them."""
    joined = [arrow for arrow in scene.arrows.values() if arrow.source in nodes or arrow.target in nodes]
    ends = {end for arrow in joined for end in (arrow.source, arrow.target)}
    kept = {id for id, box in scene.boxes.items() if box.holder in nodes and box.state != "freed"}
    boxes = {id: box for id, box in scene.boxes.items() if id in {*ends, *nodes, *kept}}
    arrows = {arrow.id: arrow for arrow in scene.arrows.values() if {arrow.source, arrow.target} <= boxes.keys()}
    return Scene(scene.title, boxes, arrows)
