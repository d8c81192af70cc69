"""Replaying: a trace's frames show the graph at every step, without the engine."""

from __future__ import annotations

import pytest
import trace_samples as samples
from trace_samples import Square, graph_of, kinds, leaf, of_kind

import workbench as torch
from workbench.pictures.recording import record


def test_steps_take_a_run_and_what_comes_of_it_together():
    trace = samples.square_line()
    ran = ["NodeFinished", "NodeFinished", "SavedFreed", "GradAccumulated", "SavedFreed", "GradAccumulated"]
    last = [kinds(trace)[stop - 1] for stop in trace.steps]
    assert last == [*["NodeCreated"] * 4, "BackwardStarted", *ran, "BackwardFinished"]


def test_what_a_backward_computes_belongs_to_the_node_that_runs():
    trace = samples.double_backward()
    stops = trace.steps
    first = ["NodeCreated", "BackwardStarted", "NodeFinished", "GradCaptured"]
    assert [kinds(trace)[stop - 1] for stop in stops[:4]] == first
    assert kinds(trace)[stops[1] : stops[2]].count("NodeCreated") == 3


def test_frames_show_what_waits_runs_and_is_done():
    trace = samples.square_line()
    seen = []
    for stop in trace.steps[4:]:
        frame = trace.frame(stop)
        seen.append([frame.place(id).state for id in ("n4", "n3", "n2", "n1", "t1", "t3")])
    waiting = {"i": "idle", "r": "ready", "x": "running", "d": "done"}
    told = "riiiii xriiii dxriii ddxrir dddrix dddxrd ddddxd dddddd"  # a word for each step, a letter for each place
    assert seen == [[waiting[letter] for letter in word] for word in told.split()]


def test_a_place_is_pending_until_every_use_has_delivered():
    with record() as trace:
        x = leaf(2.0)
        y = x * x
        z = y.exp() + y
        z.backward()
    states = [trace.frame(stop).nodes["n1"].state for stop in trace.steps[3:]]
    assert states == ["idle", "pending", "ready", "running", "done", "done"]


def test_a_second_backward_starts_afresh_and_adds_to_the_gradient():
    trace = samples.twice()
    starts = [stop for stop in trace.steps if kinds(trace)[stop - 1] == "BackwardStarted"]
    frame = trace.frame(starts[1])
    assert frame.tensors["t1"].grad.values == (4.0,) and frame.tensors["t1"].state == "idle"
    assert {edge.state for key, edge in frame.edges.items() if key != "n1.seed0"} == {"idle"}
    assert not frame.nodes["n1"].freed
    end = trace.frame(len(trace.events))
    assert end.tensors["t1"].grad.values == (8.0,) and end.nodes["n1"].freed


def test_only_what_was_asked_for_receives_a_gradient():
    trace = samples.one_target()
    frame = trace.frame(len(trace.events))
    by_name = {tensor.name: tensor for tensor in frame.tensors.values() if tensor.name}
    assert (by_name["a"].state, by_name["b"].state) == ("idle", "done")
    assert by_name["b"].received[0].nonfinite == 1
    assert by_name["b"].grad is None
    assert frame.nodes["n1"].state == "idle"


def test_a_cleared_gradient_and_a_written_leaf_are_seen():
    trace = samples.descent()
    created = [index for index, kind in enumerate(kinds(trace), 1) if kind == "NodeCreated"]
    frames = [trace.frame(stop) for stop in created]
    first, second = (frame.tensors["t1"] for frame in frames)
    assert (first.value.values, first.grad, frames[0].version("t1")) == ((3.0,), None, 0)
    assert (second.value.values, second.grad, frames[1].version("t1")) == ((1.5,), None, 1)
    end = trace.frame(len(trace.events)).tensors["t1"]
    assert (end.value.values, end.grad) == ((0.75,), None)


def test_a_write_moves_the_tensor_and_spoils_what_was_saved():
    trace = samples.written()
    write = kinds(trace).index("TensorWritten") + 1
    before, after = trace.frame(write - 1), trace.frame(write)
    (y,) = (tensor for tensor in after.tensors.values() if tensor.name == "y")
    assert (before.tensors[y.id].node, y.node, after.version(y.id)) == ("n1", "n3", 1)
    assert y.value.values == (3.0, 5.0)
    assert not before.stale("n2", 0) and after.stale("n2", 0)
    assert after.stale_holders(y.id) == ["n2"]


def test_a_failure_is_kept_with_its_words():
    trace = samples.written()
    assert kinds(trace)[-2:] == ["NodeStarted", "Failed"]
    failed = trace.events[-1]
    assert (failed.node, failed.error) == ("n2", "RuntimeError")
    assert failed.message.startswith("one of the variables needed for gradient computation has been modified")
    node = trace.frame(len(trace.events)).nodes["n2"]
    assert node.state == "error" and node.error == f"RuntimeError: {failed.message}"


def test_a_graph_from_before_is_found_at_backward_with_what_is_known_of_it():
    trace = samples.from_before()
    assert kinds(trace)[:6] == [*["NodeCreated"] * 3, "TensorsFound", "TensorsFound", "BackwardStarted"]
    assert all(event.found for event in of_kind(trace, "NodeCreated"))
    frame = trace.frame(trace.steps[0])
    assert {tensor.name for tensor in frame.tensors.values()} >= {"x", "h", "loss"}
    assert frame.tensors[frame.nodes["n3"].outputs[0][0]].name == "loss"


def test_a_tensors_graph_is_one_step():
    x = leaf(1.0, 2.0)
    loss = (Square.apply(x) * 3).sum()
    trace = graph_of(loss)
    assert trace.steps == [len(trace.events)]
    frame = trace.frame(trace.steps[0])
    assert [node.made.name for node in frame.nodes.values()] == ["SquareBackward", "MulBackward0", "SumBackward0"]
    assert frame.nodes["n1"].saved[0].values == (1.0, 2.0)


def test_a_leaf_and_a_constant_are_graphs_of_their_own():
    x, c = leaf(1.0, 2.0), torch.ones(2)
    roles = [graph_of(each).frame(2).tensors["t1"].role for each in (x, c)]
    assert roles == ["leaf", "constant"]


@pytest.mark.slow
def test_a_long_chain_needs_no_recursion():
    y = leaf(1.0)
    for _ in range(5000):
        y = y * 1.0
    trace = graph_of(y)
    assert len(trace.frame(len(trace.events)).nodes) == 5000
    with record() as backward:
        y.backward()
    assert backward.frame(len(backward.events)).tensors["t1"].grad.values == (1.0,)


def test_frames_outside_the_trace_are_refused():
    trace = samples.twice()
    with pytest.raises(IndexError, match=r"There is no frame 99: the trace has the frames 0 to \d+\."):
        trace.frame(99)
    with pytest.raises(IndexError):
        trace.frame(-1)
    assert trace.frame(0).nodes == {}
