"""Wrong answers that beginners give: none earns a point, none is told what is not so, none a bare error.

They were written down from what is known of beginners' mistakes and from the questions, not from the hints.
"""

from __future__ import annotations

import re

import pytest
from answers import CHECKOUT, EXERCISES, RIGHT, TOLD, WRONG, solution_of, verdict_of

from workbench.classroom.answer_errors import _MEANINGS, TRY_IT
from workbench.classroom.judging import Verdict

LEAST = 10
LEAST_OF_A_PUZZLE = 5  # of which there are many
# What Python calls an error; after it there is a sentence that says what it means or what to do.
PYTHONS = re.compile(r"\b\w+Error\b|the engine refused")


@pytest.fixture(autouse=True)
def beside_the_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` finds the exercises in the current folder, and a lesson the files that it imports."""
    monkeypatch.chdir(CHECKOUT / "notebooks")
    monkeypatch.syspath_prepend(CHECKOUT / "notebooks")


def test_every_exercise_has_its_wrong_answers() -> None:
    assert WRONG.keys() == EXERCISES.keys()
    least = {name: LEAST_OF_A_PUZZLE if name.startswith("puzzle-") else LEAST for name in WRONG}
    assert {name: len(given) for name, given in WRONG.items() if len({each[0] for each in given}) < least[name]} == {}


# Those that integrate a differential equation, or differentiate twice, take seconds.
HEAVY = ("adjoint-of-an-ode", "hessian-times-vector")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in HEAVY)) for name in WRONG])
def test_a_wrong_answer_earns_nothing_and_is_told_nothing_false(name: str) -> None:
    assert verdict_of(name, solution_of(name)).right
    failed = []
    for written, misconception in WRONG[name]:
        verdict = verdict_of(name, written)
        wanted = (False, 0, misconception)
        is_odd = bare(verdict.says) or says_nothing(verdict)
        if (verdict.right, verdict.points, verdict.misconception) != wanted or is_odd:
            failed.append(f"{written}\n  -> {verdict.says}\n  wanted {wanted[1:]}")
    assert not failed, "\n" + "\n".join(failed)


@pytest.mark.parametrize(("name", "written"), RIGHT)
def test_another_right_answer_is_right(name: str, written: str) -> None:
    verdict = verdict_of(name, written)
    assert verdict.right, verdict


@pytest.mark.parametrize(("name", "written", "said"), TOLD)
def test_what_is_told_is_true_of_that_answer(name: str, written: str, said: str) -> None:
    verdict = verdict_of(name, written)
    assert not verdict.right and said in verdict.says


def says_nothing(verdict: Verdict) -> bool:
    """Whether a verdict only lists what isn't right."""
    return not verdict.tables and re.search(r"Not right: [^.]*\.$", verdict.says) is not None


def bare(says: str) -> bool:
    """Whether one of Python's own errors stands there without a sentence that says what it means."""
    meant = [*(meaning for _, meaning in _MEANINGS), TRY_IT]
    return PYTHONS.search(says) is not None and not any(says.endswith(meaning) for meaning in meant)
