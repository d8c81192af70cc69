"""Ports and lanes: each arrow's simplest route around the obstacles between its ends, apart from other arrows there.

A route is found as a line that is pulled tight around boxes, from corner to corner, and then made a smooth curve.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .curves import smooth
from .geometry import Curve, Point, Rectangle, crossed, on_curve, on_line

NEAR_LABEL = 5  # px above and below a label, where its arrow is still beside it
_BESIDE = 12.0  # px that an arrow keeps from a box's sides: it does not look like a part of its frame
_ABOVE = 4.0  # px that it keeps from a box's upper and lower edges, where other arrows have their ends
_BESIDE_TITLE = 4.0  # px that it keeps from the sides of a title or a label, which have no frame
_SLIM = (-4.0, -2.0, 4.0, 2.0)  # px at its four sides that a curve keeps from a box in any case
_TITLE = 800.0  # px of detour that not going through a title or a label is worth
_LANE = 10.0  # px between two that turn at one corner: both can be followed by eye
_BY_CORNER = 0.5  # px from a corner to the line around it, which then does not go through the box
_DETOUR = 48  # px: a way past a label that is so much longer sideways is a detour


@dataclass(frozen=True, slots=True)
class Turn:
    """A point of an arrow's route, and the corner there: of which obstacle, right of it (1), above (-1) or below."""

    at: Point
    box: int = -1
    side: int = 0
    foot: int = 0


class Obstacles:
    """What arrows lead around: boxes, and titles if that is no long detour."""

    def __init__(self, places: Mapping[str, Rectangle], titles: Sequence[Rectangle]) -> None:
        places = {id: place for id, place in places.items() if place.h}  # a port is in no way
        self._number = {id: n for n, id in enumerate(places)}
        standing = [*places.values(), *titles]
        rects = [(place.x, place.y, place.x + place.w, place.y + place.h) for place in standing]
        self._rects = np.array(rects).reshape(-1, 4)
        counts = [len(places), len(titles)]
        margins = np.repeat([(_BESIDE, _ABOVE), (_BESIDE_TITLE, 0.0)], counts, axis=0)
        self._grown = self._rects + np.column_stack([-margins, margins])
        self._cost = np.repeat([np.inf, _TITLE], counts)
        self._turns: dict[str, list[Turn]] = {}

    def way(self, id: str, ends: tuple[str, str], points: list[Point]) -> list[Point]:
        """Return the simplest route of an arrow between the ends of these points."""
        start, end = points[0], points[-1]
        before = self._turns.get(id)
        if end[1] - start[1] < 1 or (before and [before[0].at, before[-1].at] == [start, end]):
            return points
        curve, turns = smooth([start, end]), [Turn(start), Turn(end)]
        numbers, grown = self._others(ends, start, end)
        struck = on_curve(curve, grown)
        if struck.any():
            if before:
                turns[1:1] = before[1:-1]
                struck = on_line(np.array([turn.at for turn in turns]), grown)
            # Around what is hit so far, a taut line may hit others: those count from then on, until it hits no more.
            hit = np.zeros(len(grown), bool)
            while (struck & ~hit).any():
                hit |= struck
                turns = self._taut(start, end, numbers[hit], grown[hit])
                struck = on_line(np.array([turn.at for turn in turns]), grown)
            curve = self._curve(turns, numbers)
            for turn in turns[1:-1]:  # not all are needed where the curve swings past
                fewer = [each for each in turns if each is not turn]
                simpler = smooth([each.at for each in fewer])
                if not on_curve(simpler, self._rects[numbers] + _SLIM).any():
                    turns, curve = fewer, simpler
        self._turns[id] = turns
        return curve

    def around(self, id: str, ends: tuple[str, str], points: list[Point], tags: Sequence[Rectangle]) -> list[Point]:
        """Return an arrow's simplest route around these labels too, or these points if there is no room for one."""
        walls = copy(self)
        walls._rects = np.concatenate([self._rects, [(tag.x, tag.y, tag.x + tag.w, tag.y + tag.h) for tag in tags]])
        beside = (-_BESIDE_TITLE, 0.0, _BESIDE_TITLE, 0.0)
        walls._grown = np.concatenate([self._grown, walls._rects[len(self._rects) :] + beside])
        walls._cost = np.concatenate([self._cost, [_TITLE] * len(tags)])
        walls._turns = {}
        way = walls.way(id, ends, points)
        numbers, _ = self._others(ends, points[0], points[-1])
        return points if on_curve(way, self._rects[numbers]).any() else way

    def past(self, ends: tuple[str, str], points: list[Point], label: Rectangle) -> list[Point] | None:
        """Return a route past the room reserved for its label, if that isn't a detour."""
        start, end = points[0], points[-1]
        numbers, _ = self._others(ends, start, end)
        top, foot = max(label.y - NEAR_LABEL, start[1] + 1), min(label.y + label.h + NEAR_LABEL, end[1] - 1)
        for x in (start[0], end[0], label.x, label.x + label.w):
            way = smooth([start, *([(x, top)] * (x != start[0])), *([(x, foot)] * (x != end[0])), end])
            direct = abs(x - start[0]) + abs(end[0] - x) - abs(end[0] - start[0]) < _DETOUR and start[0] != end[0]
            if direct and top < foot and not on_curve(way, self._rects[numbers]).any():
                return way
        return None

    def lanes(self, ends: Mapping[str, tuple[str, str]]) -> dict[str, list[Point]]:
        """Return the routes of arrows that would turn at the same corner of a box: one for each value, side by side."""
        lane = self._lane_of_each(ends)
        moved: dict[str, list[Point]] = {}
        for id, turns in self._turns.items():
            aside = [lane.get((turn.box, turn.side, ends[id][0]), 0) * _LANE for turn in turns]
            if any(aside):
                moved[id] = self._set_aside(turns, aside, ends[id])
        return moved

    def _lane_of_each(self, ends: Mapping[str, tuple[str, str]]) -> dict[tuple[int, int, str], int]:
        """Return the lane of each value at each corner where it turns; 0 is nearest to the box.

        Those that come from furthest behind the box are the inner ones, so none crosses another there.
        """
        turning: defaultdict[tuple[int, int], dict[str, tuple[list[float], list[float]]]] = defaultdict(dict)
        for id, turns in self._turns.items():
            slopes = [(b.at[0] - a.at[0]) / (b.at[1] - a.at[1] + 1) for a, b in pairwise(turns)]
            for n, turn in enumerate(turns[1:-1], 1):
                out = 1 if turn.side else -1
                inner = [-out * each for each in slopes[n - 1 :: -1]], [out * each for each in slopes[n:]]
                turning[turn.box, turn.side].setdefault(ends[id][0], inner)
        return {
            (*corner, value): n
            for corner, values in turning.items()
            for n, value in enumerate(sorted(values, key=lambda value: values[value]))
        }

    def _set_aside(self, turns: Sequence[Turn], aside: Sequence[float], ends: tuple[str, str]) -> list[Point]:
        """Return a route with each turn moved away from its corner, unless an obstacle is in the way then."""
        at = [turn.at for turn in turns]
        numbers, grown = self._others(ends, at[0], at[-1])
        for n, (turn, by) in enumerate(zip(turns, aside, strict=True)):
            x, y = turn.at
            spot = x + (2 * turn.side - 1) * by, y + turn.foot * by
            tried = [*at[:n], spot, *at[n + 1 :]]
            level = [y for _, y in tried]
            if sorted(level) == level and not on_line(np.array(tried), grown).any():
                at = tried
        return self._curve([replace(turn, at=spot) for turn, spot in zip(turns, at, strict=True)], numbers)

    def _others(self, ends: tuple[str, str], start: Point, end: Point) -> tuple[npt.NDArray[np.int_], Curve]:
        """Return the numbers of the obstacles between an arrow's ends, except these, and the distance to keep."""
        between = (self._grown[:, 1] < end[1]) & (start[1] < self._grown[:, 3])
        between[[self._number[each] for each in ends if each in self._number]] = False
        numbers = between.nonzero()[0]
        grown = self._grown[numbers]
        spots = np.array((start, end))[:, None]  # an arrow that ends this close keeps off the rectangle alone
        near = ((grown[:, :2] < spots) & (spots < grown[:, 2:])).all(axis=2).any(axis=0)
        if near.any():
            grown[near] = self._rects[numbers[near]]
        return numbers, grown

    def _curve(self, turns: Sequence[Turn], numbers: npt.NDArray[np.int_]) -> list[Point]:
        boxes = numbers[np.isinf(self._cost[numbers])]
        return smooth([turn.at for turn in turns], self._rects[boxes] + _SLIM)

    def _taut(self, start: Point, end: Point, numbers: npt.NDArray[np.int_], grown: Curve) -> list[Turn]:
        """Return the shortest route around these obstacles, from corner to corner; straight if there are none."""
        turns = _corners(start, end, numbers, grown)
        at = np.array([turn.at for turn in turns])
        # Each line of the way leads down: from a corner to one that comes later in their order.
        i, j = np.triu_indices(len(at), 1)
        # A box is never gone through, so what is left costs a detour at most.
        fee = np.where(crossed(at[i], at[j], grown), self._cost[numbers], 0.0).sum(axis=1)
        i, j, fee = i[np.isfinite(fee)], j[np.isfinite(fee)], fee[np.isfinite(fee)]
        length = np.full((len(at), len(at)), np.inf)
        length[i, j] = np.hypot(*(at[j] - at[i]).T) + fee
        return [turns[n] for n in _shortest(length)]


def _corners(start: Point, end: Point, numbers: npt.NDArray[np.int_], grown: Curve) -> list[Turn]:
    """Return where a route between these ends may turn, from top to bottom: at corners of the obstacles in between."""
    turns = [Turn(start), Turn(end)]
    for n, (left, top, right, foot) in zip(numbers.tolist(), grown.tolist(), strict=True):
        for side, x in enumerate((left - _BY_CORNER, right + _BY_CORNER)):
            turns += [Turn((x, y), n, side, way) for way, y in ((-1, top), (1, foot)) if start[1] < y < end[1]]
    return sorted(turns, key=lambda turn: turn.at[1])


def _shortest(length: Curve) -> list[int]:
    """Return the numbers on the shortest path from the first to the last; lengths are infinite where no line may pass.

    As each line leads to a later one, the shortest way to one is known once those to all before it are.
    """
    count = len(length)
    best, came = np.zeros(count), np.zeros(count, int)
    for n in range(1, count):
        through = best[:n] + length[:n, n]
        came[n] = through.argmin()
        best[n] = through[came[n]]
    chain = [count - 1]
    while chain[-1] and np.isfinite(best[-1]):
        chain.append(int(came[chain[-1]]))
    return chain[::-1] if len(chain) > 1 else [0, count - 1]
