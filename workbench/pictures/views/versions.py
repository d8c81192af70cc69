"""Versions: a line for every storage with its writes, and with the saves and reads of its tensors.

A write that overwrote a saved tensor is joined to the read that failed. `Histories` follows each storage through a
trace; `versions` draws that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..scene.metric import LINE, clean, cut, width_of
from ..scene.model import Arrow, Box, Detail, Scene, StoryStep
from ..scene.storyboard import Storyboard
from ..trace.facts import SourceLine
from ..trace.timeline import Timeline
from .value_display import sentence_of
from .version_history import Histories, Mark, Memory, Moment, line_said

LEGEND = (
    "Rows are tensors, columns are lines of code; each write makes a new version, and backward needs the saved one."
)
_LEFT = 236  # px: the room of the names
_TOP = 52  # px above the first row
_MARK = 68  # px: the least width of a mark
_BETWEEN = 10  # px from a mark to the next
_HIGH = 22  # px of a mark
_COLUMNS = 30  # columns of text of a name
_MARGIN = 6  # px before a column at which another phase begins
_FAILING = 74  # px of a row in which an arrow leads from a write to a read
_CALM = 40  # px of another row
_GAP = 6  # px between two rows
_MEMORIES = 40  # rows that are looked at
_ROOM = 450  # px that all rows have together, with the space above them
# Where there are too many, at each end are shown:
_ENDS = 5  # columns
_TOLD = 8  # moments in one column
_FAILURES = 3  # reads that fail, which have their columns in any case
_MARKS = 16  # of a row's history that are shown
_SENTENCES = 3  # of a mark that stands for several
NOTHING = "No tensor was saved for backward, and no tensor of a graph was modified in place."
_CURE = "Create a new tensor instead of writing into this one, write before it is saved, or save a clone of it."


def versions(trace: Timeline) -> Storyboard:
    """Return the timeline of every storage that was written or saved."""
    histories = Histories(trace.events)
    title = "Versions"
    if not histories.memories:
        return Storyboard(Scene(title), [StoryStep(histories.unwritable() or NOTHING)], title)
    return _VersionChart(histories).storyboard(title)


@dataclass(slots=True)
class _Chip:
    """What is drawn of a row in one column: all its marks there, which have the same words."""

    id: str
    column: int
    marks: list[Mark]


class _VersionChart:
    """Places the rows and the marks on them.

    A column is one line of the program while it runs, or as much of that as gives each row no more than one mark.
    """

    def __init__(self, histories: Histories) -> None:
        self._moments = histories.moments
        rows = _folded(histories.memories.values(), self._made_alike)
        looked_at = {row.id for row in _ranked(rows)[:_MEMORIES]}
        self._shown = [row for row in rows if row.id in looked_at]
        self._column = self._columns()
        if sum(_tall(row) + _GAP for row in self._shown) > _ROOM - _TOP:
            self._shown = _folded(self._shown, self._looking_alike)
        self._shown = _fitting(self._shown)
        self._chips = [self._chips_of(row) for row in self._shown]
        kept = self._kept()
        self._chips = [[chip for chip in chips if chip.column in kept] for chips in self._chips]
        self._shown = [row for row, chips in zip(self._shown, self._chips, strict=True) if chips]
        self._chips = [chips for chips in self._chips if chips]
        shown = {id for row in self._shown for id in row.ids}
        self._hidden = [row for row in histories.memories.values() if row.id not in shown]
        self._told = self._moments_of(kept)
        self._mark = max(_MARK, *[width_of(_title(chip.marks[0])) + 4 for chips in self._chips for chip in chips])
        self._places: dict[int, float] = {}  # column -> px
        self._gaps: dict[int, float] = {}  # column -> where an ellipsis stands before it
        self._width = self._spread()
        self._boxes: dict[str, Box] = {}
        self._arrows: dict[str, Arrow] = {}
        self._at: dict[int, list[str]] = {}  # moment -> its marks
        self._coming: dict[int, list[str]] = {}  # moment -> what is there from then on
        self._failing: dict[int, list[str]] = {}  # moment -> the marks that are wrong from then on

    def _made_alike(self, memory: Memory) -> object:
        """Return what storages in one row have in common: a line makes them again whenever it runs."""
        if memory.failed or memory.written:
            return memory.id
        lines = {(mark.kind, mark.version, _place(self._moments[mark.moment].source)) for mark in memory.marks}
        return memory.name, memory.kind, tuple(memory.others), frozenset(lines)

    def _looking_alike(self, memory: Memory) -> object:
        """Return the same for those with equal words in equal columns."""
        if memory.failed:
            return memory.id
        return tuple(dict.fromkeys((self._column[mark.moment], _title(mark)) for mark in memory.marks))

    def _columns(self) -> dict[int, int]:
        """Return the column of each moment."""
        marks: dict[int, list[tuple[str, str]]] = {}  # by moment the row and the words of each
        for row in self._shown:
            for mark in row.marks:
                marks.setdefault(mark.moment, []).append((row.id, _title(mark)))
        columns: dict[int, int] = {}
        line: object = None
        words: dict[str, str] = {}
        for moment, there in sorted(marks.items()):
            now = self._moments[moment].phase, _place(self._moments[moment].source)
            if now != line or any(words.get(row, title) != title for row, title in there):
                line, words = now, {}
                number = columns[max(columns)] + 1 if columns else 0
            columns[moment] = number
            words |= dict(there)
        return columns

    def _chips_of(self, row: Memory) -> list[_Chip]:
        chips: dict[int, _Chip] = {}
        for n, mark in enumerate(row.marks):
            column = self._column[mark.moment]
            chips.setdefault(column, _Chip(f"{row.id}.{n}", column, [])).marks.append(mark)
        return list(chips.values())

    def _kept(self) -> set[int]:
        """Return the columns to show: those at the ends, and those of a failure with what was saved and the write."""
        columns = sorted({chip.column for chips in self._chips for chip in chips})
        shown = set(columns[:_ENDS] + columns[-_ENDS:])
        for row in self._shown:
            for mark in [mark for mark in row.marks if mark.cause][:_FAILURES]:
                saves = [each for each in row.marks if (each.kind, each.version) == ("save", mark.version)]
                shown |= {self._column[each.moment] for each in (mark, mark.cause, *saves[:1]) if each}
        return shown

    def _moments_of(self, kept: Collection[int]) -> dict[int, list[int]]:
        """Return, by column, the moments that are steps: those at its ends, and those of a failure."""
        found: dict[int, list[int]] = {}
        marks = sorted((mark.moment, bool(mark.cause)) for row in self._chips for chip in row for mark in chip.marks)
        for moment, _ in marks:
            if self._column[moment] in kept:
                found.setdefault(self._column[moment], []).append(moment)
        failing = {moment for moment, failed in marks if failed}
        for column, several in found.items():
            several = list(dict.fromkeys(several))
            chosen = {*several[:_TOLD], *several[-_TOLD:], *failing}
            found[column] = [moment for moment in several if moment in chosen]
        return found

    def _spread(self) -> float:
        """Give each column its place; returns the width of all."""
        x, before, phase, begun, turns = float(_LEFT), -1, "", -1.0, self._turns()
        for column, moments in self._told.items():
            if column in turns:  # each phase has room for its name
                x = max(x, begun + width_of(phase) + 2 * _MARGIN) if phase else x
                begun = x
            if column > before + 1:
                self._gaps[column] = x
                x, begun = x + _MARK / 2, x + _MARK / 2
            phase = self._moments[moments[0]].phase
            self._places[column] = x
            x, before = x + self._mark + _BETWEEN, column
        callouts = [self._x(m.cause.moment) + width_of(_callout(m.cause, self._moments)) + 20 for m in self._failed()]
        return max(x, begun + width_of(phase), *callouts)

    def storyboard(self, title: str) -> Storyboard:
        """Return the chart, and a step for each moment."""
        self._head()
        y: float = _TOP
        tops: list[float] = []
        for row, chips in zip(self._shown, self._chips, strict=True):
            tops.append(y)
            y = self._row(row, chips, y) + _GAP
        if self._hidden:
            never = "" if any(memory.written for memory in self._hidden) else ", none of which was written"
            count = len(self._hidden)
            self._add("hidden", "text", (0, y, 500, 20), f"… and {count:,} more {_storages(count)}{never}")
        for row, top in zip(self._shown, tops, strict=True):  # above the marks, which move behind them
            self._name(row, top)
        steps: list[StoryStep] = []
        lit: list[str] = []
        for moment in self._moments_told:
            facts = self._moments[moment]
            boxes: dict[str, dict[str, Any]] = {id: {"state": "idle"} for id in lit}
            boxes |= {id: {"state": "idle"} for id in self._coming.get(moment, ())}
            here, failed = self._at[moment], self._failing.get(moment, [])
            lit = [id for id in here if id not in failed]
            boxes |= {id: {"state": "running"} for id in lit} | {id: {"state": "error"} for id in failed}
            cursor = asdict(facts.source) if facts.source else None
            step = StoryStep(sentence_of("; ".join(facts.sentences)), facts.phase, cursor, focus=here[0], boxes=boxes)
            step.arrows = {id: {"state": "idle"} for id in here if id in self._arrows}
            steps.append(step)
        scene, calm = Scene(title, self._boxes, self._arrows), StoryStep(steps[-1].caption)
        calm.boxes = {id: {"state": "idle"} for id in lit}
        still = Storyboard(scene, [*steps, calm], title, start=len(steps))
        # It opens where all of it is there: a timeline is read as a whole.
        return Storyboard(scene, steps, title, start=len(steps) - 1, still=still, legend=LEGEND)

    @property
    def _moments_told(self) -> list[int]:
        return [moment for moments in self._told.values() for moment in moments]

    def _add(
        self,
        id: str,
        kind: Any,
        place: tuple[float, float, float, float],
        title: str = "",
        moment: int | None = None,
        **more: Any,
    ) -> None:
        """Add a box that is there from the beginning, or from a moment on."""
        self._boxes[id] = Box(id, kind, title, place=place, state="idle" if moment is None else "future", **more)
        if moment is not None:
            self._coming.setdefault(moment, []).append(id)

    def _x(self, moment: int) -> float:
        return self._places[self._column[moment]]

    def _failed(self) -> list[Any]:
        return [mark for chips in self._chips for chip in chips for mark in chip.marks if mark.cause]

    def _turns(self) -> list[int]:
        """Return the columns with a phase name above them: where another begins, or where an omission ends."""
        turns: list[int] = []
        last, before = "", -1
        for column, moments in self._told.items():
            phase = self._moments[moments[0]].phase
            turns += [column] if phase != last or column > before + 1 else []
            last, before = phase, column
        return turns

    def _head(self) -> None:
        self._add("line", "tick", (_LEFT - width_of("line") - 8, _TOP - 26, width_of("line"), 20), "line")
        for column, moments in self._told.items():
            told, begin = self._moments[moments[0]], moments[0]
            number = str(told.source.line) if told.source else "–"
            self._add(f"line{column}", "tick", (self._places[column], _TOP - 26, self._mark, 20), number, begin)
            if column in self._gaps:
                self._add(f"gap{column}", "tick", (self._gaps[column], _TOP - 26, _MARK / 2, 20), "…", begin)
        turns = self._turns()
        for n, column in enumerate(turns if len(turns) > 1 else ()):
            begin, x = self._told[column][0], self._places[column] - _MARGIN
            phase = self._moments[begin].phase
            self._add(f"phase{n}", "tick", (x + 4, _TOP - 48, width_of(phase), 20), phase, begin)
            if n:
                self._add(f"turn{n}", "cell", (x, _TOP - 44, 1, 44), "", begin, alt=f"{phase} from here on")

    def _row(self, row: Memory, chips: Sequence[_Chip], y: float) -> float:
        """Add one row without its name, and return where it ends."""
        tall = _tall(row)
        begin = self._begin(chips[0])
        summary, details = _told(row)
        self._add(f"{row.id}.frame", "frame", (0, y, self._width, tall), "", begin, alt=summary, details=details)
        for n, column in enumerate(self._turns()[1:], 1):
            turn = self._told[column][0]
            place, alt = (self._places[column] - _MARGIN, y, 1, tall), f"{self._moments[turn].phase} from here on"
            self._add(f"{row.id}.b{n}", "cell", place, "", max(begin, turn), alt=alt)
        ids = {chip.column: chip.id for chip in chips}
        for chip in chips:
            mark = chip.marks[0]
            down = (tall - _HIGH) / 2
            if row.failed:  # between writes and reads there is room for an arrow
                down = 6 if mark.kind == "write" else 42
            place = (self._places[chip.column], y + down, self._mark, _HIGH)
            said = list(dict.fromkeys(mark.sentence for mark in chip.marks))
            alt = "; ".join(said[:_SENTENCES] + [f"{len(said) - _SENTENCES:,} more"] * (len(said) > _SENTENCES))
            details = self._details(mark, alt)
            self._add(chip.id, "event", place, _title(mark), self._begin(chip), alt=alt, details=details)
            for moment in dict.fromkeys(mark.moment for mark in chip.marks):
                self._at.setdefault(moment, []).append(chip.id)
            for mark in chip.marks:
                if mark.cause and (write := ids.get(self._column[mark.cause.moment])):
                    self._arrows[chip.id] = Arrow(chip.id, write, chip.id, state="future")
                    self._failing.setdefault(mark.moment, []).extend([write, chip.id])
        causes = [mark for chip in chips for mark in chip.marks if mark.spoiled]
        for n, cause in enumerate(causes):
            self._callout(row, n, cause, y + 70 + 20 * n)
        return y + tall

    def _begin(self, chip: _Chip) -> int:
        """Return the step from which a mark is there."""
        return next(moment for moment in self._told[chip.column] if moment >= chip.marks[0].moment)

    def _name(self, row: Memory, y: float) -> None:
        """Add the name of a row, which stays visible when the chart is scrolled."""
        summary, details = _told(row)
        title, *lines = [cut(clean(text), _COLUMNS) for text in (row.name, *_lines(row))]
        place = (1, y + 1, _LEFT - _MARGIN - 2, _tall(row) - 2)
        begin = next(moment for moment, ids in self._coming.items() if f"{row.id}.frame" in ids)
        more = {"lines": tuple(lines), "alt": summary, "details": details}
        self._add(f"{row.id}.name", "name", place, title, begin, **more)

    def _callout(self, row: Memory, n: int, cause: Mark, y: float) -> None:
        """Add a text below a write that says what it overwrote."""
        text = _callout(cause, self._moments)
        place = (self._x(cause.moment) + 6, y, width_of(text) + 4, 20)
        begin = next(mark.moment for mark in row.marks if mark.cause is cause)
        self._add(f"{row.id}.callout{n}", "line", place, text, begin)

    def _details(self, mark: Mark, happened: str) -> tuple[Detail, ...]:
        source = self._moments[mark.moment].source
        details = [Detail("What happened", "text", f"{happened}.")]
        if source is not None:
            text = f"{source.file}, line {source.line}: {source.text}".removesuffix(": ")
            where = {"write": "Written at", "save": "Saved at"}.get(mark.kind, "Backward started at")
            details.append(Detail(where, "text", text))
        if mark.cause is not None and (cause := self._moments[mark.cause.moment].source) is not None:
            details.append(Detail("The write", "text", f"{cause.file}, line {cause.line}: {cause.text}"))
        if mark.cause is not None or mark.spoiled:
            details.append(Detail("What to do", "text", _CURE))
        return tuple(details)


def _ranked(rows: Iterable[Memory]) -> list[Memory]:
    return sorted(rows, key=lambda row: (not row.failed, not row.written))


def _folded(memories: Iterable[Memory], alike: Callable[[Memory], object]) -> list[Memory]:
    """Return one row for each kind of equal memories."""
    rows: dict[object, list[Memory]] = {}
    for memory in memories:
        rows.setdefault(alike(memory), []).append(memory)
    return [_joined(several) for several in rows.values()]


def _joined(memories: Sequence[Memory]) -> Memory:
    first, kinds = memories[0], dict.fromkeys(memory.kind for memory in memories)
    if len(memories) == 1:
        return first
    names = ", ".join(dict.fromkeys(memory.name for memory in memories))
    row = Memory(first.id, names, first.kind if len(kinds) == 1 else "several shapes")
    row.before = first.before if len({memory.before for memory in memories}) == 1 else 0
    row.ids = [id for memory in memories for id in memory.ids]
    row.others = list(dict.fromkeys(name for memory in memories for name in memory.others))
    row.marks = sorted((mark for memory in memories for mark in memory.marks), key=lambda mark: mark.moment)
    return row


def _fitting(rows: Sequence[Memory]) -> list[Memory]:
    """Return those for which there is room: any that fails, then what was written."""
    fitting: set[str] = set()
    below: float = _TOP
    for row in _ranked(rows):
        below += _tall(row) + _GAP
        if below <= _ROOM or row.failed or not fitting:
            fitting.add(row.id)
    return [row for row in rows if row.id in fitting]


def _place(source: SourceLine | None) -> tuple[str, int] | None:
    return (source.file, source.line) if source else None


def _lines(row: Memory) -> list[str]:
    """Return the lines below the name of a row."""
    lines = [row.kind if len(row.ids) == 1 else f"{row.kind}, {len(row.ids):,} tensors"]
    if row.others:
        lines.append(f"also as {', '.join(row.others)}")
    elif row.before:
        lines.append(f"version {row.before} when first seen")
    return lines


def _told(row: Memory) -> tuple[str, tuple[Detail, ...]]:
    """Return a row in words."""
    summary, sentences = f"{row.name}: {'; '.join(_lines(row))}", list(dict.fromkeys(map(_said, row.marks)))
    more = [f"… {len(sentences) - _MARKS:,} more"] if len(sentences) > _MARKS else []
    history = ", ".join([*sentences[:_MARKS], *more])
    return summary, (Detail("Storage", "text", summary), Detail("History", "text", history))


def _tall(memory: Memory) -> float:
    if not memory.failed:
        return _CALM + LINE * (len(_lines(memory)) - 1)
    return _FAILING + 20 * sum(bool(mark.spoiled) for mark in memory.marks)


def _callout(cause: Mark, moments: list[Moment]) -> str:
    source = moments[cause.moment].source
    line = f"{line_said(source)} " if source else ""
    return cut(clean(f"^ {line}overwrote what {cause.spoiled[0]} saved"), 110)


def _title(mark: Mark) -> str:
    return f"{mark.kind} {mark.version}{' ×' if mark.cause else ''}"


def _said(mark: Mark) -> str:
    verb = {"write": "written by", "save": "saved by", "read": "read by"}[mark.kind]
    failed = ", which fails" if mark.cause else ""
    return f"{verb} {mark.who}{failed} ({'now ' if mark.kind == 'write' else ''}version {mark.version})"


def _storages(count: int) -> str:
    return "storage" if count == 1 else "storages"
