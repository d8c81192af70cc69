"""A recording changes nothing of a PyTorch program, whatever it does; its trace is kept, shown, asked and stepped."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
from oracle import torch
from torch_programs import PROGRAMS

import workbench
from workbench.pictures.trace.backward_records import GradCaptured
from workbench.pictures.trace.forward_records import NodeCreated

VIEWS = ("graph", "flow", "saved", "memory", "versions", "function")


def run(name: str) -> tuple[Any, list[str]]:
    """What a program returns, or raises, and the first lines of its warnings: others tell where it was recorded."""
    torch.manual_seed(0)
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            returned = PROGRAMS[name]()
        except Exception as error:
            returned = type(error).__name__, str(error)
    return returned, [str(each.message).partition("\n")[0] for each in caught]


def parts(thing: Any) -> list[Any]:
    """A program's tensors, numbers and texts."""
    if isinstance(thing, dict):
        thing = [*thing.values()]
    return [each for part in thing for each in parts(part)] if isinstance(thing, list | tuple) else [thing]


def is_same(one: Any, other: Any) -> bool:
    """Bit by bit, nan equal to nan."""
    if isinstance(one, torch.Tensor):
        return one.shape == other.shape and torch.allclose(one, other, 0, 0, equal_nan=True)
    return one == other


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_not_notice_and_its_trace_is_sound_shown_and_asked(name: str) -> None:
    plain, warned = run(name)
    with workbench.record(torch) as trace:
        recorded, told = run(name)
    assert told == warned
    assert all(is_same(one, other) for one, other in zip(parts(plain), parts(recorded), strict=True))
    again = type(trace).from_dict(json.loads(trace.to_json()))
    assert len(again.events) == len(trace.events)
    for view in VIEWS if name != "deep_chain" else ():
        assert repr(trace.show(view))
    left = [each for each in parts(recorded) if isinstance(each, torch.Tensor)][:4]
    for each in left:
        assert workbench.why(each).sentences and workbench.why(left[0], each).sentences
        assert trace.why(each).sentences
    for called in {seen.name for event in trace.events for seen in getattr(event, "tensors", ()) if seen.name}:
        assert trace.why(called).sentences
    if isinstance(plain, dict) and "loss" in plain:
        with warnings.catch_warnings(action="ignore"):
            s = workbench.step(plain["loss"])
            while not s.done:
                s.step()
            assert repr(s)
            s.back(len(s.steps)).run()


def made(program: Any) -> tuple[Any, list[tuple[str, Any]]]:
    """The trace of a program, and the nodes that it made with the values that they gave."""
    with warnings.catch_warnings(action="error"):
        with workbench.record(torch) as trace:
            program()
    created = [event for event in trace.events if isinstance(event, NodeCreated)]
    return trace, [(event.name, event.tensors[-1].value) for event in created]


def test_the_graph_that_a_transform_makes_is_recorded_with_its_values_and_gradients() -> None:
    def cube(x: Any) -> Any:
        return (x * x * x).sum()

    x = torch.tensor([1.0, 2.0, 3.0])
    for program in (lambda: torch.func.grad(cube)(x), lambda: torch.func.vjp(cube, x)[1](torch.tensor(1.0))):
        trace, nodes = made(program)
        assert [name for name, _ in nodes[:3]] == ["MulBackward0", "MulBackward0", "SumBackward0"]
        assert [value.values for _, value in nodes[:3]] == [(1.0, 4.0, 9.0), (1.0, 8.0, 27.0), (36.0,)]
        assert [event.grad.values for event in trace.events if isinstance(event, GradCaptured)] == [(3.0, 12.0, 27.0)]
    trace, nodes = made(lambda: torch.func.vmap(torch.func.grad(cube))(torch.stack([x, x + 1])))
    assert (nodes[0][1].shape, nodes[0][1].batch) == ((2, 3), 1)
    assert nodes[0][1].values == (1.0, 4.0, 9.0, 4.0, 9.0, 16.0)
    assert trace.show("flow") and trace.show()


def test_what_a_transform_hides_is_said_in_the_picture_and_in_a_file() -> None:
    trace, _ = made(lambda: torch.func.vmap(lambda x: (x * 2).sum())(torch.ones(2, 3)))
    again = type(trace).from_dict(json.loads(trace.to_json()))
    for each in (trace, again):
        assert "2 operations run inside vmap, where the recording can't see them" in repr(each.show())


def test_an_error_of_the_recording_never_reaches_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.bridges.torch.recorder import TorchRecorder

    def broken(*args: Any, **kwargs: Any) -> Any:
        raise KeyError("mine")

    for name in ("_note_node", "_copies", "_name_of", "_place_of"):
        with monkeypatch.context() as patch:
            patch.setattr(TorchRecorder, name, broken)
            layer, x = torch.nn.Linear(2, 1), torch.ones(1, 2)
            with warnings.catch_warnings(action="error"):  # even where warnings are errors
                with workbench.record(torch):
                    layer(x).sum().backward()
        assert layer.weight.grad is not None
