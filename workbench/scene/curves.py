"""Rectangles, and the curves between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

PACE = 10  # px between the points of a curve that are looked at

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

    def moved(self, by: float) -> Place:
        """The rectangle so much further right."""
        return replace(self, x=round(self.x + by, 1))

    def meets(self, other: Place) -> bool:
        """Whether the two rectangles have any area in common."""
        return (
            self.x < other.x + other.w
            and other.x < self.x + self.w
            and self.y < other.y + other.h
            and other.y < self.y + self.h
        )


def along(points: list[Point]) -> Iterator[Point]:
    """Points of the curve, a few px apart."""
    for n in range(0, len(points) - 1, 3):
        (x0, y0), *_, (x1, y1) = stretch = points[n : n + 4]
        count = max(4, round((abs(x1 - x0) + abs(y1 - y0)) / PACE))
        for part in range(count + 1):
            yield _on_curve(stretch, part / count)


def _on_curve(points: list[Point], part: float) -> Point:
    (a, s), (b, t), (c, u), (d, v) = points  # de Casteljau
    a, b, c = a + (b - a) * part, b + (c - b) * part, c + (d - c) * part
    s, t, u = s + (t - s) * part, t + (u - t) * part, u + (v - u) * part
    a, b, s, t = a + (b - a) * part, b + (c - b) * part, s + (t - s) * part, t + (u - t) * part
    return a + (b - a) * part, s + (t - s) * part


def touch(ones: Sequence[Place], others: Iterable[Place]) -> bool:
    """Whether any of the ones meets any of the others; most of those are out of reach of them all."""
    left, right = min(one.x for one in ones), max(one.x + one.w for one in ones)
    top, bottom = min(one.y for one in ones), max(one.y + one.h for one in ones)
    near = [o for o in others if o.x < right and left < o.x + o.w and o.y < bottom and top < o.y + o.h]
    return any(one.meets(other) for other in near for one in ones)
