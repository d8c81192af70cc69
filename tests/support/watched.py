"""What `watch` is held to, for any engine: `torch` is PyTorch or the workbench."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import workbench


def lines(path: Path) -> list[dict[str, Any]]:
    """What a file of `watch` has, a dictionary for each line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def model_of(torch: Any) -> tuple[Any, Any]:
    """A small model, and its optimiser."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


def train(torch: Any, model: Any, optimizer: Any, steps: int, scale: Any = lambda step: 1.0) -> None:
    """So many steps on numbers times a scale that may change."""
    x = torch.tensor([[0.5, -1.0, 2.0, 0.1], [1.5, 0.3, -0.7, 1.0]])
    for step in range(steps):
        loss = (model(x * scale(step)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def numbers_are_those_of_the_step(torch: Any, path: Path) -> None:
    model, optimizer = model_of(torch)
    seen: list[list[list[float]]] = []
    plain = optimizer.step

    def step() -> None:
        before = [each.detach().clone() for each in model.parameters()]
        grads = [float((each.grad**2).sum()) ** 0.5 for each in model.parameters()]
        weights = [float((each.detach() ** 2).sum()) ** 0.5 for each in model.parameters()]
        plain()
        moved = zip(model.parameters(), before, strict=True)
        seen.append([grads, weights, [float(((each.detach() - then) ** 2).sum()) ** 0.5 for each, then in moved]])

    with workbench.watch(model, optimizer, every=3, path=path):
        optimizer.step = step
        train(torch, model, optimizer, 7)
    header, *watched = lines(path)
    assert [each["name"] for each in header["parameters"]] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert [each["kind"] for each in header["layers"]] == ["Linear", "ReLU", "Linear"]
    assert [line["step"] for line in watched] == [0, 3, 6]
    for line in watched:
        for part, numbers in zip(("grad", "weight", "update"), seen[line["step"]], strict=True):
            assert line[part] == pytest.approx(numbers, rel=1e-3, abs=1e-9), part
        assert all(norm > 0 for norm in line["output"])
        assert line["dead"][0] is line["dead"][2] is None and 0 <= line["dead"][1] <= 1


def the_training_is_the_same(torch: Any, path: Path) -> None:
    ends = []
    for watched in (False, True):
        model, optimizer = model_of(torch)
        if watched:
            with workbench.watch(model, optimizer, every=2, path=path):
                train(torch, model, optimizer, 6)
        else:
            train(torch, model, optimizer, 6)
        assert not any(module._forward_hooks for module in model.modules())
        ends.append([each.tolist() for each in model.parameters()])
    assert ends[0] == ends[1]


def what_is_not_finite_is_told_and_recorded(torch: Any, path: Path, capsys: Any) -> None:
    model, optimizer = model_of(torch)
    with workbench.watch(model, optimizer, every=2, path=path, keep=1):
        train(torch, model, optimizer, 8, lambda step: math.inf if step >= 4 else 1.0)
    told = capsys.readouterr().err
    assert told.startswith("watch: step 4: the norm of the output of layer 0 is ")
    assert "Step 5 is recorded in run.step-5.json." in told
    assert told.count("watch:") == 1, "what goes on is told once"
    trace = workbench.load(path.with_name("run.step-5.json"))
    kinds = [type(event).__name__ for event in trace.events]
    assert kinds.count("BackwardStarted") == 1 and "NodeCreated" in kinds, "the whole of one step"
    assert not list(path.parent.glob("run.step-7.json"))
    assert [line["step"] for line in lines(path)[1:] if "found" in line] == [4]


def a_spike_and_a_dead_layer_are_told(torch: Any, path: Path, capsys: Any) -> None:
    model, optimizer = model_of(torch)
    optimizer.param_groups[0]["lr"] = 1e-6
    with workbench.watch(model, optimizer, every=1, path=path, keep=0):
        train(torch, model, optimizer, 10, lambda step: 30.0 if step == 8 else 1.0)
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1 and told[0].startswith("watch: step 8: the norm of all gradients is "), told
    with torch.no_grad():
        model[0].bias -= 100.0
    with workbench.watch(model, optimizer, every=1, path=path, keep=0):
        train(torch, model, optimizer, 2)
    assert capsys.readouterr().err == "watch: step 0: 100% of the units of layer 1 are zero for the whole batch.\n"
    assert not list(path.parent.glob("*.step-*"))
    assert [line["format"] for line in lines(path) if "format" in line] == ["workbench.watch"] * 2, "runs are added"


CHECKS = (
    numbers_are_those_of_the_step,
    the_training_is_the_same,
    what_is_not_finite_is_told_and_recorded,
    a_spike_and_a_dead_layer_are_told,
)
