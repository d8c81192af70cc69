"""The saved-tensor inspector: for one node after the other what it keeps for backward, and what becomes of it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import asdict, replace
from typing import Any

from ..scene.metric import CHARACTER, clean, columns, cut
from ..scene.model import Box, BoxState, Detail, Scene, Step, changed
from ..scene.storyboard import Storyboard
from ..trace.frame import Frame
from ..trace.timeline import Timeline
from ..trace.values import Value
from .player_steps import NOTHING, opening
from .saved_rows import attribute_rows, counted_by_kind, slot_name, slot_rows
from .saved_survey import ATTRIBUTES, GAP, PAD, SLOTS, WIDE, Choice, Life, Survey, wrapped
from .saved_table import kept_at_a_glance
from .tables import exact, grid_of, pages_of
from .training import mark_steps
from .value_text import sentence_of

LEGEND = "What each operation keeps until its backward has run, and how many bytes; dashed are those that live anyway."
_LIST, _ROW = 250, 20  # px of the list of nodes, and the height of its lines
_NODES, _AROUND = 16, 2  # its lines, and how many there are before and behind the chosen one
_HIGH = 24  # px of a row of a heat map
_MARKS = {"running": "→ ", "error": "× ", "idle": "\u00a0\u00a0"}  # before a line: not by colour alone


def saved(trace: Timeline, step: int | None = None) -> Storyboard:
    """What each node has saved; a step chooses the node, following the trace, and so does a click in the list.

    Of a training loop it opens at the asked `step`.
    """
    board = _Inspector(trace)
    title = "Saved tensors"
    if not board.steps:
        return Storyboard(Scene(title), [Step(NOTHING)], title)
    asked = mark_steps(trace, board.steps, board.ends, step)
    start = opening(board.steps, board.dies) if asked is None else asked
    still = kept_at_a_glance(trace, title)
    return Storyboard(Scene(title, board.union), board.steps, title, start=start, still=still, legend=LEGEND)


class _Inspector:
    """Draws the chosen node at each step; every box has its place from the beginning."""

    def __init__(self, trace: Timeline) -> None:
        self._survey = survey = Survey(trace)
        self.dies, self.ends = survey.dies, [choice.end for choice in survey.choices]
        self._order = {made.node: n for n, made in enumerate(survey.made)}
        self._frame = Frame()
        self._there = 0  # nodes
        self._first = 0  # of those that are listed
        self._numbers: dict[tuple[str, int, int], tuple[Detail, ...]] = {}
        self._now: dict[str, Box] = {}
        self.union: dict[str, Box] = {}
        self.steps: list[Step] = []
        heading = Box("nodes", "heading", "Nodes", state="future", place=(0, 0, _LIST - 12, 24))
        self._now["nodes"] = self.union["nodes"] = heading
        for n in range(min(_NODES, len(survey.made))):  # first, as they are read before the panel
            row = Box(f"list.{n}", "line", "", state="future", place=(0, 28.0 + _ROW * n, _LIST - 12, _ROW - 2), goto=0)
            self._now[row.id] = self.union[row.id] = row
        events, begin = trace.events, 0
        for choice in survey.choices:
            for event in events[begin : choice.end]:
                event.apply(self._frame)
            begin = choice.end
            self._tell(choice)

    def _tell(self, choice: Choice) -> None:
        self._there = len(self._frame.nodes)
        boxes = self._changes([*self._list(choice.node), *self._panel(choice.node)])
        cursor = asdict(choice.source) if choice.source else None
        caption = sentence_of("; ".join(choice.captions))
        self.steps.append(Step(caption, choice.phase, cursor, focus="chosen", boxes=boxes))

    def _changes(self, drawn: list[Box]) -> dict[str, dict[str, Any]]:
        """What differs from the step before; what is not drawn now is not there."""
        found: dict[str, dict[str, Any]] = {}
        here = {box.id for box in drawn}
        gone = [replace(box, state="future") for id, box in self._now.items() if id not in here]
        for box in (*drawn, *gone):
            if box.id not in self._now:
                self._now[box.id] = self.union[box.id] = replace(box, state="future")
            if fields := changed(self._now[box.id], box):
                found[box.id] = fields
            self._now[box.id] = box
        return found

    def _past(self, step: int | None) -> int | None:
        """A step, counted from 1, if it has come."""
        return step if step is not None and step <= len(self.steps) + 1 else None

    def _list(self, chosen: str) -> list[Box]:
        """The nodes around the chosen one, with how much each keeps; of more there is a line at each end."""
        at, last = self._order[chosen], max(0, len(self._order) - _NODES)
        if not self._first + _AROUND <= at < self._first + _NODES - _AROUND:
            self._first = min(max(0, at - _NODES // 2), last)
        shown = self._survey.made[self._first : min(self._first + _NODES, self._there)]
        boxes = [replace(self.union["nodes"], state="idle")]
        for n, made in enumerate(shown):
            before, behind = self._first + 1, self._there - self._first - _NODES + 1
            state: BoxState = "idle"
            if n == 0 and self._first:
                title, alt = f"\u00a0\u00a0… {before} before", f"{before} nodes before these"
            elif n == _NODES - 1 and behind > 1:
                title, alt = f"\u00a0\u00a0… {behind} more", f"{behind} more nodes after these"
            else:
                title, alt, state = self._line(made.node, chosen)
            step = self._step(made.node)
            boxes.append(replace(self.union[f"list.{n}"], title=title, state=state, alt=alt, goto=step))
        return boxes

    def _step(self, node: str) -> int:
        """The step that shows a node: the last that did, else the first that will."""
        now, steps = len(self.steps), self._survey.lives[node].chosen
        return steps[max(0, bisect_right(steps, now) - 1)] if steps else now

    def _line(self, node: str, chosen: str) -> tuple[str, str, BoxState]:
        """A node in the list: what is written, what is said, and its state."""
        made, life = self._frame.nodes[node].made, self._survey.lives[node]
        count = len(made.saved)
        freed, gone = self._past(life.freed), self._frame.nodes[node].gone
        kept = "nothing" if not count else f"{count} {'freed' if freed else 'gone'}" if freed or gone else ""
        kept = kept or counted_by_kind(made)
        kept += " + ctx" if made.attributes else ""
        state: BoxState = "error" if self._past(life.failed) else "running" if node == chosen else "idle"
        room = int((_LIST - 16) // CHARACTER) - columns(f"→  · {kept}")
        names = [slot_name(self._frame, node, n) for n in range(count)]
        alt = f"{made.name}{' (chosen)' * (node == chosen)}: {kept}{': ' * bool(names)}{', '.join(names)}"
        return f"{_MARKS[state]}{cut(clean(made.name), room)} · {kept}", alt, state

    def _panel(self, chosen: str) -> list[Box]:
        """The chosen node: where it was made, what it saved, and what lies on its `ctx`."""
        frame, survey, made = self._frame, self._survey, self._frame.nodes[chosen].made
        source = made.source
        lines = (f"{source.file}, line {source.line}: {source.text}",) if source else ()
        if not made.saved:
            lines = (*lines, "It keeps nothing: its backward needs no tensor of the forward.")
        elif len(made.saved) > SLOTS:
            lines = (*lines, f"{SLOTS} of {len(made.saved)} saved tensors are shown.")
        details = tuple(Detail(code.name.capitalize(), "code", code.text) for code in made.code)
        boxes = [Box("chosen", "heading", made.name, lines, place=(_LIST, 0, WIDE, 46), details=details)]
        y, life = 62.0, survey.lives[chosen]
        for n, tall in enumerate(survey.tall):
            text = 24 + 16 * survey.facts[n]
            high = text + (tall * (_HIGH + GAP) + PAD if tall else 0)
            if n < len(made.saved):
                boxes += self._slot(n, chosen, life, (_LIST, y, WIDE, high), y + text)
            y += high + 12 if survey.facts[n] else 0
        if made.attributes:
            boxes.append(Box("ctx", "heading", "Attributes on ctx", place=(_LIST, y, WIDE, 24)))
            y += 28
            for n, (title, said, wrong) in enumerate(attribute_rows(frame, made)[:ATTRIBUTES]):
                high = 28.0 + 16 * survey.attributes[n]
                whole = (Detail("What is wrong" if wrong else "What it is", "text", said),)
                place, alt = (float(_LIST), y, float(WIDE), high), f"{title}: {said}"
                boxes.append(Box(f"ctx.{n}", "frame", title, wrapped([said]), place=place, alt=alt, details=whole))
                y += high + 6
        return boxes

    def _slot(self, n: int, node: str, life: Life, place: tuple[float, float, float, float], top: float) -> list[Box]:
        """One saved tensor: its facts, and its values as a heat map from `top` down."""
        frame, wide, cell, label = self._frame, self._survey.wide, self._survey.cell, self._survey.label
        state = frame.nodes[node]
        value = state.saved[n]
        stale = frame.stale(node, n) and state.keeps
        rows = slot_rows(frame, node, n, wide)
        if read := self._past(life.read):
            freed = self._past(life.freed)
            rows.append(f"read at step {read} {f'and freed at step {freed}' if freed else 'and not freed'}")
        name = slot_name(frame, node, n)
        word = "freed" if state.freed else "gone" if state.gone else "out of date" if stale else ""
        title = f"{name} ({word})" if word else name
        about = f"{value.kind}, {value.text(line=60)}" if value else ""
        alt = "; ".join(part for part in (title, about, *rows) if part)
        details = [Detail("What becomes of it", "text", "; ".join(rows))]
        details += [Detail(heading, "code", page) for heading, page in (pages_of(value) if value else ())]
        mark: BoxState = "error" if stale and self._past(life.failed) else "idle"
        lines = (*([value.kind] if value else ()), *wrapped(rows))
        boxes = [Box(f"slot{n}", "frame", title, lines, mark, place=place, alt=alt, details=tuple(details))]
        if value is None or not state.keeps:
            return boxes
        left = _LIST + PAD
        for i, row in enumerate(grid_of(value, wide)):
            high = top + i * (_HIGH + GAP)
            if label:
                boxes.append(Box(f"slot{n}.{i}", "tick", row.label, place=(left, high, label - 4, _HIGH)))
            for j, (text, shade) in enumerate(row.cells):
                where = (left + label + j * (cell + GAP), high, float(cell), float(_HIGH))
                said = f"{row.label} column {j}: {text}"
                whole = self._whole(name, value, row.begin + j)
                boxes.append(Box(f"slot{n}.{i}.{j}", "cell", text, place=where, shade=shade, alt=said, details=whole))
        return boxes

    def _whole(self, name: str, value: Value, n: int) -> tuple[Detail, ...]:
        """The n-th of a tensor's numbers, as a click on it shows it; made once, as most are drawn at many steps."""
        key = (name, id(value), n)  # the trace keeps the value
        if key not in self._numbers:
            self._numbers[key] = (Detail(name, "text", exact(value, n)),)
        return self._numbers[key]
