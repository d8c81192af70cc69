"""What learners answer, right and wrong: read from tests/answers/, and judged as in the cells of the lessons.

A file holds the answers to one lesson. `# prediction: CELL to CELL` begins what is typed into the first of these cells,
and is right where the second one checks it. `# exercise: NAME` begins an exercise. Under it, `# right` begins an answer
that is right, other than the lesson's own; `# wrong: NAME` a wrong one with the misconception that it shows; `# wrong`
one that no hint is about; `# wrong, and told: TEXT` one whose verdict contains the text; `# or` another one of the same
kind. An answer replaces the solution in the lesson's cell: `---` separates two places, and a value is written alone.
"""

from __future__ import annotations

import ast
import linecache
import re
from functools import cache
from pathlib import Path
from typing import Any

import nbformat

import workbench as torch
from workbench.classroom.handout import name_of
from workbench.classroom.registry import exercises

CHECKOUT = Path(__file__).resolve().parents[2]
EXERCISES = exercises(CHECKOUT / "notebooks")
HEAD = re.compile(r"^# (prediction|exercise|right|wrong, and told|wrong|or)(?:: (.+))?\n", re.M)
SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION\n", re.S | re.M)
CELL = "<a learner's cell>"
ABSENT = re.compile("import (torch|matplotlib)")  # not installed, or slow: no answer needs it
# What answers use of the engines that lessons write.
ENGINES = {"Value", "in_order", "Node", "data_of", "AccumulateGrad", "written_over", "freed"}

RIGHT: list[tuple[str, str]] = []  # the exercise and the answer
WRONG: dict[str, list[tuple[str, str | None]]] = {}  # by exercise: the answers and their misconceptions
TOLD: list[tuple[str, str, str]] = []  # the exercise, the answer and what its verdict contains
PREDICTIONS: dict[str, list[tuple[str, str, str]]] = {}  # by lesson: the cell, what is typed and the cell that checks


def _read(lesson: str, text: str) -> None:
    _, *parts = HEAD.split(text)
    PREDICTIONS[lesson] = []
    name = kind = detail = ""
    for each, more, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if each == "exercise":
            name = more
            WRONG[name] = []
            continue
        if each != "or":
            kind, detail = each, more
        written = body.removesuffix("\n")
        if kind == "prediction":
            first, last = detail.split(" to ")
            PREDICTIONS[lesson].append((first, written, last))
        elif kind == "right":
            RIGHT.append((name, written))
        elif kind == "wrong":
            WRONG[name].append((written, detail))
        else:
            TOLD.append((name, written, detail))


for _path in sorted((CHECKOUT / "tests" / "answers").glob("*.txt")):
    _read(_path.stem, _path.read_text(encoding="utf-8"))


@cache
def lesson_of(name: str) -> tuple[Any, dict[str, Any]]:
    """The cell of an exercise, and the names that the cells above it have given: imports, and an own engine."""
    for path in sorted((CHECKOUT / "notebooks").glob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        for cell in cells:
            if cell.cell_type == "code" and name_of(cell) == name:
                return cell, _names_of(cells)
    raise LookupError(name)


def _names_of(cells: list[Any]) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__", "torch": torch}
    for cell in (cell for cell in cells if cell.cell_type == "code"):
        for each in ast.parse(cell.source).body:
            imports = isinstance(each, ast.Import | ast.ImportFrom) and not ABSENT.match(ast.unparse(each))
            if imports or (isinstance(each, ast.ClassDef | ast.FunctionDef) and each.name in ENGINES):
                exec(ast.unparse(each), names)
    return names


def handed_in(name: str, written: str) -> str:
    """The cell of an exercise with what was written instead of its solution."""
    parts = iter(written.split("\n---\n"))

    def put(found: re.Match[str]) -> str:
        part = next(parts)
        if not EXERCISES[name].is_code:
            part = f"{found[2].partition(' =')[0]} = {part}"
        return "".join(f"{found[1]}{line}\n" for line in part.splitlines())

    filled = SOLUTION.sub(put, lesson_of(name)[0].source)
    assert next(parts, None) is None
    return filled


def verdict_of(name: str, written: str) -> Any:
    """What is said below the cell."""
    text = handed_in(name, written)
    *lines, last = ast.parse(text).body
    names = dict(lesson_of(name)[1])
    linecache.cache[CELL] = (len(text), None, text.splitlines(keepends=True), CELL)  # as a notebook does
    exec(compile(ast.Module(lines, []), CELL, "exec"), names)
    return eval(compile(ast.Expression(last.value), "<check>", "eval"), names)


def solution_of(name: str) -> str:
    """The lesson's own solution, written as an answer."""
    found = SOLUTION.findall(lesson_of(name)[0].source)
    plain = ["\n".join(line[len(indent) :] for line in text.splitlines()) for indent, text in found]
    return "\n---\n".join(each if EXERCISES[name].is_code else each.partition("= ")[2] for each in plain)
