"""A training step in records: each write of an optimizer is an update, told by the parameter's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import workbench as torch
from workbench.pictures.recording import Trace, load
from workbench.pictures.trace.frame import Frame


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
        ("GradChanged", f"mul_ writes into `{n}.grad`:", "torch.nn.utils.clip_grad_norm_(net.parameters(), 1e-3)")
        for n in names
    ]
    stepped = [("TensorWritten", f"Adam changes `{n}`:", "optimizer.step()") for n in names]
    cleared = [("GradChanged", f"`{n}.grad` is cleared", "optimizer.zero_grad()") for n in names]
    assert told(trace) == clipped + stepped + cleared + clipped + stepped


OPTIMIZERS = ("SGD", "Adam", "AdamW", "Halving")  # the last is the user's own


def assert_told_by_its_class(engine: Any, kind: str, folder: Path) -> None:
    """What an optimizer of either engine writes is told by the name of its class, in a saved trace too."""

    class Halving(engine.optim.Optimizer):
        def step(self, closure=None):
            with engine.no_grad():
                for group in self.param_groups:
                    for param in group["params"]:
                        param.mul_(0.5)

    w = engine.tensor([4.0, 2.0], requires_grad=True)
    rule = Halving([w], {}) if kind == "Halving" else getattr(engine.optim, kind)([w], lr=0.5)
    with torch.record() if engine is torch else torch.record(engine) as trace:
        loss = (w * w).sum()
        loss.backward()
        rule.step()
        with engine.no_grad():
            w.mul_(1.5)
    told = [step.caption for step in trace.show().storyboard.steps if ", version " in step.caption]
    assert all(caption.startswith(f"{kind} changes `w`: now [") for caption in told[:-1]) and len(told) > 1
    assert told[-1].startswith("mul_ writes into `w`: now [")
    assert f"{kind} changes w: now version 1" in str(trace.show("versions").storyboard.steps)
    trace.save(folder / "trace.json")
    loaded = load(folder / "trace.json").show().storyboard
    assert [step.caption for step in loaded.steps] == [step.caption for step in trace.show().storyboard.steps]


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_an_update_is_told_by_the_class_of_its_optimiser(kind: str, tmp_path: Path) -> None:
    assert_told_by_its_class(torch, kind, tmp_path)


def test_running_statistics_are_named_as_the_module_holds_them() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    x = torch.tensor([[1.0, 2.0], [0.5, -1.0], [2.0, 0.25]])
    with torch.record() as trace:
        loss = net(x).square().sum()
        loss.backward()
    names = {tensor.name for tensor in trace.frame(len(trace.events)).tensors.values()}
    assert {"net.1.weight", "net.1.running_mean", "net.1.running_var"} <= names
