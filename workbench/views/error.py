"""An error as a picture: the node that failed, what it had saved, the write that broke it, and what to do.

What to do is found by the sentence that the error was raised with, in `advice.py`.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..health.backwards import RecordedBackwards
from ..health.finding import in_brackets, listed
from ..health.refusals import refusal_of
from ..scene.labels import CHIP_COLUMNS, TITLE_CHARACTER, columns
from ..scene.layout import LayoutUnavailable
from ..scene.model import AROUND, Arrow, Box, Detail, Scene, StoryStep
from ..scene.storyboard import Storyboard
from ..trace.advice import NO_HISTORY
from ..trace.advised import advice_for, counts_of, hook_refused
from ..trace.call_records import MethodCalled
from ..trace.checkpoints import difference
from ..trace.facts import Called, Phase, SourceLine
from ..trace.frame import Frame
from ..trace.probable_cuts import ProbableCut
from ..trace.records import BackwardFinished, BackwardStarted, Failed, NodeCreated, NodeStarted, TensorWritten
from ..trace.schema import Record
from ..trace.source import source
from ..trace.timeline import Timeline
from ..trace.values import begun, code
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
    return _Story(
        events[: ends[-1]], trace.frame(ends[-1]), tensors, source(line), source(raised), names, called, guess
    ).board()


class _Story:
    def __init__(
        self,
        events: Sequence[Record],
        frame: Frame,
        tensors: Sequence[str],
        line: SourceLine | None,
        raised: SourceLine | None,
        names: dict[str, str],
        called: Called | None,
        guess: ProbableCut | None,
    ) -> None:
        self.events, self.frame = events, frame
        failed = events[-1]
        assert isinstance(failed, Failed)
        self.failed = failed
        self.node = self.failed.node if self.failed.node in frame.nodes else None
        self.tensors = [id for id in tensors or failed.about if id in frame.tensors]
        if self.failed.node is not None and self.node is None:
            self.tensors.insert(0, self.failed.node)  # a leaf, whose AccumulateGrad failed
        self.name = frame.called(self.failed.node) if self.failed.node else names["node"]
        lines = any(isinstance(event, MethodCalled) for event in events)
        self.called = called = called or failed.called
        self.guess = guess
        kind = "" if called is None else called.kind
        self.advice = advice_for(failed.message, bool(self.name), lines, kind, failed.task is not None)
        self.phase: Phase = "backward" if self.name or self.failed.task else self.advice.phase
        begun = [event for event in events if isinstance(event, BackwardStarted) and event.task == self.failed.task]
        self.line = line or (begun[-1].source if begun else None)
        if self.line is None and called is not None and called.is_outside:
            self.line = failed.source
        self.raised, self.tensor, self.marked = (
            raised,
            names["tensor"] or (guess.name if guess is not None else ""),
            names["marked"] or self._marking(),
        )
        self.broken = self._broken() if self.advice.about == "write" else None

    def _broken(self) -> tuple[int, TensorWritten | None] | None:
        """Return which of the failed node's saved tensors was written, and by which event."""
        if self.node is None:
            return None
        for index, saved in enumerate(self.frame.nodes[self.node].made.saved):
            if saved.tensor is not None and self.frame.stale(self.node, index):
                owner = self.frame.owner(saved.tensor)
                for event in self.events:
                    if isinstance(event, TensorWritten) and event.version > saved.version:
                        if self.frame.owner(event.tensor) == owner:
                            return index, event
                return index, None
        return None

    def _marking(self) -> str:
        """Return the node that made the failed one as it ran; for a once_differentiable one, the node that refuses."""
        running = ""
        for event in self.events:
            if isinstance(event, NodeStarted):
                running = self.frame.called(event.node)
            elif isinstance(event, NodeCreated) and event.node == self.node:
                return running
        return ""

    def _during(self, event: Record | None) -> Phase:
        """Return True if an event came during a backward pass."""
        going: set[str | None] = set()
        for each in self.events:
            if each is event:
                return "backward" if going else "forward"
            if isinstance(each, BackwardStarted):
                going.add(each.task)
            elif isinstance(each, BackwardFinished | Failed):
                going.discard(each.task)
        return "forward"

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
        says = self._says()
        message = f"{self.failed.error}: {self.failed.message}" if self.failed.message else self.failed.error
        own = _wrapped(f"The full message: {self.failed.message}", wide, _MOST_LINES) if self.failed.message else []
        head = [*_wrapped(says[0], wide, _MOST_LINES), ""]
        rows = [f"{who} {_place(at)}{text and f': {text}'}" if at else who for who, text, at in self._rows()]
        last = [*([""] if rows else []), *_wrapped(f"What to do: {says[1]}", wide, _MOST_LINES)]
        more = [f"({left} more nodes are not shown)"] if left else []
        words = Detail("Error", "text", message)
        title = f"{self.failed.error} at {self.name}" if self.name else self.failed.error
        # PyTorch's own words come last: a reader has mostly just seen them, below a traceback.
        lines = (*head, *_several(rows, wide), *last, *more, *([""] if own else []), *own)
        lights = self._lights(boxes)
        about = next(iter(lights), None)
        story = Box(_STORY, "story", "What happened", lines, details=(words,), refers=about)
        steps = self._before(boxes, rows, head, wide)
        at = cursor_at(self.raised or self.line)
        flows = any(arrow.state != "idle" for arrow in arrows.values())
        legend = "" if not boxes else GOT if flows else LEGEND
        final = StoryStep(f"{title}: see the picture.", self.phase, at, about)
        final.boxes = {id: fields for id, fields in lights.items()} | {_STORY: {"lines": story.lines}}
        start = {id: replace(box) for id, box in boxes.items()} | {_STORY: replace(story, lines=tuple(head))}
        return Storyboard(Scene(title, start, arrows), [*steps, final], title, start=len(steps), legend=legend)

    def _graph(self) -> tuple[dict[str, Box], dict[str, Arrow], int]:
        """Return the boxes and arrows that matter, before the error, and the number of nodes left out."""
        for id in self.tensors:
            tensor = self.frame.tensors[id]
            if tensor.node is None and tensor.role is None:
                self.frame.play_part(id, "leaf" if tensor.requires_grad else "constant")
        drawn = Graph(self.events).draw(self.frame, list(self.frame.touched))
        boxes = {box.id: replace(box, state=_calm(box)) for box in drawn[0]}
        arrows = {arrow.id: arrow for arrow in drawn[1] if {arrow.source, arrow.target} <= boxes.keys()}
        nodes = [id for id in boxes if id in self.frame.nodes]
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
            if id in self.frame.nodes and id not in matters:
                box = replace(box, lines=box.lines[:1])
            elif id in matters and id != self.node and box.state == "over":
                box = replace(box, state="idle", lines=tuple([line for line in box.lines if line != BESIDE]))
            kept[id] = box
        return kept, {id: each for id, each in arrows.items() if {each.source, each.target} <= kept.keys()}

    def _matters(self) -> list[str]:
        """Return the boxes that the error is about, the failed one first."""
        ids = [self.node] if self.node else []
        if self.node is None or self.advice.about == "tensor":
            ids += [self.frame.tensors[id].node or id for id in self.tensors[:1]]
        if self.broken and self.broken[1] is not None:
            ids.append(self._writer(self.broken[1]))
        return ids

    def _writer(self, write: TensorWritten) -> str:
        """Return the box of a write: the node that it made, or the tensor that it wrote to."""
        return write.node or self.frame.tensors[write.tensor].node or write.tensor

    def _lights(self, boxes: dict[str, Box]) -> dict[str, dict[str, Any]]:
        """Return what is highlighted in the end."""
        lights: dict[str, dict[str, Any]] = {}
        for id in [id for id in self._matters() if id in boxes][:1]:
            lights[id] = {"state": "error"}
        return lights

    def _before(self, boxes: dict[str, Box], rows: list[str], head: list[str], wide: int) -> list[StoryStep]:
        """Return the steps that led to the error: the save and the write."""
        if self.broken is None or self.node is None:
            return []
        index, write = self.broken
        chip, made = f"{self.node}.saved{index}", self.frame.nodes[self.node].made
        save = StoryStep(sentence_of(rows[0]), self._during(made), cursor_at(made.source), self.node)
        save.boxes[_STORY] = {"lines": (*head, *_several(rows[:1], wide))}
        stale = boxes[chip]
        before = self.frame.nodes[self.node].saved[index]
        fresh = lines_of(before, room=CHIP_COLUMNS) if before else stale.lines[:-1]
        boxes[chip] = replace(stale, lines=tuple(fresh))
        then = StoryStep(sentence_of(rows[1]), self._during(write), cursor_at(write.source if write else None), chip)
        lines = (*head, *_several(rows[:2], wide))
        then.boxes = {chip: {"state": "error", "lines": stale.lines}, _STORY: {"lines": lines}}
        if write is not None and (writer := self._writer(write)) in boxes and writer != self.node:
            then.boxes[writer] = {"lines": (*boxes[writer].lines, f"{write.name} overwrote it")}
        return [save, then]

    def _rows(self) -> list[tuple[str, str, SourceLine | None]]:
        """Return what led to the error, each with its actor, the code and the user's line."""
        rows: list[tuple[str, str, SourceLine | None]] = []
        made = self.frame.nodes[self.node].made if self.node else None
        if self.broken is not None and made is not None:
            saved, write = made.saved[self.broken[0]], self.broken[1]
            what = self.frame.variable(saved.tensor) or saved.name
            rows.append(_row(f"{made.name} saved {code(what)} at version {saved.version}", made.source))
            if write is not None:
                into = code(self.frame.called(write.tensor))
                rows.append(_row(f"{code(write.name)} wrote into {into}: version {write.version}", write.source))
            elif saved.tensor is not None:
                now = self.frame.version(saved.tensor)
                who = f"It was modified afterward (version {now} now). Record the run to see which line did it"
                rows.append((who, "", None))
        elif made is not None and made.source is not None:
            rows.append(_row(f"{made.name} was created", made.source))
        if self.called is not None and self.called.source is not None:
            rows.append(_row(f"{code(self.called.name)} begins", self.called.source))
        if self.line is not None:
            at = self.line
            rows.append((f"This happened at {at.file}, line {at.line}{at.text and f': {at.text}'}", "", None))
        if self.raised is not None and self.raised != self.line:
            rows.append(_row("The error was raised", self.raised))
        return rows

    def _says(self) -> tuple[str, str]:
        """Return what the error means, and what to do."""
        if (refusal := refusal_of(RecordedBackwards(self.events), self.failed)) is not None:
            return refusal.sentence, refusal.advice
        if self.guess is not None and (told := self._guessed(self.guess)) is not None:
            return told
        tensor = code(self.frame.called(self.tensors[0]) if self.tensors else self.tensor or "the tensor")
        means = self.advice.means.replace("{node}", self.name or "a node").replace("{tensor}", self._about(tensor))
        means = means.replace("{called}", self._callee()).replace("{hook}", self._hook())
        means = means.replace("{function}", code(self.name.removesuffix("Backward") or "a Function"))
        means = means.replace("{counts}", counts_of(self.failed.message))
        if "{differs}" in means:
            means = means.replace("{differs}", difference(self.events, self.failed))
        means = means.replace("{marked}", self.marked.removesuffix("Backward") or "a Function")
        do = self.advice.do.replace("{name}", self._variable()).replace("{called}", self._callee())
        return begun(means), do.replace("{tensor}", tensor)

    def _about(self, tensor: str) -> str:
        """Return what the error is about; without a name, where backward starts, that is the loss."""
        starts = NO_HISTORY in self.advice.means
        return "the loss" if starts and "`" not in tensor else tensor

    def _guessed(self, guess: ProbableCut) -> tuple[str, str] | None:
        """Return what the source shows: a possible cut, as a question, or frozen modules."""
        name = code(guess.name or "the loss")
        if guess.frozen:
            return (
                f"{begun(name)} doesn't require grad, and no parameter of {listed(guess.frozen, 3)} does.",
                f"Call `requires_grad_()` on the parameters to train: `{guess.frozen[0]}.requires_grad_()`.",
            )
        if (at := source(guess.line)) is None:
            return None
        word = code(f"{guess.word}()" if guess.word in ("no_grad", "inference_mode") else guess.word)
        which = f"{'the comparison' if guess.word == 'comparison' else word}{in_brackets(at)}"
        return (
            f"{begun(name)} doesn't require grad. Does {which} cut it off?",
            "Remove it if the gradient should pass through here. Run the program inside `record()` to be sure.",
        )

    def _callee(self) -> str:
        """Return the user's function that the engine had called."""
        if self.called is None or self.called.name == "lambda":
            return "the lambda" if self.called is not None else "a checkpointed function"
        return self.called.name if self.called.is_outside else code(self.called.name)

    def _hook(self) -> str:
        """Return the hook that returned something invalid, in brackets."""
        hook = hook_refused(self.events, self.failed)
        return "" if hook is None else f" ({code(hook[0])}{_at(hook[1])})"

    def _variable(self) -> str:
        """Return the user's own name for what was written, or for what the error is about."""
        written = [self.broken[1].tensor] if self.broken is not None and self.broken[1] is not None else []
        if self.broken is not None and self.node is not None:
            written += filter(None, [self.frame.nodes[self.node].made.saved[self.broken[0]].tensor])
        names = [self.frame.variable(id) for id in (*written, *self.tensors)]
        return next((name for name in names if name), self.tensor or "y")


def _calm(box: Box) -> Any:
    return "idle" if box.state in ("error", "running") else box.state


def _row(what: str, at: SourceLine | None) -> tuple[str, str, SourceLine | None]:
    return (what, at.text, at) if at is not None else (what, "", None)


def _at(at: SourceLine | None) -> str:
    return "" if at is None else f" at {at.file}:{at.line}"


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
