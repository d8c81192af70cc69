"""`show_slope()`: a curve, the line that touches it, and a slider that also moves before its cell has run."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import workbench

RANGE = "Expected low < high, two finite numbers, got {} and {}."
POINTS = "f has no finite value and slope in this range."
INVITES = "Run this cell (Shift+Enter), then drag the point."
_COUNT = 41  # positions of the slider
_SIZE = (560, 236)  # px
_AREA = (24, 14, 512, 190)  # px: left, top, width, height


def show_slope(f: Callable[[Any], Any], low: float, high: float) -> SlopePicture:
    """Return a picture of a curve and the line that touches it, with a slider for the place where it does.

    Args:
        f: A function of one tensor that returns a tensor, both with one element.
        low: The smallest `x`.
        high: The largest `x`.

    Raises:
        ValueError: if the range is empty or not finite, or if `f` has no finite values in it.
    """
    return SlopePicture(f, low, high)


class SlopePicture:
    """The picture that `show_slope()` returns."""

    def __init__(self, f: Callable[[Any], Any], low: float, high: float) -> None:
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(RANGE.format(low, high))
        found = [_point(f, low + (high - low) * place / (_COUNT - 1)) for place in range(_COUNT)]
        self.points = [each for each in found if all(map(math.isfinite, each))]
        if len(self.points) < 2:
            raise ValueError(POINTS)
        self.low, self.high = self.points[0][0], self.points[-1][0]
        self.start = self.points[3 * len(self.points) // 4]

    def __repr__(self) -> str:
        x, y, slope = self.start
        ends = f"x from {self.low:g} to {self.high:g}"
        return f"A curve for {ends}, and the line that touches it at x = {x:g}: the value is {y:g}, the slope {slope:g}"

    def _repr_html_(self) -> str:
        image = base64.b64encode(self._svg(INVITES).encode()).decode()
        told = {
            "area": _AREA,
            "ends": self._ends(),
            "points": self.points,
            "size": _SIZE,
            "start": self.start[0],
            "svg": self._svg(""),
        }
        text = json.dumps(told, separators=(",", ":")).replace("<", "\\u003c")
        name = f"wb-play-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        still = f'<img alt="{escape(repr(self))}" src="data:image/svg+xml;base64,{image}">'
        return f'<div class="{name}">{still}</div><script>({_script()})("{name}",{text});</script>'

    def _ends(self) -> tuple[float, float, float, float]:
        """Return the smallest x and y, and the largest, with some room above and below the curve."""
        values = [y for _, y, _ in self.points]
        room = 0.12 * (max(values) - min(values)) or 1.0
        return self.low, min(values) - room, self.high, max(values) + room

    def _svg(self, invites: str) -> str:
        (left, top, wide, tall), (low, least, last, most) = _AREA, self._ends()

        def place(x: float, y: float) -> tuple[float, float]:
            across, up = (x - low) / (last - low), (y - least) / (most - least)
            return round(left + wide * across, 1), round(top + tall * (1 - up), 1)

        x, y, slope = self.start
        (x1, y1), (x2, y2) = (place(end, y + slope * (end - x)) for end in (low, last))
        cx, cy = place(x, y)
        curve = " ".join(f"{a},{b}" for a, b in [place(a, b) for a, b, _ in self.points])
        marks = [n for n in range(math.ceil(low), math.floor(last) + 1) if last - low <= _COUNT]
        foot = top + tall
        ticks = "".join(
            f'<path d="M{place(n, 0)[0]},{foot} v5" stroke="#777"/>'
            f'<text x="{place(n, 0)[0]}" y="{foot + 18}" text-anchor="middle" fill="#555">{_minus(f"{n}")}</text>'
            for n in marks
        )
        middle = left + wide / 2
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIZE[0]} {_SIZE[1]}" width="{_SIZE[0]}" '
            f'height="{_SIZE[1]}" font-family="sans-serif" font-size="13">'
            f'<rect width="{_SIZE[0]}" height="{_SIZE[1]}" rx="6" fill="#fff"/>'
            f'<clipPath id="wb-area"><rect x="{left}" y="{top}" width="{wide}" height="{tall}"/></clipPath>'
            f'<path d="M{left},{foot} h{wide}" stroke="#777"/>{ticks}'
            f'<g clip-path="url(#wb-area)" fill="none"><polyline points="{curve}" stroke="#44546a" stroke-width="3"/>'
            f'<line class="wb-line" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#c2410c" stroke-width="3"/></g>'
            f'<circle class="wb-dot" cx="{cx}" cy="{cy}" r="8" fill="#c2410c" stroke="#fff" stroke-width="2"/>'
            f'<text class="wb-x" x="{middle}" y="{top + 22}" text-anchor="middle" font-size="15" fill="#222">'
            f"{_minus(f'x = {x:.1f}')}</text>"
            f'<text class="wb-slope" x="{middle}" y="{top + 52}" text-anchor="middle" font-size="26" '
            f'font-weight="bold" fill="#c2410c">{_minus(f"slope {slope:.1f}")}</text>'
            f'<text class="wb-invites" x="{middle}" y="{top + 76}" text-anchor="middle" fill="#555">{invites}</text>'
            "</svg>"
        )


def _point(f: Callable[[Any], Any], at: float) -> tuple[float, float, float]:
    """Return a place, the value and the slope of `f` there."""
    x = workbench.tensor(round(at, 9), dtype=workbench.float64, requires_grad=True)
    y = f(x)
    y.backward()
    slope = 0.0 if x.grad is None else x.grad.item()
    return round(at, 9), round(y.item(), 9) + 0.0, round(slope, 9) + 0.0


def _minus(text: str) -> str:
    return text.replace("-", "\u2212")


@cache
def _script() -> str:
    file = Path(__file__).parent / "static" / "slope_picture.js"
    return file.read_text(encoding="utf-8").partition("*/\n")[2].strip()
