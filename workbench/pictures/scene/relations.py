"""Dotted lines that join boxes with the same memory: of several curves, each takes the one that hides the least."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .curves import Route
from .geometry import Point, Rectangle, bernstein
from .model import AROUND, Scene

_BENDS = ((70, 70), (30, 30), (130, 130), (20, 220), (24, 260))  # px straight away from its boxes
_FAR = max(map(max, _BENDS))  # px that a line may swing out
_FEW = 40  # lines: of more, each has one bend to choose from
_FEW_BETWEEN = 40  # boxes in between that a line may lead around: around more it would be too far away
_MANY = 200  # lines: of more, none looks at what it hides
EDGE = 6.0  # px from the picture's edge that a line keeps
_HIDDEN = 400.0  # px of detour that not going behind a box is worth
_STRUCK = 20.0  # px of detour that not going through a label's place is worth
_ASIDE = 0.78  # of a box's width, where a line meets it: in the middle its arrows do
_PAST = 12  # px right of saved tensors, where a line passes those above its own
_FANNED = 6  # px between two such lines
_LOOKED_AT = 24  # steps between the points of a line that are looked at


def related(
    scene: Scene, places: Mapping[str, Rectangle], labels: Sequence[Rectangle], width: float
) -> dict[str, Route]:
    """Return the route of every arrow of the kind "same", with the boxes and labels where they are."""
    lines = [arrow for arrow in scene.arrows.values() if arrow.kind == "same"]
    stacks: dict[str, list[Rectangle]] = {}  # what hangs on one box
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
    ways: dict[str, Route] = {}
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
        ways[arrow.id] = Route(rounded, Rectangle(one.x, one.y, 0.0, 0.0))
    return ways


@dataclass(frozen=True, slots=True)
class _End:
    """Where a curve ends, which way it goes from there, and the points of what leads on from it to the box."""

    at: Point
    way: Point
    rest: tuple[Point, ...] = ()


def _ends(place: Rectangle, way: int) -> list[_End]:
    """Return where a line may meet a box: at its sides, or at its foot, or at its head if `way` is -1."""
    level, middle = place.y + (place.h if way > 0 else 0.0), place.y + place.h / 2
    return [
        _End((place.x + place.w * _ASIDE, level), (0.0, way)),
        _End((place.x + place.w, middle), (1.0, 0.0)),
        _End((place.x + place.w * (1 - _ASIDE), level), (0.0, way)),
        _End((place.x, middle), (-1.0, 0.0)),
    ]


def _between(start: Rectangle, stack: list[Rectangle], stacks: Mapping[str, list[Rectangle]]) -> list[Rectangle]:
    """Return the boxes attached between the one where a line begins and the stack where it ends."""
    found = [place for each in stacks.values() for place in each if start.y + start.h < place.y < stack[0].y]
    return found if len(found) <= _FEW_BETWEEN else []


def _hanging(place: Rectangle, stack: list[Rectangle], between: list[Rectangle]) -> list[_End]:
    """Return where a line may meet a box's attachments: at head, foot or right, there also past those above."""
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
    a, b = (min(max(at, EDGE), width - EDGE) for at in (x + dx * bends[0], u + du * bends[1]))
    return (x, y), (a, y + dy * bends[0]), (b, v + dv * bends[1]), (u, v), *end.rest


def _costs(curves: Sequence[tuple[Point, ...]], walls: np.ndarray) -> np.ndarray:
    """Return the length of each route, with a detour added for all that it would pass behind or through."""
    # A curve without a rest stays where it ends.
    ends = np.array([curve[:4] for curve in curves]), np.array([(curve[3:] * 4)[:4] for curve in curves])
    paths = np.concatenate([bernstein(_LOOKED_AT) @ points for points in ends], axis=1)
    costs = np.abs(np.diff(paths, axis=1)).sum(axis=(1, 2))
    if len(walls):
        x, y = paths[..., 0, None], paths[..., 1, None]
        left, top, right, foot, each = walls.T
        costs += ((left < x) & (x < right) & (top < y) & (y < foot)).sum(axis=1) @ each
    return costs
