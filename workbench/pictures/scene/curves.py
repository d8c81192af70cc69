"""The curve of an arrow: down from its upper end to its lower one, smooth, and upright at both.

A curve is a list of points, as in an SVG path: those of one cubic Bézier curve after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import atan2, hypot
from typing import Any

from .geometry import GAP, LEAST_FALL, Curve, Point, Rectangle, Walls, on_curve
from .sizes import Size

# px at each end where an arrow is vertical, if there is room: its head then points straight down.
_VERTICAL = 24
_SWING = 40  # px that a stretch of Graphviz's splines may swing out sideways
_SLANT = 1.0  # px sideways at most for each px down where an arrow goes through a region's edge
_RADIUS = 16  # px of a bend: less looks like a corner
# Where two parts of a curve meet, it leads sideways at most so many times as far as the steeper of them does. A flatter
# curve would swing out beyond its points.
_STEEPER = 2.5
_TURNED = 1.0  # radians between two parts of a way from which on it gets a bend
_OFF_TEXT = 6  # px from a box's corner to a straight line that ends at its edge: there it is not at the text
# A curve keeps to the directions at its ends for this share of a part's height.
_REACH = 0.4
_REACH_UPRIGHT = 0.5  # where both ends are upright: there is room for a wide swing
_SHARPER = (0.2, 0.08)  # tried in turn where a box is in the way


@dataclass(frozen=True, slots=True)
class Route:
    """An arrow's Bézier points (1 + 3n of them, from its upper to its lower end) and its label's place.

    Where the label is at the left of the arrow, its text ends at the arrow instead of beginning there.
    """

    points: tuple[Point, ...]
    label: Rectangle
    leftward: bool = False

    def moved(self, right: float, down: float = 0.0) -> Route:
        """Return the route moved right and down."""
        points = tuple((round(x + right, 1), round(y + down, 1)) for x, y in self.points)
        return Route(points, self.label.moved(right, down), self.leftward)

    @property
    def d(self) -> str:
        """Return the points as an SVG path."""
        first, *rest = (f"{x:g},{y:g}" for x, y in self.points)
        return f"M{first} C{' '.join(rest)}"

    def to_dict(self) -> dict[str, Any]:
        label = self.label
        center = {"lx": label.x + label.w / 2, "ly": label.y + label.h / 2}
        return {"d": self.d} | center | {"lw": label.w, "lh": label.h} | ({"left": True} if self.leftward else {})


def straight_between(one: Rectangle, other: Rectangle) -> Route:
    """Return the straight route between two boxes that are side by side, or one above the other."""
    (x, y), (u, v) = ((place.x + place.w / 2, place.y + place.h / 2) for place in (one, other))
    if abs(y - v) < (one.h + other.h) / 2:
        side = 1 if u > x else -1
        x, u = x + side * one.w / 2, u - side * other.w / 2
    else:
        x, u = (min(max(to, box.x + _OFF_TEXT), box.x + box.w - _OFF_TEXT) for box, to in ((one, u), (other, x)))
        y, v = (one.y + one.h, other.y) if v > y else (one.y, other.y + other.h)
    points = tuple((round(x + (u - x) * part, 1), round(y + (v - y) * part, 1)) for part in (0, 1 / 3, 2 / 3, 1))
    return Route(points, Rectangle(x, y, 0.0, 0.0))


def swung(upper: Rectangle, lower: Rectangle, label: Size) -> tuple[list[Point], Rectangle]:
    """Return a spline for an arrow that Graphviz didn't get, with its label at the middle."""
    (x, y), (u, v) = (upper.x + upper.w / 2, upper.y + upper.h + GAP), (lower.x + lower.w / 2, lower.y - GAP)
    middle = round((x + u - label[0]) / 2, 1), round((y + v - label[1]) / 2, 1)
    return smooth([(x, y), (u, v)]), Rectangle(*middle, *label)


def one_way(pieces: Sequence[Route], standing: Walls) -> Route:
    """Return several routes as one, each of which begins about where the one before it ends, with the last one's label.

    If it leads to the same side before and after a frame's edge, it crosses the edge at a slant, given the room.
    """
    points = list(pieces[0].points)
    for piece in pieces[1:]:
        start, near, *rest = piece.points
        points[-1] = start
        if slanting := _slanting(points[-4:], piece.points[:4], standing):
            points[-2], near = slanting
        points += [near, *rest]
    return replace(pieces[-1], points=tuple((round(x, 1), round(y, 1)) for x, y in points))


def _slanting(above: Sequence[Point], below: Sequence[Point], standing: Walls) -> tuple[Point, Point] | None:
    """Return the points next to where two parts of a curve meet, so that it isn't upright there."""
    (x, y), (_, top), (_, foot) = below[0], above[2], below[1]
    slope = min(max(_tangents([above[0], (x, y), below[3]])[1], -_SLANT), _SLANT)
    if not slope:
        return None
    before, after = (x - slope * (y - top), top), (x + slope * (foot - y), foot)
    parts = [*above[:2], before, (x, y)], [(x, y), after, *below[2:]]
    return None if any(standing.swept(part).any() for part in parts) else (before, after)


def smooth(knots: Sequence[Point], boxes: Curve | None = None) -> list[Point]:
    """Return a curve down through these points that never swings out; where a box is in its way, it turns sharper."""
    knots = _rounded(knots)
    tangents = _tangents(knots)
    points = [*knots[:1]]
    for (x, y), (u, v), one, other in zip(knots, knots[1:], tangents, tangents[1:], strict=False):
        piece: list[Point] = []
        for part in (_REACH if one or other else _REACH_UPRIGHT, *_SHARPER):
            reach = (v - y) * part
            piece = [(x, y), (x + one * reach, y + reach), (u - other * reach, v - reach), (u, v)]
            if boxes is None or not on_curve(piece, boxes).any():
                break
        points += piece[1:]
    return points


def _tangents(knots: Sequence[Point]) -> list[float]:
    """Return how far to the right a curve leads per px down at each of these points: 0 at an end, or where it turns."""
    slopes = [(u - x) / max(v - y, LEAST_FALL) for (x, y), (u, v) in pairwise(knots)]
    middle = [min(_STEEPER * min(a, b, key=abs), (a + b) / 2, key=abs) * (a * b > 0) for a, b in pairwise(slopes)]
    return [0.0, *middle, 0.0]


def _rounded(knots: Sequence[Point]) -> list[Point]:
    """Return the points, with two for each corner between nearly level and straight down."""
    points, tangents = [*knots[:1]], _tangents(knots)
    for (a, b), (x, y), (u, v), tangent in zip(knots, knots[1:], knots[2:], tangents[1:], strict=False):
        into, out = hypot(x - a, y - b), hypot(u - x, v - y)
        turn = abs(atan2(x - a, y - b) - atan2(u - x, v - y))
        if tangent or turn < _TURNED:
            points.append((x, y))
            continue
        radius = min(_RADIUS, into / 2, out / 2)
        points.append((x - (x - a) * radius / into, y - (y - b) * radius / into))
        points.append((x + (u - x) * radius / out, y + (v - y) * radius / out))
    return [*points, *knots[-1:]]


def calmed(points: list[Point]) -> list[Point]:
    """Return the points, with no stretch swinging far beyond its ends, as Graphviz sometimes lets one do."""
    calm = points[:1]
    for n in range(0, len(points) - 1, 3):
        (x0, y0), *controls, (x1, y1) = points[n : n + 4]
        left, right = min(x0, x1) - _SWING, max(x0, x1) + _SWING
        top, bottom = min(y0, y1) - _SWING, max(y0, y1) + _SWING
        calm += [(min(max(x, left), right), min(max(y, top), bottom)) for x, y in controls]
        calm.append((x1, y1))
    return calm


def led_up(points: list[Point], start: float, end: float) -> list[Point]:
    """Return the points, but straight to where Graphviz ended them.

    That is the edge of a block, which saved tensors may make higher than the box they hang on: beside them
    nothing is in the way.
    """
    (x0, y0), *_, (x1, y1) = points
    before = _straight((x0, start), (x0, y0)) if y0 - start > 1 else []
    after = _straight((x1, end), (x1, y1))[::-1] if end - y1 > 1 else []
    return [*before, *_direct(points, y0 if before else start, y1 if after else end), *after]


def _direct(points: list[Point], start: float, end: float) -> list[Point]:
    """Return the points with their ends at the levels `start` and `end`, and vertical there."""
    (x0, y0), *middle, (x1, y1) = points
    room = min(_VERTICAL, (end - start) / 3)
    middle[0] = (x0, max(middle[0][1], y0 + room))
    middle[-1] = (x1, min(middle[-1][1], y1 - room))
    return [(x0, start), *middle, (x1, end)]


def _straight(start: Point, end: Point) -> list[Point]:
    """Return the Bézier points of a straight line, without the last."""
    (x, y), (u, v) = start, end
    return [(x + (u - x) * part, y + (v - y) * part) for part in (0, 1 / 3, 2 / 3)]
