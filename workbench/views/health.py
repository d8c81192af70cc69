"""Health: what is wrong with a training, and a table with a row for each layer and parameter, a cell for each step."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from ..health.finding import Finding
from ..health.findings import findings_of
from ..health.log import WatchLog
from ..health.table import HealthCell, HealthRow, HealthTable, table_of
from ..health.training_run import TrainingRun
from ..scene.labels import CHARACTER, TITLE_CHARACTER, clean, columns, cut, width_of
from ..scene.model import WITHIN, Box, Detail, Scene, StoryStep
from ..scene.storyboard import Storyboard
from ..trace.timeline import Timeline
from ..trace.values import number

LEGEND = (
    "Bars: the usual norm of a gradient, on a log scale; cells: steps, blue if smaller, orange if larger, "
    "× if not finite."
)
LOG_LEGEND = (
    "Bars: the usual norm of a gradient or output, on a log scale; cells: blue if smaller, orange larger, × not finite."
)
NOTHING = "Nothing was recorded that takes a gradient."
_RIGHT = 558  # px: nothing goes further, so that the picture fits a notebook beside JupyterLab's files at 1024 x 768
_NAMES = 176  # px: the room of the names
_BAR = 60  # px of the longest bar
_NUMBER = 52  # px of a number's column
_CELLS = _NAMES + _BAR + 3 * _NUMBER + 18  # px: where the cells begin
_ROW = 19  # px: the frame of a name must not cover the feet of the letters above it
_MOST_ROWS = 34
_CELL = 15  # px: the widest cell
_NARROWEST = 5  # px of a cell
_MARKED = 12  # px: the narrowest cell with a mark
_FINDINGS = 3  # that are told
_LINES = 4  # of a finding
_INDENT = 10  # px
_SHADE = 0.5  # decades from the usual norm to the next shade


def health(trace: Timeline, open: Collection[str] | None = None, depth: int | None = None) -> Storyboard:
    """The findings and the table of a training; of a large model the modules `open`, or those down to a depth."""
    run = TrainingRun(trace.events)
    return HealthChart(table_of(run), findings_of(run), open, depth).storyboard()


def health_of_log(log: WatchLog, open: Collection[str] | None = None, depth: int | None = None) -> Storyboard:
    """The same of files of `watch`: what was told, and the table."""
    board = HealthChart(log.table, log.found, open, depth).storyboard()
    board.legend = LOG_LEGEND
    return board


@dataclass(slots=True)
class _Row:
    """A row that is shown: of the table, or a closed module, which has the worst cell of what lies in it."""

    title: str
    depth: int
    cells: Sequence[HealthCell | None]
    usual: float | None  # the median of the norms of its gradients
    said: str
    within: list[HealthRow] = field(default_factory=list)
    is_open: bool = False
    measured: str = "gradient"


class HealthChart:
    """Places the findings, the rows and the cells; several steps are one column where there are too many."""

    def __init__(
        self,
        table: HealthTable,
        found: Sequence[Finding],
        open: Collection[str] | None = None,
        depth: int | None = None,
    ) -> None:
        self._table, self._found = table, found
        self._rows = _shown_rows(table.rows, open, depth)
        count = max(len(table.steps), 1)
        self._per_column = -(-count // ((_RIGHT - _CELLS) // _NARROWEST))
        self._columns = [range(at, min(at + self._per_column, count)) for at in range(0, count, self._per_column)]
        self._pitch = max(_NARROWEST, min(_CELL, (_RIGHT - _CELLS) // len(self._columns)))
        norms = [row.usual for row in self._rows if row.usual]
        self._low = math.floor(math.log10(min(norms))) if norms else 0
        self._high = max(math.ceil(math.log10(max(norms))), self._low + 1) if norms else 1
        self._boxes: dict[str, Box] = {}

    def storyboard(self) -> Storyboard:
        """The chart, and a step for each column."""
        title = "Health"
        if not self._rows or not self._table.steps:
            return Storyboard(Scene(title), [StoryStep(NOTHING)], title)
        top = self._tell_findings() + 8
        self._headings(top)
        for at, row in enumerate(self._rows):
            self._draw(f"r{at}", row, top + 40 + at * _ROW)
        steps = [self._step(at) for at in range(len(self._columns))]
        return Storyboard(Scene(title, self._boxes), steps, title, legend=LEGEND)

    def _add(self, id: str, kind: Any, place: tuple[float, float, float, float], title: str = "", **more: Any) -> None:
        self._boxes[id] = Box(id, kind, title, place=place, **more)

    # The findings.

    def _tell_findings(self) -> float:
        """Put the first findings above the table; where that begins."""
        certain = sum(each.certain for each in self._found)
        asked = len(self._found) - certain
        parts = [f"{certain} finding{'s' * (certain != 1)}"] if certain else []
        parts += [f"{asked} question{'s' * (asked != 1)}"] if asked else []
        said = ", ".join(parts) or "No findings"
        self._add("found", "heading", (0, 0, columns(said) * TITLE_CHARACTER + 8, 24), said)
        y = 26.0
        room = int((_RIGHT - 16) // CHARACTER) - 2
        for at, each in enumerate(self._found[:_FINDINGS]):
            first, *more = textwrap.wrap(clean(each.sentence), room, max_lines=_LINES, placeholder=" …")
            details = (Detail("Look next", "text", each.next_step),)
            place = (16.0, y, _RIGHT - 16.0, 20.0 + 16 * len(more))
            step = self._column_of(each.event)
            self._add(f"f{at}", "text", place, first, lines=tuple(more), alt=each.sentence, details=details, goto=step)
            self._add(f"f{at}.mark", "cell", (2, y + 4, 8, 12), shade=4 if each.certain else 1)
            y += place[3] + 4
        if len(self._found) > _FINDINGS:
            said = f"… and {len(self._found) - _FINDINGS} more"
            said += ": print(trace.findings())" if self._table.events else ""
            self._add("more", "text", (16, y, _RIGHT - 16, 20), said)
            y += 22
        return y

    def _column_of(self, event: int) -> int | None:
        """The column of the step that an event lies in."""
        begun = [at for at, begin in enumerate(self._table.events) if begin <= event]
        return begun[-1] // self._per_column if begun and len(self._columns) > 1 else None

    # The table.

    def _headings(self, top: float) -> None:
        x = float(_NAMES)
        for id, wide, lines in (
            ("bar", _BAR, ("‖gradient‖", f"{_power(self._low)}…{_power(self._high)}")),
            ("norm", _NUMBER, ("", "now")),
            ("ratio", _NUMBER, ("update/", "weight")),
            ("zeros", _NUMBER, ("", "zeros")),
        ):
            for line, text in enumerate(lines):
                if text:
                    self._add(f"h.{id}{line}", "tick", (x, top + 16 * line, max(wide, width_of(text)), 16), text)
            x += wide + 6
        if len(self._columns) > 1:
            steps = self._table.steps
            several = f"{self._per_column} steps a cell" if self._per_column > 1 else ""
            for line, text in enumerate((several, f"steps {steps[0]} to {steps[-1]}")):
                if text:
                    self._add(f"h.steps{line}", "tick", (_CELLS, top + 16 * line, width_of(text), 16), text)

    def _draw(self, id: str, row: _Row, y: float) -> None:
        room = int((_NAMES - 6 - row.depth * _INDENT) // CHARACTER)
        title = cut(clean(row.title), room)
        place = (row.depth * _INDENT, y - 4, _NAMES - 4.0 - row.depth * _INDENT, _ROW - 2.0)
        self._add(id, "name", place, title, alt=row.said, details=self._details(row))
        if row.is_open:
            return
        if row.usual is not None:
            wide = self._width(row.usual)
            said = f"{row.title}: the norm of its {row.measured} is usually {number(row.usual, digits=3)}"
            self._add(f"{id}.bar", "bar", (_NAMES, y + 3, wide, _ROW - 9.0), alt=said)
        x = float(_NAMES + _BAR + 6)
        for part in ("norm", "ratio", "zeros"):
            self._add(f"{id}.{part}", "tick", (x, y, _NUMBER, _ROW - 3.0), " ")
            x += _NUMBER + 6
        if len(self._columns) < 2:
            return
        for at, several in enumerate(self._columns):
            cell = _worst([row.cells[step] for step in several], row.usual)
            box = f"{id}.{at}"
            state = "error" if cell and cell.nonfinite else "future" if cell is None or cell.norm is None else "idle"
            place = (_CELLS + at * self._pitch, y, self._pitch, _ROW - 3.0)
            said = f"{row.title}, {self._named(several)}: {_said(cell, row.measured)}"
            mark = "×" if state == "error" and self._pitch >= _MARKED else ""
            self._add(box, "cell", place, mark, shade=_shade(cell, row.usual), state=state, alt=said, goto=at)

    def _width(self, norm: float) -> float:
        """How long the bar of a norm is."""
        if not norm:
            return 1.0
        part = (math.log10(norm) - self._low) / (self._high - self._low)
        return round(2 + (_BAR - 2) * min(max(part, 0.0), 1.0), 1)

    def _details(self, row: _Row) -> tuple[Detail, ...]:
        steps = self._table.steps
        shown = [at for at, cell in enumerate(row.cells) if cell is not None]
        shown = shown if len(shown) <= 12 else [*shown[:6], *shown[-6:]]
        lines = [f"step {steps[at]}: {_said(row.cells[at], row.measured)}" for at in shown]
        found = [Detail("In its steps", "text", "\n".join(lines))] if lines else []
        if row.within:
            names = [WITHIN.join([*each.path, each.name]) for each in row.within]
            said = "\n".join(names[:20]) + (f"\n… and {len(names) - 20} more" if len(names) > 20 else "")
            found.append(Detail(f"Closed: {len(names)} rows, of which the worst is shown", "text", said))
        return tuple(found)

    def _named(self, several: range) -> str:
        steps = self._table.steps
        first, last = steps[several[0]], steps[several[-1]]
        return f"step {first}" if first == last else f"steps {first} to {last}"

    def _step(self, at: int) -> StoryStep:
        several = self._columns[at]
        boxes: dict[str, dict[str, Any]] = {}
        for index, row in enumerate(self._rows):
            if row.is_open:
                continue
            cell = _worst([row.cells[step] for step in several], row.usual)
            id = f"r{index}"
            norm = None if cell is None else cell.norm
            boxes[f"{id}.norm"] = {"title": "none" if norm is None else _short(norm)}
            ratio = None if cell is None else cell.ratio
            boxes[f"{id}.ratio"] = {"title": " " if ratio is None else _short(ratio)}
            zeros = None if cell is None else cell.zeros
            boxes[f"{id}.zeros"] = {"title": " " if not zeros else f"{zeros:.0%}"}
            if len(self._columns) > 1:
                boxes |= self._lit(f"{id}.{at - 1}", False) | self._lit(f"{id}.{at}", True)
        losses = [self._table.losses[step] for step in several] if self._table.losses else []
        known = [loss for loss in losses if loss is not None]
        said = f"{self._named(several)}: the loss is {number(known[-1])}." if known else f"{self._named(several)}."
        return StoryStep(said[0].upper() + said[1:], "training", boxes=boxes)

    def _lit(self, id: str, on: bool) -> dict[str, dict[str, Any]]:
        """The state of a cell in the column that is shown, or no longer is."""
        box = self._boxes.get(id)
        if box is None or box.state != "idle":
            return {}
        return {id: {"state": "running" if on else "idle"}}


def _shown_rows(rows: Sequence[HealthRow], open: Collection[str] | None, depth: int | None) -> list[_Row]:
    """The rows with as many modules open as there is room for, or those that are asked."""
    if open is not None:
        return list(_listed(rows, 0, lambda path: WITHIN.join(path) in open or path[-1] in open))
    deepest = max((len(row.path) for row in rows), default=0)
    if depth is not None:
        return list(_listed(rows, 0, lambda path: len(path) <= depth))
    for level in range(deepest, 0, -1):
        found = list(_listed(rows, 0, lambda path, level=level: len(path) <= level))
        if len(found) <= _MOST_ROWS:
            return found
    return list(_listed(rows, 0, lambda path: False))[:_MOST_ROWS]


def _listed(rows: Sequence[HealthRow], depth: int, is_open: Any) -> Iterator[_Row]:
    """The rows that lie in the same modules down to a depth, those of one module together."""
    at = 0
    while at < len(rows):
        if len(rows[at].path) <= depth:
            yield _row(rows[at], depth)
            at += 1
            continue
        path = rows[at].path[: depth + 1]
        end = at
        while end < len(rows) and rows[end].path[: depth + 1] == path:
            end += 1
        inside = rows[at:end]
        if is_open(path) or len(inside) == 1:
            own, *others = inside if inside[0].path == path and inside[0].name == "output" else (None, *inside)
            yield (
                _Row(path[-1], depth, (), None, f"{WITHIN.join(path)}, open", is_open=True)
                if own is None
                else _row(own, depth, path[-1])
            )
            yield from _listed(others, depth + 1, is_open)
        else:
            yield _closed(path, depth, inside)
        at = end


def _row(row: HealthRow, depth: int, title: str = "") -> _Row:
    shape = f" ({', '.join(map(str, row.shape))})" if row.shape else ""
    name = WITHIN.join([*row.path, row.name])
    kind = "its output" if row.kind == "output" else "a parameter"
    return _Row(title or row.name, depth, row.cells, _usual(row.cells), f"{name}{shape}, {kind}", measured=row.measured)


def _closed(path: tuple[str, ...], depth: int, inside: Sequence[HealthRow]) -> _Row:
    usual = [_usual(row.cells) for row in inside]
    known = [each for each in usual if each is not None]
    cells: list[HealthCell | None] = []
    for at in range(len(inside[0].cells)):
        worst: HealthCell | None = None
        far = -1.0
        for row, own in zip(inside, usual, strict=True):
            cell = row.cells[at]
            distance = _distance(cell, own)
            if cell is not None and distance > far:
                worst, far = cell, distance
        cells.append(worst)
    said = f"{WITHIN.join(path)}, closed: the worst of {len(inside)} rows in each step"
    return _Row(f"{path[-1]} ({len(inside)})", depth, cells, min(known, default=None), said, list(inside))


def _usual(cells: Sequence[HealthCell | None]) -> float | None:
    """The median of the norms that are not zero; zero if all are."""
    norms = [cell.norm for cell in cells if cell and cell.norm is not None and math.isfinite(cell.norm)]
    return median([norm for norm in norms if norm] or [0.0]) if norms else None


def _distance(cell: HealthCell | None, usual: float | None) -> float:
    """How far a cell is from what is usual in its row, in decades; what is not finite is further than all."""
    if cell is None or cell.norm is None:
        return -0.5
    if cell.nonfinite or not math.isfinite(cell.norm):
        return math.inf
    if not usual or not cell.norm:
        return 0.0 if cell.norm == usual else 1e6
    return abs(math.log10(cell.norm / usual))


def _worst(cells: Sequence[HealthCell | None], usual: float | None) -> HealthCell | None:
    return max(cells, key=lambda cell: _distance(cell, usual), default=None)


def _shade(cell: HealthCell | None, usual: float | None) -> int:
    if cell is None or cell.norm is None or cell.nonfinite or not math.isfinite(cell.norm):
        return 0
    if not cell.norm or not usual:
        return 0 if cell.norm == usual else -4 if usual else 4
    return max(-4, min(4, round(math.log10(cell.norm / usual) / _SHADE)))


def _short(norm: float) -> str:
    """A norm in seven columns: `0.0123`, `7.1e-5`."""
    if not math.isfinite(norm) or not norm or 1e-2 <= norm < 1e3:
        return number(norm, digits=3)
    digits, _, exponent = f"{norm:.1e}".partition("e")
    return f"{digits}e{int(exponent)}"


def _power(exponent: int) -> str:
    """A power of ten: `1`, `1e-3`."""
    return "1" if not exponent else f"1e{exponent}"


def _said(cell: HealthCell | None, measured: str) -> str:
    """What is known of a row in a step."""
    if cell is None:
        return "not used"
    parts = [f"no {measured}" if cell.norm is None else f"‖{measured}‖ {number(cell.norm, digits=3)}"]
    parts += [f"‖value‖ {number(cell.value, digits=3)}"] if cell.value is not None and measured == "gradient" else []
    parts += [f"‖update‖ / ‖weight‖ {number(cell.ratio, digits=3)}"] if cell.ratio is not None else []
    parts += [f"{cell.zeros:.0%} zeros"] if cell.zeros else []
    parts += [f"its {cell.nonfinite} is not finite"] if cell.nonfinite else []
    return ", ".join(parts)
