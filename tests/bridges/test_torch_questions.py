"""What people ask about in forums: recorded it computes the same bits, every view draws it, and it can be stepped."""

from __future__ import annotations

import warnings
from typing import Any

import absent
import pytest
from oracle import torch

import workbench

if torch is None:
    pytest.skip(absent.TORCH, allow_module_level=True)

from torch_questions import QUESTIONS  # noqa: E402


def are_same(one: Any, other: Any) -> bool:
    """Bit by bit, nan equal to nan."""
    if isinstance(one, torch.Tensor):
        return one.shape == other.shape and torch.allclose(one, other, 0, 0, equal_nan=True)
    if isinstance(one, tuple | list):
        return all(are_same(a, b) for a, b in zip(one, other, strict=True))
    return one == other


def first_lines(caught: list[Any]) -> list[str]:
    """Without the lines of code that led there, of which some are the recording's."""
    return [str(each.message).partition("\n")[0] for each in caught]


def run(name: str) -> dict[str, Any]:
    torch.manual_seed(0)
    return QUESTIONS[name]()


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_is_recorded_shown_in_every_view_and_stepped(name: str) -> None:
    with warnings.catch_warnings(record=True) as before:
        warnings.simplefilter("always")
        plain = run(name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with workbench.record(torch) as trace:
            recorded = run(name)
    assert first_lines(caught) == first_lines(before)
    assert are_same([*plain.values()], [*recorded.values()])
    for view in ("graph", "flow", "saved", "memory", "versions", "function"):
        assert repr(trace.show(view))
    if "loss" in plain:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            s = workbench.step(plain["loss"])
            while not s.done:
                s.step()
            assert repr(s)
            s.back(len(s.steps)).run()
