"""The SVG face: one self-contained image that any browser, notebook or drawing program shows.

`drawn` makes the shapes of a picture, which other faces draw too: boxes and arrows as rectangles, paths and texts with
the stylesheet's classes.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from math import hypot
from typing import Any, Literal

from .labels import (
    CHARACTER,
    CHIP_PAD,
    FREED,
    LABEL_PAD,
    LINE,
    STORY_LINE,
    STORY_PAD,
    TITLE_LINE,
    arrow_fields,
    box_fields,
    clean,
    columns,
    first_row,
    plot_numbers,
    plot_paths,
    stands_behind,
)
from .layout import MARGIN, TIE, Layout
from .model import AROUND, LOOSE, PLACED, Arrow, Box, Plot, Scene
from .routes import GAP, Place, Point, Way
from .storyboard import Storyboard
from .text import graph_lines
from .theme import Theme, css_for, theme_named

_HEADS = ((11, 11), (9, 9), (11, 11), (13, 17), (15, 23))  # length and width of an arrow's head, by its weight
_BASELINE = 12  # px from a 16 px line's upper edge to the feet of its letters
_DISC = 9
_LEAST_FOR_LEGEND, _FOOT = 480, 14  # px: of a narrower picture it would take too many lines; and what is below it
_RADII = {
    **{"function": 9, "op": 9, "plain": 9, "saved": 4, "tangent": 0, "region": 6, "level": 4, "group": 9},
    **{"cell": 0, "bar": 1, "ghost": 1, "event": 4, "text": 0, "heading": 0, "line": 2, "frame": 6, "tick": 0},
    **{"plot": 6, "story": 6},
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
    """The shapes of one box or arrow, in drawing order, with the words for who cannot see them."""

    classes: str
    alt: str
    shapes: list[Shape]


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a picture stands on: its left edge, its size, and the lines of the legend at its foot."""

    left: float
    width: float
    height: float
    legend: list[Shape]


def sheet(storyboard: Storyboard, k: int | None = None) -> Sheet:
    """The sheet of the picture after step k; what is told at its foot makes it as broad as that needs, and higher.

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
    """The groups of the picture after step k, in drawing order; what is not there yet is left out."""
    storyboard, k = storyboard.shown(k)
    scene, layout = storyboard.at(k), storyboard.layout
    there = [each for each in scene.boxes.values() if each.state != "future"]
    regions = [_box(each, layout) for each in there if each.kind == "region"]
    boxes = [_box(each, layout) for each in there if each.kind != "region"]
    # Lines to the same memory are a player's: for what is selected. Here the words of what is saved name it.
    arrows = [each for each in scene.arrows.values() if each.state != "future" and each.kind != "same"]
    behind = [_arrow(each, scene, layout) for each in arrows if each.kind in LOOSE]
    before = [_arrow(each, scene, layout) for each in arrows if each.kind not in LOOSE]
    # Arrows lead through regions, but not through their titles.
    titles = [ShapeGroup(each.classes.replace("wb-box", "wb-over"), "", [each.shapes.pop()]) for each in regions]
    return regions + behind + boxes + before + titles


def _arrow(arrow: Arrow, scene: Scene, layout: Layout) -> ShapeGroup:
    shown, way = arrow_fields(arrow, scene), layout.arrows[arrow.id]
    shapes = [_path("wb-line", way.d)]
    if arrow.kind not in LOOSE:
        shapes.append(_path("wb-head", _head(way, climbing=arrow.state != "idle", weight=arrow.weight)))
    if shown["label"]:
        lines = shown["label"].split("\n")
        height = LINE * len(lines)
        y = way.label.y + (way.label.h - height) / 2
        width = max(map(columns, lines)) * CHARACTER + 2 * LABEL_PAD
        x = way.label.x + (way.label.w - width if way.leftward else 0)
        if arrow.state == "flowing":
            shapes.append(_rect("wb-pill", Place(x, y - 2, width, height + 4), 5))
        for line in lines:
            shapes.append(_text("wb-label", x + LABEL_PAD, y + _BASELINE, line, "start"))
            y += LINE
    looks = f" wb-weight-{arrow.weight} wb-tone-{arrow.tone}" if arrow.weight else ""
    return ShapeGroup(f"wb-arrow wb-kind-{arrow.kind} wb-state-{arrow.state}{looks}", shown["alt"], shapes)


def _head(way: Way, climbing: bool, weight: int) -> str:
    """A triangle at the arrow's upper or lower end, reaching over the gap between the line and the box."""
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


def _box(box: Box, layout: Layout) -> ShapeGroup:
    place, shown = layout.boxes[box.id], box_fields(box)
    shapes: list[Shape] = []
    if box.holder is not None:
        holder = layout.boxes[box.holder]
        shapes.append(_path("wb-tie", _tie(holder, place)))
    radius = _RADII.get(box.kind, min(place.h / 2, 24))
    classes = f"wb-box wb-kind-{box.kind} wb-state-{box.state}"
    if box.kind in PLACED:
        return ShapeGroup(f"{classes} wb-shade-{box.shade}", shown["alt"], _placed(box, place, shown, radius))
    if box.state in ("running", "differs", "error"):
        shapes.append(_rect("wb-glow", _grown(place, 5), radius + 5))
    if box.kind == "group":
        shapes.append(_rect("wb-back", Place(place.x + 5, place.y + 5, place.w, place.h), radius))
    shapes.append(_rect("wb-frame", place, radius))
    if box.kind == "output":
        shapes.append(_rect("wb-inner", _grown(place, -4), radius - 4))
    if box.plot is not None:
        shapes += _plot(box.plot, place, shown)
    elif box.kind in AROUND:
        shapes.append(_text("wb-title", place.x + 12, place.y + 16, shown["title"], "start"))
    else:
        shapes += _chip_texts(box, place, shown) if box.kind == "saved" else _texts(place, shown)
    if box.state in _SIGNS:
        x, y = place.x, place.y + place.h / 2
        shapes.append(Shape("circle", "wb-disc", {"cx": x, "cy": y, "r": _DISC}))
        shapes.append(_path("wb-sign", _SIGNS[box.state](x, y)))
    return ShapeGroup(classes, shown["alt"], shapes)


def _placed(box: Box, place: Place, shown: Mapping[str, Any], radius: float) -> list[Shape]:
    """A box of a chart: its title in the middle of a small one, else at the upper left, and lines below."""
    glows = box.state in ("running", "error") and box.kind != "line"  # lines of code stand close together
    shapes = [_rect("wb-glow", _grown(place, 4), radius + 4)] if glows else []
    shapes.append(_rect("wb-frame", place, radius))
    if not shown["title"]:
        return shapes
    if box.kind in ("cell", "bar", "ghost", "event", "tick"):
        return [*shapes, _text("wb-title", place.x + place.w / 2, place.y + place.h / 2 + 4, shown["title"], "middle")]
    x, y, step = place.x + 4, place.y + _BASELINE + (4 if box.kind == "frame" else 1), LINE
    if box.kind == "story":
        x, y, step = place.x + STORY_PAD, place.y + STORY_LINE + 2, STORY_LINE
    shapes.append(_text("wb-title", x, y, shown["title"], "start"))
    for n, line in enumerate(shown["lines"], 1):
        shapes.append(_text("wb-text", x, y + step * n, line, "start"))
    return shapes


def _tie(holder: Place, chip: Place) -> str:
    x, y, end_x, end_y = holder.x + holder.w, holder.y + holder.h / 2, chip.x, chip.y + chip.h / 2
    bend = x + TIE / 2
    return f"M{_at(x, y)} C{_at(bend, y)} {_at(bend, end_y)} {_at(end_x, end_y)}"


def _texts(place: Place, shown: Mapping[str, Any]) -> list[Shape]:
    first, behind = first_row(shown)
    lines = shown["lines"][behind:]
    x, y = place.x + place.w / 2, place.y + (place.h - TITLE_LINE - LINE * len(lines)) / 2
    if behind:
        shapes = [_text("wb-title", x - first / 2, y + 13.5, shown["title"], "start")]
        shapes.append(_text("wb-text", x + first / 2, y + 13.5, shown["lines"][0], "end"))
    else:
        shapes = [_text("wb-title", x, y + 13.5, shown["title"], "middle")]
    for n, line in enumerate(lines):
        shapes.append(_text("wb-text", x, y + TITLE_LINE + LINE * n + _BASELINE, line, "middle"))
    return shapes


def _plot(plot: Plot, place: Place, shown: Mapping[str, Any]) -> list[Shape]:
    paths, x, y = plot_paths(plot, place.x, place.y), place.x + place.w / 2, place.y + 10
    shapes = [_path(f"wb-{name}", paths[name]) for name in ("axes", "curve", "tangent") if paths[name]]
    if paths["at"]:
        shapes.append(Shape("circle", "wb-point", dict(zip(("cx", "cy"), paths["at"], strict=True)) | {"r": 5}))
    for left, base, number, anchor in plot_numbers(plot, place.x, place.y):
        shapes.append(_text("wb-number", left, base, number, anchor))
    shapes.append(_text("wb-title", x, y + 13.5, shown["title"], "middle"))
    lines = enumerate(shown["lines"])
    return shapes + [_text("wb-text", x, y + TITLE_LINE + LINE * n + _BASELINE, line, "middle") for n, line in lines]


def _chip_texts(box: Box, place: Place, shown: Mapping[str, Any]) -> list[Shape]:
    behind = stands_behind(shown)
    lines: list[str] = [] if behind else shown["lines"]
    x, y = place.x + CHIP_PAD, place.y + (place.h - LINE * (1 + len(lines))) / 2 + _BASELINE
    shapes = [_text("wb-title", x, y, shown["title"], "start")]
    if behind and box.state != "freed":
        shapes.append(_text("wb-text", x + (columns(shown["title"]) + 2) * CHARACTER, y, shown["lines"][0], "start"))
    for n, line in enumerate(lines, 1):
        shapes.append(_text("wb-text", x, y + LINE * n, line, "start"))
    if box.state == "freed":
        for n, line in enumerate([shown["title"], *lines]):
            end, middle = x + columns(line) * CHARACTER, y + LINE * n - 4
            shapes.append(_path("wb-strike", _line((x - 2, middle), (end + 2, middle))))
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
    "done": lambda x, y: _line((x - 4, y + 0.5), (x - 1, y + 3.5), (x + 4, y - 3)),
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


def _rect(role: str, place: Place, radius: float) -> Shape:
    corner = {"x": place.x, "y": place.y, "width": place.w, "height": place.h}
    return Shape("rect", role, corner | {"rx": radius})


def _text(role: str, x: float, y: float, text: str, anchor: str) -> Shape:
    return Shape("text", role, {"x": x, "y": y, "text-anchor": anchor}, text)


def _grown(place: Place, by: float) -> Place:
    return Place(place.x - by, place.y - by, place.w + 2 * by, place.h + 2 * by)


_CLASSES = re.compile('class="([^"]*)"')
# What is written from the right, and would turn round what stands beside it.
_RIGHTWARD = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+")


def to_svg(storyboard: Storyboard, k: int | None = None, theme: str | Theme = "light") -> str:
    """The picture after step k (None: its own choice) as a standalone SVG document."""
    theme, paper, (board, at) = theme_named(theme), sheet(storyboard, k), storyboard.shown(k)
    title, graph = storyboard.title or "Graph", graph_lines(board.at(at))
    said = [clean(board.steps[at].caption)] if at >= 0 else []
    said += [storyboard.legend] if storyboard.legend else []
    left, width, height = f"{paper.left:g}", f"{paper.width:g}", f"{paper.height:g}"
    size = f'width="{paper.width * theme.scale:g}" height="{paper.height * theme.scale:g}"'
    shapes = [*map(_group, drawn(board, at)), *map(_shape, paper.legend)]
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


def _group(group: ShapeGroup) -> str:
    shapes = "".join(map(_shape, group.shapes))
    title = f"<title>{_safe(group.alt)}</title>" if group.alt else ""
    return f'<g class="{group.classes}">{title}{shapes}</g>'


def _shape(shape: Shape) -> str:
    attributes = "".join(f' {name}="{_number(value)}"' for name, value in shape.attributes.items())
    if shape.element == "text":
        text = _RIGHTWARD.sub("\u2068\\g<0>\u2069", shape.text)
        return f'<text class="{shape.role}"{attributes}>{_safe(text)}</text>'
    return f'<{shape.element} class="{shape.role}"{attributes}/>'


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{round(value, 2):g}"


def _safe(text: str) -> str:
    return escape(text, quote=True)
