"""What the engine says while it works, event by event, with what comes along."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from functions import function

import workbench as w
from workbench import events
from workbench.autograd.backward import make_task


@pytest.fixture
def everything() -> Iterator[list[Any]]:
    """The events since the test began."""
    told: list[Any] = []
    gc.collect()  # graphs of other tests go now, not while these are heard
    events.listeners.append(told.append)
    yield told
    events.listeners.remove(told.append)


@pytest.fixture
def heard() -> Iterator[list[Any]]:
    """The events since the test began, without those of what makes no node."""
    told: list[Any] = []

    def hear(event: Any) -> None:
        told.extend([event] if event[0] != "unrecorded" else [])

    gc.collect()
    events.listeners.append(hear)
    yield told
    events.listeners.remove(hear)


def kinds(told: list[Any]) -> list[str]:
    """The events' names, of those about nodes with the node's name."""
    return [
        f"{e[0]} {next((part.name() for part in e[1:] if hasattr(part, 'next_functions')), '')}".strip() for e in told
    ]


class Exp(w.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        result = x.exp() * scale
        ctx.save_for_backward(result)
        return result, x > 0

    @staticmethod
    def backward(ctx, g, _):
        return g * ctx.saved_tensors[0], None


def test_a_forward_tells_each_node_with_its_arguments_and_outputs(heard: list[Any]) -> None:
    x = w.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2.5
    z = y.sum(0, keepdim=True)
    assert kinds(heard) == ["created MulBackward0", "created SumBackward1"]
    (_, mul, args, outputs), (_, total, total_args, total_outputs) = heard
    assert mul is y.grad_fn and args == (x, 2.5) and outputs == (y,)
    assert total is z.grad_fn and total_args[0] is y and total_outputs == (z,)


def test_what_is_not_recorded_is_told_without_a_node(everything: list[Any]) -> None:
    x = w.tensor([1.0, 2.0], requires_grad=True)
    with w.no_grad():
        y = x * 2
    more = x > 0, w.ones(2) * 2, w.ones(2, dtype=w.int64) * 2.5, w.stack([x.shape[0] * w.ones(2)])
    applied = Exp.apply(w.ones(2), 2)
    assert {event[0] for event in everything} == {"unrecorded"}
    told = {event[1]: event for event in everything}
    (_, name, (given, number), (result,)) = everything[0]
    assert (name, number) == ("mul", 2) and given is x and result is y
    assert everything[1][1] == "gt" and everything[1][2][0] is x and everything[1][3][0] is more[0]
    assert told["stack"][3][0] is more[3]
    assert [*map(id, told["Exp"][3])] == [*map(id, applied)]
    assert all(isinstance(each, w.Tensor) for event in everything for each in event[3])


def test_detach_in_place_is_told_while_the_node_is_known(everything: list[Any]) -> None:
    y = w.tensor([1.0, 2.0], requires_grad=True) * 2
    node, known = y.grad_fn, []
    events.listeners.append(lambda event: known.append(event[2][0].grad_fn))
    try:
        y.detach_()
    finally:
        del events.listeners[-1]
    assert everything[-1][:2] == ("unrecorded", "detach_") and everything[-1][2][0] is everything[-1][3][0] is y
    assert known == [node] and y.grad_fn is None


def test_what_is_detached_is_told_because_it_shares_memory(heard: list[Any]) -> None:
    x = w.tensor([1.0, 2.0], requires_grad=True)
    y = x.detach()
    _ = y * 2
    assert heard == [("shares", y, x)]


def test_a_custom_function_is_one_node(heard: list[Any]) -> None:
    x = w.tensor([1.0, 2.0], requires_grad=True)
    y, positive = Exp.apply(x, 2.0)
    assert kinds(heard) == ["created ExpBackward"]
    _, node, args, outputs = heard[0]
    assert node is y.grad_fn and node._forward_cls is Exp
    assert args == (x, 2.0) and args[0] is x and outputs[0] is y and outputs[1] is positive
    assert [name for name, _, _ in node.saved_items()] == ["saved_tensors[0]"]


def test_a_backward_tells_each_node_as_it_runs(heard: list[Any]) -> None:
    x = w.tensor([1.0, 2.0], dtype=w.float64, requires_grad=True)
    y, _ = Exp.apply(x, 2.0)
    out = y.sum()
    heard.clear()
    out.backward()
    assert kinds(heard) == [
        "backward",
        "run SumBackward0",
        "ran SumBackward0",
        "run ExpBackward",
        "ran ExpBackward",
        "freed ExpBackward",
        "run torch::autograd::AccumulateGrad",
        "accumulated torch::autograd::AccumulateGrad",
        "finished",
    ]
    task = heard[0][1]
    assert task.roots == [(out.grad_fn, 0)] and [float(s) for s in task.seeds] == [1.0]
    assert (task.keep_graph, task.create_graph) == (False, False)
    assert all(event[1] is task for event in heard if event[0] in ("run", "ran", "accumulated", "finished"))
    by_name = dict(zip(kinds(heard), heard, strict=True))
    run, ran = by_name["run ExpBackward"], by_name["ran ExpBackward"]
    np.testing.assert_array_equal(run[3][0], [1.0, 1.0])
    assert run[3][1] is None, "no gradient came for the mask"
    assert len(ran[3]) == len(ran[2].next_functions) == 1
    np.testing.assert_allclose(ran[3][0], 2 * np.exp([1.0, 2.0]))
    accumulated = by_name["accumulated torch::autograd::AccumulateGrad"]
    assert accumulated[3] is x and x.grad is not None


@pytest.mark.parametrize("out", [lambda x: (x * x).sum(), lambda x: (x * 2 + x.exp() * x).sum()])
def test_one_gradient_for_each_output_and_each_edge(heard: list[Any], out: Callable[[Any], Any]) -> None:
    out(w.tensor([1.0, 2.0], requires_grad=True)).backward()
    told = [event for event in heard if event[0] in ("run", "ran")]
    assert told
    for kind, _, node, grads in told:
        assert isinstance(grads, list | tuple)
        assert len(grads) == (node.outputs if kind == "run" else len(node.next_functions))
        assert all(g is None or isinstance(g, (np.ndarray, np.generic)) for g in grads)


def test_with_create_graph_gradients_are_tensors_and_nodes_of_the_backward_are_told(heard: list[Any]) -> None:
    x = w.tensor([1.0, 2.0], requires_grad=True)
    out = x.exp().sum()
    heard.clear()
    w.autograd.grad(out, x, create_graph=True)
    assert [kind for kind in kinds(heard) if not kind.startswith("created")] == [
        "backward",
        "run SumBackward0",
        "ran SumBackward0",
        "run ExpBackward0",
        "ran ExpBackward0",
        "captured torch::autograd::AccumulateGrad",
        "finished",
    ]
    assert kinds(heard)[4:6] == ["created MulBackward0", "ran ExpBackward0"]
    assert all(isinstance(g, w.Tensor) for e in heard if e[0] in ("run", "ran") for g in e[3])


def test_a_captured_gradient_is_told_instead_of_accumulated(heard: list[Any]) -> None:
    x = w.tensor([1.0, 2.0], requires_grad=True)
    middle = x * 3
    out = middle.exp().sum()
    heard.clear()
    grads = w.autograd.grad(out, [x, middle])
    captured = [event for event in heard if event[0] == "captured"]
    assert [(e[2].name(), e[3]) for e in captured] == [("MulBackward0", 0), ("torch::autograd::AccumulateGrad", 0)]
    np.testing.assert_array_equal(captured[0][4], grads[1].numpy())
    np.testing.assert_array_equal(captured[1][4], grads[0].numpy())
    assert "accumulated" not in {event[0] for event in heard}


def test_nothing_is_freed_where_the_graph_is_kept_or_nothing_was_saved(heard: list[Any]) -> None:
    x = w.tensor([1.0, 2.0], requires_grad=True)
    (x + x).sum().backward()
    x.exp().sum().backward(retain_graph=True)
    assert "freed" not in {event[0] for event in heard}


def test_a_write_is_told_with_the_new_version(heard: list[Any]) -> None:
    versions = []
    events.listeners.append(lambda event: versions.append(event[1]._version) if event[0] == "wrote" else None)
    x = w.zeros(3)
    x.add_(1)
    x[0] = 5
    y = w.ones(2, requires_grad=True) * 1
    y.mul_(2)
    events.listeners.pop()
    wrote = [event for event in heard if event[0] == "wrote"]
    assert [event[2] for event in wrote][0] == "add_" and wrote[0][1] is x and wrote[-1][1] is y
    assert versions == [1, 2, 1]


@pytest.mark.generated
def test_a_write_that_is_heard_takes_no_more_memory(heard: list[Any]) -> None:
    x, y = w.zeros(100_000), w.ones(100_000)
    told = []
    for name, given in (("add_", (y,)), ("sub_", (2,)), ("fill_", (3,)), ("zero_", ()), ("copy_", (y,)), ("exp_", ())):
        version = x._version
        tracemalloc.start()
        getattr(x, name)(*given)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        told.append((name, x._version - version, most < x.numpy().nbytes))
    assert told == [(name, 1, True) for name in ("add_", "sub_", "fill_", "zero_", "copy_", "exp_")]
    assert heard == [("wrote", x, name, None) for name, *_ in told]


def test_a_failure_is_told_with_its_node(heard: list[Any]) -> None:
    def backward(ctx, g):
        raise ValueError("no")

    Fails = function(w, lambda ctx, x: x * 2, backward, name="Fails")
    out = Fails.apply(w.ones(1, requires_grad=True))
    with pytest.raises(ValueError, match="^no$") as raised:
        out.backward()
    kind, task, node, error, tensors = heard[-1]
    assert kind == "failed" and tensors == () and node is out.grad_fn and error is raised.value
    assert task is heard[1][1]


def test_a_step_at_a_time_says_the_same(heard: list[Any]) -> None:
    def program(step: bool) -> list[str]:
        x = w.tensor([1.0, 2.0], requires_grad=True)
        out = (x.exp() * x).sum()
        heard.clear()
        task = make_task([out], [w.tensor(1.0)], False, False)
        while step and task.step():
            pass
        if not step:
            task.run()
        return kinds(heard)

    assert program(step=True) == program(step=False)


def test_listening_changes_no_gradient_and_no_graph() -> None:
    def program() -> Any:
        x = w.tensor([0.5, 2.0], dtype=w.float64, requires_grad=True)
        y, _ = Exp.apply(x * x[0], 2.0)
        y = y / x.sin() + x.max() - x[1:] @ x[1:]
        (g,) = w.autograd.grad(y.sum(), x, create_graph=True)
        (g * g).sum().backward()
        return x.grad.tolist(), y.grad_fn.name(), [f[0].name() for f in y.grad_fn.next_functions]

    silent = program()
    events.listeners.append(lambda event: None)
    try:
        assert program() == silent
    finally:
        events.listeners.pop()
