"""Where no thread can start, as in a browser: many backwards inside each other run on one stack."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import workbench as torch
from workbench.autograd.engine import DEEPEST
from workbench.autograd.state import local


class Deep(torch.autograd.Function):
    """So many backwards inside its own; each doubles the gradient of the innermost, whose work is `ending`."""

    ending: Any = None

    @staticmethod
    def forward(ctx: Any, x: Any, depth: int) -> Any:
        ctx.depth = depth
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        if not ctx.depth:
            return (Deep.ending(g) if Deep.ending else g), None
        with torch.enable_grad():
            x = g.detach().requires_grad_()
            Deep.apply(x, ctx.depth - 1).sum().backward()
        return x.grad * 2, None


@pytest.fixture(autouse=True)
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)


def gradient(depth: int) -> float:
    x = torch.ones(1, requires_grad=True)
    Deep.apply(x, depth).sum().backward()
    assert (local.modes.depth, local.modes.task) == (0, None)
    return x.grad.item()


@pytest.mark.parametrize("depth", [DEEPEST - 1, DEEPEST, DEEPEST + 1, DEEPEST + 12])
def test_a_backward_inside_many_others_runs_in_place(depth: int) -> None:
    assert gradient(depth) == 2.0**depth


@pytest.mark.filterwarnings("ignore:A listener lost the event 'failed'")  # for which there is no stack either
def test_a_full_stack_is_said_in_one_sentence_and_nothing_is_left_of_it() -> None:
    x = torch.ones(1, requires_grad=True)
    with pytest.raises(RecursionError) as refusal:
        Deep.apply(x, 2000).sum().backward()
    assert str(refusal.value) == (
        "Python's stack is full: a backward inside 50 others needs a stack of its own, and no thread can start here."
    )
    assert refusal.value.__cause__ is None and refusal.value.__suppress_context__
    assert (local.modes.depth, local.modes.task, x.grad) == (0, None, None)
    assert gradient(3) == 8.0


def test_an_error_from_inside_is_told_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def ending(g: Any) -> None:
        raise KeyError("deep")

    monkeypatch.setattr(Deep, "ending", ending)
    x = torch.ones(1, requires_grad=True)
    with pytest.raises(KeyError, match="deep") as error:
        Deep.apply(x, DEEPEST + 3).sum().backward()
    assert error.value.__context__ is None
    assert (local.modes.depth, local.modes.task) == (0, None)


def test_what_is_recorded_there_is_the_same() -> None:
    with torch.record() as trace:
        assert gradient(DEEPEST + 2) == 2.0 ** (DEEPEST + 2)
    started = [event for event in trace.events if type(event).__name__ == "BackwardStarted"]
    assert len(started) == DEEPEST + 3
