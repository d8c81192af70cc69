"""Count the work that something takes: function calls, which are as many on every machine, unlike seconds."""

from __future__ import annotations

import cProfile
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest


def calls(work: Callable[[], Any]) -> int:
    """Run the work, and return how many functions it called."""
    with cProfile.Profile() as profile:
        work()
    return sum(entry.callcount for entry in profile.getstats())


def counted(monkeypatch: pytest.MonkeyPatch, *places: tuple[Any, str]) -> Counter[str]:
    """Count the calls of functions from now on: each is given as the module or class that has it, and its name."""
    done: Counter[str] = Counter()

    def count(place: Any, name: str) -> None:
        work = getattr(place, name)

        def counting(*args: Any, **options: Any) -> Any:
            done[name] += 1
            return work(*args, **options)

        monkeypatch.setattr(place, name, counting)

    for place, name in places:
        count(place, name)
    return done
