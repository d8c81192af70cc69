"""What is done of the course: kept beside the notebook, never lost, and drawn."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from lab import CHECKOUT
from nbformat.v4 import new_code_cell, new_notebook

from workbench.classroom import check, progress, solution
from workbench.classroom.checks import FILE, Progress, _standing, keep_points, read_points
from workbench.classroom.registry import exercises, lessons
from workbench.classroom.solutions import MARK
from workbench.cli.pages import execute


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in a folder with the exercises of the course, and the modules that they import."""
    for path in (CHECKOUT / "notebooks").glob("*.py"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path / FILE


def beside(place: Path) -> list[str]:
    """The names of what lies there and is no exercise."""
    return sorted(name for name in os.listdir(place.parent) if not name.endswith(".py"))


@pytest.mark.parametrize(
    "writes",
    [
        pytest.param("", id="as Python does"),
        pytest.param("1", id="compiled files are not kept", marks=pytest.mark.slow),
    ],
)
def test_a_notebook_keeps_the_best_answer_beside_itself(
    place: Path, monkeypatch: pytest.MonkeyPatch, writes: str
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", writes)  # the kernel's; an empty one is none
    tries = ['check("slope-of-a-line", 29)', 'check("slope-of-a-line", 4)', 'check("slope-of-a-line", 13)']
    silent = ['check("grad-at-a-fork", None)', 'check("cube-backward", print)', "check(1, 2)"]
    cells = ["from workbench.classroom import check, progress", *tries, *silent, "progress()"]
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    execute(notebook, place.with_name("mine.ipynb"))
    assert json.loads(place.read_text()) == {"exercises": {"cube-backward": 0, "slope-of-a-line": 1}}
    shown = notebook.cells[-1].outputs[0].data
    assert "● slope-of-a-line: 1 of 1 point" in shown["text/plain"] and "<img alt=" in shown["text/html"]
    assert beside(place) == [FILE]


def test_a_check_says_how_much_of_the_lesson_is_done_and_helps_more_each_time(place: Path) -> None:
    copied = place.with_name("07-your-own-function.exercises.py")
    copied.write_text(f"{copied.read_text(encoding='utf-8')}# {MARK}: {'0' * 64} {'1' * 64}\n", encoding="utf-8")
    wrong = SIGMOID.replace("1 - result", "1 + result")
    calls = [f'{wrong}\ncheck("sigmoid-function", Sigmoid)'] * 3 + [f'{SIGMOID}\ncheck("sigmoid-function", Sigmoid)']
    cells = ["import workbench as torch\nfrom workbench.classroom import check, solution", *calls]
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in [*cells, 'solution("sigmoid-function")']])
    execute(notebook, place.with_name("mine.ipynb"))
    first, second, third, right, solved = [cell.outputs[0].data for cell in notebook.cells[1:]]
    assert first["text/plain"].count("\n") and "0 of 4 in this lesson." in first["text/plain"]
    assert "The question again: Write the sigmoid" in second["text/plain"] and "solution(" not in second["text/plain"]
    assert "solution('sigmoid-function') shows a solution." in third["text/plain"]
    assert "<details><summary>Show a solution</summary><pre>class Sigmoid(" in third["text/html"]
    assert "1 of 4 in this lesson." in right["text/plain"] and "<details>" not in str(right)
    assert solved["text/plain"].startswith("class Sigmoid(") and "###" not in solved["text/plain"]


SIGMOID = """class Sigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = 1 / (1 + (-x).exp())
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result * (1 - result)
"""


def test_a_file_that_a_teacher_released_has_no_solution() -> None:
    with pytest.raises(LookupError, match="no solution of 'sigmoid-function' here"):
        solution("sigmoid-function")
    with pytest.raises(ValueError, match="Did you mean 'sigmoid-function'"):
        solution("sigmoid-functoin")


def test_the_last_exercise_of_a_lesson_names_the_next_lesson(place: Path) -> None:
    done = {each.name: each.points for each in lessons()["00-slopes-and-a-graph"]}
    place.write_text(json.dumps({"exercises": done}))
    assert _standing("slope-of-a-line") == [f"{len(done)} of {len(done)} in this lesson. Next: 01-a-graph-appears."]


def test_outside_of_a_notebook_nothing_is_written(place: Path) -> None:
    check("slope-of-a-line", 4)
    assert beside(place) == []


HOSTILE = {
    "nothing": b"",
    "half": b'{"exercises": {"slope-of-a-line": 1',
    "a list": b"[1, 2]",
    "a list inside": b'{"exercises": [1]}',
    "not text": b"\xff\xfe\x00",
    "deep": b"[" * 200_000,
    "large": b'{"exercises": {"a": "' + b"x" * 2_000_000 + b'"}}',
    "odd points": json.dumps({"exercises": {"a": "<b>", "b": True, "c": None, "d": -1, "e": 1e9, "f": [1]}}).encode(),
    "not a number": b'{"exercises": {"slope-of-a-line": NaN, "grad-at-a-fork": Infinity}}',
    "a long name": json.dumps({"exercises": {"x" * 1000: 1}}).encode(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_damaged_file_is_set_aside_and_never_lost(place: Path, name: str) -> None:
    place.write_bytes(HOSTILE[name])
    assert repr(progress()) == repr(Progress({}))
    keep_points(place, "slope-of-a-line", 1)
    place.write_bytes(HOSTILE[name])
    keep_points(place, "slope-of-a-line", 1)
    assert read_points(place) == {"slope-of-a-line": 1}
    aside = [place.with_name(name) for name in beside(place) if name != FILE]
    assert [path.read_bytes() for path in aside] == [HOSTILE[name]] * 2


def test_what_can_be_read_of_a_damaged_file_is_taken_over(place: Path) -> None:
    place.write_text('{"exercises": {"slope-of-a-line": 1, "grad-at-a-fork": "much"}, "more": 1}')
    keep_points(place, "three-backwards", 1)
    assert read_points(place) == {"slope-of-a-line": 1, "three-backwards": 1}
    assert len(beside(place)) == 2


def test_points_of_unknown_exercises_are_kept_but_do_not_count(place: Path) -> None:
    keep_points(place, "next-years-exercise", 5)
    keep_points(place, "slope-of-a-line", 1)
    assert read_points(place) == {"next-years-exercise": 5, "slope-of-a-line": 1}
    assert progress().points == 1
    assert Progress({"slope-of-a-line": 900}).points == 1


def test_a_write_that_fails_loses_nothing_and_is_told(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_points(place, "slope-of-a-line", 1)
    before = place.read_bytes()

    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("workbench.classroom.checks._in_notebook", lambda: True)
    with monkeypatch.context() as broken:
        broken.setattr("os.replace", full)
        assert check("grad-at-a-fork", 9).right
    assert (
        capsys.readouterr().out == f"progress() won't show this: {FILE} can't be written (No space left on device).\n"
    )
    assert place.read_bytes() == before and beside(place) == [FILE]
    check("grad-at-a-fork", 9)
    assert read_points(place) == {"grad-at-a-fork": 1, "slope-of-a-line": 1}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes on this system")
def test_a_pipe_of_this_name_is_neither_waited_for_nor_written(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(place)
    monkeypatch.setattr("workbench.classroom.checks._in_notebook", lambda: True)
    assert check("grad-at-a-fork", 9).right and progress().points == 0
    assert "progress() won't show this: " in capsys.readouterr().out


def test_the_picture_says_what_its_text_says() -> None:
    done = {"slope-of-a-line": 1.0, "cube-backward": 0.5, "<script>": 3.0}
    shown = Progress(done)
    found = re.fullmatch(r'<img alt="([^"]+)" src="data:image/svg\+xml;base64,([^"]+)">', shown._repr_html_())
    assert found
    drawn = ElementTree.fromstring(base64.b64decode(found[2]))
    texts = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[-1] != "<script>" and set(exercises()) <= set(texts)
    assert {f"Lesson {int(name[:2])}" for name in lessons()} <= set(texts)
    lines = repr(shown).splitlines()
    assert lines[0] == f"1.5 of {progress().most:g} points"
    assert "  ● slope-of-a-line: 1 of 1 point" in lines
    assert "  ◐ cube-backward: 0.5 of 2 points" in lines
    assert "  ○ three-backwards: 0 of 1 point, not answered" in lines
    assert shown.to_svg().count("<circle") == len(exercises())


def test_everything_done_fills_the_bar() -> None:
    whole = Progress({exercise.name: exercise.points for exercise in exercises().values()})
    assert whole.points == whole.most and "○" not in repr(whole) and "◐" not in repr(whole)
