"""Whatever a PyTorch program does, a recording changes nothing of it, and its trace is sound."""

from __future__ import annotations

import json
import warnings
from typing import Any

import absent
import pytest
from oracle import torch

import workbench

if torch is None:
    pytest.skip(absent.TORCH, allow_module_level=True)

from torch_hard import HARD  # noqa: E402


def shown(program: Any) -> Any:
    """What a program returns, or raises."""
    torch.manual_seed(0)
    try:
        return program()
    except Exception as error:
        return type(error).__name__, str(error)


def are_same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple | list):
        return all(are_same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    return one == other


@pytest.mark.parametrize("name", HARD)
def test_a_hard_program_does_not_notice_and_its_trace_is_sound(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = shown(HARD[name])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with workbench.record(torch) as trace:
            recorded = shown(HARD[name])
    assert are_same(plain, recorded)
    assert [str(each.message) for each in caught if "The recording lost" in str(each.message)] == []
    again = type(trace).from_dict(json.loads(trace.to_json()))
    assert len(again.events) == len(trace.events)


def test_what_a_transform_hides_is_said() -> None:
    with workbench.record(torch) as trace:
        torch.func.grad(lambda x: (x**3).sum())(torch.ones(3))
    assert "operations inside of function transforms (torch.func) could not be seen" in repr(trace)


def test_an_error_of_the_recording_never_reaches_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.bridges.torch.recorder import TorchRecorder

    def broken(*args: Any, **kwargs: Any) -> Any:
        raise KeyError("mine")

    for name in ("_note_node", "_copies", "_name_of", "_place_of"):
        with monkeypatch.context() as patch:
            patch.setattr(TorchRecorder, name, broken)
            layer, x = torch.nn.Linear(2, 1), torch.ones(1, 2)
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # even where warnings are errors
                with workbench.record(torch):
                    layer(x).sum().backward()
        assert layer.weight.grad is not None
