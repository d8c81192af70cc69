"""Programs as text: one line of a table each, whose names and lines a picture has as those of a file."""

from __future__ import annotations

import linecache
import re
from textwrap import indent
from typing import Any
from zlib import crc32

from trace_samples import leaf

import workbench as torch
from workbench.pictures.recording import Trace, record
from workbench.pictures.scene.labels import state_words
from workbench.pictures.scene.model import Scene
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.scene.text import chart_lines

PROGRAM_FILE = re.compile(r"program_[0-9a-f]{8}\.py")
NAMED = ("leaf", "constant", "region", "group")  # the kinds of boxes that a story names


def recorded(text: str, options: dict[str, Any] | None = None, **names: Any) -> Trace:
    """Record a program that has `torch`, `leaf` and these names; `options` are those of `record()`."""
    text = "with record(**options) as trace:\n" + indent(text, "    ")
    file = f"program_{crc32(text.encode()):08x}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"torch": torch, "leaf": leaf, "record": record, "options": options or {}, **names}
    exec(compile(text, file, "exec"), space)
    return space["trace"]


def story(board: Storyboard, details: bool = False) -> str:
    """Return all that a picture says: where it opens, each step, and below it what changes at boxes and arrows.

    Where things are is not in it, and of a box that only changes its state nothing is said.
    """
    opens = sum(first <= board.start for first, _, _ in board.stops)
    focus = board.scene.boxes.get((board.steps[board.start].focus or "") if board.steps else "")
    lines = [f"{board.title}; opens after step {opens}{f', at {focus.title}' if focus else ''}"]
    lines += [f"{name}: {numbers}" for name, numbers in (board.curves.numbers.items() if board.curves else ())]
    before: dict[str, str] = {}
    for n, (_, last, caption) in enumerate(board.stops, 1):
        now = _said(board.at(last))
        lines.append(f"{n}. {caption}")
        for key, (said, more) in now.items():
            # An arrow's label without its formula is no news.
            if not (before.get(key, "").startswith(said) if key.startswith("arrow") else before.get(key) == said):
                lines.append(f"   {said}{'' if key in before and key.startswith('arrow') else more}")
        before = {key: said for key, (said, _) in now.items()}
    for box in board.at(len(board.steps) - 1).boxes.values() if details else ():
        bodies = [f"   {detail.heading}: {detail.body}" for detail in box.details if detail.heading != "Created at"]
        lines += [f"Behind {box.title}:", *bodies] if bodies else []
    return PROGRAM_FILE.sub("program.py", "\n".join(lines))


def _said(scene: Scene) -> dict[str, tuple[str, str]]:
    """Return the text of each box and arrow, and the words that appear once or that change nothing."""
    if any(box.place for box in scene.boxes.values()):
        seen = [box for box in scene.boxes.values() if box.state != "future"]
        return {line: (line, "") for line in chart_lines(seen)}
    said: dict[str, tuple[str, str]] = {}
    for id, box in scene.boxes.items():
        if box.state != "future":
            named = f"{box.title} [{box.kind}]" if box.kind in NAMED else box.title
            named += f" in {scene.boxes[box.region].title}" if box.region else ""
            state = state_words(box)
            said[id] = "; ".join([*filter(None, (named, box.note)), *box.lines]), f" ({state})" if state else ""
    for id, arrow in scene.arrows.items():
        if arrow.state != "future" and (arrow.label or arrow.kind == "same"):
            source, target = (scene.boxes[end].title for end in (arrow.source, arrow.target))
            looks = " ".join(filter(None, (arrow.tone, str(arrow.weight or ""))))
            words = "; ".join([*arrow.label.split("\n"), f"[{looks}]"] if looks else arrow.label.split("\n"))
            said[f"arrow {id}"] = f"{source} → {target}: {words or arrow.kind}", f" ({arrow.note})" * bool(arrow.note)
    return said
