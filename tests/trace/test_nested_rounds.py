"""The rounds of loops inside each other, beside those in which the program really was."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import absent
import nested_programs
import pytest
from program_seeds import seeds
from trace_samples import leaf

import workbench
from workbench.autograd.scopes import scope
from workbench.pictures.recording import record
from workbench.pictures.trace.forward_records import NodeCreated

SEVERAL = ("split", "sum(")  # of what is told with loops of its own the rounds around these count


def rounds_told(trace: Any) -> dict[str, list[tuple[int, ...]]]:
    """By the text of each statement the rounds of all loops around it, the outermost first, each time that it ran."""
    found: dict[str, dict[int, tuple[int, ...]]] = {}
    for event in trace.events:
        if isinstance(event, NodeCreated):
            rounds = tuple([part.number for part in event.path if part.kind == "round"])
            for part in event.path:
                if part.kind in ("expression", "call"):
                    found.setdefault(part.title, {}).setdefault(part.key, rounds)
    return {text: [*times.values()] for text, times in found.items()}


def check(seed: int, torch: Any) -> None:
    own = torch is workbench
    recording = record if own else lambda: workbench.record(torch)
    trace, noted, _ = nested_programs.recorded(seed, torch, scope if own else lambda name: nullcontext(), recording)
    told = rounds_told(trace)
    for text, rounds in noted.items():
        found = told.get(text, [])
        if any([word in text for word in SEVERAL]):
            found = [each[: len(rounds[0])] for each in found]
        assert found == rounds, (seed, text)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(100, 900, quick=range(40)))
def test_rounds_are_those_in_which_a_program_was(seed: int) -> None:
    check(seed, workbench)


@pytest.mark.oracle
@pytest.mark.parametrize("seed", seeds(12, 288, quick=range(14, 22)))
def test_rounds_of_pytorchs_programs_are_those_in_which_they_were(seed: int) -> None:
    check(seed, pytest.importorskip("torch", reason=absent.TORCH))


def counted(trace: Any) -> list[tuple[str, int]]:
    """Each loop, as often as it is entered, and how many iterations it has."""
    loops: dict[int, tuple[str, int]] = {}
    for event in trace.events:
        if isinstance(event, NodeCreated):
            for around, turn in zip(event.path, event.path[1:], strict=False):
                if around.kind == "loop":
                    loops[around.key] = around.title, max(turn.number, loops.get(around.key, ("", 0))[1])
    return [*loops.values()]


def test_an_outer_loop_may_do_nothing_but_its_inner_one() -> None:
    w = leaf()
    with record() as trace:
        h = w * 1
        for _, c in enumerate([w, w, w]):
            for _ in range(8):
                h = h * c
    assert counted(trace) == [("for _, c in enumerate([w, w, w])", 3), *[("for _ in range(8)", 8)] * 3]


def test_an_inner_loop_that_counts_anew_is_in_another_round() -> None:
    w, n = leaf(), 0
    with record() as trace:
        h = w * 1
        while n < 3:
            for _ in range(2):
                h = h * 2
            n += 1
        for c in [w, w]:
            for _, d in enumerate([w, w]):
                h = h * c + d
    told = counted(trace)
    assert told[:4] == [("while n < 3", 3), *[("for _ in range(2)", 2)] * 3]
    assert told[4:] == [("for c in [w, w]", 2), *[("for _, d in enumerate([w, w])", 2)] * 2]


def test_rounds_before_a_training_are_no_rounds_of_it() -> None:
    w = leaf()

    def loss(x: Any) -> Any:
        return ((w * x) ** 2).sum()

    with record() as trace:
        total = w.sum()
        for n in range(5):
            total = total + loss(n)
        for n in range(3):
            loss(n).backward()
            with workbench.no_grad():
                w -= 0.1 * w.grad
    assert counted(trace) == [("for n in range(5)", 5), ("for n in range(3)", 3)]


def adapted(torch: Any, recording: Any) -> Any:
    w = torch.ones(2, requires_grad=True)
    data = [tuple([torch.ones(3, 2) * (n + k) for k in range(4)]) for n in range(2)]
    with recording as trace:
        total = w.sum() * 0
        for xs, ys, xq, yq in data:
            (g,) = torch.autograd.grad((((xs * w) - ys) ** 2).mean(), [w], create_graph=True)
            fast = w - 0.1 * g
            total = total + (((xq * fast) - yq) ** 2).mean()
        total.backward()
    return counted(trace)


def test_a_backward_inside_of_a_loop_makes_no_rounds() -> None:
    assert adapted(workbench, record()) == [("for xs, ys, xq, yq in data", 2)]


@pytest.mark.oracle
def test_a_backward_of_pytorchs_inside_of_a_loop_makes_no_rounds() -> None:
    torch = pytest.importorskip("torch", reason=absent.TORCH)
    assert adapted(torch, workbench.record(torch)) == [("for xs, ys, xq, yq in data", 2)]
