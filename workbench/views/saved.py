"""The saved-tensor inspector: for one node after the other what it saves for backward, and what becomes of it.

`Survey` goes through the trace first: which node the inspector chooses at each step, how much each saves, and how much
room everything takes. `kept_at_a_glance` shows all saved tensors in one table. Both show the largest first.
"""

from __future__ import annotations

import math
import textwrap
from bisect import bisect_left, bisect_right, insort
from collections import ChainMap, Counter
from collections.abc import MutableMapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..scene.labels import CHARACTER, TITLE_CHARACTER, clean, columns, cut, cut_inside, told_apart
from ..scene.model import Box, BoxKind, BoxState, Detail, Scene, StoryStep, changed
from ..scene.storyboard import Storyboard
from ..trace.compare import rounds_of
from ..trace.facts import Attribute, Phase, SourceLine
from ..trace.frame import Frame
from ..trace.records import (
    BackwardStarted,
    CheckpointDropped,
    CheckpointKept,
    Failed,
    NodeCreated,
    NodesGone,
    NodeStarted,
    SavedFreed,
    TensorWritten,
    as_kept,
    is_slot,
    tensor_of,
)
from ..trace.schema import Record
from ..trace.timeline import Timeline
from ..trace.values import Value, series
from .hooks_told import AGAIN
from .memory import bytes_said, kept_of, places_of
from .player_steps import NOTHING, opening
from .training import losses_of, mark_steps
from .value_display import COLUMNS, ROWS, exact, grid_of, pages_of, sentence_of, summary_of

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
    still = _glance(board.survey, title)
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
            state, text = "running" if lit else "idle", _keep_nothing(len(self._nothing))
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


_INPUT = (
    "An input stored as an attribute: in-place changes aren't detected, so the gradient can be silently wrong, "
    "and it isn't freed after backward. Use ctx.save_for_backward."
)
_OUTPUT = (
    "An output stored as an attribute: output and node reference each other. That cycle isn't freed after "
    "backward; only the garbage collector can free it. Use ctx.save_for_backward."
)
_OTHER = (
    "A tensor stored as an attribute: it isn't freed after backward, in-place changes aren't detected, "
    "and hooks and checkpoints don't see it. Use ctx.save_for_backward."
)
_ARRAY = "An array stored as an attribute: it is freed only with the whole graph, and changes to it aren't detected."
_PLAIN = "Not a tensor, so an attribute of ctx is the right place for it."


def kept_by(frame: Frame, made: NodeCreated) -> str:
    """Return what a new node saves: `saves x and y`."""
    names = [as_kept(saved, slot_name(frame, made.node, n)) for n, saved in enumerate(made.saved)]
    wrong = [f"ctx.{each.name}" for each in made.attributes if each.tensor is not None]
    on_ctx = (
        f", and stores {series(wrong)} as {'attributes' if wrong[1:] else 'an attribute'}, which is unsafe"
        if wrong
        else ""
    )
    return f"saves {series(list(dict.fromkeys(names))) or 'nothing'}{on_ctx}"


def counted_by_kind(made: NodeCreated) -> str:
    """Return how many saved tensors are held, packed, or left to be computed again: `2 saved + 1 slot`."""
    kinds = Counter("slot" if is_slot(each) else "packed" if each.packed else "saved" for each in made.saved)
    kinds["slots"] = kinds.pop("slot") if kinds["slot"] > 1 else 0
    return " + ".join(f"{count} {kind}" for kind, count in kinds.items() if count)


def slot_name(frame: Frame, node: str, n: int) -> str:
    """Return a saved tensor's name in the formula, and its variable: `self (x)`, `saved[0] (x)`."""
    saved = frame.nodes[node].made.saved[n]
    known = tensor_of(saved)
    name = saved.name.replace("saved_tensors", "saved")
    variable = frame.called(known) if known else None
    return f"{name} ({variable})" if variable not in (None, name) else name


def slot_rows(frame: Frame, node: str, n: int, wide: int = COLUMNS) -> list[str]:
    """Return what to say about a saved tensor: who saved it, its versions, its hook, and what isn't drawn of it.

    `wide` is how many columns are.
    """
    state = frame.nodes[node]
    saved, value = state.made.saved[n], state.saved[n]
    rows = []
    if state.made.custom and (line := _saving_line(state.made)):
        rows.append(f"saved by {line}")
    if saved.tensor is not None:
        now = frame.version(saved.tensor)
        since = " and now" if now == saved.version else f", at version {now} now"
        since = " (the write that follows makes it that)" if now < saved.version else since
        rows.append(f"at version {saved.version} when saved{since}")
    elif saved.packed is None:
        rows.append("a number or a private copy")
    if is_slot(saved):
        rows.append(AGAIN)
    elif saved.packed is not None:
        source = saved.packed.source
        where = f" ({source.file}, line {source.line})" if source else ""
        packed = "its result is saved" if value else f"it returned a {saved.packed.kept}, which is saved"
        rows.append(f"packed by the hook {saved.packed.hook}{where}: {packed}")
    if value is not None and value.values is None:
        rows.append(summary_of(value))
    elif value is not None and len(value.shape) > 1 and value.shape[-1] > wide:
        rows.append(f"{wide} of {value.shape[-1]} columns are drawn; the whole table is in the details")
    return rows


def attribute_rows(frame: Frame, made: NodeCreated) -> list[tuple[str, str, bool]]:
    """Return each attribute: what it is, what to say about it, and whether something is wrong."""
    return [_attribute(frame, made, each) for each in made.attributes]


def _attribute(frame: Frame, made: NodeCreated, each: Attribute) -> tuple[str, str, bool]:
    if each.tensor is None:
        if each.value is None:
            return f"ctx.{each.name} = {each.text}", _PLAIN, False
        return f"ctx.{each.name} = an array, {each.value.kind}", _ARRAY, True
    tensor = frame.tensors[each.tensor]
    origin = _OTHER
    if tensor.node == made.node:
        origin = _OUTPUT
    elif any(arg.tensor == each.tensor for arg in made.args):
        origin = _INPUT
    title = f"! ctx.{each.name} = {frame.called(each.tensor)}, {tensor.value.kind}"
    return title, origin, True


def _saving_line(made: NodeCreated) -> str:
    """Return the line of a Function that calls save_for_backward."""
    lines = [line.strip() for code in made.code for line in code.text.splitlines()]
    return next((line for line in lines if "save_for_backward(" in line), "")


SLOTS = 3  # saved tensors that are shown of one node
ATTRIBUTES = 6  # attributes that are shown of one node
WIDE = 534  # px of the panel beside the list: with it a picture fits into a notebook's page
PAD = 8  # px around a heat map
GAP = 2  # px between its cells
_LEAST = 56  # px of a heat map's cell: room for -0.1234
TEXT = int((WIDE - 2 * PAD) // CHARACTER)  # columns of the panel


def wrapped(texts: Sequence[str]) -> tuple[str, ...]:
    """Texts on lines that the panel has room for."""
    return tuple(line for text in texts for line in textwrap.wrap(clean(text), TEXT))


@dataclass(slots=True)
class Life:
    """At which steps (from 1) a node read what it had saved, freed it and failed; at which (from 0) it is chosen."""

    read: int | None = None
    freed: int | None = None
    failed: int | None = None
    chosen: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Choice:
    """A step of the inspector: the events up to it, the chosen node, and what is said."""

    end: int
    node: str
    captions: list[str]
    phase: Phase
    source: SourceLine | None
    whole: bool = False  # whether it is about the node that keeps the most of all


class Survey:
    """The nodes in order, the steps, what each saves, and for each place in the panel the longest text there.

    Nodes are sorted by `rank`: those that add the most memory come first, then those that save the most.
    """

    def __init__(self, trace: Timeline) -> None:
        events = list(trace.events)
        self.made = [event for event in events if isinstance(event, NodeCreated)]
        self.lives = {node.node: Life() for node in self.made}
        self.choices: list[Choice] = []
        self.rows: dict[str, NodeRow] = {}
        self.rank: dict[str, tuple[int, int, int]] = {}
        self.counted: dict[str, Counted] = {}
        self._kept: list[tuple[int, int, int]] = []  # the ranks of what is still kept
        self._new = False  # whether anything was kept since the last step that is about all
        self.facts, self.attributes = [0] * SLOTS, [0] * ATTRIBUTES  # lines of text
        self._values: list[list[Value]] = [[] for _ in range(SLOTS)]
        self._frame = Frame()
        begin, backward = 0, False
        for end in trace.steps:
            starts = next((n for n in range(begin, end) if isinstance(events[n], BackwardStarted)), None)
            if starts is not None:  # the same step may find what was there before the recording
                self._step(events[begin:starts], starts)
                self._whole(starts)
                begin, backward = starts, True
            self._step(events[begin:end], end)
            begin = end
        if not backward:
            self._whole(begin)
        self.dies = self._end(events)
        self._measure()

    def _step(self, events: Sequence[Record], end: int) -> None:
        frame, number = self._frame, len(self.choices) + 1
        chosen: str | None = None
        captions: list[str] = []
        phase: Phase = "forward"
        source: SourceLine | None = None
        for event in events:
            event.apply(frame)
            caption = ""
            if isinstance(event, NodeCreated):
                self._see(event)
                if not event.found:
                    caption, chosen, source = f"{event.name} {kept_by(frame, event)}", event.node, event.source
            elif isinstance(event, TensorWritten) and (late := frame.stale_holders(event.tensor)):
                caption, chosen, source = event.sentence(frame), late[0], event.source
            elif isinstance(event, NodeStarted) and event.node in self.lives:
                chosen, phase, source = event.node, "backward", frame.cursor
                life, state = self.lives[chosen], frame.nodes[chosen]
                reads = any(not is_slot(saved) for saved in state.made.saved)
                if state.made.saved and not state.freed:
                    life.read = number
                caption = f"{state.made.name} runs{' and reads its saved tensors' if reads else ''}"
            elif isinstance(event, CheckpointKept | CheckpointDropped) and frame.working is not None:
                caption = event.sentence(frame)
            elif isinstance(event, SavedFreed) and event.node in self.lives:
                self.lives[event.node].freed = number
                caption = "they are freed" if chosen == event.node else f"{frame.called(event.node)} frees its own"
            elif isinstance(event, Failed) and event.node in self.lives:
                self.lives[event.node].failed = number
                chosen, phase, caption = event.node, "backward", event.sentence(frame)
            captions += [caption] if caption and caption not in captions else []
        if chosen is not None:
            self.lives[chosen].chosen.append(number - 1)
            self.choices.append(Choice(end, chosen, captions, phase, source))

    def _whole(self, end: int) -> None:
        """Choose the node that saves the most of all, if anything was saved since the last choice."""
        nodes = self._frame.nodes
        self._kept = [rank for rank in self._kept if nodes[self.made[rank[2]].node].keeps]
        if not self._new or not self._kept:
            return
        self._new = False
        made = self.made[min(self._kept)[2]]
        if not self.choices or self.choices[-1].node != made.node:
            caption = f"Of all nodes, {made.name} holds the most: {self.rows[made.node].amount}"
            self.lives[made.node].chosen.append(len(self.choices))
            self.choices.append(Choice(end, made.node, [caption], "forward", made.source))
        self.choices[-1].whole = True

    def _end(self, events: Sequence[Record]) -> bool:
        """Add one more step, and say so, if nodes are gone after the last one with what they had saved."""
        begin = self.choices[-1].end if self.choices else 0
        deaths = [event for event in events[begin:] if isinstance(event, NodesGone)]
        nodes = [self._frame.nodes[node] for event in deaths for node in event.nodes]
        late = [node.made.node for node in nodes if node.made.saved and not node.freed]
        if late:
            chosen, phase = late[-1], self.choices[-1].phase
            caption = NodesGone(tuple(late)).sentence(self._frame)
            self.lives[chosen].chosen.append(len(self.choices))
            self.choices.append(Choice(len(events), chosen, [caption], phase, None))
        return bool(late)

    def keeps(self, made: NodeCreated) -> bool:
        """Return True if a node saves anything at all."""
        return bool(made.saved or made.attributes)

    def _see(self, made: NodeCreated) -> None:
        """Note a new node, what it saves, and how many lines of text it needs."""
        # What a write through a view keeps counts with the node that is run by that of the write.
        row = _row(self._frame, made, self.counted if made.runs is None else ChainMap({}, self.counted))
        self.rows[made.node] = row
        rank = self.rank[made.node] = -row.own, -row.size, len(self.rank)
        if self.keeps(made):
            self._kept.append(rank)
            self._new = True
        for n, value in enumerate(self._frame.nodes[made.node].saved[:SLOTS]):
            if value is not None:
                self._values[n].append(value)
            lines = 2 + len(wrapped(slot_rows(self._frame, made.node, n)))  # with its kind, and with what became of it
            self.facts[n] = max(self.facts[n], lines)
        for n, (_, origin, _) in enumerate(attribute_rows(self._frame, made)[:ATTRIBUTES]):
            self.attributes[n] = max(self.attributes[n], len(wrapped([origin])))

    def _measure(self) -> None:
        """Compute the sizes of heat maps: px of a cell and of row names, columns, and the rows in each place."""
        grids = [row for values in self._values for value in values for row in grid_of(value)]
        texts = [columns(text) for row in grids for text, _ in row.cells]
        names = max((columns(row.label) for row in grids), default=0)
        self.label = names * CHARACTER + 8 if names else 0.0
        self.cell = max(_LEAST, math.ceil(max(texts, default=0) * CHARACTER) + 5)
        self.wide = min(COLUMNS, int((WIDE - 2 * PAD - self.label) // (self.cell + GAP)))
        self.tall = [max((_height(value, self.wide) for value in values), default=0) for values in self._values]


def _height(value: Value, wide: int) -> int:
    """Return the rows of a value's heat map."""
    if not value.values:
        return 0
    rows = -(-len(value.values) // wide) if len(value.shape) < 2 else math.prod(value.shape[:-1])
    return min(ROWS, rows)


_ROWS = 24  # nodes shown
_LINE = 22  # px of a node's line
_TOP = 58  # px above the first
_NAME = 28  # columns at most
_CODE = 34  # columns at most
_KEPT = 46  # columns at most
_GAP = 8  # px before the bars
_BAR = 150  # px of the largest bar
_EACH = "Each node with its saved tensors, largest first, the bytes that they add, and its line:"


@dataclass(slots=True, frozen=True)
class Counted:
    """Memory that is kept: its bytes, whether it lives anyway, and the first node that keeps it."""

    size: int
    anyway: bool
    node: str


@dataclass(slots=True)
class NodeRow:
    """A node: what it saves, the bytes of that, and the new bytes, not saved before and not held anyway."""

    made: NodeCreated
    names: list[str] = field(default_factory=list)
    size: int = 0
    own: int = 0
    anyway: bool = True  # whether all of it lives anyway

    @property
    def amount(self) -> str:
        """Return how much it adds to the memory."""
        if self.own:
            return bytes_said(self.own)
        if not self.size:
            return counted_by_kind(self.made) or "only attributes of ctx"
        return "held anyway" if self.anyway else "adds nothing"


def kept_at_a_glance(trace: Timeline, title: str) -> Storyboard:
    """Return the table of all nodes of a trace."""
    return _glance(Survey(trace), title)


def _glance(survey: Survey, title: str) -> Storyboard:
    return Storyboard(Scene(title, {box.id: box for box in _boxes(survey)}))


def _row(frame: Frame, made: NodeCreated, counted: MutableMapping[str, Counted]) -> NodeRow:
    row, mine = NodeRow(made), set[str]()
    for n, (saved, value) in enumerate(zip(made.saved, frame.nodes[made.node].saved, strict=True)):
        memory, size, anyway = kept_of(frame, f"{made.node}.{n}", saved, value)
        first = counted.setdefault(memory, Counted(size, anyway, made.node))
        also = ", held anyway" if first.anyway else ""
        also = also or f", counted with {frame.called(first.node)}" * (first.node != made.node)
        kind = f" {value.shape}" if value is not None else ""
        row.names.append(f"{slot_name(frame, made.node, n)}{kind}{also}")
        row.size += size * (memory not in mine)
        row.own += size * (memory not in mine and first.node == made.node and not first.anyway)
        row.anyway &= first.anyway
        mine.add(memory)
    return row


def _keep_nothing(count: int) -> str:
    return f"{count:,} {'nodes save' if count > 1 else 'node saves'} nothing"


def _boxes(survey: Survey) -> list[Box]:
    # What was found after the last stop, in a trace that was cut there, has no row.
    all_ = [survey.rows[made.node] for made in survey.made if made.runs is None and made.node in survey.rows]
    rows = sorted((row for row in all_ if row.names), key=lambda row: survey.rank[row.made.node])
    size, anyway = (
        sum(each.size for each in survey.counted.values() if each.anyway is lives) for lives in (False, True)
    )
    head = f"{len(rows)} of {len(all_)} nodes save{'s' * (len(rows) == 1)} {bytes_said(size)} for backward"
    boxes = [Box("total", "heading", head, place=(0, 0, columns(head) * TITLE_CHARACTER + 8, 24))]
    top = _TOP + _LINE * bool(anyway)
    if anyway:
        text = f"They also need {bytes_said(anyway)} of parameters and inputs, which are held anyway"
        boxes.append(_text("anyway", "text", text, 0, 24))
    shown = rows[: _ROWS - (len(rows) > _ROWS)]
    places = places_of(row.made for row in rows)
    called = [clean(places.get(row.made.node, row.made.name)) for row in shown]
    short = told_apart(called, _NAME)
    table = [
        ["node", *[short[name] for name in called]],
        ["saves", *[cut(clean(series(row.names)), _KEPT) for row in shown]],
        ["bytes", *[bytes_said(row.own) for row in shown]],
        ["line", *[cut(clean(row.made.source.text), _CODE) if row.made.source else "" for row in shown]],
    ]
    wide = [max(map(columns, texts)) for texts in table]
    lines = ["\u00a0\u00a0".join(map(_padded, texts, wide)) for texts in zip(*table, strict=True)]
    boxes += [_text("head", "text", lines[0], 0, top - _LINE, _EACH)] if shown else []
    x = (sum(wide) + 2 * len(wide)) * CHARACTER + _GAP
    largest = max([row.size for row in shown], default=0)
    for n, (row, line) in enumerate(zip(shown, lines[1:], strict=True)):
        y = float(top + _LINE * n)
        boxes.append(_text(f"node{n}", "line", line, 0, y, _alt_of(row, called[n])))
        if row.size:
            own, whole = _BAR * row.own / largest, _BAR * row.size / largest
            place = (x + own, y + 3, max(2.0, whole - own), _LINE - 6.0)
            boxes += [Box(f"rest{n}", "cell", "", place=place, state="over")] if whole > own else []
            place = (x, y + 3, max(2.0, own), _LINE - 6.0)
            boxes += [Box(f"own{n}", "bar", "", place=place)] if own else []
    y = float(top + _LINE * len(shown))
    if left := len(rows) - len(shown):
        most = rows[len(shown)].own
        text = f"… and {left:,} more, {f'each with at most {bytes_said(most)}' if most else 'which add nothing'}"
        boxes.append(_text("more", "text", text, 0, y))
        y += _LINE
    if nothing := len(all_) - len(rows):
        boxes.append(_text("nothing", "text", _keep_nothing(nothing), 0, y))
    return boxes


def _padded(text: str, wide: int) -> str:
    return text.replace(" ", "\u00a0") + "\u00a0" * (wide - columns(text))


def _text(id: str, kind: BoxKind, text: str, x: float, y: float, alt: str = "") -> Box:
    return Box(id, kind, text, place=(x, y, columns(text) * CHARACTER + 8, 20), alt=alt)


def _alt_of(row: NodeRow, called: str) -> str:
    source, name = row.made.source, row.made.name
    line = f" (line {source.line}: {source.text})" if source else ""
    who = name if called == clean(name) else f"{called} ({name})"
    return f"{who} saves {bytes_said(row.own)}: {series(row.names)}{line}"
