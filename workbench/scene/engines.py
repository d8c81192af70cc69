"""Graphviz: the text of a graph in DOT goes in, and where its nodes, edges and labels are comes out.

It works in this process (pygraphviz) or as a program on the path: the first of `ENGINES` that is installed is asked.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from _thread import start_new_thread
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .geometry import Point

_lock = threading.Lock()  # Graphviz has state of its own, and the standard error stream is every thread's
if hasattr(os, "register_at_fork"):  # so a fork waits until no other thread is in there
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
_stream = threading.Lock()  # held while the standard error stream is switched
_heard: list[int] = []  # the stream itself, while Graphviz's warnings go nowhere


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


def placed(dot: str) -> Placed:
    """What the first of the engines that is installed makes of numbered nodes and edges.

    Errors: LayoutUnavailable.
    """
    for engine in ENGINES:
        found = engine(dot)
        if found is not None:
            return found
    raise LayoutUnavailable(
        "No picture can be drawn because Graphviz is missing: run `pip install "
        "pygraphviz`, or, where that has no wheel, install Graphviz and put its program "
        "`dot` on the PATH."
    )


def _by_pygraphviz(dot: str) -> Placed | None:
    try:
        from pygraphviz import AGraph  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return None
    return _uninterrupted(AGraph, dot)


def _uninterrupted(graph_class: Any, dot: str) -> Placed:
    """In a thread of its own, because Ctrl-C stops only the main one: a graph half closed is closed once more, a crash.

    The bare thread and lock, because an interrupt of `Thread.start` and `join` can raise errors of theirs. What an
    interrupted caller no longer waits for ends later, or never begins; that caller's traceback is to be seen.
    """
    done = threading.Lock()
    outcome: list[Placed | BaseException] = []
    left: list[bool] = []

    def run() -> None:
        try:
            with _lock:
                with _stream:
                    if left:
                        return
                    _hush()
                try:
                    outcome.append(_in_process(graph_class, dot))
                finally:
                    with _stream:
                        _unhush()
        except BaseException as error:  # raised below, where the caller is
            outcome.append(error)
        finally:
            done.release()

    done.acquire()
    try:
        start_new_thread(run, ())
        done.acquire()
    except BaseException:
        with _stream:
            left.append(True)
            _unhush()
        raise
    (placed_or_error,) = outcome
    if isinstance(placed_or_error, BaseException):
        raise placed_or_error
    return placed_or_error


def _in_process(graph_class: Any, dot: str) -> Placed:
    graph = graph_class(string=dot)
    try:
        graph.layout("dot")
        keyed = sorted(graph.edges(keys=True), key=lambda edge: int(edge[2]))
        edges = [graph.get_edge(*edge).attr for edge in keyed]
        nodes = [node.attr["pos"] for node in sorted(graph.nodes(), key=int)]
        return _read_places(graph.graph_attr["bb"], nodes, [(attr["pos"], attr["lp"]) for attr in edges])
    finally:
        graph.close()


def _by_program(dot: str) -> Placed | None:
    try:
        import graphviz  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return None
    try:
        told = json.loads(graphviz.pipe("dot", "json0", dot.encode(), quiet=True))
    except graphviz.ExecutableNotFound:
        return None
    except (OSError, subprocess.CalledProcessError) as error:
        raise LayoutUnavailable(
            "No picture can be drawn because Graphviz's program `dot` failed: {}".format(str(error).partition("\n")[0])
        ) from None
    edges = sorted(told.get("edges", []), key=lambda edge: int(edge["id"]))
    nodes = sorted([each for each in told["objects"] if each["name"].isdigit()], key=lambda each: int(each["name"]))
    return _read_places(told["bb"], [each["pos"] for each in nodes], [(each["pos"], each.get("lp")) for each in edges])


# From the text of a graph in DOT to its places; an engine that is not installed gives None.
ENGINES: Sequence[Callable[[str], Placed | None]] = (_by_pygraphviz, _by_program)


def _read_places(box: str, nodes: list[str], edges: list[tuple[str, str | None]]) -> Placed:
    left, bottom, right, top = _numbers(box)

    def point(text: str) -> Point:
        x, y = _numbers(text)
        return x - left, top - y  # Graphviz counts upwards

    splines = [[point(each) for each in spline.split()] for spline, _ in edges]
    labels = [point(label) if label else None for _, label in edges]
    return Placed(right - left, top - bottom, [point(each) for each in nodes], splines, labels)


def _numbers(text: str) -> list[float]:
    return [float(number) for number in text.split(",")]


def _hush() -> None:
    """Keep Graphviz's C code from warning about fonts on standard error, which a notebook would show."""
    try:
        _heard.append(os.dup(2))
    except OSError:  # a program without a standard error stream
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _unhush() -> None:
    if _heard:
        kept = _heard.pop()
        os.dup2(kept, 2)
        os.close(kept)
