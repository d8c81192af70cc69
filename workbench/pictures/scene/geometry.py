"""Rectangles and curves of a picture, in px, and which of them meet: many are looked at at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

MARGIN = 18  # px around the picture: room for the mark and the glow at a box's edge
GAP = 3  # px between a box and the end of an arrow's line; an arrow's head bridges it
LEAST_FALL = 0.001  # px that a line leads down at least: a level one has no slope
PACE = 10  # px between the points of a curve that are looked at

Point = tuple[float, float]
Curve = npt.NDArray[np.float64]  # points of it, one a row


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A rectangle: the upper left corner and the size."""

    x: float
    y: float
    w: float
    h: float

    def to_dict(self) -> dict[str, float]:
        return asdict(self)

    def moved(self, right: float, down: float = 0.0) -> Rectangle:
        """Return the rectangle moved right and down."""
        return Rectangle(round(self.x + right, 1), round(self.y + down, 1), self.w, self.h)

    def gap(self, other: Rectangle) -> float:
        """Return the horizontal distance of two rectangles; it is negative if they overlap."""
        return max(self.x - other.x - other.w, other.x - self.x - self.w)

    def meets(self, other: Rectangle) -> bool:
        """Return True if the two rectangles share any area."""
        return (
            self.x < other.x + other.w
            and other.x < self.x + self.w
            and self.y < other.y + other.h
            and other.y < self.y + self.h
        )


def along(points: Sequence[Point]) -> Curve:
    """Points of the curve, a few px apart."""
    knots = np.array(points)
    pieces: list[Curve] = []
    for n in range(0, len(points) - 1, 3):
        (x, y), (u, v) = points[n], points[n + 3]
        weights = bernstein(max(4, round((abs(u - x) + abs(v - y)) / PACE)))
        pieces.append(knots[n] + weights[:, 1:] @ (knots[n + 1 : n + 4] - knots[n]))  # a level or upright one stays so
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


@lru_cache(maxsize=1024)
def bernstein(count: int) -> Curve:
    """Return the weights of the four points of a curve's part, at its ends and at `count` steps in between."""
    part: Curve = np.linspace(0.0, 1.0, count + 1)[:, None]
    found: Curve = (1, 3, 3, 1) * part ** (0, 1, 2, 3) * (1 - part) ** (3, 2, 1, 0)
    return found


def crossed(starts: Curve, ends: Curve, rects: Curve) -> npt.NDArray[np.bool_]:
    """Return which lines, each leading down, cross which rectangles."""
    (x, y), (u, v) = starts.T[:, :, None], ends.T[:, :, None]
    v = np.maximum(v, y + LEAST_FALL)
    left, top, right, foot = rects.T
    first, last = np.maximum(y, top), np.minimum(v, foot)
    slope = (u - x) / (v - y)
    a, b = x + (first - y) * slope, x + (last - y) * slope
    return (first < last) & (np.maximum(a, b) > left) & (np.minimum(a, b) < right)


def on_line(line: Curve, rects: Curve) -> npt.NDArray[np.bool_]:
    """Return which of the rectangles a polyline crosses."""
    found: npt.NDArray[np.bool_] = np.any(crossed(line[:-1], line[1:], rects), axis=0)
    return found


def on_curve(curve: Sequence[Point], rects: Curve) -> npt.NDArray[np.bool_]:
    """Return which of the rectangles a curve crosses."""
    across, down = zip(*curve, strict=True)
    found = (rects[:, 0] < max(across)) & (min(across) < rects[:, 2])
    found &= (rects[:, 1] < max(down)) & (min(down) < rects[:, 3])
    if found.any():
        found[found] = on_line(along(curve), rects[found])
    return found


class Walls:
    """Rectangles that others, and curves, may meet; all are looked at at once."""

    def __init__(self, places: Iterable[Rectangle]) -> None:
        ends = [(place.x, place.y, place.x + place.w, place.y + place.h) for place in places]
        self._ends = np.array(ends).reshape(-1, 4).T

    def __setitem__(self, number: int, place: Rectangle) -> None:
        """Put one of them elsewhere."""
        self._ends[:, number] = place.x, place.y, place.x + place.w, place.y + place.h

    def met(self, left: Any, top: Any, right: Any, bottom: Any) -> npt.NDArray[np.bool_]:
        """Return which of them share any area with a rectangle, or each with its own one."""
        own_left, own_top, own_right, own_bottom = self._ends
        return (own_left < right) & (left < own_right) & (own_top < bottom) & (top < own_bottom)

    def swept(self, curve: Sequence[Point]) -> npt.NDArray[np.bool_]:
        """Return which of them a curve crosses."""
        return on_curve(curve, self._ends.T)
