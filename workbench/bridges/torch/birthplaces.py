"""Where the nodes of a graph were created, from a recording around that or from anomaly mode."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from ...autograd.scopes import Entry
from ...pictures.trace.forward_records import NodeCreated
from ...pictures.trace.schema import Raw, value_of
from ...pictures.trace.source import Line, is_users
from ...pictures.trace.stacks import line_in
from .describe import TorchDescriber

recorders: WeakValueDictionary[str, TorchDescriber] = WeakValueDictionary()  # by their key in the metadata of nodes
_FRAME = re.compile(r'\s*File "(.+)", line (\d+)')  # of a stack as text


class Birthplace(NamedTuple):
    """The line that created a node, and the innermost module that was being called."""

    line: Line
    scope: Entry | None


def birthplaces(nodes: Iterable[Any]) -> dict[Any, Birthplace]:
    """Return where these nodes were created, as far as is known; the latest recording counts."""
    known = sorted(recorders.items(), key=lambda item: int(item[0].rpartition(" ")[2]), reverse=True)
    created: dict[str, dict[int, Raw]] = {}
    found: dict[Any, Birthplace] = {}
    for node in nodes:
        about = node.metadata
        for key, recorder in known:
            if key in about:
                if key not in created:
                    created[key] = {raw[1]: raw for raw in recorder._raw if raw[0] is NodeCreated}
                raw = created[key].get(about[key].serial)
                stack = None if raw is None else value_of(raw, "stack")
                if raw is not None and stack is not None:
                    found[node] = Birthplace(line_in(stack), value_of(raw, "entry"))
                    break
        else:
            if (line := line_in_metadata(about)) is not None:
                found[node] = Birthplace(line, None)
    return found


def line_in_metadata(about: dict[str, Any]) -> Line:
    """Return the user's line that created a node, from anomaly mode."""
    for text in reversed(about.get("traceback_") or ()):
        frame = _FRAME.match(text)
        if frame is not None and is_users(frame[1]):
            return frame[1], int(frame[2])
    return None
