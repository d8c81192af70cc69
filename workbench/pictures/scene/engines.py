"""Graphviz: the text of a graph in DOT goes in, and the places of its nodes, edges and labels come out.

Graphviz is a library (pygraphviz), a program on the path, or in a browser a part of the site (`browser.py`). The first
of `ENGINES` that exists returns Graphviz's own JSON, which is read here. Nothing stops the library in this process,
not even Ctrl-C, so a long text goes to a separate process, which ends with its time limit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from _thread import start_new_thread
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from . import browser
from .geometry import Point

# The longest that the parts of one picture are laid out, and that Graphviz works at one of them: whoever opens a file
# that was made to take long waits no longer. Graphs of 5,000 nodes take a fraction of it.
MOST_SECONDS = 60.0
_MOST_HERE = 400  # lines of DOT: Graphviz is done with so many sooner than a process begins, or little later
_PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from pygraphviz import AGraph
sys.stdout.buffer.write(AGraph(string=sys.stdin.buffer.read().decode()).draw(format="json0", prog="dot"))
"""
_Part = TypeVar("_Part")

_lock = threading.Lock()  # Graphviz has state of its own, and the standard error stream is every thread's
if hasattr(os, "register_at_fork"):  # so a fork waits until no other thread is in there
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
_stream = threading.Lock()  # held while the standard error stream is switched
_heard: list[int] = []  # the stream itself, while Graphviz's warnings go nowhere


class LayoutUnavailable(RuntimeError):
    """There is no Graphviz to place the boxes with, or it takes too long."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where Graphviz put things, in px from the upper left corner: middles of nodes and labels, and Bézier points."""

    width: float
    height: float
    nodes: list[Point]
    edges: list[list[Point]]
    labels: list[Point | None]


def placed(dot: str) -> Placed:
    """Return the layout that the first available engine makes of numbered nodes and edges.

    Errors: LayoutUnavailable.
    """
    for engine in ENGINES:
        answer = engine(dot)
        if answer is not None:
            return _read_json(answer)
    if sys.platform == "emscripten":
        raise LayoutUnavailable(
            "No picture can be drawn because this site was built without Graphviz: build it with `workbench lite`."
        )
    raise LayoutUnavailable(
        "No picture can be drawn because Graphviz is missing: run `pip install pygraphviz`. If your system has no "
        "wheel for it, install Graphviz and put its program `dot` on the PATH."
    )


def in_time(parts: Iterable[_Part]) -> Iterator[_Part]:
    """Yield the parts of a picture one by one, as long as laying them out takes at most `MOST_SECONDS`."""
    end = monotonic() + MOST_SECONDS
    for part in parts:
        if monotonic() >= end:
            raise _too_long()
        yield part


def _too_long() -> LayoutUnavailable:
    return LayoutUnavailable(
        f"No picture can be drawn because the layout took more than {MOST_SECONDS:g} seconds. Record less "
        "of the program, or open fewer groups with `show(depth=1)`."
    )


def _by_pygraphviz(dot: str) -> str | bytes | None:
    try:
        import pygraphviz  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return None
    if dot.count("\n") > _MOST_HERE and sys.executable:
        with suppress(OSError):  # where no process can begin
            return _by_process(
                [sys.executable, "-I", "-c", _PROGRAM, str(Path(pygraphviz.__file__).parent.parent)], dot
            )
    return _uninterrupted(pygraphviz.AGraph, dot)


def _uninterrupted(graph_class: Any, dot: str) -> bytes:
    """Run in a separate thread, as Ctrl-C only stops the main one: an interrupted close would run twice, and crash.

    The thread and the lock are the low-level ones, because an interrupt of `Thread.start` and `join` can raise other
    errors. Work that an interrupted caller no longer waits for ends later, or never begins; the traceback shows that
    caller.
    """
    done = threading.Lock()
    outcome: list[bytes | BaseException] = []
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
        try:
            start_new_thread(run, ())
        except RuntimeError:  # no thread can start
            run()
        done.acquire()
    except BaseException:
        with _stream:
            left.append(True)
            _unhush()
        raise
    (answer,) = outcome
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _in_process(graph_class: Any, dot: str) -> bytes:
    graph = graph_class(string=dot)
    try:
        return graph.draw(format="json0", prog="dot")
    finally:
        graph.close()


def _by_program(dot: str) -> bytes | None:
    if sys.platform == "emscripten":  # which starts no program
        return None
    try:
        return _by_process(["dot", "-Tjson0"], dot)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _failed(str(error)) from None


def _by_process(command: list[str], dot: str) -> bytes:
    quiet = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # on Windows
    try:
        ran = subprocess.run(
            command, input=dot.encode(), capture_output=True, timeout=MOST_SECONDS, creationflags=quiet, check=False
        )
    except subprocess.TimeoutExpired:
        raise _too_long() from None
    if ran.returncode:
        raise _failed(f"{command[0]} returned non-zero exit status {ran.returncode}.")
    return ran.stdout


def _by_browser(dot: str) -> str | None:
    try:
        return browser.answer(dot)
    except Exception as error:  # of JavaScript
        raise LayoutUnavailable(f"No picture can be drawn because Graphviz failed in the browser: {error}") from None


def _failed(why: str) -> LayoutUnavailable:
    return LayoutUnavailable(f"No picture can be drawn because Graphviz's program `dot` failed: {why}")


# From the text of a graph in DOT to what Graphviz says of it in JSON ("json0"); an engine that is not there gives None.
ENGINES: Sequence[Callable[[str], str | bytes | None]] = (_by_pygraphviz, _by_program, _by_browser)


def _read_json(answer: str | bytes) -> Placed:
    graph = json.loads(answer)
    left, bottom, right, top = _numbers(graph["bb"])
    numbered = [each for each in graph.get("objects", []) if each["name"].isdigit()]
    nodes = sorted(numbered, key=lambda each: int(each["name"]))
    drawn = [edge for edge in graph.get("edges", []) if edge.get("id", "").isdigit()]  # others only keep an order
    edges = sorted(drawn, key=lambda edge: int(edge["id"]))

    def point(text: str) -> Point:
        x, y = _numbers(text)
        return x - left, top - y  # Graphviz counts upwards

    splines = [[point(each) for each in edge["pos"].split()] for edge in edges]
    labels = [point(edge["lp"]) if edge.get("lp") else None for edge in edges]
    return Placed(right - left, top - bottom, [point(node["pos"]) for node in nodes], splines, labels)


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
