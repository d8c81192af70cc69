"""What runs inside a step: hooks, checkpoints, backwards inside it, errors, listeners; and what dies with a stepper."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from oracle import same

import workbench as w
from workbench.utils.checkpoint import checkpoint


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Without the cycle collector: what dies, dies by reference counting."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf(torch: Any, *numbers: float) -> Any:
    return torch.tensor(numbers, dtype=torch.float64, requires_grad=True)


def driven(torch: Any, loss: Any, **options: Any) -> None:
    """A backward; the workbench's goes to and fro."""
    if torch is not w:
        loss.backward(**options)
        return
    s = w.step(loss, **options)
    while not s.done:
        s.step()
        s.back().step()
    s.back(s.position).run()


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
        "Step 3 ran a hook after accumulation of AccumulateGrad: what it did besides changing gradients could not be "
        "undone.",
        "Step 2 ran a tensor hook of ExpBackward0: what it did besides changing gradients could not be undone.",
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


class Picky(w.autograd.Function):
    """Fails for gradients over 1."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        if g.max() > 1:
            raise KeyError("too much", 3)
        return g * 2


def test_after_an_error_one_goes_back_and_on_with_another_gradient() -> None:
    x, y = leaf(w, 1.0), leaf(w, 2.0)
    h = Picky.apply(x)
    s = w.step((h * 5 + y * 3).sum())
    with pytest.raises(KeyError, match="too much"):
        s.run()
    assert w.is_grad_enabled()
    assert type(s.error) is KeyError
    assert s.error.args == ("too much", 3)
    assert s.error.__traceback__ is None
    assert (s.done, s.current) == (False, None)
    assert y.grad.tolist() == [3.0], "what ran before has accumulated"
    assert x.grad is None
    assert "failed:  PickyBackward raised KeyError: ('too much', 3)" in repr(s)
    failed = s.position
    with pytest.raises(RuntimeError, match=f"failed in PickyBackward at step {failed}. Call back\\(\\)"):
        s.step()
    s.back()
    assert s.error is None
    assert s.current is h.grad_fn
    s.edit(h, 0, 0.5).run()
    assert (s.done, x.grad.tolist(), y.grad.tolist()) == (True, [1.0], [3.0])
    assert [(b.name, len(b.steps)) for b in s.branches] == [("main", failed), ("branch 1", failed + 1)]
    assert type(s.branches[0].steps[-1].error) is KeyError


def test_an_error_of_a_class_that_makes_itself_in_a_way_of_its_own() -> None:
    class Odd(Exception):
        def __new__(cls, *, word: str) -> Any:
            return super().__new__(cls, word)

        def __init__(self, *, word: str) -> None:
            super().__init__(word)

    def hook(g: Any) -> None:
        raise Odd(word="odd")

    h = leaf(w, 1.0).exp()
    h.register_hook(hook)
    s = w.step(h.sum())
    with pytest.raises(Odd):
        s.run()
    assert str(s.error) == "odd"


def test_a_saved_tensor_that_was_written_stops_the_backward_as_it_does() -> None:
    x = leaf(w, 1.0)
    h = x * 2
    s = w.step((h * h).sum()).step()
    with w.no_grad():
        h.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        s.run()
    s.back(2)
    assert x.grad is None


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


@pytest.mark.parametrize("steps", [0, 3, 100])
def test_an_abandoned_stepper_takes_its_memory_with_it(steps: int, no_collector: None) -> None:
    x = leaf(w, 1.0, 2.0)
    h = x.exp()
    loss = (Picky.apply(h * h) * 0.5).sum()
    s = w.step(loss)
    s.step(steps)
    s.back(s.position // 2).edit(s.ready[0], 0, 1.0).step()
    dead = [weakref.ref(each) for each in (h, loss, s)]
    assert s.steps
    del h, loss, s
    assert [ref() for ref in dead] == [None] * 3


def test_so_does_one_that_failed(no_collector: None) -> None:
    x = leaf(w, 1.0)
    h = Picky.apply(x * 2)
    s = w.step((h * 5).sum())
    with pytest.raises(KeyError) as raised:
        s.run()
    ref, graph = weakref.ref(s), weakref.ref(h)
    del raised, s, h
    assert (ref(), graph()) == (None, None)


def test_a_stepper_leaves_no_listener_behind() -> None:
    x = leaf(w, 1.0)
    s = w.step(Picky.apply(x * 2).sum() * 5)
    with pytest.raises(KeyError):
        s.run()
    assert w.events.listeners == []
