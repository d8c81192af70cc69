"""What a learner is told of a prediction: whether it is right, never what is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import workbench as torch
from workbench.classroom import check


@pytest.mark.parametrize(
    ("prediction", "truth"),
    [
        (6, 6.0),
        (6.0004, torch.tensor(6.0)),
        ([2, -4], torch.tensor([2.0, -4.0])),
        (torch.tensor([1.0]), [1]),
        (np.float32(6), 6),
        (Fraction(6), 6.0),
        (range(2), (0, 1)),
        ([torch.tensor(1.0, requires_grad=True), 2], [1, 2.0]),
        ([[1, 2]], np.array([[1, 2]])),
        ([], torch.zeros(0)),
        (np.bool_(True), True),
        (True, torch.tensor(True)),
        (float("nan"), float("nan")),
        (float("inf"), torch.tensor(float("inf"))),
        ([float("inf"), 2], [float("inf"), 2.0]),
        (True, True),
        ("b", "b"),
    ],
)
def test_right(prediction: object, truth: object) -> None:
    assert check(prediction, truth) == "Right."


@pytest.mark.parametrize(
    ("prediction", "truth", "said"),
    [
        (None, 6.0, "No prediction yet: replace None with your number, then rerun from that cell."),
        (None, (2, 3), "No prediction yet: replace None with your shape, then rerun from that cell."),
        (None, [2, 3], "No prediction yet: replace None with your list of numbers, then rerun from that cell."),
        ([4, 3], (3,), "Not yet: the right shape has a different number of dimensions."),
        ([4], (3,), "Not yet: 1 of 1 elements differ, at [0]."),
        (4, (3,), "Expected a shape, such as [2, 3], got a number."),
        (None, torch.ones(2), "No prediction yet: replace None with your list of numbers, then rerun from that cell."),
        (None, True, "No prediction yet: replace None with your answer, then rerun from that cell."),
        (5, 6.0, "Not yet: yours is too small."),
        (7, 6.0, "Not yet: yours is too large."),
        (-6, 6.0, "Not yet: the sign is wrong."),
        ([1, 2, 4], [1, 2, 3], "Not yet: 1 of 3 elements differ, at [2]."),
        ([1, 2], [1, 2, 3], "Expected a value of shape [3], got shape [2]."),
        (False, True, "Not yet: it's the opposite."),
        (1, True, "Expected True or False, got a number."),
        ("w", "b", "Not yet: that's not the word."),
        (3, "b", "Expected a word in quotes, got a number."),
        (..., 6.0, "No prediction yet: replace ... with your number, then rerun from that cell."),
    ],
)
def test_not_yet(prediction: object, truth: object, said: str) -> None:
    assert check(prediction, truth) == said


@pytest.mark.parametrize("right", [0.25**5, 3.3e-9, -2e-12, 1e-3, 6.0, 4e7, torch.tensor(2.5e-8)])
def test_the_tolerance_is_relative_to_the_right_answer(right: Any) -> None:
    number = float(right)
    for near in (number, number * 1.0009, number * 0.9991):
        assert check(near, right) == "Right."
    for far in (0, number * 1.002, number * 0.998, number / 2, 2 * number, number * 1e-3, -number):
        assert check(far, right).startswith("Not yet: ")


def test_each_element_is_compared_with_its_own_size_and_rounding_is_forgiven() -> None:
    assert check([0.0, 1.0], [0.01, 1.0]) == "Not yet: 1 of 2 elements differ, at [0]."
    assert check([0.01, 1.0], [0.01, 1.0]) == check([0, -1], [6.1e-17, -1.0]) == "Right."
    assert check(0, 6.1e-17) == check([0, 0], torch.zeros(2)) == "Right."
    assert check(1e-6, 0.0) == "Not yet: yours is too large."


@pytest.mark.parametrize("word", ["leaf", "Leaf", " leaf "])
def test_capitals_and_blanks_make_no_other_word(word: str) -> None:
    assert check(word, "leaf") == "Right."


@pytest.mark.parametrize("word", ["b", "c", "none of them", ""])
def test_of_a_wrong_word_nothing_is_said_that_holds_for_two_choices_only(word: str) -> None:
    assert check(word, "a") == "Not yet: that's not the word."


def test_none_is_an_answer_where_none_is_right() -> None:
    nothing = torch.ones(2, requires_grad=True).grad
    assert check(None, nothing) == "Right."
    assert check(..., nothing) == "No prediction yet: replace ... with your answer, then rerun from that cell."
    for wrong in (0, "zero", [None], False):
        assert check(wrong, nothing).startswith("Not yet. (Did you run all the cells above?)")


def _itself() -> list[Any]:
    found: list[Any] = [1]
    found.append(found)
    return found


ODD = {
    "a word": ("six", "a word in quotes"),
    "a number in quotes": ("6", "a word in quotes"),
    "True": (True, "a boolean"),
    "a dict": ({"a": 1}, "a value of type dict"),
    "a set": ({1, 2}, "a value of type set"),
    "a function": (len, "a function"),
    "a method not called": (torch.ones(2).sum, "a function"),
    "a class": (torch.Tensor, "a function"),
    "a module": (torch, "a value of type module"),
    "complex": (1 + 2j, "a complex number"),
    "rows of two lengths": ([[1], [1, 2]], "a list with rows of different lengths"),
    "a row and a number": ([[1], 2], "a list with rows of different lengths"),
    "itself": (_itself(), "a list with rows of different lengths"),
    "None within": ([1, None], "a list of things that aren't numbers"),
    "a word within": ([1, "two"], "a list of things that aren't numbers"),
    "much too large": (10**400, "a number too large to compare"),
    "bytes": (b"6", "a value of type bytes"),
    "a date": (np.datetime64("2020-01-01"), "a value of type datetime64"),
    "an iterator": (iter([6.0]), "a value of type list_iterator"),
    "an object": (object(), "a value of type object"),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer_is_told_what_is_asked_for(name: str) -> None:
    odd, kind = ODD[name]
    assert check(odd, 6.0) == f"Expected a number, got {kind}."
    assert check(odd, [1.0, 2.0]) == f"Expected a list of 2 numbers, got {kind}."
    assert check(odd, torch.ones(2, 3)) == f"Expected an array of shape [2, 3], got {kind}."
    if odd is not True:
        assert check(odd, True).startswith("Expected True or False, got ")
    if not isinstance(odd, str):
        assert check(odd, "b").startswith("Expected a word in quotes, got ")


@pytest.mark.parametrize(
    ("prediction", "truth", "said"),
    [
        ([6.0], 6.0, "Expected a number, got a list of 1 number."),
        (torch.ones(2), 6.0, "Expected a number, got a list of 2 numbers."),
        ([], 6.0, "Expected a number, got a list of 0 numbers."),
        ([[6.0]], 6.0, "Expected a number, got an array of shape [1, 1]."),
        (6.0, [6.0, 7.0], "Expected a list of 2 numbers, got a number."),
        (torch.tensor(6.0), torch.ones(2, 3), "Expected an array of shape [2, 3], got a number."),
        ([1, 2, 3], [[1, 2, 3]], "Expected a value of shape [1, 3], got shape [3]."),
        (float("nan"), 6.0, "Not yet: you got nan."),
        ([float("nan"), 2.0], [1.0, 2.0], "Not yet: 1 of 2 elements differ, at [0]."),
        (float("inf"), 6.0, "Not yet: yours is too large."),
        (6.0, float("nan"), "Not yet: you gave a number, but the result isn't one."),
    ],
)
@pytest.mark.filterwarnings("error")
def test_numbers_of_another_kind(prediction: Any, truth: Any, said: str) -> None:
    assert check(prediction, truth) == said
