"""What `watch` is held to, for any engine: `torch` is PyTorch or the workbench."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import workbench


def lines(path: Path) -> list[dict[str, Any]]:
    """What a file of `watch` has, a dictionary for each line but those that tell of an end."""
    every = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [line for line in every if "ended" not in line]


def ends(path: Path) -> list[tuple[int, str]]:
    """After how many steps, and with which error, the watching ended."""
    every = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(line["ended"], line["error"]) for line in every if "ended" in line]


def model_of(torch: Any) -> tuple[Any, Any]:
    """A small model, and its optimizer."""
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
    assert [line["step"] for line in watched] == [1, 4, 7]
    assert ends(path) == [(7, "")]
    for line in watched:
        for part, numbers in zip(("grad", "weight", "update"), seen[line["step"] - 1], strict=True):
            assert line[part] == pytest.approx(numbers, rel=1e-3, abs=1e-9), part
        assert all(norm > 0 for norm in line["output"]) and line["lr"] == [0.01]
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
    assert told.startswith("watch: step 5: the norm of the output of layer 0 is ")
    assert "Its backward is recorded in run.step-5.json." in told
    assert told.count("watch:") == 1, "what goes on is told once"
    trace = workbench.load(path.with_name("run.step-5.json"))
    kinds = [type(event).__name__ for event in trace.events]
    assert kinds.count("BackwardStarted") == 1 and kinds.count("TensorWritten") >= 4, "the backward and the update"
    assert all(event.found for event in trace.events if type(event).__name__ == "NodeCreated" and event.node == "n1")
    assert [path.name for path in path.parent.glob("*.step-*")] == ["run.step-5.json"]
    assert [line["step"] for line in lines(path)[1:] if "found" in line] == [5]


def what_only_the_backward_shows_has_the_next_step_recorded(torch: Any, path: Path, capsys: Any) -> None:
    model, optimizer = model_of(torch)
    x = torch.ones(2, 4)
    with workbench.watch(model, optimizer, every=1, path=path):
        for step in range(4):
            optimizer.zero_grad()
            out = model(x)
            loss = out.square().sum() + ((out * 0).sum().abs() ** 0.5 if step == 1 else 0.0)
            loss.backward()
            for each in model.parameters():  # as who guards his training does
                each.grad = torch.zeros_like(each.grad) if step == 1 and each is not model[0].bias else each.grad
            optimizer.step()
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "watch: step 2: the norm of the gradient of 0.bias is nan. Step 3 is recorded in run.step-3.json."
    kinds = [type(event).__name__ for event in workbench.load(path.with_name("run.step-3.json")).events]
    assert kinds.count("BackwardStarted") == 1 and "NodeCreated" in kinds, "the whole of one step"


def a_spike_and_a_dead_layer_are_told(torch: Any, path: Path, capsys: Any) -> None:
    model, optimizer = model_of(torch)
    optimizer.param_groups[0]["lr"] = 1e-6
    with workbench.watch(model, optimizer, every=1, path=path, keep=0):
        train(torch, model, optimizer, 10, lambda step: 30.0 if step == 8 else 1.0)
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1 and told[0].startswith("watch: step 9: the norm of all gradients is "), told
    with torch.no_grad():
        model[0].bias -= 100.0
    with workbench.watch(model, optimizer, every=1, path=path, keep=0):
        train(torch, model, optimizer, 2)
    assert capsys.readouterr().err == "watch: step 1: 100% of the units of layer 1 are zero for the whole batch.\n"
    assert not list(path.parent.glob("*.step-*"))
    assert [line["format"] for line in lines(path) if "format" in line] == ["workbench.watch"] * 2, "runs are added"


def what_is_not_trained_is_told_after_three_watched_steps(torch: Any, path: Path, capsys: Any) -> None:
    for frozen in (True, False):
        model, optimizer = model_of(torch)
        spare = torch.nn.Linear(2, 2)
        model.spare = spare
        model.spare.forward = lambda x: x  # in the way, and not used
        optimizer.add_param_group({"params": list(spare.parameters())})
        for each in spare.parameters():
            each.requires_grad_(not frozen)
        with workbench.watch(model, optimizer, every=2, path=path, keep=0):
            train(torch, model, optimizer, 9)
        said = "spare.weight and spare.bias have had no gradient in the last 3 watched steps, and the optimizer has "
        assert capsys.readouterr().err == ("" if frozen else f"watch: step 5: {said}them to update.\n")
    model, optimizer = model_of(torch)
    with workbench.watch(model, optimizer, every=1, path=path):
        for step in range(12):
            optimizer.param_groups[0]["lr"] = 0.0 if step in (0, 1, 3, 4) or step > 5 else 0.1  # a warm-up, and an end
            train(torch, model, optimizer, 1)
    said = "the learning rate is 0, as in the 3 watched steps up to this one: nothing is trained."
    assert capsys.readouterr().err == f"watch: step 9: {said}\n"
    assert not list(path.parent.glob("*.step-*")), "a recorded step would tell no more"


def dead_units_of_a_function_are_told_where_a_layer_gets_them(torch: Any, path: Path, capsys: Any) -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two, self.relu = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1), torch.nn.ReLU()

        def forward(self, x: Any) -> Any:
            x = self.one(x)
            return self.two(self.relu(x) if self.uses_module else torch.nn.functional.relu(x))

    for uses_module in (False, True):
        model = Model()
        model.uses_module = uses_module
        with torch.no_grad():
            model.one.bias -= 100.0
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        with workbench.watch(model, optimizer, every=1, path=path, keep=0):
            train(torch, model, optimizer, 2)
        of = "relu" if uses_module else "the ReLU before two"
        said = f"watch: step 1: 100% of the units of {of} are zero for the whole batch.\n"
        assert capsys.readouterr().err == said
        assert ("dead_before" in lines(path)[-1]) is not uses_module


CHECKS = (
    numbers_are_those_of_the_step,
    the_training_is_the_same,
    what_is_not_finite_is_told_and_recorded,
    what_only_the_backward_shows_has_the_next_step_recorded,
    what_is_not_trained_is_told_after_three_watched_steps,
    dead_units_of_a_function_are_told_where_a_layer_gets_them,
    a_spike_and_a_dead_layer_are_told,
)
