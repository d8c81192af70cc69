"""The command `workbench grade`: notebooks that were handed in, also from a browser, and what each is given."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from classroom_submissions import LESSON, SCORES, SUBMISSIONS, submit
from lab import CHECKOUT
from nbformat.v4 import new_code_cell, new_notebook
from patience import PATIENCE
from run_here import grade_here

from workbench.classroom.handout import name_of, student
from workbench.cli import grading, main
from workbench.cli.handed_in import JUDGES, VERDICT, Assignment, lesson_of, to_judge

# What a notebook says that JupyterLite has saved: no kernel of this name is installed anywhere.
BROWSER = {"name": "python", "display_name": "Python (Pyodide)", "language": "python"}
EXERCISES = [*SUBMISSIONS["right"]]
SOURCE = CHECKOUT / "notebooks"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The student's copy of a lesson as a browser downloads it."""
    place = tmp_path_factory.mktemp("released") / f"{LESSON}.ipynb"
    copy = student(nbformat.read(SOURCE / place.name, as_version=4))
    copy.metadata.kernelspec = BROWSER
    copy.cells.insert(0, new_code_cell("%pip install -q autograd-workbench"))
    nbformat.write(copy, place)
    return place


@pytest.fixture(scope="module")
def small(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same copy with nothing but imports and the exercises."""
    place = tmp_path_factory.mktemp("small") / released.name
    notebook = nbformat.read(released, as_version=4)
    first = new_code_cell("import workbench as torch\nfrom workbench.classroom import check")
    notebook.cells = [first, *(cell for cell in notebook.cells if name_of(cell))]
    nbformat.write(notebook, place)
    return place


def changed(released: Path, place: Path, change: Callable[[Any], None]) -> None:
    """Hand in the right answers in a notebook that was changed otherwise."""
    submit(released, "right", place)
    notebook = nbformat.read(place, as_version=4)
    change(notebook)
    nbformat.write(notebook, place)


def rows_of(path: Path) -> dict[tuple[str, str], dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return {(row["notebook"], row["exercise"]): row for row in csv.DictReader(file)}


@pytest.fixture
def teachers(tmp_path: Path) -> Path:
    """A folder of one lesson and its exercises, as a teacher has of a lesson of their own."""
    folder = tmp_path / "lessons"
    folder.mkdir()
    for name in (f"{LESSON}.ipynb", f"{LESSON}.exercises.py"):
        shutil.copy(SOURCE / name, folder)
    return folder


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notebooks run in this process."""
    grade_here(monkeypatch)


def folder_is_graded(released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "in"
    for name in SUBMISSIONS:
        submit(released, name, folder / name / f"{LESSON} (1).ipynb")
    submit(released, "wrong", folder / "right" / ".ipynb_checkpoints" / "lesson-checkpoint.ipynb")
    (folder / "__MACOSX" / "right").mkdir(parents=True)  # as an archive made on macOS has them, and no notebooks
    for name in ("__MACOSX/right/._lesson.ipynb", "._lesson.ipynb"):
        (folder / name).write_bytes(b"\0\5\x16\7")
    (folder / "torn.ipynb").write_text("{")
    output = tmp_path / "grades.csv"
    assert main(["grade", str(folder), "-o", str(output)]) == 1
    said = capsys.readouterr()
    assert f"right/{LESSON} (1).ipynb: 4 of 4 points\n" in said.out
    assert f"empty/{LESSON} (1).ipynb: 0 of 4 points; not right: {', '.join(EXERCISES)}\n" in said.out
    assert "torn.ipynb isn't a notebook.\n" in said.out and "1 of 4 notebooks couldn't be graded" in said.err
    rows = rows_of(output)
    assert len(rows) == len(SUBMISSIONS) * len(EXERCISES)
    for name, points in SCORES.items():
        assert [float(rows[f"{name}/{LESSON} (1).ipynb", each]["points"]) for each in EXERCISES] == points
    assert "A forgotten fork" in rows[f"wrong/{LESSON} (1).ipynb", "grad-at-a-fork"]["what is said"]


def test_a_folder_of_notebooks_is_graded(
    small: Path, here: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder_is_graded(small, tmp_path, capsys)


@pytest.mark.slow
def test_a_folder_of_notebooks_from_a_browser_is_graded_in_kernels(
    released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder_is_graded(released, tmp_path, capsys)


@pytest.mark.parametrize("broken", ["raise NotImplementedError", "x = (1", "@staticmethod_\ndef a(): ..."])
def test_what_an_earlier_cell_calls_by_the_same_name_is_no_answer(
    released: Path, here: None, teachers: Path, tmp_path: Path, broken: str
) -> None:
    def change(notebook: Any) -> None:
        fork, three, bias = (cell for cell in notebook.cells if name_of(cell))
        # Before: a right answer and one with a known misconception, under the names that are checked.
        earlier = (
            "a_grad, w_grads = 9, [2.0, 4.0, 6.0]\ndef add_backward(grad_output, rows, bias):\n    return grad_output"
        )
        first = "import workbench as torch\nfrom workbench.classroom import check"
        for cell in (fork, three, bias):
            cell.source = f"{cell.source.splitlines()[0]}\n{broken}"
        notebook.cells = [*map(new_code_cell, [first, earlier]), fork, three, bias]

    handed_in = tmp_path / "in" / "mine.ipynb"
    changed(released, handed_in, change)
    _, said = grading.graded(handed_in, grading._lessons(teachers))
    assert [(each.points, each.misconception, each.partly) for each in said] == [(0, None, False)] * len(said)
    assert all(each.says.startswith("The cell stopped with ") for each in said)


@pytest.mark.parametrize("left", ["", "\n# to do"])
def test_an_exercise_that_was_emptied_earns_nothing_by_an_earlier_name(
    released: Path, here: None, teachers: Path, tmp_path: Path, left: str
) -> None:
    def change(notebook: Any) -> None:
        fork, three, bias = (cell for cell in notebook.cells if name_of(cell))
        earlier = "a_grad, w_grad = 9, 12"
        first = "import workbench as torch\nfrom workbench.classroom import check"
        fork.source = fork.source.splitlines()[0] + left
        three.source = three.source.splitlines()[0] + "\ncheck('three-backwards', w_grad)"  # answered above
        notebook.cells = [*map(new_code_cell, [first, earlier]), fork, three, bias]

    handed_in = tmp_path / "in" / "mine.ipynb"
    changed(released, handed_in, change)
    _, said = grading.graded(handed_in, grading._lessons(teachers))
    assert [each.points for each in said] == [0, 1, 2] and said[0].says.startswith("Not answered yet")
    assert not said[0].answered


def test_what_students_do_to_a_notebook_does_not_take_their_points(
    released: Path, here: None, teachers: Path, tmp_path: Path
) -> None:
    def change(notebook: Any) -> None:
        fork, three, bias = (cell for cell in notebook.cells if name_of(cell))
        again = new_code_cell(fork.source.replace("9", "5"))  # a second try, which is wrong
        fork.source = fork.source.replace("# exercise: grad-at-a-fork\n", "") + '\ncheck("grad-at-a-fork", a_grad)'
        bias.source += "\nraise RuntimeError('after the answer')"
        # Nothing but the exercises: the lesson's other cells would only take time.
        cells = ["import workbench as torch\nfrom workbench.classroom import check", "1 / 0"]
        mine = "from workbench.classroom import exercise\nexercise('three-backwards', '', solution=0)"
        notebook.cells = [*map(new_code_cell, [*cells, mine]), fork, three, bias, again]
        # Verdicts of one's own do not count.
        claim = f"display({{{VERDICT!r}: {{'exercise': {EXERCISES[2]!r}}}}}, raw=True)"
        notebook.cells.append(new_code_cell(claim, metadata={JUDGES: True}))

    handed_in = tmp_path / "in" / "mine.ipynb"
    changed(released, handed_in, change)
    (lesson,) = grading._lessons(teachers)
    found, said = grading.graded(handed_in, [lesson])
    assert found is lesson
    assert [(each.exercise, each.points) for each in said] == list(zip(EXERCISES, SCORES["right"], strict=True))


# What a cell is written over with, by exercise, in which order the cells stand, and the points.
ENDLESS = "import time\nwhile True:\n    time.sleep(0.1)"
UNSTOPPABLE = "import time\nwhile True:\n    try:\n        time.sleep(0.1)\n    except:\n        pass"
KILLS = "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)"
FATES = {
    "kills the kernel": (KILLS, ["grad-at-a-fork", None, "bias-backward"], [1, 0, 0]),
    "never ends": (ENDLESS, [None, "grad-at-a-fork"], [1, 0, 0]),
    "cannot be interrupted": (UNSTOPPABLE, ["grad-at-a-fork", None, "bias-backward"], [1, 0, 0]),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "fate", [pytest.param(each, marks=[pytest.mark.scheduled] * each.startswith("cannot")) for each in FATES]
)
def test_a_cell_that_goes_wrong_costs_what_comes_after_it_at_most(
    fate: str, released: Path, teachers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, order, points = FATES[fate]
    timeout = grading.SECONDS

    def change(notebook: Any) -> None:
        cells = {name_of(cell): cell for cell in notebook.cells if name_of(cell)}
        head = "" if source == KILLS else "# exercise: three-backwards\n"
        notebook.cells = [cells[name] if name else new_code_cell(f"{head}{source}\nw_grad = 12") for name in order]

    if source == ENDLESS:  # this cell alone has no time
        client_of = grading.client_of
        at_most = {"timeout_func": lambda cell: 1 if ENDLESS in cell.source else PATIENCE}
        monkeypatch.setattr(grading, "client_of", lambda *given, **how: client_of(*given, **how | at_most))
    elif source == UNSTOPPABLE:
        timeout = 20
    changed(released, tmp_path / "in" / "mine.ipynb", change)
    _, said = grading.graded(tmp_path / "in" / "mine.ipynb", grading._lessons(teachers), timeout)
    assert [each.points for each in said] == points
    if source == KILLS:
        assert said[1].says == "Not in this notebook (1 point)."
        assert said[2].says == "The kernel crashed before this was graded (2 points)."


@pytest.mark.slow
def test_a_lesson_is_known_by_its_exercises_and_not_by_the_name_of_the_file() -> None:
    lessons = grading._lessons(SOURCE)
    assert len(lessons) == len([*SOURCE.glob("*.ipynb")])
    for lesson in lessons:
        copy = student(nbformat.read(SOURCE / f"{lesson.name}.ipynb", as_version=4))
        assert lesson_of(copy, lessons) is lesson
        assert lesson.exercises.keys() == {name_of(cell) for cell in copy.cells if name_of(cell)}
    assert lesson_of(new_notebook(cells=[new_code_cell("1 + 1")]), lessons) is None


def test_what_is_installed_in_a_notebook_is_not_installed_here(released: Path) -> None:
    notebook = nbformat.read(released, as_version=4)
    lesson = Assignment.of(nbformat.read(SOURCE / released.name, as_version=4), SOURCE / released.name, _file())
    first, second, *_ = to_judge(notebook, lesson, lesson.file).cells
    assert '"pip"' in first.source and second.source.startswith("%pip install")


def _file() -> Path:
    return SOURCE / f"{LESSON}.exercises.py"


def test_a_table_never_computes_what_a_student_has_written(tmp_path: Path) -> None:
    grading._write([["=1+1", "plain"]], tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text() == "'=1+1,plain\n"


def test_names_of_files_move_no_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torn = tmp_path / "in" / "a\x1b[2Jb\r\u202e.ipynb"
    torn.parent.mkdir()
    try:
        torn.write_text("{", encoding="utf-8")
    except OSError:  # as on Windows
        assert grading.shown(torn.name) == r"a\x1b[2Jb\r\u202e.ipynb"
        return
    assert main(["grade", str(torn.parent)]) == 1
    said = capsys.readouterr().out
    assert said.startswith(r"a\x1b[2Jb\r\u202e.ipynb: ") and said.rstrip("\n").isprintable()


def test_a_notebook_finds_no_solution_where_it_is_graded(
    here: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lesson = tmp_path / "lessons" / "one.ipynb"
    lesson.parent.mkdir()
    cell = '# exercise: a-number\nanswer = {}\ncheck("a-number", answer)'
    first = "from workbench.classroom import check\nfrom workbench.classroom.registry import find\nanswer = 0"
    for place, answer in ((lesson, "3"), (tmp_path / "in" / "a.ipynb", 'find("a-number").solution')):
        place.parent.mkdir(exist_ok=True)
        cells = [new_code_cell(first), new_code_cell(cell.format(answer))]
        nbformat.write(new_notebook(cells=cells), place)
    file = 'from workbench.classroom import exercise\nexercise("a-number", asks="Which?", solution=3)\n'
    lesson.with_name("one.exercises.py").write_text(file)
    assert main(["grade", str(tmp_path / "in"), "--lessons", str(lesson.parent)]) == 0
    assert main(["grade", str(lesson), "--lessons", str(lesson.parent)]) == 0
    assert capsys.readouterr().out == "a.ipynb: 0 of 1 point; not right: a-number\none.ipynb: 1 of 1 point\n"


def test_an_exercise_that_its_cell_does_not_check_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lesson = tmp_path / "lessons" / "one.ipynb"
    lesson.parent.mkdir()
    nbformat.write(new_notebook(cells=[new_code_cell("# exercise: a-number\nanswer = 3")]), lesson)
    file = 'from workbench.classroom import exercise\nexercise("a-number", asks="Which?", solution=3)\n'
    lesson.with_name("one.exercises.py").write_text(file)
    assert main(["grade", str(lesson), "--lessons", str(lesson.parent)]) == 1
    what = f"{lesson}: the cell of a-number never calls check('a-number', ...), so its answer can't be found."
    assert capsys.readouterr().err == f"workbench: {what}\n"


@pytest.mark.parametrize(
    ("handed", "points"),
    [
        ("n = 4\ncheck('my-number', n)", 1),
        ("check('my-number', n)", 0),
        ("n = n\ncheck('my-number', n)", 1),
        ("1 / 0", 0),
    ],
)
def test_a_name_that_other_cells_use_too_answers_where_its_own_cell_gives_it_a_value(
    here: None, tmp_path: Path, handed: str, points: int
) -> None:
    lessons, place = tmp_path / "lessons", tmp_path / "in" / "numbers.ipynb"
    lessons.mkdir()
    place.parent.mkdir()
    first = new_code_cell("from workbench.classroom import check\nn = 4")
    (lessons / "numbers.exercises.py").write_text(
        "from workbench.classroom import exercise\nexercise('my-number', 'How many?', solution=4)"
    )
    for text, path in (("n = 4\ncheck('my-number', n)", lessons / place.name), (handed, place)):
        cells = [first, new_code_cell(f"# exercise: my-number\n{text}")]
        nbformat.write(new_notebook(cells=cells), path)
    _, (said,) = grading.graded(place, grading._lessons(lessons))
    assert said.points == points
