"""Hooks of a recorded PyTorch program: the program and its hooks are left as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from oracle import torch

import workbench
from workbench.pictures.trace.call_records import HookRan, HooksFound


def with_hooks(called: list[Any]) -> tuple[Any, Any, list[Any]]:
    """A loss, its leaf and the handles of hooks of all kinds, which put down what they are called with."""

    def told(name: str, answer: Callable[..., Any]) -> Callable[..., Any]:
        def hook(*given: Any) -> Any:
            called.append((name, repr(given)))
            return answer(*given)

        return hook

    x = torch.tensor([0.1, 0.7], requires_grad=True)
    y = x * 3
    leaf, node = y.grad_fn.next_functions[0][0], y.grad_fn
    handles = [
        y.register_hook(told("tensor", lambda grad: grad * 2)),
        x.register_hook(told("leaf", lambda grad: grad / 3)),
        node.register_prehook(told("before 1", lambda grads: (grads[0] * 1.1,))),
        node.register_prehook(told("before 2", lambda grads: None)),
        node.register_hook(told("after 1", lambda sent, came: (sent[0] * 1.3, None))),
        node.register_hook(told("after 2", lambda sent, came: None)),
        leaf.register_prehook(told("before the leaf", lambda grads: (grads[0] - 1,))),
        leaf.register_hook(told("after the leaf", lambda sent, came: None)),
        x.register_post_accumulate_grad_hook(told("accumulated", lambda leaf: None)),
    ]
    return (y * y).sum(), x, handles


def state(handles: list[Any]) -> list[Any]:
    """The hooks in their places."""
    return [list(handle.hooks_dict_ref().items()) for handle in handles]


def test_hooks_are_called_with_the_same_in_the_same_order() -> None:
    plain: list[Any] = []
    loss, x, _ = with_hooks(plain)
    loss.backward()
    recorded: list[Any] = []
    with workbench.record(torch) as trace:
        loss, leaf, handles = with_hooks(recorded)
        before = state(handles)
        loss.backward()
    assert recorded == plain and torch.equal(x.grad, leaf.grad)
    assert state(handles) == before
    assert sum(isinstance(event, HookRan) for event in trace.events) == len(plain)


def test_hooks_of_a_graph_that_was_there_before_are_told() -> None:
    loss, _, handles = with_hooks([])
    with workbench.record(torch) as trace:
        loss.backward()
    ran = [event.hook.kind for event in trace.events if isinstance(event, HookRan)]
    assert ran == ["tensor", *["before"] * 2, *["after"] * 2, "tensor", "before", "after", "accumulated"]
    assert all("_HookOfUser" not in str(each) for each in state(handles))


def test_registering_is_as_it_was_when_the_recording_is_over() -> None:
    function = torch.autograd.Function
    before = function.__dict__.get("_register_hook"), function._register_hook
    with workbench.record(torch):
        with workbench.record(torch):
            with_hooks([])[0].backward()
    assert (function.__dict__.get("_register_hook"), function._register_hook) == before


def test_recordings_inside_of_one_another_tell_the_hooks_each() -> None:
    with workbench.record(torch) as outer, workbench.record(torch) as inner:
        loss, _, handles = with_hooks([])
        before = state(handles)
        loss.backward()
    ran = [[event.hook for event in each.events if isinstance(event, HookRan)] for each in (outer, inner)]
    assert ran[0] == ran[1] and len(ran[0]) == 9
    assert state(handles) == before


def test_hooks_of_a_node_that_cannot_run_are_not_said_to_be_gone() -> None:
    with workbench.record(torch) as trace:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * x
        y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
        (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        slope.sum().backward()
    found = [event for event in trace.events if isinstance(event, HooksFound)]
    (ran,) = [event for event in trace.events if isinstance(event, HookRan)]
    assert [[len(place.hooks) for place in event.places] for event in found] == [[1]]
    assert (ran.before[0].values, ran.after[0].values) == ((1.0, 1.0), (2.0, 2.0))


def test_an_error_names_the_hook_that_the_user_wrote() -> None:
    def wrong(grad: Any) -> Any:
        return grad.sum()

    def message() -> str:
        y = torch.ones(2, requires_grad=True) * 2
        y.register_hook(wrong)
        with pytest.raises(RuntimeError) as caught:
            y.sum().backward()
        return str(caught.value)

    plain = message()
    with workbench.record(torch):
        assert message() == plain
    assert "wrong" in plain
