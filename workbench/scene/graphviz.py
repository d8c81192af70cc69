"""Graphviz, in this process or as a program on the path: all that is told of it is numbers, no text of a picture.

Of a dense graph it is not told all: arrows that lead past many boxes cost it minutes and show nothing (`thinned`).
"""

from __future__ import annotations

import json
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .labels import Size
from .model import Arrow
from .routes import Point

_MISSING = (
    "No picture can be drawn because Graphviz is missing: run `pip install pygraphviz`, which brings it "
    "along, or put Graphviz's program `dot` on the PATH."
)

_lock = threading.Lock()  # Graphviz has state of its own, and the standard error stream is every thread's
if hasattr(os, "register_at_fork"):  # so a fork waits until no other thread is in there
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class LayoutUnavailable(RuntimeError):
    """There is no Graphviz to place the boxes with."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where Graphviz put things, in px from the upper left corner: middles of nodes and labels, and Bézier points."""

    width: float
    height: float
    nodes: list[Point]
    edges: list[list[Point]]
    labels: list[Point | None]


@lru_cache(maxsize=512)  # the rounds of a loop are all alike
def placed(dot: str) -> Placed:
    """What Graphviz's `dot` makes of numbered nodes and edges: in this process, else by a program on the path.

    Errors: LayoutUnavailable.
    """
    try:
        from pygraphviz import AGraph  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return _program(dot)
    with _lock:
        return _quietly(_in_process, AGraph, dot)


def _in_process(graph_class: Any, dot: str) -> Placed:
    graph = graph_class(string=dot)
    try:
        graph.layout("dot")
        keyed = sorted(graph.edges(keys=True), key=lambda edge: int(edge[2]))
        edges = [graph.get_edge(*edge).attr for edge in keyed]
        nodes = [node.attr["pos"] for node in sorted(graph.nodes(), key=int)]
        return _read(graph.graph_attr["bb"], nodes, [(attr["pos"], attr["lp"]) for attr in edges])
    finally:
        graph.close()


def _program(dot: str) -> Placed:
    try:
        import graphviz  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        raise LayoutUnavailable(_MISSING) from None
    try:
        told = json.loads(graphviz.pipe("dot", "json0", dot.encode(), quiet=True))
    except graphviz.ExecutableNotFound:
        raise LayoutUnavailable(_MISSING) from None
    edges = sorted(told.get("edges", []), key=lambda edge: int(edge["id"]))
    nodes = sorted([each for each in told["objects"] if each["name"].isdigit()], key=lambda each: int(each["name"]))
    return _read(told["bb"], [each["pos"] for each in nodes], [(each["pos"], each.get("lp")) for each in edges])


def _read(box: str, nodes: list[str], edges: list[tuple[str, str | None]]) -> Placed:
    left, bottom, right, top = _numbers(box)

    def point(text: str) -> Point:
        x, y = _numbers(text)
        return x - left, top - y  # Graphviz counts upwards

    splines = [[point(each) for each in spline.split()] for spline, _ in edges]
    labels = [point(label) if label else None for _, label in edges]
    return Placed(right - left, top - bottom, [point(each) for each in nodes], splines, labels)


def _numbers(text: str) -> list[float]:
    return [float(number) for number in text.split(",")]


def _quietly(function: Callable[..., Any], *args: Any) -> Any:
    """Keep Graphviz's C code from warning about fonts on standard error, which a notebook would show."""
    try:
        kept = os.dup(2)
    except OSError:  # a program without a standard error stream
        return function(*args)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        return function(*args)
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


_CALM, _HURRIED, _MOST = 4_000, 8_000, 12_000  # rows that all arrows together lead through
_TANGLED = 1_200  # rows that those past other boxes lead through: to bend more around them takes longer than the rest
_ARROWS, _EACH = 2_000, 4  # told of in any case, or for each box
# The limits stop the network simplex where more of it takes minutes for a thousand boxes and shows nowhere.
_SETTINGS = "splines=true, nslimit=2, nslimit1=2"
_FEWER_ROUNDS = "nslimit=0.1, nslimit1=0.1, mclimit=0.1"


def thinned(arrows: Sequence[Arrow], blocks: Mapping[str, str], labels: Mapping[str, Size]) -> tuple[list[Arrow], str]:
    """The arrows that decide where blocks stand, and with what settings: all of them, unless there are too many.

    `blocks` has the block of each box. Of very many arrows those into the row just below stay, the shortest of each
    box, and other short ones.
    """
    ends = {arrow.id: (blocks[arrow.source], blocks[arrow.target]) for arrow in arrows}
    row = rows(ends.values())
    # A label takes a row of its own.
    through = {id: max(1, row[to] - row[start]) * (2 if labels[id][0] else 1) for id, (start, to) in ends.items()}
    work, most = sum(through.values()), max(_ARROWS, _EACH * len(row))
    tangled = sum(each for each in through.values() if each > 2) > _TANGLED
    if work <= _CALM and len(arrows) <= most and not tangled:
        return list(arrows), _SETTINGS
    if work <= _HURRIED and len(arrows) <= most:
        return list(arrows), f"splines={'line' if tangled else 'true'}, {_FEWER_ROUNDS}"
    from_above: dict[str, str] = {}
    shortest: dict[str, str] = {}
    order = sorted(ends, key=lambda id: through[id])
    for id in order:
        start, to = ends[id]
        from_above.setdefault(to, id)
        shortest.setdefault(start, id)
    kept = {*from_above.values(), *shortest.values()}
    room = _MOST - sum(through[id] for id in kept)
    for id in order:
        room -= 0 if id in kept else through[id]
        if room < 0 or len(kept) >= most:
            break
        kept.add(id)
    return [arrow for arrow in arrows if arrow.id in kept], f"splines=line, {_FEWER_ROUNDS}"


def rows(ends: Iterable[tuple[str, str]]) -> dict[str, int]:
    """The row of each block, about as Graphviz finds it: below all that lead to it, no higher than it need be."""
    below, above = _neighbours(ends)
    row = _fallen(below, above)
    for block in reversed(row):
        if len(below[block]) >= len(above[block]):
            row[block] = max(row[block], min(row[to] for to in below[block]) - 1)
    return row


def depths(ends: Iterable[tuple[str, str]]) -> dict[str, int]:
    """How many arrows the longest way to each block has."""
    return _fallen(*_neighbours(ends))


def _neighbours(ends: Iterable[tuple[str, str]]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The blocks that each block leads to, and those that lead to it."""
    below: dict[str, list[str]] = defaultdict(list)
    above: dict[str, list[str]] = defaultdict(list)
    for start, to in ends:
        below[start].append(to)
        above[to].append(start)
    return below, above


def _fallen(below: dict[str, list[str]], above: dict[str, list[str]]) -> dict[str, int]:
    """The first row of each block that is below all that lead to it, each block after those."""
    blocks = dict.fromkeys([*below, *above])
    waiting = {block: len(above[block]) for block in blocks}
    row = dict.fromkeys(blocks, 0)
    done: dict[str, None] = {}
    for first in sorted(blocks, key=lambda block: waiting[block]):  # those in a circle come last
        ready = [] if first in done else [first]
        while ready:
            block = ready.pop()
            if block in done:
                continue
            done[block] = None
            for to in below[block]:
                waiting[to] -= 1
                if to not in done:
                    row[to] = max(row[to], row[block] + 1)
                    ready += [to] * (not waiting[to])
    return {block: row[block] for block in done}
