"""record(torch, last=...): only about the last so many events are kept, and what is kept is a trace like any other."""

from __future__ import annotations

import gc
import tracemalloc
import warnings
from typing import Any

import pytest
from oracle import torch
from small_programs import square_of
from trace_samples import of_kind
from watched import model_of, train

from workbench import record
from workbench.pictures.recording import Trace
from workbench.pictures.trace.gap_records import EventsLetGo


def trained(steps: int, **options: Any) -> tuple[Trace, Any]:
    """A recorded training: about 45 events a step."""
    model, optimizer = model_of(torch)
    with warnings.catch_warnings(action="error"):  # nothing was lost
        with record(torch, **options) as trace:
            train(torch, model, optimizer, steps)
    return trace, model


def leaves(trace: Trace) -> dict[str, tuple[Any, Any]]:
    """The values and gradients of leaves at the end."""
    frame = trace.frame(len(trace.events))
    return {each.name: (each.value, each.grad) for each in frame.tensors.values() if each.name}


@pytest.mark.parametrize("last", [40, 100, 300])
def test_what_is_kept_ends_as_the_whole_does(last: int) -> None:
    whole, model = trained(30)
    trace, _ = trained(30, last=last)
    first = trace.events[0]
    assert isinstance(first, EventsLetGo)
    assert len(trace.events) + first.count == pytest.approx(len(whole.events), rel=0.2)
    assert last / 2 <= len(trace.events) <= last + 80, "one step may be more than that"
    ends = leaves(trace)
    for name, parameter in model.named_parameters():
        value, grad = ends[f"model.{name}"]
        assert value.values == pytest.approx(parameter.detach().ravel().tolist())
        assert grad.values == pytest.approx(parameter.grad.ravel().tolist())
    assert Trace.from_dict(trace.to_dict()).to_dict() == trace.to_dict()


def test_it_begins_with_a_whole_step_and_says_how_many_were_let_go() -> None:
    trace, _ = trained(30, last=300)
    assert len(of_kind(trace, "BackwardStarted")) == len(of_kind(trace, "BackwardFinished")) >= 3
    made = of_kind(trace, "NodeCreated")
    assert made and not any(event.found for event in made), "each node with its line"
    assert not trace.findings(), "gradients were cleared in each step"
    said = trace.show().storyboard.steps[0].caption
    (gone,) = of_kind(trace, "EventsLetGo")
    assert trace.events[0] is gone and said.startswith(f"{gone.count:,} earlier events were")


def test_a_node_that_lives_on_is_the_same_and_so_is_a_tensor_that_is_used_again() -> None:
    w: Any = torch.tensor([0.5, -0.5], requires_grad=True)
    spare: Any = torch.tensor([2.0], requires_grad=True)
    with record(torch, last=60) as trace:
        kept = (spare * spare).sum()
        for _ in range(30):
            loss = (w * w).sum() + 0 * kept
            loss.backward(retain_graph=True)
            spare.grad = torch.zeros(1)
            with torch.no_grad():
                w -= 0.01 * w.grad
                w.grad.zero_()
        kept.backward()
    made = of_kind(trace, "NodeCreated")
    nodes = [event.node for event in made]
    assert nodes.count(max(nodes, key=nodes.count)) <= 4, "again in each chapter, as the same node"
    assert sum(event.found for event in made) < 20
    ends = leaves(trace)
    assert ends["w"][0].values == pytest.approx(tuple(w.detach().tolist()))
    assert ends["spare"][1].values == pytest.approx(tuple(spare.grad.tolist()))


def test_writes_and_cleared_gradients_of_what_no_later_forward_uses_are_kept() -> None:
    w, other = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with record(torch, last=60) as trace:
        (w * other).sum().backward()
        for step in range(1, 11):
            (w * step).sum().backward()
            w.grad = None
            (w * step).sum().backward()
            with torch.no_grad():
                other += step
            other.grad = torch.full((2,), float(step))
    value, grad = leaves(trace)["other"]
    assert (value.values, grad.values) == ((56.0, 56.0), (10.0, 10.0))


@pytest.mark.scheduled  # what else the process holds at the moment counts, too
def test_the_memory_of_a_long_training_is_bounded() -> None:
    sizes = []
    model, optimizer = model_of(torch)
    tracemalloc.start()
    try:
        with record(torch, last=100):
            for _ in range(4):
                train(torch, model, optimizer, 80)
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert sizes[3] < 1.1 * max(sizes[1:3]), sizes


def test_with_lines_a_method_is_kept_whole() -> None:
    square, layer = square_of(torch), torch.nn.Linear(2, 2)
    with record(torch, lines=True, last=120) as trace:
        for _ in range(30):
            square.apply(layer(torch.ones(3, 2))).sum().backward()
    assert len(trace.events) < 250
    assert len(of_kind(trace, "MethodCalled")) == len(of_kind(trace, "MethodEnded")) > 0
    assert "layer" in {event.scope for event in of_kind(trace, "NodeCreated")}, "with lines, too, modules are known"


@pytest.mark.parametrize(("last", "kind"), [(0, ValueError), (-3, ValueError), ("9", TypeError), (True, TypeError)])
def test_what_is_no_number_of_events_is_refused(last: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"^record\(last=\.\.\.\) takes how many events to keep"):
        record(torch, last=last)
