"""The teacher's page: its times, points, plans and misconceptions are those of the lessons, and so is what can be seen.

A new lesson needs a row in the table of lessons, and its number in both plans.
"""

from __future__ import annotations

import base64
import json
import re
import tomllib
import zlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
from lab import CHECKOUT
from nbformat.v4 import new_code_cell, new_notebook

from workbench.classroom.judging import Exercise
from workbench.classroom.registry import file_of, registered
from workbench.cli import main
from workbench.cli.handed_in import Assignment, lesson_of
from workbench.cli.notebooks import read

TEACHING = CHECKOUT / "assets" / "docs" / "teaching"
PAGES = ("plan-a-course", "lesson-catalog", "what-students-can-see")
PAGE = "\n".join((TEACHING / f"{name}.md").read_text(encoding="utf-8") for name in PAGES)
NOTEBOOKS = sorted((CHECKOUT / "notebooks").glob("*.ipynb"))
ROW = re.compile(r"^\| (.+) \|$", re.M)


class Told(NamedTuple):
    """What a lesson says of itself."""

    title: str
    minutes: int
    needs: set[int]
    exercises: dict[str, Exercise]

    @property
    def points(self) -> float:
        return sum(each.points for each in self.exercises.values())


def table(heading: str) -> list[list[str]]:
    """The rows of the table whose first heading this is, without its heading."""
    found = PAGE[PAGE.index(f"\n| {heading} | ") :].partition("\n\n")[0]
    return [row.split(" | ") for row in ROW.findall(found)][1:]


@cache
def lessons() -> dict[int, Told]:
    made = {}
    for path in NOTEBOOKS:
        line = nbformat.read(path, as_version=4).cells[0].source
        (minutes,) = re.findall(r"\*\*Time:\*\* about (\d+) minutes", line)
        (needs,) = re.findall(r"\*\*You need:\*\* (.*?)(?: \(| ·)", line)
        numbers = {int(number) for number in re.findall(r"\d+", needs)}
        title = line.partition("\n")[0].removeprefix("# ")
        made[int(path.stem[:2])] = Told(title, int(minutes), numbers, dict(registered(file_of(path))))
    return made


def test_the_table_has_a_row_for_each_lesson_with_its_time_and_points() -> None:
    rows = table("lesson")
    told = zip(lessons().values(), NOTEBOOKS, strict=True)
    assert [row[0] for row in rows] == [f"[{each.title}](../lessons/{path.name})" for each, path in told]
    said = [(int(row[2]), float(row[3])) for row in rows]
    assert said == [(each.minutes, each.points) for each in lessons().values()]
    assert all(len(row) == 6 and all(row) for row in rows)


def test_the_misconceptions_of_a_row_are_those_of_its_lesson() -> None:
    for row, lesson in zip(table("lesson"), lessons().values(), strict=True):
        named = re.findall(r"\*([^*]+)\*", row[4])
        known = {each.name for exercise in lesson.exercises.values() for each in exercise.misconceptions}
        assert len(named) >= 2 and "; ".join(f"*{name}*" for name in named) == row[4]
        assert {*named} - known == set(), row[0]


def test_a_shorter_course_has_what_its_lessons_need_and_adds_up() -> None:
    for _, numbers, minutes, points in table("course"):
        chosen = [int(number) for number in re.findall(r"\d+", numbers)]
        assert all(lessons()[number].needs <= {*chosen} for number in chosen)
        assert (int(minutes), float(points)) == summed_up(chosen)


def summed_up(numbers: list[int]) -> tuple[int, float]:
    chosen = [lessons()[number] for number in numbers]
    return sum(each.minutes for each in chosen), sum(each.points for each in chosen)


@pytest.mark.parametrize("heading", ["week", "day"])
def test_a_plan_has_each_lesson_once_after_what_it_needs_and_adds_up(heading: str) -> None:
    done: list[int] = []
    for _, numbers, minutes, points in table(heading):
        new = [int(number) for number in re.findall(r"\d+", numbers)]
        for number in new:
            assert lessons()[number].needs <= {*done}, number
            done.append(number)
        if new:
            assert (int(minutes), float(points)) == summed_up(new)
    # A term has time for all; a week has as many as lesson 0 says.
    first = nbformat.read(NOTEBOOKS[0], as_version=4)
    (week,) = re.findall(r"\*\*A week:\*\* lessons ([\d, ]+)", "\n".join(cell.source for cell in first.cells))
    chosen = [*lessons()] if heading == "week" else [int(number) for number in re.findall(r"\d+", week)]
    assert sorted(done) == chosen


@pytest.mark.slow
def test_what_students_can_see_is_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "02-backward-one-node-at-a-time"
    assert main(["release", str(CHECKOUT / "notebooks" / f"{name}.ipynb"), "--student", str(tmp_path)]) == 0
    handed_out = nbformat.read(tmp_path / f"{name}.ipynb", as_version=4)
    assert not any("SOLUTION" in cell.source or cell.get("outputs") for cell in handed_out.cells)
    monkeypatch.chdir(tmp_path)
    from workbench.classroom.registry import find

    assert 'find("grad-at-a-fork").solution` raises an error' in PAGE
    with pytest.raises(LookupError, match="The teacher's file has the solution"):
        assert find("grad-at-a-fork").solution
    assert find("grad-at-a-fork").judge(9).right
    # Who decodes it has the value, as the page says.
    text = re.findall(r'^    "([A-Za-z0-9+/=]+)"$', (tmp_path / f"{name}.exercises.py").read_text("utf-8"), re.M)
    assert json.loads(zlib.decompress(base64.b64decode("".join(text))))["grad-at-a-fork"]["right"] == {
        "the value": ["array", [], [9.0]]
    }
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "notebooks" in project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    with pytest.raises(ValueError, match="No exercise named"):  # the notebook alone, without its file
        (tmp_path / f"{name}.exercises.py").unlink()
        find("grad-at-a-fork")


def test_a_notebook_without_its_exercises_is_known_by_the_teachers_file() -> None:
    path = NOTEBOOKS[2]
    lesson = Assignment.of(read(path), path, file_of(path))
    cell = new_code_cell('# exercise: grad-at-a-fork\na_grad = 9\ncheck("grad-at-a-fork", a_grad)')
    assert lesson_of(new_notebook(cells=[cell]), [lesson]) is lesson


def test_each_engine_that_is_handed_out_is_said_to_hold_solutions() -> None:
    engines = sorted(path.name for path in (CHECKOUT / "notebooks").glob("engine_*.py"))
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{engines[0]}`")]
    assert f"`{engines[-1]}`" in row and "solutions" in row
