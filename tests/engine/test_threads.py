"""Threads at once: the first use of everything, and the first use of one tensor."""

from __future__ import annotations

import itertools
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import first_use
import numpy as np
import pytest
from functions import function
from oracle import entries

import workbench as torch
from workbench import events
from workbench.pictures.trace.backward_records import NodeFinished
from workbench.pictures.trace.forward_records import NodeCreated
from workbench.pictures.trace.recorder import Recorder


@pytest.mark.slow
def test_the_first_use_of_everything_by_eight_threads_at_once() -> None:
    for _ in range(3):
        end = first_use.fresh()
        assert end.returncode == 0, end.stderr


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns after every instruction where they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[], Any], count: int = 4) -> list[Any]:
    """What threads that do the same at the same time find."""
    barrier, found = threading.Barrier(count), []

    def run() -> None:
        barrier.wait()
        found.append(work())

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == count
    return found


@pytest.mark.usefixtures("hasty")
def test_one_leaf_gets_the_gradients_of_all_threads() -> None:
    for _ in range(100):
        leaf = torch.ones(3, requires_grad=True)
        at_once(lambda leaf=leaf: (leaf.register_hook(lambda g: None), (leaf * 2).sum().backward()))
        assert leaf.grad.tolist() == [8.0, 8.0, 8.0]


@pytest.mark.usefixtures("hasty")
def test_the_rare_facts_of_one_tensor_are_made_once() -> None:
    from workbench.autograd.node import accumulator, extra_of
    from workbench.autograd.tensor import meta_of, storage_of

    for make in (meta_of, storage_of, accumulator, lambda t: extra_of(t.grad_fn or accumulator(t))):
        for _ in range(50):
            for t in (torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True).exp()):
                found = at_once(lambda make=make, t=t: make(t))
                assert len({id(each) for each in found}) == 1


@pytest.mark.usefixtures("hasty")
def test_random_numbers_are_drawn_from_one_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.ops import creation

    for _ in range(20):
        monkeypatch.setattr(creation, "_generators", {})
        drawn = at_once(lambda: torch.randn(2).tolist())
        assert len(np.unique(drawn)) == 8


NOTHING = """
F.cross_entropy(torch.zeros(0, 3), none) | F.cross_entropy(torch.zeros(0, 0), none) | torch.zeros(0, 3).mean(0)
F.cross_entropy(torch.zeros(2, 3), ignored) | F.nll_loss(torch.zeros(0, 3), none) | torch.zeros(0).mean()
F.mse_loss(torch.zeros(0), torch.zeros(0)) | torch.zeros(0, dtype=torch.float16).mean()
"""


@pytest.mark.parametrize("text", entries(NOTHING))
def test_a_mean_of_nothing_is_nan_without_a_warning_in_threads_too(text: str) -> None:
    known = {"torch": torch, "F": torch.nn.functional, "none": torch.zeros(0, dtype=torch.int64)}
    known["ignored"] = torch.full((2,), -100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (out,) = at_once(lambda: eval(text, known), 1)
    assert torch.isnan(out).all()


def test_a_function_and_its_backward_warn_nobody_in_threads() -> None:
    Log = function(torch, lambda ctx, x: torch.log(x), lambda ctx, g: g / ctx.saved_tensors[0], saves=True, name="Log")

    def program() -> Any:
        x = torch.zeros(2, requires_grad=True)
        Log.apply(x).sum().backward()
        return x.grad

    built_in = torch.zeros(2, requires_grad=True)
    loss = torch.log(built_in).sum()
    with warnings.catch_warnings():  # which puts the engine's own filter last
        warnings.simplefilter("error")
        (grad,) = at_once(program, 1)
        at_once(loss.backward, 1)
    assert torch.isinf(grad).all() and torch.isinf(built_in.grad).all()


def test_numpys_settings_in_a_thread_are_the_users_own() -> None:
    def program() -> Any:
        with np.errstate(divide="raise"):
            torch.is_grad_enabled()
            try:
                np.ones(1) / 0
            except FloatingPointError:
                return True

    assert at_once(program, 1) == [True]

    def divides() -> None:
        torch.is_grad_enabled()
        np.ones(1) / 0

    with pytest.warns(RuntimeWarning, match="divide by zero"):
        at_once(divides, 1)


def recorded() -> None:
    with torch.record():
        pass


def stepped() -> None:
    torch.step((torch.ones(2, requires_grad=True) * 2).sum()).step()


def checkpointed() -> None:
    x = torch.ones(2, requires_grad=True)
    torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False, debug=True).sum().backward()


@pytest.mark.slow
@pytest.mark.parametrize("run", [recorded, stepped, checkpointed])
def test_a_listener_that_another_thread_adds_at_any_instruction_stays(run: Callable[[], None]) -> None:
    run()
    for at in itertools.count():
        instructions = 0

        def trace(frame: Any, event: str, arg: Any, at: int = at) -> Any:
            nonlocal instructions
            if "listeners" not in frame.f_code.co_names:
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            if event == "opcode":
                if instructions == at:
                    events.listeners.append(print_nothing)
                instructions += 1
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            run()
        finally:
            sys.settrace(before)
        if instructions <= at:
            break
        assert events.listeners == [print_nothing]
        events.listeners.clear()


def print_nothing(event: Any) -> None:
    """The listener of another thread."""


def test_a_recorder_that_has_just_left_in_another_thread_takes_no_number_from_a_node() -> None:
    stays, left = Recorder(), Recorder()

    def hear(event: Any) -> None:
        """The end of an event that was on its way to both."""
        stays(event)
        left(event)

    events.listeners.append(hear)
    try:
        (torch.ones(2, requires_grad=True).exp() * 2).sum().backward()
    finally:
        events.listeners.remove(hear)
    for recorder in (stays, left):
        records = recorder.records()
        made = {each.node for each in records if isinstance(each, NodeCreated)}
        assert len(made) == 3 and {each.node for each in records if isinstance(each, NodeFinished)} >= made


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_threads_that_share_a_leaf_are_recorded_together(hasty: None) -> None:
    for _ in range(100):
        w = torch.ones(2, requires_grad=True)
        with torch.record() as trace:
            at_once(lambda w=w: (w * 2) is not w, 8)
        assert len(trace.frame(len(trace.events)).nodes) == 8
