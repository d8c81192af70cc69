"""The rows of a picture of health: those of the table in their modules, and what a closed module shows of its own."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from ...diagnosis.health.table import HealthCell, HealthRow
from ..scene.model import WITHIN

MOST_SEEN = 36  # rows that a picture opens with


@dataclass(slots=True)
class ShownCells:
    """The cells of a row, one a step, and the row of the table that each is of: in a closed module the worst."""

    name: str  # in full
    kind: str  # what it is, in words
    cells: Sequence[HealthCell | None]
    rows: Sequence[HealthRow]
    usual: float | None  # the median of the norms that are not zero; of a closed module that of its rows
    usuals: Sequence[float | None]  # of each cell that of its row

    @property
    def measured(self) -> str:
        """Return what the norm is of."""
        return self.rows[0].measured if self.rows else "gradient"

    def worst(self, steps: Sequence[int]) -> int:
        """Return the one of these steps whose cell is furthest from the usual value."""
        return max(steps, key=self.distance)

    def distance(self, step: int) -> float:
        """Return how far a step's cell is from its row's usual value, in decades."""
        return distance(self.cells[step], self.usuals[step])


@dataclass(slots=True)
class ShownRow:
    """A row of the picture, at a depth, in the module of the row `holder`.

    It has its `own` cells if the table has a row for it. Of a module that can be opened these are seen while it is
    open, and `closed` while it is closed: the worst cells of the `count` rows in it.
    """

    title: str
    depth: int
    holder: int | None
    path: tuple[str, ...] = ()  # of a module
    own: ShownCells | None = None
    closed: ShownCells | None = None
    count: int = 0
    opens: bool = False


def shown_rows(rows: Sequence[HealthRow], most: int) -> list[ShownRow]:
    """Return all rows in their modules; with more than `most`, the innermost modules have no rows, and stay closed."""
    deepest = max((len(row.path) for row in rows), default=0)
    found: list[ShownRow] = []
    for level in range(deepest, -1, -1):
        found = []
        _take(rows, 0, None, found, level)
        if len(found) <= most:
            break
    return found[:most]


def opened_rows(
    rows: Sequence[ShownRow], open: Collection[str] | None, depth: int | None, wanted: Collection[int] = ()
) -> set[int]:
    """Return the modules that are open at first: the requested ones, or the `wanted` ones, as deep as there is room."""
    modules = [at for at, row in enumerate(rows) if row.opens]
    if open is not None:
        return {at for at in modules if WITHIN.join(rows[at].path) in open or rows[at].path[-1] in open}
    if depth is not None:
        return {at for at in modules if len(rows[at].path) <= depth}
    # At each level those that hold other modules first, then single layers: what is alike opens together.
    holding = {rows[at].holder for at in modules}
    order = sorted({(len(rows[at].path), at not in holding) for at in modules})
    opened: set[int] = {*wanted}
    for part in order:
        more = opened | {at for at in modules if (len(rows[at].path), at not in holding) == part}
        if more != opened and sum(1 for _ in seen_rows(rows, more)) > MOST_SEEN:
            break
        opened = more
    return opened


def seen_rows(rows: Sequence[ShownRow], opened: Collection[int]) -> Iterator[int]:
    """Return the rows that are outside all closed modules."""
    seen: set[int | None] = {None}
    for at, row in enumerate(rows):
        if row.holder is None or (row.holder in seen and row.holder in opened):
            seen.add(at)
            yield at


def _take(rows: Sequence[HealthRow], depth: int, holder: int | None, found: list[ShownRow], level: int) -> None:
    """Add rows in the same modules down to a depth, grouped by module, in modules to a level."""
    at = 0
    while at < len(rows):
        if len(rows[at].path) <= depth:
            found.append(ShownRow(rows[at].name, depth, holder, own=_own(rows[at])))
            at += 1
            continue
        path = rows[at].path[: depth + 1]
        end = at
        while end < len(rows) and rows[end].path[: depth + 1] == path:
            end += 1
        inside, at = rows[at:end], end
        is_output = inside[0].path == path and inside[0].name == "output"
        own, within = (inside[0], inside[1:]) if is_output else (None, inside)
        row = ShownRow(path[-1], depth, holder, path, None if own is None else _own(own))
        found.append(row)
        if not within:
            continue
        row.title, row.count, row.closed = f"{path[-1]} ({len(inside)})", len(inside), _worst_of(path, inside)
        row.opens = len(path) <= level
        if row.opens:
            _take(within, depth + 1, len(found) - 1, found, level)


def _own(row: HealthRow) -> ShownCells:
    shape = f" ({', '.join(map(str, row.shape))})" if row.shape else ""
    kind = f"{'the output of a layer' if row.kind == 'output' else 'a parameter'}{shape}"
    own = () if row.kind == "output" and row.name == "output" else (row.name,)
    name = WITHIN.join([*row.path, *own])
    usual, count = usual_of(row.cells), len(row.cells)
    return ShownCells(name, kind, row.cells, [row] * count, usual, [usual] * count)


def _worst_of(path: tuple[str, ...], inside: Sequence[HealthRow]) -> ShownCells:
    usual = [usual_of(row.cells) for row in inside]
    known = [each for each in usual if each is not None]
    cells: list[HealthCell | None] = []
    rows: list[HealthRow] = []
    usuals: list[float | None] = []
    for at in range(len(inside[0].cells)):
        far = [distance(row.cells[at], own) for row, own in zip(inside, usual, strict=True)]
        worst = far.index(max(far))
        cells.append(inside[worst].cells[at])
        rows.append(inside[worst])
        usuals.append(usual[worst])
    kind = f"collapsed: the worst of {len(inside)} rows"
    return ShownCells(WITHIN.join(path), kind, cells, rows, _middle(known), usuals)


def _middle(norms: Sequence[float]) -> float | None:
    """Return the middle one of several usual norms, so that similar modules can be compared; zero if one is zero."""
    if not norms or not all(norms):
        return 0.0 if norms else None
    middle = median([math.log10(each) for each in norms])
    return 10.0**middle


def usual_of(cells: Sequence[HealthCell | None]) -> float | None:
    """Return the median of the norms that aren't zero; zero if all are."""
    norms = [cell.norm for cell in cells if cell and cell.norm is not None and math.isfinite(cell.norm)]
    some = [norm for norm in norms if norm] or [0.0]
    return min(median(some), max(some)) if norms else None  # the sum of two may be no number


def distance(cell: HealthCell | None, usual: float | None) -> float:
    """Return how far a cell is from its row's usual value, in decades; non-finite values are furthest."""
    if cell is None or cell.norm is None:
        return -0.5
    if cell.nonfinite or not math.isfinite(cell.norm):
        return math.inf
    if not usual or not cell.norm:
        return 0.0 if cell.norm == usual else 1e6
    return abs(math.log10(cell.norm) - math.log10(usual))
