"""The texts of boxes and arrows: cut to fit, in words for who cannot see the picture, and how large a box must be.

A box holds its text at every step: nothing may jump while playing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .geometry import (
    CHARACTER,
    CHIP_COLUMNS,
    HEADING_COLUMNS,
    LABEL_COLUMNS,
    LINE,
    PLOT,
    TEXT_COLUMNS,
    TITLE_CHARACTER,
    TITLE_COLUMNS,
    TITLE_LINE,
    clean,
    columns,
    cut,
    plot_fields,
)
from .model import AROUND, LOOSE, PANELS, Arrow, Box, Scene, Step, count_of, with_changes

KIND_WORDS = {
    "function": "custom Function",
    "op": "operation",
    "plain": "operation without a node",
    "leaf": "leaf",
    "constant": "constant",
    "group": "group",
    "input": "input",
    "output": "output",
    "saved": "saved tensor",
    "tangent": "tangent",
    "level": "level",
    "region": "part of the graph",
    "cell": "number",
    "bar": "bar",
    "ghost": "bar of the other run",
    "event": "event",
    "text": "text",
    "heading": "heading",
    "line": "line of text",
    "frame": "frame",
    "story": "text",
    "tick": "label of an axis",
    "plot": "plot",
}
TENSORS = ("leaf", "constant", "input", "output")
FREED = "freed"  # the word on a saved tensor that was freed
STATE_WORDS = {
    "future": "not there yet",
    "coming": "still to come",
    "idle": "",
    "pending": "has part of its gradient",
    "ready": "ready to run",
    "running": "running now",
    "done": "done",
    "freed": "freed",
    "over": "",  # its title says so
    "differs": "differs",
    "error": "failed here",
}
# Which way an arrow leads, by its state or else by its kind.
WAYS = {
    "future": "from {upper} to {lower}; not there yet",
    "idle": "from {upper} to {lower}",
    "flowing": "gradient going from {lower} back to {upper}",
    "done": "gradient went from {lower} back to {upper}",
    "beside": "{lower} stands beside {upper}",
    "same": "{lower} is in the memory of {upper}",
}
STALE = "out of date"  # a saved tensor does not fail: what was written into since makes its node fail


def box_fields(box: Box) -> dict[str, Any]:
    """What of a box can change with a step, as drawn: texts fitted into the box, alt made if not given."""
    chip = box.kind == "saved"
    room = {"saved": CHIP_COLUMNS, "region": HEADING_COLUMNS}.get(box.kind, TITLE_COLUMNS)
    title, more = clean(box.title), CHIP_COLUMNS if chip else HEADING_COLUMNS if box.kind in PANELS else TEXT_COLUMNS
    if box.place is not None:
        room = more = max(0, int((box.place[2] - 4) // CHARACTER))
        title = "" if box.kind in ("cell", "bar", "ghost") and columns(title) > room else title  # its alt says it
    return {
        "title": cut(title, room) if room else "",
        "lines": [cut(clean(line), more) for line in box.lines],
        "state": box.state,
        "alt": clean(box.alt) or _box_alt(box),
        **({} if box.place is None else {"shade": box.shade}),
        **({} if box.goto is None else {"goto": box.goto}),
        **({} if box.plot is None else {"plot": plot_fields(box.plot)}),
    }


def arrow_fields(arrow: Arrow, scene: Scene) -> dict[str, Any]:
    """What of an arrow can change with a step, as shown: its label fitted, its alt made if not given."""
    lines = clean(arrow.label, keep_lines=True).splitlines()
    return {
        "label": "\n".join(cut(clean(line), LABEL_COLUMNS) for line in lines),
        "state": arrow.state,
        "weight": arrow.weight,
        "tone": arrow.tone,
        "alt": clean(arrow.alt) or _arrow_alt(arrow, scene),
    }


def state_words(box: Box) -> str:
    """A box's state in words, empty where there is nothing to say."""
    return _state_words(box.kind, box.state)


def _state_words(kind: str, state: str) -> str:
    return STALE if (kind, state) == ("saved", "error") else STATE_WORDS[state]


def box_said(title: str, kind: str, note: str, lines: Iterable[str], state: str) -> str:
    """A box in words; unpacking.js says the same of what is packed."""
    said = [f"{title} ({KIND_WORDS[kind]})", note, *lines, _state_words(kind, state)]
    return "; ".join(part for part in said if part)


def arrow_said(upper: str, lower: str, kind: str, label: str, note: str, state: str) -> str:
    """An arrow in words, between two boxes of these titles; unpacking.js says the same of what is packed."""
    said = WAYS[kind if kind in LOOSE else state].format(upper=upper, lower=lower)
    more = "; ".join(filter(None, (label.replace("\n", ", "), note)))
    return f"{said}: {more}" if more and kind not in LOOSE else said


def _box_alt(box: Box) -> str:
    note = "; ".join(filter(None, (box.note, box.unsaid)))
    return clean(box_said(box.title, box.kind, note, box.lines, box.state))


def _arrow_alt(arrow: Arrow, scene: Scene) -> str:
    upper, lower = scene.boxes[arrow.source].title, scene.boxes[arrow.target].title
    label = "\n".join(arrow.label.splitlines())
    return clean(arrow_said(upper, lower, arrow.kind, label, arrow.note, arrow.state))


def native(value: Any) -> Any:
    """The value as JSON can hold it: texts cleaned, numbers that are not finite as words."""
    if isinstance(value, str):
        return clean(value, keep_lines=True)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {
            str(key): native(item)  # pyright: ignore[reportUnknownArgumentType]  any keys
            for key, item in value.items()  # pyright: ignore[reportUnknownVariableType]
        }
    if isinstance(value, (list, tuple)):
        return [native(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value


Size = tuple[float, float]

CHIP_PAD = 8  # left and right of a saved tensor's text
STORY_PAD, STORY_LINE = 12, 20  # left and right of a story's text, and from one of its lines to the next
_BEHIND, _BEHIND_COLUMNS = 12, 36  # px between a title and the line behind it, and the columns of both
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


def stands_behind(shown: Mapping[str, Any]) -> int:
    """The columns of a saved tensor's name with its value behind it, if both fit into one line; else 0."""
    lines = shown["lines"]
    together = columns(shown["title"]) + 2 + columns(lines[0]) if len(lines) == 1 else 0
    return together if together <= CHIP_COLUMNS else 0


def first_row(shown: Mapping[str, Any]) -> tuple[float, bool]:
    """How wide the first row of a box is, and whether the first line stands in it, behind the title."""
    title, lines = columns(shown["title"]) * TITLE_CHARACTER, shown["lines"]
    if not lines or columns(shown["title"]) + columns(lines[0]) > _BEHIND_COLUMNS:
        return title, False
    return title + _BEHIND + columns(lines[0]) * CHARACTER, True


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
    first, behind = first_row(shown)
    text = max((columns(line) * CHARACTER for line in shown["lines"][behind:]), default=0.0)
    edge = min(_ARGUMENT * arguments, _MOST_FOR_ARGUMENTS)
    lines = len(shown["lines"]) - behind
    return _even(max(max(first, text) + 2 * pad, edge, _SMALLEST)), TITLE_LINE + LINE * lines + 2 * _OVER


def _even(width: float) -> float:
    # Even widths keep middles, and so the vertical parts of arrows, on whole pixels.
    return float(2 * -(-width // 2))
