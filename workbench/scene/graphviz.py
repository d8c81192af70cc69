"""Graphviz, in this process or as a program on the path: all that is told of it is numbers, no text of a picture."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .curves import Point

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
        from pygraphviz import AGraph
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
        import graphviz
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
