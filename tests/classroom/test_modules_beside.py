"""Python modules beside a notebook go along with it, wherever it goes, if it imports them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from run_here import grade_here

from workbench.classroom.registry import registered
from workbench.cli import lite, main
from workbench.cli.lab import MARK, prepare
from workbench.cli.notebooks import beside, place_to_run

EXERCISES = """from workbench.classroom import exercise
from parts_for_answers import ANSWER

exercise("the-answer", "A number.", solution=ANSWER)
"""
CELLS = (
    "%matplotlib inline\nimport numpy as np\nimport parts_of_engine as engine",
    "no python(",
    "# exercise: the-answer\nanswer = None\n### BEGIN SOLUTION\nanswer = engine.SEVEN * 6\n### END SOLUTION\n"
    'from workbench.classroom import check\n\ncheck("the-answer", answer)',
)
GOES = ["lesson.exercises.py", "parts_below.py", "parts_for_answers.py", "parts_of_engine.py"]


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    folder = tmp_path / "lessons"
    folder.mkdir()
    cells = [new_markdown_cell("# A lesson\n\nimport left_out"), *map(new_code_cell, CELLS)]
    nbformat.write(new_notebook(cells=cells), folder / "lesson.ipynb")
    texts = {
        "lesson.exercises.py": EXERCISES,
        "parts_of_engine.py": "from parts_below import SEVEN  # and no more\n",
        "parts_below.py": "import parts_of_engine\n\nSEVEN = 7\n",
        "parts_for_answers.py": "ANSWER = 42\n",
        "left_out.py": "",
        "numpy.txt": "",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_what_goes_along_is_what_is_imported(lessons: Path) -> None:
    assert [file.name for file in beside(lessons / "lesson.ipynb")] == GOES
    with place_to_run(lessons / "lesson.ipynb") as place:
        assert {*GOES} <= {file.name for file in Path(place).iterdir()}


@pytest.mark.parametrize("kind", ["student", "solutions", "nbgrader", "otter"])
def test_a_released_lesson_has_its_modules_beside_it(
    lessons: Path, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grade_here(monkeypatch)
    out = tmp_path / kind
    assert main(["release", str(lessons / "lesson.ipynb"), f"--{kind}", str(out)]) == 0
    (made,) = out.rglob("lesson.ipynb")
    assert sorted(file.name for file in made.parent.glob("*.py") if file.name != "nbgrader_config.py") == GOES
    assert (made.parent / "parts_below.py").read_text("utf-8") == (lessons / "parts_below.py").read_text("utf-8")
    if kind == "otter":
        head = nbformat.read(made, as_version=4).cells[0].source
        assert all(f'- "{name}"' in head for name in GOES)


def test_a_readers_folder_has_them_and_keeps_what_the_reader_changes(
    lessons: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("workbench.cli.lab.checkout", lambda: None)
    monkeypatch.setattr("workbench.cli.lab.SHIPPED", lessons)
    place = prepare(tmp_path / "mine")
    assert sorted(file.name for file in place.glob("*.py")) == GOES
    given = (place / "parts_below.py").read_text("utf-8")
    assert given.startswith("import parts_of_engine\n\nSEVEN = 7\n") and MARK in given
    (place / "parts_below.py").write_text("SEVEN = 8\n", encoding="utf-8")
    for name in ("parts_below.py", "parts_for_answers.py"):
        (lessons / name).write_text("ANSWER = SEVEN = 9\n", encoding="utf-8")
    prepare(place)
    assert "parts_below.py" in capsys.readouterr().out
    assert (place / "parts_below.py").read_text("utf-8") == "SEVEN = 8\n"
    assert (place / "parts_for_answers.py").read_text("utf-8").startswith("ANSWER = SEVEN = 9\n")


def test_exercises_may_import_what_lies_beside_them(lessons: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [*sys.path]
    for name in ("parts_for_answers", "parts_of_engine", "parts_below"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert registered(lessons / "lesson.exercises.py")["the-answer"].solution == 42
    assert sys.path == before


def test_a_handed_in_notebook_is_graded_with_its_own_modules_and_the_lessons(
    lessons: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grade_here(monkeypatch)
    handed_in = tmp_path / "handed-in"
    handed_in.mkdir()
    notebook = nbformat.read(lessons / "lesson.ipynb", as_version=4)
    notebook.cells[1].source += "\nimport parts_of_mine as mine"
    notebook.cells[2].source = "x = 1"
    notebook.cells[3].source = notebook.cells[3].source.replace("engine.SEVEN * 6", "engine.SEVEN * mine.SIX")
    nbformat.write(notebook, handed_in / "lesson.ipynb")
    (handed_in / "parts_of_mine.py").write_text("SIX = 6\n", encoding="utf-8")
    (handed_in / "parts_below.py").write_text("SEVEN = 0\n", encoding="utf-8")  # the lesson's own is taken
    table = tmp_path / "points.csv"
    assert main(["grade", str(handed_in), "--lessons", str(lessons), "-o", str(table)]) == 0
    assert "the-answer,1,1," in table.read_text("utf-8")


def test_a_site_has_them_to_read_and_to_import(lessons: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("graphviz_wheel", "own_wheel", "installed_wheels", "_run_jupyterlite"):
        monkeypatch.setattr(lite, name, lambda *args: None)
    place: Any = tmp_path / "site"
    place.mkdir()
    lite._built(place, lessons, tmp_path)
    assert sorted(file.name for file in (place / "exercises").iterdir()) == GOES
    assert sorted(file.name for file in (place / "contents").iterdir()) == [
        "course.ipynb",
        "lesson.ipynb",
        *[name for name in GOES if "exercises" not in name],
    ]
