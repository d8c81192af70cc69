"""Grade notebooks that were handed in: run each here, whatever kernel it was written with, and judge its exercises."""

from __future__ import annotations

import asyncio
import csv
import io
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from nbclient.util import run_sync
from nbformat import NotebookNode

from workbench.classroom.judging import Verdict, counted
from workbench.classroom.registry import SUFFIX, file_of
from workbench.cli import errors
from workbench.cli.errors import CommandError, check_loopback
from workbench.cli.handed_in import Assignment, lesson_of, to_judge, verdicts
from workbench.cli.lab import SHIPPED, checkout
from workbench.cli.notebooks import exercises_of, modules_of, place_to_grade, read
from workbench.cli.pages import client_of
from workbench.scene.picture import check_place, write_whole

SECONDS = 60  # of one cell: what runs on is interrupted, and the next cell runs
COLUMNS = ("notebook", "lesson", "exercise", "points", "of", "what is said")


def grade(place: Path, lessons: Path | None, output: Path | None) -> None:
    """Grade all notebooks of a folder, and of the folders in it; a table is written where a file is named for it.

    A CommandError says at the end how many could not be graded: the others are.
    """
    if output is not None:
        check_output(output)
    found = grade_all(place, lessons)
    if output is not None:
        _write([COLUMNS, *(row for each in found for row in each.rows)], output)
    check_graded(found)


@dataclass(frozen=True)
class Graded:
    """A notebook that was handed in: its name, its lesson and what its answers are given, or why it has none."""

    name: str
    lesson: Assignment | None = None
    said: Sequence[Verdict] = ()
    refused: str = ""

    @property
    def rows(self) -> list[Sequence[str]]:
        """Its rows in a table."""
        lesson = self.lesson.name if self.lesson else ""
        return [
            (self.name, lesson, each.exercise, f"{each.points:g}", f"{each.most:g}", each.says) for each in self.said
        ]


def check_output(output: Path) -> None:
    """Refuse a file that cannot be written before notebooks run for it."""
    try:
        check_place(output)
    except OSError as error:
        raise CommandError(errors.NOT_WRITTEN.format(output, error.strerror)) from None


def check_graded(found: Sequence[Graded]) -> None:
    """Say by a CommandError how many could not be graded, if any."""
    failed = sum(each.lesson is None for each in found)
    if failed:
        raise CommandError(errors.UNGRADED.format(failed, len(found)))


def grade_all(place: Path, lessons: Path | None) -> list[Graded]:
    """Run all notebooks of a folder, or one, and print a line for each: what each is given, or why it is not graded."""
    check_loopback()
    known = _lessons(lessons)
    found = [place] if place.is_file() else [path for path in sorted(place.rglob("*.ipynb")) if _is_handed_in(path)]
    if not found:
        raise CommandError(errors.NO_NOTEBOOKS.format(place))
    made = []
    for path in found:
        name = path.name if place.is_file() else path.relative_to(place).as_posix()
        try:
            each = Graded(name, *graded(path, known))
        except CommandError as error:
            each = Graded(name, refused=str(error))
        print(shown(f"{name}: {each.refused or _summed_up(each.said)}"), flush=True)
        made.append(each)
    return made


def _is_handed_in(path: Path) -> bool:
    # Beside the second name lie, in an archive made on macOS, what its files say of others.
    return not {".ipynb_checkpoints", "__MACOSX"} & {*path.parts} and not path.name.startswith("._")


def _lessons(folder: Path | None) -> list[Assignment]:
    """The lessons by which notebooks are graded: those of a folder, or the workbench's own."""
    home = checkout()
    source = folder or (SHIPPED if home is None else home / "notebooks")
    paths = [path for path in sorted(source.glob("*.ipynb")) if exercises_of(path)]
    if not paths:
        raise CommandError(errors.NO_LESSONS.format(source))
    return [Assignment.of(read(path), path, file_of(path)) for path in paths]


def graded(path: Path, lessons: Sequence[Assignment]) -> tuple[Assignment, list[Verdict]]:
    """Run one notebook, and say what each exercise of its lesson is given."""
    notebook = read(path)
    lesson = lesson_of(notebook, lessons)
    if lesson is None:
        raise CommandError(errors.NO_LESSON.format(lessons[0].file.parent))
    own = lesson.file.with_name(lesson.file.name.removesuffix(SUFFIX) + path.suffix)
    # Of a module that both have the lesson's is taken.
    modules = {file.name: file for place in (path, own) for file in modules_of(place, notebook)}
    return lesson, verdicts(ran(notebook, lesson, modules.values()), lesson)


def ran(notebook: NotebookNode, lesson: Assignment, modules: Iterable[Path]) -> NotebookNode:
    """Run a copy of a notebook in which the answers to a lesson are judged."""
    with place_to_grade(lesson.file, modules) as (place, file):
        copy = to_judge(notebook, lesson, file)
        _run(copy, place)
    return copy


def _run(notebook: NotebookNode, place: str) -> None:
    """Run all cells: one that fails or never ends is left, and where the kernel dies, so are those behind it."""
    client = client_of(notebook, place, allow_errors=True, timeout=SECONDS, interrupt_on_timeout=True)
    try:
        with client.setup_kernel(stderr=subprocess.DEVNULL):
            for index, cell in enumerate(notebook.cells):
                run_sync(_run_cell)(client, cell, index)
    except (DeadKernelError, TimeoutError):
        pass
    finally:
        client._cleanup_kernel()


async def _run_cell(client: NotebookClient, cell: NotebookNode, index: int) -> None:
    # A loop that catches interrupts, as under a bare `except`, would take them for ever: it ends with its kernel.
    await asyncio.wait_for(client.async_execute_cell(cell, index), 2 * SECONDS)


def shown(line: str) -> str:
    """The line as a terminal may have it: names of files are a student's, and may hold what moves its cursor."""
    return "".join([each if each.isprintable() else ascii(each)[1:-1] for each in line])


def _summed_up(said: Sequence[Verdict]) -> str:
    points = f"{sum(each.points for each in said):g} of {counted(sum(each.most for each in said))}"
    missed = ", ".join(each.exercise for each in said if not each.right)
    return f"{points}; not right: {missed}" if missed else points


def _write(rows: Sequence[Sequence[str]], output: Path) -> None:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([[_plain(cell) for cell in row] for row in rows])
    try:
        write_whole(output, text.getvalue().encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise CommandError(errors.NOT_WRITTEN.format(output, error.strerror)) from None


def _plain(cell: str) -> str:
    # A spreadsheet would compute what begins so, and names of files and errors' texts are a student's.
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
