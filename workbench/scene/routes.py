"""The ways of arrows between rectangles: the simplest curve that has room, around what is in its way, apart at boxes.

Where there are too many arrows for that, they take Graphviz's splines, led up to the boxes.

Dotted lines that join what is the same memory take, of some curves, that which hides the least (`related`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import atan2, hypot, inf
from typing import Any

import numpy as np
import numpy.typing as npt

from .labels import Size
from .model import AROUND, Scene

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
        return Place(round(self.x + right, 1), round(self.y + down, 1), self.w, self.h)

    def gap(self, other: Place) -> float:
        """How far apart the two rectangles are from side to side; below zero they overlap."""
        return max(self.x - other.x - other.w, other.x - self.x - self.w)

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
    knots = np.array(points)
    pieces: list[Curve] = []
    for n in range(0, len(points) - 1, 3):
        (x, y), (u, v) = points[n], points[n + 3]
        weights = _weights(max(4, round((abs(u - x) + abs(v - y)) / PACE)))
        pieces.append(knots[n] + weights[:, 1:] @ (knots[n + 1 : n + 4] - knots[n]))  # a level or upright one stays so
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


@lru_cache(maxsize=1024)
def _weights(count: int) -> Curve:
    """Of the four points of a curve's part, at its ends and between so many steps."""
    part: Curve = np.linspace(0.0, 1.0, count + 1)[:, None]
    found: Curve = (1, 3, 3, 1) * part ** (0, 1, 2, 3) * (1 - part) ** (3, 2, 1, 0)
    return found


class Walls:
    """Rectangles that others, and curves, may meet; all are looked at at once."""

    def __init__(self, places: Iterable[Place]) -> None:
        ends = [(place.x, place.y, place.x + place.w, place.y + place.h) for place in places]
        self._ends = np.array(ends).reshape(-1, 4).T

    def __setitem__(self, number: int, place: Place) -> None:
        """Put one of them elsewhere."""
        self._ends[:, number] = place.x, place.y, place.x + place.w, place.y + place.h

    def met(self, left: Any, top: Any, right: Any, bottom: Any) -> npt.NDArray[np.bool_]:
        """Which of them have any area in common with a rectangle, or each with one of its own."""
        own_left, own_top, own_right, own_bottom = self._ends
        return (own_left < right) & (left < own_right) & (own_top < bottom) & (top < own_bottom)

    def swept(self, curve: Sequence[Point]) -> npt.NDArray[np.bool_]:
        """Which of them a curve leads through."""
        return _swept(curve, self._ends.T)


WINDOW = 1049, 494  # px of a picture whose text is 11 px high in a notebook of 1440 × 900
MARGIN = 18  # around the picture: room for the mark and the glow at a box's edge
GAP = 3  # px between a box and the end of an arrow's line; an arrow's head bridges it
_APART = 48  # between the ends of arrows that meet at one box, if there is room
_CORNER = 14  # of a box's edge, where no arrow may end
_VERTICAL = 24  # how far an arrow's ends keep to the vertical, if there is room
_SWING = 40  # how far a stretch of an arrow may swing out sideways
_BESIDE, _ABOVE, _LEAST = 12.0, 4.0, 4.0  # px that an arrow keeps from a box's sides and edges, and from a title
_ALONGSIDE = 120  # px up or down that a label may be away from the room that is kept for it
_AWAY = sorted(range(-_ALONGSIDE, _ALONGSIDE + 1, PACE), key=abs)
_NEAR = 5  # px above and below a label, where its arrow is beside it
_SLANT = 1.0  # px sideways at most for each px down where an arrow goes through a frame's edge
_RADIUS = 16  # px of a bend
_STEEPER = 2.5  # times as far sideways as the steeper part a curve leads where two meet, without swinging out
_SLIM = (-4.0, -2.0, 4.0, 2.0)  # px at its four sides that a curve keeps from a box in any case
_MOST_CLEARED = 4  # labels that arrows are led around in one part of a picture
_OUT = 16.0  # px that a way around a label may swing out
_CALM = 4.0, 0.8  # px sideways for each px down where it is most level, and radians of its sharpest turn
_LANE = 10.0  # px between two that turn at one corner
_TITLE, _CROSSED = 800.0, 60.0  # px of detour that not going through one is worth
_STRETCH = 40  # how far from its end an arrow's direction is judged
_MOST_JUDGED = 4000  # arrows whose course at a box is looked at; of more, where they lead to


@dataclass(frozen=True, slots=True)
class Way:
    """An arrow's Bézier points (1 + 3n of them, from its upper to its lower end) and its label's place.

    Where the label is at the left of the arrow, its text ends at the arrow instead of beginning there.
    """

    points: tuple[Point, ...]
    label: Place
    leftward: bool = False

    def moved(self, right: float, down: float = 0.0) -> Way:
        """The way so much further right and down."""
        points = tuple((round(x + right, 1), round(y + down, 1)) for x, y in self.points)
        return Way(points, self.label.moved(right, down), self.leftward)

    @property
    def d(self) -> str:
        """The points as an SVG path."""
        first, *rest = (f"{x:g},{y:g}" for x, y in self.points)
        return f"M{first} C{' '.join(rest)}"

    def to_dict(self) -> dict[str, Any]:
        label = self.label
        centre = {"lx": label.x + label.w / 2, "ly": label.y + label.h / 2}
        return {"d": self.d} | centre | {"lw": label.w, "lh": label.h} | ({"left": True} if self.leftward else {})


def straight_between(one: Place, other: Place) -> Way:
    """The straight way between two boxes that stand side by side, or above each other."""
    (x, y), (u, v) = ((place.x + place.w / 2, place.y + place.h / 2) for place in (one, other))
    if abs(y - v) < (one.h + other.h) / 2:
        side = 1 if u > x else -1
        x, u = x + side * one.w / 2, u - side * other.w / 2
    else:
        x, u = (min(max(to, box.x + 6), box.x + box.w - 6) for box, to in ((one, u), (other, x)))  # off the texts
        y, v = (one.y + one.h, other.y) if v > y else (one.y, other.y + other.h)
    points = tuple((round(x + (u - x) * part, 1), round(y + (v - y) * part, 1)) for part in (0, 1 / 3, 2 / 3, 1))
    return Way(points, Place(x, y, 0.0, 0.0))


def swung(upper: Place, lower: Place, label: Size) -> tuple[list[Point], Place]:
    """A spline for an arrow that Graphviz was not told of, with its label at the middle."""
    (x, y), (u, v) = (upper.x + upper.w / 2, upper.y + upper.h + GAP), (lower.x + lower.w / 2, lower.y - GAP)
    middle = round((x + u - label[0]) / 2, 1), round((y + v - label[1]) / 2, 1)
    return _smooth([(x, y), (u, v)]), Place(*middle, *label)


def one_way(pieces: Sequence[Way], standing: Walls) -> Way:
    """One way of several, each of which begins about where the one before it ends; the label is that of the last.

    Where it leads to the same side before and after a frame's edge, it goes through that at a slant if there is room.
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
    """The points next to where two parts of a curve meet, for it not to be upright there."""
    (x, y), (_, top), (_, foot) = below[0], above[2], below[1]
    slope = min(max(_tangents([above[0], (x, y), below[3]])[1], -_SLANT), _SLANT)
    if not slope:
        return None
    before, after = (x - slope * (y - top), top), (x + slope * (foot - y), foot)
    parts = [*above[:2], before, (x, y)], [(x, y), after, *below[2:]]
    return None if any(standing.swept(part).any() for part in parts) else (before, after)


def routed(
    scene: Scene,
    splines: dict[str, list[Point]],
    places: dict[str, Place],
    labels: dict[str, Place],
    fixed: Collection[str] = (),
    straight: Collection[str] = (),
    titles: Sequence[Place] = (),
    led: bool = True,
    past: bool = True,
) -> tuple[dict[str, Way], set[str]]:
    """The way of every arrow, and which of them have no room for their label.

    Those that are `led` take the simplest way that has room, and if they may lead `past` the room that is kept for
    their label, do so where it has none else; then around labels of others that still have none; others take the
    splines that Graphviz laid. At what is `fixed` they end where their splines do; at other boxes they are set apart,
    around what is `straight`. No label is moved onto one of the `titles`.
    """
    joining = _joining(scene)
    twins = {one: other for pair in joining.values() if len(pair) == 2 for one, other in (pair, pair[::-1])}
    paths: dict[str, list[Point]] = {}
    for arrow in scene.arrows.values():
        upper, lower = places[arrow.source], places[arrow.target]
        paths[arrow.id] = _around(_calmed(splines[arrow.id]), upper.y + upper.h + GAP, lower.y - GAP)
    apart = {id for ids in joining.values() if len(ids) == 1 for id in ids if id in straight}
    leftward, crowded = set[str](), set[str]()
    if paths and led:
        ends = {arrow.id: (arrow.source, arrow.target) for arrow in scene.arrows.values()}
        order = sorted(paths, key=lambda id: paths[id][-1][1] - paths[id][0][1])  # the short ones nearest to boxes
        walls = _Obstacles(places, titles)
        for id in order:
            paths[id] = walls.way(id, ends[id], paths[id])
        _spread(scene, paths, places, fixed, apart)
        for id in order:
            paths[id] = walls.way(id, ends[id], paths[id])
        paths |= walls.lanes(ends)
        standing = [*places.values(), *titles]
        tags = _brought_near(labels, paths, standing, twins)
        ways = {id: walls.past(ends[id], paths[id], labels[id]) for id in tags.crowded} if past else {}
        aside = {id: way for id, way in ways.items() if way is not None}
        if aside:
            found = _brought_near(labels, paths | aside, standing, twins)
            in_vain = found.crowded.keys() & aside.keys()
            paths |= {id: way for id, way in aside.items() if id not in in_vain}
            tags = _brought_near(labels, paths, standing, twins) if in_vain else found
        for id in [each for each in order if each in tags.crowded][:_MOST_CLEARED]:
            for ways in _given_way(id, tags, labels[id], paths, ends, walls, Walls(standing), {*straight, *twins}):
                found = _brought_near(labels, paths | ways, standing, twins)
                if sum(found.crowded.values()) < sum(tags.crowded.values()):
                    tags = found
                    paths |= ways
                    break
        crowded = set(tags.crowded)
        found = _brought_near(labels, paths, standing, twins, inf if titles else WINDOW[0] - 2 * MARGIN)
        tags = found if sum(found.crowded.values()) <= sum(tags.crowded.values()) else tags
        labels, leftward = tags.near, tags.leftward
    else:
        _spread(scene, paths, places, fixed, apart)
    rounded = {id: tuple((round(x, 1), round(y, 1)) for x, y in points) for id, points in paths.items()}
    return {id: Way(points, labels[id], id in leftward) for id, points in rounded.items()}, crowded


@dataclass(frozen=True, slots=True)
class _Turn:
    """A point of an arrow's way, and the corner there: of which obstacle, at its right (1), above it (-1) or below."""

    at: Point
    box: int = -1
    side: int = 0
    foot: int = 0


class _Obstacles:
    """What arrows lead around: boxes, and titles if that is no long detour."""

    def __init__(self, places: Mapping[str, Place], titles: Sequence[Place]) -> None:
        places = {id: place for id, place in places.items() if place.h}  # a port is in no way
        self._number = {id: n for n, id in enumerate(places)}
        standing = [*places.values(), *titles]
        rects = [(place.x, place.y, place.x + place.w, place.y + place.h) for place in standing]
        self._rects = np.array(rects).reshape(-1, 4)
        counts = [len(places), len(titles)]
        margins = np.repeat([(_BESIDE, _ABOVE), (_LEAST, 0.0)], counts, axis=0)
        self._grown = self._rects + np.column_stack([-margins, margins])
        self._cost = np.repeat([np.inf, _TITLE], counts)
        self._turns: dict[str, list[_Turn]] = {}
        self._drawn: dict[str, Curve] = {}

    def way(self, id: str, ends: tuple[str, str], points: list[Point]) -> list[Point]:
        """The simplest way of an arrow between the ends of these points."""
        start, end = points[0], points[-1]
        before = self._turns.get(id)
        if end[1] - start[1] < 1 or (before and [before[0].at, before[-1].at] == [start, end]):
            return points
        curve, turns = _smooth([start, end]), [_Turn(start), _Turn(end)]
        numbers, grown = self._others(ends, start, end)
        struck = _swept(curve, grown)
        if struck.any():
            if before:
                turns[1:1] = before[1:-1]
                struck = _struck(np.array([turn.at for turn in turns]), grown)
            hit = np.zeros(len(grown), bool)
            while (struck & ~hit).any():
                hit |= struck
                turns = self._taut(start, end, numbers[hit], grown[hit])
                struck = _struck(np.array([turn.at for turn in turns]), grown)
            curve = self._curve(turns, numbers)
            for turn in turns[1:-1]:  # not all are needed where the curve swings past
                fewer = [each for each in turns if each is not turn]
                simpler = _smooth([each.at for each in fewer])
                if not _swept(simpler, self._rects[numbers] + _SLIM).any():
                    turns, curve = fewer, simpler
        self._turns[id] = turns
        self._drawn[id] = np.array([*curve[:1], *_middles(curve)])
        return curve

    def around(self, id: str, ends: tuple[str, str], points: list[Point], tags: Sequence[Place]) -> list[Point]:
        """The simplest way of an arrow around these labels too, or these points where that has no room."""
        walls = copy(self)
        walls._rects = np.concatenate([self._rects, [(tag.x, tag.y, tag.x + tag.w, tag.y + tag.h) for tag in tags]])
        walls._grown = np.concatenate([self._grown, walls._rects[len(self._rects) :] + (-_LEAST, 0.0, _LEAST, 0.0)])
        walls._cost = np.concatenate([self._cost, [_TITLE] * len(tags)])
        walls._turns, walls._drawn = {}, {each: curve for each, curve in self._drawn.items() if each != id}
        way = walls.way(id, ends, points)
        numbers, _ = self._others(ends, points[0], points[-1])
        return points if _swept(way, self._rects[numbers]).any() else way

    def past(self, ends: tuple[str, str], points: list[Point], label: Place) -> list[Point] | None:
        """A way by the room that is kept for its label, if that is no detour."""
        start, end = points[0], points[-1]
        numbers, _ = self._others(ends, start, end)
        top, foot = max(label.y - _NEAR, start[1] + 1), min(label.y + label.h + _NEAR, end[1] - 1)
        for x in (start[0], end[0], label.x, label.x + label.w):
            way = _smooth([start, *([(x, top)] * (x != start[0])), *([(x, foot)] * (x != end[0])), end])
            direct = abs(x - start[0]) + abs(end[0] - x) - abs(end[0] - start[0]) < _APART and start[0] != end[0]
            if direct and top < foot and not _swept(way, self._rects[numbers]).any():
                return way
        return None

    def lanes(self, ends: Mapping[str, tuple[str, str]]) -> dict[str, list[Point]]:
        """The ways of those that would turn at the same corner of a box: of each value one, beside each other."""
        turning: defaultdict[tuple[int, int], dict[str, tuple[list[float], list[float]]]] = defaultdict(dict)
        for id, turns in self._turns.items():
            slopes = [(b.at[0] - a.at[0]) / (b.at[1] - a.at[1] + 1) for a, b in pairwise(turns)]
            for n, turn in enumerate(turns[1:-1], 1):
                out = 1 if turn.side else -1
                inner = [-out * each for each in slopes[n - 1 :: -1]], [out * each for each in slopes[n:]]
                turning[turn.box, turn.side].setdefault(ends[id][0], inner)
        lane = {
            (*corner, value): n
            for corner, values in turning.items()
            for n, value in enumerate(sorted(values, key=lambda value: values[value]))
        }
        moved: dict[str, list[Point]] = {}
        for id, turns in self._turns.items():
            lanes = [lane.get((turn.box, turn.side, ends[id][0]), 0) * _LANE for turn in turns]
            if not any(lanes):
                continue
            at = [turn.at for turn in turns]
            numbers, grown = self._others(ends[id], at[0], at[-1])
            for n, (turn, aside) in enumerate(zip(turns, lanes, strict=True)):
                x, y = turn.at
                spot = x + (2 * turn.side - 1) * aside, y + turn.foot * aside
                tried = [*at[:n], spot, *at[n + 1 :]]
                level = [y for _, y in tried]
                if sorted(level) == level and not _struck(np.array(tried), grown).any():
                    at = tried
            moved[id] = self._curve([replace(turn, at=spot) for turn, spot in zip(turns, at, strict=True)], numbers)
        return moved

    def _others(self, ends: tuple[str, str], start: Point, end: Point) -> tuple[npt.NDArray[np.int_], Curve]:
        """The numbers of what stands between an arrow's ends but the boxes there, and how near it may come to them."""
        between = (self._grown[:, 1] < end[1]) & (start[1] < self._grown[:, 3])
        between[[self._number[each] for each in ends if each in self._number]] = False
        numbers = between.nonzero()[0]
        grown = self._grown[numbers]
        spots = np.array((start, end))[:, None]  # an arrow that ends this close keeps off the rectangle alone
        near = ((grown[:, :2] < spots) & (spots < grown[:, 2:])).all(axis=2).any(axis=0)
        if near.any():
            grown[near] = self._rects[numbers[near]]
        return numbers, grown

    def _curve(self, turns: Sequence[_Turn], numbers: npt.NDArray[np.int_]) -> list[Point]:
        boxes = numbers[np.isinf(self._cost[numbers])]
        return _smooth([turn.at for turn in turns], self._rects[boxes] + _SLIM)

    def _taut(self, start: Point, end: Point, numbers: npt.NDArray[np.int_], grown: Curve) -> list[_Turn]:
        """The shortest way around these obstacles, from corner to corner."""
        turns = [_Turn(start), _Turn(end)]
        for n, (left, top, right, foot) in zip(numbers.tolist(), grown.tolist(), strict=True):
            for side, x in enumerate((left - 0.5, right + 0.5)):
                turns += [_Turn((x, y), n, side, way) for way, y in ((-1, top), (1, foot)) if start[1] < y < end[1]]
        turns.sort(key=lambda turn: turn.at[1])
        at = np.array([turn.at for turn in turns])
        count = len(at)
        i, j = np.triu_indices(count, 1)
        fee = np.where(_crossed(at[i], at[j], grown), self._cost[numbers], 0.0).sum(axis=1)
        i, j, fee = i[np.isfinite(fee)], j[np.isfinite(fee)], fee[np.isfinite(fee)]
        drawn = [curve for curve in self._drawn.values() if curve[0, 1] < end[1] and start[1] < curve[-1, 1]]
        if drawn and len(i):
            fee += _CROSSED * _meetings(at[i], at[j], drawn)
        length = np.full((count, count), np.inf)
        length[i, j] = np.hypot(*(at[j] - at[i]).T) + fee
        best, came = np.zeros(count), np.zeros(count, int)
        for n in range(1, count):
            through = best[:n] + length[:n, n]
            came[n] = through.argmin()
            best[n] = through[came[n]]
        chain = [count - 1]
        while chain[-1] and np.isfinite(best[-1]):
            chain.append(int(came[chain[-1]]))
        return [turns[n] for n in chain[::-1]] if len(chain) > 1 else [turns[0], turns[-1]]


def _crossed(starts: Curve, ends: Curve, rects: Curve) -> npt.NDArray[np.bool_]:
    """Which lines, each leading down, go through which rectangles."""
    (x, y), (u, v) = starts.T[:, :, None], ends.T[:, :, None]
    v = np.maximum(v, y + 0.001)
    left, top, right, foot = rects.T
    first, last = np.maximum(y, top), np.minimum(v, foot)
    slope = (u - x) / (v - y)
    a, b = x + (first - y) * slope, x + (last - y) * slope
    return (first < last) & (np.maximum(a, b) > left) & (np.minimum(a, b) < right)


def _struck(line: Curve, rects: Curve) -> npt.NDArray[np.bool_]:
    """Which of the rectangles a line of several points leads through."""
    found: npt.NDArray[np.bool_] = np.any(_crossed(line[:-1], line[1:], rects), axis=0)
    return found


def _swept(curve: Sequence[Point], rects: Curve) -> npt.NDArray[np.bool_]:
    """Which of the rectangles a curve leads through."""
    across, down = zip(*curve, strict=True)
    found = (rects[:, 0] < max(across)) & (min(across) < rects[:, 2])
    found &= (rects[:, 1] < max(down)) & (min(down) < rects[:, 3])
    if found.any():
        found[found] = _struck(along(curve), rects[found])
    return found


def _middles(curve: Sequence[Point]) -> Iterator[Point]:
    """The middle and the end of each of a curve's parts."""
    for (x, y), (a, b), (c, d), (u, v) in zip(curve[::3], curve[1::3], curve[2::3], curve[3::3], strict=False):
        yield (x + 3 * a + 3 * c + u) / 8, (y + 3 * b + 3 * d + v) / 8
        yield u, v


def _meetings(starts: Curve, ends: Curve, drawn: Sequence[Curve]) -> npt.NDArray[np.int_]:
    """How many of the curves each line crosses."""
    one, other = (np.concatenate([curve[part] for curve in drawn]) for part in (slice(None, -1), slice(1, None)))
    least, most = np.minimum(starts, ends).min(axis=0), np.maximum(starts, ends).max(axis=0)
    near = ((np.minimum(one, other) <= most) & (least <= np.maximum(one, other))).all(axis=1)
    one, other = one[near], other[near]

    def side(a: Any, b: Any, c: Any) -> Any:
        return (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) > (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])

    p, q = starts[:, None], ends[:, None]
    return ((side(p, q, one) != side(p, q, other)) & (side(one, other, p) != side(one, other, q))).sum(axis=1)


def _smooth(knots: Sequence[Point], boxes: Curve | None = None) -> list[Point]:
    """A curve down through these points that swings nowhere out; where a box is in its way, it turns sharper."""
    knots = _rounded(knots)
    tangents = _tangents(knots)
    points = [*knots[:1]]
    for (x, y), (u, v), one, other in zip(knots, knots[1:], tangents, tangents[1:], strict=False):
        piece: list[Point] = []
        for part in (0.4 if one or other else 0.5, 0.2, 0.08):
            reach = (v - y) * part
            piece = [(x, y), (x + one * reach, y + reach), (u - other * reach, v - reach), (u, v)]
            if boxes is None or not _swept(piece, boxes).any():
                break
        points += piece[1:]
    return points


def _tangents(knots: Sequence[Point]) -> list[float]:
    """How far to the right a curve leads for each px down at each of these points: 0 at an end, or where it turns."""
    slopes = [(u - x) / max(v - y, 0.001) for (x, y), (u, v) in pairwise(knots)]
    middle = [min(_STEEPER * min(a, b, key=abs), (a + b) / 2, key=abs) * (a * b > 0) for a, b in pairwise(slopes)]
    return [0.0, *middle, 0.0]


def _rounded(knots: Sequence[Point]) -> list[Point]:
    """The points, with two for each where a curve would turn a corner between nearly level and straight down."""
    points, tangents = [*knots[:1]], _tangents(knots)
    for (a, b), (x, y), (u, v), tangent in zip(knots, knots[1:], knots[2:], tangents[1:], strict=False):
        into, out = hypot(x - a, y - b), hypot(u - x, v - y)
        turn = abs(atan2(x - a, y - b) - atan2(u - x, v - y))
        if tangent or turn < 1.0:
            points.append((x, y))
            continue
        radius = min(_RADIUS, into / 2, out / 2)
        points.append((x - (x - a) * radius / into, y - (y - b) * radius / into))
        points.append((x + (u - x) * radius / out, y + (v - y) * radius / out))
    return [*points, *knots[-1:]]


def _joining(scene: Scene) -> dict[tuple[str, str], list[str]]:
    """The arrows that join the same boxes, as two do for x * x: they can go side by side."""
    joining: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for arrow in scene.arrows.values():
        joining[arrow.source, arrow.target].append(arrow.id)
    return joining


def _calmed(points: list[Point]) -> list[Point]:
    """The points with no stretch swinging far beyond its ends, as Graphviz sometimes lets one do."""
    calm = points[:1]
    for n in range(0, len(points) - 1, 3):
        (x0, y0), *controls, (x1, y1) = points[n : n + 4]
        left, right = min(x0, x1) - _SWING, max(x0, x1) + _SWING
        top, bottom = min(y0, y1) - _SWING, max(y0, y1) + _SWING
        calm += [(min(max(x, left), right), min(max(y, top), bottom)) for x, y in controls]
        calm.append((x1, y1))
    return calm


def _direct(points: list[Point], start: float, end: float) -> list[Point]:
    """The points with their ends set to the levels `start` and `end`, and vertical there."""
    (x0, y0), *middle, (x1, y1) = points
    room = min(_VERTICAL, (end - start) / 3)
    middle[0] = (x0, max(middle[0][1], y0 + room))
    middle[-1] = (x1, min(middle[-1][1], y1 - room))
    return [(x0, start), *middle, (x1, end)]


def _around(points: list[Point], start: float, end: float) -> list[Point]:
    """The same, but straight to where Graphviz ended them.

    That is the edge of a block, which saved tensors may make higher than the box they hang on: beside them
    nothing is in the way.
    """
    (x0, y0), *_, (x1, y1) = points
    before = _straight((x0, start), (x0, y0)) if y0 - start > 1 else []
    after = _straight((x1, end), (x1, y1))[::-1] if end - y1 > 1 else []
    return [*before, *_direct(points, y0 if before else start, y1 if after else end), *after]


def _straight(start: Point, end: Point) -> list[Point]:
    """A straight line's Bézier points but the last."""
    (x, y), (u, v) = start, end
    return [(x + (u - x) * part, y + (v - y) * part) for part in (0, 1 / 3, 2 / 3)]


@dataclass(frozen=True, slots=True)
class _Tags:
    """Where labels stand, which of them at the left of their arrows, and how much of arrows leads through which."""

    near: dict[str, Place]
    leftward: set[str]
    crowded: dict[str, int]


def _brought_near(
    labels: dict[str, Place],
    paths: dict[str, list[Point]],
    places: Sequence[Place],
    twins: dict[str, str],
    room: float = inf,
) -> _Tags:
    """The labels, moved to where their arrows really pass, unless something else is there.

    A label stands at the right of its arrow, or else at the left; at the left of the left one of twins. None makes all
    wider than there is `room`, if it has another place.
    """
    tags = _Tags(dict(labels), set(), {})
    if not any(label.w for label in labels.values()):
        return tags
    known = [*labels.values(), *places]
    standing = Walls(known)
    west, east = min(place.x for place in known), max(place.x + place.w for place in known)
    numbers = {id: n for n, id in enumerate(paths)}
    curves = [along(points) for points in paths.values()]
    across, heights = np.concatenate(curves).T
    order = heights.argsort()
    across, heights = across[order], heights[order]
    for number, (id, label) in enumerate(labels.items()):
        if not label.w:
            continue
        own = curves[numbers[id]]
        twin_left = id in twins and paths[id][0] < paths[twins[id]][0]
        least = len(across), True
        for x, y, left in _spots(label, own, (True,) if twin_left else (False, True)):
            met = standing.met(x, y, x + label.w, y + label.h)
            met[number] = False
            if met.any():
                continue
            beside = slice(*heights.searchsorted((y - 1, y + label.h + 1)))
            within = (x < across[beside]) & (across[beside] < x + label.w)
            cost = int(within.sum()), max(east, x + label.w) - min(west, x) > max(room, east - west)
            if cost < least:
                least, tags.near[id] = cost, replace(label, x=x, y=y)
                (tags.leftward.add if left else tags.leftward.discard)(id)
            if not any(least):
                break
        standing[number] = tags.near[id]
        if least[0]:
            tags.crowded[id] = least[0]
    return tags


def _given_way(
    id: str,
    tags: _Tags,
    label: Place,
    paths: dict[str, list[Point]],
    ends: Mapping[str, tuple[str, str]],
    obstacles: _Obstacles,
    walls: Walls,
    still: set[str],
) -> Iterator[dict[str, list[Point]]]:
    """Ways of the arrows that lead through a label around where it may stand, of as few as can be first.

    What is to stand `still` keeps its way.
    """
    curves = {each: along(points) for each, points in paths.items() if each != id}
    crossing: dict[tuple[str, ...], list[Place]] = {}
    for x, y, _ in _spots(label, along(paths[id]), (False, True)):
        spot = replace(label, x=x, y=y)
        if not walls.met(x, y, x + label.w, y + label.h).any():
            met = tuple([each for each, curve in curves.items() if _enters(curve, spot)])
            crossing.setdefault(met, []).append(spot)
    for met in sorted((met for met in crossing if not still & {*met}), key=len)[:2]:
        for spot in dict.fromkeys(crossing[met][:: max(1, len(crossing[met]) - 1)]):
            said = {each: tag for each, tag in tags.near.items() if tag.w} | {id: spot}
            ways = {
                each: obstacles.around(each, ends[each], paths[each], [tag for of, tag in said.items() if of != each])
                for each in met
            }
            if all(not _enters(along(way), spot) and _as_calm(way, paths[each]) for each, way in ways.items()):
                yield ways


def _as_calm(way: list[Point], before: list[Point]) -> bool:
    """Whether a way swings out no further than another, and is not much more level or sharper where it turns."""
    across, at = [x for x, _ in way], [x for x, _ in before]
    out = max(min(at) - min(across), max(across) - max(at)) > _OUT
    limits = zip(_ease(way), _CALM, _ease(before), strict=True)
    return not out and all(one <= max(most, other) for one, most, other in limits)


def _ease(way: list[Point]) -> tuple[float, float]:
    """How many px sideways for each px down a curve leads where it is most level, and its sharpest turn in radians."""
    right, down = np.diff(along(way), axis=0).T
    turns = np.abs(np.diff(np.arctan2(right, down)))
    return float((np.abs(right) / (np.abs(down) + 1)).max()), float(turns.max())


def _enters(curve: Curve, place: Place) -> bool:
    """Whether points of a curve lie in a rectangle."""
    x, y = curve.T
    inside = (place.x < x) & (x < place.x + place.w) & (place.y - 1 < y) & (y < place.y + place.h + 1)
    return bool(inside.any())


def _spots(label: Place, own: Curve, sides: tuple[bool, ...]) -> Iterator[tuple[float, float, bool]]:
    """Where a label may stand at its arrow, the best first, and whether it ends there: beside it, or below or above."""
    (across, down), tall = own.T, label.h
    top, foot = float(down[0]) + 2, float(down[-1]) - tall - 2
    for y in (label.y + away for away in _AWAY):
        if not (top <= y <= foot or y == label.y):
            continue
        beside = across[(y - _NEAR < down) & (down < y + tall + _NEAR)]
        for left in sides if beside.size else ():
            yield round(float(beside.min()) - label.w if left else float(beside.max()), 1), y, left
    for x in range(int(across.min()), int(across.max() - label.w) + 1, 2 * PACE):
        over = down[(x - _NEAR < across) & (across < x + label.w + _NEAR)]
        for y in (float(over.max()) + 2, float(over.min()) - tall - 2) if over.size else ():
            if top <= y <= foot:
                yield float(x), round(y, 1), False


def _spread(
    scene: Scene,
    paths: dict[str, list[Point]],
    places: dict[str, Place],
    fixed: Collection[str],
    straight: Collection[str],
) -> None:
    """Set the ends of the arrows that meet at one box side by side, in the order in which they come.

    One to keep straight stays where it is, and the others go to its sides.
    """
    still = {id(paths[arrow]) for arrow in straight}
    course = _course if len(paths) <= _MOST_JUDGED else _drift
    leaving: defaultdict[str, list[list[Point]]] = defaultdict(list)
    arriving: defaultdict[str, list[list[Point]]] = defaultdict(list)
    opposite: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    for arrow in scene.arrows.values():
        leaving[arrow.source].append(paths[arrow.id])
        arriving[arrow.target].append(paths[arrow.id])
        opposite[arrow.source, 1].add(arrow.target)
        opposite[arrow.target, -1].add(arrow.source)
    for ends, way in ((leaving, 1), (arriving, -1)):
        for box, meeting in ends.items():
            if box in fixed or len(meeting) == 1:
                continue
            meeting.sort(key=lambda points, way=way: course(points[::way]))
            last = len(meeting) - 1
            middle = next((n for n, points in enumerate(meeting) if id(points) in still), last / 2)
            others = opposite[box, way]
            narrow = min([places[each].w for each in (box, *others)]) if len(others) == 1 else places[box].w
            apart = min(_APART, (narrow / 2 - _CORNER) / max(0.5, middle, last - middle))
            for n, points in enumerate(meeting):
                _shift(points, (n - middle) * apart, way)


def _shift(points: list[Point], by: float, way: int) -> None:
    """Move one end of the points, as far as it runs straight up or down."""
    order = list(range(len(points)))[::way]
    x = points[order[0]][0]
    for at in order[:-2]:
        if points[at][0] != x:
            break
        points[at] = (x + by, points[at][1])


def _drift(points: list[Point]) -> float:
    """How far to the right an arrow leads."""
    return points[-1][0] - points[0][0]


def _course(points: list[Point]) -> float:
    """How far to the right an arrow's first stretch leads."""
    (x, y), *_ = points
    for n in range(0, len(points) - 1, 3):
        curve = along(points[n : n + 4])
        far = np.flatnonzero(abs(curve[:, 1] - y) >= _STRETCH)
        if far.size:
            return float(curve[far[0], 0]) - x
    return _drift(points)


_BENDS = ((70, 70), (30, 30), (130, 130), (20, 220), (24, 260))  # px straight away from its boxes
_FEW, _MANY = 40, 200  # lines: of more each has one bend to choose from, and then does not look at what it hides
_EDGE = 6.0  # px from the picture's edge that a line keeps
_HIDDEN, _STRUCK = 400.0, 20.0  # px of detour that not going behind a box is worth, or not through a label's place
_ASIDE = 0.78  # of a box's width, where a line meets it: in the middle its arrows do
_PAST, _FANNED = 12, 6  # px right of saved tensors, where a line passes those above its own, and between two such
_FAR = max(map(max, _BENDS))
_LOOKED_AT = 24  # steps between the points of a line that are looked at


@dataclass(frozen=True, slots=True)
class _End:
    """Where a curve ends, which way it goes from there, and the points of what leads on from it to the box."""

    at: Point
    way: Point
    rest: tuple[Point, ...] = ()


def related(scene: Scene, places: Mapping[str, Place], labels: Sequence[Place], width: float) -> dict[str, Way]:
    """The way of every arrow of the kind "same", with the boxes and labels as they stand."""
    lines = [arrow for arrow in scene.arrows.values() if arrow.kind == "same"]
    stacks: dict[str, list[Place]] = {}  # what hangs on one box
    for box in scene.boxes.values():
        if box.holder is not None:
            stacks.setdefault(box.holder, []).append(places[box.id])
    standing = [(places[box.id], _HIDDEN) for box in scene.boxes.values() if box.kind not in AROUND]
    standing += [(label, _STRUCK) for label in labels]
    standing = sorted(standing, key=lambda each: each[0].y) if len(lines) <= _MANY else []
    walls = np.array([(place.x, place.y, place.x + place.w, place.y + place.h, cost) for place, cost in standing])
    levels = [place.y for place, _ in standing]
    tallest = max((place.h for place, _ in standing), default=0.0)
    bends = _BENDS if len(lines) <= _FEW else _BENDS[:1]
    ways: dict[str, Way] = {}
    for arrow in lines:
        one, other = places[arrow.source], places[arrow.target]
        stack = stacks.get(scene.boxes[arrow.target].holder or "")
        down = 1 if one.y <= other.y else -1
        first = bisect_left(levels, min(one.y, other.y) - tallest - _FAR)
        last = bisect_left(levels, max(one.y + one.h, other.y + other.h) + _FAR)
        curves = [
            _curve(start, end, bend, width)
            for start in _ends(one, down)
            for end in (_hanging(other, stack, _between(one, stack, stacks)) if stack else _ends(other, -down))
            for bend in bends
        ]
        points = curves[int(np.argmin(_costs(curves, walls[first:last])))]
        rounded = tuple((round(x, 1), round(y, 1)) for x, y in points)
        ways[arrow.id] = Way(rounded, Place(one.x, one.y, 0.0, 0.0))
    return ways


def _ends(place: Place, way: int) -> list[_End]:
    """Where a line may meet a box: at its sides, or at its foot, or at its head if `way` is -1."""
    level, middle = place.y + (place.h if way > 0 else 0.0), place.y + place.h / 2
    return [
        _End((place.x + place.w * _ASIDE, level), (0.0, way)),
        _End((place.x + place.w, middle), (1.0, 0.0)),
        _End((place.x + place.w * (1 - _ASIDE), level), (0.0, way)),
        _End((place.x, middle), (-1.0, 0.0)),
    ]


def _between(start: Place, stack: list[Place], stacks: Mapping[str, list[Place]]) -> list[Place]:
    """What hangs on boxes between the one where a line begins and the stack where it ends."""
    found = [place for each in stacks.values() for place in each if start.y + start.h < place.y < stack[0].y]
    return found if len(found) <= _FEW else []


def _hanging(place: Place, stack: list[Place], between: list[Place]) -> list[_End]:
    """Where one may meet what hangs on a box: at its head, its foot or its right, there also past those above it."""
    x, left, middle = place.x + place.w * _ASIDE, place.x + place.w * (1 - _ASIDE), place.y + place.h / 2
    right = (place.x + place.w, middle)
    aside = right[0] + _PAST + _FANNED * stack.index(place)
    above, corner = (aside, stack[0].y - _PAST), (aside, middle)
    past = max([aside, *(each.x + each.w + _PAST for each in between)])
    over, below = (past, min([stack[0].y, *(each.y for each in between)]) - _PAST), (past, middle)
    return [
        _End((x, place.y), (0.0, -1.0)),
        _End((left, place.y), (0.0, -1.0)),
        _End(right, (1.0, 0.0)),
        _End((x, place.y + place.h), (0.0, 1.0)),
        _End(above, (0.0, -1.0), (corner, corner, right)),
        *([_End(over, (0.0, -1.0), (below, below, right))] if between else ()),
    ]


def _curve(start: _End, end: _End, bends: tuple[int, int], width: float) -> tuple[Point, ...]:
    ((x, y), (dx, dy)), ((u, v), (du, dv)) = (start.at, start.way), (end.at, end.way)
    a, b = (min(max(at, _EDGE), width - _EDGE) for at in (x + dx * bends[0], u + du * bends[1]))
    return (x, y), (a, y + dy * bends[0]), (b, v + dv * bends[1]), (u, v), *end.rest


def _costs(curves: Sequence[tuple[Point, ...]], walls: np.ndarray) -> np.ndarray:
    """How long each way is, and a detour for all it would go behind or through."""
    # A curve without a rest stays where it ends.
    ends = np.array([curve[:4] for curve in curves]), np.array([(curve[3:] * 4)[:4] for curve in curves])
    paths = np.concatenate([_weights(_LOOKED_AT) @ points for points in ends], axis=1)
    costs = np.abs(np.diff(paths, axis=1)).sum(axis=(1, 2))
    if len(walls):
        x, y = paths[..., 0, None], paths[..., 1, None]
        left, top, right, foot, each = walls.T
        costs += ((left < x) & (x < right) & (top < y) & (y < foot)).sum(axis=1) @ each
    return costs
