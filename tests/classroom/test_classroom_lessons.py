"""The exercises in the lessons' notebooks: solved they score full, handed out they score nothing and raise nothing."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import matplotlib.pyplot as plt
import nbformat
import pytest
from lab import CHECKOUT

import workbench.classroom
from workbench.classroom.handout import YOUR_CODE, name_of, nbgrader, otter, solved, student
from workbench.classroom.judging import Verdict
from workbench.classroom.registry import file_of, registered

NOTEBOOKS = sorted((CHECKOUT / "notebooks").glob("*.ipynb"))
MOST_SECONDS = 20  # of a processor, since a machine may have other work


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def lesson(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture(autouse=True)
def beside_the_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` finds the exercises in the current folder, and a lesson the files that it imports."""
    monkeypatch.chdir(CHECKOUT / "notebooks")
    monkeypatch.syspath_prepend(CHECKOUT / "notebooks")


@pytest.fixture(autouse=True)
def figures_closed() -> Iterator[None]:
    plt.switch_backend("agg")
    yield
    plt.close("all")


def verdicts(notebook: Any, monkeypatch: pytest.MonkeyPatch) -> list[Verdict]:
    """What is said of each exercise's answer when all cells of a notebook are run."""
    said: list[Verdict] = []
    check = workbench.classroom.check

    def hearing(*given: Any) -> Any:
        verdict = check(*given)
        if isinstance(verdict, Verdict):
            said.append(verdict)
        return verdict

    monkeypatch.setattr(workbench.classroom, "check", hearing)
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in notebook.cells:
            if cell.cell_type == "code":
                exec(compile(cell.source, cell.id, "exec"), names)
    return said


def test_a_lesson_asks_each_of_its_exercises_once(lesson: Path) -> None:
    notebook = nbformat.read(lesson, as_version=4)
    asked = [name for cell in notebook.cells if (name := name_of(cell)) is not None]
    assert sorted(asked) == sorted(registered(file_of(lesson)))
    checked = [re.findall(r'check\("([\w-]+)", (\w+)\)$', cell.source) for cell in notebook.cells if name_of(cell)]
    assert [name for ((name, _),) in checked] == asked
    # After a cell that fails the answer of another exercise would be taken for its own.
    answers = [answer for ((_, answer),) in checked]
    assert len(set(answers)) == len(answers)


@pytest.mark.slow
def test_the_solutions_score_full_within_20_seconds(lesson: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook, began = nbformat.read(lesson, as_version=4), process_time()
    said = verdicts(notebook, monkeypatch)
    assert [verdict for verdict in said if not verdict.right] == []
    assert process_time() - began <= MOST_SECONDS
    assert {verdict.exercise for verdict in said} == {name_of(cell) for cell in notebook.cells} - {None}


@pytest.mark.slow
def test_the_students_copy_scores_nothing_and_raises_nothing(lesson: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = student(nbformat.read(lesson, as_version=4))
    said = verdicts(notebook, monkeypatch)
    assert [verdict for verdict in said if verdict.answered or verdict.points] == []
    for cell in notebook.cells:
        assert "SOLUTION" not in cell.source and "HIDDEN" not in cell.source
        if name_of(cell):
            assert YOUR_CODE in cell.source and cell.outputs == []


@pytest.mark.slow
def test_the_solved_copy_scores_full_and_shows_no_marker(lesson: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = solved(nbformat.read(lesson, as_version=4))
    assert all(verdict.right for verdict in verdicts(notebook, monkeypatch))
    assert not [cell for cell in notebook.cells if "###" in cell.source and name_of(cell)]


def test_the_assignment_gives_the_points_of_the_course(lesson: Path) -> None:
    known = registered(file_of(lesson))
    notebook = nbgrader(nbformat.read(lesson, as_version=4), known)
    nbformat.validate(notebook)
    marked = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    points = [cell.metadata.nbgrader.points for cell in marked if cell.metadata.nbgrader.grade]
    assert sum(points) == sum(exercise.points for exercise in known.values())
    assert len({cell.metadata.nbgrader.grade_id for cell in marked}) == len(marked) == 2 * len(points)


def test_the_master_notebook_of_otter_gives_the_points_of_the_course(lesson: Path) -> None:
    known = registered(file_of(lesson))
    notebook = otter(nbformat.read(lesson, as_version=4), known, [file_of(lesson).name])
    nbformat.validate(notebook)
    raw = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "raw")
    assert f'files:\n  - "{lesson.stem}.exercises.py"' in raw
    assert re.findall(r"^name: (\S+)\npoints: (\S+)$", raw, re.M) == [
        (name, f"{known[name].points:g}") for name in map(name_of, nbformat.read(lesson, as_version=4).cells) if name
    ]
    assert "###" not in "".join(cell.source for cell in notebook.cells if name_of(cell))
