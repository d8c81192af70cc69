"""The faces for other tools that draw graphs: DOT, as text or as an object of the `graphviz` package, and Mermaid."""

# graphviz has no types of its own; its subgraph() without a graph is a context manager.
# pyright: reportUnknownMemberType=false, reportOptionalContextManager=false
from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from .geometry import clean
from .labels import FREED, TENSORS, arrow_fields, box_fields, state_words
from .model import AROUND, LOOSE, PLACED, Arrow, Box, Scene, paths
from .storyboard import Storyboard
from .theme import Theme, theme_named

if TYPE_CHECKING:
    import graphviz  # pyright: ignore[reportMissingTypeStubs]


_DEEPEST = 30  # clusters within each other
_WIDTHS = ("1.75", "1.5", "3", "4.5", "6.5")
_TONES = {
    "plus": ("above", "above"),
    "minus": ("below", "below"),
    "mixed": ("op-soft", "op-soft"),
    "faint": ("saved-stroke", "saved-soft"),
    "bad": ("error", "error"),
}


def to_dot(storyboard: Storyboard, k: int | None = None, theme: str | Theme = "light") -> str:
    """The picture after step k as DOT source."""
    return to_digraph(storyboard, k, theme).source


def to_digraph(storyboard: Storyboard, k: int | None = None, theme: str | Theme = "light") -> graphviz.Digraph:
    """The picture after step k as a `graphviz.Digraph`, to be changed or rendered further."""
    import graphviz  # pyright: ignore[reportMissingTypeStubs]

    theme, scene = theme_named(theme), storyboard.at(k)
    colours, size = theme.colours, f"{12 * theme.scale:g}"
    graph = graphviz.Digraph("workbench", graph_attr={"rankdir": "TB", "bgcolor": colours["canvas"]})
    graph.attr("node", shape="box", style="rounded,filled", fontname="monospace", fontsize=size)
    graph.attr("edge", fontname="monospace", fontsize=size)
    # A colon in a name would mean a port.
    names = {id: id if re.fullmatch(r"[\w.]+", id) else f"box {n}" for n, id in enumerate(scene.boxes)}
    there = {id: box for id, box in scene.boxes.items() if box.state != "future" and box.kind not in AROUND}
    levels = [box.title for box in scene.boxes.values() if box.kind == "level" and box.state != "future"]
    if levels:
        graph.attr(label=_label([" ".join(levels)]), labelloc="t", labeljust="l", fontname="monospace")
    _write(graph, _clusters(there.values(), scene.boxes), names, colours, count())
    for arrow in scene.arrows.values():
        if arrow.state != "future":
            label = _label(arrow_fields(arrow, scene)["label"].split("\n"))
            attributes = _arrow_attributes(arrow, colours)
            graph.edge(names[arrow.source], names[arrow.target], label=label, **attributes)
    return graph


@dataclass(slots=True)
class _Cluster:
    """A part of the graph by its name, with the boxes that stand in it and the parts that lie in it."""

    title: str = ""
    boxes: dict[str, list[Box]] = field(default_factory=dict)  # by the box they hang on, or are
    parts: dict[str, _Cluster] = field(default_factory=dict)  # by their id

    @property
    def is_empty(self) -> bool:
        """Whether nothing stands in it."""
        return not self.boxes and all(part.is_empty for part in self.parts.values())


def _clusters(there: Iterable[Box], all_boxes: Mapping[str, Box]) -> _Cluster:
    """The boxes in the regions they stand in, which lie in each other; so many deep Graphviz draws."""
    whole = _Cluster()
    homes: dict[str, _Cluster] = {}
    around = paths(Scene("", dict(all_boxes)))
    for id in [id for id, box in all_boxes.items() if box.kind == "region"]:
        at = whole
        for region in [*around[id], id][:_DEEPEST]:
            at = at.parts.setdefault(region, _Cluster(all_boxes[region].title))
        homes[id] = at
    for box in there:
        holder = box.id if box.holder is None else box.holder
        region = all_boxes[holder].region if holder in all_boxes else None
        home = whole if region is None else homes[region]
        home.boxes.setdefault(holder, []).append(box)
    return whole


def _write(
    graph: graphviz.Digraph,
    cluster: _Cluster,
    names: dict[str, str],
    colours: Mapping[str, str],
    numbers: Iterator[int],
) -> None:
    """The boxes, each with what hangs on it, and the parts within: a box of a cluster is put on a rank only there."""
    for holder, boxes in cluster.boxes.items():
        for box in boxes:
            graph.node(names[box.id], **_box_attributes(box, colours))
        for box in boxes:
            if box.id != holder and boxes[0].id == holder:
                with graph.subgraph() as level:
                    level.attr(rank="same")
                    level.edge(names[holder], names[box.id], style="dotted", dir="none", color=colours["saved-stroke"])
    for part in cluster.parts.values():
        if not part.is_empty:
            with graph.subgraph(name=f"cluster_{next(numbers)}") as inner:
                inner.attr(label=_label([part.title]), labeljust="l", style="dotted", fontname="monospace")
                _write(inner, part, names, colours, numbers)


def _box_attributes(box: Box, colours: Mapping[str, str]) -> dict[str, str]:
    shown = box_fields(box)
    freed = box.state == "freed"
    quiet = box.kind in ("plain", "input", "plot", *PLACED)
    role = FREED if freed else "constant" if quiet else "op" if box.kind == "group" else box.kind
    attributes = {
        "label": _label([f"{shown['title']} ({FREED})" if freed else shown["title"], *shown["lines"]]),
        "fillcolor": colours[f"{role}-fill"],
        "color": colours[f"{role}-stroke"],
        "fontcolor": colours[f"{role}-ink"],
    }
    if box.kind == "tangent":
        attributes["style"] = "filled"
    if box.kind == "group":
        attributes["shape"] = "box3d"
    if box.kind in TENSORS:
        attributes |= {"shape": "ellipse", "style": "filled"}
    if box.kind == "constant" or freed or box.state == "pending":
        attributes["style"] = attributes.get("style", "rounded,filled") + ",dashed"
    if box.kind == "output":
        attributes["peripheries"] = "2"
    if box.state in ("pending", "ready", "running"):
        attributes |= {"color": colours["gradient"], "penwidth": "4" if box.state == "running" else "2"}
    if box.state in ("differs", "error"):
        attributes |= {"color": colours["error"], "penwidth": "4"}
    return attributes


def _arrow_attributes(arrow: Arrow, colours: Mapping[str, str]) -> dict[str, str]:
    if arrow.kind == "same":
        return {"style": "dotted", "dir": "none", "constraint": "false", "color": colours["saved-stroke"]}
    if arrow.kind in ("tangent", "beside"):
        looks = {"penwidth": "2.5"} if arrow.kind == "tangent" else {"style": "dotted", "dir": "none"}
        return looks | {"color": colours["tangent-stroke"], "fontcolor": colours["tangent-ink"]}
    style = "dashed" if arrow.kind == "constant" else "solid"
    if arrow.state == "idle":
        return {"style": style, "color": colours["edge-stroke"], "fontcolor": colours["edge-ink"]}
    if arrow.weight:
        line, ink = _TONES[arrow.tone]
        looks = {"color": colours[line], "fontcolor": colours[ink], "penwidth": _WIDTHS[arrow.weight]}
    else:
        width = "3.5" if arrow.state == "flowing" else "1.75"
        looks = {"color": colours["gradient"], "fontcolor": colours["gradient-ink"], "penwidth": width}
    return {"style": "dashed" if arrow.tone in ("faint", "bad") else style, "dir": "back"} | looks


def _label(lines: list[str]) -> str:
    """The lines as a label that Graphviz shows as they are: no HTML, escape or entity of theirs is read."""
    import graphviz  # pyright: ignore[reportMissingTypeStubs]

    plain = [graphviz.escape(re.sub(r"&(?=#?\w+;)", "&amp;", line)) for line in lines]
    return graphviz.nohtml("\\n".join(plain))


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
    marked: list[str] = []
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
