"""`live()`: draw the graph in a notebook while the cell runs."""

from __future__ import annotations

import sys
import time
from types import ModuleType, TracebackType
from typing import Any

from ..events import Event, listeners, tag
from .recording import Trace, record
from .scene.displays import display_of
from .scene.model import Scene
from .scene.storyboard import Storyboard
from .trace.names import named_in
from .trace.reader import Reader
from .trace.recorder import Recorder
from .trace.stacks import user_frame
from .trace.timeline import Ending
from .views import storyboard
from .views.grouped_graph import is_small
from .views.player_steps import roomy, within

PAUSE = 0.05  # s between two pictures of a cell that runs, at least
SHARE = 4  # times as long as a picture took the cell has for itself before the next


class live(record):  # named as what a user writes: `with live() as trace:`
    """Record as `record()` does. In a notebook, also draw the graph while the cell runs.

    When the cell ends, a player of the whole recording replaces the growing graph. Outside a notebook, `live` only
    records. It keeps all events: a picture that grows can't drop its beginning, so there is no `last` option.

    Args:
        engine: This package. You can omit it. For a PyTorch program, use `record(torch)`.
        limit: The maximum number of values to store per tensor, by default 1,000. For a larger tensor, only a summary
            is stored.
        lines: If True, also record each line that runs in the methods of your Functions, for `show("function")`.

    Raises:
        TypeError: if `engine` is another module.
    """

    def __init__(self, engine: ModuleType | None = None, limit: int | None = None, lines: bool = False) -> None:
        super().__init__(engine, limit, lines)

    def _of_other_engine(self, engine: Any, options: dict[str, Any]) -> Any:
        name = getattr(engine, "__name__", repr(engine))
        raise TypeError(f"live() records the programs of this package only, not those of {name}.")

    def __enter__(self) -> Trace:
        self._painter = None
        self._trace = trace = super().__enter__()
        try:
            self._painter = _painter_for(self._open[0])
            if self._painter is not None:
                listeners.append(self._painter)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return trace

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        painter, trace, self._painter, self._trace = self._painter, self._trace, None, None
        try:
            if painter is not None and painter in listeners:
                listeners.remove(painter)
        finally:
            super().__exit__(kind, error, traceback)
        if painter is not None and trace is not None:
            painter.leave(trace)


_ALL = 100  # levels of groups


class _Painter:
    """A listener after the recorder that draws the events, no more often than a reader can see.

    It shows one iteration at a time: a new one starts with a graph that is built after a backward pass freed the last
    one. Common parts of two iterations keep their places.
    """

    def __init__(self, recorder: Recorder, growing: Any, display: Any) -> None:
        self._limit, self._growing, self._next = recorder._limit, growing, 0.0
        self._sampler = recorder.sampler  # where the recording began
        self._begin()
        self._going: list[Any] = []  # backwards, each within the one before
        self._whole = Storyboard(Scene())  # with the places
        self._handle = display(growing, display_id=True)

    def _begin(self) -> None:
        self._round, self._over = Recorder(self._limit), False
        self._round.sampler = self._sampler

    def __call__(self, event: Event) -> None:
        begin = time.monotonic()
        self._hear(event)
        if begin >= self._next and event[0] != "unrecorded":  # of which nothing is drawn by itself
            self._paint()
            end = time.monotonic()
            self._next = max(begin + PAUSE, end + SHARE * (end - begin))

    def _hear(self, event: Event) -> None:
        kind = event[0]
        if self._over and kind in ("created", "entered", "pushing"):
            self._begin()
        self._round(event)
        if kind == "backward":
            self._going.append(event[1])
        elif kind == "finished" and event[1] in self._going:
            del self._going[self._going.index(event[1]) :]
            self._over |= not self._going and not event[1].keep_graph

    def _paint(self) -> None:
        # Names are borrowed: when the next picture is made, a variable may hold another tensor.
        names = self._round._names.copy()
        frame = user_frame()
        for name, thing in named_in(frame) if frame is not None else ():
            names.setdefault(tag(thing), name)
        trace = Ending(Reader(names).read(self._round._raw))
        # What is open may not depend on how much has come: a group would close over boxes that stood there.
        board = storyboard(trace, depth=_ALL if is_small(trace.events) else None)
        now = board.at(len(board.steps) - 1)
        there = within(now, self._whole)
        if there is None:
            self._whole, there = roomy(now, self._whole), now
        still = Storyboard(there, title=board.title).with_density(self._whole.density)
        still.layout = self._whole.layout
        self._growing.follow(still)

    def leave(self, trace: Trace) -> None:
        """Replace the growing picture by the one of the recording."""
        try:
            self._handle.update(trace.show())
        finally:
            self._growing.close()


def _painter_for(recorder: Recorder) -> _Painter | None:
    """Return a painter for a recording, if there is a notebook to draw in."""
    ipython = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(ipython, "kernel", None) is None:
        return None
    growing = display_of(Storyboard)  # its `follow` is given one picture after the other, until its `close`
    if growing is None:
        return None
    begin = Storyboard(Scene("A recording under way"))
    return _Painter(recorder, growing(begin), sys.modules["IPython"].display.display)
