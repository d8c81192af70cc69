"""What PyTorch warns of while it is recorded is told at the line at which it is told without a recording."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest
from oracle import torch

import workbench


def warned(engine: Any) -> None:
    x = engine.ones(2, requires_grad=True)
    (x * 2).grad  # noqa: B018
    engine.nn.functional.mse_loss(engine.ones(2, 1), engine.ones(2))
    engine.tensor(engine.ones(2))
    for _ in range(3):
        engine.nn.functional.softmax(engine.ones(2, 2))
    engine.nn.functional.softmax(engine.ones(2, 2))


def told(engine: Any, action: str, how: Any = None) -> list[tuple[str, int, str]]:
    globals().pop("__warningregistry__", None)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(action)  # type: ignore[arg-type]
        if how is None:
            warned(engine)
        else:
            with how:
                warned(engine)
    return [(each.filename, each.lineno, str(each.message)) for each in found]


@pytest.mark.parametrize("action", ["always", "default"])
def test_a_warning_has_the_line_of_the_program(action: str) -> None:
    plain = told(torch, action)
    assert {file for file, _, _ in plain} == {__file__}
    assert len(plain) == (7 if action == "always" else 5)
    first = inspect.getsourcelines(warned)[1]
    assert sorted({line - first for _, line, _ in plain}) == [2, 3, 4, 6, 7]
    before = vars(warnings)["_showwarnmsg"]
    assert told(torch, action, workbench.record(torch)) == plain
    assert vars(warnings)["_showwarnmsg"] is before
    own = [(file, line) for file, line, _ in plain]
    for how in (None, workbench.record(), workbench.record(lines=True)):
        assert [(file, line) for file, line, _ in told(workbench, action, how)] == own


def test_a_warning_that_is_an_error_is_one_and_others_keep_their_place() -> None:
    with warnings.catch_warnings(), workbench.record(torch), pytest.raises(UserWarning, match="target size"):
        warnings.simplefilter("error")
        torch.nn.functional.mse_loss(torch.ones(2, 1), torch.ones(2))
    with warnings.catch_warnings(record=True) as found, workbench.record(torch):
        warnings.simplefilter("always")
        with workbench.record(torch):
            warnings.warn_explicit("mine", UserWarning, "their.py", 7)
    assert [(each.filename, each.lineno) for each in found] == [("their.py", 7)]


def test_a_recording_makes_no_warning_of_its_own() -> None:
    with warnings.catch_warnings(), workbench.record(torch) as trace:
        warnings.simplefilter("error")
        x = torch.ones(2, requires_grad=True)
        y = x * x
        y.grad = None
        loss = y.sum()
        with torch.inference_mode():
            loss.backward()
    sent = [event.node for event in trace.events if type(event).__name__ == "NodeFinished"]
    assert len(sent) == len({*sent}) == 2
