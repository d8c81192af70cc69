"""Ctrl-C leaves nothing switched on, wherever it comes; `python tests/support/interrupts.py` tries every place."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

import absent
import interrupts
import pytest
from oracle import torch as pytorch
from patience import PATIENCE
from pygraphviz import agraph, graphviz

import workbench as torch
import workbench.autograd.forward_ad
import workbench.utils.checkpoint  # noqa: F401  loads late
from workbench.autograd.state import local
from workbench.pictures.scene import engines

EVERY = interrupts.PROGRAMS
STRIDE = 197  # every so many-th point, another for each program


@pytest.fixture(autouse=True)
def untraced() -> Any:
    """The sweep needs the trace function for itself."""
    before = sys.gettrace()
    yield
    sys.settrace(before)


@pytest.mark.parametrize("name", EVERY)
def test_nothing_is_left_switched_on(name: str) -> None:
    first = list(EVERY).index(name) * 7 % STRIDE % 60
    left = interrupts.sweep(torch, EVERY[name], interrupts.our_state, STRIDE, first)
    assert left.points + left.beginnings
    assert not left.wrong
    if name in ("backward", "grad", "backward_inside_backward"):
        assert not left.after_those


def test_the_windows_that_were_open() -> None:
    """Where grad mode, a level, hooks, the task or a listener was left: the points in these functions, all of them."""
    open_once = ("set_grad", "with_grad", "_GradMode.__exit__", "GraphTask.run", "GraphTask._run", "record.__enter__")
    for name in ("grad", "no_grad", "record"):
        left = interrupts.sweep(torch, EVERY[name], interrupts.our_state, wanted=open_once)
        assert left.points >= 3
        assert not left.wrong


ENDS = {"record.__enter__", "record.__exit__", "_leave", "Recorder.watch", "Recorder._flush_deaths", "watch", "unwatch"}


def test_a_recording_of_lines_leaves_no_watcher_behind() -> None:
    left = interrupts.sweep(torch, EVERY["record_lines"], interrupts.our_state, wanted=tuple(ENDS))
    assert left.met == ENDS  # how often each is met differs between Pythons
    assert not left.wrong


@pytest.mark.skipif(pytorch is None, reason=absent.TORCH)
def test_a_recording_of_pytorchs_lines_leaves_no_watcher_behind() -> None:
    def record_lines(torch: Any) -> None:
        with torch.record(pytorch, lines=True):
            pass

    def state() -> dict[str, Any]:
        modes = pytorch.overrides._get_current_function_mode_stack()
        return interrupts.our_state() | {"modes": len(modes), "apply": pytorch.autograd.Function.apply.__func__}

    wanted = ("_leave", "unwatch", "user_frame")  # not where `__exit__` begins
    left = interrupts.sweep(torch, record_lines, state, wanted=wanted)
    assert left.points >= 3
    assert not left.wrong


def test_none_comes_into_graphviz() -> None:
    """Half a call of its closes a graph that is closed once more when it dies, which ends the process."""

    def placing(torch: Any) -> None:
        engines.placed("digraph { edge [dir=none]; 0; 1; 0 -> 1 [key=0, id=0]; }")

    program = [name for name in vars(graphviz) if not name.startswith("_")]
    handles = [name for name in vars(agraph.AGraph) if callable(getattr(agraph.AGraph, name))]
    inside = (*program, *(f"AGraph.{name}" for name in handles), "_in_process", "_hush")
    errors = os.fstat(2)
    assert interrupts.sweep(torch, placing, interrupts.our_state, wanted=inside) == interrupts.Left()
    left = interrupts.sweep(torch, placing, interrupts.our_state)
    assert left.points and not left.wrong
    assert os.path.samestat(os.fstat(2), errors)  # although Graphviz may still be placing for an interrupted one


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="Windows ends no waiting for a lock")
def test_the_traceback_of_an_interrupt_is_seen_while_graphviz_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = os.fstat(2)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    inside, go_on, over = threading.Event(), threading.Event(), threading.Event()
    stream, begun = [], []

    def in_process(graph_class: Any, dot: str) -> Any:
        begun.append(dot)
        stream.append(os.fstat(2))
        inside.set()
        try:
            assert go_on.wait(PATIENCE)
        finally:
            over.set()
        return '{"bb": "0,0,0,0", "objects": []}'

    def interrupt() -> None:
        assert inside.wait(PATIENCE)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def interrupted(dot: str, delay: float) -> None:
        threading.Timer(delay, interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            engines.placed(dot)
        assert os.path.samestat(os.fstat(2), errors)

    monkeypatch.setattr(engines, "_in_process", in_process)
    try:
        interrupted("first", 0)
        assert not os.path.samestat(stream[0], errors)
        interrupted("second", 0.2)  # has not begun: the first is still there
        go_on.set()
        assert over.wait(PATIENCE)
        engines.placed("third")
    finally:
        go_on.set()
        signal.signal(signal.SIGINT, handler)
    assert begun == ["first", "third"]
    assert os.path.samestat(os.fstat(2), errors)


def test_the_sweep_finds_what_is_left() -> None:
    def leaves(torch: Any) -> None:
        before = local.modes.grad
        local.modes.grad = False
        len([])
        local.modes.grad = before

    left = interrupts.sweep(torch, leaves, interrupts.our_state)
    assert [each.split(": ")[1] for each in left.wrong] == ["grad is False"]
    assert local.modes.grad


def test_an_interrupt_while_a_deep_backward_runs_elsewhere_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.autograd import engine

    monkeypatch.setattr(engine, "DEEPEST", 1)  # a backward inside another runs in a thread of its own
    joined = threading.Thread.join
    waits = []

    def join(thread: threading.Thread, timeout: float | None = None) -> None:
        waits.append(thread)
        if len(waits) == 1:
            raise KeyboardInterrupt
        joined(thread, timeout)

    x = torch.ones(2, requires_grad=True)

    def hook(g: Any) -> None:
        monkeypatch.setattr(threading.Thread, "join", join)
        with torch.enable_grad():
            (x * 3).sum().backward()

    y = x * 2
    y.register_hook(hook)
    with pytest.raises(KeyboardInterrupt):
        y.sum().backward()
    monkeypatch.undo()
    assert len(waits) == 2
    assert not waits[0].is_alive()
    assert x.grad.tolist() == [3.0, 3.0]
    assert local.modes.depth == 0
    assert local.modes.task is None
