"""A training step in records: each write of an optimiser is an update, told by the parameter's name."""

from __future__ import annotations

import workbench as torch
from workbench.recording import Trace
from workbench.trace.frame import Frame


def told(trace: Trace) -> list[tuple[str, str, str]]:
    """The phase, the sentence and the user's line of each event of an update."""
    frame, found = Frame(), []
    for event in trace.events:
        phase = event.phase(frame)
        event.apply(frame)
        if phase == "update":
            found.append((type(event).__name__, event.sentence(frame).partition(" now")[0], frame.cursor.text.strip()))
    return found


def test_a_step_with_adam() -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1, bias=False))
    optimizer = torch.optim.Adam(net.parameters(), 0.1)
    with torch.record() as trace:
        for _ in range(2):
            optimizer.zero_grad()
            loss = net(torch.ones(2, 2)).square().mean()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1e-3)
            optimizer.step()
    names = ["net.0.weight", "net.0.bias", "net.2.weight"]
    clipped = [
        ("GradChanged", f"mul_ writes into {n}.grad:", "torch.nn.utils.clip_grad_norm_(net.parameters(), 1e-3)")
        for n in names
    ]
    stepped = [("TensorWritten", f"sub_ writes into {n}:", "optimizer.step()") for n in names]
    cleared = [("GradChanged", f"{n}.grad is cleared", "optimizer.zero_grad()") for n in names]
    assert told(trace) == clipped + stepped + cleared + clipped + stepped


def test_running_statistics_are_named_as_the_module_holds_them() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    x = torch.tensor([[1.0, 2.0], [0.5, -1.0], [2.0, 0.25]])
    with torch.record() as trace:
        loss = net(x).square().sum()
        loss.backward()
    names = {tensor.name for tensor in trace.frame(len(trace.events)).tensors.values()}
    assert {"net.1.weight", "net.1.running_mean", "net.1.running_var"} <= names
