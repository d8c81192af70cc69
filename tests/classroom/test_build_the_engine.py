"""What the lessons that build an engine write is, line by line, what the engines beside them hold."""

from __future__ import annotations

import ast
from typing import Any

import nbformat
import pytest
from lab import CHECKOUT

from workbench.classroom.handout import name_of

FOLDER = CHECKOUT / "notebooks"
# What each sitting writes or shows of its engine.
BUILT = {
    ("19-build-the-engine-values", "engine_1"): {
        "Node",
        "AccumulateGrad",
        "count_arrivals",
        "take_next",
        "walk",
        "Value",
        "data_of",
        "record",
    },
    ("20-build-the-engine-tensors", "engine_2"): {"sum_to", "Mm", "Mean"},
}


def functions(tree: ast.Module) -> dict[str, str]:
    """The functions of a module and the methods of its classes by name, without their docstrings."""
    found = {}
    for each in tree.body:
        inside = each.body if isinstance(each, ast.ClassDef) else [each]
        for function in inside:
            if isinstance(function, ast.FunctionDef):
                if ast.get_docstring(function):
                    del function.body[0]
                name = f"{each.name}.{function.name}" if isinstance(each, ast.ClassDef) else function.name
                found[name] = ast.unparse(function)
    return found


def code_of(lesson: str) -> ast.Module:
    cells: list[Any] = nbformat.read(FOLDER / f"{lesson}.ipynb", as_version=4).cells
    return ast.parse("\n".join(cell.source for cell in cells if cell.cell_type == "code"))


@pytest.mark.parametrize(("lesson", "engine"), BUILT)
def test_a_lesson_writes_the_engine_beside_it(lesson: str, engine: str) -> None:
    written = functions(code_of(lesson))
    kept = functions(ast.parse((FOLDER / f"{engine}.py").read_text(encoding="utf-8")))
    parts = {name: code for name, code in written.items() if name.partition(".")[0] in BUILT[lesson, engine]}
    assert {name.partition(".")[0] for name in parts} == BUILT[lesson, engine]
    assert {name: code for name, code in parts.items() if kept.get(name) != code} == {}


@pytest.mark.parametrize(("lesson", "engine"), BUILT)
def test_the_solutions_of_its_exercises_are_those_of_its_cells(lesson: str, engine: str) -> None:
    cells = nbformat.read(FOLDER / f"{lesson}.ipynb", as_version=4).cells
    asked = functions(ast.parse("\n".join(cell.source for cell in cells if name_of(cell))))
    judged = functions(ast.parse((FOLDER / f"{lesson}.exercises.py").read_text(encoding="utf-8")))
    given = {"AccumulateGrad.__init__", "AccumulateGrad.name", "Mm.forward"}  # not all of them is asked for
    assert {name for name, code in asked.items() if name not in given and judged.get(name) != code} == set()


def test_apply_is_the_engines_own() -> None:
    written = functions(code_of("20-build-the-engine-tensors"))["apply"]
    kept = functions(ast.parse((FOLDER / "engine_2.py").read_text(encoding="utf-8")))["Function.apply"]
    assert kept.removeprefix("@classmethod\n") == written
