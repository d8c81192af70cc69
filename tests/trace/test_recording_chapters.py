"""record(last=...) forgets between two graphs, backwards, transforms and calls, not within them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from trace_samples import Square, kinds, leaf, of_kind

import workbench as torch
from workbench.pictures.recording import record
from workbench.pictures.trace.gap_records import EventsLetGo
from workbench.pictures.views import storyboard


def test_a_graph_that_is_larger_is_kept_whole():
    x = leaf(1.0)
    with record(last=50) as trace:
        y = x
        for _ in range(400):
            y = y * 1.01
        for _ in range(3):
            y.backward(retain_graph=True)
    nodes = of_kind(trace, "NodeCreated")
    assert len({event.node for event in nodes}) == 400
    assert sum(event.found for event in nodes) > 200  # their lines are gone, not they
    frame = trace.frame(len(trace.events))
    assert {frame.nodes[event.node].state for event in nodes} == {"done"}
    (end,) = [t for t in frame.tensors.values() if t.name == "x"]
    np.testing.assert_allclose(end.grad.values, [3 * 1.01**400])
    assert len(trace.events) < 6 * 400 + 3 * 400 * 3  # it was not put down over and over


def test_a_graph_that_grows_without_end_is_not_put_down_again_at_every_step():
    w = leaf(1.0)
    total = torch.tensor(0.0, dtype=torch.float64)
    with record(last=40) as trace:
        for _ in range(300):
            loss = w * 2
            total = total + loss  # the graph of every step hangs on it
            loss.backward(retain_graph=True)
    assert trace.events[0].count + len(trace.events) < 300 * 20
    assert len(trace.frame(len(trace.events)).nodes) > 300


def test_a_stepper_is_not_cut_through():
    w = leaf(2.0, 3.0)
    with record(last=30) as trace:
        for _ in range(20):
            (w * 2).sum().backward()
        s = torch.step((w * w).exp().sum())
        s.step()
        for _ in range(20):
            (w * 2).sum().sin()
        s.run()
    tasks = Counter(event.task for event in of_kind(trace, "BackwardFinished"))
    (task,) = {event.task for event in of_kind(trace, "BackwardStarted") if len(event.roots) == 1} & tasks.keys()
    started = [event for event in of_kind(trace, "NodeStarted") if event.task == task]
    assert len(started) == 4  # sum, exp, mul and the leaf
    assert trace.frame(len(trace.events)).tensors["t1"].grad is not None


def test_what_an_error_left_open_does_not_keep_everything():
    class Fails(torch.Function):
        @staticmethod
        def forward(x):
            return x * 1.0

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def jvp(ctx, tangent):
            raise ValueError("no tangent")

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("no gradient")

    forward_ad = torch.autograd.forward_ad
    w = leaf(1.0, 2.0)
    with record(last=60) as trace:
        with forward_ad.dual_level(), pytest.raises(ValueError, match="no tangent"):
            Fails.apply(forward_ad.make_dual(w.detach(), torch.ones(2, dtype=torch.float64)))
        with pytest.raises(ValueError, match="no gradient") as raised:
            Fails.apply(w).sum().backward()
        with pytest.raises(ValueError, match="no gradient"):
            torch.func.grad(lambda x: Fails.apply(x).sum())(w.detach())
        with pytest.raises(ValueError, match="no tangent"):
            torch.func.jvp(Fails.apply, (w.detach(),), (w.detach(),))
        for _ in range(50):
            (w * 2).sum().backward()
    assert raised.value.__traceback__ is not None  # which holds the task
    assert len(trace.events) <= 60


@pytest.mark.slow
def test_tangents_without_a_backward_are_let_go_too():
    forward_ad = torch.autograd.forward_ad
    w, v = leaf(1.0, 2.0), torch.ones(2, dtype=torch.float64)
    with record(last=50) as trace, forward_ad.dual_level():
        for _ in range(60):
            forward_ad.unpack_dual((forward_ad.make_dual(w, v) * 2).exp())
    assert len(trace.events) <= 50
    assert len(of_kind(trace, "TangentPushed")) > 5
    for step in range(len(trace.steps)):
        trace.show().storyboard.at(step)


def test_an_error_that_was_let_go_is_explained_from_what_is_there():
    w = leaf(1.0, 2.0)
    with record(last=40):
        h = w * 2
        y = (h * h).sum()
        h.add_(1)
        with pytest.raises(RuntimeError) as raised:
            y.backward()
        early = str(raised.value.explain())
        for _ in range(30):
            (w * 3).sum().backward()
        late = str(raised.value.explain())
        h = w * 2
        y = (h * h).sum()
        h.add_(1)
        with pytest.raises(RuntimeError) as again:
            y.backward()
    assert "MulBackward0" in early and "MulBackward0" in late
    text = str(again.value.explain())
    assert "add_" in text and "MulBackward0" in text


def test_lines_of_functions_are_kept_of_the_last_calls_only():
    w = leaf(1.0, 2.0)
    with record(last=120, lines=True) as trace:
        for _ in range(50):
            Square.apply(w).sum().backward()
    assert len(trace.events) <= 120
    calls = of_kind(trace, "MethodCalled")
    assert {event.method for event in calls} == {"forward", "backward"}
    assert kinds(trace)[:2] == ["EventsLetGo", "MethodCalled"] and calls[0].method == "forward"
    assert len(storyboard(trace, "function").steps) > 5


def test_a_chapter_does_not_begin_within_a_call():
    class Fits(torch.Function):
        """Its forward has graphs and backwards of its own."""

        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                inner = x.detach().requires_grad_()
                for _ in range(30):
                    (inner * 2).sum().backward()
            return x * inner.grad

        @staticmethod
        def backward(ctx, grad):
            return grad

    w = leaf(1.0, 2.0)
    with record(last=600, lines=True) as trace:
        for _ in range(20):
            Fits.apply(w).sum().backward()
    assert isinstance(trace.events[0], EventsLetGo) and len(trace.events) <= 600
    called, ended = (Counter(event.call for event in of_kind(trace, kind)) for kind in ("MethodCalled", "MethodEnded"))
    assert called == ended and called


# What was known before a chapter, and is met again.


def test_writes_are_told_of_what_an_earlier_chapter_knew():
    w, v = leaf(1.0, 2.0), leaf(3.0)
    with record(last=60) as trace:
        (w * 2).sum().backward()
        for _ in range(50):
            (v * 2).sum().backward()
            with torch.no_grad():
                w.add_(1.0)
    assert isinstance(trace.events[0], EventsLetGo)
    assert len(of_kind(trace, "TensorWritten")) == len(of_kind(trace, "BackwardFinished")) > 2
    frame = trace.frame(len(trace.events))
    assert [frame.version(t.id) for t in frame.tensors.values() if t.name == "w"] == [50]


def test_what_was_detached_is_known_for_what_it_is():
    w = leaf(1.0, 2.0)
    for last in range(40, 60):
        with record(last=last) as trace:
            for _ in range(20):
                d = w.detach()
                (w * 2).sum().backward()
                d.add_(1.0)
        writes = of_kind(trace, "TensorWritten")
        assert len(writes) == len(of_kind(trace, "BackwardFinished")) > 1
        frame = trace.frame(len(trace.events))
        assert frame.tensors[frame.tensors[writes[-1].tensor].base].name == "w"


def test_a_view_stays_the_view_that_it_was():
    w = leaf(1.0, 2.0)
    with record(last=80) as trace:
        h = w * 2
        view = h[:1]
        for _ in range(10):
            (w * 3).sum().backward()
            (view * 3).sum().backward(retain_graph=True)
            frame = trace.frame(len(trace.events))
            named = {tensor.name: tensor for tensor in frame.tensors.values() if tensor.name}
            assert "h" not in named or named["view"].base == named["h"].id


def test_a_name_stays_although_its_variable_is_gone():
    def first():
        weight = leaf(1.0, 2.0)
        (weight * 2).sum().backward()
        return [weight]

    with record(last=50) as trace:
        model = first()
        for _ in range(60):
            (model[0] * 2).sum().backward()
    assert isinstance(trace.events[0], EventsLetGo)
    assert [t.name for t in trace.frame(len(trace.events)).tensors.values() if t.role == "leaf"] == ["weight"]
