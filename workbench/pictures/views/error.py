"""An error as a picture: the node that failed, what it had saved, the write that broke it, and what to do.

`ErrorAccount` finds and words what led to it.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..scene.layout import LayoutUnavailable
from ..scene.metric import CHIP_COLUMNS, TITLE_CHARACTER, columns
from ..scene.model import AROUND, Arrow, Box, Detail, Scene, StoryStep
from ..scene.storyboard import Storyboard
from ..trace.backward_records import Failed
from ..trace.facts import Called, SourceLine
from ..trace.probable_cuts import ProbableCut
from ..trace.source import source
from ..trace.tensor_records import TensorWritten
from ..trace.timeline import Timeline
from .error_account import ErrorAccount
from .graph import Graph
from .node_status import BESIDE
from .player_steps import cursor_at
from .value_display import lines_of, sentence_of

LEGEND = "The cross marks where it failed."
GOT = "The cross marks where it failed; the numbered arrows show how far the gradients got."
_COLUMNS = 56  # of the story's lines
_LEAST_COLUMNS = 40  # of these where the graph beside them is wide
_MOST_LINES = 8  # in each part: what happened, what to do, and PyTorch's message
_INDENT = "\u00a0\u00a0"  # of a line of the story that goes on
_ROOM = 1049  # px of a picture whose text is 11 px high in a notebook of 1440 × 900
_MOST = 24  # nodes up to which all are shown
_HOPS = 2  # how far from what matters nodes are shown where there are more
_STORY = "story"

Line = tuple[str, int] | None  # a file and a line


def error_story(
    trace: Timeline,
    tensors: Sequence[str] = (),
    line: Line = None,
    raised: Line = None,
    node: str = "",
    tensor: str = "",
    marked: str = "",
    called: Called | None = None,
    guess: ProbableCut | None = None,
) -> Storyboard:
    """Return the story of a trace's last error; `tensors` is what it is about, `line` where the engine was called from.

    `raised` is the user's innermost line that the error passed; `node`, `tensor` and `marked` (the Function whose
    backward is once_differentiable) are names for what isn't in the trace, and `called` is what the engine had called.
    `guess` is what probably cuts the tensor off, by the program's source.
    """
    events = trace.events
    ends = [count for count, event in enumerate(events, 1) if isinstance(event, Failed)]
    if not ends:
        return Storyboard(Scene("Error"), [StoryStep("No error was recorded.")])
    names = {"node": node, "tensor": tensor, "marked": marked}
    account = ErrorAccount(
        events[: ends[-1]], trace.frame(ends[-1]), tensors, source(line), source(raised), names, called, guess
    )
    return _Story(account).board()


class _Story:
    """Draws the account of an error."""

    def __init__(self, account: ErrorAccount) -> None:
        self._account, self._frame, self._node = account, account.frame, account.node

    def board(self) -> Storyboard:
        """Return the picture, its story as wide as a window has room for."""
        board = self._told(_COLUMNS)
        try:
            over = board.layout.width - _ROOM
        except LayoutUnavailable:  # it can still be told in words
            return board
        longest = max(columns(line) for line in board.at().boxes[_STORY].lines)
        wide = longest - math.ceil(over / TITLE_CHARACTER)
        return self._told(wide) if over > 0 and wide >= _LEAST_COLUMNS else board

    def _told(self, wide: int) -> Storyboard:
        """Return the story at this width: steps for the save, for the write, and for the error, where it opens."""
        boxes, arrows, left = self._graph()
        account, failed = self._account, self._account.failed
        says = account.says()
        message = f"{failed.error}: {failed.message}" if failed.message else failed.error
        own = _wrapped(f"The full message: {failed.message}", wide, _MOST_LINES) if failed.message else []
        head = [*_wrapped(says[0], wide, _MOST_LINES), ""]
        rows = [f"{who} {_place(at)}{text and f': {text}'}" if at else who for who, text, at in account.rows()]
        last = [*([""] if rows else []), *_wrapped(f"What to do: {says[1]}", wide, _MOST_LINES)]
        more = [f"({left} more nodes are not shown)"] if left else []
        words = Detail("Error", "text", message)
        title = f"{failed.error} at {account.name}" if account.name else failed.error
        # PyTorch's own words come last: a reader has mostly just seen them, below a traceback.
        lines = (*head, *_several(rows, wide), *last, *more, *([""] if own else []), *own)
        lights = self._lights(boxes)
        about = next(iter(lights), None)
        story = Box(_STORY, "story", "What happened", lines, details=(words,), refers=about)
        steps = self._before(boxes, rows, head, wide)
        at = cursor_at(account.raised or account.line)
        flows = any(arrow.state != "idle" for arrow in arrows.values())
        legend = "" if not boxes else GOT if flows else LEGEND
        final = StoryStep(f"{title}: see the picture.", account.phase, at, about)
        final.boxes = {id: fields for id, fields in lights.items()} | {_STORY: {"lines": story.lines}}
        start = {id: replace(box) for id, box in boxes.items()} | {_STORY: replace(story, lines=tuple(head))}
        return Storyboard(Scene(title, start, arrows), [*steps, final], title, start=len(steps), legend=legend)

    def _graph(self) -> tuple[dict[str, Box], dict[str, Arrow], int]:
        """Return the boxes and arrows that matter, before the error, and the number of nodes left out."""
        for id in self._account.tensors:
            tensor = self._frame.tensors[id]
            if tensor.node is None and tensor.role is None:
                self._frame.play_part(id, "leaf" if tensor.requires_grad else "constant")
        drawn = Graph(self._account.events).draw(self._frame, list(self._frame.touched))
        boxes = {box.id: replace(box, state=_calm(box)) for box in drawn[0]}
        arrows = {arrow.id: arrow for arrow in drawn[1] if {arrow.source, arrow.target} <= boxes.keys()}
        nodes = [id for id in boxes if id in self._frame.nodes]
        if len(nodes) > _MOST:
            near = {id for id in self._matters() if id in boxes} or set(nodes[-1:])
            ends = [{arrow.source, arrow.target} for arrow in arrows.values() if arrow.kind != "same"]
            for _ in range(_HOPS):
                near |= {id for pair in ends if pair & near for id in pair}
            near |= {id for id, box in boxes.items() if box.holder in near}
            near -= {id for id, box in boxes.items() if box.kind in AROUND}
            boxes = {id: replace(box, region=None) for id, box in boxes.items() if id in near}
            arrows = {id: each for id, each in arrows.items() if {each.source, each.target} <= near}
        left = len(nodes) - len([id for id in nodes if id in boxes])
        return *self._reduced(boxes, arrows), left

    def _reduced(self, boxes: dict[str, Box], arrows: dict[str, Arrow]) -> tuple[dict[str, Box], dict[str, Arrow]]:
        """Shrink the boxes that don't matter to their first line, without saved tensors; a harmful write matters."""
        matters = [id for id in self._matters() if id in boxes]
        if not matters:
            return boxes, arrows
        kept = {}
        for id, box in boxes.items():
            if box.holder is not None and box.holder not in matters and box.state != "error":
                continue
            if id in self._frame.nodes and id not in matters:
                box = replace(box, lines=box.lines[:1])
            elif id in matters and id != self._node and box.state == "over":
                box = replace(box, state="idle", lines=tuple([line for line in box.lines if line != BESIDE]))
            kept[id] = box
        return kept, {id: each for id, each in arrows.items() if {each.source, each.target} <= kept.keys()}

    def _matters(self) -> list[str]:
        """Return the boxes that the error is about, the failed one first."""
        account = self._account
        ids = [self._node] if self._node else []
        if self._node is None or account.advice.about == "tensor":
            ids += [self._frame.tensors[id].node or id for id in account.tensors[:1]]
        if account.broken and account.broken[1] is not None:
            ids.append(self._writer(account.broken[1]))
        return ids

    def _writer(self, write: TensorWritten) -> str:
        """Return the box of a write: the node that it made, or the tensor that it wrote to."""
        return write.node or self._frame.tensors[write.tensor].node or write.tensor

    def _lights(self, boxes: dict[str, Box]) -> dict[str, dict[str, Any]]:
        """Return what is highlighted in the end."""
        return {id: {"state": "error"} for id in [id for id in self._matters() if id in boxes][:1]}

    def _before(self, boxes: dict[str, Box], rows: list[str], head: list[str], wide: int) -> list[StoryStep]:
        """Return the steps that led to the error: the save and the write."""
        account = self._account
        if account.broken is None or self._node is None:
            return []
        index, write = account.broken
        chip, made = f"{self._node}.saved{index}", self._frame.nodes[self._node].made
        save = StoryStep(sentence_of(rows[0]), account.during(made), cursor_at(made.source), self._node)
        save.boxes[_STORY] = {"lines": (*head, *_several(rows[:1], wide))}
        stale = boxes[chip]
        before = self._frame.nodes[self._node].saved[index]
        fresh = lines_of(before, room=CHIP_COLUMNS) if before else stale.lines[:-1]
        boxes[chip] = replace(stale, lines=tuple(fresh))
        then = StoryStep(sentence_of(rows[1]), account.during(write), cursor_at(write.source if write else None), chip)
        lines = (*head, *_several(rows[:2], wide))
        then.boxes = {chip: {"state": "error", "lines": stale.lines}, _STORY: {"lines": lines}}
        if write is not None and (writer := self._writer(write)) in boxes and writer != self._node:
            then.boxes[writer] = {"lines": (*boxes[writer].lines, f"{write.name} overwrote it")}
        return [save, then]


def _calm(box: Box) -> Any:
    return "idle" if box.state in ("error", "running") else box.state


def _place(at: SourceLine) -> str:
    return f"({at.file}, line {at.line})"


def _several(rows: Sequence[str], wide: int) -> list[str]:
    return [line for row in rows for line in _wrapped(row, wide)]


def _wrapped(text: str, wide: int, most: int = 4) -> list[str]:
    """Return the lines of a text, broken where they are too long, and at most `most` lines.

    A row of a matrix begins where it did.
    """
    lines: list[str] = []
    most = math.ceil(most * _COLUMNS / wide)
    wrapper = textwrap.TextWrapper(
        wide, subsequent_indent=_INDENT, placeholder=" …", break_on_hyphens=False, break_long_words=False
    )
    for line in text.splitlines():
        if len(lines) == most:
            return [*lines[:-1], f"{lines[-1].removesuffix(' …')} …"]
        wrapper.max_lines = most - len(lines)
        inner = line.lstrip(" ")
        lines += wrapper.wrap(inner.rjust(len(line), "\u00a0"))
        wrapper.initial_indent = _INDENT
    return lines
