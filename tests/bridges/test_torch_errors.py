"""Errors of PyTorch's backward, explained: recorded, and from the error alone."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from autograd_errors import CASES as ERRORS
from autograd_errors import HOOKS
from oracle import torch

import workbench
from workbench.pictures.trace.advised import OTHER


def caught(program: Callable[[], Any]) -> BaseException:
    with pytest.raises(Exception) as found, warnings.catch_warnings():  # noqa: PT011
        warnings.simplefilter("ignore")
        program()
    return found.value


def both(program: Callable[[], Any]) -> tuple[str, str]:
    """The pictures in words: of the error alone, and of one that was recorded."""

    def recorded() -> None:
        with workbench.record(torch):
            program()

    plain, known = caught(program), caught(recorded)
    assert type(plain) is type(known) and str(plain) == str(known)
    told = repr(workbench.explain(plain)), repr(workbench.explain(known))
    return " ".join(told[0].split()), " ".join(told[1].split())


def failed_at(told: str, node: str) -> bool:
    """Whether the picture marks a node of this name."""
    return any("failed here)" in part and node in part for part in re.split("[├└]", told))


def written_over() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = y * y
    y.add_(1)
    z.sum().backward()


def test_a_write_over_what_was_saved_names_the_node_and_where_recorded_both_lines() -> None:
    alone, recorded = both(written_over)
    for told in (alone, recorded):
        assert failed_at(told, "MulBackward0") and "saved other (y) (out of date)" in told
        assert "What to do: Create a new tensor" in told
    assert "MulBackward0 saved `y` at version 0 (test_torch_errors.py, line" in recorded
    assert "`add_` wrote into `y`: version 1 (test_torch_errors.py, line" in recorded
    assert "y.add_(1)" in recorded and "z = y * y" in recorded


def twice(engine: Any) -> None:
    x = engine.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    loss.backward()


def test_a_second_backward_names_the_node_that_is_freed() -> None:
    for told in (*both(lambda: twice(torch)), repr(workbench.explain(caught(lambda: twice(workbench))))):
        assert failed_at(told, "MulBackward0") and "retain_graph=True" in told


def test_an_error_of_the_users_own_backward_is_told_with_its_line() -> None:
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("not today")

    def program() -> None:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        Bad.apply(x.exp()).sum().backward()

    for told in both(program):
        assert failed_at(told, "BadBackward")
        assert 'raise ValueError("not today")' in told


def test_the_first_nan_is_told_with_the_line_that_made_its_node() -> None:
    def program() -> None:
        x = torch.zeros(2, requires_grad=True)
        with torch.autograd.set_detect_anomaly(True):
            y = torch.sqrt(x * 0)
            (y * 0).sum().backward()

    alone, recorded = both(program)
    for told in (alone, recorded):
        assert failed_at(told, "SqrtBackward0")
    assert "SqrtBackward0 was created (test_torch_errors.py, line" in recorded
    assert "y = torch.sqrt(x * 0)" in recorded


REFUSED = {
    "has no gradient history": lambda: (torch.ones(3) * 2).sum().backward(),
    "does not require grad": lambda: torch.autograd.grad(torch.ones(2, requires_grad=True).sum(), torch.ones(2)),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_has_no_graph_is_explained(words: str) -> None:
    assert all(words in told for told in both(REFUSED[words]))


def test_what_is_no_error_is_refused_in_a_sentence() -> None:
    with pytest.raises(TypeError, match="takes an error, but got str"):
        workbench.explain("an error")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_of_autograd_has_a_cause_and_a_cure(name: str) -> None:
    program, says = ERRORS[name]
    for told in both(lambda: program(torch)):
        assert OTHER.means not in told and "What to do: " in told
        plain = told.replace("`", "")
        assert [each for each in says if each.replace("`", "") not in plain] == [], told


@pytest.mark.parametrize("name", HOOKS)
def test_the_picture_and_the_findings_of_an_error_in_a_hook_name_it_with_its_line(name: str) -> None:
    with pytest.raises((LookupError, TypeError)), workbench.record(torch) as trace:
        ERRORS[name][0](torch)
    shown = " ".join(str(trace.show("error")).split()).replace("`", "")
    assert f"{HOOKS[name]} " in shown.split("What to do")[0]
    assert f"in the hook `{HOOKS[name]}` (autograd_errors.py:" in str(trace.findings())


def test_what_forward_refuses_is_found_with_its_line() -> None:
    with pytest.raises(RuntimeError), workbench.record(torch) as trace:
        ERRORS["parameter_written"][0](torch)
    found = str(trace.findings())
    assert "The program stopped with an error (autograd_errors.py:" in found and "`layer.weight` is a leaf" in found


def test_a_checkpoint_that_is_recorded_says_where_it_differed() -> None:
    assert "SliceBackward0" in both(lambda: ERRORS["another_shape"][0](torch))[1]
