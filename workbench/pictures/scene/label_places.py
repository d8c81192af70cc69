"""Where labels go: each next to its arrow, on nothing else; arrows make room for labels that have none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .geometry import PACE, Curve, Point, Rectangle, Walls, along
from .obstacles import NEAR_LABEL, Obstacles

_ALONGSIDE = 120  # px up or down that a label may be away from the room that is kept for it
_AWAY = sorted(range(-_ALONGSIDE, _ALONGSIDE + 1, PACE), key=abs)
_CLEAR = 2  # px between a label and what is above or below it: the end of its arrow, or the arrow itself
_MOST_CLEARED = 4  # labels that arrows are led around in one part of a picture
_OUT = 16.0  # px that a way around a label may swing out further than before
# A way around a label is no more level and turns no sharper than this, unless it did so before.
_MOST_LEVEL = 4.0  # px sideways for each px down
_SHARPEST = 0.8  # radians


@dataclass(frozen=True, slots=True)
class Tags:
    """The places of labels, which of them are on the left of their arrows, and how much of arrows crosses which."""

    near: dict[str, Rectangle]
    leftward: set[str]
    crowded: dict[str, int]

    @property
    def trouble(self) -> int:
        """Return how much of all arrows passes through labels."""
        return sum(self.crowded.values())


class LabelPlaces:
    """Places for labels at their arrows' routes, from the room that was reserved for each; some routes change for it.

    `ends` are the boxes of each arrow, `standing` the obstacles for labels, and `twins` has the other of two arrows
    that join the same boxes. The best places so far are `tags`, the routes `paths`.
    """

    def __init__(
        self,
        kept: dict[str, Rectangle],
        paths: dict[str, list[Point]],
        ends: Mapping[str, tuple[str, str]],
        standing: Sequence[Rectangle],
        twins: Mapping[str, str],
    ) -> None:
        self._kept, self._ends, self._standing, self._twins = kept, ends, standing, twins
        self.paths = paths
        self.tags = self._near(paths)

    def lead_past(self, obstacles: Obstacles) -> None:
        """Lead arrows whose labels have no room by the room that was kept for them."""
        ways = {id: obstacles.past(self._ends[id], self.paths[id], self._kept[id]) for id in self.tags.crowded}
        aside = {id: way for id, way in ways.items() if way is not None}
        if aside:
            found = self._near(self.paths | aside)
            in_vain = found.crowded.keys() & aside.keys()
            self.paths |= {id: way for id, way in aside.items() if id not in in_vain}
            self.tags = self._near(self.paths) if in_vain else found

    def make_room(self, order: Sequence[str], obstacles: Obstacles, still: set[str]) -> None:
        """Lead other arrows around labels that have no room, the first in this order; what is `still` keeps its way."""
        walls = Walls(self._standing)
        for id in [each for each in order if each in self.tags.crowded][:_MOST_CLEARED]:
            for ways in self._ways_around(id, obstacles, walls, still):
                found = self._near(self.paths | ways)
                if found.trouble < self.tags.trouble:
                    self.tags = found
                    self.paths |= ways
                    break

    def _near(self, paths: dict[str, list[Point]]) -> Tags:
        """Move the labels to where their arrows really pass, unless something else is there.

        A label is at the right of its arrow, or else at the left; at the left for the left one of twins.
        """
        labels, twins = self._kept, self._twins
        tags = Tags(dict(labels), set(), {})
        if not any(label.w for label in labels.values()):
            return tags
        known = [*labels.values(), *self._standing]
        standing = Walls(known)
        numbers = {id: n for n, id in enumerate(paths)}
        curves = [along(points) for points in paths.values()]
        # All points of all curves by their height: those beside a label are next to each other.
        across, heights = np.concatenate(curves).T
        order = heights.argsort()
        across, heights = across[order], heights[order]
        for number, (id, label) in enumerate(labels.items()):
            if not label.w:
                continue
            own = curves[numbers[id]]
            twin_left = id in twins and paths[id][0] < paths[twins[id]][0]
            least = len(across)
            for x, y, left in _spots(label, own, (True,) if twin_left else (False, True)):
                met = standing.met(x, y, x + label.w, y + label.h)
                met[number] = False
                if met.any():
                    continue
                beside = slice(*heights.searchsorted((y - 1, y + label.h + 1)))
                within = (x < across[beside]) & (across[beside] < x + label.w)
                cost = int(within.sum())
                if cost < least:
                    least, tags.near[id] = cost, replace(label, x=x, y=y)
                    (tags.leftward.add if left else tags.leftward.discard)(id)
                if not least:
                    break
            standing[number] = tags.near[id]
            if least:
                tags.crowded[id] = least
        return tags

    def _ways_around(
        self, id: str, obstacles: Obstacles, walls: Walls, still: set[str]
    ) -> Iterator[dict[str, list[Point]]]:
        """Ways of the arrows that lead through a label around where it may stand, of as few as can be first."""
        label, paths, ends = self._kept[id], self.paths, self._ends
        others = _Others({each: points for each, points in paths.items() if each != id})
        crossing: dict[tuple[str, ...], list[Rectangle]] = {}
        for x, y, _ in _spots(label, along(paths[id]), (False, True)):
            spot = replace(label, x=x, y=y)
            if not walls.met(x, y, x + label.w, y + label.h).any():
                met = others.entering(spot)
                crossing.setdefault(met, []).append(spot)
        for met in sorted((met for met in crossing if not still & {*met}), key=len)[:2]:
            # Of the places that the same arrows lead through, the first and the last: between them little differs.
            for spot in dict.fromkeys(crossing[met][:: max(1, len(crossing[met]) - 1)]):
                said = {each: tag for each, tag in self.tags.near.items() if tag.w} | {id: spot}
                ways = {
                    each: obstacles.around(
                        each, ends[each], paths[each], [tag for of, tag in said.items() if of != each]
                    )
                    for each in met
                }
                if all(not _enters(along(way), spot) and _as_calm(way, paths[each]) for each, way in ways.items()):
                    yield ways


class _Others:
    """The points of several arrows' curves by their height: those at a label's height are next to each other."""

    def __init__(self, paths: Mapping[str, list[Point]]) -> None:
        self._ids, curves = list(paths), [along(points) for points in paths.values()]
        numbers = np.repeat(np.arange(len(curves)), [len(curve) for curve in curves])
        points = np.concatenate(curves) if curves else np.empty((0, 2))
        order = points[:, 1].argsort()
        (self._across, self._heights), self._numbers = points[order].T, numbers[order]

    def entering(self, place: Rectangle) -> tuple[str, ...]:
        """Return the ids of the curves that have points in a rectangle."""
        beside = slice(
            self._heights.searchsorted(place.y - 1, "right"), self._heights.searchsorted(place.y + place.h + 1, "left")
        )
        across = self._across[beside]
        inside = (place.x < across) & (across < place.x + place.w)
        return tuple([self._ids[int(n)] for n in np.unique(self._numbers[beside][inside])])


def _as_calm(way: list[Point], before: list[Point]) -> bool:
    """Return True if a route swings out no further than another, and is hardly more level or sharper where it turns."""
    across, at = [x for x, _ in way], [x for x, _ in before]
    out = max(min(at) - min(across), max(across) - max(at)) > _OUT
    limits = zip(_ease(way), (_MOST_LEVEL, _SHARPEST), _ease(before), strict=True)
    return not out and all(one <= max(most, other) for one, most, other in limits)


def _ease(way: list[Point]) -> tuple[float, float]:
    """Return a curve's px sideways per px down where it is most level, and its sharpest turn in radians."""
    right, down = np.diff(along(way), axis=0).T
    turns = np.abs(np.diff(np.arctan2(right, down)))
    return float((np.abs(right) / (np.abs(down) + 1)).max()), float(turns.max())


def _enters(curve: Curve, place: Rectangle) -> bool:
    """Return True if points of a curve are in a rectangle."""
    x, y = curve.T
    inside = (place.x < x) & (x < place.x + place.w) & (place.y - 1 < y) & (y < place.y + place.h + 1)
    return bool(inside.any())


def _spots(label: Rectangle, own: Curve, sides: tuple[bool, ...]) -> Iterator[tuple[float, float, bool]]:
    """Return a label's positions at its arrow, the best first, and if it ends there: at a side, above or below."""
    (across, down), tall = own.T, label.h
    top, foot = float(down[0]) + _CLEAR, float(down[-1]) - tall - _CLEAR
    for y in (label.y + away for away in _AWAY):
        if not (top <= y <= foot or y == label.y):
            continue
        beside = across[(y - NEAR_LABEL < down) & (down < y + tall + NEAR_LABEL)]
        for left in sides if beside.size else ():
            yield round(float(beside.min()) - label.w if left else float(beside.max()), 1), y, left
    for x in range(int(across.min()), int(across.max() - label.w) + 1, 2 * PACE):
        over = down[(x - NEAR_LABEL < across) & (across < x + label.w + NEAR_LABEL)]
        for y in (float(over.max()) + _CLEAR, float(over.min()) - tall - _CLEAR) if over.size else ():
            if top <= y <= foot:
                yield float(x), round(y, 1), False
