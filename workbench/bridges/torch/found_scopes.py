"""Which module created a node of an unrecorded graph: the graph doesn't show it, but its parameters do."""

from __future__ import annotations

from collections.abc import Iterable
from types import FrameType
from typing import Any, NamedTuple

from torch import nn

from ...autograd.scopes import Entry
from ...events import next_tag
from ...pictures.trace.identity import named_parts
from ...pictures.trace.module_names import modules_holding, parameters_of
from ...pictures.trace.names import named_in
from .birthplaces import Birthplace, birthplaces
from .describe import AccumulateGrad, is_tensor

FRAMES = 8  # of the functions around the one that asks, whose variables are looked at
_VIEWS = ("T", "Transpose", "Permute", "View", "UnsafeView", "Expand")  # of a parameter, before it is used


class Found(NamedTuple):
    """What a graph reveals: the names of tensors, the best first, and where nodes were created."""

    named: list[tuple[str, Any]]
    places: dict[Any, Birthplace]


def found_out(nodes: list[Any], frames: list[FrameType]) -> Found:
    """Return what the program's frames, innermost first, reveal about these nodes."""
    named: list[tuple[str, Any]] = []
    leaves = [(node, node.variable) for node in nodes if type(node) is AccumulateGrad]
    parameters = [leaf for _, leaf in leaves if isinstance(leaf, nn.Parameter)]
    paths: dict[int, str] = {}
    kinds: dict[str, str] = {}
    for name, module in modules_holding(parameters, frames, nn.Module):
        for path, part in named_parts(module, name):
            kinds[path.replace(".", "/")] = type(part).__name__
        for path, tensor in parameters_of(name, module, is_tensor):
            paths.setdefault(id(tensor), path.rpartition(".")[0])
            named.append((path, tensor))
    named += named_in(frames[0], is_tensor) if frames else []
    made_in = {node: paths[id(leaf)] for node, leaf in leaves if id(leaf) in paths}
    scopes, places = scopes_of(nodes, made_in, kinds), birthplaces(nodes)
    for node, scope in scopes.items():
        if (known := places.get(node)) is None or known.scope is None:
            places[node] = Birthplace(None if known is None else known.line, scope)
    return Found(named, places)


def scopes_of(nodes: Iterable[Any], modules: dict[Any, str], kinds: dict[str, str]) -> dict[Any, Entry]:
    """Return the scopes of nodes, such as "net/0"; `modules` has the dotted path of each leaf that is a parameter.

    A node that uses a module's parameters was created in it, and so were nodes between two nodes of one module; but a
    Function may use them anywhere.
    """
    order = _inputs_first(nodes)
    paths = {leaf: path.replace(".", "/") for leaf, path in modules.items()}
    prefixes = {path: _prefixes(path) for path in set(paths.values())}
    bits = {path: 1 << i for i, path in enumerate(sorted({each for all in prefixes.values() for each in all}))}
    own: dict[Any, str] = {}
    for node in order:
        if type(node) is AccumulateGrad or hasattr(type(node), "_forward_cls"):
            continue
        used = [paths[to] for to, _ in node.next_functions if to in paths]
        if used:
            own[node] = _common(used)
            if node.name().removesuffix("Backward0") in _VIEWS:
                paths[node] = own[node]
                prefixes.setdefault(own[node], _prefixes(own[node]))
    masks = {node: sum(bits[each] for each in _prefixes(path)) for node, path in own.items() if path}
    below: dict[Any, int] = {}  # of what it was computed from, and its own
    above = masks.copy()  # of what was computed from it, and its own
    for node in order:
        below[node] = masks.get(node, 0)
        for to, _ in node.next_functions:
            below[node] |= 0 if to is None else below[to]
    for node in reversed(order):
        for to, _ in node.next_functions:
            if to is not None:
                above[to] = above.get(to, 0) | above.get(node, 0)
    entries: dict[str, Entry] = {}
    scopes: dict[Any, Entry] = {}
    for node in order:
        around = below[node] & above.get(node, 0)
        if around and type(node) is not AccumulateGrad:
            path = max([each for each, bit in bits.items() if around & bit], key=len)
            scopes[node] = _entry(own.get(node) or path, entries, kinds)
    return scopes


def _inputs_first(nodes: Iterable[Any]) -> list[Any]:
    order: dict[Any, None] = {}
    todo = [(node, False) for node in nodes]
    met: set[Any] = set()
    while todo:
        node, after = todo.pop()
        if after:
            order[node] = None
        elif node not in met:
            met.add(node)
            todo.append((node, True))
            todo += [(to, False) for to, _ in node.next_functions if to is not None]
    return list(order)


def _prefixes(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[: i + 1]) for i in range(len(parts))]


def _common(paths: list[str]) -> str:
    shared = [each for each in _prefixes(paths[0]) if all(f"{path}/".startswith(f"{each}/") for path in paths)]
    return shared[-1] if shared else ""


def _entry(path: str, entries: dict[str, Entry], kinds: dict[str, str]) -> Entry:
    if path not in entries:
        outer, _, name = path.rpartition("/")
        around = _entry(outer, entries, kinds) if outer else None
        entries[path] = Entry((path, name, next_tag(), around, (), 0, kinds.get(path, ""), ""))
    return entries[path]
