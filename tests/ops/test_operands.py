"""Operators between a tensor and NumPy's arrays and scalars, on either side, beside PyTorch."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np
import pytest
from oracle import compare

ARRAYS = {
    "doubles": np.array([1.0, 3.0]),
    "floats": np.array([1, 3], np.float32),
    "integers": np.array([1, 3]),
    "none": np.array(2.0),
}
SCALARS = {"double": np.float64(2), "float": np.float32(2), "integer": np.int64(2)}
WORDS = "add sub mul truediv floordiv mod pow eq ne lt le gt ge".split()
IN_PLACE = "iadd isub imul itruediv".split()


def operate(word: str, one: Any, other: Any) -> Any:
    """What the operator gives; NumPy's warning of how PyTorch takes its results is not what is compared."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "__array_wrap__", DeprecationWarning)
        return getattr(operator, word)(one, other)


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("name", [*ARRAYS, *SCALARS])
def test_an_operator_takes_what_numpy_made_on_either_side(name: str, word: str) -> None:
    other = (ARRAYS | SCALARS)[name]
    compare(lambda torch: operate(word, torch.tensor([1.0, 2.0]), other))
    compare(lambda torch: operate(word, other, torch.tensor([1.0, 2.0])))
    compare(lambda torch: operate(word, torch.tensor([1, 2]), other))
    compare(lambda torch: operate(word, other, torch.tensor([1, 2])))


@pytest.mark.parametrize("word", IN_PLACE)
@pytest.mark.parametrize("name", [*ARRAYS, *SCALARS])
def test_what_an_operator_writes_in_place_with_an_array_is_a_new_tensor(name: str, word: str) -> None:
    other = (ARRAYS | SCALARS)[name]

    def program(torch):
        t = first = torch.tensor([1.0, 2.0])
        t = operate(word, t, other)
        return t, first, t is first

    compare(program)


@pytest.mark.parametrize("word", [*WORDS, *IN_PLACE])
def test_an_array_beside_a_tensor_that_requires_grad(word: str) -> None:
    compare(lambda torch: operate(word, torch.tensor([1.0, 2.0], requires_grad=True), np.array([1.0, 3.0])))
    compare(lambda torch: operate(word, np.array([1.0, 3.0]), torch.tensor([1.0, 2.0], requires_grad=True)))
