"""The PNG face: the same shapes drawn by matplotlib, with the fonts it brings, so equal on every machine."""

from __future__ import annotations

import re
import threading
import warnings
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from .drawing import Shape, drawn
from .storyboard import Storyboard
from .style import Stylesheet
from .theme import Theme, theme_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path as Outline

_MOST_ACROSS, _MOST_PIXELS = 30_000, 120_000_000  # beyond these a larger picture is drawn at a smaller scale
_CIRCLE = 0.5523  # how far along a quarter circle's tangents its Bézier points lie, in radii
_CORNERS = {("bold", "normal"): "-Bold", ("normal", "italic"): "-Oblique", ("bold", "italic"): "-BoldOblique"}

_lock = threading.Lock()  # matplotlib draws in one thread at a time


def to_png(storyboard: Storyboard, k: int | None = None, theme: str | Theme = "light", scale: float = 2) -> bytes:
    """The picture after step k as a PNG image, `scale` pixels to the px."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    theme, layout = theme_named(theme), storyboard.layout
    width, height = layout.width, layout.height
    scale = min(scale, _MOST_ACROSS / max(width, height), (_MOST_PIXELS / (width * height)) ** 0.5)
    style, groups, image = Stylesheet(theme), drawn(storyboard, k), BytesIO()
    with _lock, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        # At 72 dots an inch matplotlib's points are px.
        figure = Figure(figsize=(width / 72, height / 72), dpi=72 * scale, facecolor=theme.colours["canvas"])
        canvas = FigureCanvasAgg(figure)
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
        axes.set_axis_off()
        every = [(group.classes, shape) for group in groups for shape in group.shapes]
        for depth, (classes, shape) in enumerate(every):
            _draw(axes, shape, style.of(classes, shape.role), depth)
        canvas.print_png(image, metadata={"Software": None})
    return image.getvalue()


def _draw(axes: Axes, shape: Shape, look: dict[str, str], depth: int) -> None:
    from matplotlib.patches import PathPatch

    if shape.element == "text":
        _write(axes, shape, look, depth)
        return
    width = float(look.get("stroke-width", "1"))
    dashes = [float(length) / width for length in look.get("stroke-dasharray", "").split()]
    patch = PathPatch(
        _outline(shape),
        facecolor=look.get("fill", "black"),
        edgecolor=look.get("stroke", "none"),
        linewidth=width,
        linestyle=(0, dashes) if dashes else "solid",
        capstyle="butt",
        joinstyle="miter",
        zorder=depth,
    )
    axes.add_artist(patch)


def _write(axes: Axes, shape: Shape, look: dict[str, str], depth: int) -> None:
    from matplotlib.patheffects import withStroke
    from matplotlib.text import Text

    text = Text(
        shape.attributes["x"],
        shape.attributes["y"],
        shape.text,
        color=look["fill"],
        font=_font(look.get("font-weight", "normal"), look.get("font-style", "normal")),
        fontsize=float(look["font-size"].removesuffix("px")),
        horizontalalignment={"start": "left", "middle": "center", "end": "right"}[shape.attributes["text-anchor"]],
        verticalalignment="baseline",
        parse_math=False,
        usetex=False,
        zorder=depth,
    )
    if look.get("stroke", "none") != "none":
        text.set_path_effects([withStroke(linewidth=float(look["stroke-width"]), foreground=look["stroke"])])
    axes.add_artist(text)


def _font(weight: str, slant: str) -> Path:
    from matplotlib import get_data_path

    return Path(get_data_path(), "fonts", "ttf", f"DejaVuSansMono{_CORNERS.get((weight, slant), '')}.ttf")


def _outline(shape: Shape) -> Outline:
    from matplotlib.path import Path as Outline

    at = shape.attributes
    if shape.element == "circle":
        return Outline.circle((at["cx"], at["cy"]), at["r"])
    d = _rounded(at["x"], at["y"], at["width"], at["height"], at["rx"]) if shape.element == "rect" else at["d"]
    codes, points = [], []
    for command, numbers in re.findall(r"([MLCZ])([^MLCZ]*)", d):
        pairs = [tuple(map(float, pair.split(","))) for pair in numbers.split()] or [(0.0, 0.0)]
        code = {"M": Outline.MOVETO, "L": Outline.LINETO, "C": Outline.CURVE4, "Z": Outline.CLOSEPOLY}[command]
        codes += [code] * len(pairs)
        points += pairs
    return Outline(points, codes)


def _rounded(x: float, y: float, w: float, h: float, r: float) -> str:
    c, right, bottom = r * (1 - _CIRCLE), x + w, y + h
    return (
        f"M{x + r},{y} L{right - r},{y} C{right - c},{y} {right},{y + c} {right},{y + r} "
        f"L{right},{bottom - r} C{right},{bottom - c} {right - c},{bottom} {right - r},{bottom} "
        f"L{x + r},{bottom} C{x + c},{bottom} {x},{bottom - c} {x},{bottom - r} "
        f"L{x},{y + r} C{x},{y + c} {x + c},{y} {x + r},{y} Z"
    )
