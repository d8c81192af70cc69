"""Integers are int64 where PyTorch's are, also on machines (and in browsers) where NumPy's own have 32 bits.

No such machine is at hand: NumPy is made to answer as it does there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as torch
from workbench.ops.core.results import grid

NAMED = ("argmax", "argmin", "argsort", "nonzero")


def narrow(found: Any) -> Any:
    """Integers as a machine of 32 bits has them."""
    if isinstance(found, tuple):
        return tuple([narrow(each) for each in found])
    return found.astype(np.int32) if isinstance(found, (np.ndarray, np.integer)) and found.dtype == np.int64 else found


class Narrow(np.ndarray):
    """An array whose methods find places of 32 bits."""


for _name in NAMED:

    def _method(self: Any, *args: Any, name: str = _name, **how: Any) -> Any:
        return narrow(getattr(self.view(np.ndarray), name)(*args, **how))

    setattr(Narrow, _name, _method)


def narrowed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's that makes integers of 32 bits unless it is told a dtype."""

    def called(*args: Any, **how: Any) -> Any:
        found = function(*args, **how)
        return found if how.get("dtype") is not None else narrow(found)

    return called


def narrowed_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's that makes an array of 32 bits of a Python integer unless it is told a dtype."""

    def called(value: Any, dtype: Any = None, **how: Any) -> Any:
        found = function(value, dtype, **how)
        return narrow(found) if dtype is None and type(value) is int else found

    return called


@pytest.fixture(autouse=True)
def _narrow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    grid.cache_clear()
    for name in ("arange", "flatnonzero", *NAMED):
        monkeypatch.setattr(np, name, narrowed(getattr(np, name)))
    for name in ("array", "asarray"):
        monkeypatch.setattr(np, name, narrowed_numbers(getattr(np, name)))


def x() -> Any:
    """A matrix that finds places as on such a machine."""
    t = torch.tensor([[0.5, -1.0, 2.0], [3.0, 0.25, -0.75]])
    t._array = t._array.view(Narrow)
    return t


@pytest.mark.parametrize(
    "call",
    [
        "torch.arange(3)", "torch.arange(1, 7, 2)", "torch.arange(2**40, 2**40 + 3)", "torch.randperm(4)",
        "torch.randint(3, (2,))", "torch.tensor([1, 2])", "torch.tensor(3)", "torch.full((2,), 3)",
        "x().argmax()", "x().argmin(1)", "x().argmax(0, True)", "x().argsort()", "x().argsort(0, descending=True)",
        "x().sort()[1]", "x().sort(descending=True)[1]", "x().max(1)[1]", "x().min(0)[1]", "x().median(1)[1]",
        "x().topk(2)[1]", "x().topk(2, largest=False)[1]", "x().nonzero()", "torch.where(x() > 0)[0]",
        "(x() > 0).sum()", "(x() > 0).cumsum(0)", "(x() > 0).prod(1)", "x().long()", "x().int().sum()",
        "torch.nn.functional.one_hot(torch.arange(3))",
        "torch.nn.functional.max_pool2d(x()[None], 2, 1, return_indices=True)[1]",
    ],
)  # fmt: skip
def test_integers_are_int64(call: str) -> None:
    assert eval(call, {"torch": torch, "x": x}).dtype is torch.int64


@pytest.mark.parametrize("call", ["a * 2", "a / 3", "a.float() / 3", "a.clone().mul_(2)", "a - 2 * a"])
def test_a_number_is_saved_in_int64(call: str) -> None:
    node = eval(call, {"a": torch.ones(3, dtype=torch.float64, requires_grad=True)}).grad_fn
    node = node if hasattr(node, "_saved_other") else node.next_functions[1][0]
    assert node._saved_other.dtype is torch.int64


def test_a_recording_tells_of_a_saved_number_in_int64() -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.record() as trace:
        (x * 3).sum()
    assert "saved other: int64  3" in str(trace.show())


@pytest.mark.parametrize("number", [2**40, -(2**62), 1e30, float("nan"), 0, 0.0])
def test_a_mask_is_filled_with_what_a_number_is_as_a_bool(number: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def copyto(to: Any, value: Any, **how: Any) -> None:
        np.array(value, np.int32 if type(value) is int else None)  # OverflowError, as of a narrow machine
        copied(to, value, **how)

    copied = np.copyto
    monkeypatch.setattr(np, "copyto", copyto)
    mask = torch.tensor([True, False])
    assert torch.zeros(2, dtype=torch.bool).masked_fill(mask, number).tolist() == [bool(number), False]
    assert torch.full_like(mask, number).tolist() == mask.new_full((2,), number).tolist() == [bool(number)] * 2
    with pytest.raises(OverflowError):
        torch.full_like(mask, 2**70)


def test_large_ranges_are_exact() -> None:
    assert torch.arange(2**40, 2**40 + 3).tolist() == [2**40, 2**40 + 1, 2**40 + 2]
    assert torch.arange(0, 2**33, 2**32).tolist() == [0, 2**32]


def test_derivatives_through_places() -> None:
    a = torch.tensor([[1.0, 3.0], [4.0, 2.0]], requires_grad=True)
    (a.sort(0)[0].cumsum(1) * a.max(1, keepdim=True)[0]).gather(1, torch.arange(2)[:, None]).sum().backward()
    expected = a.detach().clone().requires_grad_()
    value = expected[0, 0] * expected[0, 1] + (expected[1, 0] + expected[0, 1]) * expected[1, 0]
    value.backward()
    assert torch.equal(a.grad, expected.grad)
