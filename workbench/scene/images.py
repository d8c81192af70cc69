"""The drawn formats: SVG, and the PNG, PDF, GIF and MP4 that matplotlib makes of the same shapes.

`drawn` makes the shapes of a picture: boxes and arrows as rectangles, paths and texts with the stylesheet's classes. As
SVG they are one self-contained image that any browser, notebook or drawing program shows; matplotlib draws them with
its own fonts, so they are equal on every machine. An animation has every step as a picture with its caption, on a
canvas of one size.
"""

# matplotlib leaves the types of some functions out.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import warnings
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from html import escape
from io import BytesIO
from math import hypot
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .blocks import TIE
from .curves import Route
from .geometry import GAP, MARGIN, Point, Rectangle
from .labels import (
    APART,
    CHARACTER,
    CHIP_PAD,
    FREED,
    LABEL_PAD,
    LINE,
    PAD,
    ROUND_PAD,
    SIGN,
    STORY_LINE,
    STORY_PAD,
    TENSORS,
    TITLE_CHARACTER,
    TITLE_LINE,
    arrow_fields,
    box_fields,
    clean,
    columns,
    cut,
    first_row,
    plot_numbers,
    plot_paths,
    stands_behind,
    title_parts,
)
from .layout import Layout
from .model import AROUND, LOOSE, PLACED, REMARKABLE, Arrow, Box, Density, Plot, Scene
from .storyboard import Storyboard
from .text import graph_lines
from .theme import WORDS, Stylesheet, Theme, css_for, flat_css, theme_named

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure
    from matplotlib.path import Path as Outline

_HEADS = ((11, 11), (9, 9), (11, 11), (13, 17), (15, 23))  # length and width of an arrow's head, by its weight
_BASELINE = 12  # px from a 16 px line's upper edge to the feet of its letters
_LARGE = 2000  # px around a corner of a region whose outline has no dots: a page would paint them for too long
_DISC = 9
_LEAST_FOR_LEGEND = 480  # px: of a narrower picture it would take too many lines
_FOOT = 14  # px below it
_RADII = {
    **{"function": 9, "op": 9, "plain": 9, "saved": 4, "tangent": 0, "region": 6, "level": 4, "group": 9},
    **{"cell": 0, "bar": 1, "ghost": 1, "event": 4, "text": 0, "heading": 0, "line": 2, "frame": 6, "tick": 0},
    **{"name": 0, "plot": 6, "story": 6},
}
_CIRCLE = 0.5523  # how far along a quarter circle's tangents its Bézier points lie, in radii


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
    width = max(layout.width, _LEAST_FOR_LEGEND) if said else layout.width
    left = (layout.width - width) / 2
    lines = textwrap.wrap(said, max(1, int((width - 2 * MARGIN) // CHARACTER)))
    feet = [layout.height + LINE * n + 2 for n in range(len(lines))]
    legend = [_text("wb-legend", left + MARGIN, y, line, "start") for y, line in zip(feet, lines, strict=True)]
    return Sheet(left, width, feet[-1] + _FOOT if feet else layout.height, legend)


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
    if place.w + place.h > _LARGE:
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
    r, c = 5, 5 * _CIRCLE
    return (
        f"M{_at(x, y - r)} C{_at(x - c, y - r)} {_at(x - r, y - c)} {_at(x - r, y)} "
        f"C{_at(x - r, y + c)} {_at(x - c, y + r)} {_at(x, y + r)} Z"
    )


def _dot(x: float, y: float) -> str:
    r, c = 4, 4 * _CIRCLE
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


_CLASSES = re.compile('class="([^"]*)"')
# Scripts written from the right, which would reverse the text next to them.
_RIGHTWARD = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+")


def to_svg(storyboard: Storyboard, k: int | None = None, theme: str | Theme = "light") -> str:
    """Return the picture after step k (None: its own choice) as a standalone SVG document."""
    theme, paper, (board, at) = theme_named(theme), sheet(storyboard, k), storyboard.shown(k)
    title, graph = storyboard.title or "Graph", graph_lines(board.at(at))
    said = [_plain(board.steps[at].caption)] if at >= 0 else []
    said += [storyboard.legend] if storyboard.legend else []
    left, width, height = f"{paper.left:g}", f"{paper.width:g}", f"{paper.height:g}"
    size = f'width="{paper.width * theme.scale:g}" height="{paper.height * theme.scale:g}"'
    shapes = [*map(_svg_group, drawn(board, at)), *map(_svg_shape, paper.legend)]
    used = {"wb-picture", "wb-canvas", *" ".join(_CLASSES.findall("".join(shapes))).split()}
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="wb-picture" role="img" '
            f'aria-label="{_safe(title)}" {size} viewBox="{left} 0 {width} {height}">',
            f"<title>{_safe(title)}</title>",
            f"<desc>{_safe(chr(10).join(said + graph))}</desc>",
            f"<style>{_safe(css_for(theme, used))}</style>",
            f'<rect class="wb-canvas" x="{left}" width="{width}" height="{height}"/>',
            *shapes,
            "</svg>\n",
        ]
    )


def _svg_group(group: ShapeGroup) -> str:
    shapes = "".join(map(_svg_shape, group.shapes))
    title = f"<title>{_safe(group.alt)}</title>" if group.alt else ""
    return f'<g class="{group.classes}">{title}{shapes}</g>'


def _svg_shape(shape: Shape) -> str:
    attributes = "".join(f' {name}="{_svg_number(value)}"' for name, value in shape.attributes.items())
    if shape.element == "text":
        text = _RIGHTWARD.sub("\u2068\\g<0>\u2069", shape.text)
        return f'<text class="{shape.role}"{attributes}>{_safe(text)}</text>'
    return f'<{shape.element} class="{shape.role}"{attributes}/>'


def _svg_number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{round(value, 2):g}"


def _safe(text: str) -> str:
    return escape(text, quote=True)


# Beyond these a larger picture is drawn at a smaller scale.
_MOST_ACROSS = 30_000  # pixels of the longer side
_MOST_PIXELS = 120_000_000  # pixels in all
_BAND = 6_000_000  # pixels drawn at once
_PACKED = 4  # zlib's level: how well they are packed
_OVER = 40  # px beyond a shape's reach
_MOST_POINTS = 14_400  # of a page across: readers of PDF show no larger one in full
_ALIGNED: dict[str, Literal["left", "center", "right"]] = {"start": "left", "middle": "center", "end": "right"}
_CORNERS = {("bold", "normal"): "-Bold", ("normal", "italic"): "-Oblique", ("bold", "italic"): "-BoldOblique"}

CAPTION_LINE = 20  # px of a line under a picture
CAPTION_COLUMN = 8.5  # px of one of its characters
CAPTION_PAD = 16  # px around it
_LEAST_FOR_CAPTION = 520  # px: in a narrower picture a sentence would take too many lines

_lock = threading.Lock()  # matplotlib draws in one thread at a time
if hasattr(os, "register_at_fork"):  # so a fork waits until no other thread draws
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def to_png(storyboard: Storyboard, k: int | None = None, theme: str | Theme = "light", scale: float = 2) -> bytes:
    """Return the picture after step k as a PNG image, with `scale` pixels for each px of the theme."""
    theme, paper = theme_named(theme), sheet(storyboard, k)
    width, height = paper.width, paper.height
    scale = min(scale * theme.scale, _MOST_ACROSS / max(width, height), (_MOST_PIXELS / (width * height)) ** 0.5)
    return raster(storyboard, k, theme, scale)


def raster(
    storyboard: Storyboard, k: int | None, theme: Theme, scale: float, caption: Sequence[str] = (), rows: int = 0
) -> bytes:
    """Return the picture as a PNG image of exactly this scale, with room below for `rows` lines of a caption.

    It is drawn and compressed in bands: of a large picture the points take more room than all else.
    """
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    page = _page(storyboard, k, theme, caption, rows)
    across, down = int(page.width * scale), int(page.height * scale)
    lines = min(down, max(1, _BAND // across))
    packing = zlib.compressobj(_PACKED)
    parts: list[bytes] = []
    with _drawing():
        # A little more, so that no rounding takes a line or a column away.
        figure, artists = _figure(page, theme, 1, (across + 0.001) / scale, (lines + 0.001) / scale)
        figure.dpi = 72 * scale
        canvas, (axes,) = FigureCanvasAgg(figure), figure.axes
        for first in range(0, down, lines):
            # The little more is above, so that a text half-way between two lines goes to the same one in every band.
            top, foot = (first - 0.001) / scale, (first + lines) / scale
            axes.set_ylim(foot, top)
            for artist, (upper, lower) in artists:
                artist.set_visible(upper < foot + _OVER and top - _OVER < lower)
            canvas.draw()
            points = np.asarray(canvas.buffer_rgba())[: down - first, :, :3]
            scanlines = np.zeros((len(points), 1 + 3 * across), np.uint8)  # each line starts with its filter: none
            scanlines[:, 1:] = points.reshape(len(points), -1)
            parts.append(packing.compress(scanlines.data))
    head = struct.pack(">IIBBBBB", across, down, 8, 2, 0, 0, 0)  # 8 bits each of red, green and blue
    chunks = ((b"IHDR", head), (b"IDAT", b"".join([*parts, packing.flush()])), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )


def to_pdf(storyboard: Storyboard, k: int | None = None, theme: str | Theme = "light") -> bytes:
    """Return the picture after step k as a PDF of one page, as large as the picture."""
    from matplotlib import rc_context  # pyright: ignore[reportUnknownVariableType]
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    theme, paper, page = theme_named(theme), sheet(storyboard, k), BytesIO()
    zoom = min(theme.scale, _MOST_POINTS / max(paper.width, paper.height))
    facts = {"Title": storyboard.title, "Creator": None, "Producer": None, "CreationDate": None}
    with _drawing(), rc_context({"pdf.fonttype": 42}):  # text that a reader can select and search
        told = _page(storyboard, k, theme)
        FigureCanvasPdf(_figure(told, theme, zoom, told.width, told.height)[0]).print_pdf(page, metadata=facts)
    return page.getvalue()


def captioned_width(width: float) -> float:
    """Return the width of a picture of this width with its caption."""
    return max(width, _LEAST_FOR_CAPTION)


@contextmanager
def _drawing() -> Generator[None, None, None]:
    with _lock, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


@dataclass(frozen=True, slots=True)
class _Page:
    """A picture's shapes from the lowest to the uppermost, each with its look, and its left edge and size in px."""

    left: float
    width: float
    height: float
    shapes: list[tuple[dict[str, str], Shape]]


def _page(storyboard: Storyboard, k: int | None, theme: Theme, caption: Sequence[str] = (), rows: int = 0) -> _Page:
    """Return the picture with a caption below it, or else its legend."""
    layout, paper, style = storyboard.layout, sheet(storyboard, k), Stylesheet(flat_css(theme))
    left, width, height, legend = paper.left, paper.width, paper.height, paper.legend
    if rows:
        width, height, legend = captioned_width(layout.width), layout.height + CAPTION_LINE * rows + CAPTION_PAD, []
        left = (layout.width - width) / 2
    every = [(style.of(group.classes, shape.role), shape) for group in drawn(storyboard, k) for shape in group.shapes]
    every += [(style.of("", shape.role), shape) for shape in legend]
    words = {"font-size": "14px", "fill": theme.colors["ink"], "font-family": WORDS}
    for n, line in enumerate(caption):
        at = {"x": left + CAPTION_PAD, "y": layout.height + CAPTION_LINE * n + 14, "text-anchor": "start"}
        every.append((words, Shape("text", "caption", at, line)))
    return _Page(left, width, height, every)


def _figure(
    page: _Page, theme: Theme, zoom: float, width: float, height: float
) -> tuple[Figure, list[tuple[Artist, tuple[float, float]]]]:
    """So much of a page in a figure whose points are its px, times `zoom`; and all that is drawn, and where it is."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * zoom / 72, height * zoom / 72), dpi=72, facecolor=theme.colors["canvas"])
    axes = figure.add_axes((0, 0, 1, 1), xlim=(page.left, page.left + width), ylim=(height, 0))
    axes.set_axis_off()
    artists = [
        (axes.add_artist(_artist(shape, look, depth, zoom)), _reach(shape))
        for depth, (look, shape) in enumerate(page.shapes)
    ]
    return figure, artists


def _reach(shape: Shape) -> tuple[float, float]:
    """Return the vertical extent of a shape, without its line, or a text's letters."""
    at = shape.attributes
    if "d" in at:
        heights = [float(y) for y in re.findall(r",(\S+)", str(at["d"]))]
        return min(heights), max(heights)
    top = float(at["cy"] if "cy" in at else at["y"])
    return top, top + float(at.get("height", 0.0))


def _artist(shape: Shape, look: dict[str, str], depth: int, zoom: float) -> Artist:
    from matplotlib.patches import PathPatch

    if shape.element == "text":
        return _text_artist(shape, look, depth, zoom)
    width = float(look.get("stroke-width", "1"))
    dashes = [float(length) / width for length in look.get("stroke-dasharray", "none").split() if length != "none"]
    return PathPatch(
        _outline(shape),
        facecolor=look.get("fill", "black"),
        edgecolor=look.get("stroke", "none"),
        linewidth=width * zoom,
        linestyle=(0, dashes) if dashes else "solid",
        capstyle="butt",
        joinstyle="miter",
        zorder=depth,
    )


def _text_artist(shape: Shape, look: dict[str, str], depth: int, zoom: float) -> Artist:
    from matplotlib.patheffects import withStroke
    from matplotlib.text import Text

    text = Text(
        float(shape.attributes["x"]),
        float(shape.attributes["y"]),
        shape.text,
        color=look["fill"],
        font=_font(look),
        fontsize=float(look["font-size"].removesuffix("px")) * zoom,
        horizontalalignment=_ALIGNED[str(shape.attributes["text-anchor"])],
        verticalalignment="baseline",
        parse_math=False,
        usetex=False,
        zorder=depth,
    )
    if look.get("stroke", "none") != "none":
        text.set_path_effects([withStroke(linewidth=float(look["stroke-width"]) * zoom, foreground=look["stroke"])])
    return text


def _font(look: Mapping[str, str]) -> Path:
    from matplotlib import get_data_path

    face = "Mono" if "monospace" in look.get("font-family", WORDS) else ""
    corner = _CORNERS.get((look.get("font-weight", "normal"), look.get("font-style", "normal")), "")
    return Path(get_data_path(), "fonts", "ttf", f"DejaVuSans{face}{corner}.ttf")


def _outline(shape: Shape) -> Outline:
    from matplotlib.path import Path as Outline

    at = shape.attributes
    if shape.element == "circle":
        return Outline.circle((float(at["cx"]), float(at["cy"])), float(at["r"]))
    if shape.element == "rect":
        d = _rounded(*[float(at[name]) for name in ("x", "y", "width", "height", "rx")])
    else:
        d = str(at["d"])
    codes: list[int] = []
    points: list[tuple[float, ...]] = []
    for command, numbers in re.findall(r"([MLCZ])([^MLCZ]*)", d):
        pairs = [tuple(map(float, pair.split(","))) for pair in numbers.split()] or [(0.0, 0.0)]
        code = {"M": Outline.MOVETO, "L": Outline.LINETO, "C": Outline.CURVE4, "Z": Outline.CLOSEPOLY}[command]
        codes += [int(code)] * len(pairs)
        points += pairs
    return Outline(points, codes)


def _rounded(x: float, y: float, w: float, h: float, r: float) -> str:
    # Its sides are curves too: what leaves a band is cut off a line, and a curve behind that would begin elsewhere.
    c, right, bottom = r * (1 - _CIRCLE), x + w, y + h
    return (
        f"M{x + r},{y} C{x + r},{y} {right - r},{y} {right - r},{y} "
        f"C{right - c},{y} {right},{y + c} {right},{y + r} "
        f"C{right},{y + r} {right},{bottom - r} {right},{bottom - r} "
        f"C{right},{bottom - c} {right - c},{bottom} {right - r},{bottom} "
        f"C{right - r},{bottom} {x + r},{bottom} {x + r},{bottom} "
        f"C{x + c},{bottom} {x},{bottom - c} {x},{bottom - r} "
        f"C{x},{bottom - r} {x},{y + r} {x},{y + r} C{x},{y + c} {x + c},{y} {x + r},{y} Z"
    )


STEP_MS = 900  # how long a step is shown
LAST_MS = 2700  # and the last, before a GIF begins again
_SCALE = 1.5  # pixels to the px
_MOST_FILMED = 4000  # pixels of the longer side: as many as common players show
_MOST_ROWS = 4  # of a caption
_PATIENCE = 2  # seconds before a progress bar shows up


def to_gif(storyboard: Storyboard, theme: str | Theme = "light") -> bytes:
    """Return the steps as a GIF that plays in a loop."""
    from PIL import Image

    images = (Image.open(BytesIO(frame)).convert("RGB").quantize(128) for frame in _frames(storyboard, theme, ".gif"))
    first, film = next(images), BytesIO()
    shown = [STEP_MS] * (max(1, len(storyboard.stops)) - 1) + [LAST_MS]
    first.save(film, "GIF", save_all=True, append_images=images, duration=shown, loop=0)
    return film.getvalue()


def to_mp4(storyboard: Storyboard, theme: str | Theme = "light") -> bytes:
    """Return the steps as an MP4, made with ffmpeg."""
    program = shutil.which("ffmpeg")
    if program is None:
        raise RuntimeError(
            "Saving an .mp4 needs the program ffmpeg, which is not on the PATH. Install it "
            "(https://ffmpeg.org/download.html), or save the picture as a .gif, which needs nothing more."
        )
    # The size of a video is even in both directions; the last step is held, for a player goes black after it.
    even = f"pad=ceil(iw/2)*2:ceil(ih/2)*2:0:0:{theme_named(theme).colors['canvas']}"
    held = f"tpad=stop_mode=clone:stop_duration={(LAST_MS - STEP_MS) / 1000}"
    given = ["-f", "image2pipe", "-c:v", "png", "-framerate", f"1000/{STEP_MS}", "-i", "-"]
    wanted = ["-vf", f"{even},fps=20,{held}", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as said:
        film = Path(folder, "film.mp4")
        command = [program, "-loglevel", "error", "-y", *given, *wanted, str(film)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said)
        try:
            # If it gives up, it says why, and how far the frames came does not matter.
            with suppress(BrokenPipeError), process.stdin as pipe:  # pyright: ignore[reportOptionalContextManager]
                for frame in _frames(storyboard, theme, ".mp4"):
                    pipe.write(frame)
            process.wait()
        finally:
            process.kill()
            process.wait()
        if process.returncode != 0:
            said.seek(0)
            words = said.read().decode(errors="replace").strip().splitlines() or ["it said nothing"]
            raise RuntimeError(f"ffmpeg could not make the .mp4: {words[-1]}")
        return film.read_bytes()


def _frames(storyboard: Storyboard, theme: str | Theme, what: str) -> Iterator[bytes]:
    """Return the picture after each step as a PNG with caption, all of one size; long work shows a progress bar."""
    from tqdm import tqdm

    if sys.platform == "emscripten":
        tqdm.monitor_interval = 0  # no thread can start to watch the bar, which would be warned of

    theme, layout = theme_named(theme), storyboard.layout
    captions = _captions(storyboard)
    rows = max(map(len, captions), default=0)
    scale = min(_SCALE * theme.scale, _MOST_FILMED / max(captioned_width(layout.width), layout.height))
    ends = [end for _, end, _ in storyboard.stops] or [-1]
    shots = list(zip(ends, captions or [[]], strict=True))
    for k, caption in tqdm(shots, desc=f"Drawing the {what}", unit=" steps", delay=_PATIENCE, leave=False):
        yield raster(storyboard, k, theme, scale, caption, rows)


def _plain(sentence: str) -> str:
    """Return a sentence without the backticks around code, which has no looks of its own here."""
    return clean(sentence).replace("`", "")


def _captions(storyboard: Storyboard) -> list[list[str]]:
    room = int((captioned_width(storyboard.layout.width) - 2 * CAPTION_PAD) // CAPTION_COLUMN)
    stops = storyboard.stops
    captions: list[list[str]] = []
    for number, (_, end, caption) in enumerate(stops, 1):
        when = ", ".join(filter(None, [storyboard.chapter(end), storyboard.steps[end].phase]))
        said = _plain(f"{number} / {len(stops)}  {when}: {caption}")
        lines = textwrap.wrap(said, room, max_lines=_MOST_ROWS, placeholder=" …")
        captions.append([cut(line, room) for line in lines])
    return captions
