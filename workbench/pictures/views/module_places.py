"""Where in the modules of a model each node is, as the program calls them."""

from __future__ import annotations

from collections.abc import Iterable

from ..trace.forward_records import NodeCreated


def places_of(nodes: Iterable[NodeCreated]) -> dict[str, str]:
    """Return each node's module path, `net.conv1`, with several nodes in a module the operation too: `net · relu`."""
    made = {node.node: node for node in nodes if node.scope}
    paths = {id: _path(node) for id, node in made.items()}
    does: dict[str, set[str]] = {}
    for id, path in paths.items():
        does.setdefault(path, set()).add(made[id].operation)
        outer = path.rpartition(".")[0]
        while outer and "" not in does.setdefault(outer, set()):
            does[outer].add("")  # what is inside of it
            outer = outer.rpartition(".")[0]
    return {id: path if len(does[path]) == 1 else f"{path} · {made[id].operation}" for id, path in paths.items()}


def _path(made: NodeCreated) -> str:
    """Return the module that a node is in, as the program calls it: `net.layer1.conv1`."""
    outer, *inner = (made.scope or "").split("/")
    called = next((part.variable for part in made.path if part.kind == "scope"), "")
    return ".".join([called or outer, *inner])
