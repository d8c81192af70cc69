"""The DOT face: the picture for Graphviz's own tools, as text or as an object of the `graphviz` package."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .model import AROUND, PLACED, Arrow, Box
from .shown import FREED, TENSORS, arrow_fields, box_fields
from .storyboard import Storyboard
from .theme import Theme, theme_named

if TYPE_CHECKING:
    import graphviz

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
    import graphviz

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
    for n, region in enumerate(box for box in scene.boxes.values() if box.kind == "region"):
        with graph.subgraph(name=f"cluster_{n}") as part:
            part.attr(label=_label([region.title]), labeljust="l", style="dotted", fontname="monospace")
            for id, box in there.items():
                if box.region == region.id:
                    part.node(names[id])
    for id, box in there.items():
        graph.node(names[id], **_box_attributes(box, colours))
        if box.holder in there:
            with graph.subgraph() as level:
                level.attr(rank="same")
                level.edge(names[box.holder], names[id], style="dotted", dir="none", color=colours["saved-stroke"])
    for arrow in scene.arrows.values():
        if arrow.state != "future":
            label = _label(arrow_fields(arrow, scene)["label"].split("\n"))
            attributes = _arrow_attributes(arrow, colours)
            graph.edge(names[arrow.source], names[arrow.target], label=label, **attributes)
    return graph


def _box_attributes(box: Box, colours: dict[str, str]) -> dict[str, str]:
    shown = box_fields(box)
    freed = box.state == "freed"
    quiet = box.kind in ("plain", "input", *PLACED)
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


def _arrow_attributes(arrow: Arrow, colours: dict[str, str]) -> dict[str, str]:
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
    import graphviz

    plain = [graphviz.escape(re.sub(r"&(?=#?\w+;)", "&amp;", line)) for line in lines]
    return graphviz.nohtml("\\n".join(plain))
