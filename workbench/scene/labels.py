"""The texts of boxes and arrows: how much room they take, cut to fit, and in words for screen readers.

The room of a text follows our own metric, because a layout must not depend on a machine's fonts. A box holds its text
at every step, and its plot: nothing may jump while playing.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from os.path import commonprefix
from typing import Any

from .model import AROUND, LOOSE, PANELS, WITHIN, Arrow, ArrowSum, Box, Density, Plot, Scene, StoryStep, with_changes

CHARACTER = 7.25  # px, one column of 12 px monospace text, a little more than any common font needs
TITLE_CHARACTER = CHARACTER * 14 / 12
LINE = 16  # px from one line of text to the next
TITLE_LINE = 18  # px from a title to the next line

# The most columns of each text; what is longer is cut.
TITLE_COLUMNS = 34
GROUP_TITLE_COLUMNS = 40  # on a closed group, whose lines are as wide
TEXT_COLUMNS = 38
LABEL_COLUMNS = 34
CHIP_COLUMNS = 30
HEADING_COLUMNS = 80
GROUP_COLUMNS = 60  # of a line on a closed group: height is scarcer than width

# What XML cannot hold, and the marks that let a text reorder what stands around it.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_ROUNDS = re.compile(r": [\d,]+ iterations$")
# Only there can so many marks be on one letter that they cover what is around it.
_STACKED = re.compile(r"[^\x00-\u02ff]{6,}")
_MARKS = 4  # on one letter
_REORDERING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: object, keep_lines: bool = False) -> str:
    """Return the text without characters that break a file or reorder or cover others; one line unless asked."""
    text = str(text)
    if not text.isascii():
        text = _STACKED.sub(lambda found: "".join(_unstacked(found[0])), text)
    if text.isprintable():  # as most are
        return text
    printable = _UNPRINTABLE.sub("\ufffd", _REORDERING.sub("", text))
    return printable if keep_lines else " ".join(printable.splitlines()).replace("\t", " ")


def _unstacked(text: str) -> Iterator[str]:
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= _MARKS:
            yield character


@lru_cache(10_000)
def columns(text: str) -> int:
    """Return the number of monospace columns that the text fills: a wide character two, a combining one none."""
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


@lru_cache(10_000)
def _columns_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def width_of(text: str) -> float:
    """Return the width in px of a chart's text."""
    return columns(clean(text)) * CHARACTER + 6


def cut(text: str, room: int) -> str:
    """Return the text, or as much of its beginning as fits into `room` columns with an ellipsis."""
    if columns(text) <= room:
        return text
    kept: list[str] = []
    used = 1
    for character in text:
        used += _columns_of(character)
        if used > room:
            break
        kept.append(character)
    return "".join(kept) + "…"


def cut_inside(text: str, room: int) -> str:
    """Return the text, or its beginning and a piece of its end around an ellipsis, in `room` columns."""
    if columns(text) <= room:
        return text
    end, used = len(text), 0
    while end and used + _columns_of(text[end - 1]) <= 2 * (room - 1) // 3:
        end -= 1
        used += _columns_of(text[end])
    return cut(text[:end], room - used) + text[end:]


def told_apart(names: Iterable[str], room: int) -> dict[str, str]:
    """Return each name in `room` columns, cut inside; names that would become equal keep the part where they differ."""
    known = list(dict.fromkeys(names))
    short = {name: cut_inside(name, room) for name in known}
    alike: dict[str, list[str]] = {}
    for name, told in short.items():
        alike.setdefault(told, []).append(name)
    for group in [group for group in alike.values() if len(group) > 1]:
        same = len(commonprefix(group))
        begin = group[0].rfind(".", 0, same) + 1  # of the part of a path in which they differ
        for name in group:
            short[name] = cut_inside(f"…{name[begin:]}", room) if begin else cut(f"…{name[same:]}", room)
    return short


KIND_WORDS = {
    "function": "custom Function",
    "op": "operation",
    "plain": "untracked operation",
    "leaf": "leaf",
    "constant": "constant",
    "group": "group",
    "input": "input",
    "output": "output",
    "saved": "saved tensor",
    "tangent": "tangent",
    "returned": "what the program gets",
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
    "name": "row name",
    "story": "text",
    "tick": "axis label",
    "plot": "plot",
}
_GIVEN = ("constant", "input")
TENSORS = ("leaf", "constant", "input", "output")
FREED = "freed"  # the word on a saved tensor that was freed
STATE_WORDS = {
    "future": "not created yet",
    "coming": "upcoming",
    "idle": "",
    "pending": "waiting for more gradients",
    "ready": "ready",
    "running": "running",
    "done": "done",
    "freed": "freed",
    "over": "",  # its title says so
    "differs": "differs",
    "error": "failed here",
}
# Which way an arrow leads, by its state or else by its kind.
WAYS = {
    "future": "from {upper} to {lower}; not created yet",
    "idle": "from {upper} to {lower}",
    "flowing": "gradient flowing from {lower} back to {upper}",
    "done": "gradient flowed from {lower} back to {upper}",
    "cut": "from {upper} to {lower}, gradient path cut",
    "beside": "{lower} is next to {upper}",
    "same": "{lower} shares memory with {upper}",
}
STALE = "out of date"  # a saved tensor does not fail: what was written into since makes its node fail


_NORM = ", grad norm "  # behind a leaf's shape
_ROOMS = {"saved": CHIP_COLUMNS, "group": GROUP_COLUMNS}  # columns of a line, by the kind of box


def box_fields(box: Box, density: Density = "full") -> dict[str, Any]:
    """Return the fields of a box that can change with a step, as drawn: texts fitted, alt text made if missing."""
    told = _lines_of(box, density)
    room = {"saved": CHIP_COLUMNS, "region": HEADING_COLUMNS, "group": GROUP_TITLE_COLUMNS}.get(box.kind, TITLE_COLUMNS)
    title, more = clean(box.title), HEADING_COLUMNS if box.kind in PANELS else _ROOMS.get(box.kind, TEXT_COLUMNS)
    if box.place is not None:
        room = more = max(0, int((box.place[2] - 4) // CHARACTER))
        title = "" if box.kind in ("cell", "bar", "ghost") and columns(title) > room else title  # its alt says it
    return {
        "title": _cut_title(title, room) if room else "",
        "lines": [cut(clean(line), more) for line in told],
        "state": box.state,
        "alt": clean(box.alt) or _box_alt(box),
        **({} if box.place is None else {"shade": box.shade}),
        **({} if box.goto is None else {"goto": box.goto}),
        **({} if box.plot is None else {"plot": plot_fields(box.plot)}),
    }


def _lines_of(box: Box, density: Density) -> tuple[str, ...]:
    """Return the lines of a box: of a closed group, what it holds is in its title's line, if that has room for it.

    Where boxes are brief, no line goes below. What has no room is left out: the first facts of what a group holds, then
    the others, then what it gives.
    """
    if box.kind in _GIVEN and density == "columns":  # its gray numbers are what is missed least
        return (box.lines if box.brief is None else box.brief)[:1]
    if box.kind == "leaf" and density == "columns" and box.brief is not None:  # an arrow beside it has the norm
        return tuple([line.partition(_NORM)[0] for line in box.brief])
    if box.brief is None or (density == "full" and box.kind != "group"):
        return box.lines
    if box.kind != "group" or len(box.brief) < 2:
        return box.brief
    gives, facts, *more = box.brief
    parts = facts.split(", ") if density != "columns" else []
    told = [f"{', '.join(parts[at:])}   {gives}".strip() for at in range(len(parts))] + [gives]
    room = (NARROW_COLUMNS if density == "columns" else BEHIND_COLUMNS) - columns(box.title)
    fitting = [each for each in told if columns(each) <= min(room, TEXT_COLUMNS)]
    if density == "full" and fitting[:1] in ([], [gives]) and facts:
        return box.brief
    return (*(fitting[:1] or [""]), *more)


def _cut_title(title: str, room: int) -> str:
    """Return a title in `room` columns; a loop's title keeps its iteration count."""
    text, rounds = rounds_apart(title)
    return cut(text, room - columns(rounds)) + rounds


def rounds_said(count: int) -> str:
    """`: 20 iterations`, behind the title of a loop, which is code; nothing of 0."""
    return f": {count:,} iterations" if count else ""


def rounds_apart(title: str) -> tuple[str, str]:
    """Return the words of a title without a loop's iteration count, and that count."""
    found = _ROUNDS.search(title)
    return (title, "") if found is None else (title[: found.start()], found[0])


def arrow_fields(arrow: Arrow, scene: Scene, density: Density = "full") -> dict[str, Any]:
    """Return the fields of an arrow that can change with a step, as shown: label fitted, alt text made if missing."""
    label, brief = _labels_of(arrow, density)
    return {
        "label": _fitted(label),
        "state": arrow.state,
        "weight": arrow.weight,
        "tone": arrow.tone,
        "alt": clean(arrow.alt) or _arrow_alt(arrow, scene, label),
        "norm": arrow.norm,
        "together": None if arrow.together is None else list(arrow.together),
        "within": {group: list(told) for group, told in arrow.within.items()} if arrow.within else None,
        "brief": None if brief is None else _fitted(brief),
    }


def _labels_of(arrow: Arrow, density: Density) -> tuple[str, str | None]:
    """Return an arrow's label, and its label where its target is hidden, if that differs."""
    return (arrow.label, arrow.brief) if density == "full" or arrow.short is None else arrow.short


def _fitted(label: str) -> str:
    """Return an arrow's label with each line shortened to what fits."""
    return "\n".join(cut(clean(line), LABEL_COLUMNS) for line in clean(label, keep_lines=True).splitlines())


def state_words(box: Box) -> str:
    """Return a box's state in words; empty if there is nothing to say."""
    return _state_words(box.kind, box.state)


def _state_words(kind: str, state: str) -> str:
    return STALE if (kind, state) == ("saved", "error") else STATE_WORDS[state]


def box_said(title: str, kind: str, note: str, lines: Iterable[str], state: str) -> str:
    """Return a box in words."""
    said = [f"{title} ({KIND_WORDS[kind]})", note, *lines, _state_words(kind, state)]
    return "; ".join(part for part in said if part)


def arrow_said(upper: str, lower: str, kind: str, label: str, note: str, state: str) -> str:
    """Return an arrow in words, between two boxes with these titles."""
    said = WAYS[kind if kind in (*LOOSE, "cut") else state].format(upper=upper, lower=lower)
    more = "; ".join(filter(None, (label.replace("\n", ", "), note)))
    return f"{said}: {more}" if more and kind not in LOOSE else said


def _box_alt(box: Box) -> str:
    note = "; ".join(filter(None, (box.note, box.unsaid)))
    return clean(box_said(box.title, box.kind, note, box.lines, box.state))


def _arrow_alt(arrow: Arrow, scene: Scene, label: str) -> str:
    upper, lower = scene.boxes[arrow.source].title, scene.boxes[arrow.target].title
    label = "\n".join(label.splitlines())
    return clean(arrow_said(upper, lower, arrow.kind, label, arrow.note, arrow.state))


def native(value: Any) -> Any:
    """Return the value as JSON can hold it: texts cleaned, non-finite numbers as words."""
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

CHIP_PAD = 8  # px left and right of a saved tensor's text
STORY_PAD = 12  # px left and right of a story's text
STORY_LINE = 20  # px from one of its lines to the next
APART = 8  # px between the parts of a title
_BEHIND = 12  # px between a title and the line behind it
BEHIND_COLUMNS = 80  # the most columns of both
NARROW_COLUMNS = 28  # the same, of a closed group where the picture is as narrow as it can be
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
        label, hidden = _labels_of(arrow, density)
        whole, brief = _fitted(label), _fitted(label if hidden is None else hidden)
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


def title_parts(title: str) -> tuple[str, str, str]:
    """Return a title's name, the class of a module behind it, and the count of a loop's iterations."""
    text, rounds = rounds_apart(title)
    name, within, kind = text.rpartition(WITHIN)
    return name if within else text, kind if within else "", rounds.removeprefix(": ")


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


PLOT = (456.0, 320.0)  # px: a box's width and height
_AREA = (86.0, 54.0, 354.0, 238.0)  # px: left, top, width and height of the curve's frame in the box
_BESIDE = 6.0  # px from the frame to a number beside it
_BELOW = 16.0  # px from the frame to the feet of a number below it
_HALF = 4.0  # px: half a digit's height


def plot_paths(plot: Plot, x: float = 0.0, y: float = 0.0) -> dict[str, Any]:
    """Return the axes, curve and tangent as SVG paths, and the point where they touch, in a box with this corner.

    A path is empty, and the point None, where there is none.
    """
    return {
        "axes": _path(((0, 1), (0, 0), (1, 0)), x, y),
        "curve": " ".join(_path(run, x, y) for run in plot.runs),
        "tangent": _path(plot.tangent, x, y),
        "at": None if plot.at is None else _at(plot.at, x, y),
    }


def plot_numbers(plot: Plot, x: float = 0.0, y: float = 0.0) -> list[tuple[float, float, str, str]]:
    """Return the numbers at the frame's ends: x, y, the text, and whether x is the text's "start" or "end"."""
    left, top, width, height = _AREA
    before, after, lowest, highest = map(clean, plot.ends)
    x, y = x + left, y + top
    return [
        (x, y + height + _BELOW, before, "start"),
        (x + width, y + height + _BELOW, after, "end"),
        (x - _BESIDE, y + height + _HALF, lowest, "end"),
        (x - _BESIDE, y + _HALF, highest, "end"),
    ]


def plot_fields(plot: Plot) -> dict[str, Any]:
    """Return a plot as the player gets it; the player adds the position of its box."""
    return plot_paths(plot) | {"numbers": plot_numbers(plot)}


def _path(points: tuple[tuple[float, float], ...], x: float, y: float) -> str:
    pairs = [f"{across:g},{down:g}" for across, down in (_at(point, x, y) for point in points)]
    return f"M{' L'.join(pairs)}" if pairs else ""


def _at(point: tuple[float, float], x: float, y: float) -> tuple[float, float]:
    left, top, width, height = _AREA
    return round(x + left + width * point[0], 1), round(y + top + height * (1 - point[1]), 1)
