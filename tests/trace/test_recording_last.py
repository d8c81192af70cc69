"""record(last=...): only about the last so many events are kept, and what is kept is a trace like any other."""

from __future__ import annotations

import gc
import re
import tracemalloc
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_samples import Square, kinds, leaf, of_kind
from view_names import ALONE

import workbench as torch
from workbench.pictures.recording import Trace, record
from workbench.pictures.trace.forward_records import NodeCreated
from workbench.pictures.trace.gap_records import EventsLetGo
from workbench.pictures.views import storyboard

# Lines of programs over the leaves a and b; what they make is forgotten at once, but for `kept`, which grows.
LINES = (
    "(a * b + 1.0).relu().sum().backward()",
    "loss = (a * b).sum(); loss.backward(retain_graph=True); loss.backward()",
    "kept = kept + a.mean()",
    "kept.backward(retain_graph=True)",
    "h = a * 2; v = h[0]; v.mul_(3.0); h.sum().backward()",
    "Square.apply(a).sum().backward()",
    "a.data.mul_(0.5); a.grad = None",
    "d = a.detach(); d.add_(0.25)",
    "with torch.no_grad(): b.sub_(0.1)",
    "(g,) = torch.autograd.grad((a**3).sum(), a, create_graph=True); g.sum().backward()",
    "torch.func.grad(lambda z: (z * z).sum())(b.detach())",
    "torch.func.vmap(lambda z: z.sin() * 2)(a)",
    "torch.func.jvp(lambda z: z.exp(), (b.detach(),), (torch.ones(3, dtype=torch.float64),))",
    "with torch.no_grad(): a * b",
    "torch.utils.checkpoint.checkpoint(lambda z: z.sin() * b, a, use_reentrant=False).sum().backward()",
    "h = a * b; h.register_hook(lambda g: g * 2); h.tanh().sum().backward()",
    "fails(a, b)",
)
END = "(a.sin() * b).sum().backward()"


def fails(a, b):
    """A backward that ends with an error."""
    h = a * 2
    y = h * b
    h.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def run(program, **options):
    """The trace of a program, and its leaves."""
    names = {"torch": torch, "Square": Square, "fails": fails}
    names["a"] = a = torch.tensor([[1.0, -2.0, 0.5], [0.1, 0.2, 0.3]], dtype=torch.float64, requires_grad=True)
    names["b"] = b = leaf(0.5, 1.5, -1.0)
    names["kept"] = a.sum()
    with record(**options) as trace:
        for line in (*program, END):
            exec(line, names)
    return trace, a, b


def descend(steps, held=(), **options):
    """Gradient descent: 17 events a step."""
    w, x = leaf(0.5, -0.5, 0.25), torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    sizes = {}
    with record(**options) as trace:
        for step in range(1, steps + 1):
            loss = ((w * x).sum() - 1.0) ** 2
            loss.backward()
            with torch.no_grad():
                w -= 0.01 * w.grad
            w.grad = None
            if step in held:
                gc.collect()
                sizes[step] = tracemalloc.get_traced_memory()[0]
    return trace, w, sizes


def leaves(trace):
    """What the last frame knows of the two leaves."""
    frame = trace.frame(len(trace.events))
    named = {tensor.name: tensor for tensor in frame.tensors.values() if tensor.role == "leaf" and tensor.name}
    return {name: (t.value, t.grad, t.requires_grad, t.state) for name, t in named.items() if name in ("a", "b")}


@pytest.mark.slow
@settings(max_examples=30)  # all views are drawn of each
@given(st.lists(st.sampled_from(LINES), max_size=25), st.integers(1, 150), st.booleans())
def test_the_end_is_that_of_the_whole_recording(lines, last, inside):
    whole, a, b = run(lines)
    trace, *_ = run(lines, last=last, lines=inside)
    assert leaves(trace) == leaves(whole)
    ends = leaves(trace)
    for name, tensor in (("a", a), ("b", b)):
        assert ends[name][0].values == tuple(tensor.detach().numpy().ravel().tolist())
        assert ends[name][1].values == tuple(tensor.grad.numpy().ravel().tolist())
    again = Trace.from_dict(trace.to_dict())
    assert again.to_dict() == trace.to_dict()
    for view in ALONE:
        board = storyboard(trace, view)
        assert storyboard(again, view).to_dict() == board.to_dict()
        for step in range(len(board.steps)):
            board.at(step)


@given(st.lists(st.sampled_from(LINES), max_size=30), st.integers(1, 100))
def test_everything_has_one_id_in_order_of_arrival(lines, last):
    trace, *_ = run(lines, last=last)
    nodes = [event.node for event in of_kind(trace, "NodeCreated")]
    assert nodes == [f"n{number}" for number in range(1, len(nodes) + 1)]
    tensors = dict.fromkeys(seen.id for event in trace.events for seen in getattr(event, "tensors", ()))
    assert list(tensors) == [f"t{number}" for number in range(1, len(tensors) + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("last", [68, 100, 500, 1000])
def test_no_more_than_the_last_events_are_kept_and_no_less_than_half_of_them(last):
    for steps in (3, 10, 60, 151):
        whole, w, _ = descend(steps)
        trace, other, _ = descend(steps, last=last)
        count = len(trace.events)
        assert count <= last
        assert count >= min(len(whole.events), last // 2)
        assert other.tolist() == w.tolist()
        gone = len(whole.events) > last
        assert isinstance(trace.events[0], EventsLetGo) == gone
        if not gone:
            assert trace.to_dict() == whole.to_dict()


def test_what_is_kept_of_a_training_begins_with_a_whole_step():
    whole, *_ = descend(100)
    trace, *_ = descend(100, last=200)
    first, *rest = trace.events
    assert len(whole.events) - len(rest) == first.count
    assert kinds(trace)[1:] == kinds(whole)[first.count :]
    assert not any(event.found for event in of_kind(trace, "NodeCreated"))
    assert [event.source for event in rest if isinstance(event, NodeCreated)] == [
        event.source for event in whole.events[first.count :] if isinstance(event, NodeCreated)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("view", ALONE)
def test_the_first_step_says_how_many_events_were_let_go(view):
    trace, *_ = descend(100, last=200)
    gone = trace.events[0].count
    assert gone > 1000
    board = storyboard(trace, view)
    assert board.steps[0].caption.startswith(f"{gone:,} earlier events were dropped")
    assert "were dropped" not in "".join(step.caption for step in board.steps[1:])
    read = Trace.from_dict(trace.to_dict()).show(view).storyboard
    assert read.steps[0].caption == board.steps[0].caption


@pytest.mark.slow
def test_a_large_graph_says_it_too():
    w = torch.tensor(0.5, requires_grad=True)
    with record(last=2500) as trace:
        for _ in range(6):
            y = w
            for _ in range(70):
                y = (y * 1.01 + 0.1).sin()
            y.backward()
    told = trace.show(open=[]).storyboard.stops[0][2]  # of a part that is closed
    assert re.match(r"[\d,]+ earlier events were dropped\. Step 1 of \d\. .*: \d+ operations join", told)


@pytest.mark.scheduled
def test_the_memory_of_a_long_training_is_bounded():
    descend(20, last=300)  # what is made once, and stays
    gc.collect()  # empties the free lists: a tuple from there is one that nobody counts
    tracemalloc.start()
    try:
        _, _, sizes = descend(600, held=(60, 120, 600), last=300)
        _, _, whole = descend(240, held=(60, 240))
    finally:
        tracemalloc.stop()
    assert sizes[600] < 1.5 * max(sizes[60], sizes[120])
    assert whole[240] > 2 * whole[60]


def test_nothing_is_held_that_was_not_held_before():
    refs = []
    w = leaf(1.0, 2.0)
    with record(last=40) as trace:
        for _ in range(30):
            h = w * 2
            loss = (h * h).sum()
            refs += [weakref.ref(h), weakref.ref(loss)]
            loss.backward()
            del h, loss
            assert [ref for ref in refs if ref() is not None] == []
    assert len(trace.events) <= 40


def test_a_recording_goes_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        trace, *_ = descend(30, last=100)
        recorder = weakref.ref(trace._source)
        trace.events  # noqa: B018  (what reading keeps goes too)
        del trace
        assert recorder() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("last", [0, -3, "9", 9.0, True])
def test_what_is_no_number_of_events_is_refused(last):
    error, said = (ValueError, f"at least 1, but got {last}") if type(last) is int else (TypeError, type(last).__name__)
    with pytest.raises(error, match=rf"^record\(last=\.\.\.\) takes how many events to keep, .*{said}\.$"):
        record(last=last)
