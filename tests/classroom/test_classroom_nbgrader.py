"""nbgrader itself on a lesson with players and steppers: three submissions, their scores, and pages of feedback."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import absent
import nbformat
import pytest
from classroom_submissions import CHECKOUT, LESSON, SCORES, SUBMISSIONS, ran, submit

from workbench.cli import main

pytestmark = [
    pytest.mark.scheduled,
    pytest.mark.skipif(find_spec("nbgrader") is None, reason=absent.GRADER),
]


def nbgrader(course: Path, command: str) -> None:
    ran("nbgrader", course, command, f"--course-dir={course}", LESSON)


def named_by_a_browser(path: Path) -> None:
    """Give a notebook the name of the kernel that JupyterLite saves with it, which is installed nowhere."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.kernelspec = {"name": "python", "display_name": "Python (Pyodide)", "language": "python"}
    nbformat.write(notebook, path)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A course whose three submissions are graded, with feedback."""
    course = tmp_path_factory.mktemp("course")
    assert main(["release", str(CHECKOUT / "notebooks" / f"{LESSON}.ipynb"), "--nbgrader", str(course)]) == 0
    nbgrader(course, "generate_assignment")
    for student in SUBMISSIONS:
        released = course / "release" / LESSON / f"{LESSON}.ipynb"
        handed_in = course / "submitted" / student / LESSON / f"{LESSON}.ipynb"
        submit(released, student, handed_in)
        if student == "right":  # and in a browser
            named_by_a_browser(handed_in)
    nbgrader(course, "autograde")
    nbgrader(course, "generate_feedback")
    yield course


def test_what_is_released_has_neither_solutions_nor_hidden_tests_nor_outputs(course: Path) -> None:
    text = (course / "release" / LESSON / f"{LESSON}.ipynb").read_text()
    assert "...  # your code" in text and "NotImplementedError" not in text
    hidden = ("SOLUTION", "HIDDEN", "import grade", '"output_type"', "grad_output.sum")
    assert [words for words in hidden if words in text] == []


def test_the_scores_are_as_they_should_be(course: Path) -> None:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        for student, scores in SCORES.items():
            (submitted,) = gradebook.find_submission(LESSON, student).notebooks
            grades = {grade.name.removesuffix("-points"): grade for grade in submitted.grades}
            assert [grades[name].score for name in SUBMISSIONS["right"]] == scores, student
            assert not any(grade.needs_manual_grade for grade in grades.values())


@pytest.mark.parametrize("student", SUBMISSIONS)
def test_the_feedback_has_the_pictures_and_the_reasons(course: Path, student: str) -> None:
    page = (course / "feedback" / student / LESSON / f"{LESSON}.html").read_text()
    lesson = nbformat.read(CHECKOUT / "notebooks" / f"{LESSON}.ipynb", as_version=4)
    outputs = [output for cell in lesson.cells for output in cell.get("outputs", [])]
    pictures = sum("data:image/svg" in output.get("data", {}).get("text/html", "") for output in outputs)
    assert page.count("data:image/svg+xml;base64,") == pictures > 3
    said = {
        "right": ["Right. (2 points)"],
        "wrong": ["A forgotten fork: ", "ZeroDivisionError", "Not yet (0 of 2 points). Broadcasting needs no sum: "],
        "empty": ["Not answered yet (1 point).", "Not answered yet (2 points)."],
    }
    assert [words for words in said[student] if words not in page] == []
