"""Which module of PyTorch's made a node: its graph does not say, but its parameters and the variables do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..autograd.node import AccumulateGrad, Node, extra_of
from ..autograd.scopes import Entry
from ..events import next_tag

_VIEWS = ("T", "Transpose", "Permute", "View", "UnsafeView", "Expand")  # of a parameter, before it is used


def give_scopes(nodes: Iterable[Node], modules: dict[Node, str]) -> None:
    """Give nodes the scopes of modules, as "net/0"; `modules` has the dotted path of each leaf that is a parameter.

    A node that uses a module's parameters was made in it, and so was what lies between two nodes of one module.
    """
    order = _inputs_first(nodes)
    paths = {leaf: path.replace(".", "/") for leaf, path in modules.items()}
    prefixes = {path: _prefixes(path) for path in set(paths.values())}
    bits = {path: 1 << i for i, path in enumerate(sorted({each for all in prefixes.values() for each in all}))}
    own: dict[Node, str] = {}
    for node in order:
        if type(node) is AccumulateGrad:
            continue
        used = [paths[to] for to, _ in node.edges() if to in paths]
        if used:
            own[node] = _common(used)
            if node.name().removesuffix("Backward0") in _VIEWS:
                paths[node] = own[node]
                prefixes.setdefault(own[node], _prefixes(own[node]))
    masks = {node: sum(bits[each] for each in _prefixes(path)) for node, path in own.items() if path}
    below: dict[Node, int] = {}  # of what it was computed from, and its own
    above = masks.copy()  # of what was computed from it, and its own
    for node in order:
        below[node] = masks.get(node, 0)
        for to, _ in node.edges():
            below[node] |= 0 if to is None else below[to]
    for node in reversed(order):
        for to, _ in node.edges():
            if to is not None:
                above[to] = above.get(to, 0) | above.get(node, 0)
    entries: dict[str, Entry] = {}
    for node in order:
        around = below[node] & above.get(node, 0)
        if around and type(node) is not AccumulateGrad:
            path = max([each for each, bit in bits.items() if around & bit], key=len)
            extra_of(node).scope = _entry(own.get(node) or path, entries)


def _inputs_first(nodes: Iterable[Node]) -> list[Node]:
    order: dict[Node, None] = {}
    todo = [(node, False) for node in nodes]
    met: set[Node] = set()
    while todo:
        node, after = todo.pop()
        if after:
            order[node] = None
        elif node not in met:
            met.add(node)
            todo.append((node, True))
            todo += [(to, False) for to, _ in node.edges() if to is not None]
    return list(order)


def _prefixes(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[: i + 1]) for i in range(len(parts))]


def _common(paths: list[str]) -> str:
    shared = [each for each in _prefixes(paths[0]) if all(f"{path}/".startswith(f"{each}/") for path in paths)]
    return shared[-1] if shared else ""


def _entry(path: str, entries: dict[str, Entry]) -> Entry:
    if path not in entries:
        outer, _, name = path.rpartition("/")
        entries[path] = Entry(path, name, next_tag(), _entry(outer, entries) if outer else None, (), 0)
    return entries[path]


def modules_of(named: Iterable[tuple[str, Any]]) -> dict[int, str]:
    """By their addresses the parameters that `named_in` found in modules, with the dotted path of the module."""
    return {
        id(thing): name.rpartition(".")[0] for name, thing in reversed(list(named)) if "." in name and "[" not in name
    }
