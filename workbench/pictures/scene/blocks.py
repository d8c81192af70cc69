"""Blocks: Graphviz places a node and the saved tensors attached to it as one, with its tangents next to them.

A block, a region and a label are passed to Graphviz as an HTML-like table of empty cells of fixed size: it sees no
text, so it doesn't measure the machine's fonts, and text can't mislead it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from .geometry import GAP, Rectangle
from .model import AROUND, ASIDE, Scene
from .regions import RegionOutline
from .sizes import Size

TIE = 22  # px between a node and the saved tensors hanging on it: room for the line that ties them
_SKIP = 18  # px at the right of a closed group that a skip is drawn around
CHIP_GAP = 6  # px between two small boxes: saved tensors of one node, or levels
BESIDE = 36  # px between a box and what is next to it: its tangent, or a story
PORT = 4  # px: the width of the cell where an arrow goes through a region
_TABLE = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">'


@dataclass(frozen=True, slots=True)
class Block:
    """A box with the saved tensors attached to it and its tangents next to it: one node for Graphviz."""

    width: float
    height: float
    chips: tuple[tuple[str, Size], ...]
    stack: float  # the height of the saved tensors, one above the other
    cells: tuple[tuple[str | None, Size], ...]  # from left to right: a box, or what has no arrows (without a height)
    closed: bool = False  # a group, so the arrows into it are in no order of arguments

    @property
    def beside(self) -> float:
        """Return the room at its right end that no box needs."""
        return self.cells[-1][1][0] if self.cells[-1][0] is None and not self.chips else 0.0

    @property
    def ids(self) -> list[str]:
        """Return all boxes in it."""
        return [id for id, _ in (*self.cells, *self.chips) if id is not None]

    def numbered(self, number: Mapping[str, str]) -> Block:
        """Return the block with numbers instead of names."""
        chips = tuple([(number[id], size) for id, size in self.chips])
        cells = tuple([(None if id is None else number[id], size) for id, size in self.cells])
        return replace(self, chips=chips, cells=cells)


def blocks_of(scene: Scene, boxes: Mapping[str, Size]) -> dict[str, Block]:
    """Return the blocks of a scene whose boxes have these sizes, by node."""
    chips, tangents = _attached(scene)
    # Where there are saved tensors, a tangent at their right would be out of its box's sight.
    left = any(chips[id] and tangents[id] for id in chips)
    return {
        id: replace(
            _block(id, hanging, tangents[id], boxes, left, _SKIP if scene.boxes[id].skips else 0.0),
            closed=scene.boxes[id].kind == "group",
        )
        for id, hanging in chips.items()
    }


def _attached(scene: Scene) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return what is attached to each node, and what is placed next to it, including a story about the node."""
    standing = [box for box in scene.boxes.values() if box.holder is None and box.kind not in (*AROUND, *ASIDE)]
    chips: dict[str, list[str]] = {box.id: [] for box in standing}
    tangents: dict[str, list[str]] = {box.id: [] for box in standing}
    for box in scene.boxes.values():
        if box.holder is not None:
            chips[box.holder].append(box.id)
    for arrow in scene.arrows.values():
        if arrow.kind == "beside" and scene.boxes[arrow.target].kind in ASIDE:
            tangents[arrow.source].append(arrow.target)
    for box in standing:
        if box.kind == "story" and box.refers in tangents:
            tangents[box.refers].append(box.id)
            del chips[box.id]
    return chips, tangents


def _block(id: str, chips: list[str], tangents: list[str], boxes: Mapping[str, Size], left: bool, skip: float) -> Block:
    """Return a node with its attachments, and its tangents on its right, or on its left; `skip` is the room of one."""
    stack = sum(boxes[chip][1] for chip in chips) + CHIP_GAP * max(0, len(chips) - 1)
    wide = max((TIE + boxes[chip][0] for chip in chips), default=skip)
    cells: list[tuple[str | None, Size]] = [(id, boxes[id])]
    cells += [(None, (wide, 0.0))] if wide else []
    for tangent in tangents:
        pair = [(None, (float(BESIDE), 0.0)), (tangent, boxes[tangent])]
        cells = [*pair[::-1], *cells] if left else [*cells, *pair]
    width = sum(each for _, (each, _) in cells)
    height = max(stack, *(each for _, (_, each) in cells))
    return Block(width, height, tuple([(chip, boxes[chip]) for chip in chips]), stack, tuple(cells))


def stand(id: str, block: Block, x: float, y: float, places: dict[str, Rectangle]) -> None:
    """Place a block's boxes, with the block's middle at this point."""
    x -= block.width / 2
    for each, (w, h) in block.cells:
        if each is not None:
            places[each] = Rectangle(round(x, 1), round(y - h / 2, 1), w, h)
        x += w
    x, y = places[id].x + places[id].w + TIE, y - block.stack / 2
    for chip, (w, h) in block.chips:
        places[chip] = Rectangle(round(x, 1), round(y, 1), w, h)
        y += h + CHIP_GAP


@dataclass(frozen=True, slots=True)
class Tables:
    """Describe the contents of a part to Graphviz: a table for each, and the cells where arrows enter."""

    texts: dict[str, str]
    cells: dict[str, str]  # box -> the cell of its block's table
    ports: dict[tuple[str, str, str], str]  # region, "in" or "out", value -> the node of the region, and its cell


def tables(inside: Iterable[str], blocks: Mapping[str, Block], regions: Mapping[str, RegionOutline]) -> Tables:
    """Return the tables of blocks and regions, which are the nodes 0, 1, and so on."""
    told = Tables({}, {}, {})
    for n, id in enumerate(inside):
        if id in regions:
            told.texts[id] = _region_table(n, id, regions[id], told.ports)
        else:
            told.texts[id] = _block_table(id, blocks[id], told.cells)
    return told


def _block_table(id: str, block: Block, cells: dict[str, str]) -> str:
    """Return a row of cells as high as the block: one for each box that takes arrows, and one for each gap."""
    height = block.height + 2 * GAP
    row: list[str] = []
    for at, (each, (w, _)) in enumerate(block.cells):
        if each is None:
            row.append(cell(w, height))
            continue
        name = "b" if each == id else f"t{at}"
        cells[each] = f":{name}"
        row.append(cell(w, height, f'PORT="{name}"'))
    return table_of("".join(row))


def _region_table(n: int, id: str, region: RegionOutline, ports: dict[tuple[str, str, str], str]) -> str:
    """Three rows: cells along the upper edge where values come in, the inside, and cells where they leave."""
    rows: list[str] = []
    for letter, way, spots in (("i", "in", region.entries), ("o", "out", region.exits)):
        row: list[str] = []
        at = 0
        for k, (value, x) in enumerate(sorted(spots, key=lambda spot: spot[1])):
            left = max(at, round(x - PORT / 2))
            row += [cell(left - at, 1)] if left > at else []
            row.append(cell(PORT, 1, f'PORT="{letter}{k}"'))
            at = left + PORT
            ports[id, way, value] = f"{n}:{letter}{k}"
        row += [cell(region.width - at, 1)] if at < region.width else []
        rows.append(f"<TR><TD>{_TABLE}<TR>{''.join(row)}</TR></TABLE></TD></TR>")
    rows.insert(1, f"<TR>{cell(region.width, region.height - 2)}</TR>")
    return f"<{_TABLE}{''.join(rows)}</TABLE>>"


def table_of(cells: str) -> str:
    """Return a table of one row."""
    return f"<{_TABLE}<TR>{cells}</TR></TABLE>>"


def cell(width: float, height: float, more: str = "") -> str:
    """Return an empty cell of fixed size."""
    return f'<TD FIXEDSIZE="TRUE" WIDTH="{width:.0f}" HEIGHT="{height:.0f}" {more}></TD>'
