"""An array's values as a heat map of its first rows, and as a table of several pages."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..trace.values import Value, number
from .matrix import shade_of

ROWS, COLUMNS = 6, 8  # of a heat map
_PAGE = 20  # rows of a table's page
_SHORTER = {"float32": np.float32, "float16": np.float16}  # need fewer digits than Python's own numbers


@dataclass(slots=True)
class Row:
    """A row of an array: where it lies, its numbers with their shades, and the place of the first among all."""

    label: str
    cells: list[tuple[str, int]]
    begin: int = 0


def grid_of(value: Value, wide: int = COLUMNS) -> list[Row]:
    """The first rows of an array, `wide` numbers of each; one without a second dimension is broken into lines.

    Nothing of a summary.
    """
    largest = max((abs(each) for each in value.values or () if math.isfinite(each)), default=0.0)
    rows = _rows(value, wide)
    length = wide if len(value.shape) < 2 else value.shape[-1]
    found = [
        Row(label, [(number(each), shade_of(float(each), largest)) for each in line[:wide]], n * length)
        for n, (label, line) in enumerate(rows[:ROWS])
    ]
    if len(rows) > ROWS:
        found[-1] = Row(f"… +{len(rows) - ROWS + 1}", [])
    return found


def exact(value: Value, n: int) -> str:
    """The n-th of an array's numbers with all its digits, and its index: `[0, 3] = -0.7004985`."""
    assert value.values is not None
    each = value.values[n]
    said = str(_SHORTER[value.dtype](each)) if value.dtype in _SHORTER else repr(each)
    index = [str(int(position)) for position in np.unravel_index(n, value.shape)]
    return f"[{', '.join(index)}] = {said}" if index else said


def pages_of(value: Value) -> list[tuple[str, str]]:
    """The whole table, page by page: a heading and the text of each; of a summary what is known."""
    if value.values is None:
        return [("Values", summary_of(value))]
    rows = _rows(value)
    count = -(-len(rows) // _PAGE)
    pages = []
    for n in range(count):
        part = rows[n * _PAGE : (n + 1) * _PAGE]
        wide = max((len(label) for label, _ in part), default=0)
        texts = [[number(each) for each in line] for _, line in part]
        room = max((len(text) for line in texts for text in line), default=0)
        lines = [
            f"{label:>{wide}}  {' '.join(text.rjust(room) for text in line)}"
            for (label, _), line in zip(part, texts, strict=True)
        ]
        pages.append((f"Values, page {n + 1} of {count}" if count > 1 else "Values", "\n".join(lines)))
    return pages


def summary_of(value: Value) -> str:
    """That only a summary is there, and what it says."""
    if not value.is_known:
        return "The values are unknown: nobody could look at them."
    size = math.prod(value.shape)
    finite = value.min is not None and value.max is not None and value.mean is not None
    span = f"from {number(value.min)} to {number(value.max)}, mean {number(value.mean)}" if finite else "none is finite"
    bad = f", {value.trouble}" if value.trouble else ""
    known = f"{span}, norm {number(value.norm)}{bad}"
    return f"{size:,} values, of which only a summary was recorded: {known}; record(limit={size}) records them all"


def _rows(value: Value, wide: int = COLUMNS) -> list[tuple[str, tuple[float, ...]]]:
    """The rows of an array with where they lie: `[0, 1]`, or `[8…]` for a piece of one that has a single dimension."""
    if not value.values:
        return []
    if len(value.shape) < 2:
        starts = range(0, len(value.values), wide)
        several = len(value.values) > wide
        return [(f"[{at}…]" if several else "", value.values[at : at + wide]) for at in starts]
    *outer, length = value.shape
    rows = []
    for n in range(math.prod(outer)):
        index, rest = [], n
        for size in reversed(outer):
            rest, position = divmod(rest, size)
            index.append(position)
        rows.append((f"[{', '.join(map(str, reversed(index)))}]", value.values[n * length : (n + 1) * length]))
    return rows
