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
        (None, 6.0, "No prediction yet: replace None by your number, and run again from there."),
        (None, (2, 3), "No prediction yet: replace None by your shape, and run again from there."),
        (None, [2, 3], "No prediction yet: replace None by your list of numbers, and run again from there."),
        ([4, 3], (3,), "Not yet: the right shape has another number of dimensions."),
        ([4], (3,), "Not yet: 1 of 1 elements differ, at [0]."),
        (4, (3,), "A shape, such as [2, 3], is asked for; yours is a number."),
        (None, torch.ones(2), "No prediction yet: replace None by your list of numbers, and run again from there."),
        (None, True, "No prediction yet: replace None by your answer, and run again from there."),
        (5, 6.0, "Not yet: yours is too small."),
        (7, 6.0, "Not yet: yours is too large."),
        (-6, 6.0, "Not yet: the sign is wrong."),
        ([1, 2, 4], [1, 2, 3], "Not yet: 1 of 3 elements differ, at [2]."),
        ([1, 2], [1, 2, 3], "A value of shape [3] is asked for; yours has shape [2]."),
        (False, True, "Not yet: it is the other way round."),
        (1, True, "Either True or False is asked for."),
        ("w", "b", "Not yet: it is another word."),
        (3, "b", "A word in quotes is asked for."),
        (..., 6.0, "No prediction yet: replace ... by your number, and run again from there."),
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
    assert check(word, "a") == "Not yet: it is another word."


def test_none_is_an_answer_where_none_is_right() -> None:
    nothing = torch.ones(2, requires_grad=True).grad
    assert check(None, nothing) == "Right."
    assert check(..., nothing) == "No prediction yet: replace ... by your answer, and run again from there."
    for wrong in (0, "zero", [None], False):
        assert check(wrong, nothing).startswith("Not yet. (If a cell above has not run")


def _itself() -> list[Any]:
    found: list[Any] = [1]
    found.append(found)
    return found


ODD = {
    "a word": ("six", "a word in quotes"),
    "a number in quotes": ("6", "a word in quotes"),
    "True": (True, "a truth value"),
    "a dict": ({"a": 1}, "of the type dict"),
    "a set": ({1, 2}, "of the type set"),
    "a function": (len, "a function"),
    "a method not called": (torch.ones(2).sum, "a function"),
    "a class": (torch.Tensor, "a function"),
    "a module": (torch, "of the type module"),
    "complex": (1 + 2j, "a complex number"),
    "rows of two lengths": ([[1], [1, 2]], "a list with rows of different lengths"),
    "a row and a number": ([[1], 2], "a list with rows of different lengths"),
    "itself": (_itself(), "a list with rows of different lengths"),
    "None within": ([1, None], "a list of other things than numbers"),
    "a word within": ([1, "two"], "a list of other things than numbers"),
    "much too large": (10**400, "a number too large to compare"),
    "bytes": (b"6", "of the type bytes"),
    "a date": (np.datetime64("2020-01-01"), "of the type datetime64"),
    "an iterator": (iter([6.0]), "of the type list_iterator"),
    "an object": (object(), "of the type object"),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer_is_told_what_is_asked_for(name: str) -> None:
    odd, kind = ODD[name]
    assert check(odd, 6.0) == f"A number is asked for; yours is {kind}."
    assert check(odd, [1.0, 2.0]) == f"A list of 2 numbers is asked for; yours is {kind}."
    assert check(odd, torch.ones(2, 3)) == f"An array of shape [2, 3] is asked for; yours is {kind}."
    if odd is not True:
        assert check(odd, True).startswith("Either True or False is asked for")
    if not isinstance(odd, str):
        assert check(odd, "b").startswith("A word in quotes is asked for")


@pytest.mark.parametrize(
    ("prediction", "truth", "said"),
    [
        ([6.0], 6.0, "A number is asked for; yours is a list of 1 number."),
        (torch.ones(2), 6.0, "A number is asked for; yours is a list of 2 numbers."),
        ([], 6.0, "A number is asked for; yours is a list of 0 numbers."),
        ([[6.0]], 6.0, "A number is asked for; yours is an array of shape [1, 1]."),
        (6.0, [6.0, 7.0], "A list of 2 numbers is asked for; yours is a number."),
        (torch.tensor(6.0), torch.ones(2, 3), "An array of shape [2, 3] is asked for; yours is a number."),
        ([1, 2, 3], [[1, 2, 3]], "A value of shape [1, 3] is asked for; yours has shape [3]."),
        (float("nan"), 6.0, "Not yet: yours is nan, which is no number."),
        ([float("nan"), 2.0], [1.0, 2.0], "Not yet: 1 of 2 elements differ, at [0]."),
        (float("inf"), 6.0, "Not yet: yours is too large."),
        (6.0, float("nan"), "Not yet: yours is a number, and no number comes out."),
    ],
)
@pytest.mark.filterwarnings("error")
def test_numbers_of_another_kind(prediction: Any, truth: Any, said: str) -> None:
    assert check(prediction, truth) == said
