"""By which edges gradients have come to a place in its last backward, and in which order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from ..trace.backward import BackwardStarted, NodeFinished
from ..trace.building import NodeCreated
from ..trace.facts import Record
from ..trace.frame import Frame
from ..trace.states import EdgeState


class Arrivals:
    """What is known of a trace's edges before it is told: where they lead, and in which backwards they bring something.

    An edge that brought something in one backward still has it in the next, if that does not reach it.
    """

    def __init__(self, events: Iterable[Record]) -> None:
        self._edges: dict[str, dict[str, None]] = {}  # place -> the edges that lead to it
        self._came: dict[str, list[tuple[int, int]]] = {}  # edge -> in which backward, by its number, and when
        begun: dict[str, int] = {}
        for when, event in enumerate(events):
            if isinstance(event, NodeCreated):
                for index, edge in enumerate(event.edges):
                    self._edges.setdefault(edge.target or "", {})[f"{event.node}.{index}"] = None
            elif isinstance(event, BackwardStarted):
                begun[event.task] = len(begun)
                for root in event.roots:
                    key = f"{root.node}.seed{root.output_nr}"
                    self._edges.setdefault(root.node, {})[key] = None
                    self._came.setdefault(key, []).append((begun[event.task], when))
            elif isinstance(event, NodeFinished):
                for index in range(len(event.grads)):
                    self._came.setdefault(f"{event.node}.{index}", []).append((begun.get(event.task, 0), when))
        for came in self._came.values():  # one backward may run inside another
            came.sort()

    def at(self, frame: Frame, place: str) -> list[EdgeState]:
        """The edges, in the order in which gradients came by them."""
        now = len(frame.tasks)  # backwards that have begun
        found: list[tuple[int, int, EdgeState]] = []
        flowing: list[int] = []
        for key in self._edges.get(place, ()):
            edge = frame.edges.get(key)
            if edge is not None and edge.state != "idle":
                came = self._came.get(key, ())
                task, when = came[at - 1] if (at := bisect_left(came, (now,))) else (0, -1)
                found.append((task, when, edge))
                flowing += [task] * (edge.state == "flowing")
        # That which brings something now is the one to tell of, even if another began later inside it.
        last = max(flowing or [task for task, _, _ in found], default=0)
        return [edge for task, _, edge in sorted(found, key=lambda each: each[1]) if task == last]
