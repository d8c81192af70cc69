"""Regions: the contents of each group of a picture, and the pieces of arrows' routes there.

The contents of a group or region are laid out on their own, and are then one box of that size among their surroundings:
one large layout becomes many small ones. An arrow's route consists of pieces, one for each part that it crosses. It
enters a region from above by its value's port, and leaves it below.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .curves import Route
from .geometry import Point, Rectangle
from .model import ASIDE, LOOSE, Arrow, Scene, paths
from .rows import depths


@dataclass(frozen=True, slots=True)
class Wire:
    """A piece of arrows' routes in one part of the picture: from a box, or the port of a value (None), to another."""

    start: str | None
    end: str | None
    value: str  # the box that makes the value
    arrow: str | None = None  # that ends here; where the way leads on through a region, it is that of all the value's

    def numbered(self, number: Mapping[str, str], own: int) -> Wire:
        """Return the wire with numbers instead of names."""
        start, end = (None if id is None else number[id] for id in (self.start, self.end))
        return Wire(start, end, number[self.value], str(own))


@dataclass(frozen=True, slots=True)
class RegionOutline:
    """What a nested part of the picture is to the part around it: its size, and where values enter and leave."""

    width: float
    height: float
    entries: tuple[tuple[str, float], ...]
    exits: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class RegionLayout:
    """One part of the picture laid out by itself, from its own upper left corner."""

    width: float
    height: float
    places: dict[str, Rectangle]
    ways: dict[Wire, Route]
    entries: dict[str, float] = field(default_factory=dict)  # value -> how far right it enters at the upper edge
    exits: dict[str, float] = field(default_factory=dict)  # and leaves at the lower

    def numbered(self, number: Mapping[str, str]) -> RegionOutline:
        """Return the region as the part around it sees it, with numbers instead of names."""
        entries, exits = (tuple([(number[id], x) for id, x in each.items()]) for each in (self.entries, self.exits))
        return RegionOutline(self.width, self.height, entries, exits)

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as JSON-native values: boxes' corners; the ends, value, arrow and route of each piece.

        A route's points are in whole px, each relative to the one before it.
        """
        return {
            "w": round(self.width),
            "h": round(self.height),
            "boxes": {id: [round(place.x), round(place.y)] for id, place in self.places.items()},
            "wires": [
                [wire.start, wire.end, wire.value, wire.arrow, _steps(way.points), *_tag(way)]
                for wire, way in self.ways.items()
            ],
            "in": {value: round(x) for value, x in self.entries.items()},
            "out": {value: round(x) for value, x in self.exits.items()},
        }


def _steps(points: Iterable[Point]) -> list[int]:
    """Return the distance of each point from the one before it, in whole px."""
    steps: list[int] = []
    before = (0, 0)
    for x, y in points:
        here = round(x), round(y)
        steps += [here[0] - before[0], here[1] - before[1]]
        before = here
    return steps


def _tag(way: Route) -> list[int]:
    """Return the position of a route's label, if it has one, and whether it is on the left."""
    label = way.label
    return [round(each) for each in (label.x, label.y, label.w, label.h, way.leftward)] if label.w else []


class Regions:
    """Hold the contents of each region of a scene (None: the whole picture), and the pieces of arrows' routes there."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.order: list[str | None] = [None]  # the outer ones first
        self.inside: dict[str | None, list[str]] = {None: []}
        self.wires: dict[str | None, dict[Wire, list[str]]] = {None: {}}  # with the arrows that they are a piece of
        self.pieces: dict[str, list[tuple[str | None, Wire]]] = {}
        self.ending: dict[str, list[str]] = {}  # region -> values whose arrows end at its frame
        flowing = [arrow for arrow in scene.arrows.values() if arrow.kind not in LOOSE]
        self.depth = dict.fromkeys(scene.boxes, 0) | depths((arrow.source, arrow.target) for arrow in flowing)
        path = paths(scene)
        holding = dict.fromkeys(box.region for box in scene.boxes.values() if box.region is not None)
        for id, box in scene.boxes.items():
            if box.holder is None and box.kind not in ("level", *ASIDE) and (box.kind != "region" or id in holding):
                self.inside.setdefault(box.region, []).append(id)
        for id in sorted(holding, key=lambda id: len(path[id])):
            self.order.append(id)
            self.wires[id], self.ending[id] = {}, []
        for arrow in flowing:
            self._lead(arrow, [*path[arrow.source], arrow.source], [*path[arrow.target], arrow.target])

    def _lead(self, arrow: Arrow, upper: list[str], lower: list[str]) -> None:
        """Divide an arrow's way among the regions that it leads through."""
        common = 0
        while upper[common] == lower[common] and common < min(len(upper), len(lower)) - 1:
            common += 1
        value = arrow.source
        pieces: list[tuple[str | None, Wire]] = []
        for depth in range(len(upper) - 1, common, -1):
            pieces.append((upper[depth - 1], Wire(upper[depth], None, value)))
        last = common == len(lower) - 1
        home = upper[common - 1] if common else None
        pieces.append((home, Wire(upper[common], lower[common], value, arrow.id if last else None)))
        for depth in range(common + 1, len(lower)):
            last = depth == len(lower) - 1
            pieces.append((lower[depth - 1], Wire(None, lower[depth], value, arrow.id if last else None)))
        if arrow.target in self.ending and value not in self.ending[arrow.target]:
            self.ending[arrow.target].append(value)
        for region, wire in pieces:
            self.wires[region].setdefault(wire, []).append(arrow.id)
        self.pieces[arrow.id] = pieces
