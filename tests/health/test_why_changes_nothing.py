"""To ask `workbench.why` changes nothing: no node is made, no hook or mark is left, no gradient is touched or kept."""

from __future__ import annotations

import gc
import weakref

import absent
import pytest
from oracle import torch

import workbench
from workbench.events import listeners

needs_torch = pytest.mark.skipif(torch is None, reason=absent.TORCH)
ENGINES = [pytest.param(workbench, id="workbench"), pytest.param(torch, id="torch", marks=needs_torch)]
pytestmark = pytest.mark.filterwarnings("error")


def nodes_of(loss):
    found = [loss.grad_fn]
    for node in found:
        found += [to for to, _ in node.next_functions if to is not None and to not in found]
    return found


class Births:
    """How many nodes are born inside of it."""

    def __init__(self, engine):
        self.engine, self.count = engine, 0

    def __call__(self, event):
        self.count += event[0] == "created"

    def __enter__(self):
        if self.engine is workbench:
            listeners.append(self)
        else:
            self.begin = torch._C._autograd._get_sequence_nr()
        return self

    def __exit__(self, *error):
        if self.engine is workbench:
            listeners.remove(self)
        else:
            self.count = torch._C._autograd._get_sequence_nr() - self.begin


@pytest.mark.parametrize("engine", ENGINES)
def test_the_graph_is_as_it_was(engine):
    w, x = engine.ones(3, 3, requires_grad=True), engine.ones(4, 3)
    h = engine.relu(x @ w)
    z = h.detach()
    loss = (z * w.sum()).sum() + h.sum()
    before = nodes_of(loss)
    with Births(engine) as births:
        workbench.why(w)
        workbench.why(h, loss)
        workbench.why(z, loss)
        workbench.why(w, loss).show()
    assert births.count == 0
    assert [id(node) for node in nodes_of(loss)] == [id(node) for node in before]
    assert w.grad is None
    loss.backward()
    grad, values = w.grad, w.grad.tolist()
    workbench.why(w, loss)
    assert w.grad is grad and grad.tolist() == values


@needs_torch
def test_no_mark_is_left_on_pytorchs_nodes():
    w = torch.ones(3, requires_grad=True)
    h = w * 2
    loss = (h.detach() * w).sum()
    workbench.why(w, loss)
    workbench.why(h, loss)
    assert [dict(node.metadata) for node in [*nodes_of(loss), h.grad_fn]] == [{}] * 4
    assert not w._backward_hooks and not h._backward_hooks


@pytest.mark.parametrize("engine", ENGINES)
def test_a_view_whose_memory_was_written_gets_no_node(engine):
    w = engine.ones(3, requires_grad=True)
    base = w * 2
    view = base[:2]
    base.mul_(3)  # asked for its grad_fn, the view would now make another
    row = w[:1]
    with engine.no_grad():
        w.add_(1)
    makers = [each._meta.view_fn for each in (view, row)] if engine is workbench else []
    with Births(engine) as births:
        why = workbench.why(w, view)
        told = workbench.why(row)
    assert births.count == 0
    assert all(each._meta.view_fn is maker for each, maker in zip((view, row), makers, strict=False))
    assert why.sentences[0] == "`w.grad` is None, although there is a path from `view` to `w`: 2 × MulBackward0 → `w`."
    assert told.sentences[0].startswith("`row.grad` is None: `row` isn't a leaf")
    view.sum().backward()
    assert w.grad.tolist() == [6.0, 6.0, 0.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_view_made_without_gradients_and_written_with_them(engine):
    base = engine.ones(3, requires_grad=True) * 2
    with engine.no_grad():
        view = base[:2]
    base.mul_(3)
    assert workbench.why(view).verdict == "none"


@pytest.mark.parametrize("engine", ENGINES)
def test_an_answer_keeps_no_graph(engine):
    w = engine.ones(3, requires_grad=True)
    h = w * 2
    loss = (h * h).sum()
    held = weakref.ref(h)
    why = workbench.why(w, loss)
    del h, loss
    gc.collect()
    assert held() is None and "MulBackward0" in repr(why)


@pytest.mark.parametrize("engine", ENGINES)
def test_inside_of_a_recording_nothing_is_recorded_of_it(engine):
    record = workbench.record() if engine is workbench else workbench.record(engine)
    w = engine.ones(3, requires_grad=True)
    with record as trace:
        loss = (w * 2).sum()
        count = len(trace.events)
        workbench.why(w, loss)
        trace.why(w)
        assert len(trace.events) == count
        loss.backward()
    assert trace.why(w).verdict == "there"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_hook_that_packs_is_not_asked_to_unpack(engine):
    def unpack(packed):
        raise AssertionError("unpacked")

    w = engine.ones(3, requires_grad=True)
    with engine.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
        loss = (w * w).sum()
    assert workbench.why(w, loss).verdict == "none"


@needs_torch
def test_what_pytorch_computes_in_other_ways_can_be_asked():
    w = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        h = w * 2
    assert workbench.why(h).sentences[0].endswith("(`requires_grad` is False).")
    z = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    loss = (z * z.conj()).real.sum()
    loss.backward()
    assert workbench.why(z, loss).verdict == "there"
    table = torch.nn.Embedding(4, 2, sparse=True)
    loss = table(torch.tensor([1])).sum()
    loss.backward()
    assert workbench.why(table.weight, loss).verdict == "there"
    with pytest.raises(TypeError, match="of one engine"):
        workbench.why(w, workbench.ones(1))


@needs_torch
def test_a_module_names_its_parameters():
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    with workbench.record(torch) as trace:
        hidden = net[1](net[0](torch.ones(4, 2)))
        loss = net[2](hidden.detach()).sum()
        loss.backward()
    why = trace.why(net[0].weight)
    assert why.sentences[0] == "`net.0.weight.grad` is None: there's no path from `loss` to `net.0.weight`."
    assert why.sentences[1].startswith("detach() at ") and why.sentences[1].endswith(" off from `hidden`.")
    live = workbench.why(net[0].weight, loss)
    assert live.sentences[1] == "(From `loss` there's a path to `net.2.bias` and `net.2.weight`.)"
    assert str(live).endswith("call `trace.why(net[0].weight)`.")
