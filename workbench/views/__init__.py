"""The views: each draws the frames of a trace its own way. A new one is a file here and a line in `VIEWS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..scene.storyboard import Storyboard
from ..trace.facts import Record
from ..trace.timeline import Timeline
from .flow import Flow
from .function import function_card
from .graph import Graph
from .telling import View, tell

VIEWS: dict[str, Callable[[Sequence[Record]], View]] = {"graph": Graph, "flow": Flow}

# Those that tell a trace in their own steps.
CHARTS: dict[str, Callable[[Timeline], Storyboard]] = {"function": function_card}


def storyboard(trace: Timeline, view: str = "graph") -> Storyboard:
    """A trace as the named view tells it."""
    if view in CHARTS:
        return CHARTS[view](trace)
    return tell(trace, VIEWS[view](trace.events))
