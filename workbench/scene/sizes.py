"""How large each box and label must be to hold its text at every step: nothing may jump while playing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .descriptions import FREED, TENSORS, arrow_fields, box_fields
from .metric import CHARACTER, CHIP_COLUMNS, LINE, TITLE_CHARACTER, TITLE_LINE, columns
from .model import AROUND, LOOSE, Box, Scene, Step, with_changes
from .open_groups import count_of
from .plots import PLOT

Size = tuple[float, float]

CHIP_PAD = 8  # left and right of a saved tensor's text
STORY_PAD, STORY_LINE = 12, 20  # left and right of a story's text, and from one of its lines to the next
LABEL_PAD = 6  # left and right of an arrow's label
_PAD, _ROUND_PAD = 18, 22  # left and right of a node's text, and of a tensor's in its rounder box
_OVER = 4  # and under a node's text
_STRIP_PAD, STRIP = 12, 24  # beside, and the height of, the name of a level and the heading of a region
_SMALLEST = 76  # px: a box with a single letter in it still looks like a box
_SAME_SIZE = {"details", "goto", "alt", "note", "unsaid", "shade", "weight", "tone"}  # may change: no room is taken
_ARGUMENT, _MOST_FOR_ARGUMENTS = 18, 720  # px of a box's upper edge for each arrow into it, at most for all


def largest(scene: Scene, steps: Sequence[Step]) -> tuple[dict[str, Size], dict[str, Size]]:
    """The size of every box and of every arrow's label, by id; (0, 0) for a label that is always empty."""
    arguments = dict.fromkeys(scene.boxes, 0)
    for arrow in scene.arrows.values():
        arguments[arrow.target] += arrow.kind not in LOOSE
    boxes, labels = dict.fromkeys(scene.boxes, (0.0, 0.0)), dict.fromkeys(scene.arrows, (0.0, 0.0))
    for box in _versions(scene.boxes, [step.boxes for step in steps]):
        boxes[box.id] = _larger(boxes[box.id], _box_size(box, arguments[box.id]))
    widest: dict[str, float] = {}  # what hangs on one box is equally wide
    hanging = [(chip.id, chip.holder) for chip in scene.boxes.values() if chip.holder is not None]
    for id, holder in hanging:
        widest[holder] = max(widest.get(holder, 0.0), boxes[id][0])
    for id, holder in hanging:
        boxes[id] = widest[holder], boxes[id][1]
    for arrow in _versions(scene.arrows, [step.arrows for step in steps]):
        shown = arrow_fields(arrow, scene)["label"]
        labels[arrow.id] = _larger(labels[arrow.id], label_size(shown))
    return boxes, labels


def stands_behind(shown: dict[str, Any]) -> int:
    """The columns of a saved tensor's name with its value behind it, if both fit into one line; else 0."""
    lines = shown["lines"]
    together = columns(shown["title"]) + 2 + columns(lines[0]) if len(lines) == 1 else 0
    return together if together <= CHIP_COLUMNS else 0


def label_size(label: str) -> Size:
    """The size of an arrow's label; (0, 0) of an empty one."""
    if not label:
        return 0.0, 0.0
    lines = label.split("\n")
    return _even(max(map(columns, lines)) * CHARACTER + 2 * LABEL_PAD), LINE * len(lines) + 4


def bundle_size(label: Size, count: int) -> Size:
    """The size of the label of an arrow that stands for so many, whose largest label is of this size."""
    return _larger(label, label_size(count_of(count))) if label[0] else label


def heading_size(title: str) -> Size:
    """The size of the heading of what frames others."""
    return _even(columns(title) * CHARACTER + 2 * _STRIP_PAD), STRIP


def _versions(things: dict[str, Any], changes: Iterable[dict[str, dict[str, Any]]]) -> Iterator[Any]:
    yield from things.values()
    now = dict(things)
    for change in changes:
        for id, fields in change.items():
            now[id] = with_changes(now[id], fields)
            if not fields.keys() <= _SAME_SIZE:
                yield now[id]


def _larger(one: Size, other: Size) -> Size:
    return max(one[0], other[0]), max(one[1], other[1])


def _box_size(box: Box, arguments: int) -> Size:
    if box.place is not None:
        return box.place[2:]
    if box.plot is not None:
        return PLOT
    shown = box_fields(box)
    text = max((columns(line) * CHARACTER for line in shown["lines"]), default=0.0)
    if box.kind == "saved":
        at_once = stands_behind(shown)
        title = columns(shown["title"]) + (len(FREED) + 2 if box.state == "freed" else 0)
        title = max(title, at_once)
        lines = 0 if at_once else len(shown["lines"])
        return _even(max(title * CHARACTER, 0.0 if at_once else text) + 2 * CHIP_PAD), LINE * (1 + lines) + 8
    if box.kind in AROUND:
        return heading_size(shown["title"])
    if box.kind == "story":
        most = max(columns(line) for line in (shown["title"], *shown["lines"]))
        return _even(most * TITLE_CHARACTER + 2 * STORY_PAD), STORY_LINE * (1 + len(shown["lines"])) + 16
    pad = _ROUND_PAD if box.kind in TENSORS else _PAD
    width = max(columns(shown["title"]) * TITLE_CHARACTER, text) + 2 * pad
    edge = min(_ARGUMENT * arguments, _MOST_FOR_ARGUMENTS)
    return _even(max(width, edge, _SMALLEST)), TITLE_LINE + LINE * len(shown["lines"]) + 2 * _OVER


def _even(width: float) -> float:
    # Even widths keep middles, and so the vertical parts of arrows, on whole pixels.
    return float(2 * -(-width // 2))
