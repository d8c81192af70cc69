"""Recording: what the engine said is kept as facts, and nothing of the engine with them."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import pytest
import trace_samples as samples
from trace_samples import Square, kinds, leaf, of_kind

import workbench as torch
from workbench import events
from workbench.pictures.recording import record


def test_the_events_of_a_program_in_order():
    run, into_leaf = ["NodeStarted", "NodeFinished"], ["NodeStarted", "GradAccumulated"]
    runs = [*run * 3, "SavedFreed", *into_leaf, *run, "SavedFreed", *into_leaf]  # sum, add, mul, w, Square, x
    assert kinds(samples.square_line()) == [*["NodeCreated"] * 4, "BackwardStarted", *runs, "BackwardFinished"]


OPERATIONS = {
    "MaxPool2DWithIndicesBackward0": "max_pool2d_with_indices",
    "UpsampleNearest2DBackward0": "upsample_nearest2d",
    "Log1PBackward0": "log1p",
    "SmoothL1LossBackward0": "smooth_l1_loss",
    "Log2Backward0": "log2",
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_with_a_number_in_its_name(name):
    node = of_kind(samples.square_line(), "NodeCreated")[0]
    assert replace(node, name=name, custom=False).operation == OPERATIONS[name]


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
            - 1
        )  # fmt: skip
        y.backward()
    created, backward = of_kind(trace, "NodeCreated")[0].source, of_kind(trace, "BackwardStarted")[0].source
    assert (created.file, created.text) == ("test_trace.py", "x * x")
    assert (backward.file, backward.text) == ("test_trace.py", "y.backward()")
    assert backward.line == created.line + 3


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


def test_a_tensor_is_told_of_once_and_again_only_where_it_changed():
    with record() as trace:
        x = leaf(1.0, 2.0)
        y = x * 2
        z = y * x
        z.sum().backward()
        x * 3
        x.grad = None
        x * 4
        x.requires_grad_(False)
        x * y.detach()
        y * x
    told = [[seen.name or seen.id for seen in event.tensors] for event in of_kind(trace, "NodeCreated")]
    assert told == [["x", "y"], ["z"], ["t4"], ["x", "t5"], ["x", "t6"], ["x", "t7"]]


def test_parameters_that_only_the_call_of_their_module_tells_of_are_no_end_of_a_way():
    teacher, student, x = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1), torch.ones(3, 2)
    with record() as trace:
        with torch.no_grad():
            target = teacher(x)
        (student(x) - target).sum()
    frame = trace.frame(len(trace.events))
    assert [each.name for each in frame.tensors.values() if each.held] == ["teacher.weight", "teacher.bias"]
    assert not [edge for edge in frame.edges.values() if edge.kind == "cut"]
    with record() as trace:
        with torch.no_grad():
            teacher(x)
        (student(x) * teacher.weight.detach()).sum()
    (cut,) = [edge for edge in trace.frame(len(trace.events)).edges.values() if edge.kind == "cut"]
    assert trace.frame(len(trace.events)).tensors[cut.source].name == "teacher.weight"
