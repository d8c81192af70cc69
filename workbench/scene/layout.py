"""Where things stand: Graphviz places boxes of a size we give, so that a layout is the same on every machine.

A node and the saved tensors hanging on it are one block to Graphviz, described as an HTML-like table of
empty cells of fixed size, and so is a label: Graphviz sees no text, so no font of the machine is measured and
no text can mislead it.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .density import thinned
from .model import AROUND, LOOSE, Arrow, Scene
from .relations import related
from .routes import GAP, Place, Way, beside, routed, swung
from .sizes import STRIP, Size

MARGIN = 26  # around the picture: room for the mark and the glow at a box's edge
_LABEL_MARGIN = 12  # around the picture where only a label comes near its edge
TIE = 22  # between a node and the saved tensors hanging on it
CHIP_GAP = 8  # between two saved tensors of one node, or two levels
_BESIDE = 36  # between a box and its tangent
_STRIP_TOP = 12.0  # above the strip of levels
_HEAD = "node [shape=plain]\nedge [dir=none]\n"

_MISSING = (
    "No picture can be drawn because Graphviz is missing: run `pip install pygraphviz`, which brings it "
    "along, or put Graphviz's program `dot` on the PATH."
)

_lock = threading.Lock()  # Graphviz has state of its own, and the standard error stream is every thread's
if hasattr(os, "register_at_fork"):  # so a fork waits until no other thread is in there
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class LayoutUnavailable(RuntimeError):
    """There is no Graphviz to place the boxes with."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything stands, in px; y grows downwards."""

    width: float
    height: float
    boxes: dict[str, Place]
    arrows: dict[str, Way]


def laid_out(scene: Scene, boxes: dict[str, Size], labels: dict[str, Size]) -> Layout:
    """The layout of the scene's boxes and arrow labels of these sizes, with values going down."""
    if any(box.place for box in scene.boxes.values()):
        return _chart(scene)
    strip, width = _strip(scene, boxes)
    blocks = _blocks(scene, boxes)
    if not blocks:
        return Layout(max(width, 2 * MARGIN), 2 * MARGIN + _top(strip), strip, {})
    flowing = Scene(scene.title, scene.boxes, {a.id: a for a in scene.arrows.values() if a.kind not in LOOSE})
    told, settings = thinned([*flowing.arrows.values()], _block_of(blocks), labels)
    placed = _graphviz(_dot(scene, blocks, boxes, labels, told, settings))
    left, bottom, right, top = _numbers(placed["bb"])
    across, down = MARGIN - left, MARGIN + top + _top(strip)
    places: dict[str, Place] = {}
    for (id, block), node in zip(blocks.items(), placed["objects"], strict=True):
        middle, level = _numbers(node["pos"])
        x, y = middle + across - block.width / 2, down - level
        for each, wide in block.cells:
            if each is not None:
                places[each] = Place(round(x, 1), round(y - boxes[each][1] / 2, 1), *boxes[each])
            x += wide
        x, y = places[id].x, y - block.stack / 2
        for chip in block.chips:
            places[chip] = Place(round(x + boxes[id][0] + TIE, 1), round(y, 1), *boxes[chip])
            y += boxes[chip][1] + CHIP_GAP
    tags = {}
    splines = {}
    for arrow, edge in zip(told, placed["edges"], strict=True):
        w, h = labels[arrow.id]
        x, y = _numbers(edge["lp"]) if w else (-across, down)
        tags[arrow.id] = Place(round(x + across - w / 2, 1), round(down - y - h / 2, 1), w, h)
        splines[arrow.id] = [(x + across, down - y) for x, y in map(_numbers, edge["pos"].split())]
    for arrow in flowing.arrows.values():
        if arrow.id not in splines:
            splines[arrow.id], tags[arrow.id] = swung(places[arrow.source], places[arrow.target], labels[arrow.id])
    ways = routed(flowing, splines, places, tags)
    ways |= {a.id: beside(places[a.source], places[a.target]) for a in scene.arrows.values() if a.kind == "beside"}
    regions = [box.id for box in scene.boxes.values() if box.kind == "region"]
    for id, bb in zip(regions, placed["regions"], strict=True):
        x0, y0, x1, y1 = _numbers(bb)
        places[id] = Place(round(x0 + across, 1), round(down - y1, 1), round(x1 - x0, 1), round(y1 - y0, 1))
    # A label brought near its arrow may have left Graphviz's frame.
    labels_at = [(way.label.x, way.label.x + way.label.w) for way in ways.values() if way.label.w]
    shift = max(0.0, *(_LABEL_MARGIN - start for start, _ in labels_at), 0.0)
    width = max(width, right - left + 2 * MARGIN, *(end + _LABEL_MARGIN for _, end in labels_at), 0.0)
    ways |= related(scene, places | strip, [way.label for way in ways.values() if way.label.w], width)
    return Layout(
        round(width + shift),
        round(top - bottom + 2 * MARGIN + _top(strip)),
        {id: strip[id] if id in strip else places[id].moved(shift) for id in scene.boxes},
        {id: ways[id].moved(shift) for id in scene.arrows},
    )


def _chart(scene: Scene) -> Layout:
    """Every box where it says, arrows straight."""
    places = {}
    for box in scene.boxes.values():
        if box.place is None:
            raise ValueError(f"Box {box.id!r} has no place, but others in the scene have one.")
        x, y, w, h = box.place
        places[box.id] = Place(x + MARGIN, y + MARGIN, w, h)
    return Layout(
        round(max(place.x + place.w for place in places.values()) + MARGIN),
        round(max(place.y + place.h for place in places.values()) + MARGIN),
        places,
        {arrow.id: beside(places[arrow.source], places[arrow.target]) for arrow in scene.arrows.values()},
    )


def _strip(scene: Scene, boxes: dict[str, Size]) -> tuple[dict[str, Place], float]:
    """The places of the levels, side by side along the picture's upper edge, and how wide that is."""
    places, x = {}, float(MARGIN)
    for box in scene.boxes.values():
        if box.kind == "level":
            places[box.id] = Place(x, _STRIP_TOP, *boxes[box.id])
            x += boxes[box.id][0] + CHIP_GAP
    return places, x - CHIP_GAP + MARGIN if places else 0.0


def _top(strip: dict[str, Place]) -> float:
    """The height that the strip of levels takes."""
    return _STRIP_TOP + STRIP if strip else 0.0


@dataclass(frozen=True, slots=True)
class _Block:
    """A standing box with the saved tensors hanging on it and its tangents beside it: one node to Graphviz."""

    width: float
    height: float
    chips: list[str]
    stack: float  # the height of the saved tensors, one above the other
    cells: list[tuple[str | None, float]]  # from left to right: a box, or what has no arrows, and the width


def _blocks(scene: Scene, boxes: dict[str, Size]) -> dict[str, _Block]:
    standing = [box for box in scene.boxes.values() if box.holder is None and box.kind not in (*AROUND, "tangent")]
    chips: dict[str, list[str]] = {box.id: [] for box in standing}
    tangents: dict[str, list[str]] = {box.id: [] for box in standing}
    for box in scene.boxes.values():
        if box.holder is not None:
            chips[box.holder].append(box.id)
    for arrow in scene.arrows.values():
        if arrow.kind == "beside" and scene.boxes[arrow.target].kind == "tangent":
            tangents[arrow.source].append(arrow.target)
    # Where there are saved tensors, a tangent at their right would be out of its box's sight.
    left = any(chips[id] and tangents[id] for id in chips)
    blocks = {}
    for id, hanging in chips.items():
        w, h = boxes[id]
        stack = sum(boxes[chip][1] for chip in hanging) + CHIP_GAP * max(0, len(hanging) - 1)
        wide = max((TIE + boxes[chip][0] for chip in hanging), default=0.0)
        cells: list[tuple[str | None, float]] = [(id, w)]
        cells += [(None, wide)] if wide else []
        for tangent in tangents[id]:
            pair = [(None, _BESIDE), (tangent, boxes[tangent][0])]
            cells = [*pair[::-1], *cells] if left else [*cells, *pair]
        width = sum(each for _, each in cells)
        height = max(h, stack, *(boxes[tangent][1] for tangent in tangents[id]), 0.0)
        blocks[id] = _Block(width, height, hanging, stack, cells)
    return blocks


def _block_of(blocks: dict[str, _Block]) -> dict[str, str]:
    return {each: id for id, block in blocks.items() for each, _ in block.cells if each is not None}


def _dot(
    scene: Scene,
    blocks: dict[str, _Block],
    boxes: dict[str, Size],
    labels: dict[str, Size],
    arrows: list[Arrow],
    settings: str,
) -> str:
    """The picture's blocks as Graphviz is told of them: numbers, no text of the picture."""
    port = {}
    lines = []
    inside: dict[str, list[str]] = {box.id: [] for box in scene.boxes.values() if box.kind == "region"}
    for n, (id, block) in enumerate(blocks.items()):
        lines.append(f"{n} [label={_node(id, block)}]")
        port |= {each: f"{n}:{'b' if each == id else f't{at}'}" for at, (each, _) in enumerate(block.cells) if each}
        if (region := scene.boxes[id].region) is not None:
            inside[region].append(str(n))
    for key, arrow in enumerate(arrows):
        w, h = labels[arrow.id]
        label = f", label={_table(_cell(w, h))}" if w else ""
        lines.append(f"{port[arrow.source]}:s -> {port[arrow.target]}:n [key={key}, id={key}{label}]")
    for n, (id, members) in enumerate(inside.items()):
        heading = _table(_cell(*boxes[id]))
        lines.append(f"subgraph cluster_{n} {{ margin=14 labeljust=l label={heading}; {'; '.join(members)} }}")
    graph = f"graph [rankdir=TB, nodesep=0.5, ranksep=0.45, {settings}]\n"
    return "digraph {\n" + graph + _HEAD + "\n".join(lines) + "\n}"


def _node(id: str, block: _Block) -> str:
    height = block.height + 2 * GAP
    ports = [f'PORT="{"b" if each == id else f"t{at}"}"' if each else "" for at, (each, _) in enumerate(block.cells)]
    return _table("".join([_cell(w, height, port) for (_, w), port in zip(block.cells, ports, strict=True)]))


def _table(cells: str) -> str:
    table = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">'
    return f"<{table}<TR>{cells}</TR></TABLE>>"


def _cell(width: float, height: float, more: str = "") -> str:
    return f'<TD FIXEDSIZE="TRUE" WIDTH="{width:.0f}" HEIGHT="{height:.0f}" {more}></TD>'


def _numbers(text: str) -> list[float]:
    return [float(number) for number in text.split(",")]


def _graphviz(dot: str) -> dict[str, Any]:
    """What Graphviz's `dot` makes of this text: in this process, else by a program on the path."""
    try:
        from pygraphviz import AGraph
    except ImportError:
        return _program(dot)
    with _lock:
        return _quietly(_placed, AGraph, dot)


def _placed(graph_class: Any, dot: str) -> dict[str, Any]:
    graph = graph_class(string=dot)
    try:
        graph.layout("dot")
        keyed = sorted(graph.edges(keys=True), key=lambda edge: int(edge[2]))
        edges = [graph.get_edge(*edge) for edge in keyed]
        clusters = [each for each in graph.subgraphs() if (each.name or "").startswith("cluster_")]
        return {
            "bb": graph.graph_attr["bb"],
            "objects": [{"pos": node.attr["pos"]} for node in sorted(graph.nodes(), key=int)],
            "regions": [each.graph_attr["bb"] for each in sorted(clusters, key=lambda each: _number(each.name))],
            "edges": [{"pos": edge.attr["pos"], "lp": edge.attr["lp"]} for edge in edges],
        }
    finally:
        graph.close()


def _program(dot: str) -> dict[str, Any]:
    try:
        import graphviz
    except ImportError:
        raise LayoutUnavailable(_MISSING) from None
    try:
        placed = json.loads(graphviz.pipe("dot", "json0", dot.encode(), quiet=True))
    except graphviz.ExecutableNotFound:
        raise LayoutUnavailable(_MISSING) from None
    placed.get("edges", []).sort(key=lambda edge: int(edge["id"]))
    clusters = [each for each in placed["objects"] if each["name"].startswith("cluster_")]
    clusters.sort(key=lambda each: _number(each["name"]))
    nodes = [each for each in placed["objects"] if each["name"].isdigit()]
    return {"edges": []} | placed | {"objects": nodes, "regions": [each["bb"] for each in clusters]}


def _number(cluster: str) -> int:
    return int(cluster.removeprefix("cluster_"))


def _quietly(function: Callable[..., Any], *args: Any) -> Any:
    """Keep Graphviz's C code from warning about fonts on standard error, which a notebook would show."""
    try:
        kept = os.dup(2)
    except OSError:  # a program without a standard error stream
        return function(*args)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        return function(*args)
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
