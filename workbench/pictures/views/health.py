"""Health: what is wrong with a training run, and a table with a row per layer and parameter and a cell per step."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...diagnosis.health.finding import Finding
from ...diagnosis.health.findings import findings
from ...diagnosis.health.log import WatchLog
from ...diagnosis.health.table import HealthCell, HealthTable, table_of
from ...diagnosis.health.training_run import TrainingRun, TrainingStep
from ..scene.metric import CHARACTER, TITLE_CHARACTER, clean, columns, cut, width_of
from ..scene.model import Box, Detail, Scene, StoryStep
from ..scene.storyboard import PictureInside, Storyboard
from ..trace.timeline import Timeline
from ..trace.values import number
from .after_backward import NODES, TrainingMoment, graph_after_backward
from .health_places import Places, modules_around, places_in, places_named, rows_at
from .health_rows import ShownCells, ShownRow, opened_rows, seen_rows, shown_rows
from .value_display import norm_of

LEGEND = "Bars show each row's typical gradient norm (log scale); zeros is the share that is exactly 0, ? if unknown."
LOG_LEGEND = (
    "Bars show the typical norm of a gradient or output (log scale); zeros is the share of dead units, ? if unknown."
)
MARKED_LEGEND = (
    "Bars: typical gradient norm, log scale; zeros: share exactly 0, ? if unknown; click a number for its finding."
)
NOTHING = "Nothing that requires grad was recorded."
_NOT_KEPT = "This step's graph isn't included here; use trace.show(step=…)."
_RIGHT = 558  # px: nothing goes further, so that the picture fits a notebook beside JupyterLab's files at 1024 x 768
_NAMES = 176  # px: the room of the names
_SIGN = 12  # px at the left of a name for the sign that opens it
_GAP = 6  # px between a name and a number, where a mark around the name has its room
_BAR = 60  # px of the longest bar
_NUMBER = 52  # px of a number's column
_CELLS = _NAMES + _BAR + 3 * _NUMBER + 18  # px: where the cells begin
_ROW = 19  # px: the frame of a name must not cover the feet of the letters above it
_MOST_CELLS = 12_000  # in the picture, those of closed modules too
_CELL = 15  # px: the widest cell
_NARROWEST = 5  # px of a cell
_MARKED = 12  # px: the narrowest cell with a mark
_FINDINGS = 3  # that are shown
_LINES = 7  # of a finding
_NEXT = 3  # lines of what to look at next
_SIDE = 14  # px of a finding's number, beside its sentence and in the table
_INDENT = 10  # px
_SHADE = 0.5  # decades from the usual norm to the next shade
_DECADES = 300  # of more there is no number
_NAMED = 3  # rows that a caption names
_FEWEST = 3  # steps whose graphs are kept in any case


def health(trace: Timeline, open: Collection[str] | None = None, depth: int | None = None) -> Storyboard:
    """Return a run's findings and table; for a large model, with the modules `open`, or those down to a depth."""
    run = trace.kept(TrainingRun)
    table = table_of(run)
    chart = HealthChart(table, findings(trace), open, depth, places_in(run, table))
    board = chart.storyboard()
    if chart.cells:
        moments = _moments(run, chart)
        board.inside = PictureInside(lambda: _graphs(trace, run, chart, moments), _NOT_KEPT)
    return board


def health_of_log(log: WatchLog, open: Collection[str] | None = None, depth: int | None = None) -> Storyboard:
    """Return the same for files of `watch`: the reported findings, and the table."""
    board = HealthChart(log.table, log.found, open, depth, places_named(log.table)).storyboard()
    board.legend = board.legend.replace(LEGEND, LOG_LEGEND)
    return board


def _entry(found: Finding) -> Detail:
    """Say which entry of the documentation explains the finding, as a link where the project has an address."""
    if found.entry:
        return Detail("Explained under", "link", {"text": found.rule, "href": found.entry})
    return Detail("Explained under", "text", f"{found.rule}, on the page Findings of the documentation")


class HealthChart:
    """Place the findings, the rows and the cells; several steps share a column if there are too many.

    `cells` has, by box, what each cell shows, and of which steps.
    """

    def __init__(
        self,
        table: HealthTable,
        found: Sequence[Finding],
        open: Collection[str] | None = None,
        depth: int | None = None,
        places: Places = lambda found: (),
    ) -> None:
        self.table, self.found = table, found
        count = max(len(table.steps), 1)
        self._per_column = -(-count // ((_RIGHT - _CELLS) // _NARROWEST))
        self.columns = [range(at, min(at + self._per_column, count)) for at in range(0, count, self._per_column)]
        self._pitch = max(_NARROWEST, min(_CELL, (_RIGHT - _CELLS) // len(self.columns)))
        self._rows = shown_rows(table.rows, _MOST_CELLS // len(self.columns))
        self._names = self._room()
        self._begin = _CELLS - _NAMES + self._names  # px: where the cells begin
        # For each finding shown, the rows that it is about, and the modules around them.
        self._about = [[*dict.fromkeys(rows_at(places(each), self._rows))] for each in found[:_FINDINGS]]
        self._around = [{*modules_around(rows, self._rows)} for rows in self._about]
        wanted = {*modules_around([at for rows in self._about for at in rows[:1]], self._rows)}
        self._opened = opened_rows(self._rows, open, depth, wanted)
        norms = [each.usual for row in self._rows for each in (row.own, row.closed) if each and each.usual]
        self._low = math.floor(math.log10(min(norms))) if norms else 0
        self._high = max(math.ceil(math.log10(max(norms))), self._low + 1) if norms else 1
        self._boxes: dict[str, Box] = {}
        self._shown: dict[str, ShownCells] = {}  # by the beginning of the ids of its boxes
        self.cells: dict[str, tuple[ShownCells, range]] = {}

    def _room(self) -> float:
        """Return the width of the names: with few steps, the width of the longest."""
        said = width_of(self._steps_said()) if len(self.columns) > 1 else 0
        free = _RIGHT - _CELLS - max(self._pitch * len(self.columns), said)
        wanted = [row.depth * _INDENT + _SIGN + columns(clean(row.title)) * CHARACTER + 8 for row in self._rows]
        return _NAMES + max(0.0, min(max(wanted, default=0.0) - _NAMES, float(free)))

    def _steps_said(self) -> str:
        return f"steps {self.table.steps[0]} to {self.table.steps[-1]}"

    def storyboard(self) -> Storyboard:
        """Return the chart, and a step for each column."""
        title = "Health"
        if not self._rows or not self.table.steps:
            return Storyboard(Scene(title), [StoryStep(NOTHING)], title)
        top = self._tell_findings() + 8
        if len(self.columns) > 1:
            top = self._key(top)
        self._headings(top)
        for at, row in enumerate(self._rows):
            self._draw(at, row, top + 40 + at * _ROW)
        if len(self.columns) > 1:
            self._marks(top + 38, top + 40 + len(self._rows) * _ROW)
        steps = [self._step(at) for at in range(len(self.columns))]
        opened = {f"r{at}" for at in self._opened}
        legend = MARKED_LEGEND if any(self._about) else LEGEND
        return Storyboard(Scene(title, self._boxes), steps, title, legend=legend, opened=opened)

    def _add(self, id: str, kind: Any, place: tuple[float, float, float, float], title: str = "", **more: Any) -> None:
        self._boxes[id] = Box(id, kind, title, place=place, **more)

    # The findings.

    def _tell_findings(self) -> float:
        """Put the first findings above the table; where that begins."""
        said = counted_findings(self.found) or "No findings"
        self._add("found", "heading", (0, 0, columns(said) * TITLE_CHARACTER + 8, 24), said)
        y = 26.0
        for at, each in enumerate(self.found[:_FINDINGS]):
            first, *more = _wrapped(each.sentence, _LINES)
            more += _wrapped(f"→ {each.next_step}", _NEXT)
            details = (Detail("Look next", "text", each.next_step), _entry(each))
            place = (_SIDE + 4.0, y, _RIGHT - _SIDE - 4.0, 20.0 + 16 * len(more))
            step, row = self.column_of(each.event), next(iter(self._about[at]), None)
            looks = {"lines": tuple(more), "alt": each.sentence, "details": details, "goto": step}
            self._add(f"f{at}", "text", place, first, refers=None if row is None else f"r{row}", **looks)
            self._add_number(f"f{at}.mark", at, (0, y + 2))
            y += place[3] + 4
        if len(self.found) > _FINDINGS:
            said = f"… and {len(self.found) - _FINDINGS} more"
            said += ": print(trace.findings())" if self.table.events else ""
            self._add("more", "text", (16, y, _RIGHT - 16, 20), said)
            y += 22
        return y

    def _add_number(self, id: str, at: int, corner: tuple[float, float], **more: Any) -> None:
        """Add the number of a finding next to its sentence and in the rows that it is about."""
        looks = {"shade": 4 if self.found[at].certain else 1, "alt": f"finding {at + 1}"}
        self._add(id, "cell", (*corner, _SIDE, _SIDE), f"{at + 1}", **looks | more)

    def column_of(self, event: int) -> int | None:
        """Return the column of the step that contains an event."""
        begun = [at for at, begin in enumerate(self.table.events) if begin <= event]
        return begun[-1] // self._per_column if begun and len(self.columns) > 1 else None

    # The table.

    def _key(self, top: float) -> float:
        """Say what the colors of cells mean; where the table begins."""
        x = float(_RIGHT)

        def put(id: str, kind: str, wide: float, title: str = "", **more: Any) -> None:
            nonlocal x
            x -= wide
            high = 16.0 if kind == "tick" else 12.0
            self._add(f"key.{id}", kind, (x, top if kind == "tick" else top + 2, wide - 3.0, high), title, **more)

        put("shown", "tick", width_of("this step") + 6, "this step")
        put("frame", "frame", _CELL, state="running")
        put("zero", "tick", width_of("zero") + 6, "zero")
        put("0", "cell", _CELL, "0", alt="the mark of a cell that is exactly zero")
        for said, shades in (("not finite", (None,)), ("100 × typical", range(4, -5, -2)), ("1/100 of it", ())):
            put(said, "tick", width_of(said) + 6, said)
            for shade in shades:
                put(f"shade{shade}", "cell", _CELL, "×" if shade is None else "", shade=shade or 0)
                self._boxes[f"key.shade{shade}"].state = "error" if shade is None else "idle"
                self._boxes[f"key.shade{shade}"].alt = "the color of a cell, explained next to it"
        return top + 20

    def _headings(self, top: float) -> None:
        x = self._names
        outputs = any(row.measured == "output" for row in self.table.rows)
        for id, wide, lines in (
            (
                "bar",
                _BAR,
                ("norm: grad, output" if outputs else "gradient norm", f"{_power(self._low)}…{_power(self._high)}"),
            ),
            ("norm", _NUMBER, ("", "now")),
            ("ratio", _NUMBER, ("update/", "weight")),
            ("zeros", _NUMBER, ("", "zeros")),
        ):
            for line, text in enumerate(lines):
                if text:
                    self._add(f"h.{id}{line}", "tick", (x, top + 16 * line, max(wide, width_of(text)), 16), text)
            x += wide + 6
        if len(self.columns) > 1:
            several = f"{self._per_column} steps per cell" if self._per_column > 1 else ""
            for line, text in enumerate((several, self._steps_said())):
                if text:
                    self._add(f"h.steps{line}", "tick", (self._begin, top + 16 * line, width_of(text), 16), text)

    def _marks(self, top: float, bottom: float) -> None:
        """Add a frame around each column; only the shown step's frame is visible."""
        for at in range(len(self.columns)):
            place = (self._begin + at * self._pitch - 2.0, top, self._pitch + 4.0, bottom - top)
            self._add(f"shown.{at}", "frame", place, state="future")

    def _draw(self, at: int, row: ShownRow, y: float) -> None:
        id = f"r{at}"
        indent = row.depth * _INDENT + _SIGN
        holder = None if row.holder is None else f"r{row.holder}"
        wide = self._names - 4.0 - indent - self._mark(at, y, holder)
        title = cut(clean(row.title), int((wide - 2) // CHARACTER))
        told = row.own or row.closed
        name = told.name if told else row.title
        said = f"{name}, a module with {row.count} rows" if row.count else f"{name}, {told.kind if told else 'a row'}"
        details = () if row.opens or told is None else self._details(told)
        self._add(id, "name", (indent, y - 4, wide, _ROW - 2.0), title, alt=said, details=details)
        self._boxes[id].region = holder
        if row.opens:
            if row.own is not None:
                self._draw_cells(f"{id}.own", row.own, y, id, None)
            if row.closed is not None:
                self._draw_cells(id, row.closed, y, holder, id)
        elif told is not None:
            self._draw_cells(id, row.closed or told, y, holder, None)

    def _mark(self, at: int, y: float, holder: str | None) -> float:
        """Mark a row with the numbers of the findings about it, a closed module with those of the rows in it.

        How wide the marks are.
        """
        own = [n for n, rows in enumerate(self._about) if at in rows]
        within = [n for n, modules in enumerate(self._around) if at in modules and n not in own]
        x = self._names - 4.0
        for n in [*own, *within][::-1]:
            x -= _SIDE + 2.0
            more = {"region": holder, "instead": f"r{at}" if n in within else None, "refers": f"f{n}"}
            self._add_number(f"r{at}.found{n}", n, (x, y + 1), **more)
        return self._names - 4.0 - x + _GAP * bool(own or within)

    def _draw_cells(self, id: str, told: ShownCells, y: float, region: str | None, instead: str | None) -> None:
        self._shown[id] = told
        around: dict[str, Any] = {"region": region, "instead": instead}
        if told.usual is not None:
            said = f"{told.name}, {told.kind}: {told.measured} norm typically {number(told.usual, digits=3)}"
            place = (self._names, y + 3, self._width(told.usual), _ROW - 9.0)
            self._add(f"{id}.bar", "bar", place, alt=said, details=self._details(told), **around)
            if not told.usual:
                self._add(f"{id}.zero", "tick", (self._names + 2.0, y, _MARKED, _ROW - 3.0), "0", **around)
        x = self._names + _BAR + 6
        for part in ("norm", "ratio", "zeros"):
            self._add(f"{id}.{part}", "tick", (x, y, _NUMBER, _ROW - 3.0), " ", **around)
            x += _NUMBER + 6
        if len(self.columns) < 2:
            if told.usual is not None:
                self.cells |= {
                    each: (told, self.columns[0]) for each in (f"{id}.bar", f"{id}.zero") if each in self._boxes
                }
            return
        for at, several in enumerate(self.columns):
            step = told.worst(several)
            cell = told.cells[step]
            state = "error" if cell and cell.nonfinite else "future" if cell is None or cell.norm is None else "idle"
            place = (self._begin + at * self._pitch, y, self._pitch, _ROW - 3.0)
            said = f"{told.name}, {self._named(several)}: {_said(cell, told)}"
            mark = "×" if state == "error" else "0" if cell and cell.norm == 0 else ""
            mark = mark if self._pitch >= _MARKED else ""
            looks = {"shade": _shade(cell, told.usuals[step]), "state": state, "alt": said, "goto": at}
            self._add(f"{id}.{at}", "cell", place, mark, **looks, **around)
            self.cells[f"{id}.{at}"] = told, several

    def _width(self, norm: float) -> float:
        """Return the length of a norm's bar."""
        if not norm:
            return 1.0
        part = (math.log10(norm) - self._low) / (self._high - self._low)
        return round(2 + (_BAR - 2) * min(max(part, 0.0), 1.0), 1)

    def _details(self, told: ShownCells) -> tuple[Detail, ...]:
        steps = self.table.steps
        shown = [at for at, cell in enumerate(told.cells) if cell is not None]
        shown = shown if len(shown) <= 12 else [*shown[:6], *shown[-6:]]
        lines = [f"step {steps[at]}: {_said(told.cells[at], told)}" for at in shown]
        return (Detail(f"Steps of {told.name}, {told.kind}", "code", "\n".join(lines)),) if lines else ()

    def _named(self, several: range) -> str:
        steps = self.table.steps
        first, last = steps[several[0]], steps[several[-1]]
        return f"step {first}" if first == last else f"steps {first} to {last}"

    # The steps.

    def _step(self, at: int) -> StoryStep:
        several = self.columns[at]
        boxes: dict[str, dict[str, Any]] = {}
        for id, told in self._shown.items():
            cell = told.cells[told.worst(several)]
            norm, ratio = (None, None) if cell is None else (cell.norm, cell.ratio)
            boxes[f"{id}.norm"] = {"title": "none" if norm is None else _short(norm)}
            boxes[f"{id}.ratio"] = {"title": " " if ratio is None else _short(ratio)}
            boxes[f"{id}.zeros"] = {"title": _zeros(cell)}
        if len(self.columns) > 1:
            boxes |= {f"shown.{at - 1}": {"state": "future"}} if at else {}
            boxes[f"shown.{at}"] = {"state": "running"}
        losses = [self.table.losses[step] for step in several] if self.table.losses else []
        known = [loss for loss in losses if loss is not None]
        said = f"{self._named(several)}: the loss is {number(known[-1])}." if known else f"{self._named(several)}."
        return StoryStep(f"{said[0].upper()}{said[1:]}{self._apart(several)}", "training", boxes=boxes)

    def _apart(self, several: range) -> str:
        """Return which rows, as the picture opens, are far from their usual values in these steps."""
        kinds: dict[str, list[tuple[float, str]]] = {}
        for at in seen_rows(self._rows, self._opened):
            row = self._rows[at]
            told = (row.own if at in self._opened else row.closed or row.own) if row.opens else row.closed or row.own
            if told is None:
                continue
            step = told.worst(several)
            cell = told.cells[step]
            if cell is None or cell.norm is None:
                continue
            far, shade = told.distance(step), _shade(cell, told.usuals[step])
            if cell.nonfinite:
                kinds.setdefault("Not finite", []).append((0, told.name))
            elif abs(shade) > 1:
                by = f" ({_times(far)})" if far < 12 else ""
                word = "Larger than typical" if shade > 0 else "Smaller than typical"
                kinds.setdefault(word, []).append((-far, f"{told.name}{by}"))
        said = ""
        for word in ("Not finite", "Larger than typical", "Smaller than typical"):
            names = [name for _, name in sorted(kinds.get(word, []), key=lambda each: each[0])]
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            said += f" {word}: {', '.join(names[:_NAMED])}{more}." if names else ""
        return said


def counted_findings(found: Sequence[Finding]) -> str:
    """`2 findings, 1 possible issue`; empty without any."""
    certain = sum(each.certain for each in found)
    asked = len(found) - certain
    parts = [f"{certain} finding{'s' * (certain != 1)}"] if certain else []
    parts += [f"{asked} possible issue{'s' * (asked != 1)}"] if asked else []
    return ", ".join(parts)


# The graphs that cells lead to.


def _moments(run: TrainingRun, chart: HealthChart) -> list[TrainingMoment]:
    """Return the steps whose graphs are kept: one per column, for a large model those with a finding, and both ends."""
    last, count = len(chart.columns) - 1, max(1, len(run.nodes) // max(1, len(run.steps)))
    room = max(_FEWEST, NODES // count)
    found = [chart.column_of(each.event) or 0 for each in chart.found]
    order = dict.fromkeys([*found[: room - 2], 0, last, *found])
    order |= dict.fromkeys(round(last * n / max(1, room - 1)) for n in range(room))
    order |= dict.fromkeys(range(last + 1))
    kept = sorted([*order][:room])
    cells = [(told, several) for told, several in chart.cells.values()]
    moments: list[TrainingMoment] = []
    for column in kept:
        steps = chart.columns[column]
        own = [told for told, several in cells if several == steps]
        at = max(steps, key=lambda step: max(told.distance(step) for told in own))
        step = run.steps[at]
        if step.backwards:
            moments.append(TrainingMoment(step.number, _end(step)))
    return moments


def _end(step: TrainingStep) -> int:
    """Return the number of events when the last backward pass of a step ends."""
    end = step.backwards[-1].end
    return step.end if end is None else end + 1


def _graphs(
    trace: Timeline, run: TrainingRun, chart: HealthChart, moments: Sequence[TrainingMoment]
) -> tuple[Storyboard | None, Mapping[str, tuple[int, str]]]:
    """Return the graphs of these steps, and where each cell leads in them."""
    graphs = graph_after_backward(trace.events, moments)
    if graphs is None:
        return None, {}
    kept = {at for at, step in enumerate(run.steps) if step.number in [moment.number for moment in graphs.moments]}
    leads: dict[str, tuple[int, str]] = {}
    for id, (told, several) in chart.cells.items():
        steps = [at for at in several if at in kept]
        if not steps:
            continue
        at = told.worst(steps)
        row = told.rows[at]
        node = row.ids[at] if row.ids else None
        box = None if node is None else graphs.box(node)
        if box is not None:
            leads[id] = run.steps[at].number, box
    return graphs.board, leads


# Numbers in words.


def _wrapped(text: str, most: int) -> list[str]:
    """Return the lines of a finding's text, without its marks of code: here, all is in one typeface."""
    room = int((_RIGHT - _SIDE - 4) // CHARACTER) - 2
    return textwrap.wrap(clean(text.replace("`", "")), room, max_lines=most, placeholder=" …")


def _shade(cell: HealthCell | None, usual: float | None) -> int:
    if cell is None or cell.norm is None or cell.nonfinite or not math.isfinite(cell.norm):
        return 0
    if not cell.norm or not usual:
        return 0 if cell.norm == usual else -4 if usual else 4
    return max(-4, min(4, round((math.log10(cell.norm) - math.log10(usual)) / _SHADE)))


def _times(decades: float) -> str:
    """`5.7 ×`, `190 ×`."""
    times = float(f"{10**decades:.2g}") if decades < _DECADES else math.inf
    return f"{f'{times:,g}' if times < 1e6 else number(times, digits=2)} ×"


def _zeros(cell: HealthCell | None) -> str:
    """Return the share of zeros in a few columns: empty for none, `?` if they weren't counted."""
    if cell is None or cell.norm is None:
        return " "
    return "?" if cell.zeros is None else f"{cell.zeros:.0%}" if cell.zeros else " "


def _short(norm: float) -> str:
    """Return a norm in six columns: `0.0123`, `7.1e-5`, `4e-12`."""
    if not math.isfinite(norm) or not norm or 1e-2 <= norm < 1e3:
        return number(norm, digits=3)
    digits, _, exponent = f"{norm:.{0 if norm < 1e-9 or norm >= 1e10 else 1}e}".partition("e")
    return f"{digits}e{int(exponent)}"


def _power(exponent: int) -> str:
    """Return a power of ten: `1`, `1e-3`."""
    return "1" if not exponent else f"1e{exponent}"


def _said(cell: HealthCell | None, told: ShownCells) -> str:
    """Return what is known of a row in a step."""
    if cell is None:
        return "not used"
    measured = told.measured
    parts = [f"no {measured}" if cell.norm is None else f"{measured} {norm_of(cell.norm)}"]
    parts += [f"value {norm_of(cell.value)}"] if cell.value is not None and measured == "gradient" else []
    parts += [f"update/weight {number(cell.ratio, digits=3)}"] if cell.ratio is not None else []
    parts += [f"{cell.zeros:.0%} zeros"] if cell.zeros else []
    parts += ["zeros unknown"] if cell.zeros is None and cell.norm is not None else []
    parts += [f"its {cell.nonfinite} is not finite"] if cell.nonfinite else []
    return ", ".join(parts)
