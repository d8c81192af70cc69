"""The seeds of random programs: few that are always the same, and for the scheduled run more that are new each time."""

from __future__ import annotations

import os
from typing import Any

import pytest

BASE = int(os.environ.get("WORKBENCH_SEED", "0"))  # the scheduled run sets the date


def seeds(slow: int, apart: int, quick: int = 0) -> list[Any]:
    """Return `quick` seeds without a mark, then `slow` ones, and `apart` others that only the scheduled run draws."""
    found: list[Any] = list(range(quick))
    found += [pytest.param(seed, marks=pytest.mark.slow) for seed in range(quick, quick + slow)]
    first = quick + slow + BASE
    return found + [pytest.param(first + n, marks=pytest.mark.scheduled, id=f"scheduled {n}") for n in range(apart)]
