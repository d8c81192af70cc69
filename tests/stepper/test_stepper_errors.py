"""Errors in a stepped backward, and what dies with a stepper."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from oracle import same
from stepped import leaf

import workbench as w


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Without the cycle collector: what dies, dies by reference counting."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


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
    x, y = leaf(1.0), leaf(2.0)
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


@same
def test_an_input_that_is_not_used_is_refused_in_the_end_as_grad_refuses_it(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    unused = torch.tensor([3.0], requires_grad=True)
    told = []
    for inputs, options in [([unused], {}), ([x, unused], {}), ([x, unused], {"allow_unused": True})]:
        y = x * x
        loss = y.sum()
        try:
            if torch is w:
                told.append(list(w.step(loss, inputs, **options).run().grads.values()))
            else:
                told.append(list(torch.autograd.grad(loss, inputs, **options)))
        except RuntimeError as error:
            told.append(str(error))
        try:
            loss.backward()
        except RuntimeError:
            told.append("freed")
        told += [x.grad, unused.grad]
        x.grad = None
    return told


def test_the_step_at_which_it_is_refused_is_taken_and_can_be_taken_back() -> None:
    x, unused = leaf(1.0, 2.0), leaf(3.0)
    s = w.step((x * x).sum(), [x, unused]).step(2)
    with pytest.raises(RuntimeError, match="index 1 appears to not have been used") as raised:
        s.step()
    assert "unused" in str(raised.value.explain())
    assert (s.done, s.error, s.position) == (True, None, 3)
    assert s.grads[x].tolist() == [2.0, 4.0]
    assert s.step() is s, "it is over"
    with pytest.raises(RuntimeError, match="index 1"):
        s.back().run()
    with pytest.raises(RuntimeError, match="index 0") as raised:
        w.step((x * x).sum(), unused)
    assert "unused" in str(raised.value.explain())


def test_an_error_of_a_class_that_makes_itself_in_a_way_of_its_own() -> None:
    class Odd(Exception):
        def __new__(cls, *, word: str) -> Any:
            return super().__new__(cls, word)

        def __init__(self, *, word: str) -> None:
            super().__init__(word)

    def hook(g: Any) -> None:
        raise Odd(word="odd")

    h = leaf(1.0).exp()
    h.register_hook(hook)
    s = w.step(h.sum())
    with pytest.raises(Odd):
        s.run()
    assert str(s.error) == "odd"


def test_a_saved_tensor_that_was_written_stops_the_backward_as_it_does() -> None:
    x = leaf(1.0)
    h = x * 2
    s = w.step((h * h).sum()).step()
    with w.no_grad():
        h.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        s.run()
    s.back(2)
    assert x.grad is None


@pytest.mark.slow
@pytest.mark.parametrize("steps", [0, 3, 100])
def test_an_abandoned_stepper_takes_its_memory_with_it(steps: int, no_collector: None) -> None:
    x = leaf(1.0, 2.0)
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
    x = leaf(1.0)
    h = Picky.apply(x * 2)
    s = w.step((h * 5).sum())
    with pytest.raises(KeyError) as raised:
        s.run()
    ref, graph = weakref.ref(s), weakref.ref(h)
    del raised, s, h
    assert (ref(), graph()) == (None, None)


def test_a_stepper_leaves_no_listener_behind() -> None:
    x = leaf(1.0)
    s = w.step(Picky.apply(x * 2).sum() * 5)
    with pytest.raises(KeyError):
        s.run()
    assert w.events.listeners == []
