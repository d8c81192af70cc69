"""What a learner is told of a prediction: whether it is right, never what is."""

from __future__ import annotations

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
        (None, (2, 3), "No prediction yet: replace None by your list of numbers, and run again from there."),
        (None, torch.ones(2), "No prediction yet: replace None by your list of numbers, and run again from there."),
        (None, True, "No prediction yet: replace None by your answer, and run again from there."),
        (5, 6.0, "Not yet: yours is too small."),
        (7, 6.0, "Not yet: yours is too large."),
        (-6, 6.0, "Not yet: the sign is wrong."),
        ([1, 2, 4], [1, 2, 3], "Not yet: 1 of 3 elements differ, at [2]."),
        ([1, 2], [1, 2, 3], "A value of shape [3] is asked for; yours has shape [2]."),
        (False, True, "Not yet: it is the other way round."),
        (1, True, "Either True or False is asked for."),
        ("w", "b", "Not yet: it is the other way round."),
        (3, "b", "A word in quotes is asked for."),
    ],
)
def test_not_yet(prediction: object, truth: object, said: str) -> None:
    assert check(prediction, truth) == said
