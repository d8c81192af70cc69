"""The saved-tensor inspector: for one node after the other what it keeps for backward, and what becomes of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ..scene.metric import clean, cut
from ..scene.model import Box, BoxState, Detail, Scene, Step, changed
from ..scene.storyboard import Storyboard
from ..trace.backward import Failed, NodeStarted, SavedFreed
from ..trace.building import NodeCreated, TensorWritten
from ..trace.facts import Phase, SourceLine
from ..trace.frame import Frame
from ..trace.timeline import Timeline
from .keeping import attribute_rows, kept_by, slot_name, slot_rows
from .tables import COLUMNS, grid_of, pages_of
from .telling import NOTHING

_LIST, _NODES, _ROW = 300, 30, 20  # px of the list of nodes, its lines, and their height
_SLOTS, _ATTRIBUTES = 3, 6  # saved tensors and attributes that are shown of one node
_CELL, _LABEL, _HIGH = 78, 64, 24  # px of a cell of a heat map, of its rows' names, and a row's height
_WIDE = 790
_FACTS = 5  # lines of facts about a saved tensor


def saved(trace: Timeline) -> Storyboard:
    """What each node has saved; a step chooses the node, following the trace."""
    board = _Inspector(trace)
    title = "Saved tensors"
    if not board.steps:
        return Storyboard(Scene(title), [Step(NOTHING)], title)
    return Storyboard(Scene(title, board.union), board.steps, title)


@dataclass(slots=True)
class _Life:
    """At which steps a node read what it had saved, and freed it."""

    read: int | None = None
    freed: int | None = None
    failed: bool = False


def _tallest(events: list[Any]) -> list[int]:
    """For each place in the panel the rows of the tallest heat map that will stand there."""
    frame, tall = Frame(), [0] * _SLOTS
    for event in events:
        event.apply(frame)
        if isinstance(event, NodeCreated):
            for n, value in enumerate(frame.nodes[event.node].saved[:_SLOTS]):
                tall[n] = max(tall[n], len(grid_of(value)) if value else 0)
    return tall


class _Inspector:
    """Goes through a trace and draws the chosen node at each step; every box has its place from the beginning."""

    def __init__(self, trace: Timeline) -> None:
        events = list(trace.events)
        made = [event for event in events if isinstance(event, NodeCreated)]
        self._made = sorted(made, key=lambda node: not (node.saved or node.attributes))[:_NODES]
        self._made = [node for node in made if node in self._made] if len(made) < 1000 else self._made
        self._left = len(made) - len(self._made)
        self._slots = min(_SLOTS, max((len(node.saved) for node in made), default=0))
        self._attributes = min(_ATTRIBUTES, max((len(node.attributes) for node in made), default=0))
        self._lives = {node.node: _Life() for node in made}
        self._frame = Frame()
        self._now: dict[str, Box] = {}
        self.union: dict[str, Box] = {}
        self.steps: list[Step] = []
        places = [(node, (0.0, 28.0 + _ROW * n, _LIST - 20.0, _ROW - 2.0)) for n, node in enumerate(self._made)]
        self._lines = {node.node: Box(f"list.{node.node}", "line", "", place=place) for node, place in places}
        self._heading = Box("nodes", "heading", "Nodes", place=(0, 0, _LIST - 20, 24))
        for box in (self._heading, *self._lines.values()):
            self._now[box.id] = self.union[box.id] = replace(box, state="future")
        self._tall = _tallest(events)
        begin = 0
        for end in trace.steps:
            self._tell(events[begin:end])
            begin = end

    def _tell(self, events: list[Any]) -> None:
        chosen: str | None = None
        captions: list[str] = []
        phase: Phase = "forward"
        number = len(self.steps) + 1
        source: SourceLine | None = None
        for event in events:
            event.apply(self._frame)
            said = ""
            if isinstance(event, NodeCreated) and not event.found:
                said, chosen, source = f"{event.name} {kept_by(self._frame, event)}", event.node, event.source
            elif isinstance(event, TensorWritten) and (late := self._frame.stale_holders(event.tensor)):
                said, chosen, source = event.sentence(self._frame), late[0], event.source
            elif isinstance(event, NodeStarted) and event.node in self._lives:
                chosen, phase = event.node, "backward"
                life, state = self._lives[chosen], self._frame.nodes[chosen]
                if state.made.saved and not state.freed:
                    life.read = number
                said = f"{state.made.name} runs{' and reads what it had saved' if state.made.saved else ''}"
                source = self._frame.cursor
            elif isinstance(event, SavedFreed) and event.node in self._lives:
                self._lives[event.node].freed = number
                said = "it frees that" if chosen == event.node else f"{self._frame.called(event.node)} frees it"
            elif isinstance(event, Failed) and event.node in self._lives:
                self._lives[event.node].failed = True
                chosen, phase, said = event.node, "backward", event.sentence(self._frame)
            captions += [said] if said else []
        if chosen is None:
            return
        boxes = self._changes([*self._list(chosen), *self._panel(chosen)])
        cursor = asdict(source) if source else None
        self.steps.append(Step(f"{'; '.join(captions)}.", phase, cursor, focus="chosen", boxes=boxes))

    def _changes(self, drawn: list[Box]) -> dict[str, dict[str, Any]]:
        """What differs from the step before; what is not drawn now is not there."""
        found: dict[str, dict[str, Any]] = {}
        gone = [replace(box, state="future") for id, box in self._now.items() if id not in {each.id for each in drawn}]
        for box in (*drawn, *gone):
            if box.id not in self._now:
                self._now[box.id] = self.union[box.id] = replace(box, state="future")
            if fields := changed(self._now[box.id], box):
                found[box.id] = fields
            self._now[box.id] = box
        return found

    def _list(self, chosen: str) -> list[Box]:
        """All nodes that are there, with how much each keeps."""
        boxes = [self._heading]
        for made in self._made:
            if made.node not in self._frame.nodes:
                continue
            count, life = len(made.saved), self._lives[made.node]
            kept = "nothing" if not count else f"{count} freed" if life.freed else f"{count} kept"
            kept += " + ctx" if made.attributes else ""
            title = f"{cut(clean(made.name), 24)} · {kept}"
            state: BoxState = "error" if life.failed else "running" if made.node == chosen else "idle"
            names = [slot_name(self._frame, made.node, n) for n in range(count)]
            alt = f"{made.name}{' (chosen)' * (made.node == chosen)}: {kept}{': ' * bool(names)}{', '.join(names)}"
            boxes.append(replace(self._lines[made.node], title=title, state=state, alt=alt))
        if self._left:
            place = (0.0, 28.0 + _ROW * len(self._made), _LIST - 20.0, float(_ROW))
            boxes.append(Box("left", "text", f"… and {self._left} more", place=place))
        return boxes

    def _panel(self, chosen: str) -> list[Box]:
        """The chosen node: where it was made, what it saved, and what lies on its `ctx`."""
        frame, made = self._frame, self._frame.nodes[chosen].made
        source = made.source
        lines = (f"{source.file}, line {source.line}: {source.text}",) if source else ()
        if not made.saved:
            lines = (*lines, "It keeps nothing: its backward needs no tensor of the forward.")
        elif len(made.saved) > _SLOTS:
            lines = (*lines, f"{_SLOTS} of {len(made.saved)} saved tensors are shown.")
        details = tuple(Detail(code.name.capitalize(), "code", code.text) for code in made.code)
        boxes = [Box("chosen", "heading", made.name, lines, place=(_LIST, 0, _WIDE, 56), details=details)]
        y, life = 64.0, self._lives[chosen]
        for n in range(self._slots):
            if n < len(made.saved):
                boxes += self._slot(n, chosen, life, y)
            y += 24 + 16 * _FACTS + self._tall[n] * (_HIGH + 2) + 24
        if self._attributes and made.attributes:
            boxes.append(Box("ctx", "heading", "Attributes on ctx", place=(_LIST, y, _WIDE, 24)))
            for n, (title, said, wrong) in enumerate(attribute_rows(frame, made)[:_ATTRIBUTES]):
                place = (float(_LIST), y + 28 + 60 * n, float(_WIDE), 54.0)
                whole = (Detail("What is wrong" if wrong else "What it is", "text", " ".join(said)),)
                alt = f"{title}: {' '.join(said)}"
                boxes.append(Box(f"ctx.{n}", "frame", title, tuple(said), place=place, alt=alt, details=whole))
        return boxes

    def _slot(self, n: int, node: str, life: _Life, y: float) -> list[Box]:
        """One saved tensor: its facts, and its values as a heat map."""
        frame = self._frame
        state = frame.nodes[node]
        value = state.saved[n]
        stale = frame.stale(node, n) and not state.freed
        rows = slot_rows(frame, node, n)
        if life.read is not None:
            freed = f"and freed at step {life.freed}" if life.freed else "and not freed"
            rows.append(f"read at step {life.read} {freed}")
        name = slot_name(frame, node, n)
        title = f"{name} (freed)" if state.freed else f"{name} (out of date)" if stale else name
        about = f"{value.kind}, {value.text(line=60)}" if value else ""
        alt = "; ".join(part for part in (title, about, *rows) if part)
        details = [Detail("What becomes of it", "text", "; ".join(rows))]
        details += [Detail(heading, "code", page) for heading, page in (pages_of(value) if value else ())]
        place = (float(_LIST), y, float(_WIDE), 24.0 + 16 * _FACTS)
        mark: BoxState = "error" if stale and life.failed else "idle"
        lines = tuple(part for part in (value.kind if value else "", *rows) if part)[:_FACTS]
        boxes = [Box(f"slot{n}", "heading", title, lines, mark, place=place, alt=alt, details=tuple(details))]
        if value is None or state.freed:
            return boxes
        top = y + 24 + 16 * _FACTS + 4
        for i, row in enumerate(grid_of(value)):
            high = top + i * (_HIGH + 2)
            boxes.append(Box(f"slot{n}.{i}", "tick", row.label, place=(_LIST, high, _LABEL, _HIGH)))
            for j, (text, shade) in enumerate(row.cells[:COLUMNS]):
                where = (_LIST + _LABEL + 4 + j * (_CELL + 2.0), high, float(_CELL), float(_HIGH))
                said = f"{row.label} column {j}: {text}"
                boxes.append(Box(f"slot{n}.{i}.{j}", "cell", text, place=where, shade=shade, alt=said))
        return boxes
