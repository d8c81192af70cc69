"""What runs inside a step: hooks, checkpoints, backwards inside it, listeners."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import same

import workbench as w
from workbench.utils.checkpoint import checkpoint


def leaf(torch: Any, *numbers: float) -> Any:
    return torch.tensor(numbers, dtype=torch.float64, requires_grad=True)


def driven(torch: Any, loss: Any, **options: Any) -> None:
    """A backward; the workbench's goes to and fro."""
    if torch is not w:
        loss.backward(**options)
        return
    s = w.step(loss, **options).run()
    s.back(s.position)
    while not s.done:
        s.step()
        s.back().step()


@same
def test_hooks_that_change_gradients_change_them_once(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    h = x.exp()
    h.retain_grad()
    h.register_hook(lambda g: g * 2)
    h.register_hook(lambda g: g.mul_(3))
    x.register_hook(lambda g: g + 1)
    h.grad_fn.register_prehook(lambda grads: (grads[0] * 5,))
    h.grad_fn.register_hook(lambda ins, outs: (ins[0] * 7,))
    driven(torch, (h * h).sum())
    return x.grad, h.grad


@same
def test_hooks_in_a_recorded_backward(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    h = x.exp()
    h.register_hook(lambda g: g.mul_(3))
    driven(torch, (h * h).sum(), create_graph=True)
    return x.grad.detach(), torch.autograd.grad(x.grad.sum(), x)


@same
def test_a_hook_of_several_tensors_is_told_once_they_have_all_come(torch: Any) -> Any:
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    seen = []
    torch.autograd.graph.register_multi_grad_hook([x, y], lambda grads: seen.append([g.tolist() for g in grads]))
    driven(torch, (x * y).exp().sum() * 1e-3)
    return seen[-1], x.grad, y.grad


def test_what_hooks_did_besides_is_said_to_stay() -> None:
    x = leaf(w, 1.0, 2.0)
    h = x.exp()
    seen = []
    h.register_hook(seen.append)
    x.register_post_accumulate_grad_hook(seen.append)
    s = w.step(h.sum()).run()
    assert s.warnings == []
    s.back(3)
    assert s.warnings == [
        "Step 3 ran a hook after accumulation of x. Its effects other than changing gradients couldn't be undone.",
        "Step 2 ran a tensor hook of ExpBackward0. Its effects other than changing gradients couldn't be undone.",
    ]
    assert repr(s).endswith(s.warnings[1])
    s.run().back(3)
    assert len(s.warnings) == 2
    assert len(seen) == 4


@same
def test_a_backward_that_writes_into_what_it_was_given(torch: Any) -> Any:
    class Rude(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g.mul_(2)

    x = leaf(torch, 1.0, 2.0)
    driven(torch, (Rude.apply(x * 3) * 5).sum())
    return x.grad


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoints_in_a_step(use_reentrant: bool) -> None:
    @same
    def program(torch: Any) -> Any:
        x, weight = leaf(torch, 1.0, 2.0), leaf(torch, 0.5, 0.25)
        weight.grad = torch.ones_like(weight)

        def block(t: Any) -> Any:
            return (t * weight).exp().sin() * t

        again = torch.utils.checkpoint.checkpoint
        h = again(block, x, use_reentrant=use_reentrant)
        driven(torch, again(block, h, use_reentrant=use_reentrant).sum())
        return x.grad, weight.grad

    program()


def test_a_checkpoint_is_run_again_only_where_its_backward_is_undone_to_before_it() -> None:
    runs = []

    def block(t: Any) -> Any:
        runs.append(1)
        return t.exp().sin().tanh()

    s = w.step(checkpoint(block, leaf(w, 1.0), use_reentrant=False).sum()).step(3)
    assert len(runs) == 2
    s.back().step()
    assert len(runs) == 2, "what it saved again is there as it was"
    s.back(3).run()
    assert len(runs) == 3


@same
def test_a_backward_inside_a_hook_is_undone_with_its_step(torch: Any) -> Any:
    x, y = leaf(torch, 1.0), leaf(torch, 2.0)
    y.grad = torch.ones_like(y)
    h = x.exp()
    h.register_hook(lambda g: (y * y * 3).sum().backward())
    driven(torch, (h * 2).sum())
    return x.grad, y.grad


@same
def test_a_backward_of_the_same_graph_inside_a_hook(torch: Any) -> Any:
    x = leaf(torch, 1.0)
    h = x.exp()
    z = h.sin()
    z.register_hook(lambda g: h.sum().backward(retain_graph=True))
    driven(torch, (z * 2).sum())
    return x.grad


@same
def test_callbacks_run_when_all_is_over(torch: Any) -> Any:
    x = leaf(torch, 1.0)
    seen = []

    def hook(g):
        torch.autograd.Variable._execution_engine.queue_callback(lambda: seen.append(x.grad.tolist()))

    h = x.exp()
    h.register_hook(hook)
    driven(torch, h.sum())
    return seen[-1]


def test_callbacks_are_undone_and_come_again() -> None:
    x = leaf(w, 1.0)
    seen: list[int] = []
    h = x.exp()
    h.register_hook(lambda g: w.autograd.Variable._execution_engine.queue_callback(lambda: seen.append(1)))
    s = w.step(h.sum()).run()
    assert len(seen) == 1
    assert len(s.back().run() and seen) == 2, "the end was undone"
    assert len(s.back(2).run() and seen) == 3, "so was the asking for it"


def test_a_stepper_inside_a_recording() -> None:
    x = leaf(w, 1.0, 2.0)
    with w.record() as trace:
        loss = (x * x).exp().sum()
        s = w.step(loss)
        s.step(2)
        s.run()
    plain = leaf(w, 1.0, 2.0)
    with w.record() as other:
        loss = (plain * plain).exp().sum()
        loss.backward()
    assert [type(e).__name__ for e in trace.events] == [type(e).__name__ for e in other.events]
    with w.record() as late:
        s.back(2).run()
    assert len(late.events) == 0, "of a backward that began before it, a recording knows nothing"
    assert s.warnings == []


def test_a_recording_goes_on_where_a_backward_goes_back() -> None:
    x = leaf(w, 1.0, 2.0)
    with w.record() as trace:
        s = w.step((x * x).sum()).run().back(2).run()
    assert len(s.steps) == 3
    assert s.warnings == [
        "A recording is active: it keeps the steps you undo, so steps you run again appear twice in its pictures."
    ]
    ran = [e.node for e in trace.events if type(e).__name__ == "NodeStarted"]
    assert ran == [*ran[:3], *ran[1:3]]
    assert [trace.frame(k) for k in range(len(trace.events) + 1)]
