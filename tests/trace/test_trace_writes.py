"""What a trace knows of writes in place: what their nodes keep of them, and the node that a view's base gets."""

from __future__ import annotations

from typing import Any

import pytest
from functions import function
from oracle import compare
from trace_samples import leaf, of_kind

import workbench
from workbench.events import listeners
from workbench.pictures.recording import Trace, record
from workbench.pictures.views import storyboard

KEEPING = ("relu_", "exp_", "sigmoid_", "tanh_", "sqrt_", "reciprocal_", "expm1_", "rsqrt_", "tan_")


def kept(torch: Any, name: str) -> Any:
    """The version at which a write in place has saved what it wrote, and what is said once that is out of date."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    getattr(y, name)()
    version = y.grad_fn._saved_result._version
    y.add_(1)
    y.sum().backward()  # raises
    return version


def kept_in_time(torch: Any, name: str) -> Any:
    """The same, nothing having been written since."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    getattr(y, name)()
    version = y.grad_fn._saved_result._version
    y.sum().backward()
    return version, x.grad


def through_a_view(torch: Any) -> Any:
    """The same through a view: the node of the write is run by its base's."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y[:1].exp_()
    y.mul_(2)
    y.sum().backward()


def inplace_module(torch: Any) -> Any:
    """The same by a module."""
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    y = torch.nn.ReLU(inplace=True)(x * 2)
    y += 1
    y.sum().backward()


def heard(program, *args):
    """A program's trace, and the error that ended it."""
    with record() as trace:
        try:
            program(workbench, *args)
        except RuntimeError as raised:
            error = raised
        else:
            error = None
    return trace, error


def marks(trace: Trace) -> dict[str, list[str]]:
    """What is written on the marks of each storage."""
    found: dict[str, list[str]] = {}
    boxes = storyboard(trace, "versions").scene.boxes
    for id, box in boxes.items():
        if box.kind == "event":
            found.setdefault(boxes[f"{id.rpartition('.')[0]}.name"].title, []).append(box.title)
    return found


def made(trace, name):
    return next(event for event in of_kind(trace, "NodeCreated") if event.name == name)


@pytest.mark.parametrize("name", KEEPING)
def test_what_a_write_keeps_of_itself_is_what_it_wrote(name):
    compare(kept, name)
    compare(kept_in_time, name)
    trace, error = heard(kept, name)
    frame = trace.frame(len(trace.events))
    node = next(each for each in frame.nodes.values() if any(saved.name == "result" for saved in each.made.saved))
    (saved,) = [saved for saved in node.made.saved if saved.name == "result"]
    assert (frame.variable(saved.tensor), saved.version) == ("y", 1)
    assert node.saved[node.made.saved.index(saved)] == of_kind(trace, "TensorWritten")[0].value
    assert marks(trace)["y"] == ["write 1", "save 1", "write 2", "read 1 ×"]
    (arrow,) = storyboard(trace, "versions").scene.arrows.values()
    assert storyboard(trace, "versions").scene.boxes[arrow.source].title == "write 2"
    said = " ".join(str(error.explain()).split())
    assert f"{node.made.name} saved `y` at version 1 (test_trace_writes.py, line " in said
    assert "`add_` wrote into `y`: version 2 (test_trace_writes.py, line " in said
    assert "saved result (y) (out of date)" in said
    in_time, error = heard(kept_in_time, name)
    assert error is None and marks(in_time)["y"] == ["write 1", "save 1", "read 1"]


def test_a_module_that_works_in_place_is_told_so_too():
    compare(inplace_module)
    trace, error = heard(inplace_module)
    assert marks(trace) == {"y": ["write 1", "save 1", "write 2", "read 1 ×"]}
    assert "`add_` wrote into `y`: version 2" in str(error.explain())


def test_the_steps_say_it_in_order():
    trace, _ = heard(kept, "relu_")
    told = [step.caption for step in storyboard(trace, "versions").steps]
    assert told[:3] == [
        "relu_ writes into y: now version 1.",
        "ReluBackward0 saves y at version 1.",
        "add_ writes into y: now version 2, but ReluBackward0 saved it before that.",
    ]
    assert told[3].startswith("ReluBackward0 needs y as it was at version 1, but add_ (line ")
    graph = [step.caption for step in storyboard(trace).steps]
    assert graph[1] == "`getattr(y, name)()` (ReluBackward0) gives [2. 4.]; it saves `y` for backward."
    chip = next(box for box in storyboard(trace).at(1).boxes.values() if box.title == "saved result (y)")
    notes = [detail.body for detail in chip.details if detail.heading == "Status"]
    assert (chip.state, chip.lines) == ("idle", ("(2,)  [2. 4.]",))
    assert notes == ["Saved at version 1 for ReluBackward0."]


def test_what_it_keeps_is_not_joined_to_what_it_was_before():
    trace, _ = heard(kept_in_time, "relu_")
    assert not [arrow for arrow in storyboard(trace).scene.arrows.values() if arrow.kind == "same"]


def test_through_a_view_it_is_kept_of_the_base_and_read_by_the_bases_node():
    compare(through_a_view)
    trace, error = heard(through_a_view)
    assert marks(trace) == {"y": ["write 1", "save 1", "write 2", "read 1 ×"]}
    last = storyboard(trace, "versions").steps[-1].caption
    assert last.startswith("ExpBackward0, which CopySlices runs, needs y as it was at version 1, but mul_")
    said = " ".join(str(error.explain()).split())
    assert "CopySlices saved `result` at version 1 (test_trace_writes.py, line " in said
    assert "`mul_` wrote into `y`: version 2 (test_trace_writes.py, line " in said


def test_a_tensor_from_before_the_recording_is_told_as_it_was():
    y = leaf(1.0, 2.0) * 2
    with record() as trace:
        y.exp_()
        y.add_(1)
        with pytest.raises(RuntimeError):
            y.sum().backward()
    assert marks(trace) == {"y": ["write 1", "save 1", "write 2", "read 1 ×"]}
    assert storyboard(trace).steps[0].caption.startswith("`y.exp_()` (ExpBackward0) gives [7.389 54.6]; it saves")


def test_who_reads_before_the_write_is_over_reads_the_truth_afterwards():
    early = []
    with record() as trace:
        listeners.append(lambda event: early.append(len(trace.events)))
        try:
            y = leaf(1.0, 2.0) * 2
            y.exp_()
        finally:
            listeners.pop()
    assert early and made(trace, "ExpBackward0").saved[0].version == 1


def test_a_write_through_a_view_says_where_its_base_comes_from_now():
    with record() as trace:
        w = leaf(1.0, 2.0, 3.0, 4.0)
        x = w * 1
        v = x.view(2, 2)
        v[0] = v[0] * 3
    board = storyboard(trace)
    assert board.steps[-1].caption == (
        "copy_ writes into the result of `select`: now [3. 6.], version 1; `x` now comes from CopySlices."
    )
    assert board.scene.boxes[board.steps[-1].focus].title == "CopySlices"
    slices = made(trace, "CopySlices")
    assert slices.runs == made(trace, "CopyBackwards").node
    assert slices.source.text == "v[0] = v[0] * 3" and x.grad_fn.name() == f"torch::autograd::{slices.name}"


def doubled(ctx, t):
    """Double in place."""
    ctx.mark_dirty(t)
    return t.mul_(2)


Doubled = function(workbench, doubled, lambda ctx, grad: grad * 2, name="Doubled")


def test_an_unnamed_view_whose_node_is_not_known_is_called_a_view():
    with record() as trace:
        x = leaf(1.0, 2.0)
        z = x * 1
        Doubled.apply(z[:1])
    told = [step.caption for step in storyboard(trace).steps]
    assert told[-2].startswith("Doubled.apply(a view of z) gives ")
    assert told[-1] == "Doubled writes into a view of `z`: now [2.], version 2; `z` now comes from CopySlices."


def test_an_unnamed_leaf_is_called_one_although_it_was_detached():
    with record() as trace:
        x = leaf(1.0, 2.0)
        y = x.detach().requires_grad_() * 2
    assert y.requires_grad
    assert storyboard(trace).steps[0].caption.startswith("`y = x….requires_grad_() * 2` (MulBackward0) gives ")


def test_a_second_write_without_a_record_tells_of_no_new_node():
    with record() as trace:
        y = leaf(1.0, 2.0) * 2
        v = y[:1]
        v.mul_(3)
        with workbench.no_grad():
            v.mul_(3)
    first, second = of_kind(trace, "TensorWritten")
    assert first.slices is not None and second.slices is None
    assert y.grad_fn.name() == "torch::autograd::CopySlices"


def test_what_is_run_by_another_node_is_freed_with_it():
    with record() as trace:
        x = leaf(1.0, 2.0, 3.0)
        y = x * 1
        v = y[1:]
        v.mul_(2)
        y.sum().backward()
    frame = trace.frame(len(trace.events))
    slices = made(trace, "CopySlices")
    assert frame.nodes[slices.node].freed and frame.nodes[slices.runs].freed
    board = storyboard(trace)
    chips = [box for box in board.at(len(board.steps) - 1).boxes.values() if box.title == "saved other"]
    assert len(chips) == 3 and {box.state for box in chips} == {"freed"}
    notes = {detail.body for box in chips for detail in box.details if detail.heading == "Status"}
    ran = {note.removeprefix("Freed after ").split(" ran.")[0] for note in notes}
    assert ran == {"MulBackward0", "CopySlices"}
    assert x.grad.tolist() == [1, 2, 2]


@pytest.mark.parametrize("end", ["", "v.grad_fn", "del v", "v.mul_(3)", "w = v * v; (w * y[0]).sum().backward()"])
@pytest.mark.parametrize("write", ["v.exp_()", "v.sigmoid_()", "v.mul_(v)"])
def test_whose_output_a_view_is_said_to_be(write, end):
    """Its own history is named, as long as the view still has the one that the write gave it."""

    def program(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x * 2
        names = {"y": y, "v": y[:2]}
        exec(f"{write}\ny.mul_(2)\n{end}", names)
        del y
        names.pop("y").sum().backward()

    compare(program)
