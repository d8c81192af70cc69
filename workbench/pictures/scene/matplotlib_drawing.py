"""PNG and PDF, drawn by matplotlib from a picture's shapes.

It draws them with its own fonts, so they are equal on every machine.
"""

# matplotlib leaves the types of some functions out.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import os
import re
import struct
import threading
import warnings
import zlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .shapes import CIRCLE, Shape, drawn, sheet
from .storyboard import Storyboard
from .theme import WORDS, Stylesheet, Theme, flat_css, theme_named

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure
    from matplotlib.path import Path as Outline

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
    c, right, bottom = r * (1 - CIRCLE), x + w, y + h
    return (
        f"M{x + r},{y} C{x + r},{y} {right - r},{y} {right - r},{y} "
        f"C{right - c},{y} {right},{y + c} {right},{y + r} "
        f"C{right},{y + r} {right},{bottom - r} {right},{bottom - r} "
        f"C{right},{bottom - c} {right - c},{bottom} {right - r},{bottom} "
        f"C{right - r},{bottom} {x + r},{bottom} {x + r},{bottom} "
        f"C{x + c},{bottom} {x},{bottom - c} {x},{bottom - r} "
        f"C{x},{bottom - r} {x},{y + r} {x},{y + r} C{x},{y + c} {x + c},{y} {x + r},{y} Z"
    )
