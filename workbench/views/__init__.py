"""The views: each draws the frames of a trace its own way. A new one is a file here and a line in `VIEWS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..scene.storyboard import Storyboard
from ..trace.timeline import Timeline
from .error import error_story
from .flow import Flow
from .function import function_card
from .graph import Graph
from .memory import memory
from .saved import saved
from .together import tell_grouped
from .versions import versions

VIEWS: dict[str, Callable[..., Graph]] = {"graph": Graph, "flow": Flow}

# Those that tell a trace in their own steps.
CHARTS: dict[str, Callable[..., Storyboard]] = {
    "error": error_story,
    "function": function_card,
    "memory": memory,
    "saved": saved,
    "versions": versions,
}


def storyboard(trace: Timeline, view: str = "graph", **options: Any) -> Storyboard:
    """A trace as the named view tells it; the options are those of the view, and for a graph the groups to be open."""
    if view in CHARTS:
        return CHARTS[view](trace, **options)
    opened = options.pop("open", None)
    return tell_grouped(trace, VIEWS[view](trace.events, **options), opened)
