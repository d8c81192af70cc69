"""A lesson that a teacher writes by the page alone: its exercises are found beside it, and released with it."""

from __future__ import annotations

import os
import re
import textwrap
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from run_here import grade_here

import workbench.classroom
from workbench.classroom import check, exercise, progress, registry
from workbench.cli import main

# The page: a file of exercises, and two cells.
FILE, *CELLS = (
    textwrap.dedent(block)
    for block in re.findall(r"(?:^    .*\n|^\n(?=\n*    ))+", workbench.classroom.__doc__ or "", re.M)
)


@pytest.fixture(autouse=True)
def cube(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's lesson, in the current folder: seven cells."""
    monkeypatch.chdir(tmp_path)
    grade_here(monkeypatch)
    Path("cube.exercises.py").write_text(FILE)
    words = [new_markdown_cell(text) for text in ("# Cubes", "Watch one.", "And now?")]
    first, shown = (
        new_code_cell("import workbench as torch\nfrom workbench.classroom import check"),
        new_code_cell("torch.ones(2)"),
    )
    cells = [words[0], first, words[1], shown, words[2], *map(new_code_cell, CELLS)]
    nbformat.write(new_notebook(cells=cells), "cube.ipynb")
    return tmp_path / "cube.ipynb"


def names_of(path: str) -> list[str]:
    return sorted(each.relative_to(path).as_posix() for each in Path(path).rglob("*") if each.is_file())


def test_the_page_is_a_lesson_whose_answers_are_checked() -> None:
    names: dict = {}
    exec("import workbench as torch\nfrom workbench.classroom import check", names)
    for cell in CELLS:
        exec(cell, names)
    assert check("backward-of-a-cube", names["Cube"]).right and check("slope-of-a-cube", names["slope"]).right

    class Forgotten(names["Cube"]):
        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return 3 * x * x

    verdict = check("backward-of-a-cube", Forgotten)
    assert (verdict.misconception, verdict.most) == ("grad_output is forgotten", 2)
    assert check("slope-of-a-cube", 8).misconception == "the value instead of the slope"
    assert repr(progress()).splitlines()[:2] == ["0 of 3 points", "cube"]


def test_the_copies_take_the_exercises_along(capsys: pytest.CaptureFixture[str]) -> None:
    for kind in ("student", "solutions", "nbgrader", "otter"):
        assert main(["release", "cube.ipynb", f"--{kind}", kind]) == 0
    both = ["cube.exercises.py", "cube.ipynb"]
    assert names_of("student") == names_of("solutions") == names_of("otter") == both
    assert names_of("nbgrader") == ["nbgrader_config.py", *(f"source/cube/{name}" for name in both)]
    assert (Path("solutions") / both[0]).read_text() == FILE
    for place in ("student", "nbgrader/source/cube", "otter"):
        students = registry.registered(Path(place) / both[0])
        assert students["backward-of-a-cube"].judge(registry.find("backward-of-a-cube").solution).right
        with pytest.raises(LookupError, match="isn't in this file, which was released"):
            assert students["slope-of-a-cube"].solution
    assert "Wrote student/cube.exercises.py." in capsys.readouterr().out.replace("\\", "/").splitlines()
    graded = nbformat.read("nbgrader/source/cube/cube.ipynb", as_version=4)
    assert [cell.metadata.nbgrader.get("points") for cell in graded.cells if "nbgrader" in cell.metadata] == [
        *(None, 2),
        *(None, 1),
    ]
    assert 'files:\n  - "cube.exercises.py"' in nbformat.read("otter/cube.ipynb", as_version=4).cells[0].source
    assert main(["run", "student/cube.ipynb", "--html", "pages"]) == 0
    assert "Not answered yet (2 points)." in Path("pages/cube.html").read_text()


@pytest.mark.parametrize("kind", ["student", "solutions", "nbgrader", "otter"])
def test_a_lesson_that_nobody_could_check_is_not_released(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("cube.exercises.py").write_text(FILE.replace("slope-of-a-cube", "another-one"))
    assert main(["release", "cube.ipynb", f"--{kind}", "out"]) == 1
    said = "workbench: cube.ipynb checks 'slope-of-a-cube', but cube.exercises.py registers no such exercise, "
    assert capsys.readouterr().err.startswith(said)
    Path("cube.exercises.py").unlink()
    assert main(["release", ".", f"--{kind}", "out"]) == 1
    assert (
        " checks 'backward-of-a-cube' and 'slope-of-a-cube', but cube.exercises.py registers "
        in capsys.readouterr().err
    )
    Path("cube.exercises.py").write_text("1 / 0")
    assert main(["release", "cube.ipynb", f"--{kind}", "out"]) == 1
    said = (
        "workbench: cannot read cube.exercises.py: ZeroDivisionError: division by zero (cube.exercises.py, line 1).\n"
    )
    assert capsys.readouterr().err == said and not Path("out").exists()
    Path("cube.exercises.py").write_bytes(b"# -*- coding: latin-1 -*-\n# \xe9\n")
    assert main(["release", "cube.ipynb", f"--{kind}", "out"]) == 1
    assert capsys.readouterr().err == "workbench: cannot read cube.exercises.py: it isn't UTF-8.\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("solution=12", "solution=12, points=0", "The exercise 'slope-of-a-cube' has 0 points."),
        ("solution=12", "solution=abs", "' of 'slope-of-a-cube' shows a value, but its right answer is a function."),
        (", 8)", ", 12)", "' of 'slope-of-a-cube' gets all points, so it isn't a mistake for the probes."),
        (
            ", 8)",
            ", 8), Misconception('again', 'the same', 8)",
            "' and 'again' of 'slope-of-a-cube' look alike to every",
        ),
    ],
    ids=["no points", "another kind", "right", "alike"],
)
def test_an_exercise_that_would_judge_wrongly_is_not_released(
    old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in FILE
    Path("cube.exercises.py").write_text(text := FILE.replace(old, new))
    assert main(["release", "cube.ipynb", "--student", "out"]) == 1
    line = text[: text.index('"slope-of-a-cube"')].count("\n") + 1
    told = capsys.readouterr().err
    assert told.startswith(f"workbench: cube.exercises.py, line {line}: The ") and said in told
    assert not Path("out").exists()


def test_a_lesson_whose_own_solution_earns_nothing_is_not_released(capsys: pytest.CaptureFixture[str]) -> None:
    unusable = 'solution=12,\n    probes={"the slope": lambda value: value.item()}'
    for solution, why in (("solution=13", ""), (unusable, "Not right: the slope. ")):
        Path("cube.exercises.py").write_text(FILE.replace("solution=12", solution))
        assert main(["release", "cube.ipynb", "--student", "out"]) == 1
        said = "workbench: cube.ipynb: the solution of slope-of-a-cube doesn't get full points. Not yet (0 of 1 point)."
        assert capsys.readouterr().err.startswith(f"{said} {why}") and not Path("out").exists()


@pytest.mark.parametrize("kind", ["student", "solutions", "nbgrader", "otter"])
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (r" *### (BEGIN|END) SOLUTION\n", "", "the exercise slope-of-a-cube has no lines '### BEGIN SOLUTION' and"),
        ("### (BEGIN|END) SOLUTION", r"### \1 the solution", "the exercise slope-of-a-cube has no lines '### BEGIN"),
        ("# exercise: slope-of-a-cube", "# exercise: a-slope", "cell 7 checks 'slope-of-a-cube', but no cell has the"),
    ],
    ids=["no markers", "other markers", "another name"],
)
def test_a_lesson_whose_copies_would_show_or_lose_an_answer_is_not_released(
    kind: str, old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = nbformat.read("cube.ipynb", as_version=4)
    cell = notebook.cells[-1]
    cell.source = re.sub(old, new, cell.source)
    nbformat.write(notebook, "cube.ipynb")
    assert main(["release", "cube.ipynb", f"--{kind}", "out"]) == 1
    assert capsys.readouterr().err.startswith(f"workbench: cube.ipynb: {said}") and not Path("out").exists()


@pytest.mark.parametrize("kind", ["student", "solutions", "nbgrader", "otter"])
def test_an_exercise_that_only_a_cell_registers_is_not_released_and_no_cell_runs(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("cube.exercises.py").write_text(FILE.replace("slope-of-a-cube", "another-one"))
    notebook = nbformat.read("cube.ipynb", as_version=4)
    registering = "%matplotlib inline\n1 / 0\nexercise(\n    'slope-of-a-cube', 'The slope.', solution=12)"
    notebook.cells.insert(0, nbformat.v4.new_code_cell("# exercise('backward-of-a-cube')"))
    notebook.cells.insert(1, nbformat.v4.new_code_cell(registering))
    nbformat.write(notebook, "cube.ipynb")
    assert main(["release", "cube.ipynb", f"--{kind}", "out"]) == 1
    assert capsys.readouterr().err == (
        "workbench: cube.ipynb checks 'slope-of-a-cube', but cube.exercises.py registers no such exercise, so no "
        "answer could be checked. A cell of the notebook registers 'slope-of-a-cube', but graders read only the "
        "file. Move each `exercise(...)` into cube.exercises.py, with everything it needs.\n"
    )
    assert not Path("out").exists()


def test_a_name_that_no_file_beside_the_notebook_has_is_told_what_there_is(cube: Path) -> None:
    with pytest.raises(ValueError, match="No exercise named 'slope-of-a-cub'. Did you mean 'slope-of-a-cube'"):
        check("slope-of-a-cub", 12)
    there = r" Exercises next to the notebook: 'backward-of-a-cube', 'slope-of-a-cube' \(in cube.exercises.py\)\.$"
    with pytest.raises(ValueError, match=f"No exercise named 'x-y'\\.{there}"):
        check("x-y", 12)
    Path("cube.exercises.py").unlink()
    with pytest.raises(ValueError) as caught:
        check("x-y", 12)
    said = f"No exercise named 'x-y'. There's no NAME.exercises.py file next to the notebook, in {Path.cwd()}."
    assert str(caught.value) == said


def test_a_file_is_read_when_it_is_needed_and_again_when_it_has_changed() -> None:
    Path("another.exercises.py").write_text("1 / 0")
    assert check(1, 2) == "Not yet: yours is too small."
    assert check("slope-of-a-cube", 12).right
    with pytest.raises(ZeroDivisionError):
        repr(progress())  # which needs all
    file = Path("cube.exercises.py")
    file.write_text(FILE.replace("solution=12", "solution=13"))
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1_000_000_000))
    assert not check("slope-of-a-cube", 12).right


def test_a_cell_can_register_an_exercise_and_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registering", [cells := {}])
    monkeypatch.setattr(registry, "_cells", cells)
    for solution in (1, 2):
        exercise("tried-in-a-cell", "A number.", solution)
        assert check("tried-in-a-cell", solution).right


@pytest.mark.parametrize("name", ["cube", "Cube-backward", "cube backward", "cube_backward", "", "a--b"])
def test_an_exercise_has_a_name_that_check_can_tell_from_a_prediction(name: str) -> None:
    with pytest.raises(ValueError, match="Expected the name of an exercise, words joined by hyphens"):
        exercise(name, "A number.", 1)


def test_a_file_registers_a_name_once() -> None:
    Path("cube.exercises.py").write_text(f"{FILE}\nexercise('slope-of-a-cube', 'Again.', 1)\n")
    with pytest.raises(ValueError, match="The exercise 'slope-of-a-cube' is registered twice"):
        check("slope-of-a-cube", 12)


def test_a_file_is_code_as_any_other_and_leaves_nothing_beside_it() -> None:
    written = "def f(x: 1 + 1) -> None: ...\nassert f.__annotations__['x'] == 2\n"
    Path("cube.exercises.py").write_text(FILE + written)
    assert check("slope-of-a-cube", 12).right
    assert names_of(".") == ["cube.exercises.py", "cube.ipynb"]
