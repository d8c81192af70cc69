"""The routes of arrows between rectangles: the simplest curve with room, around obstacles, apart at boxes.

If there are too many arrows for that, they take Graphviz's splines, extended to the boxes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np

from .curves import Route, calmed, led_up
from .geometry import GAP, Point, Rectangle, along
from .label_places import LabelPlaces, Tags
from .model import Scene
from .obstacles import Obstacles

_APART = 48  # px between the ends of arrows that meet at one box, if there is room
_CORNER = 14  # px of a box's edge, where no arrow may end: its corner is round
_STRETCH = 40  # px from its end, where an arrow's direction is judged
_MOST_JUDGED = 4000  # arrows whose course at a box is looked at; of more, where they lead to


def routed(
    scene: Scene,
    splines: dict[str, list[Point]],
    places: dict[str, Rectangle],
    labels: dict[str, Rectangle],
    fixed: Collection[str] = (),
    straight: Collection[str] = (),
    titles: Sequence[Rectangle] = (),
    led: bool = True,
    past: bool = True,
    clear: bool = True,
) -> tuple[dict[str, Route], set[str]]:
    """Return the route of every arrow, and the arrows without room for their label.

    Those that are `led` take the simplest way that has room, and if they may lead `past` the room that is kept for
    their label, do so where it has none else; then, to `clear` labels of others that still have none, around those;
    others take the splines that Graphviz laid. At what is `fixed` they end where their splines do; at other boxes they
    are set apart, around what is `straight`. No label is moved onto one of the `titles`.
    """
    joining = _joining(scene)
    paths: dict[str, list[Point]] = {}
    for arrow in scene.arrows.values():
        upper, lower = places[arrow.source], places[arrow.target]
        paths[arrow.id] = led_up(calmed(splines[arrow.id]), upper.y + upper.h + GAP, lower.y - GAP)
    apart = {id for ids in joining.values() if len(ids) == 1 for id in ids if id in straight}
    tags = Tags(labels, set(), {})
    crowded: set[str] = set()
    if paths and led:
        ends = {arrow.id: (arrow.source, arrow.target) for arrow in scene.arrows.values()}
        order = sorted(paths, key=lambda id: paths[id][-1][1] - paths[id][0][1])  # the short ones nearest to boxes
        obstacles = Obstacles(places, titles)
        for id in order:
            paths[id] = obstacles.way(id, ends[id], paths[id])
        # How arrows come to a box is known only now, and ends that are set apart make other ways.
        _spread(scene, paths, places, fixed, apart)
        for id in order:
            paths[id] = obstacles.way(id, ends[id], paths[id])
        paths |= obstacles.lanes(ends)
        twins = {one: other for pair in joining.values() if len(pair) == 2 for one, other in (pair, pair[::-1])}
        labeled = LabelPlaces(labels, paths, ends, [*places.values(), *titles], twins)
        if past:
            labeled.lead_past(obstacles)
        if clear:
            labeled.make_room(order, obstacles, {*straight, *twins})
        crowded = set(labeled.tags.crowded)
        paths, tags = labeled.paths, labeled.tags
    else:
        _spread(scene, paths, places, fixed, apart)
    rounded = {id: tuple((round(x, 1), round(y, 1)) for x, y in points) for id, points in paths.items()}
    return {id: Route(points, tags.near[id], id in tags.leftward) for id, points in rounded.items()}, crowded


def _joining(scene: Scene) -> dict[tuple[str, str], list[str]]:
    """Return the arrows that join the same boxes, as two do for x * x; they can run side by side."""
    joining: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for arrow in scene.arrows.values():
        joining[arrow.source, arrow.target].append(arrow.id)
    return joining


def _spread(
    scene: Scene,
    paths: dict[str, list[Point]],
    places: dict[str, Rectangle],
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
    """Return how far to the right an arrow leads."""
    return points[-1][0] - points[0][0]


def _course(points: list[Point]) -> float:
    """Return how far to the right an arrow's first stretch leads."""
    (x, y), *_ = points
    for n in range(0, len(points) - 1, 3):
        curve = along(points[n : n + 4])
        far = np.flatnonzero(abs(curve[:, 1] - y) >= _STRETCH)
        if far.size:
            return float(curve[far[0], 0]) - x
    return _drift(points)
