"""Memory: the bytes held for the backward after each event, which node holds them for how long, and the peak.

`Ledger` counts them event by event; `memory` draws that.
"""

from __future__ import annotations

import math
import re
import textwrap
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

from ..scene.labels import CHARACTER, TITLE_CHARACTER, clean, columns, cut, width_of
from ..scene.model import Box, BoxState, Detail, Scene, Step
from ..scene.storyboard import Storyboard
from ..trace.frame import Frame
from ..trace.records import (
    BackwardStarted,
    CheckpointDropped,
    CheckpointKept,
    NodeCreated,
    NodeFinished,
    NodesGone,
    SavedFreed,
    as_kept,
    checkpoint_said,
    tensor_of,
)
from ..trace.schema import Attribute, Phase, Record, Saved, SourceLine
from ..trace.timeline import Timeline
from ..trace.values import Value, series
from .player_steps import NOTHING

LEGEND = "A bar is what is held for the backward after an event; dashed is what lives anyway, pale is still to come."
_RIGHT = 558  # px: nothing goes further, so that the picture fits a notebook beside JupyterLab's files at 1024 x 768
_LEFT, _TOP, _HIGH = 224, 82, 140  # px: the room of the names, the curve's upper edge and its height
_WIDE = _RIGHT - _LEFT - 6  # px of the curve
_WIDEST, _NARROWEST = 34, 3  # px of a bar
_MOST = _WIDE // _NARROWEST  # bars
_COLUMNS = 18  # of a holder's name
_ROW, _ROWS = 20, 24  # px of a holder's line, and how many there are
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
                first, *more = textwrap.wrap(said, int(_RIGHT // CHARACTER) - 1)
                self._add("anyway", "text", (0, 24, _RIGHT, 20 + 16 * len(more)), first, lines=tuple(more), alt=said)
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
            wide = width_of(said)
            self._add(f"y{n}", "tick", (_LEFT - 8 - wide, y - 9, wide, 18), said)
        if self._bucket > 1:
            said = f"each bar is the most of {self._bucket} events"
            self._add("bucket", "text", (_LEFT + self._width - width_of(said), 56, width_of(said) + 8, 18), said)
        self._add("plot", "frame", (_LEFT - 3, _TOP - 6, self._width + 5, _HIGH + 6))

    def _phases(self, bars: dict[str, list[Point]]) -> None:
        """Below the bars where forward and where backward are, with a line where one follows the other."""
        begun: list[tuple[float, str]] = []
        for id, points in bars.items():
            place = self._boxes[id].place
            if place and (not begun or begun[-1][1] != points[-1].phase):
                begun.append((place[0] - 1.0, points[-1].phase))
        ends = [x for x, _ in begun[1:]]
        if any(end - start < _APART for start, end in pairwise(ends)):
            self._add("phase", "tick", (begun[0][0], _TOP + _HIGH + 6, width_of(_TURNS), 18), _TURNS)
            return
        # Where one does not fit below its bars, those of backward stand in a row of their own.
        rows = 1 + any(end - x < width_of(phase) + 2 for (x, phase), end in zip(begun, ends, strict=False))
        for n, (x, phase) in enumerate(begun):
            if n:
                high = _HIGH + (12 if rows > 1 else 30)
                self._add(f"turn{n}", "cell", (x - 2.5, _TOP - 6, 1, high), alt=f"where {phase} begins")
            if n + rows >= len(begun) or begun[n + rows][0] - x >= width_of(phase) + 2:
                left, y = min(x + 2 * bool(n), _RIGHT - width_of(phase)), _TOP + _HIGH + 6 + 16 * (n % rows)
                self._add(f"phase{n}", "tick", (left, y, width_of(phase), 18), phase)

    def _curve(self, ledger: Ledger, kind: str) -> dict[str, list[Point]]:
        """A bar for the most that is held at its place: its id and its points."""
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
            self._add("nobody", "text", (0, y + 26, 300, 20), "Nobody: no tensor was kept.")
        drawn: dict[str, range] = {}
        for holder in [each for each in there if each in shown]:
            y += _ROW
            self._row(holder, y + 4)
            drawn[holder.id] = range(len(holder.spans))
        if left := len(there) - len(shown):
            more = f"… and {left} more, each with at most {bytes_said(shown[-1].most)}"
            y += _ROW
            self._add("more", "text", (0, y + 4, width_of(more), 20), more)
        if (rows := sum(holder.most for holder in there)) != self._own.peak:
            said = f"The rows add up to {bytes_said(rows)}, as not all hold their most at the same time."
            self._add("sum", "text", (0, y + _ROW + 4, width_of(said), 20), said)
        return drawn

    def _row(self, holder: Holder, y: float) -> None:
        said = bytes_said(holder.most)
        name = cut(clean(holder.name), _COLUMNS)
        self._add(f"{holder.id}.name", "tick", (0, y, width_of(name), 20), name)
        self._add(f"{holder.id}.most", "tick", (_LEFT - 8 - width_of(said), y, width_of(said), 20), said)
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
            title = _first_words("lives anyway" if holder.anyway else names, room)
            state: BoxState = "over" if holder.anyway else "coming"
            self._begins |= {} if holder.anyway else {f"{holder.id}.{n}": start or 0}
            self._add(f"{holder.id}.{n}", "bar", place, title, state=state, alt=alt, details=tuple(details))


def _first_words(text: str, room: int) -> str:
    """So many of the parts of a text, between commas, as a bar has room for: a part that is cut says nothing."""
    parts = clean(text).split(", ")
    forms = [", ".join(parts), *(f"{', '.join(parts[:count])} …" for count in range(len(parts) - 1, 0, -1))]
    return next((form for form in forms if columns(form) <= room), "")


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


_MOST_TOLD = 200


def bytes_of(value: Value) -> int:
    """The bytes of an array, by the bits in its dtype's name: "bfloat16", "complex64 (absolute values)"."""
    return math.prod(value.shape) * _width(value.dtype)


@lru_cache(100)
def _width(dtype: str) -> int:
    bits = re.search(r"\d+", dtype)
    return 1 if bits is None else max(1, int(bits[0]) // 8)


def bytes_said(count: float) -> str:
    """An amount of memory with 4 significant digits: `36 bytes`, `3.906 KiB`."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count:.4g} {'byte' if count == 1 else 'bytes'}"


@dataclass(slots=True)
class Held:
    """One tensor that a holder keeps: `memory` is the same where tensors share it, and counts once.

    A parameter or an input lives `anyway`: it is the user's, and the backward does not give it back.
    """

    name: str
    memory: str
    size: int
    freed: bool = True  # whether the backward gives it back
    anyway: bool = False


@dataclass(slots=True)
class Holder:
    """A node or a checkpoint with what it keeps, and the points from and to which it does; or what lives anyway."""

    id: str
    name: str
    source: SourceLine | None
    kept: dict[str, Held] = field(default_factory=dict)
    own: dict[str, int] = field(default_factory=dict)  # memory -> the bytes that count here and nowhere else
    spans: list[list[int | None]] = field(default_factory=list)  # from, to; None: to the end
    most: int = 0
    told: list[str] = field(default_factory=list)  # the names of all that was ever kept
    taken_by: str | None = None  # the node that took all over, which a write through a view made
    gone: bool = False  # without having run
    anyway: bool = False


@dataclass(slots=True)
class Point:
    """The state after an event that could change what is held."""

    phase: Phase
    total: int
    anyway: int  # of that, what is the user's
    sentence: str
    source: SourceLine | None
    holders: tuple[str, ...]  # whose part changed
    largest: tuple[tuple[str, int], ...]


def owner_of(frame: Frame, tensor: str) -> tuple[str, int, bool]:
    """The tensor whose memory another one shows, its bytes, and whether it lives anyway: a leaf, or held by a name."""
    owner = frame.owner(tensor)
    state = frame.tensors[owner]
    return owner, bytes_of(state.value), state.node is None and (state.requires_grad or state.name is not None)


def kept_of(frame: Frame, place: str, saved: Saved, value: Value | None) -> tuple[str, int, bool]:
    """The storage that a saved tensor keeps, its bytes, and whether it lives anyway; else told by `place`."""
    if saved.storage is not None:
        id, size = saved.storage.id, saved.storage.size
        owner, _, anyway = owner_of(frame, id) if id in frame.tensors else (id, 0, False)
        return owner, size, anyway
    if saved.tensor is not None:
        return owner_of(frame, saved.tensor)
    return place, bytes_of(value) if value else 0, False


class Ledger:
    """Goes through the events of a trace and keeps the account."""

    def __init__(self, trace: Timeline) -> None:
        self.points: list[Point] = []
        self.holders: dict[str, Holder] = {}
        self._frame = Frame()
        self._holding: dict[str, Holder] = {}  # those that hold something now
        self._users: dict[str, list[str]] = {}  # memory -> who holds it
        self._total = self._anyway = 0
        self._phase: Phase = "forward"
        self._found: list[str] = []
        self._dropped: list[CheckpointDropped] = []  # what a node that runs has taken from checkpoints
        events, begin, phases = trace.events, 0, trace.phases
        phases += phases[-1:] or ["forward"]  # of what is not part of a step any more
        for end, phase in zip((*trace.steps, len(events)), phases, strict=True):
            for event in events[begin:end]:
                event.apply(self._frame)
                self._enter(event, phase)
            begin = end

    @cached_property
    def peak(self) -> int:
        """The most that was held."""
        return max((point.total for point in self.points), default=0)

    @cached_property
    def forward(self) -> int:
        """How many points there are before the first backward."""
        return next((n for n, point in enumerate(self.points) if point.phase == "backward"), len(self.points))

    def _enter(self, event: Record, phase: Phase) -> None:
        """Account for an event of a step of that phase; what is freed before a step belongs to the step before."""
        if isinstance(event, BackwardStarted):
            self._settle()
        if not event.quiet or isinstance(event, CheckpointKept):
            self._phase = phase
        if isinstance(event, NodeCreated):
            self._created(event)
        elif isinstance(event, NodeFinished):
            self._ran(event.node)
        elif isinstance(event, SavedFreed):
            self._freed(event.node)
        elif isinstance(event, NodesGone):
            self._lost(event)
        elif isinstance(event, CheckpointKept):
            self._kept(event)
        elif isinstance(event, CheckpointDropped):
            self._dropped.append(event)
            if event.name is None:
                self._settle("A checkpoint is over and lets go of what it kept")

    def _created(self, made: NodeCreated) -> None:
        if not made.found:
            self._settle()
        if made.runs is not None:  # the node of a write through a view holds what that kept, which never runs itself
            self._let_go(made.runs)
            if made.runs in self.holders:
                self.holders[made.runs].taken_by = self._frame.called(made.node)
        before = self._total
        kept = [self._held(made.node, index, saved) for index, saved in enumerate(made.saved)]
        kept += [held for each in made.attributes if (held := self._on_ctx(made.node, each)) is not None]
        self._hold(made.node, made.name, made.source, kept)
        if made.found:
            self._found += [made.node] if made.runs is None else []
            return
        names = series(list(dict.fromkeys(held.name for held in kept)))
        self._point(f"{made.name} joins the graph and keeps {names or 'nothing'}", before, made.node)

    def _held(self, holder: str, index: int | str, saved: Saved) -> Held:
        known = tensor_of(saved)
        name = saved.name.replace("saved_tensors", "saved")
        memory, size, anyway = kept_of(self._frame, f"{holder}.{index}", saved, saved.value)
        if saved.tensor is not None:
            return Held(self._called(memory, saved.tensor), memory, size, anyway=anyway)
        name = self._frame.called(known) if known else name
        return Held(as_kept(saved, name), memory, size, anyway=anyway)

    def _called(self, memory: str, tensor: str) -> str:
        """What a tensor is called that is held: as the one that owns its memory, if that has a name."""
        named = memory in self._frame.tensors and self._frame.variable(memory)
        return self._frame.called(memory if named else tensor)

    def _on_ctx(self, node: str, each: Attribute) -> Held | None:
        name = f"ctx.{each.name}"
        if each.tensor is not None:
            memory, size, anyway = owner_of(self._frame, each.tensor)
            return Held(name, memory, size, freed=False, anyway=anyway)
        return Held(name, f"{node}.{name}", bytes_of(each.value), freed=False) if each.value else None

    def _hold(self, id: str, name: str, source: SourceLine | None, kept: list[Held]) -> None:
        if not kept:
            return
        holder = self.holders.setdefault(id, Holder(id, name, source))
        if not holder.kept:
            holder.spans.append([len(self.points), None])
            self._holding[id] = holder
        for held in kept:
            key = f"{held.name}.{len(holder.kept)}" if held.name in holder.kept else held.name
            holder.kept[key] = held
            users = self._users.setdefault(held.memory, [])
            users.append(id)
            called = held.name if not held.name.isdigit() else "what was computed again"
            if held.anyway:
                self._have(held, len(users) == 1)
                called += ", which lives anyway"
            elif len(users) == 1:
                holder.own[held.memory] = held.size
            elif held.memory not in holder.own:
                called += ", which is counted above"
            self._total += held.size * (len(users) == 1)
            if called not in holder.told:
                holder.told.append(called)
        holder.most = max(holder.most, sum(holder.own.values()))

    def _have(self, held: Held, begins: bool) -> None:
        """Somebody holds what lives anyway."""
        name = self._frame.called(held.memory)
        row = self.holders.setdefault(held.memory, Holder(held.memory, name, None, most=held.size, anyway=True))
        if begins:
            self._anyway += held.size
            row.own[held.memory] = held.size
            row.spans.append([len(self.points), None])

    def _let_go(self, id: str, name: str | None = None, everything: bool = False) -> None:
        holder = self._holding.get(id)  # a trace may name what holds nothing
        if holder is None:
            return
        gone = [key for key, held in holder.kept.items() if (held.freed or everything) and name in (None, key)]
        for held in [holder.kept.pop(key) for key in gone]:
            users = self._users[held.memory]
            users.remove(id)
            if held.anyway and not users:
                self._anyway -= self.holders[held.memory].own.pop(held.memory)
                self._end(self.holders[held.memory])
            elif held.memory in holder.own and id not in users:
                size = holder.own.pop(held.memory)
                if users:  # it counts with the next who holds it
                    other = self.holders[users[0]]
                    other.own[held.memory] = size
                    other.most = max(other.most, sum(other.own.values()))
            self._total -= held.size * (not users)
        if not holder.kept and holder.spans and holder.spans[-1][1] is None:
            self._end(holder)
            del self._holding[id]

    def _end(self, holder: Holder) -> None:
        holder.spans[-1][1] = len(self.points)

    def _lost(self, event: NodesGone) -> None:
        """Nodes that are gone hold nothing."""
        before = self._total
        holding = [node for node in event.nodes if node in self.holders and self.holders[node].kept]
        for node in holding:
            self._let_go(node, everything=True)
            self.holders[node].gone = True
        if holding:
            self._point(event.sentence(self._frame), before, *holding)

    def _ran(self, node: str) -> None:
        before = self._total
        changed = self._drop()
        kept = "and keeps what it saved" if node in self.holders else "and had nothing to free"
        self._point(f"{self._frame.called(node)} has run {kept}", before, node, *changed)

    def _freed(self, node: str) -> None:
        """What a node frees belongs to the point of its run."""
        before, last = self._total, self.points[-1] if self.points else None
        if last is not None and last.holders[:1] == (node,):
            self.points.pop()
            self._let_go(node)
            for id in last.holders:
                for span in self.holders[id].spans if id in self.holders else ():
                    span[1] = span[1] and min(span[1], len(self.points))
            before = self.points[-1].total if self.points else 0
            self._point(f"{self._frame.called(node)} has run and frees what it had saved", before, *last.holders)
        else:
            self._let_go(node)
            self._point(f"{self._frame.called(node)} frees what it had saved", before, node)

    def _kept(self, event: CheckpointKept) -> None:
        self._settle()
        before = self._total
        id = event.checkpoint
        kept = []
        for saved in event.saved:
            held = self._held(id, f"{saved.name}.{len(self.points)}", saved)
            held.name = saved.name if event.repeated else held.name
            kept.append(held)
        self._hold(id, checkpoint_said(id), None, kept)
        what = event.sentence(self._frame) + " and keeps one more tensor" * event.repeated
        self._point(what[:1].upper() + what[1:], before, id)

    def _drop(self) -> list[str]:
        changed = []
        for event in self._dropped:
            self._let_go(event.checkpoint, event.name)
            changed.append(event.checkpoint)
        self._dropped = []
        return changed

    def _settle(self, sentence: str = "") -> None:
        """What was there before anybody listened, or was dropped outside of a node's run, gets a point of its own."""
        before = self._total
        changed = self._drop()
        if self._found:
            count = len(self._found)
            nodes = "1 node was" if count == 1 else f"{count} nodes were"
            self._found = []
            self._point(f"{nodes} there before the recording", 0, *changed)
        elif sentence and self._total != before:
            self._point(sentence, before, *changed)

    def _point(self, sentence: str, before: int, *holders: str) -> None:
        more = self._total - before
        change = f"{bytes_said(abs(more))} {'more' if more > 0 else 'less'}, " if more else ""
        still = "" if more else "still "
        sentence = f"{sentence}: {change}{still}{bytes_said(self._total)} held."
        node = self._frame.nodes.get(holders[0]) if holders else None
        # All who hold something are asked at every point: of a large graph that would be too much.
        told = self._holding.values() if len(self._holding) <= _MOST_TOLD else ()
        if sum(len(holder.kept) for holder in told) > 4 * _MOST_TOLD:
            told = ()
        parts = {f"{holder.name}: {key}": held.size for holder in told for key, held in holder.kept.items()}
        largest = sorted(parts.items(), key=lambda part: -part[1])[:8]
        source = node.made.source if node else None
        self.points.append(Point(self._phase, self._total, self._anyway, sentence, source, holders, tuple(largest)))
