"""Submissions: which exercises a notebook answers, and how running it yields the points."""

from __future__ import annotations

import ast
import copy
import dis
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from nbformat.v4 import new_code_cell

from ..classroom.handout import answer_of, name_of
from ..classroom.judging import Exercise, Verdict, counted
from ..classroom.registry import registered
from .errors import UNCHECKED, CommandError

VERDICT = "application/vnd.workbench.verdict+json"
JUDGES = "workbench_judges"  # in the metadata of the cells whose verdicts count
ABSENT = "Not in this notebook ({})."
NOT_RUN = "The kernel crashed before this was graded ({})."
RAISED = "Reading the answer raised {}: {}"
# Errors for code that Python can't run; the file name after the message means nothing to a reader.
BROKEN = ("SyntaxError", "IndentationError", "TabError")
STOPPED = "The cell stopped with {}: {}"
_PLACE = re.compile(r" \([^()\s]+, line (\d+)\)$")

# Packages that a notebook from a browser installs are here already, and grading must not change this environment.
_FIRST = """def _nothing_is_installed(line=""):
    pass


for _name in ("pip", "conda", "mamba", "uv"):
    get_ipython().register_magic_function(_nothing_is_installed, magic_name=_name)
del _name"""


@dataclass(frozen=True)
class Assignment:
    """A teacher's lesson: its name, its exercise file, and the expression that answers each exercise."""

    name: str
    file: Path
    exercises: Mapping[str, Exercise]
    answers: Mapping[str, str]
    ambiguous: frozenset[str] = frozenset()  # exercises whose answers use names that other cells bind too

    @classmethod
    def of(cls, notebook: Any, path: Path, file: Path) -> Assignment:
        """Return the lesson in a notebook, read from `path`, whose exercises are registered in `file`."""
        found = registered(file)
        named = {name: answer_of(name, cell.source) for cell in notebook.cells if (name := name_of(cell))}
        for name in named:
            if named[name] is None and name in found:
                raise CommandError(UNCHECKED.format(path, name, name))
        answers = {name: answer for name, answer in named.items() if answer is not None and name in found}
        bound = [(name_of(cell), _bound(cell.source)) for cell in notebook.cells if cell.cell_type == "code"]
        ambiguous = {
            name
            for name, answer in answers.items()
            if any(cell != name and names & _names(answer) for cell, names in bound)
        }
        return cls(path.stem, file, {name: found[name] for name in answers}, answers, frozenset(ambiguous))


def lesson_of(notebook: Any, lessons: Iterable[Assignment]) -> Assignment | None:
    """Return the lesson that shares most exercises with a notebook, whatever the file is called."""
    best, most = None, 0
    for lesson in lessons:
        held = sum(bool(_cells(notebook, name)) for name in lesson.answers)
        if held > most:
            best, most = lesson, held
    return best


def _cells(notebook: Any, name: str) -> list[int]:
    """Return the numbers of the cells that answer an exercise: those with its name or its check."""
    check = re.compile(rf"""^[^#\n]*\bcheck\(\s*["']{re.escape(name)}["']""", re.M)
    code = [(number, cell) for number, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    return [number for number, cell in code if name_of(cell) == name or check.search(cell.source)]


def _bound(source: str) -> frozenset[str]:
    """Return the names that a cell binds; none if Python can't run it."""
    try:
        code = compile(re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.M), "cell", "exec")
    except (SyntaxError, ValueError):
        return frozenset()
    stores = ("STORE_NAME", "STORE_GLOBAL")
    return frozenset(each.argval for each in dis.get_instructions(code) if each.opname in stores)


def to_judge(notebook: Any, lesson: Assignment, file: Path) -> Any:
    """Return a copy to run, in which a cell after each answer judges it with the teacher's exercise file."""
    made = copy.deepcopy(notebook)
    behind: dict[int, list[str]] = {}
    for name in lesson.answers:
        for number in _cells(made, name):
            behind.setdefault(number, []).append(name)
    cells = [new_code_cell(_FIRST)]
    for number, cell in enumerate(made.cells):
        cell.metadata.pop(JUDGES, None)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        cells += [_noting(name, lesson) for name in behind.get(number, ())]
        cells.append(cell)
        is_emptied = not re.sub(r"#.*", "", cell.source).strip()
        for name in behind.get(number, ()):
            binds = _bound(cell.source) & _names(lesson.answers[name])  # perhaps to the same value as before
            cells.append(_judging(name, lesson, file, not binds and (is_emptied or name in lesson.ambiguous)))
    made.cells = cells
    return made


def _noting(name: str, lesson: Assignment) -> Any:
    return new_code_cell(
        f"from workbench.cli.handed_in import noted as _noted\n_noted({name!r}, {_read(name, lesson)})"
    )


def _read(name: str, lesson: Assignment) -> str:
    """Return code for a dict of the values of the names in an answer."""
    return f"{{each: globals().get(each) for each in {sorted(_names(lesson.answers[name]))!r}}}"


def _names(answer: str) -> set[str]:
    """Return the names that the code of an answer reads."""
    return {each.id for each in ast.walk(ast.parse(answer.strip(), mode="eval")) if isinstance(each, ast.Name)}


_before: dict[str, Mapping[str, Any]] = {}  # by exercise: the values of the names in its answer before its cell ran


def noted(name: str, values: Mapping[str, Any]) -> None:
    """Store the values of the names in an answer before its cell runs."""
    _before[name] = values


def _judging(name: str, lesson: Assignment, file: Path, is_new: bool) -> Any:
    answer = f"lambda: (\n{lesson.answers[name]}\n)"
    line = f"_judged({str(file.resolve())!r}, {name!r}, {answer}, {_read(name, lesson)}, {is_new})"
    return new_code_cell(f"from workbench.cli.handed_in import judged as _judged\n{line}", metadata={JUDGES: True})


def judged(file: str, name: str, answer: Callable[[], Any], now: Mapping[str, Any], is_new: bool = False) -> None:
    """Judge an answer with the grader's file, whatever else this session registers, and store the verdict.

    Args:
        file: The grader's exercise file.
        name: The exercise.
        answer: A function that returns the answer.
        now: The values of the names in the answer.
        is_new: Whether an answer that an earlier cell made counts as none.
    """
    from IPython.display import display

    exercise = registered(Path(file))[name]
    before = _before.get(name, {})
    # If the cell stopped or is empty, a value that an earlier cell gave to the same name isn't an answer.
    is_old = bool(before) and all(now[each] is value for each, value in before.items())
    try:
        given = answer()
    except Exception as error:  # NameError most often: the cell failed before it made the answer
        is_read = False
        verdict = Verdict(name, 0, exercise.points, RAISED.format(type(error).__name__, error))
    else:
        is_read = True
        verdict = exercise.judge(... if is_old and is_new else given)
    said = asdict(replace(verdict, tables=()))  # they are for the student
    display({VERDICT: said | {"is_read": is_read, "is_old": is_old}}, raw=True)


def verdicts(ran: Any, lesson: Assignment) -> list[Verdict]:
    """Return the verdict on each exercise of the lesson, from a run of the copy; the best of several answers counts."""
    found: dict[str, Verdict] = {}
    for name, said in _entries(ran):
        exercise = lesson.exercises.get(name)
        if exercise is None:
            continue
        points = min(float(said["points"]), exercise.points)
        named = next((each.name for each in exercise.misconceptions if each.name == said.get("misconception")), None)
        answered, partly = bool(said.get("answered")), bool(said.get("partly"))
        verdict = Verdict(name, points, exercise.points, said["says"], named, answered, partly)
        if name not in found or _reached(verdict) > _reached(found[name]):
            found[name] = verdict
    return [found.get(name) or _unjudged(ran, exercise) for name, exercise in lesson.exercises.items()]


def _reached(verdict: Verdict) -> tuple[float, bool, bool]:
    return verdict.points, verdict.partly, verdict.answered


def _entries(ran: Any) -> Iterable[tuple[str, Any]]:
    stopped: tuple[str, str] | None = None  # the error of the student's cell
    for cell in ran.cells:
        if cell.metadata.get(JUDGES):
            for output in cell.outputs:
                said = output.get("data", {}).get(VERDICT)
                if said is not None:
                    yield said["exercise"], _with_error(said, stopped)
        elif cell.cell_type == "code":
            errors = [each for each in cell.outputs if each.output_type == "error"]
            stopped = next(((each.ename, each.evalue) for each in errors), None)


def _with_error(entry: dict[str, Any], stopped: tuple[str, str] | None) -> dict[str, Any]:
    """Return the verdict on an answer; if its cell stopped before the answer was made, that error replaces it."""
    if stopped is None:
        return entry
    is_made = entry.get("is_read", True) and not entry.get("is_old")
    if is_made and (entry.get("points") or stopped[0] not in BROKEN):
        return entry
    kind, text = stopped
    why = STOPPED.format(kind, _PLACE.sub(r", in line \1", text) or "no message")
    return entry | {"says": why, "points": 0, "misconception": None, "partly": False}


def _unjudged(ran: Any, exercise: Exercise) -> Verdict:
    why = NOT_RUN if _cells(ran, exercise.name) else ABSENT
    return Verdict(exercise.name, 0, exercise.points, why.format(counted(exercise.points)), None, False)
