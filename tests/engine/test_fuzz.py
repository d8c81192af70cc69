"""Some of the random programs of `fuzz.py`, and the table of the differences that stay."""

from __future__ import annotations

import absent
import pytest
from fuzz import KNOWN, compared, draw, row_of
from lab import CHECKOUT

try:
    import torch
except ImportError:
    torch = None

PROGRAMS = range(500_000, 500_120)


@pytest.mark.oracle
@pytest.mark.skipif(torch is None, reason=absent.TORCH)
def test_drawn_programs_differ_in_no_new_way() -> None:
    for seed in PROGRAMS:
        lines = draw(seed)
        found = compared(lines)
        if found is not None:
            at, told = found
            assert row_of(lines[: at + 1], told) is not None, "\n".join([f"seed {seed}", *lines[: at + 1], told])


@pytest.mark.parametrize("row", [row for row, _, _ in KNOWN])
def test_every_difference_that_stays_is_in_the_table(row: str) -> None:
    table = (CHECKOUT / "workbench" / "DIFFERENCES.md").read_text(encoding="utf-8")
    assert f"| {row} |" in table
