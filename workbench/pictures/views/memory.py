"""Memory: the bytes saved for backward after each event, which node holds them for how long, and the peak.

Parameters and inputs, which are held anyway, are separate. `Ledger` counts both event by event; `memory` draws them.
"""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from ..scene.metric import CHARACTER, TITLE_CHARACTER, clean, columns, told_apart, width_of
from ..scene.model import Box, BoxState, Detail, Scene, StoryStep
from ..scene.storyboard import Storyboard
from ..trace.timeline import Timeline
from .memory_ledger import Holder, Ledger, Point
from .memory_sizes import bytes_said
from .player_steps import NOTHING

LEGEND = "Bars: memory held for backward after each event; dashed: held anyway; pale: still to come."
_RIGHT = 558  # px: nothing goes further, so that the picture fits a notebook beside JupyterLab's files at 1024 x 768
_LEFT = 268  # px: the room of the names
_TOP = 82  # px: where the curve's upper edge is
_HIGH = 140  # px of the curve
_WIDE = _RIGHT - _LEFT - 6  # px of the curve
_WIDEST = 34  # px of a bar
_NARROWEST = 3  # px of a bar
_MOST = _WIDE // _NARROWEST  # bars
_COLUMNS = 24  # of a row's name
_ROW = 20  # px
_SECTION = 30  # px between the last row of a section and the next section's heading
_KEPT_ROWS = 12  # rows at most of what is kept
_ANYWAY_ROWS = 6  # rows at most of what lives anyway
_TURNS = "forward and backward alternate"  # said where there is no room for each
_ON_CTX = "An attribute of ctx isn't freed when the node has run. It is freed with the whole graph."
_TOLD = 3  # events of a bar that its caption tells


def memory(trace: Timeline, against: Timeline | None = None) -> Storyboard:
    """Return a trace's memory; the trace `against` is drawn over it so that both backward passes begin together."""
    own = Ledger(trace)
    other = Ledger(against) if against is not None else None
    title = "Memory held for backward"
    if not own.points:
        return Storyboard(Scene(title), [StoryStep(NOTHING)], title)
    return _MemoryChart(own, other).storyboard(title)


class _MemoryChart:
    """Place the bars; a bar represents one point of the ledger, or several if there are too many."""

    def __init__(self, own: Ledger, other: Ledger | None) -> None:
        self._own, self._other = own, other
        ledgers = [each for each in (own, other) if each is not None]
        self._forward = max(each.forward for each in ledgers)
        count = self._forward + max(len(each.points) - each.forward for each in ledgers)
        self._bucket = -(-count // _MOST)
        columns = -(-count // self._bucket)
        self._pitch = max(_NARROWEST, min(_WIDEST, _WIDE // columns))
        self._width = columns * self._pitch
        self._peak = max(each.peak for each in ledgers)
        self._boxes: dict[str, Box] = {}
        self._begins: dict[str, int] = {}  # the holders' bars, each with the point that it begins at

    def storyboard(self, title: str) -> Storyboard:
        """Return the chart, and a step for each bar."""
        self._headings()
        self._axis()
        holders = self._holders()
        bars = self._curve(self._own, "bar")
        others = self._curve(self._other, "ghost") if self._other is not None else {}
        self._phases(bars if self._own.forward < len(self._own.points) else others or bars)
        steps: list[StoryStep] = []
        lit: list[str] = []
        seen = 0  # points
        for bar, points in bars.items():
            before, seen = seen, seen + len(points)
            new = [id for id, begin in self._begins.items() if before <= begin < seen]
            boxes: dict[str, dict[str, Any]] = dict.fromkeys([*lit, *new], {"state": "idle"})
            spans = [f"{id}.{n}" for point in points for id in point.holders for n in holders.get(id, ())]
            lit = [bar, *[id for id in spans if self._begins.get(id, seen) < seen]]
            boxes |= {id: {"state": "running"} for id in lit}
            last = points[-1]
            caption = " ".join(point.sentence for point in points[-_TOLD:])
            caption += f" {len(points) - _TOLD} more events came before." if len(points) > _TOLD else ""
            cursor = asdict(last.source) if last.source else None
            steps.append(StoryStep(caption, last.phase, cursor, focus=bar, boxes=boxes))
        return Storyboard(Scene(title, self._boxes), steps, title, legend=LEGEND)

    def _add(self, id: str, kind: Any, place: tuple[float, float, float, float], title: str = "", **more: Any) -> None:
        self._boxes[id] = Box(id, kind, title, place=place, **more)

    def _x(self, ledger: Ledger, index: int) -> int:
        return _LEFT + (index + self._forward - ledger.forward) // self._bucket * self._pitch

    def _headings(self) -> None:
        if self._other is None:
            text = f"Held for backward: {_most_said(self._own)}"
            self._add("peak", "heading", (0, 0, _title(text), 24), text)
            if text := _besides_said(self._own):
                first, *more = textwrap.wrap(text, int(_RIGHT // CHARACTER) - 1)
                self._add("anyway", "text", (0, 24, _RIGHT, 20 + 16 * len(more)), first, lines=tuple(more), alt=text)
            return
        text = f"This run holds {_most_said(self._own)}{_left_said(self._own)}"
        self._add("peak", "heading", (22, 0, _title(text), 24), text)
        self._add("key", "bar", (4, 5, 12, 12), alt="Filled bars: this run")
        text = f"The other run holds {_most_said(self._other)}{_left_said(self._other)}"
        self._add("peak2", "heading", (22, 22, _title(text), 24), text)
        self._add("key2", "ghost", (4, 27, 12, 12), alt="Dashed bars: the other run")

    def _axis(self) -> None:
        for n, part in enumerate((1.0, 0.5, 0.0) if self._peak else (0.0,)):
            y = _TOP + _HIGH * (1 - part)
            label = bytes_said(self._peak * part)
            wide = width_of(label)
            self._add(f"y{n}", "tick", (_LEFT - 8 - wide, y - 9, wide, 18), label)
        if self._bucket > 1:
            label = f"each bar is the maximum of {self._bucket} events"
            self._add("bucket", "text", (_LEFT + self._width - width_of(label), 56, width_of(label) + 8, 18), label)
        self._add("plot", "frame", (_LEFT - 3, _TOP - 6, self._width + 5, _HIGH + 6))

    def _phases(self, bars: dict[str, list[Point]]) -> None:
        """Below the bars where forward and where backward are, with a line where one follows the other."""
        begun: list[tuple[float, str]] = []
        for id, points in bars.items():
            place = self._boxes[id].place
            if place and (not begun or begun[-1][1] != points[-1].phase):
                begun.append((place[0] - 1.0, points[-1].phase))
        # If one doesn't fit below its bars, those of backward get a separate row.
        rows = 1 + any(end - x < width_of(phase) + 2 for (x, phase), (end, _) in pairwise(begun))
        fits = all(end - x >= width_of(phase) + 2 for (x, phase), (end, _) in zip(begun, begun[rows:], strict=False))
        points = [point for several in bars.values() for point in several]
        if not fits or sum(one.phase != next.phase for one, next in pairwise(points)) >= len(begun):
            self._add("phase", "tick", (begun[0][0], _TOP + _HIGH + 6, width_of(_TURNS), 18), _TURNS)
            return
        for n, (x, phase) in enumerate(begun):
            if n:
                high = _HIGH + (12 if rows > 1 else 30)
                self._add(f"turn{n}", "cell", (x - 2.5, _TOP - 6, 1, high), alt=f"where {phase} begins")
            left, y = min(x + 2 * bool(n), _RIGHT - width_of(phase)), _TOP + _HIGH + 6 + 16 * (n % rows)
            self._add(f"phase{n}", "tick", (left, y, width_of(phase), 18), phase)

    def _curve(self, ledger: Ledger, kind: str) -> dict[str, list[Point]]:
        """Return a bar for the maximum held at each place: its id and its points."""
        columns: dict[int, list[tuple[int, Point]]] = {}
        for index, point in enumerate(ledger.points):
            columns.setdefault(self._x(ledger, index), []).append((index, point))
        bars: dict[str, list[Point]] = {}
        gap = 6 if self._pitch > 18 else 2 if self._pitch > 6 else min(1, self._pitch - _NARROWEST)
        for n, (x, column) in enumerate(columns.items(), 1):
            most = max(point.total for _, point in column)
            high = max(2.0, round(_HIGH * most / self._peak, 1)) if self._peak else 2.0
            last = column[-1][1]
            run = "the other run, " if kind == "ghost" else ""
            parts = "; ".join(f"{name}, {bytes_said(size)}" for name, size in last.largest)
            details = (
                Detail("Held after this", "text", f"{bytes_said(last.total)}{': ' * bool(parts)}{parts}"),
                Detail("What happened", "text", " ".join(point.sentence for _, point in column)),
            )
            id = f"{kind}{n}"
            # The text face has one curve; its heading gives the other's peak.
            alt = f"{run}{last.phase} {n}: {bytes_said(most)} held"
            place = (x + 1.0, _TOP + _HIGH - high, self._pitch - gap, high)
            self._add(id, kind, place, state="coming" if kind == "bar" else "idle", alt=alt, details=details)
            bars[id] = [point for _, point in column]
        return bars

    def _holders(self) -> dict[str, range]:
        """Rows of those that keep the most, then of what lives anyway, each with a bar for the time that it does."""
        there = list(self._own.holders.values())
        for_backward = self._in_rows([each for each in there if not each.anyway])
        anyway = self._in_rows([each for each in there if each.anyway])
        y = _TOP + _HIGH + 44
        self._add("who", "heading", (0, y, 300, 24), "Held by, and for how long")
        if not for_backward:
            self._add("nobody", "text", (0, y + 26, 300, 20), "Nothing: no tensor was saved.")
        y = self._rows("more", for_backward, _KEPT_ROWS, y + _ROW * (not for_backward))
        if (rows := sum(map(_most, for_backward))) != self._own.peak:
            y += _ROW
            text = f"The rows add up to {bytes_said(rows)}, more than the peak: not all reach their maximum at once."
            self._add("sum", "text", (0, y + 4, width_of(text), 20), text)
        if anyway:
            y += _SECTION
            text = _anyway_said(self._own.anyway, sum(map(_most, anyway)), len(anyway))
            self._add("lives", "heading", (0, y, _title(text), 24), text)
            self._rows("others", anyway, _ANYWAY_ROWS, y)
        return {holder.id: range(len(holder.spans)) for holder in there if f"{holder.id}.0" in self._boxes}

    def _in_rows(self, holders: list[Holder]) -> list[list[Holder]]:
        """Return holders in rows, the largest first: what one line makes in a loop's iterations shares a row."""
        rows: list[list[Holder]] = []
        last: dict[Any, list[Holder]] = {}
        for holder in holders:
            key = self._own.place_of(holder), holder.name, holder.source
            end = last[key][-1].spans[-1][1] if key in last else None
            if end is not None and end <= (holder.spans[0][0] or 0):
                last[key].append(holder)
            else:
                last[key] = [holder]
                rows.append(last[key])
        return sorted(rows, key=_most, reverse=True)

    def _rows(self, id: str, rows: list[list[Holder]], most: int, y: float) -> float:
        """Draw rows below `y`, with one `id` for the rest if there are too many; return where the last one is."""
        shown = rows[: most - (len(rows) > most)]
        names = told_apart([self._own.place_of(row[0]) for row in shown], _COLUMNS)
        for row in shown:
            y += _ROW
            name, size = names[self._own.place_of(row[0])], bytes_said(_most(row))
            self._add(f"{row[0].id}.name", "tick", (0, y + 4, width_of(name), 20), name)
            self._add(f"{row[0].id}.most", "tick", (_LEFT - 8 - width_of(size), y + 4, width_of(size), 20), size)
            for holder in row:
                self._spans(holder, y + 6)
        if left := len(rows) - len(shown):
            largest = _most(rows[len(shown)])
            each = f"each with at most {bytes_said(largest)}" if largest else "with nothing of their own"
            y += _ROW
            more = f"… and {left:,} more, {each}"
            self._add(id, "text", (0, y + 4, width_of(more), 20), more)
        return y

    def _spans(self, holder: Holder, y: float) -> None:
        """Add a bar for each period in which it holds something."""
        size, names = bytes_said(holder.most), ", ".join(holder.told)
        what = f": {names}" * bool(names)
        what += f"; needs {', '.join(holder.needed)}, held anyway" if holder.needed else ""
        place = self._own.place_of(holder)
        who = holder.name if place == holder.name else f"{place} ({holder.name})"
        details = [Detail("Saved", "text", f"{names}: {size}")] * bool(names)
        details += [Detail("Needed, held anyway", "text", ", ".join(holder.needed))] * bool(holder.needed)
        if holder.source is not None:
            line = f"{holder.source.file}, line {holder.source.line}: {holder.source.text}"
            details.append(Detail("Created at", "text", line))
        if any(each.startswith("ctx.") for each in (*holder.told, *holder.needed)):
            details.append(Detail("Never freed", "text", _ON_CTX))
        state: BoxState = "coming" if holder.told and not holder.anyway else "over"
        for n, (start, end) in enumerate(holder.spans):
            begin = self._x(self._own, start or 0)
            over = len(self._own.points) if end is None else end
            wide = max(self._pitch, self._x(self._own, over - 1) + self._pitch - begin)
            alt = f"{who} holds {size if holder.most else 'nothing of its own'} {_until(holder, end)}{what}"
            alt = f"{holder.name}: {size}, held anyway, {_until(holder, end)}" if holder.anyway else alt
            title = _first_words(names, int((wide - 10) // CHARACTER))
            self._begins |= {f"{holder.id}.{n}": start or 0} if state == "coming" else {}
            bar = (begin + 1.0, y, wide - 2.0, 16.0)
            self._add(f"{holder.id}.{n}", "bar", bar, title, state=state, alt=alt, details=tuple(details))


def _most(row: list[Holder]) -> int:
    return max(holder.most for holder in row)


def _first_words(text: str, room: int) -> str:
    """Return as many parts of a text, between commas, as a bar has room for: a part that is cut says nothing."""
    parts = clean(text).split(", ")
    forms = [", ".join(parts), *(f"{', '.join(parts[:count])} …" for count in range(len(parts) - 1, 0, -1))]
    return next((form for form in forms if columns(form) <= room), "")


def _until(holder: Holder, end: int | None) -> str:
    if end is None:
        return "to the end"
    if holder.anyway:
        return "needed until every node that reads it has run"
    if holder.taken_by:
        return f"until {holder.taken_by} takes over"
    if holder.gone:
        return "until freed"
    return "until it has run" if holder.id[0] == "n" else "for a while"


def _title(text: str) -> float:
    return columns(text) * TITLE_CHARACTER + 8


def _most_said(ledger: Ledger) -> str:
    """Return how much is held at the peak, and where that is."""
    if not ledger.peak:
        return "nothing"
    points = ledger.points
    highest = [n for n, point in enumerate(points) if point.total == ledger.peak]
    turns = [n for n, (one, next) in enumerate(pairwise(points)) if (one.phase, next.phase) == ("forward", "backward")]
    last = not set(turns).isdisjoint(highest)
    where = "at the end of forward" if last else f"in {points[highest[0]].phase}"
    return f"{bytes_said(ledger.peak)} at most, {where}"


def _left_said(ledger: Ledger) -> str:
    left = ledger.points[-1].total if ledger.points else 0
    return f"; {bytes_said(left)} {'is' if left == 1 else 'are'} left at the end" if left else ""


def _besides_said(ledger: Ledger) -> str:
    """Return what is left at the end, and what backward needs in addition."""
    left = _left_said(ledger)[2:]
    also = f"Backward also needs {bytes_said(ledger.anyway)} of parameters and inputs, which are held anyway."
    return " ".join([*[f"{left[:1].upper()}{left[1:]}."] * bool(left), *[also] * bool(ledger.anyway)])


def _anyway_said(needed: int, size: int, rows: int) -> str:
    """Return the heading of the rows held anyway, with their sum, which may be more than is `needed` at a time."""
    what = "parameter or input" if rows == 1 else "parameters and inputs"
    return f"Held anyway: {rows:,} {what}, {bytes_said(size)}{', not all at the same time' if size != needed else ''}"
