"""Measures of a picture: how much room text takes, rectangles and the curves between them, and a plot in its box.

The room of text follows a metric of our own: a layout must not depend on a machine's fonts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .model import Plot

CHARACTER = 7.25  # px, one column of 12 px monospace text, a little more than any common font needs
TITLE_CHARACTER = CHARACTER * 14 / 12
LINE, TITLE_LINE = 16, 18  # px from one line of text to the next

TITLE_COLUMNS, TEXT_COLUMNS, LABEL_COLUMNS, CHIP_COLUMNS, HEADING_COLUMNS = 34, 38, 34, 30, 80

# What XML cannot hold, and the marks that let a text reorder what stands around it.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_REORDERING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: object, keep_lines: bool = False) -> str:
    """The text without characters that break a file or reorder what is around them; one line unless asked."""
    text = str(text)
    if text.isprintable():  # as most are
        return text
    printable = _UNPRINTABLE.sub("\ufffd", _REORDERING.sub("", text))
    return printable if keep_lines else " ".join(printable.splitlines()).replace("\t", " ")


@lru_cache(10_000)
def columns(text: str) -> int:
    """How many columns of a monospace font the text fills: a wide character two, a combining one none."""
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


@lru_cache(10_000)
def _columns_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def width_of(text: str) -> float:
    """The px of a text in a chart, which so begins or ends where it is told."""
    return columns(clean(text)) * CHARACTER + 6


def cut(text: str, room: int) -> str:
    """The text, or as much of its beginning as fits into `room` columns with an ellipsis."""
    if columns(text) <= room:
        return text
    kept: list[str] = []
    used = 1
    for character in text:
        used += _columns_of(character)
        if used > room:
            break
        kept.append(character)
    return "".join(kept) + "…"


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


PLOT = (320.0, 216.0)  # px: a box's width and height
_AREA = (86.0, 54.0, 222.0, 136.0)  # px: left, top, width and height of the curve's frame in the box
_BESIDE, _BELOW, _HALF = 6.0, 16.0, 4.0  # px from the frame to a number beside or below it, and half a digit's height


def plot_paths(plot: Plot, x: float = 0.0, y: float = 0.0) -> dict[str, Any]:
    """The axes, the curve and the tangent as SVG paths, and the point where they touch, in a box with this corner.

    A path is empty, and the point None, where there is none.
    """
    return {
        "axes": _path(((0, 1), (0, 0), (1, 0)), x, y),
        "curve": " ".join(_path(run, x, y) for run in plot.runs),
        "tangent": _path(plot.tangent, x, y),
        "at": None if plot.at is None else _at(plot.at, x, y),
    }


def plot_numbers(plot: Plot, x: float = 0.0, y: float = 0.0) -> list[tuple[float, float, str, str]]:
    """The numbers at the frame's ends: x, y, the text, and whether x is its "start" or its "end"."""
    left, top, width, height = _AREA
    before, after, lowest, highest = map(clean, plot.ends)
    x, y = x + left, y + top
    return [
        (x, y + height + _BELOW, before, "start"),
        (x + width, y + height + _BELOW, after, "end"),
        (x - _BESIDE, y + height + _HALF, lowest, "end"),
        (x - _BESIDE, y + _HALF, highest, "end"),
    ]


def plot_fields(plot: Plot) -> dict[str, Any]:
    """A plot as the player gets it, which adds the place of its box."""
    return plot_paths(plot) | {"numbers": plot_numbers(plot)}


def _path(points: tuple[tuple[float, float], ...], x: float, y: float) -> str:
    pairs = [f"{across:g},{down:g}" for across, down in (_at(point, x, y) for point in points)]
    return f"M{' L'.join(pairs)}" if pairs else ""


def _at(point: tuple[float, float], x: float, y: float) -> tuple[float, float]:
    left, top, width, height = _AREA
    return round(x + left + width * point[0], 1), round(y + top + height * (1 - point[1]), 1)
