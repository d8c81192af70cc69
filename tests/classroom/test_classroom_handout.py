"""What the markers of an exercise become in each copy, and how markers that do not fit are refused."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import nbformat
import pytest
from lab import CHECKOUT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from run_here import grade_here

from workbench.classroom.handout import MarkerError, nbgrader, otter, solved, student
from workbench.classroom.registry import file_of, registered
from workbench.classroom.sealed import Sealed
from workbench.cli import main, teacher
from workbench.cli.lab import prepare

KNOWN = registered(CHECKOUT / "notebooks" / "07-your-own-function.exercises.py")
COURSE = """# exercise: cube-backward
class Cube(Function):
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        return 3
        ### END SOLUTION

    def forward(ctx, x):
        # given
        ### BEGIN SOLUTION
        return x
        ### END SOLUTION


check("cube-backward", Cube)"""
OWN = """# exercise: my-own (2.5 points)
def double(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION
assert double(1) == 2
### BEGIN HIDDEN TESTS
assert double(3) == 6
### END HIDDEN TESTS"""


def notebook(*sources: str) -> nbformat.NotebookNode:
    """A notebook of cells that were run, after one that is no exercise."""
    shown = [new_output("stream", text="seen")]
    cells = [new_code_cell(text, outputs=shown, execution_count=1) for text in ("x = 1", *sources)]
    return new_notebook(cells=[new_markdown_cell("words"), *cells])


def test_the_students_copy_has_neither_solutions_nor_what_they_showed() -> None:
    lesson = notebook(COURSE, OWN)
    _, plain, course, own = student(lesson).cells
    assert all(not cell.outputs and cell.execution_count is None for cell in (plain, course, own))
    assert course.source.count("        ...  # your code\n") == 2 and "return" not in course.source
    assert own.source == (
        "# exercise: my-own (2.5 points)\ndef double(x):\n    ...  # your code\nassert double(1) == 2"
    )
    assert [cell.source for cell in lesson.cells[2:]] == [COURSE, OWN]  # the lesson itself stays as it is


def test_the_solved_copy_has_no_marker() -> None:
    *_, course, own = solved(notebook(COURSE, OWN)).cells
    assert own.source == "# exercise: my-own (2.5 points)\ndef double(x):\n    return 2 * x\nassert double(1) == 2"
    assert "###" not in course.source and "return 3" in course.source and course.outputs


graded, assigned = partial(nbgrader, known=KNOWN), partial(otter, known=KNOWN)
GUESSED = """{words}

```python
f(3)
```"""


@pytest.mark.parametrize("words", ["**Predict** it.", "Was kommt heraus?", "**Before you run it:** what?"])
@pytest.mark.parametrize("kind", ["student", "nbgrader", "otter"])
def test_nothing_that_was_computed_is_handed_out_however_it_is_asked_for(words: str, kind: str) -> None:
    lesson = notebook("guess = None", "print(41 + 1)", OWN)
    lesson.cells.insert(1, new_markdown_cell(GUESSED.format(words=words)))
    shown = {"text/plain": "forty-two", "application/vnd.jupyter.widget-view+json": {"model_id": "1"}}
    lesson.cells[3].outputs = [new_output("display_data", data=shown)]
    lesson.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {"1": {"value": "forty-two"}}}}
    before = nbformat.writes(lesson)
    made = {"student": student, "nbgrader": graded, "otter": assigned}[kind](lesson)
    assert "forty-two" not in nbformat.writes(made) and "seen" not in nbformat.writes(made)
    assert nbformat.writes(lesson) == before


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The whole course as it is handed out, in each of the ways."""
    made = {kind: tmp_path_factory.mktemp(kind) for kind in ("student", "nbgrader", "otter", "reader")}
    with pytest.MonkeyPatch.context() as patch:
        grade_here(patch)
        patch.setattr(teacher, "check_earned", cache(teacher.check_earned))
        for kind in ("student", "nbgrader", "otter"):
            assert main(["release", str(CHECKOUT / "notebooks"), f"--{kind}", str(made[kind])]) == 0
    prepare(made["reader"])
    return made


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["student", "nbgrader", "otter", "reader"])
def test_no_notebook_of_the_course_that_is_handed_out_shows_an_answer(kind: str, released: dict[str, Path]) -> None:
    lessons = sorted((CHECKOUT / "notebooks").glob("*.ipynb"))
    found = {path.name: nbformat.read(path, as_version=4) for path in released[kind].rglob("*.ipynb")}
    assert sorted(found) == [path.name for path in lessons]
    files = {path.name: path for path in released[kind].rglob("*.exercises.py")}
    assert sorted(files) == [file_of(path).name for path in lessons]
    for path in lessons:
        assert "with their solutions" not in files[file_of(path).name].read_text("utf-8")
        assert all(isinstance(each, Sealed) for each in registered(files[file_of(path).name]).values())
    for notebook in found.values():
        assert "widgets" not in notebook.metadata
        for cell in notebook.cells:
            # A hidden test of otter's says True when it passes; students never get the cell.
            if kind == "reader" and "opening" in cell.metadata.get("tags", []):
                assert "show_slope(" in cell.source and len(cell.outputs) == 1  # it comes before any question
            elif cell.cell_type == "code" and not (kind == "otter" and cell.source.startswith("# HIDDEN\n")):
                assert (cell.outputs, cell.execution_count) == ([], None), cell.source
            if kind in ("student", "reader"):
                assert "SOLUTION" not in cell.source


def test_nbgraders_copy_splits_the_answer_from_what_gives_its_points() -> None:
    _, plain, course, points, own, own_points = nbgrader(notebook(COURSE, OWN), KNOWN).cells
    assert "nbgrader" not in plain.metadata and not plain.outputs
    assert course.source.endswith("### END SOLUTION") and course.metadata.nbgrader.solution
    assert points.source == (
        'check("cube-backward", Cube)\n### BEGIN HIDDEN TESTS\nfrom workbench.classroom import grade\n\n'
        'grade("cube-backward", Cube)\n### END HIDDEN TESTS'
    )
    assert (points.metadata.nbgrader.points, points.metadata.nbgrader.locked) == (2, True)
    assert own.source.endswith("### END SOLUTION")
    assert own_points.source.startswith("assert double(1) == 2\n### BEGIN HIDDEN TESTS\n")
    assert own_points.metadata.nbgrader.points == 2.5


def test_ones_own_tests_take_the_place_of_the_courses() -> None:
    hidden = "### BEGIN HIDDEN TESTS\nassert Cube\n### END HIDDEN TESTS"
    *_, points = nbgrader(notebook(f"{COURSE}\n{hidden}"), KNOWN).cells
    assert points.source == f'check("cube-backward", Cube)\n{hidden}'


def test_otters_copy_has_a_question_for_each_exercise_of_the_course() -> None:
    made = otter(notebook(COURSE, OWN), KNOWN)
    nbformat.validate(made)
    assert [cell.source.splitlines()[0] for cell in made.cells if cell.cell_type == "raw"] == [
        *("# ASSIGNMENT CONFIG", "# BEGIN QUESTION", "# BEGIN SOLUTION", "# END SOLUTION"),
        *("# BEGIN TESTS", "# END TESTS", "# END QUESTION"),
    ]
    tests = [cell for cell in made.cells if cell.source.startswith("# HIDDEN")]
    assert len(tests) == 1 and all(test.outputs[0].data["text/plain"] == "True" for test in tests)


WRONG = {
    "no end": ("# exercise: a-b\n### BEGIN SOLUTION\n1", "cell 2 has a BEGIN or an END without its other half."),
    "no begin": ("# exercise: a-b\n1\n### END SOLUTION", "cell 2 has a BEGIN or an END without its other half."),
    "one in another": (
        "# exercise: a-b\n### BEGIN SOLUTION\n### BEGIN SOLUTION\n1\n### END SOLUTION",
        "cell 2 has a BEGIN or an END without its other half.",
    ),
    "no name": (
        "### BEGIN SOLUTION\n1\n### END SOLUTION",
        "cell 2 has markers, but no line that begins with '# exercise: '.",
    ),
    "twice": ("# exercise: a-b\n1", "cell 3 is the second exercise called a-b."),
}


@pytest.mark.parametrize("name", WRONG)
def test_markers_that_do_not_fit_are_refused_and_nothing_is_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, said = WRONG[name]
    sources = ["1", source, source] if name == "twice" else ["1", source]
    lesson = new_notebook(cells=[new_code_cell(text) for text in sources])
    for make in (student, solved, graded, assigned):
        with pytest.raises(MarkerError, match=".* ".join(said.split()[:2])):
            make(lesson)
    nbformat.write(lesson, tmp_path / "lesson.ipynb")
    assert main(["release", str(tmp_path), "--student", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err == f"workbench: {tmp_path / 'lesson.ipynb'}: {said}\n"
    assert not (tmp_path / "out").exists()


def test_an_exercise_of_the_course_that_is_not_checked_is_refused() -> None:
    with pytest.raises(MarkerError, match="cube-backward is not checked by check"):
        nbgrader(notebook(COURSE.replace('check("cube-backward", Cube)', "Cube")), KNOWN)


def test_a_course_folders_own_settings_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nbformat.write(notebook(OWN), tmp_path / "lesson.ipynb")
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "nbgrader_config.py").write_text("mine")
    for _ in range(2):
        assert main(["release", str(tmp_path / "lesson.ipynb"), "--nbgrader", str(tmp_path / "course")]) == 0
    assert (tmp_path / "course" / "nbgrader_config.py").read_text() == "mine"
    assert (tmp_path / "course" / "source" / "lesson" / "lesson.ipynb").is_file()
