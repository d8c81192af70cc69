"""Every place that tells bytes counts storages, each once: as many as hooks of saved tensors are given."""

from __future__ import annotations

import re
from typing import Any

import absent
import pytest

import workbench
from workbench.pictures.views.memory_ledger import Ledger
from workbench.pictures.views.memory_sizes import bytes_said
from workbench.pictures.views.saved_survey import Survey
from workbench.pictures.views.saved_table import kept_at_a_glance
from workbench.pictures.views.stepper_picture import Stage


def attention(torch: Any) -> Any:
    """Three layers save the same memory, each a view of its own; its shapes are turned and flattened."""

    class Attention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v, self.out = (torch.nn.Linear(8, 8) for _ in range(4))

        def forward(self, x: Any) -> Any:
            q, k, v = (layer(x).reshape(2, 3, 2, 4).transpose(1, 2) for layer in (self.q, self.k, self.v))
            weights = torch.softmax(q @ k.transpose(-2, -1), -1)
            return self.out((weights @ v).transpose(1, 2).reshape(2, 3, 8))

    net, x = Attention(), torch.randn(2, 3, 8)
    return lambda: net(x)


def layers(torch: Any) -> Any:
    """A result is saved by the node that gives it and by the next one."""
    linear, activation = torch.nn.Linear, torch.nn.Tanh
    net = torch.nn.Sequential(linear(6, 9), activation(), linear(9, 9), activation(), linear(9, 2))
    x = torch.randn(20, 6)
    return lambda: net(x)


def parts(torch: Any) -> Any:
    """What is kept of slices, of what was repeated and of what was detached is what they are of."""
    net, data = torch.nn.Linear(6, 6), torch.randn(9, 6)

    class Slices(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, rows: Any) -> Any:
            y = self.net(rows)
            a, b, c = torch.split(y, 2, 1)
            return (a * b).exp() * c * y.detach()[:, :2] * torch.randn(1, 2).expand(4, 2)

    whole, rows = Slices(), data[2:6]
    return lambda: whole(rows)


def loop(torch: Any) -> Any:
    cell, xs = torch.nn.Linear(4, 4), torch.randn(12, 3, 4)

    class Recurrent(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = cell

        def forward(self, xs: Any) -> Any:
            h = torch.zeros(3, 4)
            for x in xs:
                h = torch.tanh(self.cell(h) * x)
            return h

    net = Recurrent()
    return lambda: net(xs)


def kept(torch: Any, run: Any) -> int:
    """The bytes of the storages that saved tensors show, each counted once."""
    held: list[Any] = []
    storages: dict[int, int] = {}

    def pack(tensor: Any) -> Any:
        held.append(tensor)
        if torch is workbench:
            memory = tensor.detach().numpy()
            while memory.base is not None:
                memory = memory.base
            storages[id(memory)] = memory.nbytes
            held.append(memory)
        else:
            storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        run()
    return sum(storages.values())


def told(board: Any) -> list[str]:
    """What closed groups that lie in no other say that they keep."""
    scene = board.with_open([]).at(len(board.steps) - 1 if board.steps else -1)
    lines = [line for box in scene.boxes.values() if box.kind == "group" for line in box.lines]
    return [found for line in lines for found in re.findall(r"saved ([\d.,]+ \w+)", line)]


def check(torch: Any, program: Any) -> None:
    own = torch is workbench
    torch.manual_seed(0)
    run = program(torch)
    truth = bytes_said(kept(torch, run))
    with workbench.record() if own else workbench.record(torch) as trace:
        out = run()
    assert told(trace.show(depth=0).storyboard) == [truth]
    assert f"saved {truth}" in str(trace.show(depth=0))
    ledger = Ledger(trace)
    assert bytes_said(ledger.peak + ledger.anyway) == truth  # what lives anyway is told apart
    assert f"\nHeld for backward: {bytes_said(ledger.peak)} at most" in str(trace.show("memory"))
    total = kept_at_a_glance(Survey(trace), "").scene.boxes["total"]
    assert f" save {bytes_said(ledger.peak)} for backward" in total.title
    again = type(trace).from_dict(trace.to_dict())
    assert told(again.show(depth=0).storyboard) == [truth]
    if own:  # a graph of which nothing was recorded
        assert told(workbench.show(out).storyboard) == [truth]
        assert told(Stage(workbench.step(out.sum())).board()) == [truth]


def check_known(torch: Any) -> None:
    """What three layers save as a view of their input is told as that, and counted once, as what lives anyway."""
    q, k, v = (torch.nn.Linear(8, 8) for _ in range(3))
    x = torch.randn(2, 3, 8)
    with workbench.record() if torch is workbench else workbench.record(torch) as trace:
        (q(x) + k(x) + v(x)).sum().backward()
    captions = [step.caption for step in trace.show("saved").storyboard.steps]
    assert captions.count("AddmmBackward0 saves mat1 (a view of x).") == 3
    assert "They also need 192 bytes of parameters and inputs" in str(trace.show("saved"))


def test_a_view_of_the_input_is_known_as_that() -> None:
    check_known(workbench)


@pytest.mark.oracle
def test_a_view_of_the_input_is_known_as_that_in_pytorch() -> None:
    check_known(pytest.importorskip("torch", reason=absent.TORCH))


PROGRAMS = (attention, layers, parts, loop)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_every_place_tells_the_bytes_of_storages(program: Any) -> None:
    check(workbench, program)


@pytest.mark.oracle
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_every_place_tells_the_bytes_of_pytorchs_storages(program: Any) -> None:
    check(pytest.importorskip("torch", reason=absent.TORCH), program)
