"""A training loop as an animation: all its steps in the same places, one after the other.

Each step is drawn separately, beginning with the current parameters. Steps share the boxes and arrows for what they
have in common; what only one step has is hidden in the others.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..scene.metric import clean
from ..scene.model import Arrow, Box, Curves, Scene, StoryStep
from ..scene.storyboard import Storyboard
from ..trace.alignment import Aligner
from ..trace.backward_records import BackwardFinished, BackwardStarted, Failed, GradAccumulated, GradChanged
from ..trace.forward_records import NodeCreated
from ..trace.frame import Frame
from ..trace.rounds import Round, rounds_of
from ..trace.schema import Record
from ..trace.tensor_records import TensorWritten
from ..trace.timeline import Timeline
from ..trace.values import Value, format_value, series
from .graph import Graph
from .grouped_graph import planned
from .player_steps import changed_fields, tell
from .value_display import BOX_COLUMNS, norm_of

_MOST = 12  # steps shown of a long training run
_LEAST = 3  # in any case, and points that a curve must have
_NODES = 4_000  # of all that are shown, roughly
_NAMED = 3  # leaves that a caption names
_ADDS = "includes the gradient of {}"
_KINDS = 4  # of steps with different operations, each of which is shown
_CURVES = 3  # losses of one training that are drawn
_LOSS = "loss"  # what one is called that no variable has


class Changing:
    """A graph whose leaves say how they have changed since this step of the training began."""

    began: Mapping[str, Value] = {}  # by leaf
    held: Mapping[str, str] = {}  # leaves whose gradients were not cleared -> which steps these are of
    shows_gradients: bool
    _last: dict[str, Value]
    _changes: dict[str, tuple[Value, Value]]  # by leaf what it is and by how much it has changed

    def _tensor(self, frame: Frame, id: str) -> list[Box]:
        drawn: list[Box] = super()._tensor(frame, id)  # type: ignore[misc]
        if id in self.held and frame.tensors[id].grad is not None:
            drawn[-1].lines += (_ADDS.format(self.held[id]),)
        if changed := self._change(frame, id):
            before, change = changed
            if change is None:
                line = f"changed: its norm was {before.norm:.3g}"
            else:
                by = change.brief(BOX_COLUMNS - 11)
                by = norm_of(change.norm) if by.startswith("from ") else by
                line = f"was {before.brief(BOX_COLUMNS)}, changed by {by}"
                line = line if len(line) <= BOX_COLUMNS else f"changed by {by}"
            drawn[-1].lines += (line,)
        return drawn

    def of_leaves(self, frame: Frame, ids: Collection[str]) -> list[str]:
        """Return what to say about the leaves in a closed group, and how they changed."""
        notes: list[str] = super().of_leaves(frame, ids)  # type: ignore[misc]
        held = [self.held[id] for id in ids if id in self.held and frame.tensors[id].grad is not None]
        if held:
            notes.append(f"{len(held)} grads include those of {held[0]}" if held[1:] else _ADDS.format(held[0]))
        changes = [changed[1] for id in ids if (changed := self._change(frame, id))]
        known = [change.norm for change in changes if change is not None]
        if changes:
            notes.append(f"changed by {norm_of(math.hypot(*known))}" if len(known) == len(changes) else "changed")
        return notes

    def _rest(self, frame: Frame, id: str) -> list[str]:
        """Return what a leaf's `.grad` holds that no arrow brought."""
        rest: list[str] = super()._rest(frame, id)  # type: ignore[misc]
        return [line.replace("from before", "from earlier steps") for line in rest]

    def remarks(self, frame: Frame) -> list[str]:
        """Return what the view adds to captions, and how leaves changed."""
        remarks: list[str] = super().remarks(frame)  # type: ignore[misc]
        for id in self.began:
            value = frame.tensors[id].value if id in frame.tensors else None
            if value is not None and value is not self._last.get(id, self.began[id]):
                self._last[id] = value
                if changed := self._change(frame, id):
                    before, change = changed
                    by = f" by {format_value(change)}" if change is not None else ""
                    remarks.append(f"in this step {frame.describe(id)} changed from {format_value(before)}{by}")
        return remarks

    def _change(self, frame: Frame, id: str) -> tuple[Value, Value | None] | None:
        """Return a leaf when the step began, and by how much it changed, as far as that is known; if it did."""
        before, now = self.began.get(id), frame.tensors[id].value
        if before is None or before == now or before.shape != now.shape:
            return None
        if before.numbers is None or now.numbers is None:
            return before, None
        if id not in self._changes or self._changes[id][0] is not now:
            kind = complex if now.is_complex else float
            with np.errstate(all="ignore"):
                change = Value.of(np.subtract(now.numbers, before.numbers, dtype=kind).reshape(now.shape))
            self._changes[id] = now, change
        return before, self._changes[id][1]

    def opens(self, trace: Timeline) -> int | None:
        """Return the stop where the gradients have reached the leaves, before they are cleared.

        If they weren't cleared before, it is where the last of them has been added.
        """
        begin, over, last, cleared, late = 0, None, None, False, False
        for stop, end in enumerate(trace.steps):
            for event in trace.events[begin:end]:
                if isinstance(event, BackwardFinished | Failed):
                    over, last, cleared, late = stop, stop, False, False
                elif over is not None and isinstance(event, GradChanged) and event.clears:
                    cleared = True
                elif over is not None and isinstance(event, TensorWritten) and event.tensor in self.began:
                    late |= cleared
                    last = last if cleared else stop
            begin = end
        return over if late or self.held else last


@dataclass(slots=True)
class Told:
    """A training step, or what is outside all steps, with its events in the places of all."""

    round: Round
    events: list[Record]
    began: dict[str, Value]
    title: str
    words: str  # what its first caption begins with
    held: dict[str, str]  # leaves whose gradients were not cleared -> which steps these are of
    adds: str = ""  # the words to add if these have grown


def film(
    trace: Timeline,
    kind: type[Graph],
    opened: Collection[str] | str | None = None,
    depth: int | None = None,
    step: int | None = None,
) -> Storyboard | None:
    """Return the steps of a trace's training loop in sequence, drawn by this kind of view; None without a loop.

    The result is also None if one step continues the graph of another. Only some of many steps are shown, among them
    the requested `step`, which comes first. ValueError for a number that no step has, or if the steps can't be shown
    like that.
    """
    rounds, cast = _rounds(trace, step), Aligner()
    chapters = cast_rounds(trace.events, rounds, _chosen(trace.events, rounds, step), cast) if rounds else None
    if chapters is None and step is not None:
        raise ValueError("These steps can't be shown separately: each continues the graph of an earlier one.")
    if chapters is None:
        return None
    plan_view = kind(cast.plan)
    plan = planned(cast.plan, plan_view, opened, depth, cast.uses)
    boards: list[tuple[Told, Storyboard]] = []
    names: dict[str, None] = {}  # what backward starts at, in any step
    for each in chapters:
        part = Timeline(each.events)
        if part.steps:
            view = _changing(kind)(each.events)
            view.began, view.held, view._last, view._changes = each.began, each.held, {}, {}
            names |= dict.fromkeys(view.names)
            boards.append((each, tell(part, view) if plan is None else plan.tell(part, view)))
    board = joined(boards, step, plan_view.title_of([*names]))
    board.curves = losses_of(trace.events, rounds)
    return board if plan is None else plan.fitting(board)


def mark_steps(trace: Timeline, steps: Sequence[StoryStep], ends: Sequence[int], asked: int | None) -> int | None:
    """Note where the training's steps begin in a story whose own end after so many events; where the asked one does."""
    rounds = _rounds(trace, asked)
    start = None
    for each, title in zip(rounds, _titles(rounds), strict=True):
        at = bisect_right(ends, each.begin)
        if at < len(steps) and not steps[at].chapter and ends[at] <= each.end:
            steps[at].chapter = title
            start = at if each.number and each.number == asked else start
    return start


def losses_of(events: Sequence[Record], rounds: Sequence[Round]) -> Curves | None:
    """Return the numbers that the steps' backward passes start at, even of omitted steps; None if there are too few.

    Where gradients are also asked for inside a step (`autograd.grad`), these backwards are not meant.
    """
    places: dict[tuple[str, int], tuple[str, Value]] = {}
    asked = all(event.targets is not None for event in events if isinstance(event, BackwardStarted))
    count = sum(each.number > 0 for each in rounds)
    found: dict[str, list[float | None]] = {}
    told: dict[str, int] = {}
    for each, title in zip(rounds, _titles(rounds), strict=True):
        told |= {clean(title): len(told)} if each.number else {}
        for event in events[each.begin : each.end]:
            for seen in getattr(event, "tensors", ()):
                places[seen.node or seen.id, seen.output_nr] = seen.name or _LOSS, seen.value
            if each.number and isinstance(event, BackwardStarted) and (asked or event.targets is None):
                for root in event.roots:
                    name, value = places.get((root.node, root.output_nr), (_LOSS, None))
                    if value is not None and math.prod(value.shape) == 1 and value.is_known:
                        number = value.values[0] if value.values is not None else value.min
                        row = found.setdefault(name, [None] * count)
                        row[len(told) - 1] = math.nan if number is None else float(number)
    rows = {name: tuple(row) for name, row in found.items() if len(row) - row.count(None) >= _LEAST}
    return Curves(dict(list(rows.items())[:_CURVES]), told) if rows else None


def _rounds(trace: Timeline, asked: int | None) -> list[Round]:
    """Return a trace in iterations; ValueError if the requested one doesn't exist."""
    rounds = rounds_of(trace.events)
    numbers = [each.number for each in rounds if each.number]
    if asked is not None and asked not in numbers:
        last = f"has the steps {numbers[0]:,} to {numbers[-1]:,}" if numbers else "has no training loop"
        raise ValueError(f"There is no training step {asked!r} in this trace, which {last}.")
    return rounds


def _titles(rounds: Sequence[Round]) -> list[str]:
    """`step 3 of 10`, `epoch 2, step 3 (8 of 10)`, or where something lies that is in no step."""
    total = max([each.number for each in rounds], default=0)
    titles = []
    for before, each, after in zip([None, *rounds], rounds, [*rounds[1:], None], strict=False):
        if each.number:
            titles.append(f"{each.name} ({each.number:,} of {total:,})" if each.around else f"{each.name} of {total:,}")
        elif before is not None and after is not None:
            titles.append(f"between {_range_of_steps(before, after, 'and')}")
        else:
            titles.append(f"after {before.name}" if before is not None else f"before {after.name}" if after else "")
    return titles


def _range_of_steps(first: Round, last: Round, word: str = "to") -> str:
    """Return `steps 1 to 3`, `epoch 1, step 1 to epoch 2, step 3`."""
    if first.number == last.number:
        return first.name
    return f"{first.name} {word} {last.name}" if first.around else f"steps {first.number:,} {word} {last.number:,}"


def _changing(kind: type[Graph]) -> Any:
    return type(kind.__name__, (Changing, kind), {})


def _chosen(events: Sequence[Record], rounds: Sequence[Round], step: int | None) -> list[Round]:
    """Return the iterations to show: first, last, some between, the first of each kind, and the requested ones."""
    numbered = [each for each in rounds if each.number]
    kinds: dict[tuple[str, ...], Round] = {}
    nodes = 0
    for each in numbered:
        made = tuple([event.name for event in events[each.begin : each.end] if isinstance(event, NodeCreated)])
        nodes = max(nodes, len(made))
        kinds.setdefault(made, each)
    count = max(_LEAST, min(_MOST, _NODES // max(1, nodes)))
    if len(numbered) <= count:
        return list(rounds)
    last = len(numbered) - 1
    few = min(3, count // 3)  # at each end
    places = {*range(few), *range(len(numbered) - few, len(numbered))}
    between = count - 2 * few
    places |= {few + round((last - 2 * few) * n / (between + 1)) for n in range(1, between + 1)}
    chosen = [numbered[at] for at in places] + list(kinds.values())[:_KINDS]
    chosen += [each for each in numbered if each.number == step]
    beside = {id(each) for each in rounds if not each.number and each in (rounds[0], rounds[-1])}
    wanted = {each.begin for each in chosen}
    return [each for each in rounds if (each.number and each.begin in wanted) or id(each) in beside]


def cast_rounds(
    events: Sequence[Record], rounds: Sequence[Round], chosen: Collection[Round], cast: Aligner
) -> list[Told] | None:
    """Return the chosen iterations separately; None if one needs nodes of another."""
    frame, told = Frame(), []
    others: set[str] = set()
    wanted = {each.begin for each in chosen}
    left: list[Round] = []
    holding = _Holding(frame)
    before: Round | None = None  # the last step of the training
    for each, title in zip(rounds, _titles(rounds), strict=True):
        part = events[each.begin : each.end]
        if each.begin in wanted:
            taken = cast.take(part, frame, each.depth, others)
            if taken is None:
                return None
            seen = [each for event in taken for each in getattr(event, "tensors", ())]
            began = {each.id: each.value for each in reversed(seen) if each.node is None and each.requires_grad}
            words = f"{title[:1].upper()}{title[1:]}"
            if left and each.number:
                words = f"{words[:-1]}; {_left(left)})" if each.around else f"{words} ({_left(left)})"
            words += "."
            left = [] if each.number else left
            told.append(Told(each, taken, began, title, words, {}))
        elif each.number:
            left.append(each)
        held: dict[str, str] = {}
        for event in part:
            if each.begin in wanted and before is not None and isinstance(event, GradAccumulated):
                if (first := holding.since(event.tensor)) is not None:
                    held[event.tensor] = _range_of_steps(first, before)
            event.apply(frame)
            if each.number and isinstance(event, NodeCreated) and not event.found:
                others.add(event.node)
        holding.look()
        if held:
            told[-1].held = {id: held[id] for id in holding.in_order(held)}
            kept = _not_cleared(frame, told[-1].held)
            told[-1].words += f" {kept}"
            told[-1].adds = "" if any(isinstance(event, Failed) for event in part) else kept
        if each.number:
            holding.end(each)
            before = each
    return told


class _Holding:
    """Since which step each leaf has had a gradient; only what the frame says has changed is looked at."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._places: dict[str, int] = {}  # of what was looked at, in that order
        self._new: dict[str, None] = {}  # which have one since the last end of a step
        self._since: dict[str, Round] = {}

    def look(self) -> None:
        """Note what has changed, and empty the frame's list of that."""
        for kind, id in self._frame.touched:
            if kind != "tensor":
                continue
            state = self._frame.tensors[id]
            self._places.setdefault(id, len(self._places))
            if state.role != "leaf" or state.grad is None or state.grad.norm == 0:  # zeros add nothing
                self._new.pop(id, None)
                self._since.pop(id, None)
            elif id not in self._since:
                self._new[id] = None
        self._frame.touched = {}

    def end(self, step: Round) -> None:
        """End a step."""
        self._since |= dict.fromkeys(self._new, step)
        self._new = {}

    def since(self, leaf: str) -> Round | None:
        """Return the first step of which a leaf still has its gradient, if it had one when the last step ended."""
        self.look()
        return self._since.get(leaf)

    def in_order(self, leaves: Collection[str]) -> list[str]:
        """Return these in the order in which they were first looked at."""
        return sorted(leaves, key=self._places.__getitem__)


def _not_cleared(frame: Frame, held: Mapping[str, str]) -> str:
    grads = [frame.grad_of(id) for id in held]
    which = series(grads) if len(grads) <= _NAMED else f"{len(grads)} gradients"
    return f"Backward adds to {which}, still there from {next(iter(held.values()))}."


def _left(rounds: Sequence[Round]) -> str:
    """Return `steps 4 to 499 are left out; show(step=4) shows step 4`."""
    first, last = rounds[0], rounds[-1]
    verb = "is" if first is last else "are"
    return f"{_range_of_steps(first, last)} {verb} left out; show(step={first.number}) shows {first.name}"


# One storyboard of several.


def joined(boards: Sequence[tuple[Told, Storyboard]], step: int | None, title: str) -> Storyboard:
    """Return the steps of all, each beginning with what isn't there yet."""
    boxes: dict[str, Box] = {}
    arrows: dict[str, Arrow] = {}
    now: dict[str, Any] = {}
    steps: list[StoryStep] = []
    runs: dict[str, list[tuple[int, int, str]]] = {}
    start = None
    forgotten = False
    for told, board in boards:
        begin = len(steps)
        names = {id: _name(arrow, arrows) for id, arrow in board.scene.arrows.items()}
        here = dict(board.scene.boxes)
        ways = {names[id]: replace(arrow, id=names[id]) for id, arrow in board.scene.arrows.items()}
        for number, one in enumerate(board.steps):
            mine = replace(one)
            ended = {names[id]: fields for id, fields in one.arrows.items()}
            mine.boxes = _told_again(here, one.boxes, now, boxes, number == 0)
            mine.arrows = _told_again(ways, ended, now, arrows, number == 0)
            if number == 0:
                mine.chapter, mine.caption = told.title, f"{told.words} {one.caption}"
            elif number == board.start and told.adds:
                mine.caption = f"{told.adds} {one.caption}"
            steps.append(mine)
        for group, several in board.runs.items():
            for first, last, words in several:
                words = words if first else f"{told.words} {words}"
                runs.setdefault(group, []).append((first + begin, last + begin, words))
        # At the end of the last step; what was forgotten is seen in the first that adds to the gradients of another.
        if told.round.number == step if step is not None else told.round.number and not forgotten:
            start, forgotten = begin + board.start, bool(told.held)
    used = {box.region for box in boxes.values()}
    for id in [id for id, box in boxes.items() if box.kind == "region" and id not in used]:
        for one in (boxes, *(each.boxes for each in steps)):
            one.pop(id, None)
    first = boards[0][1]
    scene = Scene(title, boxes, arrows)
    return Storyboard(scene, steps, title, start, opened=boards[0][1].opened, runs=runs, legend=first.legend)


def _name(arrow: Arrow, known: Mapping[str, Arrow]) -> str:
    """Return an arrow's id, or a new one if the id belongs to an arrow between other boxes."""
    id, ends = arrow.id, (arrow.source, arrow.target, arrow.kind)
    while id in known and (known[id].source, known[id].target, known[id].kind) != ends:
        id += "~"
    return id


def _told_again(
    here: dict[str, Any], changes: Mapping[str, dict[str, Any]], now: dict[str, Any], union: dict[str, Any], first: bool
) -> dict[str, dict[str, Any]]:
    """Return what a step of one storyboard changes in all of them."""
    for id, fields in changes.items():
        here[id] = replace(here[id], **fields)
    for id in here if first else changes:  # a box lies in one region, though more backwards may come before its own
        if getattr(here[id], "region", None) != getattr(union.get(id, here[id]), "region", None):
            here[id] = replace(here[id], region=union[id].region)
    if not first:
        return changed_fields([here[id] for id in changes], now, union)
    # What comes later, or not at all, is not there, whatever it was.
    gone = dict.fromkeys(id for id in union if id not in here or here[id].state == "future")
    drawn = [each for id, each in here.items() if id not in gone]
    return changed_fields([*drawn, *(replace(now[id], state="future") for id in gone)], now, union)
