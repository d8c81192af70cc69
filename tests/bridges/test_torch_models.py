"""Recordings of what others wrote for PyTorch: everything is there, and the program does not notice."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import pytest
from oracle import torch
from torch_models import MODELS, are_equal, gradients, made, nodes_behind

import workbench
from workbench.pictures.trace.backward_records import BackwardStarted, NodeStarted
from workbench.pictures.trace.forward_records import NodeCreated
from workbench.pictures.views.memory_ledger import Ledger

SMALL = [name for name in MODELS if name != "resnet"]


class Held:
    """What a pack hook keeps of a saved tensor; counts the bytes that are held, each memory once."""

    now = peak = 0
    holders: dict[int, int] = {}  # memory -> how often it is held

    def __init__(self, tensor: Any) -> None:
        self.tensor, storage = tensor, tensor.untyped_storage()
        self.memory, self.size = storage._cdata, storage.nbytes()
        count = Held.holders[self.memory] = Held.holders.get(self.memory, 0) + 1
        Held.now += self.size if count == 1 else 0
        Held.peak = max(Held.peak, Held.now)

    def __del__(self) -> None:
        Held.holders[self.memory] -= 1
        Held.now -= 0 if Held.holders[self.memory] else self.size


def held_at_most(program: Any) -> int:
    """The most bytes that a program holds for its backward."""
    Held.now = Held.peak = 0
    Held.holders = {}
    with torch.autograd.graph.saved_tensors_hooks(Held, lambda held: held.tensor):
        program()
    return Held.peak


def left_behind() -> list[Any]:
    """All that a recording could leave in PyTorch."""
    modules, graph = torch.nn.modules.module, torch.autograd.graph
    hooks = [len(modules._global_forward_pre_hooks), len(modules._global_forward_hooks), threading.active_count()]
    modes = torch.overrides._get_current_function_mode_stack()
    runs = [torch.autograd._engine_run_backward, graph._engine_run_backward]
    return [torch.autograd.Function.__dict__["apply"], *runs, *hooks, modes]


@pytest.mark.parametrize("name", MODELS)
def test_a_recorded_program_computes_the_same_bits_every_node_is_told_and_nothing_is_left(name: str) -> None:
    plain, recorded, before = made(name), made(name), left_behind()
    loss, parameters = plain()
    with workbench.record(torch) as trace:
        loss_recorded, parameters_recorded = recorded()
    assert torch.equal(loss, loss_recorded)
    assert are_equal(gradients(parameters), gradients(parameters_recorded))
    created = {event.node: event for event in trace.events if isinstance(event, NodeCreated)}
    assert all(event.source is not None and event.path for event in created.values())
    assert [each.name() for each in nodes_behind(loss)] == [each.name() for each in nodes_behind(loss_recorded)]
    ran = {event.node for event in trace.events if isinstance(event, NodeStarted)}
    assert ran >= created.keys() or name == "double_backward"
    todo = [root.node for event in trace.events if isinstance(event, BackwardStarted) for root in event.roots][-1:]
    reached: set[str] = set()
    while todo:
        node = todo.pop()
        if node in created and node not in reached:
            reached.add(node)
            todo += [edge.target for edge in created[node].edges if edge.target is not None]
    assert len(reached) == len(nodes_behind(loss_recorded))
    assert len(created) == len(reached) or name == "double_backward"  # which has other graphs before
    assert len(trace.to_json()) < 20_000_000
    assert left_behind() == before
    assert not any(each._backward_hooks or each._post_accumulate_grad_hooks for each in parameters_recorded)
    peak = max(point.total + point.anyway for point in Ledger(trace).points)
    assert peak == pytest.approx(held_at_most(made(name)), rel=0.05)


@pytest.mark.parametrize("name", SMALL)
def test_the_order_of_a_backward_is_that_of_hooks(name: str) -> None:
    order: list[str] = []
    with workbench.record(torch) as trace:
        loss, _ = made(name)()
    told = [event.node for event in trace.events if isinstance(event, NodeStarted)]
    names = {event.node: event.name for event in trace.events if isinstance(event, NodeCreated)}
    program = made(name)
    inner = torch.autograd.graph._engine_run_backward
    handles: list[Any] = []

    def listen(outputs, *args, **kwargs):
        todo = [output.grad_fn for output in outputs]
        met = set(todo)
        while todo:
            node = todo.pop()
            handles.append(node.register_prehook(lambda grads, node=node: order.append(node.name())))
            for to, _ in node.next_functions:
                if to is not None and to not in met:
                    met.add(to)
                    todo.append(to)
        try:
            return inner(outputs, *args, **kwargs)
        finally:
            for handle in handles:
                handle.remove()

    torch.autograd._engine_run_backward = listen
    try:
        program()
    finally:
        torch.autograd._engine_run_backward = inner
    assert [names[node] for node in told if node in names] == [
        name.rpartition("::")[2] for name in order if not name.endswith("AccumulateGrad")
    ]


def test_a_recording_keeps_no_tensor_alive() -> None:
    x = torch.ones(3, requires_grad=True)
    with workbench.record(torch) as trace:
        y = (x * 2).exp()
        alive = weakref.ref(y)
        y = None
        assert alive() is None
    assert trace.events
