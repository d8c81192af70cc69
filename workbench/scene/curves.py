"""Rectangles, and the curves between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt

PACE = 10  # px between the points of a curve that are looked at

Point = tuple[float, float]
Curve = npt.NDArray[np.float64]  # points of it, one a row


@dataclass(frozen=True, slots=True)
class Place:
    """A rectangle: the upper left corner and the size."""

    x: float
    y: float
    w: float
    h: float

    def to_dict(self) -> dict[str, float]:
        return asdict(self)

    def moved(self, right: float, down: float = 0.0) -> Place:
        """The rectangle so much further right and down."""
        return replace(self, x=round(self.x + right, 1), y=round(self.y + down, 1))

    def meets(self, other: Place) -> bool:
        """Whether the two rectangles have any area in common."""
        return (
            self.x < other.x + other.w
            and other.x < self.x + self.w
            and self.y < other.y + other.h
            and other.y < self.y + self.h
        )


def along(points: Sequence[Point]) -> Curve:
    """Points of the curve, a few px apart."""
    parts = []
    for n in range(0, len(points) - 1, 3):
        a, b, c, d = np.array(points[n : n + 4])
        count = max(4, round(float(abs(d - a).sum()) / PACE))
        part = np.arange(count + 1)[:, None] / count
        a, b, c = a + (b - a) * part, b + (c - b) * part, c + (d - c) * part  # de Casteljau
        a, b = a + (b - a) * part, b + (c - b) * part
        parts.append(a + (b - a) * part)
    return np.concatenate(parts)


def strikes(curve: Curve, others: Iterable[Place], sideways: float = 1) -> bool:
    """Whether the curve leads through any of the others, or so close to one's side."""
    (left, top), (right, bottom) = (curve - (sideways, 1)).T, (curve - (sideways, 1) + (2 * sideways, 2)).T
    ends = left.min(), right.max(), top.min(), bottom.max()
    # Most are out of reach of all of it.
    near = [o for o in others if o.x < ends[1] and ends[0] < o.x + o.w and o.y < ends[3] and ends[2] < o.y + o.h]
    return any(((left < o.x + o.w) & (o.x < right) & (top < o.y + o.h) & (o.y < bottom)).any() for o in near)
