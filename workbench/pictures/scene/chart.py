"""A chart: its boxes have given places; where rows are closed, those below move up."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from .geometry import MARGIN, Rectangle
from .model import Scene

_BELOW = 2  # px below the last row


def is_chart(scene: Scene) -> bool:
    """Return True if every box has a place."""
    return any(box.place for box in scene.boxes.values())


def places_of(scene: Scene) -> dict[str, Rectangle]:
    """Return the place of each box; ValueError names a box that has none."""
    places: dict[str, Rectangle] = {}
    for box in scene.boxes.values():
        if box.place is None:
            raise ValueError(f"Box {box.id!r} has no place, but others in the scene have one.")
        x, y, w, h = box.place
        places[box.id] = Rectangle(x + MARGIN, y + MARGIN, w, h)
    return places


def closed_up(whole: Scene, seen: Scene) -> Scene:
    """Return the visible part of a chart, without the space of hidden rows; `rows.js` does the same."""
    names = [(box.place[1], box) for box in whole.boxes.values() if box.kind == "name" and box.place]
    names.sort(key=lambda name: name[0])
    ends = [below for _, (below, _) in pairwise(names)]
    ends += [box.place[1] + box.place[3] + _BELOW for _, box in names[-1:] if box.place]
    cuts = [(top, end) for (top, box), end in zip(names, ends, strict=True) if box.id not in seen.boxes]

    def up(y: float) -> float:
        return y - sum([max(0.0, min(y, end) - top) for top, end in cuts])

    boxes = dict(seen.boxes)
    for id, box in boxes.items():
        if box.place is not None and cuts:
            x, y, w, h = box.place
            high = up(y + h) - up(y) if box.kind == "frame" else h  # that is around several rows
            boxes[id] = replace(box, place=(x, up(y), w, high))
    return Scene(seen.title, boxes, seen.arrows)
