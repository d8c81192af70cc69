"""The backward one node at a time, and after something went wrong in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from functions import function

import workbench as w
from workbench.autograd.backward import make_task
from workbench.autograd.node import edge_of


def task_of(out: w.Tensor, *targets: w.Tensor, create_graph: bool = False) -> Any:
    """The graph task of a backward, not begun."""
    edges = [(edge_of(t), t.output_nr) for t in targets] or None
    return make_task([out], [w.ones_like(out)], create_graph, create_graph, edges)


@pytest.mark.parametrize("mode", [True, False])
@pytest.mark.parametrize("create_graph", [True, False])
def test_a_step_runs_one_node_and_leaves_grad_mode_as_it_was(mode: bool, create_graph: bool) -> None:
    x = w.tensor([2.0], requires_grad=True)
    y = (x * x).exp()
    with w.set_grad_enabled(mode):
        task = task_of(y, create_graph=create_graph)
        steps = 0
        while task.step():
            steps += 1
            assert w.is_grad_enabled() == mode
            assert (x.grad is None) == (steps < 3)
    assert steps == 3
    np.testing.assert_allclose(x.grad.detach().numpy(), [4 * np.exp(4)], rtol=1e-6)
    assert x.grad.requires_grad == create_graph


def test_stepping_gives_what_running_gives() -> None:
    def grads(step: bool) -> list[float]:
        x = w.tensor([0.5, 2.0], requires_grad=True)
        a, b = x.exp(), x.sin()
        task = task_of((a * b + a / b + b).sum())
        while step and task.step():
            pass
        task.run()
        return x.grad.tolist()

    assert grads(step=True) == grads(step=False)


def test_two_tasks_may_take_turns() -> None:
    x, y = w.tensor([2.0], requires_grad=True), w.tensor([3.0], requires_grad=True)
    one, two = task_of((x * x).exp()), task_of((y * y).sin())
    going = True
    while going:
        going = one.step() | two.step()
    np.testing.assert_allclose(x.grad.numpy(), [4 * np.exp(4)], rtol=1e-6)
    np.testing.assert_allclose(y.grad.numpy(), [6 * np.cos(9)], rtol=1e-5)


def test_targets_take_their_gradients_and_leaves_get_none() -> None:
    x = w.tensor([2.0], requires_grad=True)
    middle = x * x
    task = task_of(middle.exp(), middle, x)
    assert task.captured == [None, None]
    task.run()
    np.testing.assert_allclose([float(g[0]) for g in task.captured], [np.exp(4), 4 * np.exp(4)], rtol=1e-6)
    assert x.grad is None


def test_after_an_exception_the_engine_goes_on_working(torch: Any) -> None:
    class Fails(torch.autograd.Function):
        trouble = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            if Fails.trouble:
                raise KeyError("my own", 3)
            return g * ctx.saved_tensors[0]

    x = torch.tensor([3.0], requires_grad=True)
    y = Fails.apply(x)
    told = []
    for _ in range(2):
        try:
            y.backward()
        except KeyError as error:
            told.append((error.args, torch.is_grad_enabled(), x.grad))
    Fails.trouble = False
    y.backward()
    return told, x.grad


def test_nodes_that_ran_before_an_exception_have_accumulated(torch: Any) -> None:
    def backward(ctx, g):
        raise ValueError("no")

    Fails = function(torch, lambda ctx, x: x * 2, backward, name="Fails")
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    failing = Fails.apply(x)
    out = (failing + (y * 2).exp()).sum()
    try:
        out.backward()
    except ValueError as error:
        return error, x.grad, y.grad, torch.is_grad_enabled()


def test_the_users_traceback_is_kept() -> None:
    def backward(ctx: Any, g: Any) -> Any:
        return here(g)

    def here(g: Any) -> Any:
        raise ZeroDivisionError("mine")

    Fails = function(w, lambda ctx, x: x * 2, backward, name="Fails")
    out = Fails.apply(w.ones(1, requires_grad=True))
    with pytest.raises(ZeroDivisionError, match="^mine$") as raised:
        out.backward()
    assert [frame.name for frame in raised.traceback][-2:] == ["backward", "here"]


def test_a_step_that_fails_leaves_the_mode_and_the_other_task_alone() -> None:
    def backward(ctx, g):
        raise ValueError("no")

    Fails = function(w, lambda ctx, x: x * 2, backward, name="Fails")
    x = w.ones(1, requires_grad=True)
    task = task_of(Fails.apply(x))
    with pytest.raises(ValueError, match="^no$"):
        task.step()
    assert w.is_grad_enabled()
    (x * 3).backward()
    assert x.grad.tolist() == [3.0]
