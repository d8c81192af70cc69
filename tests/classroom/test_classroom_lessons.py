"""The exercises and predictions in the lessons' notebooks: what is right is told so; handed out, nothing is solved."""

from __future__ import annotations

import ast
import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import nbformat
import pytest
from answers import CHECKOUT, PREDICTIONS

import workbench.classroom
from workbench.classroom.handout import YOUR_CODE, name_of, nbgrader, otter, solution, solved, student
from workbench.classroom.judging import Verdict
from workbench.classroom.registry import file_of, registered

NOTEBOOKS = sorted((CHECKOUT / "notebooks").glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def lesson(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def beside_the_notebooks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`check` finds the exercises in the current folder, and a lesson the files that it imports."""
    monkeypatch.chdir(CHECKOUT / "notebooks")
    monkeypatch.syspath_prepend(CHECKOUT / "notebooks")
    plt.switch_backend("agg")
    yield
    plt.close("all")


def test_a_lesson_asks_each_of_its_exercises_once(lesson: Path) -> None:
    notebook = nbformat.read(lesson, as_version=4)
    asked = [name for cell in notebook.cells if (name := name_of(cell)) is not None]
    assert sorted(asked) == sorted(registered(file_of(lesson)))
    checked = [re.findall(r'check\("([\w-]+)", (\w+)\)$', cell.source) for cell in notebook.cells if name_of(cell)]
    assert [name for ((name, _),) in checked] == asked
    # After a cell that fails the answer of another exercise would be taken for its own.
    answers = [answer for ((_, answer),) in checked]
    assert len(set(answers)) == len(answers)


def test_the_solutions_score_full_and_the_solved_copy_is_the_same_code_without_markers(lesson: Path) -> None:
    """`pytest notebooks` finds these outputs again."""
    notebook = nbformat.read(lesson, as_version=4)
    for cell, copy in zip(notebook.cells, solved(notebook).cells, strict=True):
        if cell.cell_type == "code":
            assert ast.dump(ast.parse(copy.source)) == ast.dump(ast.parse(cell.source))
        if name := name_of(cell):
            points = registered(file_of(lesson))[name].points
            assert f"Right. ({points:g} point{'s' * (points != 1)})" in str(cell.outputs), name
            assert "###" not in copy.source


@pytest.mark.slow
@pytest.mark.usefixtures("beside_the_notebooks")
def test_the_students_copy_scores_nothing_and_right_predictions_are_right_however_often_checked(
    lesson: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = list[Verdict]()
    check = workbench.classroom.check

    def hearing(*given: Any) -> Any:
        verdict = check(*given)
        if isinstance(verdict, Verdict):
            said.append(verdict)
        return verdict

    monkeypatch.setattr(workbench.classroom, "check", hearing)
    notebook = student(nbformat.read(lesson, as_version=4))
    exercises = {cell.id: name for cell in notebook.cells if (name := name_of(cell))}
    cells = {cell.id: cell for cell in notebook.cells if cell.cell_type == "code"}
    for cell in cells.values():
        assert "SOLUTION" not in cell.source and "HIDDEN" not in cell.source and cell.outputs == []
        assert cell.id not in exercises or YOUR_CODE in cell.source
    predictions = PREDICTIONS[lesson.stem]
    asked = {id for id in cells.keys() - exercises if re.search(r"^\w+ = None", cells[id].source, re.MULTILINE)}
    assert asked == {id for id, _, _ in predictions}
    sources = {id: cell.source for id, cell in cells.items()} | {id: typed for id, typed, _ in predictions}
    names: dict[str, Any] = {}

    def run(several: list[str]) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            for id in several:
                exec(compile(sources[id], id, "exec"), names)
        return printed.getvalue()

    run(order := list(sources))
    assert {each.exercise for each in said} == {*exercises.values()}
    for first, _, last in predictions:
        printed = run(order[order.index(first) : order.index(last) + 1])
        assert printed.count("Right.") == sources[last].count("check("), last
    assert [each for each in said if each.answered or each.points] == []


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


def test_no_output_of_a_section_shows_a_number_that_is_asked_for_later_in_it(lesson: Path) -> None:
    cells = nbformat.read(lesson, as_version=4).cells
    places = {cell.id: place for place, cell in enumerate(cells)}
    for first, typed, last in PREDICTIONS[lesson.stem]:
        names: dict[str, Any] = {}
        exec(typed, {}, names)
        section = next(place for place in range(places[first], -1, -1) if is_heading(cells[place]))
        seen = " ".join(shown(cell) for cell in cells[section : places[last]])
        assert [value for value in names.values() if as_shown(value).search(seen)] == [], typed


def test_no_cell_of_the_students_copy_holds_a_solution(lesson: Path) -> None:
    given = nbformat.read(lesson, as_version=4)
    copy = student(given).cells
    for place, cell in enumerate(given.cells):
        if name := name_of(cell):
            exercise = registered(file_of(lesson))[name]
            told = [f"{each.name} {each.hint}" for each in exercise.misconceptions]
            if exercise.is_code:
                told += [exercise.asks, *(f"{each.source}\n{shown(each)}" for each in copy[:place] + copy[place + 1 :])]
                assert [text for text in told if holds(text, solution(cell), copy[place].source)] == [], name
            else:
                begins = next(at for at in range(place, -1, -1) if is_heading(copy[at]))
                told += [shown(each) for each in copy[begins:place]]
                assert [text for text in told if as_shown(exercise.solution).search(text)] == [], name


def holds(text: str, answer: str, handed_out: str) -> bool:
    """Whether all that a solution adds to what is handed out stands in a text, in its order, whatever it is called."""
    pressed = [re.sub(r"\s+", "", each) for each in (text, *answer.splitlines())]
    scaffold = {re.sub(r"\s+", "", line) for line in handed_out.splitlines()}
    at = 0
    for line in (line for line in pressed[1:] if line not in scaffold):
        # A result may have another name there, but not what is computed.
        computed = re.sub(r"^(?:return|[\w.,()\[\]]+=(?!=))(?=.*[(*+/-])", "", line)
        found = pressed[0].find(computed, at)
        if found < 0:
            return False
        at = found + len(computed)
    return True


def is_heading(cell: Any) -> bool:
    return cell.cell_type == "markdown" and re.search("^## ", cell.source, re.M) is not None


def shown(cell: Any) -> str:
    """What stands below a cell when a lesson is opened: what it printed, and its pictures without their next steps."""
    said = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", [])]
    return " ".join(re.split(r"^\d+ steps", each, flags=re.M)[0] for each in said)


def as_shown(value: Any) -> re.Pattern[str]:
    """How an answer looks in an output; truth values, letters, counts of bytes and rounds stand anywhere."""
    if isinstance(value, bool) or (isinstance(value, str) and len(value) == 1):
        return re.compile("(?!)")
    words = [value] if isinstance(value, str) else value
    if isinstance(words, list) and all(isinstance(each, str) for each in words):
        return re.compile(r"[\s,;\"'\[\]]+".join(rf"(?<![\w.]){re.escape(each)}(?!\w)" for each in words))
    numbers = [re.escape(f"{float(number):g}") for number in re.findall(r"-?[\d.]+", str(value))]
    begin, between, end = r"(?<![\w.-])(?<!iteration )", r"(?:\.0*)?[\s,\[\]]+", r"(?:\.0*)?(?![\w.]| bytes| KiB)"
    return re.compile(begin + between.join(numbers) + end)
