"""The tabs of a recording's picture: its other views that have something to show, each made when a page asks for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..scene.storyboard import PictureInside, Storyboard
from ..trace.backward_records import BackwardStarted, Failed
from ..trace.call_records import MethodCalled
from ..trace.forward_records import NodeCreated
from ..trace.schema import Record
from ..trace.tensor_records import TensorWritten
from ..trace.timeline import Timeline
from . import VIEWS, storyboard
from .overlay import Numbers

_SMALL = 500  # events
_LARGE = ("graph", "flow", "saved")  # to make one of these takes seconds where more was recorded

_Events = Sequence[Record]


def _saves(events: _Events) -> bool:
    return any(isinstance(event, NodeCreated) and event.saved for event in events)


def _writes(events: _Events) -> bool:
    return _has(TensorWritten, events) and any(
        isinstance(event, TensorWritten) and event.optimizer is None for event in events
    )


def _has(kind: type[Record], events: _Events) -> bool:
    return kind in set(map(type, events))


# In the order in which they are offered, with what has to be recorded for it.
_VIEWS: dict[str, Callable[[_Events], bool]] = {
    "graph": partial(_has, NodeCreated),
    "flow": partial(_has, BackwardStarted),
    "saved": _saves,
    "memory": _saves,
    "versions": _writes,
    "function": partial(_has, MethodCalled),
    "health": partial(_has, BackwardStarted),
    "error": partial(_has, Failed),
}


def with_tabs(trace: Timeline, view: str = "graph", **options: Any) -> Storyboard:
    """Return the storyboard of a view, with the other views of the trace as its tabs."""
    if options.get("overlay") is not None:
        options["overlay"] = Numbers.of(trace, options["overlay"])  # a snapshot no longer knows the tensors
    trace = trace.snapshot()
    board = storyboard(trace, view, **options)
    if view not in _VIEWS:
        return board
    legend, overlay = options.get("legend", True), options.get("overlay")

    def tab(name: str) -> PictureInside:
        more = (
            {"overlay": replace(overlay, of_all=False)}
            if overlay is not None and "overlay" in VIEWS[name].options
            else {}
        )
        return PictureInside(lambda: (storyboard(trace, name, legend=legend, **more), {}), "")

    events = trace.events
    ready = [name for name in _VIEWS if len(events) <= _SMALL or name not in _LARGE]
    names = [name for name in _VIEWS if name == view or (name in ready and _VIEWS[name](events))]
    board.tabs = {name: None if name == view else tab(name) for name in names} if len(names) > 1 else {}
    return board
