"""otter itself on a lesson with players and steppers: assigned, and three submissions with their scores."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import absent
import pytest
from classroom_submissions import CHECKOUT, LESSON, SCORES, SUBMISSIONS, ran, submit

from workbench.cli import main

pytestmark = [
    pytest.mark.scheduled,
    pytest.mark.skipif(find_spec("otter") is None, reason=absent.GRADER),
]


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An assignment whose solutions passed all tests, or else otter had refused it."""
    course = tmp_path_factory.mktemp("course")
    assert main(["release", str(CHECKOUT / "notebooks" / f"{LESSON}.ipynb"), "--otter", str(course)]) == 0
    ran("otter", course, "assign", f"{LESSON}.ipynb", "dist", "--no-pdfs")
    return course


def test_what_students_get_has_neither_solutions_nor_hidden_tests(course: Path) -> None:
    text = (course / "dist" / "student" / f"{LESSON}.ipynb").read_text()
    assert [words for words in ("SOLUTION", "HIDDEN", "classroom.registry", "grad_output.sum") if words in text] == []


@pytest.mark.parametrize("student", SUBMISSIONS)
def test_the_scores_are_as_they_should_be(course: Path, student: str) -> None:
    submit(course / "dist" / "student" / f"{LESSON}.ipynb", student, course / student / "handed-in.ipynb")
    (autograder,) = (course / "dist" / "autograder").glob("*.zip")
    ran("otter", course, "run", "-a", str(autograder), "-o", student, f"{student}/handed-in.ipynb")
    results = json.loads((course / student / "results.json").read_text())
    scores = {test["name"]: test["score"] for test in results["tests"] if "score" in test}
    assert [scores[name] for name in SUBMISSIONS["right"]] == pytest.approx(SCORES[student])
