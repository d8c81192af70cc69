"""The lesson that the page for teachers makes: released, graded and presented."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nbformat
import pytest
from lab import CHECKOUT
from run_here import grade_here

from workbench.classroom.registry import registered
from workbench.classroom.sealed import Sealed
from workbench.cli import main

PAGE = (CHECKOUT / "assets" / "docs" / "teaching" / "write-a-lesson.md").read_text("utf-8")
CELLS = re.findall(r"^```\{code-cell\}\n(.*?)^```$", PAGE, flags=re.M | re.S)
BOTH = ["cube.exercises.py", "cube.ipynb"]
RIGHT = "(x,) = ctx.saved_tensors\n        return 3 * x**2 * grad_output"
HANDED_IN = {"ada": RIGHT, "ben": RIGHT.replace(" * grad_output", ""), "cyd": None}


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the page's own programs have written the lesson."""
    folder = tmp_path_factory.mktemp("teacher")
    names: dict = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for cell in CELLS:
            if ".write" in cell:
                exec(cell, names)
    assert sorted(path.name for path in folder.iterdir()) == BOTH
    return folder


@pytest.fixture
def own(lesson: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    for name in BOTH:
        shutil.copy(lesson / name, tmp_path)
    return tmp_path


def hand_in(released: Path, who: str, place: Path) -> None:
    """What a student made of the copy."""
    notebook = nbformat.read(released, as_version=4)
    written = HANDED_IN[who]
    for cell in notebook.cells:
        if written and "class Mine" in cell.source:
            cell.source = re.sub(r"\.\.\.(  # your code)?$", lambda found: written, cell.source, count=1, flags=re.M)
    place.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, place)


def test_it_is_released_and_graded(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    grade_here(monkeypatch)
    assert len(nbformat.read("cube.ipynb", as_version=4).cells) == 7
    assert main(["release", "cube.ipynb", "--student", "handout"]) == 0
    assert sorted(path.name for path in Path("handout").iterdir()) == BOTH
    assert isinstance(registered(Path("handout", BOTH[0]))["backward-of-a-cube"], Sealed)
    for who in HANDED_IN:
        hand_in(Path("handout", BOTH[1]), who, Path("in", who, BOTH[1]))
    capsys.readouterr()
    assert main(["grade", "in"]) == 1  # by the course's own lessons
    assert "it has no exercise from the lessons in " in (said := capsys.readouterr().out)
    assert "For other lessons, use --lessons FOLDER." in said
    assert main(["grade", "in", "--lessons", "."]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ada/cube.ipynb: 2 of 2 points",
        *(f"{who}/cube.ipynb: 0 of 2 points; not right: backward-of-a-cube" for who in ("ben", "cyd")),
    ]
    assert main(["progress", "in", "--lessons", "."]) == 0
    assert "grad_output is forgotten" in Path("in-progress.html").read_text("utf-8")


@pytest.mark.slow
def test_it_is_presented(own: Path) -> None:
    assert main(["present", "cube.ipynb", "--handout", "cube.html"]) == 0
    slides, paper = Path("cube-slides.html").read_text("utf-8"), Path("cube.html").read_text("utf-8")
    assert "The answer: 12" in slides and "wb-play-" in slides and "SOLUTION" not in slides
    assert re.search(r"Your prediction \((\w+: )?a number\):", paper) and "3 * x**2 * grad_output" in paper
