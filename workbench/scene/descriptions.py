"""A box and an arrow in words: texts cut to fit, and a description for who cannot see the picture."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .metric import (
    CHARACTER,
    CHIP_COLUMNS,
    HEADING_COLUMNS,
    LABEL_COLUMNS,
    TEXT_COLUMNS,
    TITLE_COLUMNS,
    clean,
    columns,
    cut,
)
from .model import LOOSE, PANELS, Arrow, Box, Scene
from .plots import plot_fields

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
FREED = "freed"  # the word on a saved tensor that was let go
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
        return {str(key): native(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [native(item) for item in value]
    return value
