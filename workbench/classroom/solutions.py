"""Solutions of the lessons, for those who practice: none in what a teacher releases."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

from ..errors import did_you_mean
from .registry import NAME, SUFFIX, exercises, home_of

MARK = "workbench_handed_out"  # in the copies that `workbench lab` writes
SOLUTIONS = "workbench-solutions.json"  # of a site for practice, which has no lessons with solutions
NONE_HERE = (
    "There's no solution of {!r} here. Copies of the lessons that `workbench lab` made have solutions; what a teacher "
    "released has none."
)
_PACKAGE = Path(__file__).parents[1]


class Solution(str):
    """The code of a solution, which prints as such."""

    def __repr__(self) -> str:
        return str(self)


def solution(name: str) -> Solution:
    """Return the code of an exercise's solution, if this is a practice copy of a lesson.

    Args:
        name: The name of the exercise.

    Raises:
        ValueError: if no exercise has this name.
        LookupError: if its solution isn't here.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name) or home_of(name) is None:
        raise ValueError(f"No exercise named {name!r}.{did_you_mean(str(name), [*exercises()])}")
    if not (found := practice_solution(name)):
        raise LookupError(NONE_HERE.format(name))
    return Solution(found)


def practice_solution(name: str) -> str:
    """Return the code of an exercise's solution in a practice copy of a lesson; "" anywhere else."""
    home = home_of(name)
    if home is None or not _is_practice(home):
        return ""
    if (beside := home.with_name(SOLUTIONS)).exists():  # of a site, which has no notebooks beside the package
        return json.loads(beside.read_text(encoding="utf-8")).get(name, "")
    lesson = f"{home.name.removesuffix(SUFFIX)}.ipynb"
    found = [
        each for place in (_PACKAGE / "lessons", _PACKAGE.parent / "notebooks") if (each := place / lesson).exists()
    ]
    return solutions_in(found[0]).get(name, "") if found else ""


def _is_practice(file: Path) -> bool:
    return file.read_text(encoding="utf-8").rstrip().rpartition("\n")[2].startswith(f"# {MARK}: ")


def solutions_in(notebook: Path) -> dict[str, str]:
    """Return the code of each solution in a lesson, by the name of its exercise."""
    from .handout import name_of, solution

    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    given = [SimpleNamespace(cell_type=each["cell_type"], source="".join(each["source"])) for each in cells]
    # Without the first line, which is the name.
    return {name: solution(cell).partition("\n")[2].strip() for cell in given if (name := name_of(cell))}
