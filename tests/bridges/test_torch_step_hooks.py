"""A recording of PyTorch begins and ends where a program likes, also in a hook that runs after an optimizer's step."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import torch
from torch.optim import optimizer as optimizers

import workbench

ROUNDS = 5


REGISTER = {
    "of all": lambda optimizer, hook: optimizers.register_optimizer_step_post_hook(hook),
    "of one": lambda optimizer, hook: optimizer.register_step_post_hook(hook),
}


def weights(register: Any = None, begins: int = 0, ends: int = 0) -> tuple[list[Any], list[Any]]:
    """What a training makes of its weights, and the updates recorded from a hook's call to another."""
    torch.manual_seed(0)
    net = torch.nn.Linear(40, 40)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    calls, recording = 0, workbench.record(torch)
    trace: Any = None

    def hook(*_: Any) -> None:
        nonlocal calls, trace
        if calls == begins:
            trace = recording.__enter__()
        if calls == ends:
            recording.__exit__(None, None, None)
        calls += 1

    handle = register(optimizer, hook) if register else None
    for _ in range(ROUNDS):
        optimizer.zero_grad()
        net(torch.ones(2, 40)).square().mean().backward()
        optimizer.step()
    if handle:
        handle.remove()
    moved = [event.moved for event in trace.events if getattr(event, "moved", None) is not None] if trace else []
    return [each.tolist() for each in net.parameters()], moved


@pytest.mark.parametrize("register", REGISTER)
@pytest.mark.parametrize(("begins", "ends"), [(0, 2), (1, 4)])
def test_a_recording_begins_and_ends_in_a_hook_of_an_optimiser(register: str, begins: int, ends: int) -> None:
    plain, none = weights()
    found, moved = weights(REGISTER[register], begins, ends)
    assert found == plain and moved, "the steps between are recorded"
    assert weights() == (plain, none) and none == []


def test_no_hook_is_left_on_an_optimiser() -> None:
    net = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with workbench.record(torch):
        for _ in range(2):
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()
        assert len(optimizer._optimizer_step_post_hooks) == 1
    assert len(optimizer._optimizer_step_post_hooks) == 0
