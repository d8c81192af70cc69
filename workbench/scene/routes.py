"""The ways of arrows between rectangles: Graphviz's splines, led up to boxes, set apart there, eased where room is.

Dotted lines that join what is the same memory take, of some curves, that which hides the least (`related`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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
        return replace(self, x=round(self.x + right, 1), y=round(self.y + down, 1))

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
    a, b, c, d = knots[:-1:3], knots[1::3], knots[2::3], knots[3::3]
    counts: npt.NDArray[np.int_] = np.maximum(4, np.rint(abs(d - a).sum(axis=1) / PACE)).astype(int)
    ends: npt.NDArray[np.int_] = (counts + 1).cumsum()
    steps: npt.NDArray[np.int_] = np.arange(int(ends[-1])) - np.repeat(ends - counts - 1, counts + 1)
    part = (steps / np.repeat(counts, counts + 1))[:, None]
    a, b, c, d = (np.repeat(each, counts + 1, axis=0) for each in (a, b, c, d))
    a, b, c = a + (b - a) * part, b + (c - b) * part, c + (d - c) * part  # de Casteljau
    a, b = a + (b - a) * part, b + (c - b) * part
    return a + (b - a) * part


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

    def struck(self, points: Sequence[Point], sideways: float | npt.NDArray[np.float64] = 1) -> bool:
        """Whether the curve leads through any of them, or so close to one's side: to all the same, or to each."""
        aside = np.broadcast_to(sideways, self._ends.shape[1])
        # The curve lies between its points, and most of them are out of reach of that.
        (left, top), (right, bottom) = np.min(points, axis=0), np.max(points, axis=0)
        near = self.met(left - aside - 1, top - 2, right + aside + 1, bottom + 2)
        if not near.any():
            return False
        own_left, own_top, own_right, own_bottom = self._ends[:, near, None]
        across, down = along(points).T
        lefts, tops = across - aside[near, None], down - 1
        rights, bottoms = lefts + 2 * aside[near, None], tops + 2
        return bool(((lefts < own_right) & (own_left < rights) & (tops < own_bottom) & (own_top < bottoms)).any())


GAP = 3  # px between a box and the end of an arrow's line; an arrow's head bridges it
_APART = 22  # between the ends of arrows that meet at one box, if there is room
_CORNER = 14  # of a box's edge, where no arrow may end
_VERTICAL = 24  # how far an arrow's ends keep to the vertical, if there is room
_SWING = 40  # how far a stretch of an arrow may swing out sideways
_ROOM = 26  # left and right of an arrow that comes close to saved tensors
_STRETCH = 40  # how far from its end an arrow's direction is judged
_MOST_JUDGED = 4000  # arrows whose course at a box is looked at; of more, where they lead to
_TURNS = (0.5, 0.15, 0.85, 0.3, 0.7, 0.0, 1.0)  # how far down a stretch that would climb turns aside
_MOST_EASED, _MOST_LED = 200, 1000  # boxes, arrows; of more, looking for room would take longer than the layout


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
    return _eased([(x, y), (u, v)]), Place(*middle, *label)


def one_way(pieces: Sequence[Way]) -> Way:
    """One way of several, each of which begins about where the one before it ends; the label is that of the last."""
    points = list(pieces[0].points)
    for piece in pieces[1:]:
        end, start = points[-1], piece.points[0]
        if end != start:
            points += [*_straight(end, start)[1:], start]
        points += piece.points[1:]
    return replace(pieces[-1], points=tuple((round(x, 1), round(y, 1)) for x, y in points))


def routed(
    scene: Scene,
    splines: dict[str, list[Point]],
    places: dict[str, Place],
    labels: dict[str, Place],
    fixed: Collection[str] = (),
    straight: Collection[str] = (),
    titles: Sequence[Place] = (),
) -> dict[str, Way]:
    """The way of every arrow, from the splines Graphviz laid around the boxes and labels.

    At what is `fixed` they end where their splines do; at other boxes they are set apart, around what is `straight`. No
    label is moved onto one of the `titles`.
    """
    twins = _twins(scene)
    few = len(places) <= _MOST_EASED and len(splines) <= _MOST_LED
    paths = _led(scene, splines, places, labels, twins, few)
    ways = _settled(scene, paths, places, labels, twins, fixed, straight, titles, few)
    stuck = {id for id in twins if labels[id].w and ways[id].label == labels[id]}
    if stuck:  # there was no room for their labels beside them, so they go where Graphviz led them
        alone = {one for one, other in twins.items() if {one, other} & stuck}
        twins = {one: other for one, other in twins.items() if one not in alone}
        arrows = {id: arrow for id, arrow in scene.arrows.items() if id in alone}
        paths |= _led(Scene("", {}, arrows), splines, places, labels, twins, few)
        ways = _settled(scene, paths, places, labels, twins, fixed, straight, titles, few)
    return ways


def _led(
    scene: Scene,
    splines: dict[str, list[Point]],
    places: dict[str, Place],
    labels: dict[str, Place],
    twins: dict[str, str],
    few: bool,
) -> dict[str, list[Point]]:
    """The way of each arrow from box to box; of `few` arrows the calmest that has room."""
    paths: dict[str, list[Point]] = {}
    boxes, said = Walls(places.values()), Walls(labels.values())
    written = [label for label in labels.values() if label.w]
    walls, aside = Walls([*places.values(), *written]), np.repeat([_ROOM, 1.0], [len(places), len(written)])
    number = {id: n for n, id in enumerate(labels)}
    for arrow in scene.arrows.values():
        upper, lower = places[arrow.source], places[arrow.target]
        levels = upper.y + upper.h + GAP, lower.y - GAP
        points = _calmed(splines[arrow.id])
        paths[arrow.id] = _around(points, *levels)
        if few:
            calm = _direct(points, *levels)
            # Beside its label Graphviz has already led an arrow with care.
            plain = arrow.id in twins or not labels[arrow.id].w
            joined = (way(points, *levels, join=True) for way in (_direct, _around))
            own = [number[id] for id in (arrow.id, twins.get(arrow.id)) if id is not None]
            if plain and _has_room(calm, boxes, said, own):
                paths[arrow.id] = _eased(calm)
            elif free := next((way for way in joined if not walls.struck(way, aside)), None):
                paths[arrow.id] = free
            elif len(calm) < len(paths[arrow.id]) and not boxes.struck(calm, _ROOM):
                paths[arrow.id] = calm
            paths[arrow.id] = _falling(paths[arrow.id], boxes)
    return paths


def _settled(
    scene: Scene,
    paths: Mapping[str, list[Point]],
    places: dict[str, Place],
    labels: dict[str, Place],
    twins: dict[str, str],
    fixed: Collection[str],
    straight: Collection[str],
    titles: Sequence[Place],
    few: bool,
) -> dict[str, Way]:
    """The ways with their ends set apart, and of `few` arrows the labels near them."""
    paths = {id: list(points) for id, points in paths.items()}
    _spread(scene, paths, places, fixed, {id for id in straight if id not in twins})
    labels, leftward = (
        _brought_near(labels, paths, [*places.values(), *titles], twins) if few and paths else (labels, set[str]())
    )
    rounded = {id: tuple((round(x, 1), round(y, 1)) for x, y in points) for id, points in paths.items()}
    return {id: Way(points, labels[id], id in leftward) for id, points in rounded.items()}


def _twins(scene: Scene) -> dict[str, str]:
    """The other arrow of every two that join the same boxes, as for x * x: they can go side by side."""
    joining: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for arrow in scene.arrows.values():
        joining[arrow.source, arrow.target].append(arrow.id)
    pairs = [ids for ids in joining.values() if len(ids) == 2]
    return {one: other for pair in pairs for one, other in (pair, pair[::-1])}


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


def _falling(points: list[Point], boxes: Walls) -> list[Point]:
    """The points of a curve that never climbs on its way down, through no box if one of a few bends leads past all."""
    levels = [y for _, y in points]
    if levels[-1] < levels[0] or levels == sorted(levels):
        return points
    turned = (_turned(points, part) for part in _TURNS)
    free = (each for each in turned if not boxes.struck(each, 0))
    return next(free, None) or _turned(points, _TURNS[0])


def _turned(points: list[Point], part: float) -> list[Point]:
    """The points with none above the one before it; a stretch that would climb turns aside so far down."""
    levels = [y for _, y in points]
    knots = np.minimum(np.maximum.accumulate(levels[::3]), levels[-1])
    calm = [levels[0]]
    for n, (top, foot) in enumerate(zip(knots, knots[1:], strict=False)):
        one, other = (min(max(y, top), foot) for y in levels[3 * n + 1 : 3 * n + 3])
        if one > other:
            one = other = top + (foot - top) * part
        calm += [one, other, foot]
    return [(x, float(y)) for (x, _), y in zip(points, calm, strict=True)]


def _direct(points: list[Point], start: float, end: float, join: bool = False) -> list[Point]:
    """The points with their ends set to the levels `start` and `end`, and vertical there."""
    if join:
        points = _joined(_joined(points, start)[::-1], end)[::-1]
    (x0, y0), *middle, (x1, y1) = points
    room = min(_VERTICAL, (end - start) / 3)
    middle[0] = (x0, max(middle[0][1], y0 + room))
    middle[-1] = (x1, min(middle[-1][1], y1 - room))
    return [(x0, start), *middle, (x1, end)]


def _joined(points: list[Point], level: float) -> list[Point]:
    """The points with a first stretch too low for a calm bend made one with the next: it would be a hook."""
    (x, _), *_ = points
    low = points
    while len(points) > 4 and abs(points[3][1] - level) < 2 * _VERTICAL:
        points = [*points[:2], *points[5:]]
    if points is low:
        return points
    (a, b), (u, v) = points[2:4]
    half = (v - level) / 2
    part = min(3.0, half / (v - b)) if (v - b) * half > 0 else 1.0
    return [(x, level), (x, level + half), (u - (u - a) * part, v - (v - b) * part), *points[3:]]


def _around(points: list[Point], start: float, end: float, join: bool = False) -> list[Point]:
    """The same, but straight to where Graphviz ended them.

    That is the edge of a block, which saved tensors may make higher than the box they hang on: beside them
    nothing is in the way.
    """
    (x0, y0), *_, (x1, y1) = points
    before = _straight((x0, start), (x0, y0)) if y0 - start > 1 else []
    after = _straight((x1, end), (x1, y1))[::-1] if end - y1 > 1 else []
    return [*before, *_direct(points, y0 if before else start, y1 if after else end, join), *after]


def _straight(start: Point, end: Point) -> list[Point]:
    """A straight line's Bézier points but the last."""
    (x, y), (u, v) = start, end
    return [(x + (u - x) * part, y + (v - y) * part) for part in (0, 1 / 3, 2 / 3)]


def _eased(points: list[Point]) -> list[Point]:
    """The calmest curve between the same ends: an S."""
    (x0, y0), (x1, y1) = points[0], points[-1]
    half = (y0 + y1) / 2
    return [(x0, y0), (x0, half), (x1, half), (x1, y1)]


def _has_room(points: list[Point], boxes: Walls, labels: Walls, own: list[int]) -> bool:
    """Whether nothing is in the rectangle between a way's ends but its own labels."""
    (x0, y0), (x1, y1) = points[0], points[-1]
    room = min(x0, x1), min(y0, y1), min(x0, x1) + abs(x1 - x0), min(y0, y1) + abs(y1 - y0)
    said = labels.met(*room)
    said[own] = False
    return not said.any() and not boxes.met(*room).any()


def _brought_near(
    labels: dict[str, Place],
    paths: dict[str, list[Point]],
    places: Sequence[Place],
    twins: dict[str, str],
) -> tuple[dict[str, Place], set[str]]:
    """The labels, moved sideways to where their arrows really pass, unless something else is there.

    A label stands at the right of its arrow, or else at the left; at the left of the left one of twins. Those that
    stand at the left are told too.
    """
    near = dict(labels)
    leftward: set[str] = set()
    if not any(label.w for label in labels.values()):
        return near, leftward
    boxes, said = Walls(places), Walls(labels.values())
    numbers = {id: n for n, id in enumerate(paths)}
    curves = [along(points) for points in paths.values()]
    across, heights = np.concatenate(curves).T
    passers = np.repeat(np.arange(len(curves)), [len(curve) for curve in curves])
    order = heights.argsort()
    across, heights, passers = across[order], heights[order], passers[order]
    for number, (id, label) in enumerate(labels.items()):
        beside = slice(*heights.searchsorted((label.y - PACE, label.y + label.h + PACE)))
        owned = passers[beside] == numbers[id]
        own, foreign = across[beside][owned], across[beside][~owned]
        if not label.w or not own.size:
            continue
        twin_left = id in twins and paths[id][0] < paths[twins[id]][0]
        for left in (True,) if twin_left else (False, True):
            moved = replace(label, x=round(float(own.min()) - label.w if left else float(own.max()), 1))
            crossed = bool(((moved.x < foreign) & (foreign < moved.x + moved.w)).any())
            room = moved.x, moved.y, moved.x + moved.w, moved.y + moved.h
            others = said.met(*room)
            others[number] = False
            if not crossed and not others.any() and not boxes.met(*room).any():
                near[id] = said[number] = moved
                leftward |= {id} if left else set()
                break
    return near, leftward


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
    for arrow in scene.arrows.values():
        leaving[arrow.source].append(paths[arrow.id])
        arriving[arrow.target].append(paths[arrow.id])
    for ends, way in ((leaving, 1), (arriving, -1)):
        for box, meeting in ends.items():
            if box in fixed or len(meeting) == 1:
                continue
            meeting.sort(key=lambda points, way=way: course(points[::way]))
            last = len(meeting) - 1
            middle = next((n for n, points in enumerate(meeting) if id(points) in still), last / 2)
            apart = min(_APART, (places[box].w / 2 - _CORNER) / max(0.5, middle, last - middle))
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
_ALONG = np.linspace(0.0, 1.0, 25)[:, None]  # where a curve is looked at
_WEIGHTS = (1, 3, 3, 1) * _ALONG ** (0, 1, 2, 3) * (1 - _ALONG) ** (3, 2, 1, 0)  # of its four points there


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
    paths = np.concatenate([_WEIGHTS @ points for points in ends], axis=1)
    costs = np.abs(np.diff(paths, axis=1)).sum(axis=(1, 2))
    if len(walls):
        x, y = paths[..., 0, None], paths[..., 1, None]
        left, top, right, foot, each = walls.T
        costs += ((left < x) & (x < right) & (top < y) & (y < foot)).sum(axis=1) @ each
    return costs
