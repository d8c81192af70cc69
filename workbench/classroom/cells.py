"""Tables of an answer's numbers with the wrong cells marked, as a picture and as text.

A mark shows that a number is wrong, and never gives the right one.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from ..pictures.scene.metric import clean
from .comparison import TOLERANCE, as_numbers, close, detached, read

MARKED = "{}: {}"
ALL_RIGHT = "every cell is right"
SOME_WRONG = "{} of {} cells wrong (×)"
YOURS = "yours: {}"
ONE_SHAPE = "marked() compares cell by cell, so both need to contain numbers and have the same shape."
_MOST = 12  # rows or columns that are drawn

# A cell is light where it is right and dark-edged where it is wrong; blue and orange differ to every eye.
_LOOKS = {None: ("#f6f6f6", "#bbb", 1), False: ("#e4eef9", "#1f5fa8", 1), True: ("#fbd9c0", "#a8330a", 2.5)}
_SIGNS = {False: "M-4,0 l3,4 l6,-8", True: "M-4,-4 l8,8 M4,-4 l-8,8"}  # a tick and a cross: no font need have them
_CELL = 30  # px of height
_LETTER = 8.5  # px
_SIGN = 22  # px that a sign takes in a cell
_LEFT = 22  # px for the numbers of the rows
_TOP = 44  # px for the title and the numbers of the columns
_APART = 30  # px between two tables
_EDGE = 16.0  # px at the left and the right
_WIDE = 940  # px of the picture, at most


@dataclass(frozen=True)
class Table:
    """The numbers of an array in rows and columns; `wrong` marks cells, and is None if nothing can be judged."""

    title: str
    numbers: np.ndarray
    wrong: np.ndarray | None = None
    given: bool = False  # whether it is no part of the answer

    @property
    def said(self) -> str:
        """The title, and how many cells are wrong."""
        if self.wrong is None:
            return self.title
        many = int(self.wrong.sum())
        return MARKED.format(self.title, SOME_WRONG.format(many, self.wrong.size) if many else ALL_RIGHT)

    @property
    def rows(self) -> list[list[tuple[str, bool | None]]]:
        """The text of each cell, and whether it is wrong."""
        marks = self.wrong if self.wrong is not None else np.full(self.numbers.shape, None)
        return [
            [(_text(number), None if wrong is None else bool(wrong)) for number, wrong in zip(*pair, strict=True)]
            for pair in zip(self.numbers, marks, strict=True)
        ]

    def to_text(self) -> str:
        """Return the title and the rows below it, with a sign before each judged number."""
        signed = [[f"{_IN_TEXT[wrong]}{text}" for text, wrong in row] for row in self.rows]
        wide = max(len(each) for row in signed for each in row)
        lines = ["  " + "  ".join(each.ljust(wide) for each in row).rstrip() for row in signed]
        return "\n".join([self.said, *lines])


_IN_TEXT = {None: "", False: "✓ ", True: "× "}


def table(title: str, array: np.ndarray, wrong: np.ndarray | None = None, given: bool = False) -> Table | None:
    """Return a table of an array: a list is one row, and the last dimensions of more than two are the columns.

    None means that there is nothing to draw, or too much.
    """
    if not array.size:
        return None
    shape = (-1, array.shape[-1]) if array.ndim else (1, 1)
    numbers = array.reshape(shape)
    if max(numbers.shape) > _MOST:
        return None
    return Table(clean(title), numbers, None if wrong is None else wrong.reshape(shape), given)


def to_text(tables: Sequence[Table]) -> str:
    """Return the tables of an answer, one below the other."""
    return "\n".join(each.to_text() for each in tables if not each.given)


def to_html(says: str, tables: Sequence[Table]) -> str:
    """Return the message, and below it the picture of the tables: an untrusted notebook keeps only images."""
    if not tables:
        return f"<pre>{escape(says)}</pre>"
    image = base64.b64encode(to_svg(tables).encode()).decode()
    told = escape("\n".join(each.to_text() for each in tables))
    said = f"<pre>{escape(says)}</pre>" if says else ""
    return f'{said}<img alt="{told}" title="{told}" src="data:image/svg+xml;base64,{image}">'


def to_svg(tables: Sequence[Table]) -> str:
    """Return the tables from left to right, wrapped into lines; the tables of the answer stay together."""
    parts: list[str] = []
    x, y, tallest, widest = _EDGE, 12.0, 0.0, 0.0
    laid = [_drawn(each) for each in tables]
    for n, (each, (wide, high, drawn)) in enumerate(zip(tables, laid, strict=True)):
        first_of_answer = n > 0 and tables[n - 1].given and not each.given
        needed = sum(one[0] + _APART for one in laid[n:]) - _APART if first_of_answer else wide
        if x > _EDGE and x + needed > _WIDE:
            x, y, tallest = _EDGE, y + tallest + 14, 0.0
        parts.append(f'<g transform="translate({x:g},{y:g})">{drawn}</g>')
        x, tallest = x + wide + _APART, max(tallest, high)
        widest = max(widest, x - _APART + _EDGE)
    high = y + tallest + 14
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{widest:g}" height="{high:g}" '
        f'viewBox="0 0 {widest:g} {high:g}" font-family="sans-serif" font-size="14" fill="#222">'
        f'<rect width="{widest:g}" height="{high:g}" rx="6" fill="#fff"/>{"".join(parts)}</svg>'
    )


def _drawn(each: Table) -> tuple[float, float, str]:
    """Return a table's width, height and parts."""
    rows = each.rows
    sign = 0 if each.wrong is None else _SIGN
    wide = max(40.0, max(len(text) for row in rows for text, _ in row) * _LETTER + 14 + sign)
    left = _LEFT if len(rows) > 1 else 0
    parts = [f'<text x="0" y="14" font-weight="bold">{escape(each.said)}</text>']
    if each.numbers.size > 1:
        for j in range(len(rows[0])):
            parts.append(_index(left + wide * (j + 0.5), _TOP - 6, j))
    for i, row in enumerate(rows):
        y = _TOP + _CELL * i
        if left:
            parts.append(_index(8, y + 20, i))
        parts += [_cell(left + wide * j, y, wide, text, wrong) for j, (text, wrong) in enumerate(row)]
    return max(left + wide * len(rows[0]), len(each.said) * _LETTER), _TOP + _CELL * len(rows), "".join(parts)


def _index(x: float, y: float, number: int) -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="12" fill="#666" text-anchor="middle">{number}</text>'


def _cell(x: float, y: float, wide: float, text: str, wrong: bool | None) -> str:
    fill, edge, thick = _LOOKS[wrong]
    place = f'x="{x + 2:g}" y="{y + 2:g}" width="{wide - 4:g}" height="{_CELL - 4}"'
    box = f'<rect {place} rx="3" fill="{fill}" stroke="{edge}" stroke-width="{thick}"/>'
    middle = x + wide / 2
    if wrong is not None:
        place = f'd="{_SIGNS[wrong]}" transform="translate({x + 15:g},{y + _CELL / 2:g})"'
        box += f'<path {place} fill="none" stroke="{edge}" stroke-width="2.5"/>'
        middle += _SIGN / 2 - 2
    return f'{box}<text x="{middle:g}" y="{y + 20:g}" text-anchor="middle">{escape(text)}</text>'


def _text(number: complex) -> str:
    return f"{number + 0.0:.4g}"  # 0.0 takes the sign from a zero


class Marked:
    """Numbers with the right ones: the tables mark the wrong numbers."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self.tables = tuple(tables)

    def __repr__(self) -> str:
        return to_text(self.tables)

    def _repr_html_(self) -> str:
        return to_html("", self.tables)


def marked(mine: Any, truth: Any, title: str = YOURS.format("gradient"), **given: Any) -> Marked:
    """Return a picture of the numbers in `mine`, in which those that differ from `truth` are marked.

    Both are tensors, arrays or lists of one shape. `title` is the title of `mine`. The numbers in `given`, by title,
    are shown in tables before it.
    """
    found, right = read(mine), read(truth)
    if not isinstance(found, np.ndarray) or not isinstance(right, np.ndarray) or found.shape != right.shape:
        raise ValueError(ONE_SHAPE)
    before = [table(name, as_numbers(np.asarray(detached(each))), given=True) for name, each in given.items()]
    return Marked([each for each in [*before, table(title, found, ~close(found, right, TOLERANCE))] if each])
