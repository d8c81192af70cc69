"""The shapes of a picture: boxes and arrows as rectangles, paths and texts with the stylesheet's classes.

Every drawn format is made of these shapes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any, Literal

from .blocks import TIE
from .curves import Route
from .geometry import GAP, MARGIN, Point, Rectangle
from .labels import FREED, TENSORS, arrow_fields, box_fields, ends_of, overlay_said, title_parts
from .layout import Layout
from .metric import CHARACTER, LINE, TITLE_CHARACTER, TITLE_LINE, columns
from .model import AROUND, LOOSE, PLACED, REMARKABLE, Arrow, Box, Density, Overlay, Plot, Scene
from .plots import plot_numbers, plot_paths
from .sizes import APART, CHIP_PAD, LABEL_PAD, PAD, ROUND_PAD, SIGN, STORY_LINE, STORY_PAD, first_row, stands_behind
from .storyboard import Storyboard

_HEADS = ((11, 11), (9, 9), (11, 11), (13, 17), (15, 23))  # length and width of an arrow's head, by its weight
_BASELINE = 12  # px from a 16 px line's upper edge to the feet of its letters
_LARGE = 2000  # px around a corner of a region whose outline has no dots: a page would paint them for too long
_DISC = 9
_LEAST_FOR_LEGEND = 480  # px: of a narrower picture it would take too many lines
_FOOT = 14  # px below it
_SWATCH = 28  # px: the width of a color in a key
_RADII = {
    **{"function": 9, "op": 9, "plain": 9, "saved": 4, "tangent": 0, "region": 6, "level": 4, "group": 9},
    **{"cell": 0, "bar": 1, "ghost": 1, "event": 4, "text": 0, "heading": 0, "line": 2, "frame": 6, "tick": 0},
    **{"name": 0, "plot": 6, "story": 6},
}
CIRCLE = 0.5523  # how far along a quarter circle's tangents its Bézier points lie, in radii


@dataclass(frozen=True, slots=True)
class Shape:
    """One SVG element: its name, class and attributes, and its text if it is one."""

    element: Literal["rect", "circle", "path", "text"]
    role: str
    attributes: Mapping[str, float | str]
    text: str = ""


@dataclass(frozen=True, slots=True)
class ShapeGroup:
    """The shapes of one box or arrow, in drawing order, with their text for screen readers."""

    classes: str
    alt: str
    shapes: list[Shape]


@dataclass(frozen=True, slots=True)
class Sheet:
    """The background of a picture: its left edge, its size, and the lines of the legend at its foot."""

    left: float
    width: float
    height: float
    legend: list[Shape]


def sheet(storyboard: Storyboard, k: int | None = None) -> Sheet:
    """Return the sheet of the picture after step k; text at its foot makes it wider and higher where needed.

    That is which part of a story is shown, and the legend.
    """
    layout, part = storyboard.shown(k)[0].layout, storyboard.chapter(k)
    said = " ".join(filter(None, [f"{part[:1].upper()}{part[1:]}." if part else "", storyboard.legend]))
    overlay = storyboard.overlay
    said = said if overlay is None else f"{said} {overlay_said(overlay)}".strip()
    width = max(layout.width, _LEAST_FOR_LEGEND) if said else layout.width
    left = (layout.width - width) / 2
    lines = textwrap.wrap(said, max(1, int((width - 2 * MARGIN) // CHARACTER)))
    feet = [layout.height + LINE * n + 2 for n in range(len(lines))]
    legend = [_text("wb-legend", left + MARGIN, y, line, "start") for y, line in zip(feet, lines, strict=True)]
    foot = feet[-1] + _FOOT if feet else layout.height
    if overlay is not None and overlay.tints:
        legend += _swatches(overlay, left + MARGIN, foot)
        foot += LINE + _FOOT
    return Sheet(left, width, foot, legend)


def _swatches(overlay: Overlay, x: float, y: float) -> list[Shape]:
    """Return an overlay's scale: each of its colors, between the numbers at its ends."""
    low, high = ends_of(overlay)
    start = x + columns(low) * CHARACTER + APART
    colors = [
        _rect(f"wb-key-own-{tint}", Rectangle(start + _SWATCH * n, y, _SWATCH, LINE), 0)
        for n, tint in enumerate(overlay.tints)
    ]
    end = start + _SWATCH * len(colors) + APART
    low_text, high_text = (
        _text("wb-legend", x, y + _BASELINE, low, "start"),
        _text("wb-legend", end, y + _BASELINE, high, "start"),
    )
    return [low_text, *colors, high_text]


def drawn(storyboard: Storyboard, k: int | None = None) -> list[ShapeGroup]:
    """Return the groups of the picture after step k, in drawing order, without those that aren't there yet."""
    storyboard, k = storyboard.shown(k)
    scene, layout, density = storyboard.at(k, drawn=True), storyboard.layout, storyboard.density
    there = [each for each in scene.boxes.values() if each.state != "future"]
    regions = [_box(each, layout, density) for each in there if each.kind == "region"]
    boxes = [_box(each, layout, density) for each in there if each.kind != "region"]
    # Lines to the same memory are a player's: for what is selected. Here the words of what is saved name it.
    arrows = [each for each in scene.arrows.values() if each.state != "future" and each.kind != "same"]
    behind = [_arrow(each, scene, layout, density) for each in arrows if each.kind in LOOSE]
    before = [_arrow(each, scene, layout, density) for each in arrows if each.kind not in LOOSE]
    # Arrows lead through regions, but not through their titles.
    titles = [ShapeGroup(each.classes.replace("wb-box", "wb-over"), "", each.shapes[1:]) for each in regions]
    for each in regions:
        del each.shapes[1:]
    return regions + behind + boxes + before + titles


def _arrow(arrow: Arrow, scene: Scene, layout: Layout, density: Density) -> ShapeGroup:
    shown, way = arrow_fields(arrow, scene, density), layout.arrows[arrow.id]
    shapes = [_path("wb-line", way.d)]
    if arrow.kind not in LOOSE:
        shapes.append(_path("wb-head", _head(way, climbing=arrow.state != "idle", weight=arrow.weight)))
    if arrow.kind == "cut":
        shapes += _cut_mark(way)
    if shown["label"]:
        lines = shown["label"].split("\n")
        height = LINE * len(lines)
        y = way.label.y + (way.label.h - height) / 2
        width = max(map(columns, lines)) * CHARACTER + 2 * LABEL_PAD
        x = way.label.x + (way.label.w - width if way.leftward else 0)
        if arrow.state == "flowing":
            shapes.append(_rect("wb-pill", Rectangle(x, y - 2, width, height + 4), 5))
        for line in lines:
            shapes.append(_text("wb-label", x + LABEL_PAD, y + _BASELINE, line, "start"))
            y += LINE
    looks = f" wb-weight-{arrow.weight}" if arrow.weight else ""
    looks += f" wb-tone-{arrow.tone}" if arrow.weight or arrow.tone in REMARKABLE else ""
    return ShapeGroup(f"wb-arrow wb-kind-{arrow.kind} wb-state-{arrow.state}{looks}", shown["alt"], shapes)


def _cut_mark(way: Route) -> list[Shape]:
    """Return a gap in an arrow for its label, between two strokes across it."""
    label, points = way.label, way.points
    found = [_at_part(points[at : at + 4], n / 8) for at in range(0, len(points) - 3, 3) for n in range(1, 8)]
    middle = label.x + label.w / 2, label.y + label.h / 2
    (x, y), (u, v) = min(found, key=lambda each: hypot(each[0][0] - middle[0], each[0][1] - middle[1]))
    length = hypot(u, v) or 1

    def place(along: float, across: float) -> Point:
        return x + (along * u - across * v) / length, y + (along * v + across * u) / length

    strokes = [_line(place(along, -6), place(along, 6)) for along in (-3, 3)]
    return [_path("wb-gap", _line(place(-3, 0), place(3, 0))), _path("wb-cut", " ".join(strokes))]


def _at_part(piece: Sequence[Point], t: float) -> tuple[Point, Point]:
    """Return the point at fraction `t` of a Bézier curve, and the direction there."""
    s = 1 - t

    def joined(*parts: float) -> Point:
        x, y = (sum(part * each for part, each in zip(parts, line, strict=True)) for line in zip(*piece, strict=True))
        return x, y

    place = joined(s**3, 3 * s * s * t, 3 * s * t * t, t**3)
    return place, joined(-s * s, s * s - 2 * s * t, 2 * s * t - t * t, t * t)


def _head(way: Route, climbing: bool, weight: int) -> str:
    """Return a triangle at the arrow's upper or lower end, covering the gap between the line and the box."""
    points = way.points if climbing else way.points[::-1]
    (x, y), *rest = points
    # Two points may coincide, so the direction is towards the nearest one that does not.
    from_x, from_y = next((point for point in rest if point != (x, y)), (x, y + (1 if climbing else -1)))
    length = hypot(x - from_x, y - from_y)
    dx, dy = (x - from_x) / length, (y - from_y) / length
    tip = (x + dx * GAP, y + dy * GAP)
    long, wide = _HEADS[weight]
    foot = (tip[0] - dx * long, tip[1] - dy * long)
    side = (-dy * wide / 2, dx * wide / 2)
    return _polygon(tip, (foot[0] + side[0], foot[1] + side[1]), (foot[0] - side[0], foot[1] - side[1]))


def _box(box: Box, layout: Layout, density: Density) -> ShapeGroup:
    place, shown = layout.boxes[box.id], box_fields(box, density)
    shapes: list[Shape] = []
    if box.holder is not None:
        holder = layout.boxes[box.holder]
        shapes.append(_path("wb-tie", _tie(holder, place)))
    radius = _RADII.get(box.kind, min(place.h / 2, 24))
    classes = f"wb-box wb-kind-{box.kind} wb-state-{box.state}"
    if box.kind in PLACED:
        return ShapeGroup(f"{classes} wb-shade-{box.shade}", shown["alt"], _placed(box, place, shown, radius))
    if box.tint is not None:
        classes += f" wb-shade-own-{box.tint}"
    elif place.w + place.h > _LARGE:
        classes += " wb-large"
    if box.state in ("running", "differs", "error"):
        shapes.append(_rect("wb-glow", _grown(place, 5), radius + 5))
    if box.kind == "group":
        shapes.append(_rect("wb-back", Rectangle(place.x + 5, place.y + 5, place.w, place.h), radius))
    shapes.append(_rect("wb-frame", place, radius))
    if box.skips and box.kind == "group":
        shapes += [_path("wb-skip", _skip(place)), _path("wb-tip", _skip_tip(place))]
    if box.family and box.kind not in AROUND:
        strip = Rectangle(place.x + 5, place.y + 5, 4, place.h - 10)
        shapes.append(_rect(f"wb-strip-{box.family}", strip, 2))
    if box.plot is not None:
        shapes += _plot(box.plot, place, shown)
    elif box.kind in AROUND:
        shapes += _titled(place.x + 12, place.y + 16, shown["title"], CHARACTER)
    else:
        shapes += _chip_texts(box, place, shown) if box.kind == "saved" else _texts(box, place, shown)
    if box.state in _SIGNS:
        x, y = place.x, place.y + place.h / 2
        shapes.append(Shape("circle", "wb-disc", {"cx": x, "cy": y, "r": _DISC}))
        shapes.append(_path("wb-sign", _SIGNS[box.state](x, y)))
    return ShapeGroup(classes, shown["alt"], shapes)


def _skip(place: Rectangle) -> str:
    """Return the way around the right side of a closed group, from its head to its foot: a skip leads past it."""
    x, top, foot = place.x + place.w, place.y + 2, place.y + place.h - 2
    return f"M{_at(x, top)} C{_at(x + 30, top - 4)} {_at(x + 30, foot + 4)} {_at(x + 7, foot)}"


def _skip_tip(place: Rectangle) -> str:
    x, y = place.x + place.w, place.y + place.h - 2
    return _polygon((x, y), (x + 10, y - 3), (x + 8, y + 6))


def _placed(box: Box, place: Rectangle, shown: Mapping[str, Any], radius: float) -> list[Shape]:
    """Return the shapes of a chart's box: its title, centered in a small box, else at the upper left, above lines."""
    glows = box.state in ("running", "error") and box.kind != "line"  # lines of code stand close together
    shapes = [_rect("wb-glow", _grown(place, 4), radius + 4)] if glows else []
    shapes.append(_rect("wb-frame", place, radius))
    if not shown["title"]:
        return shapes
    if box.kind in ("cell", "bar", "ghost", "event", "tick"):
        return [*shapes, _text("wb-title", place.x + place.w / 2, place.y + place.h / 2 + 4, shown["title"], "middle")]
    x, y, step = place.x + 4, place.y + _BASELINE + (4 if box.kind in ("frame", "name") else 1), LINE
    if box.kind == "story":
        x, y, step = place.x + STORY_PAD, place.y + STORY_LINE + 2, STORY_LINE
    shapes.append(_text("wb-title", x, y, shown["title"], "start"))
    for n, line in enumerate(shown["lines"], 1):
        shapes.append(_text("wb-text", x, y + step * n, line, "start"))
    return shapes


def _tie(holder: Rectangle, chip: Rectangle) -> str:
    x, y, end_x, end_y = holder.x + holder.w, holder.y + holder.h / 2, chip.x, chip.y + chip.h / 2
    bend = x + TIE / 2
    return f"M{_at(x, y)} C{_at(bend, y)} {_at(bend, end_y)} {_at(end_x, end_y)}"


def _texts(box: Box, place: Rectangle, shown: Mapping[str, Any]) -> list[Shape]:
    """Return a title from the left with its shape at the right, and lines below; a title alone is in the middle."""
    first, behind = first_row(shown)
    lines, pad = shown["lines"][behind:], ROUND_PAD if box.kind in TENSORS else PAD
    y = place.y + (place.h - TITLE_LINE - LINE * len(lines)) / 2
    x = place.x + (pad if shown["lines"] else (place.w - first) / 2)
    shapes = _titled(x, y + 13.5, shown["title"], TITLE_CHARACTER)
    if behind and shown["lines"][0]:
        end = place.x + place.w - pad - (SIGN if box.kind == "group" else 0)
        shapes.append(_text("wb-text", end, y + 13.5, shown["lines"][0], "end"))
    for n, line in enumerate(lines):
        shapes.append(_text("wb-text", x, y + TITLE_LINE + LINE * n + _BASELINE, line, "start"))
    return shapes


def _titled(x: float, y: float, title: str, character: float) -> list[Shape]:
    """Return a title that begins at this point; a module's class, and the count of a loop's iterations, are apart."""
    name, kind, count = title_parts(title)
    shapes = [_text("wb-title", x, y, name, "start")]
    x += columns(name) * character + APART
    if kind:
        shapes.append(_text("wb-class", x, y, kind, "start"))
        x += columns(kind) * CHARACTER + APART
    if count:
        width = columns(count) * CHARACTER + CHIP_PAD
        shapes.append(_rect("wb-chip", Rectangle(x, y - 12, width, 16), 8))
        shapes.append(_text("wb-rounds", x + width / 2, y - 0.5, count, "middle"))
    return shapes


def _plot(plot: Plot, place: Rectangle, shown: Mapping[str, Any]) -> list[Shape]:
    paths, x, y = plot_paths(plot, place.x, place.y), place.x + place.w / 2, place.y + 10
    shapes = [_path(f"wb-{name}", paths[name]) for name in ("axes", "curve", "tangent") if paths[name]]
    if paths["at"]:
        shapes.append(Shape("circle", "wb-point", dict(zip(("cx", "cy"), paths["at"], strict=True)) | {"r": 5}))
    for left, base, number, anchor in plot_numbers(plot, place.x, place.y):
        shapes.append(_text("wb-number", left, base, number, anchor))
    shapes.append(_text("wb-title", x, y + 13.5, shown["title"], "middle"))
    lines = enumerate(shown["lines"])
    return shapes + [_text("wb-text", x, y + TITLE_LINE + LINE * n + _BASELINE, line, "middle") for n, line in lines]


def _chip_texts(box: Box, place: Rectangle, shown: Mapping[str, Any]) -> list[Shape]:
    behind = stands_behind(shown)
    lines: list[str] = [] if behind else shown["lines"]
    x, y = place.x + CHIP_PAD, place.y + (place.h - LINE * (1 + len(lines))) / 2 + _BASELINE
    shapes = [_text("wb-title", x, y, shown["title"], "start")]
    if behind and box.state != "freed":
        shapes.append(_text("wb-text", x + (columns(shown["title"]) + 2) * CHARACTER, y, shown["lines"][0], "start"))
    for n, line in enumerate(lines, 1):
        shapes.append(_text("wb-text", x, y + LINE * n, line, "start"))
    if box.state == "freed":
        shapes.append(_text("wb-word", place.x + place.w - CHIP_PAD, y, FREED, "end"))
    return shapes


def _half_ring(x: float, y: float) -> str:
    r, c = 5, 5 * CIRCLE
    return (
        f"M{_at(x, y - r)} C{_at(x - c, y - r)} {_at(x - r, y - c)} {_at(x - r, y)} "
        f"C{_at(x - r, y + c)} {_at(x - c, y + r)} {_at(x, y + r)} Z"
    )


def _dot(x: float, y: float) -> str:
    r, c = 4, 4 * CIRCLE
    return (
        f"M{_at(x, y - r)} C{_at(x - c, y - r)} {_at(x - r, y - c)} {_at(x - r, y)} "
        f"C{_at(x - r, y + c)} {_at(x - c, y + r)} {_at(x, y + r)} "
        f"C{_at(x + c, y + r)} {_at(x + r, y + c)} {_at(x + r, y)} "
        f"C{_at(x + r, y - c)} {_at(x + c, y - r)} {_at(x, y - r)} Z"
    )


_SIGNS: dict[str, Callable[[float, float], str]] = {
    "pending": _half_ring,
    "ready": _dot,
    "running": lambda x, y: _polygon((x - 3, y - 5), (x + 5.5, y), (x - 3, y + 5)),
    "differs": lambda x, y: (
        f"{_line((x - 4.5, y - 2), (x + 4.5, y - 2))} {_line((x - 4.5, y + 2), (x + 4.5, y + 2))} "
        f"{_line((x - 2.5, y + 5.5), (x + 2.5, y - 5.5))}"
    ),
    "error": lambda x, y: (
        f"{_line((x - 3.5, y - 3.5), (x + 3.5, y + 3.5))} {_line((x - 3.5, y + 3.5), (x + 3.5, y - 3.5))}"
    ),
}


def _at(x: float, y: float) -> str:
    return f"{round(x, 2):g},{round(y, 2):g}"


def _line(*points: Point) -> str:
    return f"M{' L'.join(_at(*point) for point in points)}"


def _polygon(*points: Point) -> str:
    return f"{_line(*points)} Z"


def _path(role: str, d: str) -> Shape:
    return Shape("path", role, {"d": d})


def _rect(role: str, place: Rectangle, radius: float) -> Shape:
    corner = {"x": place.x, "y": place.y, "width": place.w, "height": place.h}
    return Shape("rect", role, corner | {"rx": radius})


def _text(role: str, x: float, y: float, text: str, anchor: str) -> Shape:
    return Shape("text", role, {"x": x, "y": y, "text-anchor": anchor}, text)


def _grown(place: Rectangle, by: float) -> Rectangle:
    return Rectangle(place.x - by, place.y - by, place.w + 2 * by, place.h + 2 * by)
