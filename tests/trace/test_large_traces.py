"""Traces of very many nodes: twice as many take twice the work, and their pictures have no more boxes and steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from work_done import calls

import workbench as torch
from workbench.pictures.recording import Trace
from workbench.pictures.trace import event_checks
from workbench.pictures.trace.frame import Frame


def chain(count: int) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x
    for _ in range(count // 2):
        y = y * 0.9999
        y = y.tanh()
    y.sum().backward()
    return y


def training(count: int) -> Any:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(count // 8):
        h = torch.ones(2)
        for _ in range(3):
            h = h * w
            h = h.tanh()
        h.sum().backward()
        with torch.no_grad():
            w -= 0.01 * w.grad
            w.grad = None
    return h


def wide(count: int) -> Any:
    xs = [torch.tensor([float(i)], requires_grad=True) for i in range(count // 2)]
    ys = [x * 2.0 for x in xs]
    total = torch.stack([y.sin() for y in ys]).sum()
    total.backward()
    return total


def leaves(count: int) -> Any:
    ws = [torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(count // 2)]
    h = torch.ones(2)
    for w in ws:
        h = (h * w).tanh()
    h.sum().backward()
    return h


each_program = pytest.mark.parametrize("program", [chain, training, wide, leaves])


def recorded(program: Callable[[int], Any], count: int) -> Trace:
    with torch.record() as trace:
        program(count)
    return trace


@pytest.mark.scheduled
@each_program
def test_to_record_twice_as_many_nodes_is_twice_the_work(program) -> None:
    recorded(program, 50)  # what is made once is there
    few, many = [calls(lambda count=count: recorded(program, count).events) for count in (300, 600)]
    assert many < 2.2 * few


@pytest.mark.scheduled
@each_program
def test_to_read_and_show_twice_as_many_nodes_is_twice_the_work(program) -> None:
    files = [recorded(program, count).to_dict() for count in (50, 400, 800)]
    _, few, many = [calls(lambda data=data: Trace.from_dict(data).show()) for data in files]
    assert many < 2.5 * few


@pytest.mark.slow
@each_program
def test_the_picture_of_many_nodes_has_few_boxes_and_steps(program) -> None:
    few, many = [recorded(program, count).show().storyboard for count in (1_200, 3_600)]
    assert len(many.scene.boxes) <= 500
    assert len(many.scene.boxes) <= 1.2 * len(few.scene.boxes)
    assert len(many.steps) <= 800
    assert len(many.steps) <= 1.2 * len(few.steps)


class Searched(dict[str, Any]):
    """A dict that counts how often all of it is gone through."""

    times = 0

    def __iter__(self) -> Iterator[str]:
        Searched.times += 1
        return super().__iter__()


def test_no_event_of_a_file_is_compared_with_all_nodes_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counting(Frame):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.nodes, self.tensors, self.edges = Searched(), Searched(), Searched()

    data = recorded(chain, 40).to_dict()
    monkeypatch.setattr(event_checks, "Frame", Counting)
    monkeypatch.setattr(Searched, "times", 0)
    Trace.from_dict(data)
    assert Searched.times == 0
