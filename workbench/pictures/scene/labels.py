"""The texts of boxes and arrows, cut to fit, and in words for screen readers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from .metric import (
    BEHIND_COLUMNS,
    CHARACTER,
    CHIP_COLUMNS,
    GROUP_COLUMNS,
    GROUP_TITLE_COLUMNS,
    HEADING_COLUMNS,
    LABEL_COLUMNS,
    NARROW_COLUMNS,
    TEXT_COLUMNS,
    TITLE_COLUMNS,
    clean,
    columns,
    cut,
)
from .model import LOOSE, PANELS, PLACED, WITHIN, Arrow, Box, Density, Overlay, Scene
from .plots import plot_fields

_ROUNDS = re.compile(r": [\d,]+ iterations$")

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
        **({"shade": box.shade} if box.place is not None or box.kind in PLACED else {}),
        **({} if box.tint is None else {"shade": f"own-{box.tint}"}),
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
    label, brief = labels_of(arrow, density)
    return {
        "label": fitted(label),
        "state": arrow.state,
        "weight": arrow.weight,
        "tone": arrow.tone,
        "alt": clean(arrow.alt) or _arrow_alt(arrow, scene, label),
        "norm": arrow.norm,
        "together": None if arrow.together is None else list(arrow.together),
        "within": {group: list(told) for group, told in arrow.within.items()} if arrow.within else None,
        "brief": None if brief is None else fitted(brief),
    }


def labels_of(arrow: Arrow, density: Density) -> tuple[str, str | None]:
    """Return an arrow's label, and its label where its target is hidden, if that differs."""
    return (arrow.label, arrow.brief) if density == "full" or arrow.short is None else arrow.short


def fitted(label: str) -> str:
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


def title_parts(title: str) -> tuple[str, str, str]:
    """Return a title's name, the class of a module behind it, and the count of a loop's iterations."""
    text, rounds = rounds_apart(title)
    name, within, kind = text.rpartition(WITHIN)
    return name if within else text, kind if within else "", rounds.removeprefix(": ")


def ends_of(overlay: Overlay) -> list[str]:
    """Return the numbers at the two ends of an overlay's scale, as texts: one with signs goes as far both ways."""
    if overlay.low is None or overlay.high is None:
        return []
    most = max(-overlay.low, overlay.high)
    return [f"{each:.4g}" for each in ((-most, most) if overlay.signs else (overlay.low, overlay.high))]


def overlay_said(overlay: Overlay) -> str:
    """Return in a sentence what the colors of an overlay mean."""
    if overlay.low is None:
        return "Overlay: no number is finite."
    low, high = f"{overlay.low:.4g}", f"{overlay.high:.4g}"
    if overlay.signs:
        return f"Overlay: from {low} to {high}; 0 has no color."
    scale = " on a logarithmic scale" if overlay.logarithmic else ""
    return f"Overlay: from {low} to {high}{scale}; a stronger color is {'less' if overlay.tints[0] < 0 else 'more'}."
