"""Threads that train while a recording is on: recorded in turns, and where they compute at once, counted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from oracle import torch

import workbench
from workbench.pictures.recording import Trace
from workbench.pictures.trace.forward_records import NodeCreated


def trained(times: int = 3, clears: bool = True) -> None:
    """Train a small model."""
    net = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(times):
        if clears:
            optimizer.zero_grad()
        loss = net(torch.ones(4, 3)).square().mean()
        loss.backward()
        optimizer.step()


def in_thread(run: Callable[[], Any]) -> None:
    thread = threading.Thread(target=run, name="trains")
    thread.start()
    thread.join()


def in_new_pool(run: Callable[[], Any]) -> None:
    with ThreadPoolExecutor(2) as pool:
        pool.submit(run).result()


OLD = ThreadPoolExecutor(1)


def in_old_pool(run: Callable[[], Any]) -> None:
    OLD.submit(run).result()


def told(trace: Trace) -> list[Any]:
    kept = [each for each in trace.events if type(each).__name__ != "NodesGone"]
    return [(type(each).__name__, getattr(each, "name", ""), getattr(each, "scope", "")) for each in kept]


@pytest.mark.parametrize("elsewhere", [in_thread, in_new_pool, in_old_pool])
def test_a_training_in_another_thread_is_recorded_as_in_ones_own(elsewhere: Callable[..., None]) -> None:
    in_old_pool(int)  # its thread is there before the recordings
    with workbench.record(torch) as here:
        trained()
        trained(1)
    with workbench.record(torch) as there:
        elsewhere(trained)
        trained(1)
    assert told(here) == told(there) and not there.findings()
    lines = [each.source and each.source.text for each in there.events if isinstance(each, NodeCreated)]
    assert lines and set(lines) == {"loss = net(torch.ones(4, 3)).square().mean()"}
    assert torch.overrides._get_current_function_mode_stack() == [] and threading.getprofile() is None


def test_a_fault_in_another_thread_is_found() -> None:
    with workbench.record(torch) as trace:
        in_thread(lambda: trained(4, clears=False))
    assert [each.rule for each in trace.findings()] == ["gradients not cleared"]


def test_what_one_thread_made_another_goes_back_through() -> None:
    x = torch.ones(3, requires_grad=True)
    with workbench.record(torch) as trace:
        loss = (x * 2).sum()
        in_thread(loss.backward)
        made: list[Any] = []
        in_thread(lambda: made.append((x * 3).sum()))
        made[0].backward()
    assert [name for kind, name, _ in told(trace) if kind == "NodeCreated"] == ["MulBackward0", "SumBackward0"] * 2
    assert x.grad.tolist() == [5.0] * 3 and "GradAccumulated" in str(told(trace))


def test_threads_that_compute_at_once_are_counted() -> None:
    first, second = threading.Event(), threading.Event()
    w = torch.ones(2, requires_grad=True)

    class Waits(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            first.set()
            assert second.wait(60)
            return x * w

    def other() -> None:
        assert first.wait(60)
        trained(5, clears=False)
        second.set()

    with workbench.record(torch) as trace:
        thread = threading.Thread(target=other, name="second")
        thread.start()
        Waits()(torch.ones(2)).sum().backward()
        thread.join()
    text = str(trace.findings())
    assert text.count("second ran 5") == 1 and "workbench.record(torch)" in text and w.grad is not None
    captions = " ".join(step.caption for step in trace.show().storyboard.steps)
    assert captions.count("second ran 5") == 1
    assert not any(each.certain for each in trace.findings())
    assert str(Trace.from_dict(trace.to_dict()).findings()) == text


def test_a_recording_in_the_thread_itself_hears_it_too() -> None:
    inner: list[Trace] = []

    def recorded() -> None:
        with workbench.record(torch) as trace:
            trained(2)
        inner.append(trace)

    with workbench.record(torch) as outer:
        in_thread(recorded)
    assert told(outer) == told(inner[0])


def test_a_thread_that_outlives_the_recording_computes_on() -> None:
    with ThreadPoolExecutor(1) as pool:
        with workbench.record(torch) as trace:
            pool.submit(trained).result()
        count = len(trace.events)
        pool.submit(trained).result()
        with workbench.record(torch) as again:
            pool.submit(trained).result()
    assert len(trace.events) == count and told(again) == told(trace)


def test_a_stepper_in_a_recording_is_no_thread_of_the_program() -> None:
    x = torch.ones(2, requires_grad=True)
    with workbench.record(torch) as trace:
        stepper = workbench.step((x * x).sum())
        stepper.step()
        y = (x * 3).sum()
        stepper.run()
        y.backward()
    assert "not recorded" not in str(trace.findings()) and len([*filter(None, told(trace))]) > 3
