"""Numbers that a reader types."""

from __future__ import annotations

import pytest

from workbench.pictures.stepper.typed import typed


@pytest.mark.parametrize("text", ["", "x", "[1, [2]]", "1/0", "__import__('os')", "9**9**9", "(" * 5000, "1" * 20_000])
def test_only_numbers_can_be_typed(text: str) -> None:
    with pytest.raises(ValueError, match="Type a number such as"):
        typed(text)


def test_numbers_fractions_and_lists_can_be_typed() -> None:
    assert typed(" -1/4 ") == -0.25
    assert typed("[1, 2e-3]") == [1.0, 0.002]
    assert typed("[(1, 2), (-inf, 4)]") == [[1.0, 2.0], [-float("inf"), 4.0]]
