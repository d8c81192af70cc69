"""Which nodes of a graph take no part: nothing holds them, no backward reaches them, or another runs them."""

from __future__ import annotations

from collections.abc import Iterable

from ..scene.model import WITHIN, Box, BoxState, Detail
from ..trace.backward_records import BackwardFinished, BackwardStarted, Failed
from ..trace.forward_records import NodeCreated
from ..trace.frame import Frame, NodeState
from ..trace.schema import Record

GONE = "freed: no references left"
BESIDE = "not reached by backward"
_RUNS = "The operation wrote through a view. CopySlices runs its node on the gradient of the part that was written."


class NodeStatus:
    """Hold what is known of a trace's nodes in advance."""

    def __init__(self, events: Iterable[Record]) -> None:
        self._runs: dict[str, str] = {}  # the node of an operation that wrote through a view -> the one that runs it
        self._beside: set[str] = set()  # nodes that no backward reaches, although one began after they were made
        edges: dict[str, list[str]] = {}
        waiting: set[str] = set()
        going = 0
        for event in events:
            if isinstance(event, NodeCreated):
                edges[event.node] = [edge.target for edge in event.edges if edge.target is not None]
                if event.runs is not None:
                    self._runs[event.runs] = event.node
                    edges[event.node].append(event.runs)
                if not going and event.pushing is None and not any([seen.level for seen in event.tensors]):
                    waiting.add(event.node)
            elif isinstance(event, BackwardStarted):
                reached = [root.node for root in event.roots]
                while reached:
                    node = reached.pop()
                    reached += edges.pop(node, ())
                    waiting.discard(node)
                    self._beside.discard(node)
                self._beside |= waiting
                waiting = set()
                going += 1
            elif isinstance(event, BackwardFinished) or (isinstance(event, Failed) and event.task is not None):
                going -= 1

    def region(self, frame: Frame, id: str) -> Box | None:
        """Return the box of the node that runs another, around both."""
        outer = self._runs.get(id, id if frame.nodes[id].made.runs is not None else None)
        if outer is None:
            return None
        scope = frame.nodes[id].made.scope
        title = WITHIN.join([*(scope.split("/") if scope else ()), "CopySlices"])
        state: BoxState = "idle" if outer in frame.nodes else "future"
        return Box(f"{outer}.runs", "region", title, state=state, details=(Detail("What it is", "text", _RUNS),))

    def state(self, node: NodeState) -> tuple[BoxState, tuple[str, ...]]:
        """Return how a node is drawn, and a line that says why, if it takes no part."""
        calm = node.state in ("idle", "done")
        if node.gone and calm:
            return "over", (GONE,)
        if node.made.node in self._beside and calm:
            return "over", (BESIDE,)
        return node.state, ()
