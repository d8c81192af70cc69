"""Traces: what the engine said is kept as facts, replays without it, and goes to JSON and back."""

from __future__ import annotations

import gc
import json
import sys
import weakref
from pathlib import Path

import pytest
import trace_samples as samples
from trace_samples import Square, leaf

import workbench as torch
from workbench import events
from workbench.recording import Trace, load, record
from workbench.trace import timeline
from workbench.trace.recorder import Recorder


def kinds(trace):
    return [type(event).__name__ for event in trace.events]


def of_kind(trace, kind):
    return [event for event in trace.events if type(event).__name__ == kind]


def graph_of(tensor):
    """The trace of a tensor's graph, as show() makes it."""
    recorder = Recorder()
    recorder.show(tensor, sys._getframe(1))
    return Trace(recorder)


# What is kept.


def test_the_events_of_a_program_in_order():
    run = ["NodeStarted", "NodeFinished"]
    leaf_run = ["NodeStarted", "GradAccumulated"]
    assert kinds(samples.square_line()) == [
        *["NodeCreated"] * 4,
        "BackwardStarted",
        *run,  # sum
        *run,  # add
        *run,  # mul
        "SavedFreed",
        *leaf_run,  # w
        *run,  # Square
        "SavedFreed",
        *leaf_run,  # x
        "BackwardFinished",
    ]


def test_a_node_is_kept_with_its_edges_arguments_saved_tensors_and_code():
    square, mul, add, _ = of_kind(samples.square_line(), "NodeCreated")
    assert (square.node, square.name, square.custom, square.operation) == ("n1", "SquareBackward", True, "Square")
    assert [(edge.target, edge.output_nr) for edge in square.edges] == [("t1", 0)]
    assert [(saved.tensor, saved.version) for saved in square.saved] == [("t1", 0)]
    assert [code.name for code in square.code] == ["forward", "backward"]
    assert "ctx.save_for_backward(x)" in square.code[0].text
    assert square.code[1].text.endswith("return 2 * x * grad_output")
    assert (mul.custom, mul.operation) == (False, "mul")
    assert [edge.target for edge in mul.edges] == ["n1", "t3"]
    assert {saved.name: saved.tensor for saved in mul.saved} == {"self": "t2", "other": "t3"}
    assert [code.name for code in mul.code] == ["forward", "backward"]
    assert [edge.target for edge in add.edges] == ["n2", None] and add.saved == ()


def test_tensors_are_named_after_the_variables_that_hold_them():
    trace = samples.square_line()
    tensors = trace.frame(len(trace.events)).tensors
    assert [tensor.name for tensor in tensors.values()] == ["x", "y", "w", None, "b", "z", "loss"]
    assert tensors["t2"].value.values == (1.0, 4.0, 9.0)
    assert tensors["t1"].requires_grad and not tensors["t5"].requires_grad


def test_a_tensor_keeps_the_name_it_had_when_backward_began():
    with record() as trace:
        x = leaf(2.0)
        first = x * x
        first.backward()
        renamed = first  # noqa: F841
        del first
    (created,) = of_kind(trace, "NodeCreated")
    assert [tensor.name for tensor in created.tensors] == ["x", "first"]


def test_the_line_of_user_code_is_kept():
    with record() as trace:
        x = leaf(2.0)
        y = (
            x * x
        )
        y.backward()
    created, backward = of_kind(trace, "NodeCreated")[0].source, of_kind(trace, "BackwardStarted")[0].source
    assert (created.file, created.text) == ("test_trace.py", "x * x")
    assert (backward.file, backward.text) == ("test_trace.py", "y.backward()")
    assert backward.line == created.line + 2


def test_a_notebook_cell_is_called_cell():
    source = compile("y = x * x\n", "/tmp/ipykernel_4242/1234567890.py", "exec")
    with record() as trace:
        exec(source, {"x": leaf(2.0)})
    (created,) = of_kind(trace, "NodeCreated")
    assert (created.source.file, created.source.line) == ("cell", 1)


def test_arrays_over_the_limit_are_summed_up_at_once():
    with record(limit=4) as trace:
        x = torch.arange(10.0, dtype=torch.float64).requires_grad_()
        (x * x).sum().backward()
    x_seen = of_kind(trace, "NodeCreated")[0].tensors[0]
    assert x_seen.value.values is None
    assert (x_seen.value.shape, x_seen.value.min, x_seen.value.max, x_seen.value.mean) == ((10,), 0.0, 9.0, 4.5)
    assert x_seen.value.norm == pytest.approx(285**0.5)
    assert x_seen.value.text() == "from 0 to 9, mean 4.5"


def test_a_copy_is_kept_not_the_array():
    with record() as trace:
        x = leaf(1.0, 2.0)
        x * x
        x._array[0] = 99.0
    assert of_kind(trace, "NodeCreated")[0].tensors[0].value.values == (1.0, 2.0)


def test_nothing_of_the_engine_is_kept_alive():
    with record() as trace:
        x = leaf(1.0, 2.0)
        y = Square.apply(x)
        gone = [weakref.ref(x), weakref.ref(y)]
        y.sum().backward()
        del x, y
        gc.collect()
        assert [each() for each in gone] == [None, None]
    assert "GradAccumulated" in kinds(trace)


def test_the_users_own_locals_are_left_alone():
    x = leaf(2.0)
    y = x * x
    mine = locals()
    with record():
        y.backward()
    assert mine["x"] is x and mine["y"] is y


# Recording.


def test_a_recording_begins_and_ends_with_its_block():
    x = leaf(2.0)
    before = x * x
    with record() as trace:
        inside = before * x
    inside * x
    assert events.listeners == []
    assert [event.found for event in of_kind(trace, "NodeCreated")] == [True, False]


def test_recordings_nest():
    with record() as outer:
        x = leaf(2.0)
        y = x * x
        with record() as inner:
            z = y * x
        z * z
    assert events.listeners == []
    assert len(of_kind(outer, "NodeCreated")) == 3
    assert [event.found for event in of_kind(inner, "NodeCreated")] == [True, False]


def test_an_error_in_the_block_passes_and_the_trace_is_usable():
    with pytest.raises(ZeroDivisionError), record() as trace:
        x = leaf(2.0)
        y = x * x  # noqa: F841
        1 / 0  # noqa: B018
    assert events.listeners == []
    (created,) = of_kind(trace, "NodeCreated")
    assert created.tensors[1].name == "y"


def test_an_abandoned_recording_stops_listening():
    recording = record()
    recording.__enter__()
    assert len(events.listeners) == 1
    del recording
    gc.collect()
    assert events.listeners == []


def test_a_task_that_began_unheard_is_left_out():
    x = leaf(2.0)
    y = x * x
    y.backward(retain_graph=True)
    with record() as trace:
        for kind in ("run", "ran"):
            events.emit((kind, _Task(), y.grad_fn, [None]))
        events.emit(("finished", _Task()))
    assert kinds(trace) == []


class _Task:
    """Something that can carry a tag."""


# Replaying.


def test_steps_take_a_run_and_what_comes_of_it_together():
    trace = samples.square_line()
    last = [kinds(trace)[stop - 1] for stop in trace.steps]
    assert last == [
        *["NodeCreated"] * 4,
        "BackwardStarted",
        "NodeFinished",
        "NodeFinished",
        "SavedFreed",
        "GradAccumulated",
        "SavedFreed",
        "GradAccumulated",
        "BackwardFinished",
    ]


def test_what_a_backward_computes_belongs_to_the_node_that_runs():
    trace = samples.double_backward()
    stops = trace.steps
    assert [kinds(trace)[stop - 1] for stop in stops[:4]] == [
        "NodeCreated",
        "BackwardStarted",
        "NodeFinished",
        "GradCaptured",
    ]
    assert kinds(trace)[stops[1] : stops[2]].count("NodeCreated") == 3


def test_frames_show_what_waits_runs_and_is_done():
    trace = samples.square_line()
    seen = []
    for stop in trace.steps[4:]:
        frame = trace.frame(stop)
        seen.append([frame.place(id).state for id in ("n4", "n3", "n2", "n1", "t1", "t3")])
    assert seen == [
        ["ready", "idle", "idle", "idle", "idle", "idle"],
        ["running", "ready", "idle", "idle", "idle", "idle"],
        ["done", "running", "ready", "idle", "idle", "idle"],
        ["done", "done", "running", "ready", "idle", "ready"],
        ["done", "done", "done", "ready", "idle", "running"],
        ["done", "done", "done", "running", "ready", "done"],
        ["done", "done", "done", "done", "running", "done"],
        ["done", "done", "done", "done", "done", "done"],
    ]


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
    first, second = (trace.frame(stop).tensors["t1"] for stop in created)
    assert (first.value.values, first.grad, first.version) == ((3.0,), None, 0)
    assert (second.value.values, second.grad, second.version) == ((1.5,), None, 1)
    end = trace.frame(len(trace.events)).tensors["t1"]
    assert (end.value.values, end.grad.values) == ((0.75,), (3.0,))


def test_a_write_moves_the_tensor_and_spoils_what_was_saved():
    trace = samples.written()
    write = kinds(trace).index("TensorWritten") + 1
    before, after = trace.frame(write - 1), trace.frame(write)
    (y,) = (tensor for tensor in after.tensors.values() if tensor.name == "y")
    assert (before.tensors[y.id].node, y.node, y.version) == ("n1", "n3", 1)
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
    assert kinds(trace)[:5] == [*["NodeCreated"] * 3, "TensorsFound", "BackwardStarted"]
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


# JSON.


@pytest.mark.parametrize("program", samples.PROGRAMS, ids=lambda program: program.__name__)
def test_a_trace_goes_to_json_and_back(program, tmp_path):
    trace = program()
    trace.save(tmp_path / "trace.json")
    again = load(tmp_path / "trace.json")
    assert again.to_dict() == trace.to_dict() == json.loads((tmp_path / "trace.json").read_text())
    assert again.steps == trace.steps
    frames = [each.frame(len(each.events)) for each in (trace, again)]
    assert frames[0].touched == frames[1].touched
    assert {id: node.state for id, node in frames[0].nodes.items()} == {
        id: node.state for id, node in frames[1].nodes.items()
    }


def test_values_that_are_not_finite_are_words_in_json(tmp_path):
    trace = samples.one_target()
    trace.save(tmp_path / "trace.json")
    text = (tmp_path / "trace.json").read_text()
    assert '"-inf"' in text and "Infinity" not in text and "NaN" not in text
    log = of_kind(Trace.load(tmp_path / "trace.json"), "NodeCreated")[0]
    assert log.tensors[1].value.values == (float("-inf"), 0.0)


def _broken(change):
    data = json.loads(json.dumps(samples.twice().to_dict()))
    change(data)
    return data


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: d.update(format="else"), "This is no trace: its format is not 'workbench-trace'."),
        (lambda d: d.update(version=2), "This trace is of version 2; this workbench reads version 1."),
        (lambda d: d.pop("version"), "This trace is of version None; this workbench reads version 1."),
        (lambda d: d.pop("events"), "This trace has no list of events."),
        (lambda d: d["events"].insert(0, 3), "Event 1 of this trace is no object with a kind."),
        (lambda d: d["events"][1].update(kind="X"), "Event 2 of this trace is of the unknown kind 'X'."),
        (lambda d: d["events"][1].update(task=3), "Event 2 of this trace has a wrong BackwardStarted.task."),
        (
            lambda d: d["events"][1].pop("task"),
            "Event 2 of this trace has a BackwardStarted without 'task'.",
        ),
        (
            lambda d: d["events"][1].update(more=1),
            "Event 2 of this trace has a BackwardStarted with an unknown 'more'.",
        ),
        (
            lambda d: d["events"][0]["tensors"][0]["value"].update(norm="high"),
            "Event 1 of this trace has a wrong NodeCreated.tensors[0].value.norm.",
        ),
        (
            lambda d: d["events"][0]["tensors"][0]["value"].update(values=[1.0, 2.0]),
            "Event 1 of this trace has 2 numbers for the shape ().",
        ),
        (lambda d: d["events"][2].update(node="n9"), "Event 3 of this trace speaks of an unknown 'n9'."),
        (lambda d: d["events"].pop(0), "Event 1 of this trace speaks of an unknown 'n1'."),
    ],
)
def test_a_wrong_trace_is_refused_with_one_sentence(change, sentence):
    with pytest.raises(ValueError) as refusal:
        Trace.from_dict(_broken(change))
    assert str(refusal.value) == sentence


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", '"trace"', "[" * 100_000])
def test_a_file_that_holds_no_trace_is_refused(text, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="is not a whole JSON file|This is no trace") as refusal:
        load(path)
    assert "\n" not in str(refusal.value)


def test_a_truncated_trace_is_refused(tmp_path):
    path = tmp_path / "trace.json"
    samples.twice().save(path)
    path.write_text(path.read_text()[:-200])
    with pytest.raises(ValueError, match="trace.json is not a whole JSON file"):
        load(path)


# The house.


def test_the_trace_needs_no_engine():
    imported = {
        line
        for path in Path(timeline.__file__).parent.glob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.lstrip().startswith(("from ..", "import workbench", "from workbench"))
    }
    assert imported == {"from ..events import Event, tag"}
