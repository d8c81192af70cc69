"""The ways of arrows: Graphviz's splines, brought to the boxes, set apart there, and eased where there is room."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from .model import Scene

GAP = 3  # px between a box and the end of an arrow's line; an arrow's head bridges it
_APART = 22  # between the ends of arrows that meet at one box, if there is room
_CORNER = 14  # of a box's edge, where no arrow may end
_VERTICAL = 24  # how far an arrow's ends keep to the vertical, if there is room
_STRETCH = 40  # how far from its end an arrow's direction is judged
_MOST_EASED = 300  # boxes; in a larger picture looking for room would take longer than the layout

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Place:
    """A rectangle: the upper left corner and the size."""

    x: float
    y: float
    w: float
    h: float

    def to_dict(self) -> dict[str, float]:
        return asdict(self)

    def meets(self, other: Place) -> bool:
        """Whether the two rectangles have any area in common."""
        return (
            self.x < other.x + other.w
            and other.x < self.x + self.w
            and self.y < other.y + other.h
            and other.y < self.y + self.h
        )


@dataclass(frozen=True, slots=True)
class Way:
    """An arrow's Bézier points (1 + 3n of them, from its upper to its lower end) and its label's place."""

    points: tuple[Point, ...]
    label: Place

    @property
    def d(self) -> str:
        """The points as an SVG path."""
        first, *rest = (f"{x:g},{y:g}" for x, y in self.points)
        return f"M{first} C{' '.join(rest)}"

    def to_dict(self) -> dict[str, Any]:
        label = self.label
        centre = {"lx": label.x + label.w / 2, "ly": label.y + label.h / 2}
        return {"d": self.d} | centre | {"lw": label.w, "lh": label.h}


def routed(
    scene: Scene, splines: Sequence[list[Point]], places: dict[str, Place], labels: dict[str, Place]
) -> dict[str, Way]:
    """The way of every arrow, from the splines Graphviz laid around the boxes and labels."""
    paths = {}
    for arrow, spline in zip(scene.arrows.values(), splines, strict=True):
        points = _drawn_out(spline, places[arrow.source], places[arrow.target])
        # Beside a label Graphviz has already led the arrow with care.
        if not labels[arrow.id].w and len(places) <= _MOST_EASED:
            room = _room(points[0], points[-1])
            if not any(map(room.meets, (*places.values(), *labels.values()))):
                points = _eased(points)
        paths[arrow.id] = points
    _spread(scene, paths, places)
    return {
        id: Way(tuple((round(x, 1), round(y, 1)) for x, y in points), labels[id])
        for id, points in paths.items()
    }


def _drawn_out(points: list[Point], upper: Place, lower: Place) -> list[Point]:
    """The points with both ends at their boxes and vertical there.

    Graphviz ends them at a block's edge, which saved tensors may make higher than the box they hang on.
    """
    (x0, y0), *middle, (x1, y1) = points
    start, end = upper.y + upper.h + GAP, lower.y - GAP
    room = min(_VERTICAL, (end - start) / 3)
    middle[0] = (x0, max(middle[0][1], y0 + room))
    middle[-1] = (x1, min(middle[-1][1], y1 - room))
    return [(x0, start), *middle, (x1, end)]


def _eased(points: list[Point]) -> list[Point]:
    """The calmest curve between the same ends: an S."""
    (x0, y0), (x1, y1) = points[0], points[-1]
    half = (y0 + y1) / 2
    return [(x0, y0), (x0, half), (x1, half), (x1, y1)]


def _room(start: Point, end: Point) -> Place:
    (x0, y0), (x1, y1) = start, end
    return Place(min(x0, x1), min(y0, y1), abs(x1 - x0), abs(y1 - y0))


def _spread(scene: Scene, paths: dict[str, list[Point]], places: dict[str, Place]) -> None:
    """Set the ends of the arrows that meet at one box side by side, in the order in which they come."""
    leaving, arriving = defaultdict(list), defaultdict(list)
    for arrow in scene.arrows.values():
        leaving[arrow.source].append(paths[arrow.id])
        arriving[arrow.target].append(paths[arrow.id])
    for ends, way, near in ((leaving, 1, (0, 1)), (arriving, -1, (-1, -2))):
        for id, meeting in ends.items():
            meeting.sort(key=lambda points, way=way: _course(points[::way]))
            apart = min(_APART, (places[id].w - 2 * _CORNER) / max(1, len(meeting) - 1))
            for n, points in enumerate(meeting):
                shift = (n - (len(meeting) - 1) / 2) * apart
                for at in near:
                    points[at] = (points[at][0] + shift, points[at][1])


def _course(points: list[Point]) -> float:
    """How far to the right an arrow's first stretch leads."""
    (x, y), *_ = points
    for n in range(0, len(points) - 1, 3):
        for part in (0.25, 0.5, 0.75, 1.0):
            u, v = _on_curve(points[n : n + 4], part)
            if abs(v - y) >= _STRETCH:
                return u - x
    return points[-1][0] - x


def _on_curve(points: list[Point], part: float) -> Point:
    while len(points) > 1:  # de Casteljau
        points = [(x + (u - x) * part, y + (v - y) * part) for (x, y), (u, v) in pairwise(points)]
    return points[0]
