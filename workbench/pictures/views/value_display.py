"""How a picture shows values: on the lines of a box, in the details of a click, in rows and columns.

A matrix has numbers on colors with names; an array a heat map of its first rows, and pages of a table.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..scene.metric import CHARACTER, LABEL_COLUMNS, clean, columns
from ..scene.model import Box, BoxState, Detail, Scene, StoryStep
from ..scene.storyboard import Storyboard
from ..trace.values import Value, number

WORDS = 72  # columns of a sentence that stands alone
BOX_COLUMNS = 32  # of what a box says of a value
_USUAL = "float32"  # the dtype that a box need not tell
_KEPT = 20_000  # sayings kept
_Said = TypeVar("_Said")


class FormatCache:
    """What was said of values, each once: a box is drawn again whenever something about it changes.

    `say(lines_of, value)` is `lines_of(value)`. A value is known by its identity: equal ones may read differently,
    as 0.0 and -0.0 do.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], tuple[tuple[Any, ...], Any]] = {}

    def __call__(self, say: Callable[..., _Said], *args: Any) -> _Said:
        key = (say, *[id(arg) if arg.__class__ is Value else arg for arg in args])
        if key not in self._kept:
            if len(self._kept) >= _KEPT:  # a stepper's picture lives as long as it is looked at
                self._kept.clear()
            self._kept[key] = args, say(*args)  # as long as a value is kept, its identity is no other's
        return self._kept[key][1]


def sentence_of(text: str) -> str:
    """Return a text with a full stop, if it doesn't end in one."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def in_words(title: str, sentence: str) -> Storyboard:
    """Return a picture with only a sentence."""
    lines = textwrap.wrap(sentence, WORDS)
    places = [(0.0, 20.0 * n, columns(line) * CHARACTER + 8, 20.0) for n, line in enumerate(lines)]
    boxes = {f"word{n}": Box(f"word{n}", "text", line, place=places[n]) for n, line in enumerate(lines)}
    return Storyboard(Scene(title, boxes), [StoryStep(sentence)], title)


def whole(value: Value, line: int) -> str:
    """Return all numbers of a value; empty if a line of so many characters can't hold them."""
    text = value.text(line=line)
    return "" if value.shape and (value.values is None or "…" in text or not text.startswith("[")) else text


def norm_of(norm: float) -> str:
    """`norm 0.163`: how large an array is, with three significant digits."""
    return f"norm {number(float(norm), digits=3)}"


def size_of(value: Value) -> str:
    """Return the norm of an array, or a single number with its sign."""
    return norm_of(value.norm) if value.shape and value.is_known else value.text()


def label_of(grad: Value | None) -> str:
    """Return a gradient for an arrow: its values, its norm, and what is wrong with it."""
    if grad is None:
        return "no gradient"
    norm = norm_of(grad.norm) if grad.shape and grad.is_known else ""
    text = whole(grad, LABEL_COLUMNS - len(norm) - 2)
    text = f"{text}  {norm}".strip() if text or norm else grad.text(line=LABEL_COLUMNS)
    return "\n".join([text, *trouble_of(grad)])


def short_label_of(grad: Value) -> str:
    """Return an array's norm for an arrow, and what is wrong with it."""
    return "\n".join([size_of(grad) if grad.is_known else grad.text(line=LABEL_COLUMNS), *trouble_of(grad)])


def line_of(grad: Value | None) -> str:
    """Return the same as `label_of`, but on one line: fewer values if the norm needs the room."""
    if grad is None or not grad.shape or not grad.is_known:
        return label_of(grad)
    norm = f"  {norm_of(grad.norm)}"
    text = grad.brief(LABEL_COLUMNS - len(norm))
    text += norm if len(text) + len(norm) <= LABEL_COLUMNS else ""
    return "\n".join([text, *trouble_of(grad)])


def with_more(label: str, more: str) -> str:
    """Return a label with more text: on its last line, if it fits, else below."""
    last = label.rpartition("\n")[2]
    return f"{label}  {more}" if columns(last) + columns(more) + 2 <= LABEL_COLUMNS else f"{label}\n{more}"


def text_of(value: Value, line: int) -> str:
    """Return a value on a line of `line` characters."""
    return value.text(line=line)


def brief_of(value: Value, line: int) -> str:
    """Return a value on a box's line of `line` columns."""
    return value.brief(line)


def head_of(value: Value, name: str = "") -> str:
    """`mul (2,)`, `mul int64`, `mul`: a name, the shape unless it is one number, the dtype unless it is the usual."""
    if value.batch:
        return f"{name}  {value.kind}".lstrip()
    return " ".join(filter(None, (name, str(value.shape or ""), "" if value.dtype == _USUAL else value.dtype)))


def aside_of(value: Value) -> str:
    """Return a value's shape, or a single number, for the end of its title's line."""
    return head_of(value) if value.shape or value.batch else value.brief(BOX_COLUMNS)


def lines_of(value: Value, name: str = "", room: int = BOX_COLUMNS) -> list[str]:
    """Return a value on the lines of a box: on one if it fits, else below its shape; and what is wrong with it."""
    return [*behind_head(head_of(value, name), value.brief(room), room), *trouble_of(value)]


def fact(norm: float | None) -> float | None:
    """Return a norm as a picture stores it: with six digits, so that a page reads the same number, or None."""
    return float(f"{norm:.6g}") if norm is not None and math.isfinite(norm) else None


def behind_head(head: str, text: str, room: int = BOX_COLUMNS) -> list[str]:
    """Return a text after its head on one line if it fits, else below it."""
    line = f"{head}  {text}".lstrip()
    return [line] if columns(line) <= room else [head, text]


def left_out(*values: Value) -> str:
    """Return shape and dtype of the values if the lines of a box don't show both."""
    return "; ".join([value.kind for value in values if head_of(value) != value.kind])


def trouble_of(value: Value) -> list[str]:
    """Return a line that says what is wrong with a value, if anything is."""
    return [value.trouble] if value.trouble else []


def value_detail(heading: str, name: str, value: Value | None) -> Detail:
    """Return a value's details for a click; None is a missing gradient."""
    if value is None:
        return Detail(heading, "text", f"{name}: no gradient" if name else "no gradient")
    body = {
        "name": name,
        "shape": list(value.shape),
        "dtype": value.dtype,
        "text": " ".join([value.text(shown=64, line=600), *trouble_of(value)]),
        "norm": float(f"{value.norm:.4g}") if math.isfinite(value.norm) else None,
    }
    return Detail(heading, "value", body)


# Rows and columns.

SHOWN = 40  # rows and columns drawn; the number of others is given in words
ROW = 24  # px of a row
GAP = 2  # px between cells
_SMALL = 16  # px of a cell without a number
_NUMBERS = 12  # columns up to which cells have numbers
_SEED = 56  # px: the width of a seed, which is 0 or 1, and of its heading


def names_of(variable: str, shape: Sequence[int]) -> list[str]:
    """Return the names of a tensor's elements, as many as are shown."""
    return [element_name(variable, shape, at) for at in range(min(math.prod(shape), SHOWN))]


def element_name(variable: str, shape: Sequence[int], at: int) -> str:
    """Return an element's name: `x[0, 1]`, or `x` without dimensions."""
    return f"{variable}[{', '.join(map(str, np.unravel_index(at, shape)))}]" if shape else variable


def shade_of(value: float, largest: float) -> int:
    """Return how far a number is from zero, from -4 to 4, the largest being 4; only zero gives 0."""
    if not math.isfinite(value) or not value:
        return 0
    steps = 4 * (abs(value) / largest if largest else math.inf) + 0.4999  # the largest may be too small to divide by
    return int(math.copysign(math.floor(max(1.0, min(4.0, steps))), value))


@dataclass(slots=True)
class Matrix:
    """Where a matrix is, how wide its parts are, and what its rows and columns are called.

    `seed`, "rows" or "columns", makes room for a number next to each: the initial gradient or tangent of a pass.
    """

    id: str
    rows: list[str]
    columns: list[str]
    values: np.ndarray
    x: float = 0.0
    y: float = 0.0
    seed: str = ""
    wide: float = 44.0  # px that a cell has at least

    @property
    def numbered(self) -> bool:
        """True if there is room for numbers."""
        return len(self.columns) <= _NUMBERS

    @property
    def side(self) -> float:
        """The width that the names of the rows take, with the seeds beside them."""
        names = max((columns(clean(each)) for each in self.rows), default=0) * CHARACTER + 12
        return max(names, 66) if self.seed == "columns" else names + (_SEED + 8 if self.seed == "rows" else 0)

    @property
    def cell(self) -> float:
        """The width of a cell."""
        if not self.numbered:
            return _SMALL
        texts = [number_text(value) for value in self.values.ravel()]
        most = max((columns(clean(each)) for each in [*texts, *self.columns]), default=0)
        return max(self.wide, most * CHARACTER + 10)

    @property
    def top(self) -> float:
        """The height of the space above the first row."""
        return (ROW if self.numbered else 0) + (ROW + 6 if self.seed == "columns" else 0)

    @property
    def width(self) -> float:
        """From the rows' names to the last column."""
        return self.side + len(self.columns) * (self.cell + GAP)

    @property
    def height(self) -> float:
        """From the columns' names to the last row."""
        return self.top + len(self.rows) * (self.row + GAP)

    @property
    def row(self) -> float:
        """The height of a row."""
        return ROW if self.numbered else _SMALL

    def boxes(self) -> list[Box]:
        """Return the matrix before any value is known."""
        here, down = self.x + self.side, self.y + self.top
        across, step = self.cell + GAP, self.row + GAP
        found = []
        if self.seed == "rows" and self.numbered:
            found.append(Box(f"{self.id}.s", "tick", "seed", place=(here - _SEED - 8, self.y, _SEED, ROW)))
        elif self.seed == "columns":
            found.append(Box(f"{self.id}.s", "tick", "tangent", place=(self.x, down - ROW - 6, 62, ROW)))
        for j, name in enumerate(self.columns):
            x = here + j * across
            if self.numbered:
                found.append(Box(f"{self.id}.c{j}", "tick", name, place=(x, self.y, self.cell, ROW)))
            if self.seed == "columns":
                place = (x, down - ROW - 6, self.cell, ROW)
                found.append(Box(f"{self.id}.s{j}", "cell", "", place=place, alt=f"tangent of {name}"))
        for i, name in enumerate(self.rows):
            y = down + i * step
            wide = self.side - 4 - (_SEED + 8 if self.seed == "rows" else 0)
            lower = 3 if self.numbered else 0  # so that it stands on the line of the numbers
            found.append(Box(f"{self.id}.r{i}", "text", name, place=(self.x, y + lower, wide, self.row - 2 * lower)))
            if self.seed == "rows":
                place = (here - _SEED - 8, y, _SEED, self.row)
                found.append(Box(f"{self.id}.s{i}", "cell", "", place=place, alt=f"seed of {name}"))
            for j in range(len(self.columns)):
                place, alt = (here + j * across, y, self.cell, self.row), f"{self.entry(i, j)}: not computed yet"
                found.append(Box(f"{self.id}.{i}.{j}", "cell", "", place=place, alt=alt))
        return found

    def entry(self, i: int, j: int) -> str:
        """Return the content of a place."""
        return f"d {self.rows[i]} / d {self.columns[j]}"

    def said(self, k: int, across: bool = True, until: int | None = None) -> str:
        """Return a row in words, or a column, as far as it is known."""
        name, line = (self.rows[k], self.values[k]) if across else (self.columns[k], self.values[:, k])
        return f"{name}: {' '.join(number_text(value) for value in line[:until])}"

    def painted(self, i: int, j: int, largest: float, state: BoxState = "idle") -> dict[str, object]:
        """Return what changes in a cell when its number is known."""
        value = float(self.values[i, j])
        wrong = "" if math.isfinite(value) else ", not finite"
        return {
            "title": number_text(value) if self.numbered else "",
            "shade": shade_of(value, largest),
            "state": state,
            "alt": f"{self.entry(i, j)} = {number_text(value)}{wrong}",
        }


def number_text(value: float) -> str:
    """Return a number with 4 significant digits; zero has no sign."""
    return number(float(value) + 0.0)


ROWS = 6  # of a heat map
COLUMNS = 8  # of a heat map
_PAGE = 20  # rows of a table's page
_SHORTER: dict[str, Any] = {
    "float32": np.float32,
    "float16": np.float16,
    "complex64": np.complex64,
}  # need fewer digits than Python's own numbers


@dataclass(slots=True)
class TableRow:
    """A row of an array: its index, its numbers with their shades, and the position of the first among all."""

    label: str
    cells: list[tuple[str, int]]
    begin: int = 0


def grid_of(value: Value, wide: int = COLUMNS) -> list[TableRow]:
    """Return the first rows of an array, `wide` numbers of each; a vector is broken into lines.

    Nothing of a summary.
    """
    largest = max((abs(each) for each in value.values or () if math.isfinite(each)), default=0.0)
    rows = _rows(value, wide)
    length = wide if len(value.shape) < 2 else value.shape[-1]
    found = [
        TableRow(label, [(number(each), shade_of(_real(each), largest)) for each in line[:wide]], n * length)
        for n, (label, line) in enumerate(rows[:ROWS])
    ]
    if len(rows) > ROWS:
        found[-1] = TableRow(f"… +{len(rows) - ROWS + 1}", [])
    return found


def _real(number: complex) -> float:
    """Return what shades a number: itself, or its absolute value if it is complex."""
    return abs(number) if isinstance(number, complex) else float(number)


def exact(value: Value, n: int) -> str:
    """Return the n-th number of an array with all its digits, and its index: `[0, 3] = -0.7004985`."""
    assert value.numbers is not None
    each = value.numbers[n]
    said = str(_SHORTER[value.dtype](each)) if value.dtype in _SHORTER else repr(each)
    index = [str(int(position)) for position in np.unravel_index(n, value.shape)]
    return f"[{', '.join(index)}] = {said}" if index else said


def pages_of(value: Value) -> list[tuple[str, str]]:
    """Return the whole table, page by page: a heading and the text of each; for a summary, what is known."""
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
    """Return that only a summary exists, and its content."""
    if not value.is_known:
        return "The values are unknown: the recording couldn't read them."
    size = math.prod(value.shape)
    span = "none is finite"
    if value.min is not None and value.max is not None and value.mean is not None:
        span = f"from {number(value.min)} to {number(value.max)}, mean {number(value.mean)}"
        span = f"moduli {span}" if value.is_complex else span
    bad = f", {value.trouble}" if value.trouble else ""
    known = f"{span}, norm {number(value.norm)}{bad}"
    return f"{size:,} values, of which only a summary was recorded: {known}; record(limit={size}) records them all"


def _rows(value: Value, wide: int = COLUMNS) -> list[tuple[str, tuple[complex, ...]]]:
    """Return the rows of an array with their indices: `[0, 1]`, or `[8…]` for a piece of a vector."""
    numbers = value.numbers
    if not numbers:
        return []
    if len(value.shape) < 2:
        starts = range(0, len(numbers), wide)
        several = len(numbers) > wide
        return [(f"[{at}…]" if several else "", numbers[at : at + wide]) for at in starts]
    *outer, length = value.shape
    rows = []
    for n in range(math.prod(outer)):
        index, rest = [], n
        for size in reversed(outer):
            rest, position = divmod(rest, size)
            index.append(position)
        rows.append((f"[{', '.join(map(str, reversed(index)))}]", numbers[n * length : (n + 1) * length]))
    return rows
