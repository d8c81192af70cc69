"""How much of a picture a notebook keeps: all of it, or as much as there is room for.

What is innermost goes first: what clicks show, the longest before the others; then what closed groups hold, from the
inside out; then steps in the middle. What is gone is said where it was.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from math import inf
from typing import Any

from .folding import Folding
from .model import Box, Detail, Scene, StoryStep, changed, paths, with_changes
from .sizes import in_group
from .storyboard import Storyboard, stops

HOW = 'picture.save("picture.html") keeps all of it'
LEFT_OUT = f"Trimmed to keep the notebook small: {HOW}."
_MANY = 20_000  # changes in all steps: a story of more is not told whole to find that it is too long
_LONG = 200  # characters of a detail: it goes before the shorter ones
_ENDS = (400, 200, 100, 50, 25, 12, 6, 3)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is kept of a picture.

    `details` with at most this many characters (0: none), groups open down to this `depth`, and this many `steps` at
    each end and around where a player opens, without the boxes that only occur in between, or are gone when it opens.
    """

    details: float = inf
    depth: float = inf
    steps: float = inf


def shortened(board: Storyboard, tell: Callable[[Storyboard], str], room: int) -> str | None:
    """Return as much of the storyboard as `tell` has room for; None if not even its ends fit."""
    plans = _plans(board)

    @cache
    def told(n: int) -> str:
        return tell(cut(board, plans[n]))

    if sum(len(step.boxes) + len(step.arrows) for step in board.steps) <= _MANY and len(told(0)) <= room:
        return told(0)
    n = bisect_left(range(len(plans)), True, key=lambda n: len(told(n)) <= room)
    return told(n) if n < len(plans) else None


def _plans(board: Storyboard) -> list[Plan]:
    """Return plans, each of which keeps less than the one before."""
    deepest = max(_depths(board).values(), default=0)
    return [
        *(Plan(details) for details in (inf, _LONG, 0)),
        *(Plan(0, depth) for depth in range(deepest - 1, -1, -1)),
        *(Plan(0, 0, steps) for steps in _ENDS if 2 * steps < len(board.steps)),
    ]


def _depths(board: Storyboard) -> dict[str, int]:
    """Return how many closed groups each initially closed group is nested in, itself counted."""
    closed = board.folding.groups.difference(board.opened)
    inside = paths(board.scene)
    return {id: 1 + sum(outer in closed for outer in inside[id]) for id in closed}


def cut(board: Storyboard, plan: Plan) -> Storyboard:
    """Return as much of a storyboard as the plan keeps, everything in its old place."""
    return board if plan == Plan() else _Cutting(board, plan).storyboard()


class _Cutting:
    """What is removed, and the new numbers of the remaining steps."""

    def __init__(self, board: Storyboard, plan: Plan) -> None:
        self._lost = {id for id, depth in _depths(board).items() if depth > plan.depth}
        self._board, self._plan = board, plan = shut(board, self._lost) if self._lost else board, plan
        self._runs = _runs(board, plan.steps)
        self._place = {old: new for new, run in enumerate(self._runs) for old in run}
        boxes, arrows = board.scene.boxes, board.scene.arrows
        crowd = _crowd(board, self._runs) if plan.steps < inf else set[str]()
        self._hidden = crowd | {id for id, box in boxes.items() if box.holder in crowd}
        self._arrows = {id: arrow for id, arrow in arrows.items() if not {arrow.source, arrow.target} & self._hidden}
        self._details: dict[int, Detail] = {}  # by identity: what is the same stays so

    def storyboard(self) -> Storyboard:
        board = self._board
        boxes: dict[str, Box] = {}
        for id, box in board.scene.boxes.items():
            if id not in self._hidden:
                fields = self._fields({"details": box.details, "goto": box.goto}, id)
                boxes[id] = with_changes(box, {"region": None if box.region in self._hidden else box.region, **fields})
        steps = [self._step(run) for run in self._runs]
        scene, start = Scene(board.title, boxes, self._arrows), self._place.get(board.start)
        runs = {
            group: [(self._place[first], self._place[last], sentence) for first, last, sentence in told]
            for group, told in board.runs.items()
            if group not in self._hidden
        }
        opened = board.opened - self._hidden
        order = [part & opened for part in board.order]
        short = Storyboard(scene, steps, board.title, start, None, opened, runs, board.legend, order, board.curves)
        short.take_layout_of(board)
        return short

    def _step(self, run: range) -> StoryStep:
        steps = self._board.steps
        step = replace(steps[run[-1]], boxes={}, arrows={})
        for old in run:
            for id, fields in steps[old].boxes.items():
                if id not in self._hidden:
                    step.boxes[id] = step.boxes.get(id, {}) | self._fields(fields, id)
            for id, fields in steps[old].arrows.items():
                if id in self._arrows:
                    step.arrows[id] = step.arrows.get(id, {}) | fields
        if len(run) > 1:
            step.caption, step.cursor, step.stands = self._gap(run), None, len(run)
            step.place, step.chapter = None, self._begun(run)
        if len(run) > 1 or step.focus in self._hidden:
            step.focus = None
        if step.place in self._hidden:
            step.place = None
        return step

    def _gap(self, run: range) -> str:
        """Return what is left out: whole parts of an animation, or steps."""
        hidden = len(self._hidden)
        begun = [chapter for old in run if (chapter := self._board.steps[old].chapter)]
        which = f"{begun[0][:1].upper()}{begun[0][1:]}" if begun else f"Steps {run[0] + 1:,} to {run[-1] + 1:,} are"
        which += f" to {begun[-1]} are" if len(begun) > 1 else " is" if begun else ""
        few = "1 box that comes" if hidden == 1 else f"{hidden:,} boxes that come"
        more = f", and {few} in between" if hidden else ""
        return f"{which} left out to keep the notebook small{more}: {HOW}."

    def _begun(self, run: range) -> str:
        """Return the part of an animation that begins in these steps, if it goes on after them."""
        after = self._board.steps[run[-1] + 1 : run[-1] + 2]
        begun = [chapter for old in run if (chapter := self._board.steps[old].chapter)]
        return begun[-1] if begun and after and not after[0].chapter else ""

    def _fields(self, fields: dict[str, Any], owner: str) -> dict[str, Any]:
        """Return the fields of a box as they are now."""
        kept = dict(fields)
        if not self._plan.details:
            kept |= {"details": (_NO_DETAILS,)} if kept.get("details") else {}
        elif "details" in kept:
            details = tuple([self._detail(each) for each in kept["details"]])
            kept["details"] = details
        if "details" in kept and owner in self._lost:
            kept["details"] = (*kept["details"], _INSIDE)
        if kept.get("goto") is not None:
            kept["goto"] = self._place[kept["goto"]]
        return kept

    def _detail(self, detail: Detail) -> Detail:
        """Return a section of a box's details as it is now."""
        key = id(detail)
        if key not in self._details:
            self._details[key] = _detail(detail, self._plan.details)
        return self._details[key]


_INSIDE = Detail("Inside", "text", LEFT_OUT)
_NO_DETAILS = Detail("Details", "text", LEFT_OUT)


def _detail(detail: Detail, longest: float) -> Detail:
    """Return a section of a box's details; what is too long is left out, with a note."""
    if detail.kind != "value":
        return detail if len(str(detail.body)) <= longest else Detail(detail.heading, "text", LEFT_OUT)
    body = detail.body
    return detail if len(str(body.get("text"))) <= longest else replace(detail, body={**body, "text": LEFT_OUT})


def _runs(board: Storyboard, ends: float) -> list[range]:
    """Return the steps to keep, and between them the ranges that are left out as one."""
    count = len(board.steps)
    near = int(min(ends, count))
    around = range(max(0, board.start - near // 2), min(count, board.start + near // 2 + 1))
    marks = sorted({*range(near), *range(count - near, count), *around})
    runs = [range(mark, mark + 1) for mark in marks[:1]]
    for before, mark in pairwise(marks):
        runs += [range(before + 1, mark)] * (mark > before + 1) + [range(mark, mark + 1)]
    return runs


def _crowd(board: Storyboard, runs: Iterable[range]) -> set[str]:
    """Return the boxes that appear in omitted steps and aren't mentioned later.

    Where it opens they are not there, or what they stand for is gone: that of all rounds but the last, say.
    """
    begins, opens = (board.at(k) for k in (-1, board.start))
    there, now = ({id for id, box in each.boxes.items() if box.state != "future"} for each in (begins, opens))
    gone = {id for id in now if opens.boxes[id].state == "over"}
    results = {arrow.target for arrow in opens.arrows.values() if arrow.source in gone}
    there |= now - gone - {id for id in results if id in now and opens.boxes[id].kind == "output"}
    coming: set[str] = set()
    for run in runs:
        changes = [(id, fields) for old in run for id, fields in board.steps[old].boxes.items()]
        if len(run) == 1:
            coming -= {id for id, _ in changes}
            there |= {id for id, _ in changes}
        else:
            coming |= {id for id, _ in changes} - there
    regions = {box.region for id, box in board.scene.boxes.items() if id not in coming}
    return coming - regions


def shut(board: Storyboard, groups: Collection[str]) -> Storyboard:
    """Return the storyboard with these groups closed for good: each is one box that doesn't open."""
    folding = Folding(board.scene, board.folding.groups.difference(groups))
    members = {id: one for one, several in folding.members.items() for id in several}
    now = Scene(board.title, dict(board.scene.boxes), dict(board.scene.arrows))
    # A chart's substitute for a row's contents is visible while the row is closed.
    boxes = {id: box for id, box in now.boxes.items() if folding.visible_box[id] == id or box.instead in folding.frames}
    scene = Scene(board.title, boxes, dict(folding.seen(now).arrows))
    drawn = dict(scene.arrows)
    steps: list[StoryStep] = []
    place: dict[int, int] = {}
    for first, last, sentence in stops(board.steps, folding, board.runs):
        step = replace(board.steps[last], caption=sentence, boxes={}, arrows={})
        step.chapter = next((each.chapter for each in board.steps[first : last + 1] if each.chapter), "")
        for old in range(first, last + 1):
            place[old] = len(steps)
            for id, fields in board.steps[old].boxes.items():
                if id in boxes:
                    step.boxes[id] = step.boxes.get(id, {}) | fields
            for id, fields in board.steps[old].arrows.items():
                now.arrows[id] = with_changes(now.arrows[id], fields)
        moved = {members[old] for n in range(first, last + 1) for old in board.steps[n].arrows if old in members}
        for id in [id for id in scene.arrows if id in moved]:
            looks = folding.arrow(now, id)
            step.arrows[id] = changed(drawn[id], looks)
            drawn[id] = looks
        for name in ("focus", "place"):
            if getattr(step, name) in now.boxes:
                setattr(step, name, folding.visible_box[getattr(step, name)])
        steps.append(step)
    runs = {
        group: [(place[first], place[last], sentence) for first, last, sentence in told]
        for group, told in board.runs.items()
        if group in boxes and group not in groups
    }
    start = place.get(board.start)
    told = None, board.opened, runs, board.legend, board.order, board.curves
    short = Storyboard(scene, steps, board.title, start, *told)
    labels = board.sizes[1]
    hidden = {id for id, arrow in scene.arrows.items() if arrow.target != board.scene.arrows[id].target}
    several = {id: ids for id, ids in folding.members.items() if len(ids) > 1 or id in hidden}
    sizes = {id: max(labels[in_group(each) if id in hidden else each] for each in ids) for id, ids in several.items()}
    short.take_layout_of(board, sizes)
    return short
