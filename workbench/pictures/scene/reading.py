"""Graphviz's answer for one part of a picture, read back: places of boxes, ports, and arrows led from one to another.

Graphviz knows rows, but not how far apart they need to be. Where an arrow would lead nearly level, or a label has no
room, rows are set further apart and all is read once more (`drawn_region`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, groupby
from math import inf

from .blocks import PORT, Block, stand
from .curves import Route, swung
from .dot import APART, Question, question
from .engines import Placed
from .geometry import GAP, Point, Rectangle, Walls
from .model import Scene
from .regions import RegionLayout, RegionOutline, Wire
from .routes import routed
from .siblings import in_program_order
from .sizes import STRIP, Size

_PAD = 14  # px between a region and what lies in it
_AT_EDGE = 6.0  # px between a region's upper or lower edge and a row of ports, which needs no more
_BELOW_HEADING = 4.0  # px between a heading and the contents below it
_BY_HEADING = 12.0  # px between a heading and a value that enters beside it, and to the next
_PORT_PLACE = 2.0  # px that a port is wide where arrows end at it
_EDGE = 8  # px between a part's edge and an arrow in it
_NEAR_TURN = 28  # px from where a value enters to where its way first turns: if it is nearer, it enters there
_FALL = 0.16  # px that an arrow leads down, at least, for each px sideways
_MOST_FALL = 42.0  # px that it leads down however far sideways: more would pull rows apart
_ENTRY_FALL = 42.0  # px that it leads down from where it enters beside a heading: it comes to its box from above
# A label is drawn beside its arrow, where there is usually free space. Reserving its whole width makes a picture of
# small boxes wide, so Graphviz gets a part of it, and the whole only if labels overlap otherwise.
_LABEL_PART = 0.5
_CROWDED = 24  # px more for each row that needs room, where a label still has none


@lru_cache(maxsize=512)  # the rounds of a loop are all alike
def drawn_region(
    heading: float | None,
    inside: tuple[str, ...],
    held: tuple[Block | RegionOutline, ...],
    wires: tuple[Wire, ...],
    sizes: tuple[Size, ...],
    depths: tuple[int, ...],
) -> RegionLayout:
    """Return what `level_of` lays out: the width of the heading, the wires' label sizes and each value's depth."""
    reading = _read(question(heading, inside, held, wires, sizes, depths, _LABEL_PART))
    if reading.crowded:
        wide = _read(question(heading, inside, held, wires, sizes, depths))
        reading = min(reading, wide, key=lambda each: len(each.crowded))
    return (reading.cleared() if reading.crowded else reading).layout()


def _read(asked: Question) -> _Reading:
    """Return Graphviz's answer with rows as far apart as arrows and labels need it."""
    found = in_program_order(asked)
    reading = _Reading(asked, found, past=False)
    if wanted := reading.rows_wanted():
        reading = _Reading(asked, _loosened(found, wanted), past=True)
        if reading.rows_wanted():
            more = {row: by + _CROWDED for row, by in wanted.items()}
            reading = _Reading(asked, _loosened(found, more), past=True)
    return reading


class _Reading:
    """One answer in the part's own px, step by step: how large the part is, its boxes, its ports, its arrows' ways.

    Arrows may lead `past` the room of their labels where rows have been set apart already; and, to `clear` labels that
    still have no room, other arrows around those.
    """

    def __init__(self, asked: Question, found: Placed, past: bool, clear: bool = False) -> None:
        self._asked, self._found, self._past, self._clear = asked, found, past, clear
        self._pad = _PAD if asked.heading is not None else 0
        # Beside the heading there is room for the values that enter.
        beside = (asked.heading or 0.0) + _BY_HEADING * len(asked.entries) + self._pad
        self._width = max(found.width + 2 * self._pad, beside)
        self._right = (self._width - found.width) / 2  # how far right Graphviz's drawing lies in the part
        self._down, self._height = self._below_heading()
        self._places = self._standing()
        self._enters, self._leaves = self._ports()
        self._ways, self.crowded = self._led()
        self._enter_from_above()

    def cleared(self) -> _Reading:
        """Return the same with other arrows led around labels that have no room."""
        return _Reading(self._asked, self._found, self._past, clear=True)

    def _at(self, point: Point) -> Point:
        """Return a point of Graphviz's drawing in the part's coordinates."""
        return point[0] + self._right, point[1] + self._down

    def _below_heading(self) -> tuple[float, float]:
        """Return the vertical offset of Graphviz's drawing, and the height of the part.

        A value that enters passes the heading on its way down, and so does its label: only other things must be below
        it.
        """
        asked, found = self._asked, self._found
        if asked.heading is None:
            return float(self._pad), found.height + 2 * self._pad
        tops = [y - self._tall(id) / 2 for id, (_, y) in zip(asked.inside, found.nodes, strict=False)]
        for arrow, at in zip(asked.told, found.labels, strict=True):
            if at is not None:
                (x, y), (w, h) = at, asked.sizes[arrow.id]
                tops += [y - h / 2] if x + self._right - w / 2 < asked.heading else []
        down = max(STRIP + _BELOW_HEADING - min(tops, default=0.0), _AT_EDGE)
        return down, down + found.height + (_AT_EDGE if asked.exits else self._pad)

    def _tall(self, id: str) -> float:
        asked = self._asked
        return asked.regions[id].height if id in asked.regions else asked.blocks[id].height

    def _standing(self) -> dict[str, Rectangle]:
        """Return the places of regions and of the boxes of blocks."""
        places: dict[str, Rectangle] = {}
        for id, point in zip(self._asked.inside, self._found.nodes, strict=False):
            x, y = self._at(point)
            if id in self._asked.regions:
                w, h = self._asked.regions[id].width, self._asked.regions[id].height
                places[id] = Rectangle(round(x - w / 2, 1), round(y - h / 2, 1), w, h)
            else:
                stand(id, self._asked.blocks[id], x, y, places)
        return places

    def _ports(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the horizontal position where each value enters, if possible next to the heading, and leaves."""
        asked = self._asked
        spots = [self._at(point)[0] for point in self._found.nodes[len(asked.inside) :]]
        enters = {value: round(x, 1) for value, x in zip(asked.entries, spots, strict=False)}
        leaves = {value: round(x, 1) for value, x in zip(asked.exits, spots[len(asked.entries) :], strict=True)}
        least = (asked.heading or 0.0) + _BY_HEADING
        for value in sorted(enters, key=lambda each: enters[each]):
            if enters[value] >= least or least > self._width - self._pad:
                break
            enters[value] = least
            least += _BY_HEADING
        return enters, leaves

    def _led(self) -> tuple[dict[str, Route], set[str]]:
        """Return the route of each arrow, and the arrows whose labels have no room."""
        asked = self._asked
        around = self._places | self._places_of_ports()
        fixed = {*asked.regions, *(around.keys() - self._places.keys())}
        splines, labels = self._splines(around)
        self._join_ways(splines)
        flowing = Scene("", {}, asked.arrows)
        led = asked.led, self._past, self._clear
        return routed(flowing, splines, around, labels, fixed, asked.spine, self._titles(), *led)

    def _places_of_ports(self) -> dict[str, Rectangle]:
        """Ports as boxes without a height, at which lines end in the very edge."""
        at = ("in", -GAP, self._enters), ("out", self._height + GAP, self._leaves)
        return {
            f"{way} {value}": Rectangle(x - _PORT_PLACE / 2, y, _PORT_PLACE, 0.0)
            for way, y, ports in at
            for value, x in ports.items()
        }

    def _titles(self) -> list[Rectangle]:
        """Return the place of the heading, if there is one."""
        heading = self._asked.heading
        return [] if heading is None else [Rectangle(0.0, 0.0, heading, float(STRIP))]

    def _splines(self, around: Mapping[str, Rectangle]) -> tuple[dict[str, list[Point]], dict[str, Rectangle]]:
        """Return each arrow's spline and the room for its label; arrows not passed to Graphviz have our own spline."""
        asked, found = self._asked, self._found
        splines: dict[str, list[Point]] = {}
        labels: dict[str, Rectangle] = {}
        for arrow, points, label in zip(asked.told, found.edges, found.labels, strict=True):
            w, h = asked.sizes[arrow.id]
            x, y = self._at(label if label is not None else (0.0, 0.0))
            labels[arrow.id] = Rectangle(round(x - w / 2, 1), round(y - h / 2, 1), w, h)
            splines[arrow.id] = [self._at(point) for point in points]
        for id, arrow in asked.arrows.items():
            if id not in splines:
                splines[id], labels[id] = swung(around[arrow.source], around[arrow.target], asked.sizes[id])
        return splines, labels

    def _join_ways(self, splines: Mapping[str, list[Point]]) -> None:
        """Move the ends of splines to the very place where the way goes on: in an inner region, or beyond this one."""
        regions, places = self._asked.regions, self._places
        for points, wire in zip((splines[id] for id in self._asked.arrows), self._asked.wires, strict=True):
            if wire.start is None:
                points[0] = self._enters[wire.value], points[0][1]
            elif wire.start in regions:
                points[0] = places[wire.start].x + dict(regions[wire.start].exits)[wire.value], points[0][1]
            if wire.end is None:
                points[-1] = self._leaves[wire.value], points[-1][1]
            elif wire.end in regions:
                points[-1] = places[wire.end].x + dict(regions[wire.end].entries)[wire.value], points[-1][1]

    def _enter_from_above(self) -> None:
        """Let a value that one way alone takes in enter right above where that first turns, if that is near."""
        standing = Walls([*self._places.values(), *self._titles()])
        entering = Counter(wire.value for wire in self._asked.wires if wire.start is None)
        for n, wire in enumerate(self._asked.wires):
            if wire.start is None and entering[wire.value] == 1:
                self._ways[str(n)] = _from_above(self._ways[str(n)], standing, self._enters, wire.value)

    def layout(self) -> RegionLayout:
        """Return the layout, as wide as the drawing: without Graphviz's room for labels that are elsewhere now."""
        wires, spine = self._asked.wires, self._asked.spine
        # A page keeps the first way through a region straight.
        order = sorted(range(len(wires)), key=lambda n: str(n) not in spine)
        ways = {wires[n]: self._ways[str(n)] for n in order}
        across = [x for way in ways.values() for x, _ in way.points]
        if self._asked.heading is not None:  # beside a region other arrows lead past
            across += [x for way in ways.values() if way.label.w for x in (way.label.x, way.label.x + way.label.w)]
        ends = [_EDGE + x for x in (max(across, default=0.0), *self._enters.values(), *self._leaves.values())]
        beside = {id: block.beside for id, block in self._asked.blocks.items()}
        ends += [place.x + place.w + beside.get(id, 0.0) + self._pad for id, place in self._places.items()]
        left = _EDGE - min(across, default=float(_EDGE))
        if self._asked.heading is None:
            left = max(left, -min((place.x for place in self._places.values()), default=0.0))
        else:  # what is next to the heading or below it stays there
            left, ends = max(0.0, left), [*ends, self._asked.heading]
        width = max(ends) + left
        return RegionLayout(
            float(2 * -(-width // 2)),  # even, so half of it is whole px too
            self._height,
            {id: place.moved(left) for id, place in self._places.items()},
            {wire: way.moved(left) for wire, way in ways.items()},
            {value: round(x + left, 1) for value, x in self._enters.items()},
            {value: round(x + left, 1) for value, x in self._leaves.items()},
        )

    def rows_wanted(self) -> dict[float, float]:
        """Return how many px further down each row should be, by its level in Graphviz's drawing.

        That is for labels without room, and once for arrows that would be nearly level.
        """
        if not self._asked.led:
            return {}
        levels = sorted({y for _, y in self._found.nodes})
        wanted: dict[float, float] = {}
        for way in () if self._past else self._ways.values():
            self._want_fall(way, levels, wanted)
        for label in [self._ways[id].label for id in self.crowded]:
            row = bisect_left(levels, label.y + label.h / 2 - self._down)
            if 0 < row < len(levels):
                wanted[levels[row]] = max(wanted.get(levels[row], 0.0), label.h + APART)
        return wanted

    def _want_fall(self, way: Route, levels: list[float], wanted: dict[float, float]) -> None:
        """Add how far each row that a route leads down to must move, for a route that goes sideways to fall enough."""
        start, *knots = way.points[::3]
        for row, run in groupby(knots, lambda knot: min(bisect_left(levels, knot[1] - self._down), len(levels) - 1)):
            inside = [start, *run]
            start = inside[-1]
            above = levels[row - 1] if row > 1 else -inf  # of the row before, if it is not one of ports
            inside = [knot for knot in inside if knot[1] - self._down >= above]
            aside = abs(inside[-1][0] - inside[0][0])
            # Below a heading it would lead along the box.
            least = _ENTRY_FALL if inside[0][1] <= 0 and aside > _BY_HEADING else 0.0
            more = max(min(_FALL * aside, _MOST_FALL), least) - (inside[-1][1] - inside[0][1])
            if more > 1 and row:
                wanted[levels[row]] = max(wanted.get(levels[row], 0.0), more)


def _from_above(way: Route, standing: Walls, enters: dict[str, float], value: str) -> Route:
    """Return the route, entering right above its first turn if that is near and nothing is there."""
    if len(way.points) == 4:
        return way
    (x, top), (_, down), (_, low), (turn, foot), (after, _), *_ = way.points
    others = [each for other, each in enters.items() if other != value]
    free = abs(turn - x) < _NEAR_TURN and turn == after and all(abs(turn - each) >= _BY_HEADING for each in others)
    if not free or standing.met(turn - PORT, top, turn + PORT, foot).any():
        return way
    enters[value] = turn
    return replace(way, points=((turn, top), (turn, down), (turn, low), *way.points[3:]))


def _loosened(found: Placed, wanted: Mapping[float, float]) -> Placed:
    """Return the layout with rows moved down by these distances."""
    rows = sorted(wanted)
    sums = [0.0, *accumulate(wanted[row] for row in rows)]

    def moved(point: Point) -> Point:
        return point[0], point[1] + sums[bisect_right(rows, point[1])]

    edges = [[moved(point) for point in points] for points in found.edges]
    labels = [label and moved(label) for label in found.labels]
    return Placed(found.width, found.height + sums[-1], [moved(each) for each in found.nodes], edges, labels)
