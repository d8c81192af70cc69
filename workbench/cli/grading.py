"""Grade submitted notebooks: run each one here, whatever kernel it was written with, and judge its exercises."""

from __future__ import annotations

import asyncio
import csv
import io
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from nbclient.util import run_sync
from nbformat import NotebookNode

from workbench.classroom.course import PAGE
from workbench.classroom.judging import Verdict, counted
from workbench.classroom.registry import SUFFIX, file_of
from workbench.cli import errors
from workbench.cli.errors import CommandError, check_loopback
from workbench.cli.handed_in import Assignment, lesson_of, to_judge, verdicts
from workbench.cli.lab import SHIPPED, checkout
from workbench.cli.notebooks import exercises_of, modules_of, place_to_grade, read
from workbench.cli.pages import client_of
from workbench.pictures.scene.picture import check_place, write_whole

SECONDS = 30  # per cell: then it is interrupted and the next cell runs
_AT_ONCE = 2  # notebooks that run at the same time
_sealing = Lock()  # it redirects what the process prints, and seeds its random numbers
COLUMNS = ("notebook", "lesson", "exercise", "points", "of", "what is said")


def grade(place: Path, lessons: Path | None, output: Path | None, timeout: float = SECONDS) -> None:
    """Grade all notebooks of a folder and its subfolders.

    Args:
        place: A folder of submissions, or one notebook.
        lessons: The folder of the lessons, if they aren't the built-in ones.
        output: The CSV file to write, if any.
        timeout: How long a cell may run, in seconds.

    Raises:
        CommandError: at the end, if some couldn't be graded.
    """
    if output is not None:
        check_output(output)
    found = grade_all(place, lessons, timeout)
    if output is not None:
        _write([COLUMNS, *(row for each in found for row in each.rows)], output)
    check_graded(found)


@dataclass(frozen=True)
class Graded:
    """A submission: its name, its lesson and the verdicts on its answers, or why it couldn't be graded."""

    name: str
    lesson: Assignment | None = None
    said: Sequence[Verdict] = ()
    refused: str = ""

    @property
    def rows(self) -> list[Sequence[str]]:
        """Its rows in the CSV, one for each exercise."""
        lesson = self.lesson.name if self.lesson else ""
        return [
            (self.name, lesson, each.exercise, f"{each.points:g}", f"{each.most:g}", each.says) for each in self.said
        ]


def check_output(output: Path) -> None:
    """Refuse a file that can't be written, before any notebook runs."""
    try:
        check_place(output)
    except OSError as error:
        raise CommandError(errors.NOT_WRITTEN.format(output, error.strerror)) from None


def check_graded(found: Sequence[Graded]) -> None:
    """Raise CommandError if some notebooks couldn't be graded."""
    failed = sum(each.lesson is None for each in found)
    if failed:
        raise CommandError(errors.UNGRADED.format(failed, len(found)))


def grade_all(place: Path, lessons: Path | None, timeout: float = SECONDS) -> list[Graded]:
    """Run all notebooks of a folder, or one, and print each one's points, or why it couldn't be graded."""
    check_loopback()
    known = _lessons(lessons)
    found = [place] if place.is_file() else [path for path in sorted(place.rglob("*.ipynb")) if _is_handed_in(path)]
    if not found:
        raise CommandError(errors.NO_NOTEBOOKS.format(place))
    made = []

    def one(path: Path) -> Graded:
        name = path.name if place.is_file() else path.relative_to(place).as_posix()
        try:
            return Graded(name, *graded(path, known, timeout))
        except CommandError as error:
            return Graded(name, refused=str(error))

    for each in _together(one, found):
        print(shown(f"{each.name}: {each.refused or _summed_up(each.said)}"), flush=True)
        made.append(each)
    return made


def _together(run: Callable[[Path], Graded], paths: Iterable[Path]) -> Iterator[Graded]:
    """Run notebooks two at a time, and return their results in order."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(run, paths)


def _is_handed_in(path: Path) -> bool:
    # macOS archives keep metadata of other files in "__MACOSX" and in files whose names start with "._".
    # The course page comes with whoever hands in the whole folder.
    apart = path.name.startswith("._") or path.name == PAGE
    return not {".ipynb_checkpoints", "__MACOSX"} & {*path.parts} and not apart


def _lessons(folder: Path | None) -> list[Assignment]:
    """Return the lessons to grade with: those of a folder, or the built-in ones."""
    home = checkout()
    source = folder or (SHIPPED if home is None else home / "notebooks")
    paths = [path for path in sorted(source.glob("*.ipynb")) if exercises_of(path)]
    if not paths:
        raise CommandError(errors.NO_LESSONS.format(source))
    return [Assignment.of(read(path), path, file_of(path)) for path in paths]


def graded(path: Path, lessons: Sequence[Assignment], timeout: float = SECONDS) -> tuple[Assignment, list[Verdict]]:
    """Run one notebook and return its lesson with a verdict on each exercise."""
    notebook = read(path)
    lesson = lesson_of(notebook, lessons)
    if lesson is None:
        raise CommandError(errors.NO_LESSON.format(lessons[0].file.parent))
    own = lesson.file.with_name(lesson.file.name.removesuffix(SUFFIX) + path.suffix)
    # Of a module that both have the lesson's is taken.
    modules = {file.name: file for place in (path, own) for file in modules_of(place, notebook)}
    return lesson, verdicts(ran(notebook, lesson, modules.values(), timeout), lesson)


def ran(notebook: NotebookNode, lesson: Assignment, modules: Iterable[Path], timeout: float = SECONDS) -> NotebookNode:
    """Run a copy of a notebook in which the answers to a lesson are judged, and return it."""
    with ExitStack() as stack:
        with _sealing:
            place, file = stack.enter_context(place_to_grade(lesson.file, modules))
        copy = to_judge(notebook, lesson, file)
        _run(copy, place, timeout)
    return copy


def _run(notebook: NotebookNode, place: str, timeout: float) -> None:
    """Run all cells; skip a cell that fails or never ends, and all cells after a crash of the kernel."""
    client = client_of(notebook, place, allow_errors=True, timeout=timeout, interrupt_on_timeout=True)
    try:
        with client.setup_kernel(stderr=subprocess.DEVNULL):
            for index, cell in enumerate(notebook.cells):
                run_sync(_run_cell)(client, cell, index, 2 * timeout)
    except (DeadKernelError, TimeoutError):
        pass
    finally:
        client._cleanup_kernel()


async def _run_cell(client: NotebookClient, cell: NotebookNode, index: int, most: float) -> None:
    # A loop that catches interrupts, for example with a bare `except`, never stops: end it with its kernel.
    await asyncio.wait_for(client.async_execute_cell(cell, index), most)


def shown(line: str) -> str:
    """Escape a line for the terminal: students choose file names, which may contain control characters."""
    return "".join([each if each.isprintable() else ascii(each)[1:-1] for each in line])


def _summed_up(verdicts: Sequence[Verdict]) -> str:
    points = f"{sum(each.points for each in verdicts):g} of {counted(sum(each.most for each in verdicts))}"
    missed = ", ".join(each.exercise for each in verdicts if not each.right)
    return f"{points}; not right: {missed}" if missed else points


def _write(rows: Sequence[Sequence[str]], output: Path) -> None:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([[_plain(cell) for cell in row] for row in rows])
    try:
        write_whole(output, text.getvalue().encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise CommandError(errors.NOT_WRITTEN.format(output, error.strerror)) from None


def _plain(cell: str) -> str:
    # A spreadsheet would run such a cell as a formula, and students choose file names and error messages.
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
