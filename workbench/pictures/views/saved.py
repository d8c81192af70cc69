"""The saved-tensor inspector: for one node after the other what it saves for backward, and what becomes of it.

`Survey` goes through the trace first: which node is chosen at each step. The largest come first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from ..scene.metric import CHARACTER, clean, columns, cut_inside
from ..scene.model import Box, BoxState, Detail, Scene, StoryStep, changed
from ..scene.storyboard import Storyboard
from ..trace.facts import Phase
from ..trace.forward_records import NodeCreated
from ..trace.frame import Frame
from ..trace.memory_records import NodesGone
from ..trace.rounds import rounds_of
from ..trace.timeline import Timeline
from ..trace.values import Value
from .module_places import places_of
from .player_steps import NOTHING, opening
from .saved_survey import ATTRIBUTES, GAP, PAD, SLOTS, WIDE, Choice, Life, Survey, wrapped
from .saved_table import kept_at_a_glance
from .saved_words import attribute_rows, counted_by_kind, keep_nothing, slot_name, slot_rows
from .training import losses_of, mark_steps
from .value_display import exact, grid_of, pages_of, sentence_of

LEGEND = "What each operation saves for its backward pass, and how much memory that adds; dashed entries add none."
_LIST = 250  # px of the list of nodes
_ROW = 20  # px of a line of the list
_NODES = 16  # lines of the list
_AROUND = 2  # lines before the chosen one, and behind it
_HIGH = 24  # px of a row of a heat map
_MARKS = {"running": "→ ", "error": "× ", "idle": "\u00a0\u00a0"}  # before a line: not by color alone


def saved(trace: Timeline, step: int | None = None) -> Storyboard:
    """Return what each node saves; a step selects the node, following the trace, and so does a click in the list.

    It opens where a forward is over, at the node that keeps the most; of a training loop in the asked `step`.
    """
    board = _Inspector(trace)
    title = "Saved tensors"
    if not board.steps:
        return Storyboard(Scene(title), [StoryStep(NOTHING)], title)
    asked = mark_steps(trace, board.steps, board.ends, step)
    whole = board.whole if asked is None else [step for step in board.whole if step >= asked][:1]
    start = whole[-1] if whole else opening(board.steps, board.dies) if asked is None else asked
    still = kept_at_a_glance(board.survey, title)
    scene, curves = Scene(title, board.union), losses_of(trace.events, rounds_of(trace.events))
    return Storyboard(scene, board.steps, title, start=start, still=still, legend=LEGEND, curves=curves)


class _Inspector:
    """Draws the chosen node at each step; every box has its place from the beginning."""

    def __init__(self, trace: Timeline) -> None:
        self.survey = survey = Survey(trace)
        self.dies, self.ends = survey.dies, [choice.end for choice in survey.choices]
        self.whole = [n for n, choice in enumerate(survey.choices) if choice.whole]
        self._places = places_of(made for made in survey.made if survey.keeps(made))
        self._frame = Frame()
        self._ranked: list[tuple[int, int, int]] = []  # those that keep something, by their place in `Survey.rank`
        self._nothing: dict[str, None] = {}  # those that keep nothing
        self._gone: list[str] = []  # what is gone since the step before
        self._phase: Phase = "forward"
        self._first = 0  # of those that are listed
        self._numbers: dict[tuple[str, int, int], tuple[Detail, ...]] = {}
        self._now: dict[str, Box] = {}
        self.union: dict[str, Box] = {}
        self.steps: list[StoryStep] = []
        heading = Box("nodes", "heading", "Nodes", state="future", place=(0, 0, _LIST - 12, 24))
        self._now["nodes"] = self.union["nodes"] = heading
        keep = sum(map(survey.keeps, survey.made))
        for n in range(min(_NODES, keep + (keep < len(survey.made)))):  # first, as they are read before the panel
            row = Box(f"list.{n}", "line", "", state="future", place=(0, 28.0 + _ROW * n, _LIST - 12, _ROW - 2), goto=0)
            self._now[row.id] = self.union[row.id] = row
        events, begin = trace.events, 0
        for choice in survey.choices:
            ids, self._gone = self._gone, []
            self._leave(choice, ids)
            for event in events[begin : choice.end]:
                event.apply(self._frame)
                if isinstance(event, NodeCreated):
                    self._enter(event)
                elif isinstance(event, NodesGone):
                    self._gone += event.nodes
            begin = choice.end
            self._tell(choice)

    def _enter(self, made: NodeCreated) -> None:
        """List or count a node, if it isn't yet."""
        if not self.survey.keeps(made):
            self._nothing[made.node] = None
        elif self._place(made.node) is None:
            insort(self._ranked, self.survey.rank[made.node])

    def _leave(self, choice: Choice, ids: Sequence[str]) -> None:
        """Remove what no longer exists, and what a backward pass freed, once another forward begins."""
        nodes = self._frame.nodes
        for node in ids:
            self._nothing.pop(node, None)
            if (place := self._place(node)) is not None:
                del self._ranked[place]
        if (self._phase, choice.phase) == ("backward", "forward"):
            self._ranked = [rank for rank in self._ranked if not nodes[self.survey.made[rank[2]].node].freed]
            self._nothing = {node: None for node in self._nothing if nodes[node].state != "done"}
        self._phase = choice.phase

    def _place(self, node: str) -> int | None:
        """Return a node's position in the list."""
        rank = self.survey.rank[node]
        place = bisect_left(self._ranked, rank)
        return place if self._ranked[place : place + 1] == [rank] else None

    def _tell(self, choice: Choice) -> None:
        self._enter(self._frame.nodes[choice.node].made)
        boxes = self._changes([*self._list(choice.node), *self._panel(choice.node)])
        cursor = asdict(choice.source) if choice.source else None
        caption = sentence_of("; ".join(choice.captions))
        self.steps.append(StoryStep(caption, choice.phase, cursor, focus="chosen", boxes=boxes))

    def _changes(self, drawn: list[Box]) -> dict[str, dict[str, Any]]:
        """Return what differs from the step before; what isn't drawn now isn't there."""
        found: dict[str, dict[str, Any]] = {}
        here = {box.id for box in drawn}
        absent = [replace(box, state="future") for id, box in self._now.items() if id not in here]
        for box in (*drawn, *absent):
            if box.id not in self._now:
                self._now[box.id] = self.union[box.id] = replace(box, state="future")
            if fields := changed(self._now[box.id], box):
                found[box.id] = fields
            self._now[box.id] = box
        return found

    def _past(self, step: int | None) -> int | None:
        """Return a step, counted from 1, if it has come."""
        return step if step is not None and step <= len(self.steps) + 1 else None

    def _list(self, chosen: str) -> list[Box]:
        """Return the nodes around the chosen one, the largest first, a line for more, and how many save nothing."""
        rows = _NODES - bool(self._nothing)
        at, last = self._place(chosen), max(0, len(self._ranked) - rows)
        if at is not None and not self._first + _AROUND <= at < self._first + rows - _AROUND:
            self._first = at - rows // 2 if at >= rows - _AROUND else 0
        self._first = min(self._first, last)
        boxes = [replace(self.union["nodes"], state="idle")]
        shown = self._ranked[self._first : self._first + rows]
        for n, rank in enumerate(shown):
            node = self.survey.made[rank[2]].node
            before, behind = self._first + 1, len(self._ranked) - self._first - rows + 1
            state: BoxState = "idle"
            if n == 0 and self._first:
                title, alt = f"\u00a0\u00a0… {before} before", f"{before} nodes before these"
            elif n == rows - 1 and behind > 1:
                title, alt = f"\u00a0\u00a0… {behind} more", f"{behind} more nodes after these"
            else:
                title, alt, state = self._line(node, chosen)
            boxes.append(replace(self.union[f"list.{n}"], title=title, state=state, alt=alt, goto=self._step(node)))
        if self._nothing:
            lit = chosen in self._nothing
            state, text = "running" if lit else "idle", keep_nothing(len(self._nothing))
            alt = f"{text}{' (one is chosen)' * lit}"
            step = self._step(chosen if lit else next(reversed(self._nothing)))
            row = self.union[f"list.{len(shown)}"]
            boxes.append(replace(row, title=f"{_MARKS[state]}{text}", state=state, alt=alt, goto=step))
        return boxes

    def _step(self, node: str) -> int:
        """Return the step that shows a node: the last that did, else the first that will."""
        now, steps = len(self.steps), self.survey.lives[node].chosen
        return steps[max(0, bisect_right(steps, now) - 1)] if steps else now

    def _line(self, node: str, chosen: str) -> tuple[str, str, BoxState]:
        """Return a node's line in the list: its text, its alt text, and its state."""
        made, life = self._frame.nodes[node].made, self.survey.lives[node]
        count, ctx = len(made.saved), " + ctx" if made.attributes else ""
        freed, is_gone = self._past(life.freed), self._frame.nodes[node].gone
        content = size = f"{count} freed" if count and (freed or is_gone) else ""
        if not content:
            size = self.survey.rows[node].amount
            content = ", ".join(dict.fromkeys(filter(None, (counted_by_kind(made), size))))
        state: BoxState = "error" if self._past(life.failed) else "running" if node == chosen else "idle"
        place = clean(self._places.get(node, made.name))
        called = made.name if place == made.name else f"{place} ({made.name})"
        room = int((_LIST - 16) // CHARACTER) - columns(f"→  · {size}{ctx}")
        names = [slot_name(self._frame, node, n) for n in range(count)]
        alt = f"{called}{' (chosen)' * (node == chosen)}: {content}{ctx}{': ' * bool(names)}{', '.join(names)}"
        return f"{_MARKS[state]}{cut_inside(place, room)} · {size}{ctx}", alt, state

    def _panel(self, chosen: str) -> list[Box]:
        """Return the chosen node: where it was made, what it saved, and what is on its `ctx`."""
        frame, survey, made = self._frame, self.survey, self._frame.nodes[chosen].made
        source = made.source
        lines = (f"{source.file}, line {source.line}: {source.text}",) if source else ()
        if not made.saved:
            lines = (*lines, "Nothing saved: this backward needs no forward tensors.")
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
            for n, (title, origin, wrong) in enumerate(attribute_rows(frame, made)[:ATTRIBUTES]):
                high = 28.0 + 16 * survey.attributes[n]
                whole = (Detail("What is wrong" if wrong else "What it is", "text", origin),)
                place, alt = (float(_LIST), y, float(WIDE), high), f"{title}: {origin}"
                boxes.append(Box(f"ctx.{n}", "frame", title, wrapped([origin]), place=place, alt=alt, details=whole))
                y += high + 6
        return boxes

    def _slot(self, n: int, node: str, life: Life, place: tuple[float, float, float, float], top: float) -> list[Box]:
        """Return one saved tensor: its facts, and its values as a heat map from `top` down."""
        frame, wide, cell, label = self._frame, self.survey.wide, self.survey.cell, self.survey.label
        state = frame.nodes[node]
        value = state.saved[n]
        stale = frame.stale(node, n) and state.keeps
        rows = slot_rows(frame, node, n, wide)
        if read := self._past(life.read):
            freed = self._past(life.freed)
            rows.append(f"read at step {read} {f'and freed at step {freed}' if freed else 'and not freed'}")
        name = slot_name(frame, node, n)
        word = "freed" if state.freed or state.gone else "out of date" if stale else ""
        title = f"{name} ({word})" if word else name
        about = f"{value.kind}, {value.text(line=60)}" if value else ""
        alt = "; ".join(part for part in (title, about, *rows) if part)
        details = [Detail("Status", "text", "; ".join(rows))]
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
                spoken = f"{row.label} column {j}: {text}"
                whole = self._whole(name, value, row.begin + j)
                boxes.append(Box(f"slot{n}.{i}.{j}", "cell", text, place=where, shade=shade, alt=spoken, details=whole))
        return boxes

    def _whole(self, name: str, value: Value, n: int) -> tuple[Detail, ...]:
        """Return the details of a tensor's n-th number, for a click; made once, as most are drawn in many steps."""
        key = (name, id(value), n)  # the trace keeps the value
        if key not in self._numbers:
            self._numbers[key] = (Detail(name, "text", exact(value, n)),)
        return self._numbers[key]
