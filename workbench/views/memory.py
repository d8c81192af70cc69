"""Memory: the bytes held for the backward after each event, which node holds them for how long, and the peak."""

from __future__ import annotations

import math
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from ..scene.metric import CHARACTER, TITLE_CHARACTER, clean, columns, cut
from ..scene.model import Box, BoxState, Detail, Scene, Step
from ..scene.storyboard import Storyboard
from ..trace.timeline import Timeline
from .memory_ledger import Holder, Ledger, Point, bytes_said
from .player_steps import NOTHING

LEGEND = "A bar is what is held for the backward after an event; dashed is what lives anyway, pale is still to come."
_LEFT, _TOP, _HIGH = 236, 64, 200  # px: the room of the names, the curve's upper edge and its height
_WIDE, _MOST, _WIDEST, _NARROWEST = 540, 135, 34, 4  # px of the curve, its bars, and px of one of them
_COLUMNS = 20  # of a holder's name
_ROW, _ROWS = 24, 24  # px of a holder's line, and how many there are
_RIGHT = _LEFT + _WIDE + 12  # px: no label goes further, so that the picture fits a notebook
_APART, _TURNS = 12, "forward and backward take turns"  # px between the lines that part them, and what is said for less
_TOLD = 3  # events of a bar that its caption tells


def memory(trace: Timeline, against: Timeline | None = None) -> Storyboard:
    """A trace's memory; `against` another's, drawn over it so that both backwards begin at the same place."""
    own = Ledger(trace)
    other = Ledger(against) if against is not None else None
    title = "Memory held for the backward"
    if not own.points:
        return Storyboard(Scene(title), [Step(NOTHING)], title)
    return _Chart(own, other).storyboard(title)


class _Chart:
    """Places the bars; a bar stands for one point of the ledger, or for several where there are too many."""

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
        """The chart, and a step for each bar."""
        self._headings()
        self._axis()
        holders = self._holders()
        bars = self._curve(self._own, "bar")
        others = self._curve(self._other, "ghost") if self._other is not None else {}
        self._phases(bars if self._own.forward < len(self._own.points) else others or bars)
        steps: list[Step] = []
        lit: list[str] = []
        seen = 0  # points
        for bar, points in bars.items():
            before, seen = seen, seen + len(points)
            new = [id for id, begin in self._begins.items() if before <= begin < seen]
            boxes: dict[str, dict[str, Any]] = dict.fromkeys([*lit, *new], {"state": "idle"})
            spans = [f"{id}.{n}" for point in points for id in point.holders for n in holders.get(id, ())]
            lit = [bar, *[id for id in spans if self._begins.get(id, 0) < seen]]
            boxes |= {id: {"state": "running"} for id in lit}
            last = points[-1]
            caption = " ".join(point.sentence for point in points[-_TOLD:])
            caption += f" And {len(points) - _TOLD} more before that." if len(points) > _TOLD else ""
            cursor = asdict(last.source) if last.source else None
            steps.append(Step(caption, last.phase, cursor, focus=bar, boxes=boxes))
        return Storyboard(Scene(title, self._boxes), steps, title, legend=LEGEND)

    def _add(self, id: str, kind: Any, place: tuple[float, float, float, float], title: str = "", **more: Any) -> None:
        self._boxes[id] = Box(id, kind, title, place=place, **more)

    def _x(self, ledger: Ledger, index: int) -> int:
        return _LEFT + (index + self._forward - ledger.forward) // self._bucket * self._pitch

    def _headings(self) -> None:
        peak = _peak_said(self._own)
        if self._other is None:
            self._add("peak", "heading", (0, 0, _title(peak), 24), peak)
            if said := _anyway_said(self._own):
                self._add("anyway", "text", (0, 24, _wide(said) + 8, 20), said)
            return
        said = f"This run: {peak[:1].lower()}{peak[1:]}"
        self._add("peak", "heading", (22, 0, _title(said), 24), said)
        self._add("key", "bar", (4, 5, 12, 12), alt="Filled bars: this run")
        peak = _peak_said(self._other)
        said = f"The other: {peak[:1].lower()}{peak[1:]}"
        self._add("peak2", "heading", (22, 22, _title(said), 24), said)
        self._add("key2", "ghost", (4, 27, 12, 12), alt="Dashed bars: the other")

    def _axis(self) -> None:
        for n, part in enumerate((1.0, 0.5, 0.0) if self._peak else (0.0,)):
            y = _TOP + _HIGH * (1 - part)
            said = bytes_said(self._peak * part)
            wide = _wide(said)
            self._add(f"y{n}", "tick", (_LEFT - 8 - wide, y - 9, wide, 18), said)
        if self._bucket > 1:
            said = f"each bar is the most of {self._bucket} events"
            self._add("bucket", "text", (_LEFT + self._width - _wide(said), 40, _wide(said) + 8, 18), said)
        self._add("plot", "frame", (_LEFT - 3, _TOP - 6, self._width + 5, _HIGH + 6))

    def _phases(self, bars: dict[str, list[Point]]) -> None:
        """Below the bars where forward and where backward are, with a line where one follows the other."""
        begun: list[tuple[float, str]] = []
        for id, points in bars.items():
            if not begun or begun[-1][1] != points[-1].phase:
                begun.append((self._boxes[id].place[0] - 1.0, points[-1].phase))
        ends = [x for x, _ in begun[1:]]
        if any(end - start < _APART for start, end in pairwise(ends)):
            self._add("phase", "tick", (begun[0][0], _TOP + _HIGH + 6, _wide(_TURNS), 18), _TURNS)
            return
        for n, ((x, phase), end) in enumerate(zip(begun, [*ends, math.inf], strict=True)):
            if n:
                self._add(f"turn{n}", "cell", (x - 2.5, _TOP - 6, 1, _HIGH + 30), alt=f"where {phase} begins")
            if end - x >= _wide(phase) + 2:
                left = min(x + 2 * bool(n), _RIGHT - _wide(phase))
                self._add(f"phase{n}", "tick", (left, _TOP + _HIGH + 6, _wide(phase), 18), phase)

    def _curve(self, ledger: Ledger, kind: str) -> dict[str, list[Point]]:
        """A bar for the most that is held at its place: its id and its points."""
        columns: dict[int, list[tuple[int, Point]]] = {}
        for index, point in enumerate(ledger.points):
            columns.setdefault(self._x(ledger, index), []).append((index, point))
        bars: dict[str, list[Point]] = {}
        gap = 6 if self._pitch > 18 else 2 if self._pitch > 6 else 1
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
            # The text face has one curve; the other's peak is told in its heading.
            alt = f"{run}{last.phase} {n}: {bytes_said(most)} held"
            place = (x + 1.0, _TOP + _HIGH - high, self._pitch - gap, high)
            self._add(id, kind, place, state="coming" if kind == "bar" else "idle", alt=alt, details=details)
            bars[id] = [point for _, point in column]
            part = max(point.anyway for _, point in column if point.total == most)
            if kind == "bar" and part:  # its lower part is what lives anyway
                high = round(_HIGH * part / self._peak, 1)
                place = (place[0], _TOP + _HIGH - high, place[2], high)
                self._add(f"anyway{n}", "cell", place, state="over", alt=f"{bytes_said(part)} of that live anyway")
        return bars

    def _holders(self) -> dict[str, range]:
        """A line for each of those that hold the most, with a bar for the time that it does."""
        there = sorted(self._own.holders.values(), key=lambda holder: not holder.anyway)
        shown = sorted(there, key=lambda holder: -holder.most)[: _ROWS - (len(there) > _ROWS)]
        y = _TOP + _HIGH + 44
        self._add("who", "heading", (0, y, 300, 24), "Who holds it, and for how long")
        if not there:
            self._add("nobody", "text", (0, y + 26, 600, 20), "Nobody: no tensor was kept.")
        drawn: dict[str, range] = {}
        for holder in [each for each in there if each in shown]:
            y += _ROW
            self._row(holder, y + 4)
            drawn[holder.id] = range(len(holder.spans))
        if left := len(there) - len(shown):
            more = f"… and {left} more, each with at most {bytes_said(shown[-1].most)}"
            y += _ROW
            self._add("more", "text", (0, y + 4, 600, 20), more)
        if (rows := sum(holder.most for holder in there)) != self._own.peak:
            said = f"The rows add up to {bytes_said(rows)}, as not all hold their most at the same time."
            self._add("sum", "text", (0, y + _ROW + 4, _wide(said), 20), said)
        return drawn

    def _row(self, holder: Holder, y: float) -> None:
        said = bytes_said(holder.most)
        name = cut(clean(holder.name), _COLUMNS)
        self._add(f"{holder.id}.name", "tick", (0, y, _wide(name), 20), name)
        self._add(f"{holder.id}.most", "tick", (_LEFT - 8 - _wide(said), y, _wide(said), 20), said)
        names = ", ".join(holder.told) or "a parameter or an input, which lives anyway"
        for n, (start, end) in enumerate(holder.spans):
            begin = self._x(self._own, start or 0)
            over = len(self._own.points) if end is None else end
            wide = max(self._pitch, self._x(self._own, over - 1) + self._pitch - begin)
            own = said if holder.most else "nothing of its own"
            alt = f"{holder.name}{' is' if holder.anyway else ' holds'} {names}: {own}, {_until(holder, end)}"
            details = [Detail("Kept", "text", f"{names}: {bytes_said(holder.most)}")]
            if holder.source is not None:
                line = f"{holder.source.file}, line {holder.source.line}: {holder.source.text}"
                details.append(Detail("Made at", "text", line))
            if any(name.startswith("ctx.") for name in holder.told):
                details.append(Detail("Never freed", "text", ON_CTX))
            place = (begin + 1.0, y + 2.0, wide - 2.0, 16.0)
            room = int((place[2] - 8) // CHARACTER)
            title = cut(clean("lives anyway" if holder.anyway else names), room) if room > 3 else ""
            state: BoxState = "over" if holder.anyway else "coming"
            self._begins |= {} if holder.anyway else {f"{holder.id}.{n}": start or 0}
            self._add(f"{holder.id}.{n}", "bar", place, title, state=state, alt=alt, details=tuple(details))


def _until(holder: Holder, end: int | None) -> str:
    if end is None:
        return "to the end"
    if holder.anyway:
        return "kept for a backward until all who need it have run"
    if holder.taken_by:
        return f"until {holder.taken_by} takes it over"
    if holder.gone:
        return "until it is gone"
    return "until it has run" if holder.id[0] == "n" else "for a while"


def _wide(text: str) -> float:
    """The px of a text, so that it begins or ends where it is told."""
    return columns(text) * CHARACTER + 6


def _title(text: str) -> float:
    return columns(text) * TITLE_CHARACTER + 8


ON_CTX = "What is kept as an attribute of ctx is not given back when the node has run, but only with the whole graph."


def _anyway_said(ledger: Ledger) -> str:
    """How much of the peak is the user's, and whose."""
    highest = next(point for point in ledger.points if point.total == ledger.peak)
    if not highest.anyway:
        return ""
    left = ledger.peak - highest.anyway
    rest = f"{bytes_said(left)} {_is(left)}" if left else "nothing is"
    lives = f"{bytes_said(highest.anyway)} of it {_is(highest.anyway)} parameters and inputs, alive anyway"
    return f"{lives}; {rest} kept only for the backward"


def _is(count: float) -> str:
    return "is" if count == 1 else "are"


def _peak_said(ledger: Ledger) -> str:
    if not ledger.peak:
        return "Nothing is ever held"
    points = ledger.points
    highest = [n for n, point in enumerate(points) if point.total == ledger.peak]
    turns = [n for n, (one, next) in enumerate(pairwise(points)) if (one.phase, next.phase) == ("forward", "backward")]
    last = not set(turns).isdisjoint(highest)
    end = "" if not points[-1].total else f"; {bytes_said(points[-1].total)} left at the end"
    return f"Peak {bytes_said(ledger.peak)}, {'where forward ends' if last else f'in {points[highest[0]].phase}'}{end}"
