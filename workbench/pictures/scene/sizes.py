"""The sizes of boxes and labels.

A box holds its text at every step, and its plot: nothing may jump while playing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .labels import FREED, TENSORS, box_fields, fitted, labels_of, title_parts
from .metric import BEHIND_COLUMNS, CHARACTER, CHIP_COLUMNS, LINE, TITLE_CHARACTER, TITLE_LINE, columns
from .model import AROUND, LOOSE, ArrowSum, Box, Density, Scene, StoryStep, with_changes
from .plots import PLOT

Size = tuple[float, float]

CHIP_PAD = 8  # px left and right of a saved tensor's text
STORY_PAD = 12  # px left and right of a story's text
STORY_LINE = 20  # px from one of its lines to the next
APART = 8  # px between the parts of a title
_BEHIND = 12  # px between a title and the line behind it
LABEL_PAD = 6  # px left and right of an arrow's label
PAD = 14  # px left and right of a node's text
SIGN = 10  # px more beside a group's title, for the sign that opens it
ROUND_PAD = 18  # px left and right of a tensor's text, whose box is rounder
_OVER = 3  # px over and under a node's text
STRIP = 24  # px: the height of the name of a level, and of the heading of a region
_STRIP_PAD = 12  # px left and right of its text
_SMALLEST = 76  # px: a box with a single letter in it still looks like a box
_SAME_SIZE = {
    "details",
    "goto",
    "alt",
    "note",
    "unsaid",
    "shade",
    "tint",
    "weight",
    "tone",
    "norm",
}  # may change: no room is taken
_ARGUMENT = 18  # px of a box's upper edge for each arrow into it
_MOST_FOR_ARGUMENTS = 720  # px of it for all of them


def largest(
    scene: Scene, steps: Sequence[StoryStep], density: Density = "full"
) -> tuple[dict[str, Size], dict[str, Size]]:
    """Return the largest size of every box and every arrow label, by id; (0, 0) for a label that is always empty.

    And by `in_group` that of the label where the arrow's target is hidden in a closed group.
    """
    arguments = dict.fromkeys(scene.boxes, 0)
    for arrow in scene.arrows.values():
        arguments[arrow.target] += arrow.kind not in LOOSE
    boxes = dict.fromkeys(scene.boxes, (0.0, 0.0))
    labels = dict.fromkeys([*scene.arrows, *map(in_group, scene.arrows)], (0.0, 0.0))
    for box in _versions(scene.boxes, [step.boxes for step in steps]):
        boxes[box.id] = larger(boxes[box.id], _box_size(box, arguments[box.id], density))
    widest: dict[str, float] = {}  # what hangs on one box is equally wide
    hanging = [(chip.id, chip.holder) for chip in scene.boxes.values() if chip.holder is not None]
    for id, holder in hanging:
        widest[holder] = max(widest.get(holder, 0.0), boxes[id][0])
    for id, holder in hanging:
        boxes[id] = widest[holder], boxes[id][1]
    for arrow in _versions(scene.arrows, [step.arrows for step in steps]):
        within: dict[str, ArrowSum] = arrow.within or {}
        more = [told[1] for told in within.values()]
        more += [arrow.together[1]] if arrow.together else []
        label, hidden = labels_of(arrow, density)
        whole, brief = fitted(label), fitted(label if hidden is None else hidden)
        for id, told in ((arrow.id, [whole]), (in_group(arrow.id), [brief, *more])):
            for label in told:
                labels[id] = larger(labels[id], label_size(label))
    return boxes, labels


def in_group(arrow: str) -> str:
    """Return the key of an arrow label's size for a target hidden in a closed group."""
    return f"{arrow} in a group"


def stands_behind(shown: Mapping[str, Any]) -> int:
    """Return the columns of a saved tensor's name with its value after it, if both fit into one line; else 0."""
    lines = shown["lines"]
    together = columns(shown["title"]) + 2 + columns(lines[0]) if len(lines) == 1 else 0
    return together if together <= CHIP_COLUMNS else 0


def first_row(shown: Mapping[str, Any]) -> tuple[float, bool]:
    """Return the width of a box's first row, and whether the first line is in it, after the title."""
    (name, kind, count), lines = title_parts(shown["title"]), shown["lines"]
    title = columns(name) * TITLE_CHARACTER
    title += APART + columns(kind) * CHARACTER if kind else 0.0
    title += APART + columns(count) * CHARACTER + CHIP_PAD if count else 0.0
    if not lines or columns(shown["title"]) + columns(lines[0]) > BEHIND_COLUMNS:
        return title, False
    return title + _BEHIND + columns(lines[0]) * CHARACTER, True


def label_size(label: str) -> Size:
    """Return the size of an arrow's label; (0, 0) if it is empty."""
    if not label:
        return 0.0, 0.0
    lines = label.split("\n")
    return _even(max(map(columns, lines)) * CHARACTER + 2 * LABEL_PAD), LINE * len(lines)


def heading_size(title: str) -> Size:
    """Return the size of the heading of a box that frames others."""
    return _even(columns(title) * CHARACTER + 2 * _STRIP_PAD), STRIP


def _versions(things: dict[str, Any], changes: Iterable[dict[str, dict[str, Any]]]) -> Iterator[Any]:
    yield from things.values()
    now = dict(things)
    for change in changes:
        for id, fields in change.items():
            now[id] = with_changes(now[id], fields)
            if not fields.keys() <= _SAME_SIZE:
                yield now[id]


def larger(*sizes: Size) -> Size:
    """Return the smallest size that holds each of these."""
    return max(width for width, _ in sizes), max(height for _, height in sizes)


def _box_size(box: Box, arguments: int, density: Density) -> Size:
    if box.place is not None:
        return box.place[2:]
    if box.plot is not None:
        return PLOT
    shown = box_fields(box, density)
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
    pad = ROUND_PAD if box.kind in TENSORS else PAD
    first, behind = first_row(shown)
    first += 2 * SIGN if box.kind == "group" else 0
    text = max((columns(line) * CHARACTER for line in shown["lines"][behind:]), default=0.0)
    edge = min(_ARGUMENT * arguments, _MOST_FOR_ARGUMENTS)
    lines = len(shown["lines"]) - behind
    return _even(max(max(first, text) + 2 * pad, edge, _SMALLEST)), TITLE_LINE + LINE * lines + 2 * _OVER


def _even(width: float) -> float:
    # Even widths keep middles, and so the vertical parts of arrows, on whole pixels.
    return float(2 * -(-width // 2))
