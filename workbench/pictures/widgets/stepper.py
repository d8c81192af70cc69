"""The live stepper: its picture in the browser, whose buttons drive the real backward pass in the kernel."""

from __future__ import annotations

import atexit
import io
import sys
import time
import weakref
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import traitlets

from ...autograd.node import Node
from ...autograd.scopes import scope_of
from ..stepper.stepper import Stepper
from ..stepper.steps import (
    Breakpoint,
    Difference,
    against,
    at_output,
    counted,
    differing,
    gradient_text,
    numbers_of,
    other_branch,
    ran_of,
)
from ..stepper.typed import typed
from ..trace.values import Value
from ..views.stepper_picture import Changes, Stage, places_of, story_of, waiting_line
from .live import Live, module

CONDITIONS = ["not finite", "norm > 100", "norm < 1e-6"]  # what a run can stop at besides places
COLUMNS = 24  # of a gradient's text where two are side by side
LAST = 3  # values told of what is watched
MOST = 100  # differences told
PAUSE = 0.05  # s between two pictures of a stepper that code drives, at least
_CHOOSE = "Select a node of this backward pass first."
_NO_OUTPUT = "Choose which output's gradient to change, by its number, not {!r}."

_TOLD = 2000  # characters of what is answered, and of what code printed


_widgets: weakref.WeakKeyDictionary[Stepper, StepperView] = weakref.WeakKeyDictionary()

# Emptied before the notebook's variables go when the kernel ends: what was shown then stays.
_working = [True]
atexit.register(_working.clear)


class StepperView(Live):
    """A stepper in a notebook, in any number of places; it doesn't keep the stepper alive."""

    _esm = module("stepper")

    # The browser keeps what it was given up to date by the changes that it is sent.
    shown = traitlets.Dict().tag(sync=True, to_json=lambda _, self: self.whole())

    def __init__(self, stepper: Stepper, stage: Stage) -> None:
        self._stepper, self._stage = weakref.ref(stepper), stage
        self._answers = False
        self._watched: list[str] = []  # the ids of nodes
        self._said = self._printed = ""  # what was wrong with a request, and what code of the user's printed in it
        self._answered = 0
        self._sent: dict[str, Any] = {}
        self._last = 0.0
        stage.audience.append(self._tell)
        super().__init__()
        self.on_msg(self._asked)
        stepper._audience.append(self._changed)
        ipython = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        if ipython is not None:
            ipython.events.register("post_execute", self.update)
            weakref.finalize(stepper, _leave, ipython, self.update)
        weakref.finalize(stepper, _end, self).atexit = False

    def whole(self) -> dict[str, Any]:
        """Return everything that a browser needs."""
        stepper = self._stepper()
        if stepper is None:
            return {}
        self.update()  # for who has been here: those that come get it all
        return {"picture": story_of(self._stage.board()), "status": self._sent}

    def update(self) -> None:
        """Send what changed since the last time."""
        if (stepper := self._stepper()) is not None:
            self._stage.follow(stepper)

    def _tell(self, found: Changes) -> None:
        """Send the changes of the picture and of the text around it."""
        stepper = self._stepper()
        if stepper is None:
            return
        status = self._status(stepper)
        new = {name: value for name, value in status.items() if self._sent.get(name) != value}
        self._sent = status
        if self.comm is not None and (new or any(found.values())):
            self._last = time.monotonic()
            self.send({"picture": found, "status": new})

    def _changed(self) -> None:
        # Code may take a thousand steps in a moment; what is left over is sent when its cell is done.
        if not self._answers and time.monotonic() - self._last >= PAUSE:
            self.update()

    def _status(self, s: Stepper) -> dict[str, Any]:
        ids = self._stage.ids
        operations, scopes = places_of(s)
        found = differing(s, self._stage.called)
        return {
            "sentence": self._stage.sentence,
            "position": s.position,
            "ran": len(ran_of(s)),
            "count": len(s._to_run()),
            "done": s.done,
            "next": None if s.current is None else ids[s.current],
            "called": "" if s.current is None else self._stage.called(s.current),
            "failed": s.error is not None,
            "waiting": [[ids[w.node], w.input_nr, waiting_line(w)] for w in s.pending if w.grad is not None],
            "marks": {
                "breakpoint": [ids[n] for n in s._to_run() if any(stop.stops_before(n) for stop in s.breakpoints)],
                "watched": self._watched[:],
                "differs": list(dict.fromkeys([ids[each.node] for each in found])),
            },
            "stops": [stop.describe(self._stage.called) for stop in s.breakpoints],
            "watched": [row for id in self._watched for row in self._course(s, id)],
            "branches": [[each.name, counted(len(each.steps), "step")] for each in s.branches],
            "branch": s.branches.index(s.branch),
            "warnings": list(s.warnings),
            "differs": self._differs(s, found),
            "beside": self._stage.beside(s),
            "said": self._said,
            "printed": self._printed,
            "operations": [*operations, *scopes, *CONDITIONS],
            "scopes": scopes,
            "answered": self._answered,
        }

    def _course(self, s: Stepper, id: str) -> list[list[str]]:
        """Return how a node's gradient came about, a row per output: its id, name, and last values."""
        node, rows = self._stage.nodes[id], []
        for nr in range(node.outputs if node.multi else 1):
            came = s._arrivals((node, nr))
            steps = [number for number, _ in came]
            when = ["changed" if n in steps[:i] else f"step {n}" if n else "the start" for i, n in enumerate(steps)]
            last = [f"{gradient_text(came[i][1])} ({when[i]})" for i in range(len(came))][-LAST:]
            told = " → ".join(["…"] * (len(came) > LAST) + last) or "nothing yet"
            rows.append([id, at_output(self._stage.called(node), node, nr), told])
        return rows

    def _differs(self, s: Stepper, found: list[Difference]) -> dict[str, Any]:
        """Return what differs from the other branch: rows of a node's id and name, and what it received."""
        other = other_branch(s)
        if other is None:
            return {"rows": [], "told": ""}
        rows = [[self._stage.ids[d.node], d.called, _brief(d.first), _brief(d.second)] for d in found[:MOST]]
        told = f"No difference from {other.name} so far"
        if found:
            told = f"Differs first at {against(found[0], other, _brief)}"
        told += f"; the first {MOST} of {len(found)} differences are listed" if len(found) > MOST else ""
        return {"rows": rows, "told": f"{told}.", "beside": other.name}

    # What the browser asks for.

    def _asked(self, _: Any, message: Any, buffers: Any) -> None:
        stepper = self._stepper()
        if stepper is None or not isinstance(message, dict):
            return
        self._answered += 1
        self._said, printed = "", io.StringIO()
        self._answers, before = True, stepper.position
        try:
            with redirect_stdout(printed):
                self._do(stepper, message)
        except Exception as error:  # of the user's code too: the stepper stays usable, and the picture says it
            ran = stepper.position > before
            self._said = f"{type(error).__name__}: {error}" if ran else str(error)
        finally:
            self._answers = False
        self._said, self._printed = self._said[:_TOLD], printed.getvalue()[-_TOLD:]
        self.update()

    def _do(self, s: Stepper, message: dict[str, Any]) -> None:
        what, text = str(message.get("do")), str(message.get("text", ""))
        runs: dict[str, Callable[[], Any]] = {
            "step": s.step,
            "run": s.run,
            "until": lambda: s.run(until=text),
            "over": lambda: s.over(_scope(s, text)),
            "back": lambda: s.back(min(1, s.position)),
            "switch": lambda: s.switch({str(nr): each for nr, each in enumerate(s.branches)}.get(text, text)),
        }
        if what in runs:
            runs[what]()
        elif what == "edit":
            s.edit(self._chosen(message), _output(message.get("nr")), typed(text))
        elif what == "breakpoint":
            self._toggle(s, self._chosen(message))
        elif what == "off":
            gone = [stop for stop in s.breakpoints if stop.describe(self._stage.called) == text][:1]
            s.breakpoints[:] = [stop for stop in s.breakpoints if stop not in gone]
        elif what == "watch":
            self._watch(self._stage.ids[self._chosen(message)])

    def _chosen(self, message: dict[str, Any]) -> Node:
        """Return the node that a message names.

        Raises:
            ValueError: if it names none.
        """
        node = self._stage.nodes.get(str(message.get("id")))
        if node is None:
            raise ValueError(_CHOOSE)
        return node

    def _watch(self, id: str) -> None:
        """Start or stop watching a node."""
        if id in self._watched:
            self._watched.remove(id)
        else:
            self._watched.append(id)

    def _toggle(self, s: Stepper, node: Node) -> None:
        there = _stops(s, node)
        if there:
            s.breakpoints[:] = [stop for stop in s.breakpoints if stop not in there]
        else:
            s.breakpoint(node)


def view_of(stage: Stage, stepper: Stepper) -> StepperView:
    """Return the live view of a stepper, the same one each time."""
    view = _widgets.get(stepper)
    if view is None:
        view = _widgets[stepper] = StepperView(stepper, stage)
    return view


def _output(nr: Any) -> int:
    """Return the number of an output, as a page gives it."""
    try:
        return int(nr)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(_NO_OUTPUT.format(nr)) from None


def _brief(gradient: Any) -> str:
    """Return a gradient in few columns."""
    return "no gradient" if gradient is None else Value.of(numbers_of(gradient)).text(line=COLUMNS)


def _scope(s: Stepper, text: str) -> str:
    """Return the scope that a text names, or else that of the next node, or of the next one that has a scope."""
    if text.strip() in places_of(s)[1]:
        return text.strip()
    ran = {step.node for step in s.steps}
    left = [node for node in s._to_run() if node not in ran]
    left.sort(key=lambda node: (node is not s.current, -node.seq))
    return next((scope for node in left if (scope := scope_of(node)) is not None), text)


def _stops(s: Stepper, node: Node) -> list[Breakpoint]:
    return [stop for stop in s.breakpoints if stop.stops_before(node)]


def _end(view: StepperView) -> None:
    if _working:
        view.close()


def _leave(ipython: Any, heard: Callable[[], None]) -> None:
    ipython.events.unregister("post_execute", heard)
