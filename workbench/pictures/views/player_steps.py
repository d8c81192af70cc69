"""From a trace to a storyboard: at each stop of the player, where something happens and what has changed.

A picture that grows has room for everything that it may show (`roomy`): nothing moves later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ..scene.metric import CHIP_COLUMNS, LABEL_COLUMNS, columns
from ..scene.model import Arrow, Box, Scene, StoryStep, changed
from ..scene.sizes import largest
from ..scene.storyboard import Storyboard
from ..trace.backward_records import (
    BackwardFinished,
    BackwardStarted,
    Failed,
    GradCaptured,
    GradChanged,
    NodeFinished,
    NodeStarted,
)
from ..trace.call_records import LevelLeft, above, outputs_of
from ..trace.facts import Phase, SourceLine
from ..trace.forward_records import LevelEntered, NodeCreated, OperationRan, TangentPushed
from ..trace.frame import EdgeState, Frame, Key
from ..trace.memory_records import CheckpointKept
from ..trace.schema import Record
from ..trace.tensor_records import TensorWritten
from ..trace.timeline import Timeline, phase_of
from ..trace.values import series
from .groups import Program
from .lanes import Lanes
from .value_display import sentence_of

_PLACED = NodeCreated | NodeStarted | TensorWritten  # what happens at a node
_OVER = frozenset({BackwardFinished, Failed})
_ALONE = frozenset({Failed, GradCaptured, BackwardStarted})  # events that share a stop with no others
_NAMED = 6  # of what happens in one step, so many are named in its caption
NOTHING = "Nothing was added to the graph: only operations on tensors that require grad are recorded."


class FrameView(Protocol):
    """One form of drawing the frames of a trace."""

    title: str
    legend: str
    program: Program

    def draw(self, frame: Frame, keys: Iterable[Key]) -> tuple[list[Box], list[Arrow]]:
        """Return the boxes and arrows of the frame's `keys`, as they are now."""
        ...

    def remarks(self, frame: Frame) -> list[str]:
        """Clauses to be added to the caption of the step that the frame has come to."""
        ...

    def focus(self, frame: Frame) -> str | None:
        """Return the box that the last event was about."""
        ...

    def opens(self, trace: Timeline) -> int | None:
        """Return the stop that a player opens at, and a still shows; None is the last stop."""
        ...


def tell(trace: Timeline, view: FrameView) -> Storyboard:
    """Return the storyboard of a trace; each step holds only what changed since the step before."""
    frame = Frame(view.program.told_as)
    boxes: dict[str, Box] = {}
    arrows: dict[str, Arrow] = {}
    now: dict[str, Any] = {}
    steps: list[StoryStep] = []
    phases: list[Phase] = []
    events: Sequence[Record] = ()
    begin = 0
    higher = above(trace.events)
    for end in trace.steps:
        events = trace.events[begin:end]
        begin = end
        frame.touched = {}
        caption = caption_of(events, frame, higher, view)
        phases.append(phase_of(events, frame, phases))
        step = StoryStep(caption, phases[-1])
        drawn = view.draw(frame, frame.touched)
        step.boxes = changed_fields(drawn[0], now, boxes)
        step.arrows = changed_fields(drawn[1], now, arrows)
        step.cursor = cursor_at(frame.cursor)
        step.focus = view.focus(frame)
        steps.append(step)
    scene, stop = Scene(view.title, boxes, arrows), opening_stop(trace, view)
    if steps:
        point_out(steps[stop], trace, frame, lambda node: node)
    return Storyboard(scene, steps or [StoryStep(NOTHING)], view.title, start=stop, legend=view.legend)


def opening(steps: Sequence[StoryStep], dies: bool) -> int | None:
    """Return where a picture without backward opens, if its last step only drops nodes: before that; else None."""
    forward = all(step.phase != "backward" for step in steps)
    return len(steps) - 2 if dies and forward and len(steps) > 1 else None


def opening_stop(trace: Timeline, view: FrameView) -> int:
    """Return the stop that a picture opens at: the view's choice, else the end.

    If nodes are only gone in the last stop, it is the one before.
    """
    if (stop := view.opens(trace)) is not None:
        return stop
    ends = [0, *trace.steps][-2:]
    last = len(trace.steps) - 1
    return last - 1 if last > 0 and all(event.quiet for event in trace.events[ends[0] : ends[-1]]) else max(0, last)


def point_out(step: StoryStep, trace: Timeline, frame: Frame, stands: Callable[[str], str]) -> None:
    """Have the step that a picture opens at be about the node whose numbers are the first that are not finite."""
    if step.phase == "forward" or (node := first_not_finite(trace.events)) is None:
        return
    step.focus = stands(node)
    step.caption = f"{step.caption} The first nonfinite values come from {frame.describe(node)}."


def first_not_finite(events: Iterable[Record]) -> str | None:
    """Return the node that first gives non-finite numbers, if a root or a gradient isn't finite.

    A mask of -inf alone is none, if softmax makes numbers of it.
    """
    events = list(events)
    roots = starts_of(events)
    made: str | None = None
    sent: str | None = None
    is_bad = False
    for event in events:
        if type(event) is NodeCreated:
            strange = [seen for seen in event.tensors if seen.node == event.node and seen.value.nonfinite]
            made = event.node if strange and made is None else made
            is_bad |= any([(seen.node, seen.output_nr) in roots for seen in strange])
        elif type(event) is NodeFinished and sent is None:
            sent = event.node if any([grad is not None and grad.nonfinite for grad in event.grads]) else None
    if not is_bad and sent is None:
        return None
    return made if is_bad and made is not None else sent


def starts_of(events: Iterable[Record]) -> dict[tuple[str, int], None]:
    """Return the outputs that a backward pass starts at, each as its node and number, in order."""
    backwards = [event for event in events if type(event) is BackwardStarted]
    return dict.fromkeys((root.node, root.output_nr) for each in backwards for root in each.roots)


def last_backward(trace: Timeline) -> int | None:
    """Return the stop where the last backward pass ends or fails, if there is one.

    One that a function transform runs isn't the end if the transform's results are in a graph of their own.
    """
    begin, last, levels = 0, None, 0
    made = [seen for event in trace.events if type(event) is NodeCreated for seen in event.tensors if seen.node]
    outside = any(seen.level is None for seen in made)
    for stop, end in enumerate(trace.steps):
        part = trace.events[begin:end]
        kinds = {*map(type, part)}
        if Failed in kinds or (not (levels and outside) and not _OVER.isdisjoint(kinds)):
            last = stop
        if not kinds.isdisjoint((LevelEntered, LevelLeft)):
            levels += sum(isinstance(event, LevelEntered) - isinstance(event, LevelLeft) for event in part)
        begin = end
    return last


def cursor_at(line: SourceLine | None) -> dict[str, Any] | None:
    """Return a line of user code in the form that a storyboard's step uses."""
    return None if line is None else {"file": line.file, "line": line.line, "text": line.text}


def caption_of(
    events: Sequence[Record],
    frame: Frame,
    higher: Mapping[str, str],
    view: FrameView,
    receiver: Callable[[EdgeState], str] | None = None,
) -> str:
    """Apply the events of one step, and say what happened, inside which transforms and in which part of the program.

    A `receiver` has other words for where a gradient goes.
    """
    clauses: list[str] = []
    joined: list[str] = []
    cleared: list[GradChanged] = []
    pushed: list[str] = []
    running, before = False, frame.inside
    for event in events:
        event.apply(frame)
        running |= isinstance(event, NodeStarted)
        if running and isinstance(event, NodeCreated):
            joined.append(frame.describe(event.node))
        elif isinstance(event, GradChanged) and event.clears:
            cleared.append(event)
        elif isinstance(event, TangentPushed):  # told after the operation of a level above, which comes later
            pushed.append(event.name if running else event.sentence(frame))
        elif running and isinstance(event, OperationRan | LevelEntered | LevelLeft):
            continue
        elif any(output in higher for output in outputs_of(event)):  # a level above has the same operation
            continue
        elif isinstance(event, NodeFinished) and receiver is not None:
            clauses.append(event.describe(frame, receiver))
        elif (clause := event.sentence(frame)) and not (isinstance(event, CheckpointKept) and clause in clauses):
            clauses.append(clause)
    if cleared:
        clauses.append(_cleared(cleared, frame))
    if joined:
        clauses.append(f"its operations join the graph as {series(joined)}")
    clauses += [f"tangents are pushed through its operations: {series(pushed)}"] if running and pushed else pushed
    clauses += view.remarks(frame)
    after = frame.inside
    inside = min(before, after, key=len)
    places = [event.node for event in events if isinstance(event, NodeCreated | NodeStarted) and not event.quiet]
    place = (view.program.where.get(places[0]) or frame.scope(places[0]) or "") if places else ""
    where = ", ".join([f"inside {inside}"] * bool(inside) + [f"in {place}"] * bool(place))
    said = without_place("; ".join(clauses), place)  # which the caption names once
    caption = f"{where[:1].upper()}{where[1:]}: {said}" if where else said
    caption = caption[:1].upper() + caption[1:] if pushed and not where else caption
    return sentence_of(caption)


_GOES_ON = re.compile(r"\w|, \d")  # of a longer name


def without_place(sentence: str, place: str) -> str:
    """Return a sentence that need not say which things lie in this place, as the one it continues does."""
    if not place:
        return sentence
    first, *others = sentence.split(f" in {place}")  # compiling a regular expression for each place is slow
    return first + "".join([f" in {place}{rest}" if _GOES_ON.match(rest) else rest for rest in others])


def _cleared(events: Sequence[GradChanged], frame: Frame) -> str:
    """Return the gradients that one step clears."""
    if len(events) == 1:
        return events[0].sentence(frame)
    return f"{some(frame.grad_of(event.tensor) for event in events)} are cleared"


def some(names: Iterable[str]) -> str:
    """Return the different names, or of many only the first: `a, b and 7 more`."""
    known = list(dict.fromkeys(names))
    return series(known if len(known) <= _NAMED + 1 else [*known[:_NAMED], f"{len(known) - _NAMED} more"])


def changed_fields(
    drawn: Iterable[Box | Arrow], now: dict[str, Any], union: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Per id the fields that changed; what is new enters the union of all steps as not there yet."""
    changes = {}
    for thing in drawn:
        if thing.id not in now:
            union[thing.id] = now[thing.id] = replace(thing, state="future")
        fields = changed(now[thing.id], thing)
        if fields.pop("kind", None):  # a constant that became a leaf: one box cannot be both
            union[thing.id].kind = thing.kind
        if fields:
            changes[thing.id] = fields
        now[thing.id] = thing
    return changes


def place_of_stop(part: Sequence[Record], lanes: Lanes) -> str | None:
    """Return where the events of a stop happen, if they may be shown together with those of the same group."""
    if not _ALONE.isdisjoint(map(type, part)):
        return next((event.node for event in part if isinstance(event, NodeStarted)), None)
    for event in part:
        if isinstance(event, _PLACED) and not event.quiet and event.node is not None:
            return event.node
        if isinstance(event, TensorWritten) and event.optimizer is not None:
            return event.tensor
        if isinstance(event, OperationRan):
            return lanes.place(event.outputs[0])
        if isinstance(event, TangentPushed):
            return lanes.place(event.outputs[0].tensor)
    return None


_NUMBER = re.compile(r"(?<![\w.(])-?\d+(?:\.\d*)?(?:e[+-]?\d+)?(?![\w),])")  # of a value, not of a shape or a dtype
_LONGEST = "-1.235e-05"
THROUGH = f"gradient in {_LONGEST}, out {_LONGEST}"  # of a closed group
_LAST = 3  # pictures before that are looked at
_SPARE = 24  # px that a text may be wider than its place: it then comes a little nearer to the edges


def roomy(scene: Scene, before: Storyboard | None = None) -> Storyboard:
    """Return a picture with room for the longest numbers, except constants', and for gradients still to come.

    What the picture before had room for last, this one has room for too.
    """
    boxes, values = {}, {}
    for id, box in scene.boxes.items():
        if box.kind != "constant":
            lines = [part for line in box.lines for part in _parts(_NUMBER.sub(_LONGEST, line))]
            values[id] = next((line for line in lines if _LONGEST in line), "").rpartition("  ")[2]  # behind its shape
            if box.kind == "leaf" and not any(line.startswith("grad ") for line in lines):
                lines.append(f"grad {values[id]}")
            if box.kind == "group" and not any(line.startswith("gradient ") for line in lines):
                lines.append(THROUGH)
            boxes[id] = {"lines": tuple(lines), "state": "freed" if box.kind == "saved" else box.state}
    arrows = {}
    for id, arrow in scene.arrows.items():
        label = _NUMBER.sub(_LONGEST, arrow.label)
        if not label and arrow.kind == "edge":
            value = values.get(arrow.source, "")
            label = value if value and not value.startswith(("[", "from ")) else "0" * LABEL_COLUMNS  # with its slope
        arrows[id] = {"label": label}
    steps = [StoryStep("", boxes=boxes, arrows=arrows)]
    for step in before.steps[:_LAST] if before else ():
        kept = {id: change for id, change in step.boxes.items() if id in scene.boxes}
        steps.append(
            StoryStep("", boxes=kept, arrows={id: new for id, new in step.arrows.items() if id in scene.arrows})
        )
    return Storyboard(scene, steps)


def _parts(line: str) -> list[str]:
    """Return the line, or two lines if a value no longer fits next to its shape."""
    head, gap, value = line.partition("  ")
    return [head, value] if gap and columns(line) > CHIP_COLUMNS else [line]


def has_room(scene: Scene, board: Storyboard, boxes: Iterable[str], arrows: Iterable[str]) -> bool:
    """Return True if a picture has room for the texts that these boxes and arrows have in a scene."""
    ways = {id: scene.arrows[id] for id in arrows}
    there = {id: scene.boxes[id] for id in [*boxes, *[arrow.target for arrow in ways.values()]]}
    there |= {box.holder: scene.boxes[box.holder] for box in [*there.values()] if box.holder is not None}
    sizes, labels = largest(Scene("", there, ways), [], board.density)
    known, rooms = board.sizes
    return all(sizes[id][0] <= known[id][0] + _SPARE and sizes[id][1] <= known[id][1] for id in there) and all(
        labels[id][0] <= rooms[id][0] + _SPARE and labels[id][1] <= rooms[id][1] for id in ways
    )


def within(scene: Scene, board: Storyboard) -> Scene | None:
    """Return a scene as part of a picture that has a place and room for all of it; else None.

    What the picture has besides is not there yet, but for its regions, which take the place of the scene's own.
    """
    boxes = {id: box for id, box in scene.boxes.items() if box.kind != "region"}
    known, (places, ways) = board.scene, board.sizes
    for id, box in boxes.items():
        other = known.boxes.get(id)
        if other is None or (other.kind, other.holder) != (box.kind, box.holder):
            return None
        boxes[id] = replace(box, region=other.region)
    for id, arrow in scene.arrows.items():
        ends = known.arrows.get(id)
        if ends is None or (ends.source, ends.target) != (arrow.source, arrow.target):
            return None
    hidden = {id: box if box.kind == "region" else replace(box, state="future") for id, box in known.boxes.items()}
    arrows = {id: replace(arrow, state="future") for id, arrow in known.arrows.items()} | scene.arrows
    there = Scene(scene.title, hidden | boxes, arrows)
    sizes, labels = largest(there, [], board.density)
    for id, box in boxes.items():  # alone in its module, say, a node has the words of that, which take more room
        if sizes[id][0] > places[id][0] + _SPARE and box.title != known.boxes[id].title:
            there.boxes[id] = replace(box, title=known.boxes[id].title)
            sizes, labels = largest(there, [], board.density)
    if any(sizes[id][0] > places[id][0] + _SPARE or sizes[id][1] > places[id][1] for id in boxes):
        return None
    return None if any(labels[id][0] > ways[id][0] + _SPARE for id in scene.arrows) else there
