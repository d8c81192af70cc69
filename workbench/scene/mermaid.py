"""The Mermaid face: the picture as a flowchart in text, for pages that draw Mermaid."""

from __future__ import annotations

import json
import re

from .descriptions import FREED, TENSORS, arrow_fields, box_fields, state_words
from .metric import clean
from .model import AROUND, LOOSE, Arrow, Box, Scene
from .storyboard import Storyboard
from .theme import Theme, theme_named

# How a box of this kind begins and ends: what a tensor is, is round; what is done to it, is not.
_ROUND, _SQUARE, _DOUBLE = ("([", "])"), ("[", "]"), ("[[", "]]")
_SHAPES = dict.fromkeys(TENSORS, _ROUND) | {"function": _DOUBLE}
_ROLES = ("function", "op", "leaf", "constant", "output", "saved", "tangent")
_DASHED = "stroke-dasharray:4 3"


def to_mermaid(storyboard: Storyboard, k: int | None = None, theme: str | Theme = "light") -> str:
    """The picture after step k as Mermaid source; of a chart, what its boxes say, one below the other."""
    scene, theme = storyboard.at(k), theme_named(theme)
    chart = any(box.place for box in scene.boxes.values())
    there = [box for box in scene.boxes.values() if box.state != "future" and box.kind not in AROUND]
    if chart:  # the numbers of a heat map are its heading's to tell
        there = [box for box in there if box.kind not in ("cell", "tick") and (box.title or box.alt)]
    names = {box.id: f"n{number}" for number, box in enumerate(there)}
    lines = ["---", f"title: {json.dumps(storyboard.title or 'Graph')}", "---", f"flowchart {'LR' if chart else 'TD'}"]
    parts: list[str] = []
    inside = {region.id: region.title for region in scene.boxes.values() if region.kind == "region"}
    lines += [f"  {names[box.id]}{_box(box)}" for box in there if box.region is None]
    for number, (region, title) in enumerate(inside.items()):
        members = [f"    {names[box.id]}{_box(box)}" for box in there if box.region == region]
        lines += [f"  subgraph r{number}[{_text([clean(title)])}]", *members, "  end"] if members else []
        parts += [f"r{number}"] if members else []
    links = [f"{names[box.holder]} -.- {names[box.id]}" for box in there if box.holder in names]
    marked = []
    for arrow in scene.arrows.values():
        if arrow.state != "future" and arrow.source in names and arrow.target in names:
            marked += [str(len(links))] if arrow.state in ("flowing", "done") else []
            links.append(f"{names[arrow.source]} {_link(arrow, scene)} {names[arrow.target]}")
    lines += [f"  {link}" for link in links]
    lines += [f"  linkStyle {','.join(marked)} stroke:{theme.colours['gradient']}"] if marked else []
    if parts:
        look = (
            f"fill:{theme.colours['region-fill']},stroke:{theme.colours['region-stroke']},color:{theme.colours['ink']}"
        )
        lines += [f"  classDef part {look},stroke-dasharray:2 4", f"  class {','.join(parts)} part"]
    return "\n".join([*lines, *_looks(there, names, theme), ""])


def _box(box: Box) -> str:
    shown = box_fields(box)
    title = shown["title"] or shown["alt"]
    said = f" ({FREED if box.state == 'freed' else state_words(box)})" if state_words(box) else ""
    begin, end = _SHAPES.get(box.kind, _SQUARE)
    return f"{begin}{_text([title + said, *shown['lines']])}{end}"


def _link(arrow: Arrow, scene: Scene) -> str:
    """The line of an arrow, which always points down, with its label; a gradient climbs it, as its words say."""
    climbed = arrow.state in ("flowing", "done")
    line = "-.-" if arrow.kind in LOOSE else "-.->" if arrow.kind == "constant" else "==>" if climbed else "-->"
    label = arrow_fields(arrow, scene)["label"].split("\n")
    if not any(label):
        return line
    return f"{line}|{_text([f'gradient {label[0]}' if climbed else label[0], *label[1:]])}|"


def _looks(there: list[Box], names: dict[str, str], theme: Theme) -> list[str]:
    colours = theme.colours
    lines = [f"  classDef default font-family:monospace,font-size:{12 * theme.scale:g}px"]
    wearing: dict[str, list[str]] = {}
    for box in there:
        role = FREED if box.state == "freed" else box.kind if box.kind in _ROLES else "constant"
        wearing.setdefault(role, []).append(names[box.id])
        if box.state in ("running", "error", "differs"):
            wearing.setdefault("running" if box.state == "running" else "error", []).append(names[box.id])
    for role, members in wearing.items():
        if role in ("running", "error"):
            stroke = colours["gradient" if role == "running" else "error"]
            look = f"stroke:{stroke},stroke-width:4px" + (f",{_DASHED}" if role == "error" else "")
        else:
            look = f"fill:{colours[f'{role}-fill']},stroke:{colours[f'{role}-stroke']},color:{colours[f'{role}-ink']}"
            look += f",{_DASHED}" if role in ("constant", FREED) else ""
        lines += [f"  classDef {role} {look}", f"  class {','.join(members)} {role}"]
    return lines


def _text(lines: list[str]) -> str:
    """The lines as a quoted label: all but letters, digits and a few signs as numbers, so that none means anything."""
    return (
        '"' + "<br/>".join(re.sub(r"[^\w .,+=-]|_", lambda found: f"#{ord(found[0])};", line) for line in lines) + '"'
    )
