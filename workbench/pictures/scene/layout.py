"""The places of everything: the parts of a picture, which are nested, and what is around them.

The phases: nesting (`regions.py`), a node with its saved tensors as one block (`blocks.py`), the question to Graphviz
for each part (`dot.py`, with only the arrows that count if there are many: `rows.py`), its answer (`engines.py`), read
back (`reading.py`) with the routes of arrows (`routes.py`, `obstacles.py`, `curves.py`) and labels (`label_places.py`).
All sizes are ours, so a layout is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .blocks import BESIDE, CHIP_GAP, blocks_of
from .chart import is_chart, places_of
from .curves import Route, one_way, straight_between
from .engines import LayoutUnavailable as LayoutUnavailable  # what laying out may raise
from .geometry import MARGIN, Point, Rectangle, Walls
from .model import Box, Scene
from .region_layouts import region_layouts
from .regions import RegionLayout, Regions
from .relations import EDGE, related
from .sizes import STRIP, Size

_LABEL_MARGIN = 12  # px around the picture where only a label comes near its edge: nothing glows there
_NEAR = 220  # px between a story at the picture's side and what it is about: in a window both are in sight
_STRIP_TOP = 12.0  # px above the strip of levels


@dataclass(frozen=True, slots=True)
class Layout:
    """All places, in px; y grows downwards."""

    width: float
    height: float
    boxes: dict[str, Rectangle]
    arrows: dict[str, Route]

    @property
    def size(self) -> tuple[float, float]:
        """Return the width and the height."""
        return self.width, self.height


def laid_out(scene: Scene, boxes: dict[str, Size], labels: dict[str, Size]) -> Layout:
    """Return the layout of the scene's boxes and arrow labels of these sizes, with values flowing down.

    Errors: LayoutUnavailable.
    """
    if is_chart(scene):
        return chart_layout(scene)
    for story in [box for box in scene.boxes.values() if box.kind == "story"]:
        others = {id: box for id, box in scene.boxes.items() if id != story.id}
        found = _beside(laid_out(replace(scene, boxes=others), boxes, labels), story, boxes[story.id])
        # If the picture's side is too far away, the story is next to its box, like a tangent.
        if story.refers not in found.boxes or found.boxes[story.id].gap(found.boxes[story.refers]) <= _NEAR:
            return found
    strip, width = _strip(scene, boxes)
    top = _STRIP_TOP + STRIP if strip else 0.0
    blocks = blocks_of(scene, boxes)
    if not blocks:
        return Layout(max(width, 2 * MARGIN), 2 * MARGIN + top, strip, {})
    regions = Regions(scene)
    layouts = region_layouts(regions, blocks, boxes, labels)
    places, corners = _in_picture(regions, layouts, (MARGIN, MARGIN + top))
    ways = _whole_ways(regions, layouts, places, corners, boxes)
    ways |= {
        a.id: straight_between(places[a.source], places[a.target]) for a in scene.arrows.values() if a.kind == "beside"
    }
    # A label brought near its arrow may have left Graphviz's frame.
    labels_at = [(way.label.x, way.label.x + way.label.w) for way in ways.values() if way.label.w]
    shift = max(0.0, *(_LABEL_MARGIN - start for start, _ in labels_at), 0.0)
    whole = layouts[None]
    width = max(width, whole.width + 2 * MARGIN, *(end + _LABEL_MARGIN for _, end in labels_at), 0.0)
    lines = related(scene, places | strip, [way.label for way in ways.values() if way.label.w], width)
    ways |= lines
    width = max(width, *(x + EDGE for way in lines.values() for x, _ in way.points), 0.0)
    return Layout(
        round(width + shift),
        round(whole.height + 2 * MARGIN + top),
        {id: strip[id] if id in strip else places[id].moved(shift) for id in scene.boxes},
        {id: ways[id].moved(shift) for id in scene.arrows},
    )


def _in_picture(
    regions: Regions, layouts: Mapping[str | None, RegionLayout], corner: Point
) -> tuple[dict[str, Rectangle], dict[str | None, Point]]:
    """Return the places of all boxes in the picture, and the upper left corner of each of its parts."""
    places: dict[str, Rectangle] = {}
    corners: dict[str | None, Point] = {None: corner}
    for region in regions.order:
        x, y = corners[region]
        for id, place in layouts[region].places.items():
            places[id] = Rectangle(round(place.x + x, 1), round(place.y + y, 1), place.w, place.h)
            corners[id] = places[id].x, places[id].y
    return places, corners


def _whole_ways(
    regions: Regions,
    layouts: Mapping[str | None, RegionLayout],
    places: Mapping[str, Rectangle],
    corners: Mapping[str | None, Point],
    boxes: Mapping[str, Size],
) -> dict[str, Route]:
    """Return the routes of arrows through all parts, from their pieces in each."""
    drawn = {id: {wire: way.moved(*corners[id]) for wire, way in layout.ways.items()} for id, layout in layouts.items()}
    standing = [place for id, place in places.items() if id not in layouts]
    standing += [replace(place, w=boxes[id][0], h=float(STRIP)) for id, place in places.items() if id in layouts]
    standing += [way.label for each in drawn.values() for way in each.values() if way.label.w]
    walls = Walls(standing)
    return {
        id: one_way([drawn[region][wire] for region, wire in pieces], walls) for id, pieces in regions.pieces.items()
    }


def _beside(layout: Layout, story: Box, size: Size) -> Layout:
    """Return the layout with a story next to it: at the side and the height of the box that the story refers to."""
    (w, h), about = size, layout.boxes.get(story.refers or "")
    height = max(layout.height, h + 2 * MARGIN)
    down = (height - layout.height) / 2
    x, y, gap = layout.width - MARGIN, float(MARGIN), BESIDE if layout.boxes else 0
    right = 0.0
    if about is not None:
        y = min(max(y, about.y + about.h / 2 + down - h / 2), height - MARGIN - h)
        if about.x + about.w / 2 < layout.width / 2:
            x, right = float(MARGIN), w + gap
    return Layout(
        round(layout.width + w + gap),
        round(height),
        {id: place.moved(right, down) for id, place in layout.boxes.items()}
        | {story.id: Rectangle(x if right else x + gap, round(y, 1), w, h)},
        {id: way.moved(right, down) for id, way in layout.arrows.items()},
    )


def chart_layout(scene: Scene) -> Layout:
    """Place every box where it says, with straight arrows."""
    places = places_of(scene)
    return Layout(
        round(max(place.x + place.w for place in places.values()) + MARGIN),
        round(max(place.y + place.h for place in places.values()) + MARGIN),
        places,
        {arrow.id: straight_between(places[arrow.source], places[arrow.target]) for arrow in scene.arrows.values()},
    )


def _strip(scene: Scene, boxes: dict[str, Size]) -> tuple[dict[str, Rectangle], float]:
    """Return the places of the levels, side by side along the picture's upper edge, and their total width."""
    places: dict[str, Rectangle] = {}
    x = float(MARGIN)
    for box in scene.boxes.values():
        if box.kind == "level":
            places[box.id] = Rectangle(x, _STRIP_TOP, *boxes[box.id])
            x += boxes[box.id][0] + CHIP_GAP
    return places, x - CHIP_GAP + MARGIN if places else 0.0
