"""The card of a custom Function: its methods line by line, what their variables hold, and what `ctx` has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import Any

from ..scene.metric import CHARACTER, clean, columns, cut
from ..scene.model import Box, Detail, Scene, StoryStep, changed
from ..scene.storyboard import Storyboard
from ..trace.backward_records import NodeStarted
from ..trace.call_records import LineReached, MethodCalled, MethodEnded, Variable
from ..trace.forward_records import NodeCreated
from ..trace.memory_records import SavedFreed
from ..trace.schema import Record
from ..trace.timeline import Timeline
from ..trace.values import ZEROS, format_value, series
from .value_display import value_detail

LEGEND = "Your Function, line by line: the value of each variable, and what ctx carries from forward to backward."
_SOURCE = "The code of {}: forward computes the output, backward returns a gradient for each input."
_FIRST = "the effect of each line in the first run of its method"
_NOTHING = (
    "No line of a Function was recorded: apply a Function of your own inside `with record(lines=True) as trace:`, and "
    'show("function") plays it line by line.'
)
_UNHEARD = (
    'No line of {} was recorded: run it again inside `with record(lines=True) as trace:`, and show("function") plays '
    "it line by line."
)
_DEEPEST = 100  # calls inside each other, of which it is shown that they wait
_ROW = 20.0  # px of a line of code
_HEAD = 26.0  # px of a heading
_GAP = 18.0  # px between two parts
_NARROWEST = 36  # columns of the code
_WIDEST = 90  # columns of the code
_PANEL = 53  # columns of the panels at its right
_MOST = 14  # lines of a panel
_NOTE = 72  # columns of what a line of the still has done
_SLIM = 51  # columns of code: slimmer code has its panels beside it, not below
_LONG = 16  # lines of code: longer code has its panels beside it
_BACKWARD = ("backward", "vjp")
# Before a line: the one that comes next, one that waits for a method it has called, one that failed.
_MARKS = {"running": "→\u00a0", "pending": "…\u00a0", "error": "×\u00a0", "idle": "\u00a0\u00a0"}
_NOTES = {"running": "  ← next", "pending": "  ← waits", "error": "  ← failed", "idle": ""}


def _listed(nodes: Iterable[NodeCreated]) -> Scene:
    """Return the code of the Functions without recorded lines."""
    boxes: dict[str, Box] = {}
    y = 0.0
    for node in nodes:
        for code in node.code:
            heading = f"{node.operation}.{code.name}"
            lines = code.text.replace("\t", "    ").splitlines()
            wide = (max(map(columns, [heading, *lines])) + 2) * CHARACTER
            boxes[heading] = Box(heading, "heading", heading, place=(0, y, wide, 22))
            y += _HEAD
            for nr, line in enumerate(lines):
                id, text = f"{heading}.{nr}", line.replace(" ", "\u00a0")  # a browser leaves out spaces in front
                boxes[id] = Box(id, "line", text, place=(0, y, wide, _ROW), alt=line)
                y += _ROW
            y += _ROW / 2
    return Scene("Functions", boxes)


@dataclass(slots=True)
class _Card:
    """A Function, its methods by where they are defined, and the rooms its panels need."""

    name: str
    methods: dict[tuple[str, str, int], MethodCalled] = field(default_factory=dict)
    room: int = 1
    ctx_room: int = 1


@dataclass(slots=True)
class _FunctionCall:
    """One run of a method, as far as it has come."""

    made: MethodCalled
    card: int
    method: int  # of the card's
    line: int = 0
    number: int = 1  # which run of this method
    variables: dict[str, Variable] = field(default_factory=dict)
    zeros: set[str] = field(default_factory=set)  # of them, gradients that did not arrive


def function_card(trace: Timeline) -> Storyboard:
    """Return the Functions of a trace, each with its methods and panels, a step for each line that ran."""
    return _StepBuilder(trace.events).board()


class _StepBuilder:
    def __init__(self, events: Sequence[Record]) -> None:
        self._events = events
        self._cards: dict[str, _Card] = {}
        self._places: dict[tuple[str, tuple[str, str, int]], tuple[int, int]] = {}  # method -> card, which of its
        self._boxes: dict[str, Box] = {}
        self._now: dict[str, Box] = {}
        self._fresh: dict[str, Box] = {}  # what has changed since the last step, as it was then
        self._lit: dict[tuple[int, int], str] = {}  # (card, method) -> its line that stands out
        self._open: dict[str, _FunctionCall] = {}  # the innermost last
        self._calls: dict[str, _FunctionCall] = {}
        self._runs: Counter[tuple[str, str]] = Counter()
        self._ctx: dict[str, tuple[Variable, ...]] = {}
        self._nodes: dict[str, str] = {}  # node -> the ctx that it is
        self._shown: dict[str, str] = {}  # ctx -> the card that shows it
        self._filled: dict[str, tuple[int, ...]] = {}  # node -> the outputs for which it may be given zeros
        self._missing: set[int] = set()  # those that got no gradient in the run that began last
        self._done: dict[str, list[str]] = {}  # what each line, by its box, has done in the first run of its method

    def board(self) -> Storyboard:
        """Return the whole story."""
        self._survey()
        if not self._cards:
            own = {event.operation: event for event in self._events if isinstance(event, NodeCreated) and event.custom}
            names = series(list(own))
            told = _SOURCE.format(names) if own else _NOTHING
            return Storyboard(_listed(own.values()), [StoryStep(told)], "Functions", legend=_UNHEARD.format(names))
        self._place()
        steps = [step for event in self._events if (step := self._step(event)) is not None]
        if not steps:
            called = series(list(self._cards))
            return Storyboard(Scene("Functions"), [StoryStep(_UNHEARD.format(called))], "Functions")
        names = series(list(self._cards))
        title = f"Function {names}" if len(self._cards) == 1 else f"Functions {names}"
        return Storyboard(Scene(title, self._boxes), steps, title, still=self._still(title), legend=LEGEND)

    def _still(self, title: str) -> Storyboard:
        """Return the first run of each method at one glance: next to each line, what it did."""
        boxes: dict[str, Box] = {}
        right = max(box.place[2] for box in self._boxes.values() if box.place and box.kind == "line") + _GAP
        move, last = 0.0, -2 * _GAP  # the lower end of the lines so far
        for id, box in self._boxes.items():
            assert box.place is not None
            x, y, w, h = box.place
            if box.kind == "heading":
                move = last + 2 * _GAP - y
                boxes[id] = replace(box, place=(x, y + move, w, h))
                place = (right, y + move, columns(_FIRST) * CHARACTER + 8, h)
                boxes[f"{id}.first"] = Box(f"{id}.first", "text", _FIRST, place=place)
            elif box.kind == "line":
                boxes[id] = replace(box, place=(x, y + move, w, h))
                last = y + move + _ROW
                if done := self._done.get(id):
                    text = cut(clean(", ".join(done)), _NOTE)
                    place = (right, y + move, columns(text) * CHARACTER + 8, h)
                    boxes[f"{id}.done"] = Box(f"{id}.done", "line", text, place=place, alt=f"        → {text}")
        return Storyboard(Scene(title, boxes))

    def _survey(self) -> None:
        """Count the Functions, and how much each has to show at once."""
        calls: dict[str, tuple[_Card, set[str]]] = {}
        for event in self._events:
            if isinstance(event, MethodCalled):
                card = self._cards.setdefault(event.function, _Card(event.function))
                card.methods.setdefault(_where(event), event)
                calls[event.call] = card, set()
            elif isinstance(event, LineReached | MethodEnded) and event.call in calls:
                card, names = calls[event.call]
                names |= {each.name for each in event.variables}
                more = len(event.returned) if isinstance(event, MethodEnded) else 0
                card.room = min(_MOST, max(card.room, len(names) + max(1, more)))
                card.ctx_room = min(_MOST, max(card.ctx_room, len(event.ctx or ())))
        order = ("forward", "setup_context", "jvp", "backward", "vjp")
        for card in self._cards.values():
            card.methods = dict(sorted(card.methods.items(), key=lambda pair: (pair[1].first, order.index(pair[0][0]))))

    def _place(self) -> None:
        """Create all boxes, in the places where they stay."""
        top = 0.0
        methods = [made for card in self._cards.values() for made in card.methods.values()]
        numbers = max(len(f"{made.first + made.code.text.count(chr(10))}") for made in methods)
        for nr, card in enumerate(self._cards.values()):
            listing = [_lines(made, numbers) for made in card.methods.values()]
            wide = min(_WIDEST, max([_NARROWEST, *(columns(text) for lines in listing for _, text in lines)]))
            code, panel = (wide + 2) * CHARACTER, _PANEL * CHARACTER
            self._put(Box(f"f{nr}", "heading", card.name, place=(0, top, code, 22)))
            y = top + _HEAD
            for at, lines in enumerate(listing):
                for line, text in lines:
                    self._put(Box(f"f{nr}.{at}.{line}", "line", text, place=(0, y, code, _ROW), alt=_alt(text[2:])))
                    y += _ROW
                y += _ROW / 2
            beside = wide <= _SLIM or sum(map(len, listing)) > _LONG
            x, down = (code + _GAP, top + _HEAD) if beside else (0.0, y)
            heights = [22 + 16.0 * room + 8 for room in (card.room, card.ctx_room)]
            for part, title, height in zip(("variables", "ctx"), ("variables", "ctx"), heights, strict=True):
                self._put(Box(f"f{nr}.{part}", "frame", title, ("nothing yet",), place=(x, down, panel, height)))
                x, down = (x, down + height + _GAP) if beside else (x + panel + _GAP, down)
            top = (max(y, down) if beside else y + max(heights)) + _GAP
            self._places |= {(card.name, where): (nr, at) for at, where in enumerate(card.methods)}
        self._order = {id: at for at, id in enumerate(self._boxes)}
        self._now = {id: replace(box) for id, box in self._boxes.items()}

    def _put(self, box: Box) -> None:
        self._boxes[box.id] = box

    def _step(self, event: Record) -> StoryStep | None:
        """Return what an event changes; None for events that aren't about a Function."""
        if isinstance(event, NodeCreated):
            self._filled[event.node] = event.zeros
        if isinstance(event, NodeStarted):
            self._missing = {nr for nr, grad in enumerate(event.grads) if grad is None}
            self._missing &= {*self._filled.get(event.node, ())}
        if isinstance(event, MethodCalled):
            self._begin(event)
            return None  # its first line tells of it
        if isinstance(event, SavedFreed) and self._nodes.get(event.node) in self._shown:
            return self._freed(self._nodes[event.node])
        if not isinstance(event, LineReached | MethodEnded) or event.call not in self._calls:
            return None
        call = self._calls[event.call]
        line, said_new = self._line_id(call), self._take(call, event)
        if call.number == 1:
            self._note(call, line, event, said_new)
        if isinstance(event, LineReached):
            caption = self._reached(call, event, said_new)
        else:
            caption = self._ended(call, event, said_new)
        phase = "backward" if call.made.method in _BACKWARD else "forward"
        step = StoryStep(caption, phase)
        step.cursor = {"file": call.made.file, "line": call.line, "text": _text(call.made, call.line).strip()}
        step.focus = self._line_id(call)
        step.boxes = self._changes()
        return step

    def _begin(self, made: MethodCalled) -> None:
        call = _FunctionCall(made, *self._places[made.function, _where(made)])
        self._runs[made.function, made.method] += 1
        call.number = self._runs[made.function, made.method]
        self._calls[made.call] = call
        if made.ctx is not None:
            self._shown[made.ctx] = f"f{call.card}"
            if made.node is not None:
                self._nodes[made.node] = made.ctx
        self._open.pop(made.call, None)
        self._open[made.call] = call

    def _take(self, call: _FunctionCall, event: LineReached | MethodEnded) -> list[str]:
        """Bring the call's variables and its ctx up to date; in words, what is new."""
        news = []
        for nr, each in enumerate(event.variables):
            call.zeros.discard(each.name)
            if not call.line and call.made.method in _BACKWARD and nr in self._missing and each.value is not None:
                call.zeros.add(each.name)
            news.append(f"{each.name} {'is now' if call.line else '='} {_said(each)}{_why(call, each)}")
            call.variables[each.name] = each
        for name in event.gone if isinstance(event, LineReached) else ():
            call.variables.pop(name, None)
        if event.ctx is not None and call.made.ctx is not None:
            before = {each.name for each in self._ctx.get(call.made.ctx, ())}
            new = [each.name for each in event.ctx if each.name not in before and each.name != "needs_input_grad"]
            gone = before - {each.name for each in event.ctx}
            self._ctx[call.made.ctx] = event.ctx
            if new:
                news.append(f"ctx has {series(new)} now")
            if gone:
                news.append(f"ctx no longer has {series(sorted(gone))}")
        return news

    def _note(
        self, call: _FunctionCall, line: str | None, event: LineReached | MethodEnded, news: Sequence[str]
    ) -> None:
        """Note what the last line did and, at the `def`, what the call was given."""
        done = [f"{each.name} = {_said(each)}{_why(call, each)}" for each in event.variables]
        done += [each.removesuffix(" now") for each in news if each.startswith("ctx ")]
        if isinstance(event, MethodEnded):
            result = series([_said(each) for each in event.returned])
            done.append(f"raises {event.error}" if event.error else f"returns {result}")
        head = next((n for n, text in enumerate(_split(call.made.code.text)) if "def " in text), 0)
        if done:
            self._done[line or self._line_id(replace(call, line=call.made.first + head)) or ""] = done

    def _reached(self, call: _FunctionCall, event: LineReached, news: list[str]) -> str:
        begins = call.line == 0
        call.line = event.line
        self._light(call, "running")
        for outer in [*islice(reversed(self._open.values()), _DEEPEST)][::-1]:
            if outer is not call and outer.line:
                self._light(outer, "pending")
        self._panel(call)
        self._ctx_panel(call)
        which = _title(call)
        if begins:
            what = f"{which} begins with {series(news)}" if news else f"{which} begins"
        else:
            what = f"{which}: {series(news)}" if news else which
        return f"{what}; next is line {event.line}: {_text(call.made, event.line).strip()}"

    def _ended(self, call: _FunctionCall, event: MethodEnded, news: list[str]) -> str:
        self._open.pop(event.call, None)
        self._light(call, "error" if event.error else "idle")
        for outer in islice(reversed(self._open.values()), 1):
            self._light(outer, "running")
        ends = [f"raises {event.error}"] if event.error else [f"returns {_said(each)}" for each in event.returned]
        result = ends[0] if event.error else f"returns {series([_said(each) for each in event.returned])}"
        self._panel(call, ends, "error" if event.error else "idle")
        self._ctx_panel(call)
        return f"{_title(call)} {result}{f'; {series(news)}' if news else ''}."

    def _freed(self, ctx: str) -> StoryStep:
        """Return the step in which the node has run and its saved tensors are freed."""
        held = self._ctx.get(ctx, ())
        lines = [f"{each.name}: freed" if each.name.startswith("saved") else _row(each) for each in held]
        box = self._now[f"{self._shown[ctx]}.ctx"]
        self._set(replace(box, lines=tuple(lines[:_MOST]), state="freed"))
        freed = [each.name.removeprefix("saved ") for each in held if each.name.startswith("saved")]
        self._ctx[ctx] = tuple([each for each in held if not each.name.startswith("saved")])
        step = StoryStep(
            f"The node has run: ctx frees {series(freed) or 'its saved tensors'}.", "backward", focus=box.id
        )
        step.boxes = self._changes()
        return step

    def _light(self, call: _FunctionCall, state: Any) -> None:
        """Highlight one line of a method, and no other."""
        place = call.card, call.method
        before, lit = self._lit.pop(place, None), self._line_id(call)
        if before is not None and before != lit:
            self._mark(before, "idle")
        if lit is not None:
            self._mark(lit, state)
            self._lit[place] = lit

    def _mark(self, line: str, state: Any) -> None:
        box = self._now[line]
        if box.state != state:
            text = box.title[2:]
            self._set(replace(box, title=_MARKS[state] + text, state=state, alt=_alt(text + _NOTES[state])))

    def _set(self, box: Box) -> None:
        """Set a box to its new state."""
        self._fresh.setdefault(box.id, self._now[box.id])
        self._now[box.id] = box

    def _line_id(self, call: _FunctionCall) -> str | None:
        id = f"f{call.card}.{call.method}.{call.line}"
        return id if id in self._now else None

    def _panel(self, call: _FunctionCall, ends: Sequence[str] = (), state: Any = "idle") -> None:
        rows = [_row(each) + _why(call, each) for each in call.variables.values()]
        room = _MOST - len(ends)
        rows = rows if len(rows) <= room else [*rows[: room - 1], f"… and {len(rows) - room + 1} more"]
        details = tuple([_detail(each) for each in call.variables.values()])
        id = f"f{call.card}.variables"
        title = f"variables of {_title(call)}"
        self._set(replace(self._now[id], title=title, lines=(*rows, *ends), state=state, details=details))

    def _ctx_panel(self, call: _FunctionCall) -> None:
        id = f"f{call.card}.ctx"
        if call.made.ctx is None:
            self._set(replace(self._now[id], title="ctx", lines=(f"{call.made.method} has no ctx",)))
            return
        held = self._ctx.get(call.made.ctx, ())
        rows = tuple([_row(each) for each in held][:_MOST]) or ("empty",)
        details = tuple([_detail(each) for each in held])
        title = f"ctx (number {call.made.ctx[1:]})"
        self._set(replace(self._now[id], title=title, lines=rows, state="idle", details=details))

    def _changes(self) -> dict[str, dict[str, Any]]:
        now = [self._now[id] for id in sorted(self._fresh, key=self._order.__getitem__)]
        changes = {box.id: fields for box in now if (fields := changed(self._fresh[box.id], box))}
        self._fresh = {}
        return changes


def _where(made: MethodCalled) -> tuple[str, str, int]:
    return made.method, made.file, made.first


def _title(call: _FunctionCall) -> str:
    again = f" (run {call.number})" if call.number > 1 else ""
    return f"{call.made.function}.{call.made.method}{again}"


def _lines(made: MethodCalled, room: int) -> list[tuple[int, str]]:
    """Return the lines of a method after their numbers, `room` columns wide, with unbreakable spaces."""
    lines = made.code.text.splitlines() or [f"{made.method}: its source is unknown"]
    numbered = [(made.first + at, text) for at, text in enumerate(lines)]
    return [(nr, f"  {nr:>{room}}  {text}".replace("\t", "    ").replace(" ", "\u00a0")) for nr, text in numbered]


@lru_cache(100)
def _split(code: str) -> list[str]:
    return code.splitlines()


def _text(made: MethodCalled, line: int) -> str:
    lines = _split(made.code.text)
    return lines[line - made.first] if 0 <= line - made.first < len(lines) else ""


def _alt(text: str) -> str:
    return text.replace("\u00a0", " ")


def _said(each: Variable) -> str:
    return each.text if each.value is None else format_value(each.value)


def _row(each: Variable) -> str:
    kind = f"  {each.value.kind}" if each.value is not None else ""
    return f"{each.name} = {_said(each)}{kind}"


def _why(call: _FunctionCall, each: Variable) -> str:
    """Return why zeros are there where no gradient arrived."""
    return f" ({ZEROS})" if each.name in call.zeros else ""


def _detail(each: Variable) -> Detail:
    return Detail("Holds", "text", _row(each)) if each.value is None else value_detail("Holds", each.name, each.value)
