"""Where things stand: Graphviz places boxes of a size we give, so that a layout is the same on every machine.

A node and the saved tensors hanging on it are one block to Graphviz, described as an HTML-like table of
empty cells of fixed size, and so is a label: Graphviz sees no text, so no font of the machine is measured and
no text can mislead it.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .model import Scene
from .routes import GAP, Place, Way, routed
from .sizes import Size

MARGIN = 26  # around the picture: room for the mark and the glow at a box's edge
_LABEL_MARGIN = 12  # around the picture where only a label comes near its edge
TIE = 22  # between a node and the saved tensors hanging on it
CHIP_GAP = 8  # between two saved tensors of one node
# The limits stop the network simplex where more of it takes minutes for a thousand boxes and shows nowhere.
_HEAD = """digraph {
graph [rankdir=TB, nodesep=0.5, ranksep=0.45, splines=true, nslimit=2, nslimit1=2]
node [shape=plain]
edge [dir=none]
"""

_MISSING = (
    "No picture can be drawn because Graphviz is missing: run `pip install pygraphviz`, which brings it "
    "along, or put Graphviz's program `dot` on the PATH."
)

_lock = threading.Lock()  # Graphviz has state of its own, and the standard error stream is every thread's


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
    if not boxes:
        return Layout(2 * MARGIN, 2 * MARGIN, {}, {})
    blocks = _blocks(scene, boxes)
    placed = _graphviz(_dot(scene, blocks, boxes, labels))
    left, bottom, right, top = _numbers(placed["bb"])
    across, down = MARGIN - left, MARGIN + top
    places: dict[str, Place] = {}
    for (id, block), node in zip(blocks.items(), placed["objects"], strict=True):
        w, h = boxes[id]
        middle, level = _numbers(node["pos"])
        x, y = middle + across - block.width / 2, down - level
        places[id] = Place(round(x, 1), round(y - h / 2, 1), w, h)
        y -= block.stack / 2
        for chip in block.chips:
            places[chip] = Place(round(x + w + TIE, 1), round(y, 1), *boxes[chip])
            y += boxes[chip][1] + CHIP_GAP
    tags = {}
    for id, edge in zip(scene.arrows, placed["edges"], strict=True):
        w, h = labels[id]
        x, y = _numbers(edge["lp"]) if w else (-across, down)
        tags[id] = Place(round(x + across - w / 2, 1), round(down - y - h / 2, 1), w, h)
    splines = [
        [(x + across, down - y) for x, y in map(_numbers, edge["pos"].split())] for edge in placed["edges"]
    ]
    ways = routed(scene, splines, places, tags)
    # A label brought near its arrow may have left Graphviz's frame.
    labels_at = [(way.label.x, way.label.x + way.label.w) for way in ways.values() if way.label.w]
    shift = max(0.0, *(_LABEL_MARGIN - start for start, _ in labels_at), 0.0)
    width = max(right - left + 2 * MARGIN, *(end + _LABEL_MARGIN for _, end in labels_at), 0.0)
    return Layout(
        round(width + shift),
        round(top - bottom + 2 * MARGIN),
        {id: places[id].moved(shift) for id in scene.boxes},
        {id: way.moved(shift) for id, way in ways.items()},
    )


@dataclass(frozen=True, slots=True)
class _Block:
    """A standing box with the saved tensors hanging on it: what Graphviz takes for one node."""

    width: float
    height: float
    chips: list[str]
    stack: float  # the height of the saved tensors, one above the other


def _blocks(scene: Scene, boxes: dict[str, Size]) -> dict[str, _Block]:
    chips: dict[str, list[str]] = {id: [] for id, box in scene.boxes.items() if box.holder is None}
    for box in scene.boxes.values():
        if box.holder is not None:
            chips[box.holder].append(box.id)
    blocks = {}
    for id, hanging in chips.items():
        w, h = boxes[id]
        stack = sum(boxes[chip][1] for chip in hanging) + CHIP_GAP * max(0, len(hanging) - 1)
        wide = max((TIE + boxes[chip][0] for chip in hanging), default=0.0)
        blocks[id] = _Block(w + wide, max(h, stack), hanging, stack)
    return blocks


def _dot(scene: Scene, blocks: dict[str, _Block], boxes: dict[str, Size], labels: dict[str, Size]) -> str:
    """The picture's blocks as Graphviz is told of them: numbers, no text of the picture."""
    number = {id: n for n, id in enumerate(blocks)}
    lines = [f"{number[id]} [label={_node(boxes[id][0], block)}]" for id, block in blocks.items()]
    for key, arrow in enumerate(scene.arrows.values()):
        w, h = labels[arrow.id]
        label = f", label={_table(_cell(w, h))}" if w else ""
        lines.append(f"{number[arrow.source]}:b:s -> {number[arrow.target]}:b:n [key={key}, id={key}{label}]")
    return _HEAD + "\n".join(lines) + "\n}"


def _node(w: float, block: _Block) -> str:
    height = block.height + 2 * GAP
    hanging = _cell(block.width - w, height) if block.width > w else ""
    return _table(_cell(w, height, 'PORT="b"') + hanging)


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
    with _lock, _quiet():
        graph = AGraph(string=dot)
        try:
            graph.layout("dot")
            keyed = sorted(graph.edges(keys=True), key=lambda edge: int(edge[2]))
            edges = [graph.get_edge(*edge) for edge in keyed]
            return {
                "bb": graph.graph_attr["bb"],
                "objects": [{"pos": node.attr["pos"]} for node in sorted(graph.nodes(), key=int)],
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
    return {"edges": []} | placed


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Graphviz's C code from warning about fonts on standard error, which a notebook would show."""
    try:
        kept = os.dup(2)
    except OSError:  # a program without a standard error stream
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
