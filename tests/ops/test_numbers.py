"""Tensors with Python numbers: of every dtype and kind of number, first and again, when the number is remembered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle import raised

import workbench
from workbench.ops.core import scalars

KINDS = ("uint8", "int32", "int64", "float16", "float32", "float64", "bool")
NUMBERS = "2, 2.0, True, 0, 0.0, -0.0, False, -1, -1.5, 1, 1.0, float('nan'), float('inf'), -1e30, 2 ** 40, 0.1"
CALLS = (
    "x + n",
    "n - x",
    "x * n",
    "x / n",
    "x == n",
    "x > n",
    "n <= x",
    "torch.where(x > 1, x, n)",
    "torch.where(x > 1, n, x)",
    "x.masked_fill(x > 1, n)",
    "x.clamp(n)",
    "x.clone().add_(n)",
    "x.clone().mul_(n)",
    "x.clone().div_(n)",
    "x.clone().add_(x, alpha=n)",
    "x.clone().clamp_(n, 2)",
    "x.clone().clamp_(max=n)",
    "x.clone().masked_fill_(x > 1, n)",
    "put(x.clone(), n)",
)
ARITHMETIC = "x +", "n -", "x *", "x /", "x ==", "x >", "n <", "x.clone().add", "x.clone().mul", "x.clone().div"


def put(t: Any, n: Any) -> Any:
    """The tensor with a number written into all of its last part."""
    t[..., -1:] = n
    return t


def _told(t: Any) -> Any:
    """A result to the sign of its zeros."""
    if isinstance(t, str):
        return t
    numbers = np.asarray(t.detach().tolist())
    signs = np.signbit(numbers).tolist() if numbers.dtype.kind == "f" else None
    return str(t.dtype), tuple(t.shape), np.where(numbers != numbers, "nan", numbers).tolist(), signs


PAIRS = [(call, kind) for call in CALLS for kind in KINDS if "alpha" not in call or kind.startswith("float")]


@pytest.mark.parametrize(("call", "kind"), PAIRS)
def test_numbers_of_every_kind_meet_every_dtype_as_in_pytorch(torch: Any, call: str, kind: str) -> Any:
    told = []
    numbers = eval(NUMBERS)
    for x in (torch.tensor([0, 1, 3]), torch.tensor(1), torch.zeros(0, 2)):
        x = x.to(getattr(torch, kind))
        for n in (*numbers, *reversed(numbers)):  # each twice, and beside those of equal hash
            if kind == "float16" and (n == 0.1 or abs(n) > 1e4):
                continue  # PyTorch computes with such in float32
            if kind in ("uint8", "int32", "int64") and not call.startswith(ARITHMETIC) and not 0 <= n < 9:
                continue  # which PyTorch refuses
            words = {"x": x, "n": n, "put": put, "torch": torch}
            told.append(type(error).__name__ if (error := raised(eval, call, words)) else _told(eval(call, words)))
    return told


def test_the_sign_of_zero_and_the_kind_of_one_are_kept(torch: Any) -> Any:
    x = torch.tensor([-0.0, 0.0, 2.0], requires_grad=True)
    told = []
    for n in (0.0, -0.0, 0, False, 1, True, 1.0):
        y = x * n if n != 0 else (x + n, x * n)[0] + x * n
        (y * torch.tensor([1.0, -1.0, 1.0])).sum().backward()
        told += [_told(x + n), _told(x * n), _told(x.grad), str((torch.tensor([1, 2]) * n).dtype)]
        x.grad = None
    return told


def test_a_remembered_number_cannot_be_written_through_a_result() -> None:
    x = workbench.tensor([1.0, 2.0])
    for _ in range(2):
        zero_dim = workbench.where(workbench.tensor(True), workbench.tensor(1.0), 3.0)
        zero_dim.add_(1.0)
        (x * 3.0).add_(1.0)
        workbench.where(workbench.tensor([False, False]), x, 3.0).mul_(5.0)
        assert (x * 3.0).tolist() == [3.0, 6.0]


def test_only_so_many_numbers_are_remembered() -> None:
    x = workbench.ones(3)
    for i in range(3 * scalars.MOST):
        assert (x * (i + 0.5)).tolist() == [i + 0.5] * 3
        x * float("nan")
    for kinds in scalars.SCALARS.values():
        assert all(len(numbers) <= scalars.MOST for numbers in kinds.values())
        assert not any(number != number or number == 0 for numbers in kinds.values() for number in numbers)
