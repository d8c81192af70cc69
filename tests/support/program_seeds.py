"""The seeds of random programs: few that are always the same, and for the scheduled run more that are new each time."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

import pytest

BASE = int(os.environ.get("WORKBENCH_SEED", "0"))  # the scheduled run sets the date


def seeds(slow: int, apart: int, quick: Collection[int] = ()) -> list[Any]:
    """Return the quick seeds without a mark, others below `slow`, and `apart` that only the scheduled run draws."""
    others = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(slow) if seed not in quick]
    drawn = range(slow + BASE, slow + BASE + apart)
    return [
        *quick,
        *others,
        *[pytest.param(seed, marks=pytest.mark.scheduled, id=f"drawn {n}") for n, seed in enumerate(drawn)],
    ]
