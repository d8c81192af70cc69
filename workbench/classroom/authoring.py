"""What is wrong with an exercise that an author wrote, said before it's released."""

from __future__ import annotations

import re
from itertools import combinations

from .answer_errors import Raised
from .answer_kind import kind_of
from .evidence import alike
from .judging import Exercise

NO_POINTS = "The exercise {!r} has {:g} points. Give it at least some."
OTHER_KIND = "The misconception {!r} of {!r} shows a {}, but its right answer is a {}."
IS_RIGHT = "The misconception {!r} of {!r} gets all points, so it isn't a mistake for the probes."
SAME = (
    "The misconceptions {!r} and {!r} of {!r} look alike to every probe, so only the first is ever recognized. Add a "
    "probe that tells them apart, or join them."
)


def fault_of(exercise: Exercise) -> str:
    """Return what is wrong with an exercise, in a sentence; "" if nothing is."""
    if exercise.points <= 0:
        return NO_POINTS.format(exercise.name, exercise.points)
    asked = kind_of(exercise.solution)
    for each in exercise.misconceptions:
        for answer in each.answers:
            if kind_of(answer) != asked:
                return OTHER_KIND.format(each.name, exercise.name, kind_of(answer), asked)
    every = zip(exercise.misconceptions, exercise._shown, strict=True)
    shown = [(each.name, found) for each, outcomes in every for found in outcomes]
    for name, found in shown:
        if exercise.right_in(found) == found.keys():
            return IS_RIGHT.format(name, exercise.name)
    for (one, found), (other, also) in combinations(shown, 2):
        if one != other and alike(found, also) and not any(isinstance(each, Raised) for each in found.values()):
            return SAME.format(one, other, exercise.name)
    return ""


def line_of(name: str, text: str) -> int:
    """Return the line of a file's text, counted from 1, that first contains this name in quotes."""
    found = re.search(f"""["']{re.escape(name)}["']""", text)
    return text.count("\n", 0, found.start() if found else 0) + 1
