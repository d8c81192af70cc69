"""Versions: a line for every storage with its writes, and what was saved of it and read back; a write that spoiled a
read is joined to it.

`Histories` follows each storage through a trace; `versions` draws that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ..scene.labels import clean, cut, width_of
from ..scene.model import Arrow, Box, Detail, Scene, Step
from ..scene.storyboard import Storyboard
from ..trace.frame import Frame
from ..trace.records import Failed, NodeCreated, NodeStarted, TensorWritten
from ..trace.schema import Phase, Record, Saved, SourceLine
from ..trace.timeline import Timeline
from ..trace.values import series
from .value_display import sentence_of

LEGEND = (
    "One row a tensor, left to right; the number is its version: a write makes a new one, a read needs the saved one."
)
_LEFT, _TOP = 236, 52  # px: the room of the names, and what stands above the first line
_PITCH, _MARK, _HIGH = 78, 68, 22  # px: from one moment to the next, and a mark's width and height
_COLUMNS, _MARGIN = 30, 9  # columns of a name; px before a moment at which another phase begins
_LINE, _GAP = 74, 10  # px of a storage's line, and between two
_MEMORIES, _ENDS = 12, 16  # lines at most; moments shown at each end where there are too many
NOTHING = "Nothing was saved for a backward, and nothing that is part of a graph was written."


def versions(trace: Timeline) -> Storyboard:
    """The timeline of every storage that was written or saved."""
    histories = Histories(trace.events)
    title = "Versions"
    if not histories.memories:
        return Storyboard(Scene(title), [Step(histories.unwritable() or NOTHING)], title)
    return _Chart(histories).storyboard(title)


class _Chart:
    """Places the lines and the marks on them."""

    def __init__(self, histories: Histories) -> None:
        self._moments = histories.moments
        memories = list(histories.memories.values())
        ranked = sorted(memories, key=lambda memory: (not memory.failed, not memory.written))
        chosen = {memory.id for memory in ranked[:_MEMORIES]}
        self._shown = [memory for memory in memories if memory.id in chosen]
        self._hidden = [memory for memory in memories if memory.id not in chosen]
        self._gaps: dict[int, float] = {}  # moment -> where an ellipsis stands before it
        self._columns = self._kept()
        phases = [self._moments[moment].phase for moment in self._columns]
        turns = [before != phase for before, phase in zip(["", *phases], phases, strict=False)]
        self._phases = [moment for moment, turn in zip(self._columns, turns, strict=True) if turn]
        seen = [each for each in self._shown if any(mark.moment in self._columns for mark in each.marks)]
        self._hidden += [each for each in self._shown if each not in seen]
        self._shown = seen
        self._boxes: dict[str, Box] = {}
        self._arrows: dict[str, Arrow] = {}
        self._at: dict[int, list[str]] = {}  # moment -> its marks
        self._coming: dict[int, list[str]] = {}  # moment -> what is there from then on
        self._failing: dict[int, list[str]] = {}  # moment -> the marks that are wrong from then on

    def _kept(self) -> dict[int, float]:
        """Which moments are shown, and where; those of a failure always are."""
        marked = sorted({mark.moment for memory in self._shown for mark in memory.marks})
        told = set(marked[:_ENDS] + marked[-_ENDS:])
        for memory in self._shown:
            failed = [mark for mark in memory.marks if mark.cause]
            told |= {each.moment for mark in failed for each in (mark, mark.cause) if each}
            versions = {(mark.version, mark.who) for mark in failed}
            told |= {
                each.moment for each in memory.marks if each.kind == "save" and (each.version, each.who) in versions
            }
        columns: dict[int, float] = {}
        x, last, phase, begun = float(_LEFT), -1, "", -1.0
        for place, moment in enumerate(marked):
            if moment in told:
                if place > last + 1:
                    self._gaps[moment] = x
                    x += _PITCH
                if self._moments[moment].phase != phase:  # each has room for its name
                    x = max(x, begun + width_of(phase) + 2 * _MARGIN) if phase else x
                    phase, begun = self._moments[moment].phase, x
                columns[moment] = x
                x, last = x + _PITCH, place
        return columns

    def storyboard(self, title: str) -> Storyboard:
        """The chart, and a step for each moment."""
        callouts = [self._x(m.cause.moment) + width_of(_callout(m.cause, self._moments)) + 20 for m in self._failed()]
        last = self._phases[-1]
        width = max(
            max(self._columns.values()) + _PITCH, self._x(last) + width_of(self._moments[last].phase), *callouts
        )
        self._head()
        y: float = _TOP
        for memory in self._shown:
            y = self._line(memory, y, width) + _GAP
        if self._hidden:
            never = "" if any(memory.written for memory in self._hidden) else ", none of which was written"
            count = len(self._hidden)
            self._add("hidden", "text", (0, y, 500, 20), f"… and {count} more {_storages(count)}{never}")
        steps: list[Step] = []
        lit: list[str] = []
        for moment in self._columns:
            told = self._moments[moment]
            boxes: dict[str, dict[str, Any]] = {id: {"state": "idle"} for id in lit}
            boxes |= {id: {"state": "idle"} for id in self._coming.get(moment, ())}
            here, failed = self._at[moment], self._failing.get(moment, [])
            lit = [id for id in here if id not in failed]
            boxes |= {id: {"state": "running"} for id in lit} | {id: {"state": "error"} for id in failed}
            cursor = asdict(told.source) if told.source else None
            step = Step(sentence_of("; ".join(told.sentences)), told.phase, cursor, focus=here[0], boxes=boxes)
            step.arrows = {id: {"state": "idle"} for id in here if id in self._arrows}
            steps.append(step)
        scene, calm = Scene(title, self._boxes, self._arrows), Step(steps[-1].caption)
        calm.boxes = {id: {"state": "idle"} for id in lit}
        still = Storyboard(scene, [*steps, calm], title, start=len(steps))
        # It opens where all of it is there: a timeline is read as a whole.
        return Storyboard(scene, steps, title, start=len(steps) - 1, still=still, legend=LEGEND)

    def _add(
        self,
        id: str,
        kind: Any,
        place: tuple[float, float, float, float],
        title: str = "",
        moment: int | None = None,
        **more: Any,
    ) -> None:
        """A box, there from the beginning or from a moment on."""
        self._boxes[id] = Box(id, kind, title, place=place, state="idle" if moment is None else "future", **more)
        if moment is not None:
            self._coming.setdefault(moment, []).append(id)

    def _x(self, moment: int) -> float:
        return self._columns[moment]

    def _failed(self) -> list[Any]:
        return [mark for memory in self._shown for mark in memory.marks if mark.cause]

    def _head(self) -> None:
        self._add("line", "tick", (_LEFT - width_of("line") - 8, _TOP - 26, width_of("line"), 20), "line")
        for moment in self._columns:
            told = self._moments[moment]
            number = str(told.source.line) if told.source else "–"
            self._add(f"line{moment}", "tick", (self._x(moment), _TOP - 26, _MARK, 20), number, moment)
            if moment in self._gaps:
                self._add(f"gap{moment}", "tick", (self._gaps[moment], _TOP - 26, _MARK, 20), "…", moment)
        for n, moment in enumerate(self._phases if len(self._phases) > 1 else ()):
            phase, x = self._moments[moment].phase, self._x(moment) - _MARGIN
            self._add(f"phase{n}", "tick", (x + 4, _TOP - 48, width_of(phase), 20), phase, moment)
            if n:
                self._add(f"turn{n}", "cell", (x, _TOP - 44, 1, 44), "", moment, alt=f"where {phase} begins")

    def _line(self, memory: Memory, y: float, width: float) -> float:
        """One storage; returns where its line ends."""
        tall = _tall(memory)
        lines = [memory.kind]
        if memory.others:
            lines.append(f"also as {', '.join(memory.others)}")
        elif memory.before:
            lines.append(f"version {memory.before} when first seen")
        told = f"{memory.name}: {'; '.join(lines)}"
        history = f"{', '.join(_said(mark) for mark in memory.marks[:_ENDS])}"
        if len(memory.marks) > _ENDS:
            history += f", … {len(memory.marks) - _ENDS} more"
        details = (Detail("Storage", "text", told), Detail("History", "text", history))
        title, *lines = [cut(clean(text), _COLUMNS) for text in (memory.name, *lines)]
        first = next(mark.moment for mark in memory.marks if mark.moment in self._columns)
        more = {"lines": tuple(lines), "alt": told, "details": details}
        self._add(f"{memory.id}.frame", "frame", (0, y, width, tall), title, first, **more)
        for n, moment in enumerate(self._phases[1:], 1):
            place, alt = (self._x(moment) - _MARGIN, y, 1, _LINE), f"where {self._moments[moment].phase} begins"
            self._add(f"{memory.id}.b{n}", "cell", place, "", max(first, moment), alt=alt)
        ids: dict[int, str] = {}
        for n, mark in enumerate(memory.marks):
            if mark.moment not in self._columns:
                continue
            id = ids[n] = f"{memory.id}.{n}"
            row = 6 if mark.kind == "write" else 42  # between the two there is room for an arrow
            place = (self._x(mark.moment), y + row, _MARK, _HIGH)
            self._add(id, "event", place, _title(mark), mark.moment, alt=mark.sentence, details=self._details(mark))
            self._at.setdefault(mark.moment, []).append(id)
        for n, mark in enumerate(memory.marks):
            if mark.cause and n in ids:
                write = next(ids[m] for m, each in enumerate(memory.marks) if each is mark.cause)
                self._arrows[ids[n]] = Arrow(ids[n], write, ids[n], state="future")
                self._failing.setdefault(mark.moment, []).extend([write, ids[n]])
        for n, cause in enumerate([mark for mark in memory.marks if mark.spoiled]):
            self._callout(memory, n, cause, y + 70 + 20 * n)
        return y + tall

    def _callout(self, memory: Memory, n: int, cause: Mark, y: float) -> None:
        """What a write has spoiled, in words below it."""
        text = _callout(cause, self._moments)
        place = (self._x(cause.moment) + 6, y, width_of(text) + 4, 20)
        begin = next(mark.moment for mark in memory.marks if mark.cause is cause)
        self._add(f"{memory.id}.callout{n}", "line", place, text, begin)

    def _details(self, mark: Mark) -> tuple[Detail, ...]:
        source = self._moments[mark.moment].source
        details = [Detail("What happened", "text", f"{mark.sentence}.")]
        if source is not None:
            text = f"{source.file}, line {source.line}: {source.text}".removesuffix(": ")
            where = {"write": "Written at", "save": "Saved at"}.get(mark.kind, "Backward started at")
            details.append(Detail(where, "text", text))
        if mark.cause is not None and (cause := self._moments[mark.cause.moment].source) is not None:
            details.append(Detail("The write", "text", f"{cause.file}, line {cause.line}: {cause.text}"))
        if mark.cause is not None or mark.spoiled:
            details.append(Detail("What to do", "text", CURE))
        return tuple(details)


CURE = "Make a new tensor in place of writing into this one, write before it is saved, or save a clone of it."


def _tall(memory: Memory) -> float:
    return _LINE + 20 * sum(bool(mark.spoiled) for mark in memory.marks)


def _callout(cause: Mark, moments: list[Moment]) -> str:
    source = moments[cause.moment].source
    line = f"{line_said(source)} " if source else ""
    return cut(clean(f"^ {line}spoiled what {cause.spoiled[0]} had saved"), 110)


def _title(mark: Mark) -> str:
    return f"{mark.kind} {mark.version}{' ×' if mark.cause else ''}"


def _said(mark: Mark) -> str:
    verb = {"write": "written by", "save": "saved by", "read": "read by"}[mark.kind]
    failed = " in vain" if mark.cause else ""
    return f"{verb} {mark.who}{failed} ({'now ' if mark.kind == 'write' else ''}version {mark.version})"


def _storages(count: int) -> str:
    return "storage" if count == 1 else "storages"


@dataclass(slots=True)
class Mark:
    """One write, save or read; a write's version is the one it makes, the others' the one that was saved."""

    kind: Literal["write", "save", "read"]
    version: int
    moment: int  # which column it stands in
    who: str
    sentence: str
    cause: Mark | None = None  # of a read that fails: the write
    spoiled: list[str] = field(default_factory=list)  # of a write: who fails for it


@dataclass(slots=True)
class Memory:
    """One storage: its tensor, the other tensors over it, and its marks."""

    id: str
    name: str
    kind: str
    before: int  # the version it had when it was first seen
    others: list[str] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether a read of it failed."""
        return any(mark.cause for mark in self.marks)

    @property
    def written(self) -> bool:
        """Whether it was written while somebody listened."""
        return any(mark.kind == "write" for mark in self.marks)


@dataclass(slots=True)
class Moment:
    """An event with marks."""

    phase: Phase
    source: SourceLine | None
    sentences: list[str] = field(default_factory=list)


class Histories:
    """Goes through the events of a trace and puts down what concerns versions."""

    def __init__(self, events: Iterable[Record]) -> None:
        self.moments: list[Moment] = []
        self.memories: dict[str, Memory] = {}
        self._frame = Frame()
        self._open: Moment | None = None
        self._late: list[NodeCreated] = []  # what they save they have only by a write that is still to come
        for event in events:
            event.apply(self._frame)
            self._open = None
            if isinstance(event, NodeCreated):
                self._saves(event)
            elif isinstance(event, TensorWritten):
                self._writes(event)
                self._save_late(event)
            elif isinstance(event, NodeStarted) and event.node in self._frame.nodes:
                self._reads(event.node)
            elif isinstance(event, Failed) and event.node in self._frame.nodes:
                self._fails(event.node)
        others: dict[str, dict[str, None]] = {}
        for id, tensor in self._frame.tensors.items():
            if tensor.name and (owner := self._frame.owner(id)) != id:
                others.setdefault(owner, {})[tensor.name] = None
        for memory in self.memories.values():
            memory.others = list(others.get(memory.id, ()))

    def unwritable(self) -> str:
        """Of nodes that keep only what nobody else can write: that they do; else nothing."""
        kept = [node.made for node in self._frame.nodes.values() if node.made.saved and node.run_by is None]
        if not kept:
            return ""
        packed = all(saved.packed for made in kept for saved in made.saved)
        told = [f"{made.name} saved {series(list(dict.fromkeys(_bare(made.saved))))}" for made in kept[:2]]
        told += [f"{len(kept) - 2} more nodes did so"] if len(kept) > 2 else []
        how = "as hooks packed it" if packed else "a number or a copy of its own"
        return f"{series(told)}, {how}: nothing that somebody else could write into, so there is no version to follow."

    def _put(self, tensor: str, mark: Mark, phase: Phase, source: SourceLine | None) -> None:
        frame = self._frame
        owner = frame.owner(tensor)
        memory = self.memories.get(owner)
        if memory is None:
            state = frame.tensors[owner]
            before = frame.version(owner) - (mark.kind == "write")
            memory = self.memories[owner] = Memory(owner, self._name(owner), state.value.kind, before)
        if self._open is None:
            self._open = Moment(phase, source)
            self.moments.append(self._open)
        mark.moment = len(self.moments) - 1
        self._open.sentences.append(mark.sentence)
        memory.marks.append(mark)

    def _name(self, id: str) -> str:
        """What a tensor is called; an in-place operation computes with a copy of what it writes over."""
        state = self._frame.tensors[id]
        if state.node is not None and state.name is None:
            first = self._frame.nodes[state.node].outputs.get(state.output_nr)
            if first is not None and first[0] != id:
                return f"{self._frame.called(id)} before a write"
        return self._frame.called(id)

    def _saved(self, node: str) -> dict[str, tuple[str, int, int]]:
        """What a node has saved, each storage once: its owner -> (tensor, version, position)."""
        made = self._frame.nodes[node].made
        found: dict[str, tuple[str, int, int]] = {}
        for index, saved in enumerate(made.saved):
            if saved.tensor is not None:
                found.setdefault(self._frame.owner(saved.tensor), (saved.tensor, saved.version, index))
        return found

    def _saves(self, made: NodeCreated) -> None:
        if made.runs is not None:  # the one that it runs has saved it
            return
        saved = self._saved(made.node)
        late = {owner for owner, (_, version, _) in saved.items() if self._frame.version(owner) < version}
        self._late += [made] * bool(late)
        for owner in [owner for owner in saved if owner not in late]:
            self._save(made, owner)

    def _save(self, made: NodeCreated, owner: str) -> None:
        tensor, version, _ = self._saved(made.node)[owner]
        said = f"{made.name} saves {self._name(owner)} at version {version}"
        self._put(tensor, Mark("save", version, 0, made.name, said), made.phase(self._frame), made.source)

    def _save_late(self, event: TensorWritten) -> None:
        """What was saved is there now."""
        owner = self._frame.owner(event.tensor)
        for made in [made for made in self._late if owner in self._saved(made.node)]:
            if event.version >= self._saved(made.node)[owner][1]:
                self._open = None
                self._save(made, owner)
                self._late.remove(made)

    def _writes(self, event: TensorWritten) -> None:
        frame = self._frame
        owner = frame.owner(event.tensor)
        through = "" if owner == event.tensor else f", through {frame.variable(event.tensor) or 'a view of it'}"
        said = f"{event.name} writes into {self._name(owner)}{through}: it is at version {event.version} now"
        if late := frame.stale_holders(event.tensor):
            who = series([frame.called(node) for node in late]) if len(late) < 3 else f"{len(late)} nodes"
            said += f", but {who} had saved it before that"
        mark = Mark("write", event.version, 0, event.name, said)
        self._put(event.tensor, mark, event.phase(frame), event.source)

    def _who(self, node: str) -> tuple[str, str]:
        """By which name a node has saved what it has, and how it is called where it runs."""
        made = self._frame.nodes[node].made
        if made.runs is None:
            return made.name, made.name
        name = self._frame.called(made.runs)
        return name, f"{name}, which {made.name} runs,"

    def _reads(self, node: str) -> None:
        state, (who, called) = self._frame.nodes[node], self._who(node)
        if state.freed:
            return
        for owner, (tensor, version, index) in self._saved(node).items():
            if not self._frame.stale(node, index):  # of one that is out of date it is not known yet whether it is read
                said = f"{called} reads {self._name(owner)}, saved at version {version}: nothing has changed"
                self._put(tensor, Mark("read", version, 0, who, said), "backward", self._frame.cursor)

    def _fails(self, node: str) -> None:
        name, called = self._who(node)
        for owner, (tensor, version, index) in self._saved(node).items():
            if self._frame.nodes[node].freed or not self._frame.stale(node, index):
                continue
            marks = self.memories[owner].marks if owner in self.memories else ()
            writes = [mark for mark in marks if mark.kind == "write" and mark.version > version]
            cause = min(writes, key=lambda mark: mark.version, default=None)
            said = f"{called} wants {self._name(owner)} as it was at version {version}"
            if cause is None:  # nobody heard it
                said += f", but it is at version {self._frame.version(owner)}: backward is refused"
            else:
                source = self.moments[cause.moment].source
                line = f" ({line_said(source)})" if source else ""
                said += f", but {cause.who}{line} has made it version {cause.version}: backward is refused"
                cause.spoiled.append(name)
            self._put(tensor, Mark("read", version, 0, name, said, cause), "backward", self._frame.cursor)


def _bare(saved: Iterable[Saved]) -> list[str]:
    return [each.name.replace("saved_tensors", "saved") for each in saved]


def line_said(source: SourceLine) -> str:
    """A line of code in a sentence, without its comment."""
    code = source.text.partition("  #")[0]
    return f"line {source.line}: {code}" if code else f"line {source.line}"
