"""All exercises of the course, found by name; the lessons' modules are loaded when a first exercise is checked."""

from __future__ import annotations

import difflib
import os
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from .exercise import Exercise


@cache
def lessons() -> dict[int, tuple[Exercise, ...]]:
    """The exercises of each lesson, by the lesson's number."""
    modules = [module.name for module in iter_modules([os.path.dirname(__file__)])]
    names = sorted(name for name in modules if name.startswith("lesson_"))
    return {int(name[7:]): import_module(f"{__package__}.{name}").EXERCISES for name in names}


@cache
def exercises() -> dict[str, Exercise]:
    """All exercises by name."""
    return {exercise.name: exercise for lesson in lessons().values() for exercise in lesson}


def find(name: str) -> Exercise:
    """The exercise of this name; a ValueError suggests the nearest ones."""
    known = exercises()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, 3)
    meant = f": did you mean {' or '.join(map(repr, near))}?" if near else "."
    raise ValueError(f"There is no exercise called {name!r}{meant}")
