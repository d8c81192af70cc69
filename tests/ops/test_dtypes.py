"""How number types meet: every pair, with dimensions, without, and as Python numbers, beside PyTorch."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from oracle import compare, entries, raised

DTYPES = ("float64", "float32", "float16", "int64", "int32", "uint8", "bool")
NUMBERS = {"2.0": 2.0, "2": 2, "True": True}
OPERANDS = [(kind, "[]") for kind in DTYPES] + [(kind, "0-d") for kind in DTYPES] + [(n, "number") for n in NUMBERS]


def operand(torch: Any, kind: str, standing: str, values: list[int]) -> Any:
    """A tensor with one dimension or none, or a Python number."""
    if standing == "number":
        return NUMBERS[kind]
    numbers = [v % 2 == 1 for v in values] if kind == "bool" else values
    return torch.tensor(numbers if standing == "[]" else numbers[0], dtype=getattr(torch, kind))


def pairs(torch: Any, text: str, kinds: list[Any]) -> list[Any]:
    """What an expression in a and b gives for every pair of operands of which one is a tensor."""
    out = []
    for one, two in itertools.product(kinds, repeat=2):
        if one[1] == two[1] == "number":
            continue
        named = {"torch": torch, "a": operand(torch, *one, [1, 2, 3]), "b": operand(torch, *two, [2, 1, 1])}
        named["m"] = torch.tensor([True, False, True])
        result = raised(eval, text, named)
        out.append((one, two, eval(text, named) if result == "nothing was raised" else result))
    return out


@pytest.mark.parametrize(
    "text", ["a + b", "a * b", "a / b", "a == b", "a != b", "a < b", "a >= b", "torch.where(m, a, b)"]
)
def test_every_pair_meets_in_one_dtype(text: str) -> None:
    compare(pairs, text, OPERANDS)


@pytest.mark.parametrize("text", ["a ** b", "torch.add(a, b, alpha=2)"])
def test_pairs_without_masks(text: str) -> None:
    compare(pairs, text, [o for o in OPERANDS if o[0] not in ("bool", "True")])


def test_subtraction_refuses_masks() -> None:
    compare(pairs, "a - b", [o for o in OPERANDS if o[0] != "True"])


@pytest.mark.parametrize("text", ["torch.maximum(a, b)", "torch.minimum(a, b)", "torch.max(a, b)"])
def test_pairs_of_tensors(text: str) -> None:
    compare(pairs, text, [o for o in OPERANDS if o[1] != "number"])


@pytest.mark.parametrize("text", ["torch.cat([a, b])", "torch.stack([a, b])", "torch.stack([a, b], 1)"])
def test_pairs_put_together(text: str) -> None:
    compare(pairs, text, [o for o in OPERANDS if o[1] == "[]"])


@pytest.mark.parametrize("text", ["a & b", "a | b", "a ^ b"])
def test_pairs_of_integers_and_masks(text: str) -> None:
    compare(pairs, text, [o for o in OPERANDS if "float" not in o[0] and o[0] != "2.0"])


UNARY = """
a.exp() | a.log() | a.sin() | a.cos() | a.tanh() | a.sqrt() | a.sigmoid() | a.reciprocal() | 1 / a | 2.5 / a
-a | ~a | a.sum() | a.sum(0) | a.sum(dtype=torch.float64) | a.mean() | torch.mean(a, 0) | a.max() | a.min()
a.max(0) | a.sort() | a.argsort() | a.clamp(0, 1) | a.clamp(0.5, 1.5) | a.clamp(min=1) | a.clamp(max=1.5)
a ** 2 | a ** 2.0 | a ** 0.5 | 2 ** a | 2.0 ** a | a ** -1 | 1 - a | 1.0 - a | a.float() | a.double()
a.half() | a.long() | a.int() | a.bool() | a.to(torch.uint8) | a.to(float) | a.clone() | a.reshape(-1)
torch.ones_like(a) | torch.zeros_like(a) | a.tolist() | repr(a) | a.dtype | a.is_floating_point()
a.element_size() | a.requires_grad_() | a.fill_(1.5) | a.zero_() | a.add_(1) | a.add_(1.5) | a.mul_(2)
a.mul_(2.5) | a.div_(2) | a.pow_(2) | a.exp_() | a.neg_() | a.copy_(torch.tensor(7.7)) | a.sub_(1.0)
a.sqrt_() | a.item() | bool(a) | float(a) | int(a)
"""


def each_dtype(torch: Any, text: str) -> list[Any]:
    """What an expression in a gives for every dtype, with a dimension and without."""
    out = []
    for kind, standing in OPERANDS[: 2 * len(DTYPES)]:
        named = {"torch": torch, "a": operand(torch, kind, standing, [1, 2, 3])}
        try:
            out.append((kind, standing, eval(text, named)))
        except Exception as error:
            out.append((kind, standing, error))
    return out


@pytest.mark.parametrize("text", entries(UNARY))
def test_every_dtype_alone(text: str) -> None:
    compare(each_dtype, text)
