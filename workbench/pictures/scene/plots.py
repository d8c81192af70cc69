"""The curve of a plot in its box: its axes, its tangent and the numbers beside them."""

from __future__ import annotations

from typing import Any

from .metric import clean
from .model import Plot

PLOT = (456.0, 320.0)  # px: a box's width and height
_AREA = (86.0, 54.0, 354.0, 238.0)  # px: left, top, width and height of the curve's frame in the box
_BESIDE = 6.0  # px from the frame to a number beside it
_BELOW = 16.0  # px from the frame to the feet of a number below it
_HALF = 4.0  # px: half a digit's height


def plot_paths(plot: Plot, x: float = 0.0, y: float = 0.0) -> dict[str, Any]:
    """Return the axes, curve and tangent as SVG paths, and the point where they touch, in a box with this corner.

    A path is empty, and the point None, where there is none.
    """
    return {
        "axes": _path(((0, 1), (0, 0), (1, 0)), x, y),
        "curve": " ".join(_path(run, x, y) for run in plot.runs),
        "tangent": _path(plot.tangent, x, y),
        "at": None if plot.at is None else _at(plot.at, x, y),
    }


def plot_numbers(plot: Plot, x: float = 0.0, y: float = 0.0) -> list[tuple[float, float, str, str]]:
    """Return the numbers at the frame's ends: x, y, the text, and whether x is the text's "start" or "end"."""
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
    """Return a plot as the player gets it; the player adds the position of its box."""
    return plot_paths(plot) | {"numbers": plot_numbers(plot)}


def _path(points: tuple[tuple[float, float], ...], x: float, y: float) -> str:
    pairs = [f"{across:g},{down:g}" for across, down in (_at(point, x, y) for point in points)]
    return f"M{' L'.join(pairs)}" if pairs else ""


def _at(point: tuple[float, float], x: float, y: float) -> tuple[float, float]:
    left, top, width, height = _AREA
    return round(x + left + width * point[0], 1), round(y + top + height * (1 - point[1]), 1)
