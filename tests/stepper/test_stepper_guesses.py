"""Numbers that a reader types, and how close a guess at a gradient came."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.stepper.typed import typed
from workbench.widgets.stepper import closeness


@pytest.mark.parametrize(
    ("guess", "truth", "said"),
    [
        (1 / 3, 0.333333, "right"),
        (4.4, 4.0, "off by 10%"),
        (-4.0, 4.0, "wrong sign"),
        (-1.0, 4.0, "wrong sign and size"),
        ([1.0, 2.0], 3.0, "wrong shape: expected a single number, got (2,)"),
        (3.0, [1.0, 2.0], "wrong shape: expected (2,), got a single number"),
        ([3.0, 4.0], [3.0, 3.0], "off by 24%"),
        (1.0, 0.0, "wrong: the answer is zero"),
        (0.0, 0.0, "right"),
        (float("nan"), float("nan"), "right"),
        (1.0, float("nan"), "not finite where the answer is"),
        (500.0, 1.0, "off by a factor of 5e+02"),
        (1.0, None, "there is no gradient"),
    ],
)
def test_how_close_a_guess_was(guess: Any, truth: Any, said: str) -> None:
    assert closeness(guess, truth) == said


@pytest.mark.parametrize("text", ["", "x", "[1, [2]]", "1/0", "__import__('os')", "9**9**9", "(" * 5000, "1" * 20_000])
def test_only_numbers_can_be_typed(text: str) -> None:
    with pytest.raises(ValueError, match="Type a number such as"):
        typed(text)


def test_numbers_fractions_and_lists_can_be_typed() -> None:
    assert typed(" -1/4 ") == -0.25
    assert typed("[1, 2e-3]") == [1.0, 0.002]
    assert typed("[(1, 2), (-inf, 4)]") == [[1.0, 2.0], [-float("inf"), 4.0]]
