"""What of a picture's arrows a reader would stumble over, measured along the curves as they are drawn."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
from boxes import drawn_part

from workbench.pictures.scene.geometry import Rectangle, Walls, along
from workbench.pictures.scene.layout import Layout
from workbench.pictures.scene.model import AROUND, LOOSE, Scene, paths
from workbench.pictures.scene.sizes import STRIP

Curve = npt.NDArray[np.float64]

STEP = 2.0  # px between two points of a curve that are looked at
CORNER, WITHIN = 35.0, 8.0  # degrees of turning in so many px: a corner
LEVEL, FAR = 12.0, 60.0  # degrees off the horizontal, and px of such a run beyond what a simple curve has
CLOSE, SHARED = 6.0, 40.0  # px between two arrows that run together, and px around a box where they meet anyway
AT_BOX = 7  # points at an arrow's ends, where it turns up or down
SWAY = 3.0  # px sideways that count as leading back


def evenly(points: tuple[tuple[float, float], ...]) -> Curve:
    """Points of a curve, the same way apart."""
    knots = np.array(points)
    part = np.linspace(0.0, 1.0, 65)[1:, None]
    pieces = [knots[:1]]
    for n in range(0, len(knots) - 1, 3):
        a, b, c, d = knots[n : n + 4]
        pieces.append(a * (1 - part) ** 3 + 3 * b * part * (1 - part) ** 2 + 3 * c * part**2 * (1 - part) + d * part**3)
    curve = np.concatenate(pieces)
    way = np.concatenate([[0.0], np.hypot(*np.diff(curve, axis=0).T).cumsum()])
    at = np.arange(0.0, way[-1], STEP)
    return np.column_stack([np.interp(at, way, curve[:, axis]) for axis in (0, 1)])


def struck(points: list[tuple[float, float]], standing: Walls) -> bool:
    """Whether the curve leads through any of these, or so close above or below."""
    return any(standing.met(x, y - 1, x, y + 1).any() for x, y in along(points))


def corners(curve: Curve) -> int:
    """How often the curve turns so sharply that a corner is seen, but for its ends."""
    curve = curve[AT_BOX : len(curve) - AT_BOX]
    if len(curve) < 8:
        return 0
    heading = np.unwrap(np.arctan2(*np.diff(curve, axis=0).T[::-1]))
    span = round(WITHIN / STEP)
    sharp = np.abs(np.degrees(heading[span:] - heading[:-span])) > CORNER
    return int((sharp[1:] & ~sharp[:-1]).sum() + sharp[0])


def level(curve: Curve) -> float:
    """The px of the curve that lead nearly sideways."""
    right, down = np.abs(np.diff(curve, axis=0).T)
    return float((down < right * np.tan(np.radians(LEVEL))).sum() * STEP)


def sways(curve: Curve) -> int:
    """How often the curve leads back from the side to which it went."""
    turns, side, far = 0, 0, curve[0, 0]
    for x in curve[:, 0]:
        if side * (x - far) >= 0 and side:
            far = x
        elif abs(x - far) > SWAY:
            turns += side != 0
            side, far = (1 if x > far else -1), x
    return turns


def simple(points: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    """The S between the same ends."""
    (x, y), (u, v) = points[0], points[-1]
    return (x, y), (x, (y + v) / 2), (u, (y + v) / 2), (u, v)


def measured(scene: Scene, layout: Layout) -> dict[str, float]:
    """What a picture's arrows do together: in px, or how often."""
    scene = drawn_part(scene, layout)
    flowing = {id: arrow for id, arrow in scene.arrows.items() if arrow.kind not in LOOSE}
    ways = {id: layout.arrows[id] for id in flowing}
    curves = {id: evenly(way.points) for id, way in ways.items()}
    boxes = {id: layout.boxes[id] for id, box in scene.boxes.items() if box.kind not in AROUND}
    headings = [
        Rectangle(place.x, place.y, min(place.w, 26 + 7.25 * len(scene.boxes[id].title)), STRIP - 4.0)
        for id, place in layout.boxes.items()
        if scene.boxes[id].kind == "region"
    ]
    written = [way.label for way in ways.values() if way.label.w]
    path = paths(scene)
    found = dict.fromkeys(("corners", "level", "beside", "struck", "headings", "sways", "climbs", "boxes"), 0.0)
    standing = Walls(boxes.values())
    for id, curve in curves.items():
        found["corners"] += corners(curve)
        found["sways"] += sways(curve)
        found["climbs"] += bool((np.diff(curve[:, 1]) < -0.5).any())
        plain = simple(ways[id].points)
        if path[flowing[id].source] == path[flowing[id].target] and not struck(plain, standing):
            more = level(curve) - level(evenly(plain))
            found["level"] += more if more > FAR else 0.0
        x, y = curve.T
        for places, name, margin in ((boxes.values(), "boxes", 2), (headings, "headings", 0)):
            for place in places:
                found[name] += STEP * within(place, x, y, margin)
        for place in written:
            found["struck"] += STEP * within(place, x, y, 2)
    for one, other in combinations(curves, 2):
        found["beside"] += together(one, other, flowing, curves, layout)
    return {name: round(value) for name, value in found.items()}


def within(place: Rectangle, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], margin: float) -> int:
    inside = (place.x + margin < x) & (x < place.x + place.w - margin)
    return int((inside & (place.y + margin < y) & (y < place.y + place.h - margin)).sum())


def together(one: str, other: str, flowing: dict, curves: dict[str, Curve], layout: Layout) -> float:
    """The px of one arrow that lie close beside another of another value and lead the same way."""
    first, second = flowing[one], flowing[other]
    if first.source == second.source:
        return 0.0  # one value may go some way as one
    a, b = curves[one], curves[other]
    if (a.min(0) - CLOSE > b.max(0)).any() or (b.min(0) - CLOSE > a.max(0)).any():
        return 0.0
    if first.target == second.target:
        head = layout.boxes[first.target].y
        a, b = a[a[:, 1] < head - SHARED], b[b[:, 1] < head - SHARED]
    if len(a) < 2 or len(b) < 2:
        return 0.0
    near = np.hypot(a[:, None, 0] - b[None, :, 0], a[:, None, 1] - b[None, :, 1])
    to = near.argmin(axis=1)
    ways = [np.gradient(each, axis=0) for each in (a, b)]
    ways = [each / np.maximum(np.hypot(*each.T), 1e-9)[:, None] for each in ways]
    alike = (ways[0] * ways[1][to]).sum(axis=1) > np.cos(np.radians(15.0))
    run = STEP * int(((near.min(axis=1) < CLOSE) & alike).sum())
    return run if run > 2 * CLOSE else 0.0
